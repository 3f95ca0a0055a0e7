//! The images of a split: listed, then checked or decoded.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{
    BadImage, ImageFolderError, ImageFolderOptions, Resize,
    cache::{self, Cache},
    decode::{decode_pixels, read_pixels},
    listing::{ImageFile, Listing},
    pass::Pass,
};
use crate::{DataError, ImageShape, ImageSource, ImagesInMemory};

/// The images of a split, as they were listed.
///
/// As an [`ImageSource`] it decodes each image when it is asked for, and a bad one is an error
/// then. [`load`](Self::load) and [`prepare`](Self::prepare) find the bad ones beforehand.
#[derive(Debug)]
pub struct ImageFolder {
    options: ImageFolderOptions,
    shape: ImageShape,
    listing: Listing,
}

/// The images of a split, each of which was decoded once.
///
/// As an [`ImageSource`] it reads from the cache, or decodes where there is none.
#[derive(Debug)]
pub struct PreparedImages {
    images: ImageFolder,
    cache: Option<Cache>,
    /// The place of each image in the cache.
    places: Vec<usize>,
}

/// How many images were listed, and which of them were skipped. The others were loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkipReport {
    /// The number of files listed as images.
    pub listed: usize,
    /// Those that are no good, in the order of the listing.
    pub skipped: Vec<SkippedImage>,
}

/// A file that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedImage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it; reads on from the file's name.
    pub reason: String,
}

impl ImageFolder {
    pub(super) fn new(options: &ImageFolderOptions, shape: ImageShape, listing: Listing) -> Self {
        Self { options: options.clone(), shape, listing }
    }

    /// The number of files passed over, since their names are not those of images. Hidden files do
    /// not count.
    pub fn ignored(&self) -> usize {
        self.listing.ignored.count
    }

    /// The first of these files by path, if there is one.
    pub fn first_ignored(&self) -> Option<&Path> {
        self.listing.ignored.first.as_deref()
    }

    /// The file of an image.
    ///
    /// # Panics
    ///
    /// If `index` is not below the number of images.
    pub fn path(&self, index: usize) -> &Path {
        &self.listing.files[index].path
    }

    /// Decodes all images into memory, in parallel and in the order of the listing.
    ///
    /// With a cache this is [`prepare`](Self::prepare) and a read of the cache. `progress` is told
    /// how many images are done, and of how many, always by the calling thread.
    ///
    /// # Errors
    ///
    /// Where an image is bad, unless bad images are skipped; then where a class is left with none.
    /// Where memory or the disk does not suffice.
    pub fn load(
        self,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(ImagesInMemory, SkipReport), DataError> {
        if self.options.cache.is_some() {
            let (prepared, report) = self.prepare(progress)?;
            return Ok((prepared.load()?, report));
        }
        let bytes = self.shape.bytes();
        let mut pixels = allocate(self.listing.files.len(), bytes)?;
        let mut pass = self.pass(progress);
        pass.read(&self.listing.files, &mut pixels)?;
        let (images, kept, report) = self.without(pass.finish())?;

        // The kept images move down over the skipped ones before them.
        for (to, &from) in kept.iter().enumerate().filter(|&(to, &from)| to != from) {
            pixels.copy_within(from * bytes..(from + 1) * bytes, to * bytes);
        }
        pixels.truncate(kept.len() * bytes);
        Ok((images.in_memory(pixels), report))
    }

    /// Decodes each image once, so that a bad one is known before training begins.
    ///
    /// With a cache the pixels stay there; one that is there already and whole is used, and only
    /// images that were skipped are tried again. `progress` is told how many images are done, and
    /// of how many, always by the calling thread.
    ///
    /// # Errors
    ///
    /// Where an image is bad, unless bad images are skipped; then where a class is left with none.
    /// Where the cache cannot be written.
    pub fn prepare(
        self,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(PreparedImages, SkipReport), DataError> {
        let (cache, bad) = match &self.options.cache {
            Some(directory) => {
                let (cache, bad) = self.open_cache(directory, progress)?;
                (Some(cache), bad)
            }
            None => {
                let mut pass = self.pass(progress);
                pass.check(&self.listing.files)?;
                (None, pass.finish())
            }
        };
        let (images, places, report) = self.without(bad)?;
        Ok((PreparedImages { images, cache, places }, report))
    }

    fn open_cache(
        &self,
        directory: &Path,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(Cache, Vec<(usize, BadImage)>), ImageFolderError> {
        let Listing { folder, files, .. } = &self.listing;
        let key = cache::key(folder, files, self.shape, self.options.resize);
        let directory = directory.join(&key);
        store::create_directory(&directory)?;
        let _lock = cache::lock(&directory);

        if let Some(cache) = Cache::open(&directory, &key, files.len(), self.shape)
            && let Some(bad) = self.still_bad(&cache.skipped)?
        {
            progress(files.len(), files.len());
            return Ok((cache, bad));
        }
        Cache::build(&directory, &key, files, self.pass(progress))
    }

    /// Tries files again that were bad once; `None` if one of them is good now, as after a `chmod`,
    /// which leaves the time of change as it was.
    fn still_bad(
        &self,
        places: &[usize],
    ) -> Result<Option<Vec<(usize, BadImage)>>, ImageFolderError> {
        let files: Vec<ImageFile> =
            places.iter().map(|&place| self.listing.files[place].clone()).collect();
        let mut no_progress = |_, _| {};
        let mut pass = self.pass(&mut no_progress);
        pass.check(&files)?;
        let bad = pass.finish();
        let reasons = bad.into_iter().map(|(_, reason)| reason);
        Ok((reasons.len() == places.len()).then(|| places.iter().copied().zip(reasons).collect()))
    }

    fn pass<'a>(&self, progress: &'a mut dyn FnMut(usize, usize)) -> Pass<'a> {
        let ImageFolderOptions { resize, on_bad_image, .. } = self.options;
        Pass::new(self.shape, resize, on_bad_image, self.listing.files.len(), progress)
    }

    /// Leaves bad images out; also returns the former places of those that are kept.
    fn without(
        mut self,
        bad: Vec<(usize, BadImage)>,
    ) -> Result<(Self, Vec<usize>, SkipReport), ImageFolderError> {
        let listed = self.listing.files.len();
        let mut is_kept = vec![true; listed];
        for &(place, _) in &bad {
            is_kept[place] = false;
        }
        let kept: Vec<usize> = (0..listed).filter(|&place| is_kept[place]).collect();
        self.check_classes(&bad, &kept)?;

        let Listing { files, labels, .. } = &mut self.listing;
        let skipped = bad.into_iter().map(|(place, reason)| SkippedImage {
            path: files[place].path.clone(),
            reason: reason.to_string(),
        });
        let report = SkipReport { listed, skipped: skipped.collect() };
        *files = kept.iter().map(|&place| files[place].clone()).collect();
        *labels = kept.iter().map(|&place| labels[place]).collect();
        Ok((self, kept, report))
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
                file: files[*place].path.clone(),
                reason: reason.to_string(),
            }),
        }
    }

    fn in_memory(self, pixels: Vec<u8>) -> ImagesInMemory {
        let Listing { labels, classes, .. } = self.listing;
        ImagesInMemory { shape: self.shape, pixels, labels, classes }
    }
}

impl PreparedImages {
    fn load(self) -> Result<ImagesInMemory, DataError> {
        let bytes = self.shape().bytes();
        let mut pixels = allocate(self.places.len(), bytes)?;
        let images = pixels.par_chunks_exact_mut(bytes).enumerate();
        images.try_for_each(|(index, pixels)| self.read(index, pixels))?;
        Ok(self.images.in_memory(pixels))
    }
}

/// Zeroed pixels of images of so many bytes.
pub(crate) fn allocate(images: usize, bytes: usize) -> Result<Vec<u8>, ImageFolderError> {
    let mut pixels = Vec::new();
    let length = images.checked_mul(bytes);
    match length.map(|length| (length, pixels.try_reserve_exact(length))) {
        Some((length, Ok(()))) => {
            pixels.resize(length, 0);
            Ok(pixels)
        }
        _ => Err(ImageFolderError::OutOfMemory { images, bytes }),
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
        assert_eq!(pixels.len(), self.shape.bytes(), "the pixels of one image");
        let path = self.path(index);
        read_pixels(path, self.shape, self.options.resize, pixels)
            .map_err(|reason| ImageFolderError::BadImage { path: path.to_owned(), reason }.into())
    }

    fn name(&self, index: usize) -> Option<String> {
        Some(self.path(index).display().to_string())
    }

    /// By the names and sizes of the files, none of which is decoded.
    fn fingerprint(&self) -> Result<String, DataError> {
        Ok(self.listing.fingerprint())
    }
}

impl ImageSource for PreparedImages {
    fn shape(&self) -> ImageShape {
        self.images.shape()
    }

    fn classes(&self) -> &[String] {
        self.images.classes()
    }

    fn labels(&self) -> &[u32] {
        self.images.labels()
    }

    fn read(&self, index: usize, pixels: &mut [u8]) -> Result<(), DataError> {
        let Some(cache) = &self.cache else { return self.images.read(index, pixels) };
        assert_eq!(pixels.len(), self.shape().bytes(), "the pixels of one image");
        Ok(cache.read(self.places[index], pixels)?)
    }

    fn name(&self, index: usize) -> Option<String> {
        self.images.name(index)
    }

    fn fingerprint(&self) -> Result<String, DataError> {
        self.images.fingerprint()
    }
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
