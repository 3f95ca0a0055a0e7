//! The images of a split: listed, then checked or decoded.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::{
    BadImage, ImageFolderError, ImageFolderOptions,
    cache::{self, Cache},
    decode::{decode_pixels, read_pixels, size_of},
    pass::{self, Pass, Passed},
};
use crate::{
    DataError, ImageShape, ImageSource, Resize, Shared,
    class_folders::{FileKind, Listing},
    images::allocate,
    progress::{Progress, go_on, silent},
    shared,
};

/// The images of a split, as they were listed.
///
/// As an [`ImageSource`] it decodes each image when it is asked for, and a bad one is an error
/// then. [`load`](Self::load) and [`prepare`](Self::prepare) find the bad ones beforehand; what they
/// return reads from memory or the cache, if the pixels are there.
#[derive(Debug)]
pub struct ImageFolder {
    options: ImageFolderOptions,
    shape: ImageShape,
    listing: Listing,
    /// The hash of each file's content, once it was read; none of a file that cannot be.
    hashes: OnceLock<Vec<Option<String>>>,
    pixels: Pixels,
}

/// Where the pixels of the images are.
#[derive(Debug)]
enum Pixels {
    /// One image after another.
    InMemory(Vec<u8>),
    /// In the cache, and the place of each image there.
    Cached { cache: Cache, places: Vec<usize> },
    /// In the files.
    InFiles,
}

/// A file that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedImage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it; follows the file's name.
    pub reason: String,
}

/// A cache, and what is known of the files that it is made of.
type OpenCache = (Cache, Passed);

impl ImageFolder {
    pub(super) fn new(options: &ImageFolderOptions, shape: ImageShape, listing: Listing) -> Self {
        let (options, hashes) = (options.clone(), OnceLock::new());
        Self { options, shape, listing, hashes, pixels: Pixels::InFiles }
    }

    /// What the user should know of files that are passed over, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.listing.notes(FileKind::Image)
    }

    /// The file of an image.
    ///
    /// # Panics
    ///
    /// If `index` is not below the number of images.
    pub fn path(&self, index: usize) -> &Path {
        &self.listing.files[index]
    }

    /// The hash of each file's content, as far as they were read.
    pub(super) fn known_hashes(&self) -> &[Option<String>] {
        self.hashes.get().map_or(&[], Vec::as_slice)
    }

    /// Reads all files for their hashes, by which a cache is found and splits are compared; does
    /// nothing if they are known. `progress` is called as by [`load`](Self::load).
    ///
    /// # Errors
    ///
    /// Where the folder for caches cannot be made; where a file cannot be read, unless bad images are
    /// skipped. Where `progress` asks to stop.
    pub fn hash(&self, progress: &mut Progress<'_>) -> Result<(), DataError> {
        if let Some(cache) = &self.options.cache {
            store::create_directory(cache).map_err(ImageFolderError::CacheWrite)?;
        }
        self.hashes(progress)?;
        Ok(())
    }

    fn hashes(&self, progress: &mut Progress<'_>) -> Result<&[Option<String>], DataError> {
        if let Some(known) = self.hashes.get() {
            return Ok(known);
        }
        let found = pass::hash_all(&self.listing.files, self.options.on_bad_image, progress)?;
        Ok(self.hashes.get_or_init(|| found))
    }

    /// Decodes all images into memory, in parallel and in the order of the listing.
    ///
    /// The cache is not used. `progress` is called with the number of images done and their total,
    /// always by the calling thread.
    ///
    /// # Errors
    ///
    /// Where an image is bad, unless bad images are skipped; then where a class is left with none.
    /// Where memory does not suffice, or `progress` asks to stop.
    pub fn load(self, progress: &mut Progress<'_>) -> Result<(Self, Vec<SkippedImage>), DataError> {
        let bytes = self.shape.bytes();
        let mut pixels = allocate(self.listing.files.len(), bytes)?;
        let mut pass = self.pass(progress);
        pass.read(&self.listing.files, &mut pixels)?;
        let (images, kept, skipped) = self.without(pass.found)?;

        // The kept images move down over the skipped ones before them.
        for (to, &from) in kept.iter().enumerate().filter(|&(to, &from)| to != from) {
            pixels.copy_within(from * bytes..(from + 1) * bytes, to * bytes);
        }
        pixels.truncate(kept.len() * bytes);
        Ok((Self { pixels: Pixels::InMemory(pixels), ..images }, skipped))
    }

    /// Decodes each image once, so that a bad one is found before training begins.
    ///
    /// With a cache the pixels stay there; a cache that is there already and whole is used, and only
    /// images that were skipped are tried again. `progress` is called as by [`load`](Self::load); call
    /// [`hash`](Self::hash) first to show how reading the files for the cache goes.
    ///
    /// # Errors
    ///
    /// Where an image is bad, unless bad images are skipped; then where a class is left with none.
    /// Where the cache cannot be written, or `progress` asks to stop.
    pub fn prepare(
        self,
        progress: &mut Progress<'_>,
    ) -> Result<(Self, Vec<SkippedImage>), DataError> {
        let Some(directory) = &self.options.cache else {
            let mut pass = self.pass(progress);
            pass.check(&self.listing.files)?;
            let (images, _, skipped) = self.without(pass.found)?;
            return Ok((images, skipped));
        };
        let (cache, passed) = self.open_cache(directory, progress)?;
        let (images, places, skipped) = self.without(passed)?;
        Ok((Self { pixels: Pixels::Cached { cache, places }, ..images }, skipped))
    }

    /// The images of these indices, in their order; what was decoded is dropped.
    ///
    /// # Panics
    ///
    /// If an index is not below the number of images.
    pub fn only(mut self, indices: &[usize]) -> Self {
        let Listing { files, labels, .. } = &mut self.listing;
        *files = indices.iter().map(|&index| files[index].clone()).collect();
        *labels = indices.iter().map(|&index| labels[index]).collect();
        let hashes = self.hashes.take().map(|hashes| {
            OnceLock::from(Vec::from_iter(indices.iter().map(|&index| hashes[index].clone())))
        });
        Self { hashes: hashes.unwrap_or_default(), pixels: Pixels::InFiles, ..self }
    }

    fn open_cache(
        &self,
        directory: &Path,
        progress: &mut Progress<'_>,
    ) -> Result<OpenCache, DataError> {
        let files = &self.listing.files;
        let create =
            |path: &Path| store::create_directory(path).map_err(ImageFolderError::CacheWrite);
        create(directory)?; // fails before anything is read if it cannot be created
        let hashes = self.hashes(&mut silent)?;
        let key = cache::key(hashes, self.shape, self.options.resize);
        let directory = directory.join(&key);
        create(&directory)?;
        // One that is there is opened without the lock, by all ranks at once, and where a lock cannot be
        // had, as in a directory that may only be read. One process builds it, and the others wait.
        if let Some(opened) = self.reopen_cache(&directory, &key, hashes, progress)? {
            return Ok(opened);
        }
        let _lock = Cache::lock(&directory, self.shape, hashes.len(), progress)?;
        match self.reopen_cache(&directory, &key, hashes, progress)? {
            Some(opened) => Ok(opened),
            None => Cache::build(&directory, &key, files, self.pass(progress)),
        }
    }

    /// The cache that is there, if it is whole and its bad files are as bad as they were.
    fn reopen_cache(
        &self,
        directory: &Path,
        key: &str,
        hashes: &[Option<String>],
        progress: &mut Progress<'_>,
    ) -> Result<Option<OpenCache>, DataError> {
        let Some(cache) = Cache::open(directory, key, hashes, self.shape)? else { return Ok(None) };
        let Some(bad) = self.still_bad(&cache.skipped)? else { return Ok(None) };
        go_on(progress(hashes.len(), hashes.len()))?;
        let hashes = cache::kept(hashes, &cache.skipped).cloned().collect();
        Ok(Some((cache, Passed { bad, hashes })))
    }

    /// Tries files again that were bad once; `None` if one of them is good now.
    fn still_bad(&self, places: &[usize]) -> Result<Option<Vec<(usize, BadImage)>>, DataError> {
        let files: Vec<PathBuf> =
            places.iter().map(|&place| self.listing.files[place].clone()).collect();
        let mut silent = silent;
        let mut pass = self.pass(&mut silent);
        pass.check(&files)?;
        let reasons = pass.found.bad.into_iter().map(|(_, reason)| reason);
        Ok((reasons.len() == places.len()).then(|| places.iter().copied().zip(reasons).collect()))
    }

    fn pass<'a>(&self, progress: &'a mut Progress<'a>) -> Pass<'a> {
        let ImageFolderOptions { resize, on_bad_image, .. } = self.options;
        let (shape, total) = (self.shape, self.listing.files.len());
        Pass { shape, resize, on_bad_image, total, progress, found: Passed::default() }
    }

    /// Leaves bad images out; also returns the former places of those that are kept.
    fn without(
        mut self,
        Passed { bad, hashes }: Passed,
    ) -> Result<(Self, Vec<usize>, Vec<SkippedImage>), ImageFolderError> {
        let listed = self.listing.files.len();
        let mut is_kept = vec![true; listed];
        for &(place, _) in &bad {
            is_kept[place] = false;
        }
        let kept: Vec<usize> = (0..listed).filter(|&place| is_kept[place]).collect();
        self.check_classes(&bad, &kept)?;

        let files = &self.listing.files;
        let skipped = bad.into_iter().map(|(place, reason)| SkippedImage {
            path: files[place].clone(),
            reason: reason.to_string(),
        });
        let skipped = skipped.collect();
        self.hashes = OnceLock::new();
        let hashes = Vec::from_iter(hashes.into_iter().map(Some));
        Ok((Self { hashes: OnceLock::from(hashes), ..self.only(&kept) }, kept, skipped))
    }

    /// A class that was listed must keep an image, or it would be learnt from none in silence.
    fn check_classes(
        &self,
        bad: &[(usize, BadImage)],
        kept: &[usize],
    ) -> Result<(), ImageFolderError> {
        let Listing { folder, classes, labels, files, .. } = &self.listing;
        let mut has_image = vec![false; classes.len()];
        for &place in kept {
            has_image[labels[place] as usize] = true;
        }
        match bad.iter().find(|&&(place, _)| !has_image[labels[place] as usize]) {
            None => Ok(()),
            Some((place, reason)) => Err(ImageFolderError::ClassLost {
                path: folder.join(&classes[labels[*place] as usize]),
                file: files[*place].clone(),
                reason: reason.to_string(),
            }),
        }
    }
}

impl ImageSource for ImageFolder {
    fn shape(&self) -> ImageShape {
        self.shape
    }

    fn classes(&self) -> &[String] {
        &self.listing.classes
    }

    fn labels(&self) -> &[u32] {
        &self.listing.labels
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        let bytes = self.shape.bytes();
        assert_eq!(pixels.len(), bytes, "the pixels of one image");
        match &self.pixels {
            Pixels::InMemory(all) => pixels.copy_from_slice(&all[index * bytes..][..bytes]),
            Pixels::Cached { cache, places } => cache.read(places[index], pixels)?,
            Pixels::InFiles => {
                let path = self.path(index);
                read_pixels(path, self.shape, self.options.resize, pixels).map_err(|reason| {
                    ImageFolderError::BadImage { path: path.to_owned(), reason }
                })?;
            }
        }
        Ok(())
    }

    fn name(&self, index: usize) -> Option<String> {
        Some(self.path(index).display().to_string())
    }

    /// Reads all files and decodes none.
    fn fingerprint(&self) -> Result<String, DataError> {
        let files = self.listing.files.iter().zip(self.hashes(&mut silent)?);
        let hash = |(file, known): (&PathBuf, &Option<String>)| match known {
            Some(known) => Ok(known.clone()),
            None => pass::hash(file)
                .map_err(|reason| ImageFolderError::BadImage { path: file.clone(), reason }),
        };
        let hashes = files.map(hash).collect::<Result<Vec<_>, _>>()?;
        Ok(self.listing.fingerprint(&hashes))
    }
}

/// The images that are in two splits, as far as their files were read or
/// [hashed](ImageFolder::hash).
///
/// - `splits`: those to train on, to validate on and to test on
pub fn shared_images(splits: [Option<&ImageFolder>; 3]) -> Vec<Shared> {
    let known = splits.map(|split| -> Vec<shared::Known<'_>> {
        let Some(folder) = split else { return Vec::new() };
        let hashes = folder.known_hashes().iter().map(Option::as_deref);
        folder.listing.files.iter().map(PathBuf::as_path).zip(hashes).collect()
    });
    shared::find(shared::OF_A_FOLDER, known.each_ref().map(Vec::as_slice))
}

/// Decodes a file and brings it to a shape, as a source of that shape does.
///
/// # Errors
///
/// Where the file is no image that can be decoded.
///
/// # Panics
///
/// If `pixels` is not [`ImageShape::bytes`] long.
pub fn read_image(
    path: &Path,
    shape: ImageShape,
    resize: Resize,
    pixels: &mut [u8],
) -> Result<(), DataError> {
    assert_eq!(pixels.len(), shape.bytes(), "the pixels of one image");
    read_pixels(path, shape, resize, pixels)
        .map_err(|reason| ImageFolderError::NotRead { path: path.to_owned(), reason }.into())
}

/// As [`read_image`], of a file's bytes that are in memory.
///
/// A file of half a megabyte may hold 512 MiB of pixels, which is the limit. Of pictures that come from
/// strangers, ask [`image_size`] first.
///
/// # Errors
///
/// Where the bytes are no image that can be decoded.
///
/// # Panics
///
/// If `pixels` is not [`ImageShape::bytes`] long.
///
/// # Examples
///
/// ```
/// use data::{ImageShape, Resize, image_folder::decode_image};
///
/// # let picture = image::GrayImage::from_pixel(40, 30, image::Luma([200]));
/// # let mut png = std::io::Cursor::new(Vec::new());
/// # picture.write_to(&mut png, image::ImageFormat::Png)?;
/// # let png = png.into_inner();
/// let shape = ImageShape { channels: 1, height: 2, width: 2 };
/// let mut pixels = vec![0; shape.bytes()];
/// decode_image(&png, shape, Resize::Crop, &mut pixels)?;
/// assert_eq!(pixels, [200; 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode_image(
    bytes: &[u8],
    shape: ImageShape,
    resize: Resize,
    pixels: &mut [u8],
) -> Result<(), BadImage> {
    assert_eq!(pixels.len(), shape.bytes(), "the pixels of one image");
    decode_pixels(bytes, shape, resize, pixels)
}

/// The height and width of an image as it is stored, before EXIF data turn it, without decoding it.
///
/// # Errors
///
/// Where the bytes do not begin as an image that can be decoded.
pub fn image_size(bytes: &[u8]) -> Result<[u64; 2], BadImage> {
    size_of(bytes)
}
