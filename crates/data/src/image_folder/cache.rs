//! Decoded images on disk: packed pixels, and a manifest of the files that they were decoded from.
//!
//! A cache lies in a directory named by its key, the SHA-256 of everything its pixels depend on: the
//! contents of the listed files, the shape and the resize. So it is never used for anything else,
//! caches of several runs lie side by side, and changed files get a new one; to read all files again
//! takes a small part of the time to decode them. The pixels are in `0000.pixels`, `0001.pixels` and
//! so on, each with as many listed images as fit in [`SHARD_BYTES`]; those of a skipped image are 0.
//! `manifest.json` is written last and holds their hashes and that of the files' contents. Each file
//! is whole or absent; a cache that does not match its manifest, or one of other contents than its key,
//! is rebuilt. One that cannot be read may be whole, so that is an error.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use store::FileLock;

use super::{
    ImageFolderError,
    pass::{Pass, Passed},
};
use crate::{
    DataError, ImageShape, Resize,
    class_folders::CACHE_MANIFEST,
    progress::{Progress, go_on},
};

/// Raise it whenever decoding the same file gives other pixels.
const VERSION: u32 = 3;

/// A shard is in memory while it is made.
const SHARD_BYTES: usize = 256 << 20;

/// The shards of a cache that are open files while it is used; macOS lets a process have 256, and each
/// split has a cache. The others of a larger cache are opened for each image.
const MOST_OPEN: usize = 64;

/// How often a process that waits for another's cache looks at it.
const POLL: Duration = Duration::from_millis(200);

/// A cache that was found to be whole, open for reading.
#[derive(Debug)]
pub(super) struct Cache {
    shape: ImageShape,
    shards: Vec<Shard>,
    /// The places of images that were skipped when it was built.
    pub(super) skipped: Vec<usize>,
}

#[derive(Debug)]
struct Shard {
    path: PathBuf,
    /// Of the first [`MOST_OPEN`].
    file: Option<File>,
}

impl Shard {
    fn new(path: PathBuf, file: File, index: usize) -> Self {
        Self { path, file: Some(file).filter(|_| index < MOST_OPEN) }
    }

    fn read(&self, pixels: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.file {
            Some(file) => read_at(file, pixels, offset),
            None => read_at(&File::open(&self.path)?, pixels, offset),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    key: String,
    skipped: Vec<usize>,
    contents_sha256: String,
    shard_sha256: Vec<String>,
}

/// What the pixels of a listing depend on, hashed.
///
/// - `hashes`: those of its files; one that cannot be read counts as such
pub(super) fn key(hashes: &[Option<String>], shape: ImageShape, resize: Resize) -> String {
    let ImageShape { channels, height, width } = shape;
    let hashes = hashes.iter().map(|hash| hash.as_deref().unwrap_or("unreadable"));
    let hashes = hashes.collect::<Vec<_>>().join("\n");
    let text = format!("images {VERSION} {channels}x{height}x{width} {resize:?}\n{hashes}");
    store::sha256_hex(text.as_bytes())
}

/// The hashes of the files that were not skipped.
pub(super) fn kept<'a>(
    hashes: &'a [Option<String>],
    skipped: &[usize],
) -> impl Iterator<Item = &'a String> {
    let kept = hashes.iter().enumerate().filter(|(place, _)| skipped.binary_search(place).is_err());
    kept.filter_map(|(_, hash)| hash.as_ref())
}

/// One hash for the contents of several files.
fn contents(hashes: Vec<&str>) -> String {
    store::sha256_hex(hashes.concat().as_bytes())
}

impl Cache {
    /// Opens a cache if it is whole and its pixels are those of files with these hashes: a file may have
    /// changed after the key was made of it and before it was decoded.
    ///
    /// # Errors
    ///
    /// Where a file of it is there and cannot be read: it may be whole.
    pub(super) fn open(
        directory: &Path,
        key: &str,
        hashes: &[Option<String>],
        shape: ImageShape,
    ) -> Result<Option<Self>, ImageFolderError> {
        let images = hashes.len();
        let path = directory.join(CACHE_MANIFEST);
        let Some(manifest) = if_there(fs::read(&path)).map_err(cache_read(&path))? else {
            return Ok(None);
        };
        let Ok(manifest) = serde_json::from_slice::<Manifest>(&manifest) else { return Ok(None) };
        let places_exist = manifest.skipped.iter().all(|&place| place < images);
        let shards = images.div_ceil(images_per_shard(shape));
        if manifest.key != key || !places_exist || manifest.shard_sha256.len() != shards {
            return Ok(None);
        }
        let kept = kept(hashes, &manifest.skipped).map(String::as_str).collect();
        if manifest.contents_sha256 != contents(kept) {
            return Ok(None);
        }
        // The key determines a shard's length, so one with the right hash has the right length.
        let shards = manifest.shard_sha256.par_iter().enumerate().map(|(index, sha256)| {
            let path = shard_path(directory, index);
            let Some(file) = if_there(File::open(&path)).map_err(cache_read(&path))? else {
                return Ok(None);
            };
            let found = store::sha256_hex_of(&file).map_err(cache_read(&path))?;
            Ok((found == *sha256).then(|| Shard::new(path, file, index)))
        });
        let shards: Option<Vec<Shard>> = shards.collect::<Result<_, ImageFolderError>>()?;
        Ok(shards.map(|shards| Self { shape, shards, skipped: manifest.skipped }))
    }

    /// Decodes all files of a listing into a cache; also returns what was found of them.
    pub(super) fn build(
        directory: &Path,
        key: &str,
        files: &[PathBuf],
        mut pass: Pass,
    ) -> Result<(Self, Passed), DataError> {
        let shape = pass.shape;
        let mut shards = Vec::new();
        let mut shard_sha256 = Vec::new();
        let mut pixels = Vec::new();
        for (index, files) in files.chunks(images_per_shard(shape)).enumerate() {
            pixels.resize(files.len() * shape.bytes(), 0);
            pass.read(files, &mut pixels)?;
            let path = shard_path(directory, index);
            store::write_whole(&path, &pixels).map_err(ImageFolderError::CacheWrite)?;
            shard_sha256.push(store::sha256_hex(&pixels));
            let file = File::open(&path).map_err(cache_read(&path))?;
            shards.push(Shard::new(path, file, index));
        }
        let passed = pass.found;
        let skipped: Vec<usize> = passed.bad.iter().map(|&(place, _)| place).collect();
        let manifest = Manifest {
            key: key.to_owned(),
            skipped: skipped.clone(),
            contents_sha256: contents(passed.hashes.iter().map(String::as_str).collect()),
            shard_sha256,
        };
        let path = directory.join(CACHE_MANIFEST);
        let json = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| cache_read(&path)(error.into()))?;
        store::write_whole(&path, &json).map_err(ImageFolderError::CacheWrite)?;
        Ok((Self { shape, shards, skipped }, passed))
    }

    /// Waits for a process that builds a cache, whose finished shards are the progress.
    pub(super) fn lock(
        directory: &Path,
        shape: ImageShape,
        images: usize,
        progress: &mut Progress<'_>,
    ) -> Result<FileLock, DataError> {
        loop {
            let taken = FileLock::take(&directory.join(".lock"));
            if let Some(lock) = taken.map_err(ImageFolderError::CacheWrite)? {
                return Ok(lock);
            }
            let shards = (0..).take_while(|&index| shard_path(directory, index).exists()).count();
            go_on(progress(images.min(shards * images_per_shard(shape)), images))?;
            thread::sleep(POLL);
        }
    }

    /// Writes the pixels of the image at a place of the listing.
    pub(super) fn read(&self, place: usize, pixels: &mut [u8]) -> Result<(), ImageFolderError> {
        let images_per_shard = images_per_shard(self.shape);
        let shard = &self.shards[place / images_per_shard];
        let offset = (place % images_per_shard) * self.shape.bytes();
        shard.read(pixels, offset as u64).map_err(cache_read(&shard.path))
    }
}

fn images_per_shard(shape: ImageShape) -> usize {
    (SHARD_BYTES / shape.bytes()).max(1)
}

fn shard_path(directory: &Path, index: usize) -> PathBuf {
    directory.join(format!("{index:04}.pixels"))
}

fn cache_read(path: &Path) -> impl FnOnce(io::Error) -> ImageFolderError {
    let path = path.to_owned();
    |reason| ImageFolderError::CacheRead { path, reason }
}

/// What is there, if anything is.
fn if_there<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Reads from a place in a file that several threads read at once.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Reads from a place in a file. Where the place is a property of the file, threads take turns.
#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    use std::{
        io::{Read, Seek, SeekFrom},
        sync::{Mutex, PoisonError},
    };

    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{OnBadImage, pass},
        *,
    };
    use crate::silent;

    const SHAPE: ImageShape = ImageShape { channels: 3, height: 8, width: 6 };

    #[test]
    fn a_cache_of_many_shards_holds_few_files_open() {
        let folder = tempfile::tempdir().unwrap();
        let shard = |index: usize| {
            let path = shard_path(folder.path(), index);
            fs::write(&path, vec![index as u8; 2 * SHAPE.bytes()]).unwrap();
            Shard::new(path.clone(), File::open(path).unwrap(), index)
        };
        let shards: Vec<Shard> = (0..MOST_OPEN + 2).map(shard).collect();
        assert_eq!(shards.iter().filter(|shard| shard.file.is_some()).count(), MOST_OPEN);
        for (index, shard) in shards.iter().enumerate() {
            let mut pixels = vec![255; SHAPE.bytes()];
            shard.read(&mut pixels, SHAPE.bytes() as u64).unwrap();
            assert_eq!(pixels, vec![index as u8; SHAPE.bytes()]);
        }
    }

    #[test]
    fn the_key_is_another_for_whatever_changes_the_pixels() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let missing = folder.path().join("missing.png");
        let files = [file("1.png", "one"), file("2.png", "two")];
        let key = |files: &[PathBuf], shape, resize| {
            let hashes = pass::hash_all(files, OnBadImage::Skip, &mut silent).unwrap();
            super::key(&hashes, shape, resize)
        };
        let first = key(&files, SHAPE, Resize::Crop);
        let others = [
            key(&files[..1], SHAPE, Resize::Crop),
            key(&[files[1].clone(), files[0].clone()], SHAPE, Resize::Crop),
            key(&[file("3.png", "six"), files[1].clone()], SHAPE, Resize::Crop),
            key(&[missing, files[1].clone()], SHAPE, Resize::Crop),
            key(&files, ImageShape { height: 6, width: 8, ..SHAPE }, Resize::Crop),
            key(&files, ImageShape { channels: 1, ..SHAPE }, Resize::Crop),
            key(&files, SHAPE, Resize::Stretch),
        ];
        assert!(others.iter().all(|other| *other != first), "{others:?}");

        let moved = [file("4.png", "one"), files[1].clone()];
        assert_eq!(key(&moved, SHAPE, Resize::Crop), first, "files may move");
    }
}
