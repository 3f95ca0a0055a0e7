//! The image-folder source on folders made for the purpose: splits, order, skipping, the cache.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod cache;

use std::{
    fs,
    ops::ControlFlow,
    path::{MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf},
    sync::Arc,
};

use data::{
    DataError, ImageSource, Subset,
    class_folders::{FileKind, training_folder},
    image_folder::{
        ImageFolder, ImageFolderOptions, ImageFolderSplits, OnBadImage, open_image_folder,
        shared_images,
    },
    refuse_shared, silent,
};
use image::{Luma, Rgb, RgbImage};
use tempfile::TempDir;

/// A folder with a grey image of each brightness at each path.
fn folder(images: &[(&str, u8)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, brightness) in images {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        RgbImage::from_pixel(20, 10, Rgb([*brightness; 3])).save(path).unwrap();
    }
    folder
}

/// What is in a folder, by a path as the system writes it.
fn within(folder: &TempDir, path: &str) -> PathBuf {
    folder.path().join(path.replace('/', MAIN_SEPARATOR_STR))
}

fn options(path: &Path) -> ImageFolderOptions {
    ImageFolderOptions { channels: 1, ..ImageFolderOptions::new(path, [4, 4]) }
}

fn open(path: &Path) -> ImageFolderSplits {
    open_image_folder(&options(path)).unwrap()
}

/// The brightness of each image, by way of `read`.
fn brightness(images: &dyn ImageSource) -> Vec<u8> {
    let read = |index| {
        let mut pixels = vec![0; images.shape().bytes()];
        images.read(index, &mut pixels).unwrap();
        assert!(pixels.iter().all(|pixel| *pixel == pixels[0]));
        pixels[0]
    };
    (0..images.labels().len()).map(read).collect()
}

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

fn load_brightness(folder: ImageFolder) -> Vec<u8> {
    brightness(&folder.load(&mut silent).unwrap().0)
}

#[test]
fn classes_and_files_are_sorted_and_others_are_passed_over() {
    let root = folder(&[("10/b.png", 1), ("10/a.png", 2), ("2/below/c.PNG", 3), ("2/d.png", 4)]);
    for file in ["2/Thumbs.db", "2/notes.txt", "2/.hidden.png", "readme.md", "loose.png"] {
        fs::write(root.path().join(file), "no image").unwrap();
    }
    for folder in [".git", ".ipynb_checkpoints", "__MACOSX/2", "2/.ipynb_checkpoints"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
        fs::write(root.path().join(folder).join("d.png"), "no image").unwrap();
    }
    let splits = open(root.path());
    assert_eq!(splits.train.classes(), ["10", "2"], "sorted as text");
    assert_eq!(splits.train.labels(), [0, 0, 1, 1]);
    let path = |file: &str| within(&root, file).display().to_string();
    let expected = [
        format!("2 files, such as `{}`: only files named as images are read", path("2/Thumbs.db")),
        format!("the file `{}`: images are read from class folders only", path("loose.png")),
    ];
    assert_eq!(splits.train.notes(), expected.map(|note| format!("passed over {note}")));
    assert_eq!(splits.train.path(0), root.path().join("10/a.png"));
    assert_eq!(brightness(&splits.train), [2, 1, 3, 4]);
    assert_eq!(load_brightness(splits.train), [2, 1, 3, 4]);
}

#[test]
fn splits_share_the_classes_of_training() {
    let train = [("train/a/1.png", 1), ("train/b/1.png", 2), ("train/c/1.png", 3)];
    let held_out = [("val/c/1.png", 4), ("val/b/1.png", 5), ("test/a/1.png", 6)];
    let root = folder(&[train, held_out].concat());
    let splits = open(root.path());
    assert_eq!((&splits.passed_over[..], splits.note()), (&[][..], None));
    let ImageFolderSplits { train, validation, test, .. } = splits;
    let (validation, test) = (validation.unwrap(), test.unwrap());
    for split in [&train, &validation, &test] {
        assert_eq!(split.classes(), ["a", "b", "c"]);
    }
    assert_eq!((validation.labels(), brightness(&validation)), (&[1, 2][..], vec![5, 4]));
    assert_eq!((test.labels(), brightness(&test)), (&[0][..], vec![6]));
}

#[test]
fn folders_beside_splits_are_told() {
    let root = folder(&[("Train/a/1.png", 1), ("Train/b/1.png", 2), ("Test/b/1.png", 3)]);
    fs::create_dir(root.path().join("more")).unwrap();
    let splits = open(root.path());
    assert_eq!(splits.train.classes(), ["a", "b"]);
    assert_eq!(brightness(splits.test.as_ref().unwrap()), [3]);
    let expected = format!(
        "passed over the folder `{}`: beside splits no other folders are read",
        root.path().join("more").display()
    );
    assert_eq!(splits.note(), Some(expected));

    let root = folder(&[("train/a/1.png", 1), ("train/b/1.png", 2), ("test/1.png", 3)]);
    let note = open(root.path()).note().unwrap();
    assert!(
        note.ends_with(
            "test`: the images of a split lie in class folders; without, they can only be predicted"
        ),
        "{note}"
    );
}

#[test]
fn content_decides_on_the_format_and_16_bits_are_rounded() {
    let root = folder(&[("a/1.png", 9), ("b/1.png", 200)]);
    fs::rename(root.path().join("a/1.png"), root.path().join("a/1.jpg")).unwrap();
    let deep = image::ImageBuffer::from_pixel(5, 5, Luma([200 * 257 + 100_u16]));
    deep.save(root.path().join("b/1.png")).unwrap();
    assert_eq!(brightness(&open(root.path()).train), [9, 200]);
}

/// Five images of which the second and the last are bad.
fn folder_with_bad_images() -> TempDir {
    let root = folder(&[("a/1.png", 1), ("a/3.png", 3), ("b/4.png", 4)]);
    fs::write(root.path().join("a/2.jpg"), "text").unwrap();
    fs::write(root.path().join("b/5.png"), "").unwrap();
    root
}

#[test]
fn skipped_images_are_counted_and_listed() {
    let root = folder_with_bad_images();
    let cache = tempfile::tempdir().unwrap();
    for cache in [None, Some(cache.path().to_owned())] {
        let on_bad_image = OnBadImage::Skip;
        let options = ImageFolderOptions { on_bad_image, cache, ..options(root.path()) };
        let open = || open_image_folder(&options).unwrap().train;
        let mut reported = Vec::new();
        let mut progress = |done, total| {
            reported.push((done, total));
            GO_ON
        };

        let (images, skipped) = open().prepare(&mut progress).unwrap();
        assert_eq!(brightness(&images), [1, 3, 4]);
        assert_eq!(images.labels(), [0, 0, 1]);
        let found: Vec<(PathBuf, &str)> =
            skipped.iter().map(|bad| (bad.path.clone(), bad.reason.as_str())).collect();
        let expected = [("a/2.jpg", "is not an image"), ("b/5.png", "is empty")];
        assert_eq!(found, expected.map(|(path, reason)| (root.path().join(path), reason)));
        assert_eq!(reported.last(), Some(&(5, 5)));

        let (prepared, again) = open().prepare(&mut silent).unwrap();
        assert_eq!((brightness(&prepared), &again), (vec![1, 3, 4], &skipped));
        let (loaded, again) = open().load(&mut silent).unwrap();
        assert_eq!((brightness(&loaded), again), (vec![1, 3, 4], skipped));
    }
}

#[test]
fn the_first_bad_image_of_the_listing_is_the_error() {
    let root = folder(&[("a/0.png", 1), ("b/0.png", 2)]);
    for index in 1..200 {
        fs::write(root.path().join(format!("b/{index:03}.png")), "text").unwrap();
    }
    let expected = format!("`{}` is not an image", within(&root, "b/001.png").display());
    for _ in 0..20 {
        let folder = open(root.path()).train;
        assert_eq!(folder.load(&mut silent).unwrap_err().to_string(), expected);
        let folder = open(root.path()).train;
        assert_eq!(folder.prepare(&mut silent).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_class_without_a_good_image_is_an_error() {
    let root = folder_with_bad_images();
    fs::write(root.path().join("b/4.png"), "GIF89a").unwrap();
    let options = ImageFolderOptions { on_bad_image: OnBadImage::Skip, ..options(root.path()) };
    let error = open_image_folder(&options).unwrap().train.load(&mut silent).unwrap_err();
    let (class, file) = (within(&root, "b"), within(&root, "b/4.png"));
    let expected = format!(
        "no image of `{}` can be read; `{}` is an image of the format `gif`, which is not read",
        class.display(),
        file.display(),
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn images_are_known_by_their_files() {
    let root = folder_with_bad_images();
    let options = ImageFolderOptions { on_bad_image: OnBadImage::Skip, ..options(root.path()) };
    let folder = open_image_folder(&options).unwrap().train;
    let file = |name: &str| Some(within(&root, name).display().to_string());
    assert_eq!(folder.name(1), file("a/2.jpg"));
    let (prepared, _) = folder.prepare(&mut silent).unwrap();
    assert_eq!(prepared.name(1), file("a/3.png"));
    let subset = Subset::new(Arc::new(prepared), vec![2, 0]);
    assert_eq!((subset.name(0), subset.name(1)), (file("b/4.png"), file("a/1.png")));
    let folder = open_image_folder(&options).unwrap().train;
    let (loaded, _) = folder.load(&mut silent).unwrap();
    assert_eq!((loaded.name(1), brightness(&loaded)), (file("a/3.png"), vec![1, 3, 4]));
}

#[test]
fn a_folder_has_one_fingerprint_however_it_is_held() {
    let root = folder(&[("photos/a/1.png", 1), ("photos/b/2.bmp", 2), ("photos/b/3.bmp", 3)]);
    let photos = root.path().join("photos");
    let open = |path: &Path, options: &dyn Fn(ImageFolderOptions) -> ImageFolderOptions| {
        open_image_folder(&options(self::options(path))).unwrap().train
    };
    let as_it_is = |options| options;
    let cached = |options| ImageFolderOptions { cache: Some(root.path().join("cache")), ..options };
    let prepared = |folder: ImageFolder| folder.prepare(&mut silent).unwrap().0;
    let loaded = |folder: ImageFolder| folder.load(&mut silent).unwrap().0;

    let known = open(&photos, &as_it_is).fingerprint().unwrap();
    let check = |images: &dyn ImageSource| assert_eq!(images.fingerprint().unwrap(), known);
    check(&prepared(open(&photos, &as_it_is)));
    check(&loaded(open(&photos, &as_it_is)));
    check(&prepared(open(&photos, &cached)));
    check(&prepared(open(&photos, &cached)));
    check(&loaded(open(&photos, &|options| ImageFolderOptions { size: [5, 3], ..options })));

    // A skipped image is none of the images.
    fs::write(photos.join("a/0.png"), "text").unwrap();
    let skipping = |options| ImageFolderOptions { on_bad_image: OnBadImage::Skip, ..options };
    check(&loaded(open(&photos, &skipping)));
    check(&prepared(open(&photos, &|options| skipping(cached(options)))));
    fs::remove_file(photos.join("a/0.png")).unwrap();

    let moved = root.path().join("moved");
    fs::rename(&photos, &moved).unwrap();
    check(&loaded(open(&moved, &as_it_is)));

    let changed = |why: &str| {
        let found = loaded(open(&moved, &as_it_is)).fingerprint().unwrap();
        assert_ne!(found, known, "{why}");
    };
    // As large as before.
    let other = fs::read(moved.join("b/3.bmp")).unwrap();
    let before = fs::read(moved.join("b/2.bmp")).unwrap();
    assert_eq!(other.len(), before.len());
    fs::write(moved.join("b/2.bmp"), other).unwrap();
    changed("another content");
    fs::write(moved.join("b/2.bmp"), before).unwrap();
    fs::rename(moved.join("b/3.bmp"), moved.join("b/4.bmp")).unwrap();
    changed("another name");
    fs::rename(moved.join("b/4.bmp"), moved.join("b/3.bmp")).unwrap();
    fs::rename(moved.join("b"), moved.join("c")).unwrap();
    changed("another class");
}

#[test]
fn a_part_is_told_from_others_and_from_the_whole() {
    let images: Arc<dyn ImageSource> = Arc::new(data::drawn::digits(0..6, 1).unwrap());
    let part = |indices| Subset::new(Arc::clone(&images), indices).fingerprint().unwrap();
    let found = [part(vec![0, 1]), part(vec![1, 0]), part(vec![0]), images.fingerprint().unwrap()];
    for (index, one) in found.iter().enumerate() {
        assert!(!found[..index].contains(one), "{found:?}");
    }
    assert_eq!(part(vec![0, 1]), found[0]);
}

#[test]
fn classes_of_one_image_each_cannot_be_divided() {
    let root = folder(&[("a/1.png", 1), ("b/1.png", 2)]);
    let images: Arc<dyn ImageSource> = Arc::new(open(root.path()).train);
    let Err(error) = Subset::divide(&images, 0.5, 0) else { panic!("nothing is left to train on") };
    assert_eq!(error.to_string(), "no class has a sample to spare, so none can be held out");
}

#[test]
fn images_of_two_splits_are_found_by_their_content() {
    let shared = |root: &Path| {
        let ImageFolderSplits { train, validation, test, .. } = open(root);
        let load = |split: ImageFolder| split.load(&mut silent).unwrap().0;
        let splits = [Some(load(train)), validation.map(load), test.map(load)];
        shared_images(splits.each_ref().map(|split| split.as_ref()))
    };
    let train = [("train/a/1.png", 1), ("train/b/2.png", 2)];
    let others = [("val/a/3.png", 3), ("val/b/4.png", 2), ("val/b/5.png", 5), ("test/a/6.png", 6)];
    let root = folder(&[&train[..], &others].concat());
    let [found] = &shared(root.path())[..] else { panic!("one pair of splits") };
    let told = found.to_string().replace(MAIN_SEPARATOR, "/");
    assert!(
        told.starts_with("1 of the 3 files read for the validation split are the same as files ")
    );
    assert!(told.contains("val/b/4.png`") && told.contains("train/b/2.png`"), "{told}");
    refuse_shared(&shared(root.path())).unwrap();
    assert_eq!(training_folder(root.path(), FileKind::Image), Some(root.path().join("train")));

    #[cfg(unix)]
    {
        let root = folder(&train);
        std::os::unix::fs::symlink(root.path().join("train"), root.path().join("val")).unwrap();
        assert!(refuse_shared(&shared(root.path())).is_err());
    }
}

#[test]
fn empty_class_folders_are_left_out_where_what_is_bad_is_skipped() {
    let root = folder(&[("train/a/1.png", 1), ("train/c/2.png", 2), ("val/c/3.png", 3)]);
    for empty in ["train/b", "val/a"] {
        fs::create_dir_all(root.path().join(empty)).unwrap();
    }
    let options = ImageFolderOptions { on_bad_image: OnBadImage::Skip, ..options(root.path()) };
    let splits = open_image_folder(&options).unwrap();
    let validation = splits.validation.unwrap();
    assert_eq!(splits.train.classes(), ["a", "c"]);
    assert_eq!((splits.train.labels(), validation.labels()), (&[0, 1][..], &[1][..]));
    let empty = within(&root, "train/b");
    let note = format!("the class folder `{}` has no images; left out", empty.display());
    assert_eq!(splits.train.notes(), [note]);
}

#[test]
fn too_few_classes_are_told_with_the_folders_that_were_left_out() {
    let check = |images: &[(&str, u8)], empty: &[&str], error: &str, help: &str| {
        let root = folder(images);
        for empty in empty {
            fs::create_dir_all(root.path().join(empty)).unwrap();
        }
        let options = ImageFolderOptions { on_bad_image: OnBadImage::Skip, ..options(root.path()) };
        let found = open_image_folder(&options).err().unwrap();
        let inside = format!("{}{MAIN_SEPARATOR}", root.path().display());
        assert_eq!(found.to_string().replace(&inside, "").replace(MAIN_SEPARATOR, "/"), error);
        assert!(found.help().unwrap().contains(help), "{:?}", found.help());
    };
    let too_few = "too few other folders have any";
    check(&[], &["a", "b"], "2 class folders have no images: `a`, `b`", too_few);
    check(&[("a/1.png", 1)], &["b"], "the class folder `b` has no images", too_few);
    let train = [("train/a/1.png", 1), ("train/b/2.png", 2)];
    check(&train, &["val/a"], "the class folder `val/a` has no images", too_few);
    let known = [train[0], train[1], ("val/c/3.png", 3)];
    check(
        &known,
        &["train/c"],
        "the class folder `val/c` has no counterpart to train on",
        "add images to train on to `",
    );
}
