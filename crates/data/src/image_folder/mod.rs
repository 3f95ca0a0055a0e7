//! The image-folder source: a folder for each class, and in it the images.
//!
//! [`open_image_folder`] finds the splits and lists the files of each (`class_folders`). Splits may be called
//! `Training`, `Valid`, `Validation`, `Dev` and `Testing` too, in any case. Then an [`ImageFolder`] is loaded
//! into memory, prepared on disk (`cache`), or read as it is.
//!
//! A file is listed by its name and judged by its content: JPEG, PNG, BMP and WebP (the first frame
//! of an animation), grey or colour, of 8 or 16 bits; alpha is dropped. A photograph is turned as
//! its EXIF data say, which torchvision leaves to the user. Whatever cannot be
//! decoded in full is a [`BadImage`]; it ends the work or is skipped, and always
//! `loaded + skipped = listed`.

// What the user has.
mod error;
mod options;

// From a file to pixels.
mod decode;
mod jpeg;
mod resize;

// All of them.
mod cache;
mod copies;
mod pass;
mod source;

use std::path::{Path, PathBuf};

use crate::{
    DataError,
    class_folders::{
        FileKind, Listings, Measured, files_in, measured_folder, note_on_passed_over,
        training_folder,
    },
    count::counted,
    shared,
};

pub(crate) use self::resize::write_pixels;

pub use self::{
    error::{BadImage, ImageFolderError},
    options::{ImageFolderOptions, OnBadImage},
    source::{ImageFolder, SkippedImage, decode_image, image_size, read_image, shared_images},
};

/// The splits of a folder of images.
#[derive(Debug)]
pub struct ImageFolderSplits {
    /// The images to train on; all images where there are no folders for splits.
    pub train: ImageFolder,
    /// The images in `val/`, however that is called.
    pub validation: Option<ImageFolder>,
    /// The images in `test/`.
    pub test: Option<ImageFolder>,
    /// Folders beside those of the splits, of which nothing is read.
    pub passed_over: Vec<PathBuf>,
}

impl ImageFolderSplits {
    /// What the user should know of folders that are passed over.
    pub fn note(&self) -> Option<String> {
        note_on_passed_over(&self.passed_over, FileKind::Image)
    }
}

/// Lists the images of a folder without reading any.
///
/// Images may lie in folders below their class folder. Hidden files and folders, `__MACOSX`, `@eaDir`, and
/// files that are not named as images are passed over, and so are other folders beside those of
/// splits, and the folders of runs and caches. A folder is a split only if it holds folders, so a class
/// of images alone may be called `train`.
///
/// # Errors
///
/// Where a folder with a split's name holds folders and images, or every class holds only folders;
/// where there are not two classes to train on, a class has no images (unless what is bad is skipped), or a
/// class to validate or test is not among those to train on (the reverse is no error).
///
/// # Examples
///
/// ```
/// use data::{ImageSource, image_folder::{ImageFolderOptions, open_image_folder}, silent};
///
/// # let folder = tempfile::tempdir()?;
/// # for (class, grey) in [("black", 0), ("white", 255)] {
/// #     std::fs::create_dir(folder.path().join(class))?;
/// #     let path = folder.path().join(class).join("1.png");
/// #     image::GrayImage::from_pixel(40, 30, image::Luma([grey])).save(path)?;
/// # }
/// let splits = open_image_folder(&ImageFolderOptions::new(folder.path(), [16, 16]))?;
/// let (images, skipped) = splits.train.load(&mut silent)?;
/// assert_eq!(images.classes(), ["black", "white"]);
/// assert_eq!((images.labels().len(), skipped.len()), (2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_image_folder(options: &ImageFolderOptions) -> Result<ImageFolderSplits, DataError> {
    let shape = options.shape()?;
    let skips_empty = options.on_bad_image == OnBadImage::Skip;
    let Listings { train, validation, test, passed_over } =
        Listings::of(&options.path, FileKind::Image, skips_empty)?;
    let images = |listing| ImageFolder::new(options, shape, listing);
    Ok(ImageFolderSplits {
        train: images(train),
        validation: validation.map(images),
        test: test.map(images),
        passed_over,
    })
}

/// The images to measure a model on.
#[derive(Debug)]
pub struct MeasuredImages {
    /// The images, whose classes are those of their own folder.
    pub images: ImageFolder,
    /// `test` or `validation` if that is the split of the images, none where they are all there are or to train
    /// on.
    pub split: Option<&'static str>,
    /// What the user should know of what is passed over, a sentence each.
    pub notes: Vec<String>,
}

/// As [`open_image_folder`], of the test split alone, else of the validation split, else of what there is to
/// train on. One class is enough, and the other splits need not be there.
///
/// # Errors
///
/// As [`open_image_folder`], of that split.
pub fn open_measured_images(options: &ImageFolderOptions) -> Result<MeasuredImages, DataError> {
    let shape = options.shape()?;
    let skips_empty = options.on_bad_image == OnBadImage::Skip;
    let Measured { listing, split, note } =
        Measured::of(&options.path, FileKind::Image, skips_empty)?;
    let images = ImageFolder::new(options, shape, listing);
    let notes = note.into_iter().chain(images.notes()).collect();
    Ok(MeasuredImages { images, split, notes })
}

/// The images of a folder and of those below it, in the order of their paths. As where they are
/// trained on, links to folders are followed in the folder itself.
///
/// # Errors
///
/// Where a folder cannot be read.
pub fn image_files_in(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    Ok(files_in(folder, FileKind::Image)?)
}

/// Of the images to measure on, so many are compared with those of the run.
const COMPARED: usize = 200;

/// What the user should know if images to measure on are the same as some of a run, by their files; of
/// many, an evenly spread sample is checked. `None` if a folder cannot be read.
///
/// - `trained`: the folder with the run's images, of which it may have held out some
/// - `given`: the folder of which the test split is measured, else the validation split, else all
pub fn note_on_known_images(trained: &Path, given: &Path) -> Option<String> {
    let known = image_files_in(&training_folder(trained, FileKind::Image)?).ok()?;
    let mut measured = image_files_in(&measured_folder(given, FileKind::Image)?).ok()?;
    let every = measured.len().div_ceil(COMPARED).max(1);
    let looked_at = if every > 1 { " looked at" } else { "" };
    measured = measured.into_iter().step_by(every).collect();
    let shared = shared::find_files(shared::OF_A_FOLDER, [&known, &measured, &[]]).pop()?;
    Some(shared.note_on_known(&(counted(shared.total, "image") + looked_at)))
}
