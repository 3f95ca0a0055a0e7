//! The cache of decoded images.

use std::sync::Barrier;

use super::*;

/// A folder of two images and options that cache them beside it.
fn cached_folder() -> (TempDir, ImageFolderOptions) {
    let root = folder(&[("images/a/1.png", 1), ("images/b/2.png", 2)]);
    let cache = Some(root.path().join("cache"));
    let options = ImageFolderOptions { cache, ..options(&root.path().join("images")) };
    (root, options)
}

fn prepare(options: &ImageFolderOptions) -> impl ImageSource + use<> {
    open_image_folder(options).unwrap().train.prepare(&mut silent).unwrap().0
}

/// The one file of the cache with this name.
fn cache_file(root: &Path, name: &str) -> PathBuf {
    let mut keys = fs::read_dir(root.join("cache")).unwrap();
    let key = keys.next().unwrap().unwrap().path();
    assert!(keys.next().is_none(), "one cache");
    key.join(name)
}

#[test]
fn a_cache_takes_the_place_of_the_files() {
    let (root, options) = cached_folder();
    let built = prepare(&options);
    let written = fs::metadata(cache_file(root.path(), "0000.pixels")).unwrap().modified().unwrap();
    let found = prepare(&options);
    fs::remove_dir_all(root.path().join("images")).unwrap();
    for images in [&built as &dyn ImageSource, &found] {
        assert_eq!(brightness(images), [1, 2]);
    }
    let file = fs::metadata(cache_file(root.path(), "0000.pixels")).unwrap();
    assert_eq!(file.modified().unwrap(), written, "it was not built again");
}

#[test]
fn a_cache_is_not_used_for_other_files_or_another_shape() {
    let (root, options) = cached_folder();
    prepare(&options);
    let changed = root.path().join("images/a/1.png");
    RgbImage::from_pixel(20, 10, Rgb([77; 3])).save(changed).unwrap();
    assert_eq!(brightness(&prepare(&options)), [77, 2]);
    let larger = ImageFolderOptions { size: [5, 3], ..options };
    assert_eq!(brightness(&prepare(&larger)), [77, 2]);
    assert_eq!(fs::read_dir(root.path().join("cache")).unwrap().count(), 3);
}

#[test]
fn splits_whose_files_differ_only_in_content_share_no_cache() {
    let root = folder(&[
        ("images/train/a/1.bmp", 1),
        ("images/train/b/1.bmp", 2),
        ("images/val/a/1.bmp", 3),
        ("images/val/b/1.bmp", 4),
        ("images/test/a/1.bmp", 5),
        ("images/test/b/1.bmp", 6),
    ]);
    for split in ["train", "val", "test"] {
        for class in ["a", "b"] {
            let path = root.path().join("images").join(split).join(class).join("1.bmp");
            assert_eq!(fs::metadata(&path).unwrap().len(), 654, "20x10 in 24 bits, and a header");
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
    }
    let cache = Some(root.path().join("cache"));
    let options = ImageFolderOptions { cache, ..options(&root.path().join("images")) };
    for _ in ["built", "found"] {
        let splits = open_image_folder(&options).unwrap();
        let splits = [splits.train, splits.validation.unwrap(), splits.test.unwrap()];
        let pixels = splits.map(|split| brightness(&split.prepare(&mut silent).unwrap().0));
        assert_eq!(pixels, [[1, 2], [3, 4], [5, 6]]);
    }
}

#[test]
fn a_damaged_cache_is_built_anew() {
    let truncate = |path: &Path| fs::File::options().write(true).open(path)?.set_len(3);
    let flip = |path: &Path| {
        let mut bytes = fs::read(path)?;
        bytes[20] ^= 1;
        fs::write(path, bytes)
    };
    type Damage<'a> = &'a dyn Fn(&Path) -> std::io::Result<()>;
    let damages: [Damage<'_>; 3] = [&truncate, &flip, &|path: &Path| fs::remove_file(path)];
    for name in ["0000.pixels", "manifest.json"] {
        for damage in damages {
            let (root, options) = cached_folder();
            prepare(&options);
            let path = cache_file(root.path(), name);
            let whole = fs::read(&path).unwrap();
            damage(&path).unwrap();
            assert_eq!(brightness(&prepare(&options)), [1, 2]);
            assert_eq!(fs::read(&path).unwrap(), whole, "{name}");
        }
    }
}

/// As where a file changes after the cache was named by its content, and before it is decoded.
#[test]
fn a_cache_of_other_contents_than_its_key_is_built_anew() {
    let (root, options) = cached_folder();
    let image = root.path().join("images/a/1.png");
    let content = fs::read(&image).unwrap();
    let build = || {
        prepare(&options);
        cache_file(root.path(), "manifest.json").parent().unwrap().to_owned()
    };
    let first = build();
    fs::remove_dir_all(&first).unwrap();
    RgbImage::from_pixel(20, 10, Rgb([77; 3])).save(&image).unwrap();
    let changed = build();
    fs::rename(&changed, &first).unwrap();
    fs::write(&image, content).unwrap();

    let key = |directory: &Path| directory.file_name().unwrap().to_str().unwrap().to_owned();
    let path = first.join("manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    assert!(manifest.contains(&key(&changed)), "{manifest}");
    fs::write(&path, manifest.replace(&key(&changed), &key(&first))).unwrap();
    assert_eq!(brightness(&prepare(&options)), [1, 2]);
}

/// As where too many files are open: the cache may have taken hours.
#[test]
fn a_cache_that_cannot_be_read_is_kept() {
    for name in ["0000.pixels", "manifest.json"] {
        let (root, options) = cached_folder();
        prepare(&options);
        let path = cache_file(root.path(), name);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = open_image_folder(&options).unwrap().train.prepare(&mut silent).unwrap_err();
        let expected = format!("the image cache `{}` cannot be read", path.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
        let help = format!("or delete `{}`", path.parent().unwrap().display());
        assert!(error.help().unwrap().contains(&help), "{:?}", error.help());
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        assert_eq!(brightness(&prepare(&options)), [1, 2]);
    }
}

#[test]
fn a_cache_that_cannot_be_locked_is_used() {
    let (root, options) = cached_folder();
    prepare(&options);
    let lock = cache_file(root.path(), ".lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    assert_eq!(brightness(&prepare(&options)), [1, 2]);
    fs::remove_file(cache_file(root.path(), "0000.pixels")).unwrap();
    let error = open_image_folder(&options).unwrap().train.prepare(&mut silent).unwrap_err();
    assert!(error.to_string().contains(".lock"), "{error}");
}

#[test]
fn a_cache_whose_writing_fails_is_absent() {
    let (root, options) = cached_folder();
    for fault in 0.. {
        store::fault::arm(fault);
        let prepared = open_image_folder(&options).unwrap().train.prepare(&mut silent);
        if store::fault::disarm() {
            assert!(fault > 5, "only {fault} writes");
            break;
        }
        let error = prepared.unwrap_err();
        assert!(error.to_string().contains("injected fault"), "{error}");
        assert!(error.help().is_some());
        assert_eq!(brightness(&prepare(&options)), [1, 2], "fault {fault}");
        fs::remove_dir_all(root.path().join("cache")).unwrap();
    }
}

#[test]
fn a_skipped_image_that_was_mended_is_read() {
    let (root, mut options) = cached_folder();
    let path = within(&root, "images/b/3.png");
    let (good, bad) = (fs::read(root.path().join("images/b/2.png")).unwrap(), "text".as_bytes());
    let put = |content: &[u8], length: usize| {
        // The same size and time of change, which only a look inside tells apart.
        let content: Vec<u8> = content.iter().copied().chain([0; 500]).take(length).collect();
        fs::write(&path, content).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    };
    put(bad, good.len());
    options.on_bad_image = OnBadImage::Skip;
    assert_eq!(brightness(&prepare(&options)), [1, 2]);

    options.on_bad_image = OnBadImage::Error;
    let folder = open_image_folder(&options).unwrap().train;
    let error = folder.prepare(&mut silent).unwrap_err().to_string();
    assert_eq!(error, format!("`{}` is not an image", path.display()));

    put(&good, good.len());
    assert_eq!(brightness(&prepare(&options)), [1, 2, 2]);
}

/// As where its decoder could not read a file, and now it can.
#[test]
fn an_image_that_was_skipped_is_tried_again() {
    let (root, options) = cached_folder();
    prepare(&options);
    let image = fs::read(root.path().join("images/a/1.png")).unwrap();
    let contents = store::sha256_hex(store::sha256_hex(&image).as_bytes());
    let path = cache_file(root.path(), "manifest.json");
    let whole = fs::read_to_string(&path).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&whole).unwrap();
    manifest["skipped"] = [1].into();
    manifest["contents_sha256"] = contents.into();
    fs::write(&path, manifest.to_string()).unwrap();
    assert_eq!(brightness(&prepare(&options)), [1, 2]);
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
}

#[test]
fn the_files_are_hashed_once_and_a_bad_one_ends_that() {
    let (root, mut options) = cached_folder();
    let image = root.path().join("images/b/2.png");
    let (folder, mut seen) = (open_image_folder(&options).unwrap().train, Vec::new());
    folder
        .hash(&mut |done, of| {
            seen.push((done, of));
            GO_ON
        })
        .unwrap();
    assert_eq!(seen.last(), Some(&(2, 2)));
    let content = fs::read(&image).unwrap();
    fs::remove_file(&image).unwrap();
    folder.hash(&mut |_, _| panic!("the hashes are known")).unwrap();
    assert_eq!(folder.fingerprint().unwrap().len(), 64);

    // A folder is still listed with a file in it that cannot be read.
    fs::write(&image, content).unwrap();
    let unread = open_image_folder(&options).unwrap().train;
    fs::remove_file(&image).unwrap();
    let error = unread.hash(&mut silent).unwrap_err().to_string();
    assert!(error.contains("2.png"), "{error}");

    // A cache that cannot be made is told before anything is read.
    fs::write(&image, "").unwrap();
    options.cache = Some(image.join("cache"));
    let unread = open_image_folder(&options).unwrap().train;
    fs::remove_file(root.path().join("images/a/1.png")).unwrap();
    let error = unread.prepare(&mut silent).unwrap_err().to_string();
    assert!(error.replace(MAIN_SEPARATOR, "/").contains("2.png/cache"), "{error}");
}

#[test]
fn who_is_told_of_the_progress_may_stop_it() {
    let (root, options) = cached_folder();
    let open = || open_image_folder(&options).unwrap().train;
    let stopped = |error: DataError| {
        assert!(matches!(error, DataError::Stopped), "{error}");
    };
    stopped(open().hash(&mut |_, _| ControlFlow::Break(())).unwrap_err());
    stopped(open().load(&mut |_, _| ControlFlow::Break(())).unwrap_err());
    let folder = open();
    folder.hash(&mut silent).unwrap();
    stopped(folder.prepare(&mut |_, _| ControlFlow::Break(())).unwrap_err());
    assert!(!cache_file(root.path(), "manifest.json").exists());
    assert_eq!(brightness(&prepare(&options)), [1, 2]);
}

#[test]
fn two_may_build_one_cache_at_once() {
    let (_root, options) = cached_folder();
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                start.wait();
                assert_eq!(brightness(&prepare(&options)), [1, 2]);
            });
        }
    });
}

#[test]
fn what_another_process_builds_is_progress() {
    let (root, options) = cached_folder();
    prepare(&options);
    let mut held = store::FileLock::take(&cache_file(root.path(), ".lock")).unwrap();
    fs::remove_file(cache_file(root.path(), "manifest.json")).unwrap();
    let (folder, mut seen) = (open_image_folder(&options).unwrap().train, Vec::new());
    let mut progress = |done, of| {
        seen.push((held.is_some(), done, of));
        if seen.len() == 2 {
            held = None;
        } else if held.is_some() {
            fs::remove_file(cache_file(root.path(), "0000.pixels")).unwrap();
        }
        GO_ON
    };
    let (images, _) = folder.prepare(&mut progress).unwrap();
    assert_eq!(brightness(&images), [1, 2]);
    assert_eq!(seen[..2], [(true, 2, 2), (true, 0, 2)]);
    assert_eq!(seen.last(), Some(&(false, 2, 2)));
}
