//! A pass over the files: decoded in parallel, judged in the order of the listing.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use store::sha256_hex;

use super::{
    BadImage, ImageFolderError, OnBadImage,
    decode::{decode_pixels, open_file, read_file},
};
use crate::{
    DataError, ImageShape, Resize,
    progress::{Progress, go_on},
};

/// Images of a block for each thread. The threads wait for each other at the end of a block: more
/// images balance large and small ones, fewer report progress and stop at a bad image sooner.
const BLOCK_PER_THREAD: usize = 16;

/// A pass over the files of a listing, from the first to the last.
///
/// Blocks follow one another, so the first bad file of the first block with one is the first of
/// all, whichever thread met it first.
pub(super) struct Pass<'a> {
    pub(super) shape: ImageShape,
    pub(super) resize: Resize,
    pub(super) on_bad_image: OnBadImage,
    /// The files of the listing.
    pub(super) total: usize,
    pub(super) progress: &'a mut Progress<'a>,
    /// Of the files that were read so far.
    pub(super) found: Passed,
}

/// What a pass found.
#[derive(Default)]
pub(super) struct Passed {
    /// The bad files, by their place in the listing.
    pub(super) bad: Vec<(usize, BadImage)>,
    /// The hashes of the contents of the others.
    pub(super) hashes: Vec<String>,
}

impl Passed {
    fn files(&self) -> usize {
        self.bad.len() + self.hashes.len()
    }
}

impl Pass<'_> {
    /// Writes the pixels of the next files, one image after another; those of a bad one are 0.
    pub(super) fn read(&mut self, files: &[PathBuf], pixels: &mut [u8]) -> Result<(), DataError> {
        let (shape, resize) = (self.shape, self.resize);
        let block = block();
        for (files, pixels) in files.chunks(block).zip(pixels.chunks_mut(block * shape.bytes())) {
            let read = |(file, pixels): (&PathBuf, &mut [u8])| {
                let read = read_hashed(file, shape, resize, pixels);
                read.inspect_err(|_| pixels.fill(0))
            };
            let images = files.par_iter().zip(pixels.par_chunks_exact_mut(shape.bytes()));
            let results = images.map(read).collect();
            self.judge(files, results)?;
        }
        Ok(())
    }

    /// Reads the next files and keeps nothing.
    pub(super) fn check(&mut self, files: &[PathBuf]) -> Result<(), DataError> {
        let (shape, resize) = (self.shape, self.resize);
        let scratch = || vec![0; shape.bytes()];
        for files in files.chunks(block()) {
            let check =
                |pixels: &mut Vec<u8>, file: &PathBuf| read_hashed(file, shape, resize, pixels);
            let results = files.par_iter().map_init(scratch, check).collect();
            self.judge(files, results)?;
        }
        Ok(())
    }

    fn judge(
        &mut self,
        files: &[PathBuf],
        results: Vec<Result<String, BadImage>>,
    ) -> Result<(), DataError> {
        for (file, result) in files.iter().zip(results) {
            match (result, self.on_bad_image) {
                (Ok(hash), _) => self.found.hashes.push(hash),
                (Err(reason), OnBadImage::Skip) => {
                    self.found.bad.push((self.found.files(), reason));
                }
                (Err(reason), OnBadImage::Error) => {
                    return Err(ImageFolderError::BadImage { path: file.clone(), reason }.into());
                }
            }
        }
        go_on((self.progress)(self.found.files(), self.total))
    }
}

/// The hash of each file's bytes; none of one that cannot be read, unless that is an error.
pub(super) fn hash_all(
    files: &[PathBuf],
    on_bad_image: OnBadImage,
    progress: &mut Progress<'_>,
) -> Result<Vec<Option<String>>, DataError> {
    let mut hashes = Vec::with_capacity(files.len());
    for block in files.chunks(block()) {
        let found: Vec<_> = block.par_iter().map(|file| hash(file)).collect();
        for (file, found) in block.iter().zip(found) {
            match (found, on_bad_image) {
                (Err(reason), OnBadImage::Error) => {
                    return Err(ImageFolderError::BadImage { path: file.clone(), reason }.into());
                }
                (found, _) => hashes.push(found.ok()),
            }
        }
        go_on(progress(hashes.len(), files.len()))?;
    }
    Ok(hashes)
}

/// The hash of a file's bytes.
pub(super) fn hash(path: &Path) -> Result<String, BadImage> {
    store::sha256_hex_of(open_file(path)?).map_err(BadImage::Read)
}

/// Writes the pixels of a file; returns the hash of its bytes.
fn read_hashed(
    path: &Path,
    shape: ImageShape,
    resize: Resize,
    pixels: &mut [u8],
) -> Result<String, BadImage> {
    let bytes = read_file(path)?;
    decode_pixels(&bytes, shape, resize, pixels)?;
    Ok(sha256_hex(&bytes))
}

fn block() -> usize {
    BLOCK_PER_THREAD * rayon::current_num_threads()
}
