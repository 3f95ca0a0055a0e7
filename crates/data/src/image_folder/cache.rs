//! Decoded images on disk: packed pixels, and a manifest of the files that they were decoded from.
//!
//! A cache lies in a directory named by its key, the SHA-256 of everything its pixels depend on: the
//! listed files (path, size, time of change), the shape and the resize. So it is never used for
//! anything else, caches of several runs lie side by side, and changed files get a new one. The pixels
//! are in `0000.pixels`, `0001.pixels` and so on, each with as many listed images as fit in
//! [`SHARD_BYTES`]; those of a skipped image are 0. `manifest.json` is written last and holds their
//! hashes and that of the files' contents. Each file is whole or absent; a cache that does not match
//! its manifest is rebuilt.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    BadImage, ImageFolderError, Resize,
    listing::ImageFile,
    pass::{Pass, Passed},
};
use crate::ImageShape;

/// To be raised whenever the same file would become other pixels.
const VERSION: u32 = 2;

/// A shard is in memory while it is made, and an open file while it is used.
const SHARD_BYTES: usize = 256 << 20;

const MANIFEST: &str = "manifest.json";

/// A cache that was found to be whole, open for reading.
#[derive(Debug)]
pub(super) struct Cache {
    shape: ImageShape,
    shards: Vec<Shard>,
    /// The places of images that were skipped when it was built.
    pub(super) skipped: Vec<usize>,
    /// The hash of the contents of the other files.
    pub(super) contents: String,
}

#[derive(Debug)]
struct Shard {
    path: PathBuf,
    file: File,
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
pub(super) fn key(root: &Path, files: &[ImageFile], shape: ImageShape, resize: Resize) -> String {
    let ImageShape { channels, height, width } = shape;
    let mut text = format!("images {VERSION} {channels}x{height}x{width} {resize:?}").into_bytes();
    for file in files {
        let path =
            file.path.strip_prefix(root).unwrap_or(&file.path).as_os_str().as_encoded_bytes();
        // Times before 1970 count from there as those after it do, which no real file comes across.
        let time = file
            .modified
            .map(|time| time.duration_since(UNIX_EPOCH).unwrap_or_else(|error| error.duration()));
        text.extend(format!("\n{} {time:?} {} ", file.bytes, path.len()).bytes());
        text.extend(path);
    }
    store::sha256_hex(&text)
}

impl Cache {
    /// Opens a cache if it is whole.
    pub(super) fn open(
        directory: &Path,
        key: &str,
        images: usize,
        shape: ImageShape,
    ) -> Option<Self> {
        let manifest = fs::read(directory.join(MANIFEST)).ok()?;
        let manifest: Manifest = serde_json::from_slice(&manifest).ok()?;
        let places_exist = manifest.skipped.iter().all(|&place| place < images);
        let shards = images.div_ceil(images_per_shard(shape));
        if manifest.key != key || !places_exist || manifest.shard_sha256.len() != shards {
            return None;
        }
        // The key determines a shard's length, so one with the right hash has the right length.
        let shards = manifest.shard_sha256.par_iter().enumerate().map(|(index, sha256)| {
            let path = shard_path(directory, index);
            let file = File::open(&path).ok()?;
            (store::sha256_hex_of(&file).ok()? == *sha256).then_some(Shard { path, file })
        });
        Some(Self {
            shape,
            shards: shards.collect::<Option<_>>()?,
            skipped: manifest.skipped,
            contents: manifest.contents_sha256,
        })
    }

    /// Decodes all files of a listing into a cache; returns it with the bad ones among them.
    pub(super) fn build(
        directory: &Path,
        key: &str,
        files: &[ImageFile],
        mut pass: Pass,
    ) -> Result<(Self, Vec<(usize, BadImage)>), ImageFolderError> {
        let shape = pass.shape;
        let mut shards = Vec::new();
        let mut shard_sha256 = Vec::new();
        let mut pixels = Vec::new();
        for (index, files) in files.chunks(images_per_shard(shape)).enumerate() {
            pixels.resize(files.len() * shape.bytes(), 0);
            pass.read(files, &mut pixels)?;
            let path = shard_path(directory, index);
            store::write_whole(&path, &pixels)?;
            shard_sha256.push(store::sha256_hex(&pixels));
            shards.push(Shard { file: File::open(&path).map_err(cache_read(&path))?, path });
        }
        let Passed { bad, contents } = pass.finish();
        let skipped: Vec<usize> = bad.iter().map(|&(place, _)| place).collect();
        let manifest = Manifest {
            key: key.to_owned(),
            skipped: skipped.clone(),
            contents_sha256: contents.clone(),
            shard_sha256,
        };
        let path = directory.join(MANIFEST);
        let json = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| cache_read(&path)(error.into()))?;
        store::write_whole(&path, &json)?;
        Ok((Self { shape, shards, skipped, contents }, bad))
    }

    /// Writes the pixels of the image at a place of the listing.
    pub(super) fn read(&self, place: usize, pixels: &mut [u8]) -> Result<(), ImageFolderError> {
        let images_per_shard = images_per_shard(self.shape);
        let shard = &self.shards[place / images_per_shard];
        let offset = (place % images_per_shard) * self.shape.bytes();
        read_at(&shard.file, pixels, offset as u64).map_err(cache_read(&shard.path))
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
    |source| ImageFolderError::CacheRead { path, source }
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
    use std::time::{Duration, SystemTime};

    use super::*;

    const SHAPE: ImageShape = ImageShape { channels: 3, height: 8, width: 6 };

    fn file(path: &str, bytes: u64, modified: u64) -> ImageFile {
        let modified = Some(SystemTime::UNIX_EPOCH + Duration::from_nanos(modified));
        ImageFile { path: path.into(), bytes, modified }
    }

    #[test]
    fn the_key_is_another_for_whatever_changes_the_pixels() {
        let key_of = |root: &str, files: &[ImageFile], shape, resize| {
            key(root.as_ref(), files, shape, resize)
        };
        let files = [file("r/a/1.png", 5, 7), file("r/b/2.png", 5, 7)];
        let first = key_of("r", &files, SHAPE, Resize::Crop);
        let others = [
            key_of("r", &files[..1], SHAPE, Resize::Crop),
            key_of("r", &[file("r/a/1.png", 6, 7), files[1].clone()], SHAPE, Resize::Crop),
            key_of("r", &[file("r/a/1.png", 5, 8), files[1].clone()], SHAPE, Resize::Crop),
            key_of("r", &[file("r/a/3.png", 5, 7), files[1].clone()], SHAPE, Resize::Crop),
            key_of("r", &files, ImageShape { height: 6, width: 8, ..SHAPE }, Resize::Crop),
            key_of("r", &files, ImageShape { channels: 1, ..SHAPE }, Resize::Crop),
            key_of("r", &files, SHAPE, Resize::Stretch),
        ];
        assert!(others.iter().all(|other| *other != first), "{others:?}");

        let moved = [file("s/a/1.png", 5, 7), file("s/b/2.png", 5, 7)];
        assert_eq!(key_of("s", &moved, SHAPE, Resize::Crop), first, "the whole folder may move");
    }
}
