//! Hostile and broken input to the image-folder source: an error that says what and where, and what
//! to do, never a panic.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use data::{
    DataError, ImageShape, ImageSource, Resize,
    image_folder::{
        BadImage, ImageFolderOptions, decode_image, image_size, open_image_folder, read_image,
    },
    silent,
};
use proptest::{prelude::*, sample::Index};
use tempfile::TempDir;

const SHAPE: ImageShape = ImageShape { channels: 3, height: 8, width: 8 };

fn golden(file: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/images");
    fs::read(folder.join(file)).unwrap()
}

/// What reading a file of these bytes answers, as decoding the bytes does; errors without the path,
/// and with their help.
fn read(bytes: &[u8]) -> Result<Vec<u8>, (String, String)> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    let [mut pixels, mut decoded] = [(); 2].map(|()| vec![0; SHAPE.bytes()]);
    let in_memory = decode_image(bytes, SHAPE, Resize::Crop, &mut decoded);
    match read_image(file.path(), SHAPE, Resize::Crop, &mut pixels) {
        Ok(()) => {
            in_memory.unwrap();
            assert_eq!(decoded, pixels);
            Ok(pixels)
        }
        Err(error) => {
            let text = error.to_string();
            let start = format!("`{}` ", file.path().display());
            let text = text.strip_prefix(&start).expect("the file comes first").to_owned();
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(in_memory.unwrap_err().to_string(), text);
            Err((text, error.help().expect("there is always something to do")))
        }
    }
}

/// As [`read`], without a file, which would take most of the time of many.
fn decode(bytes: &[u8]) -> Result<(), BadImage> {
    decode_image(bytes, SHAPE, Resize::Crop, &mut vec![0; SHAPE.bytes()])
        .inspect_err(|error| assert!(!error.to_string().contains('\n'), "{error}"))
}

/// A PNG that is complete but for its pixels.
fn png_header(width: u32, height: u32) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        let content = [kind, data].concat();
        let mut crc = flate2::Crc::new();
        crc.update(&content);
        [&(data.len() as u32).to_be_bytes(), &content[..], &crc.sum().to_be_bytes()].concat()
    };
    let sizes = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let header = chunk(b"IHDR", &[&sizes[..], &[8, 2, 0, 0, 0]].concat());
    [&b"\x89PNG\r\n\x1a\n"[..], &header, &chunk(b"IDAT", b"\x78\x9c"), &chunk(b"IEND", b"")]
        .concat()
}

#[test]
fn a_bad_file_is_an_error_that_says_what_to_do() {
    let check = |bytes: &[u8], expected: &str, help: &str| {
        let (text, advice) = read(bytes).unwrap_err();
        assert_eq!(text, expected);
        assert_eq!(advice, help);
    };
    check(b"", "is empty", "copy the file again from where it came");
    check(b"a text", "is not an image", "the model reads pictures: JPEG, PNG, BMP or WebP files");
    let gif = "is an image of the format `gif`, which is not read";
    check(b"GIF89a", gif, "convert it to PNG or JPEG");
    let billions = png_header(60_000, 60_000);
    let declared = format!("declares 60000x60000 pixels in {} bytes", billions.len());
    check(&billions, &declared, "scale it down");
    let (text, advice) = read(&png_header(0, 5)).unwrap_err();
    assert!(text.starts_with("cannot be decoded: "), "{text}");
    assert_eq!(advice, "save the picture again, as PNG or JPEG");
    let jpeg = golden("wide.jpg");
    check(&jpeg[..jpeg.len() / 2], "is truncated", "copy the file again from where it came");
}

#[test]
fn the_size_of_an_image_is_known_from_its_header() {
    for file in ["wide.jpg", "wide.png", "wide.bmp", "wide.webp"] {
        assert_eq!(image_size(&golden(file)).unwrap(), [40, 53], "{file}");
    }
    assert_eq!(image_size(&png_header(100_000, 90_000)).unwrap(), [90_000, 100_000]);
    let check = |bytes: &[u8], error: &str| {
        assert_eq!(image_size(bytes).unwrap_err().to_string(), error);
    };
    check(b"no image", "is not an image");
    check(b"GIF89a", "is an image of the format `gif`, which is not read");
    assert!(image_size(b"\xff\xd8\xff\xe0\0").is_err());
}

#[test]
fn a_jpeg_that_declares_gigabytes_is_refused() {
    let mut jpeg = golden("wide.jpg");
    let frame = jpeg.windows(2).position(|bytes| bytes == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].fill(0xff); // height and width
    let expected = format!("declares 65535x65535 pixels in {} bytes", jpeg.len());
    assert_eq!(read(&jpeg).unwrap_err().0, expected);
}

#[test]
fn no_image_survives_a_cut() {
    let files = [
        "wide.jpg",
        "subsampled.jpg",
        "progressive.jpg",
        "grey.jpg",
        "print.jpg",
        "turned.jpg",
        "wide.png",
        "palette.png",
        "wide.bmp",
        "wide.webp",
        "lossless.webp",
    ];
    for file in files {
        let whole = golden(file);
        assert!(decode(&whole).is_ok(), "{file}");
        // The last chunk of a PNG is empty and its decoder does without.
        let least = if file.ends_with("png") { 13 } else { 1 };
        for cut in (least..whole.len()).step_by(7).chain([least]) {
            assert!(decode(&whole[..whole.len() - cut]).is_err(), "{file} without {cut} bytes");
        }
    }
}

#[test]
fn bytes_after_the_end_of_a_jpeg_are_a_cameras_own() {
    let whole = golden("wide.jpg");
    let longer = [&whole[..], b"\0\0 whatever the camera wrote"].concat();
    assert_eq!(read(&longer), read(&whole));
}

/// A WebP as long as it says, with these chunks appended.
fn webp_with(webp: &[u8], chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut longer = webp.to_vec();
    for (name, content) in chunks {
        longer.extend_from_slice(*name);
        longer.extend((content.len() as u32).to_le_bytes());
        longer.extend_from_slice(content);
        longer.resize(longer.len().next_multiple_of(2), 0);
    }
    let length = (longer.len() - 8) as u32;
    longer[4..8].copy_from_slice(&length.to_le_bytes());
    longer
}

#[test]
fn a_webp_is_turned_as_its_exif_says() {
    let picture = image::RgbImage::from_fn(8, 8, |x, y| image::Rgb([x as u8 * 30, y as u8, 0]));
    let encode = |picture: &image::RgbImage| {
        let mut webp = std::io::Cursor::new(Vec::new());
        picture.write_to(&mut webp, image::ImageFormat::WebP).unwrap();
        webp.into_inner()
    };
    let webp = encode(&picture);
    // A TIFF of one entry: the orientation, to be turned by 90 degrees clockwise.
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    let turned = read(&encode(&image::imageops::rotate90(&picture))).unwrap();
    assert_ne!(read(&webp).unwrap(), turned);
    let of_a_jpeg = [&b"Exif\0\0"[..], exif].concat();
    for exif in [&exif[..], &of_a_jpeg] {
        assert_eq!(read(&webp_with(&webp, &[(b"odd ", b"1"), (b"EXIF", exif)])).unwrap(), turned);
    }

    let mut declares = webp_with(&webp, &[(b"EXIF", exif)]);
    let at = declares.len() - exif.len() - 4;
    declares[at..at + 4].fill(0xff);
    assert_eq!(read(&declares), read(&webp), "more bytes than there are");
}

/// A folder with these files, each with the bytes of an image.
fn folder(files: &[&str]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, golden("tall.png")).unwrap();
    }
    root
}

fn open_error(path: &Path) -> DataError {
    open_image_folder(&ImageFolderOptions::new(path, [8, 8])).map(drop).unwrap_err()
}

#[test]
fn folders_that_cannot_be_learnt_from_are_refused() {
    let check = |files: &[&str], folder_below: &str, expected: &str| {
        let root = folder(files);
        fs::create_dir_all(root.path().join(folder_below)).unwrap();
        let error = open_error(root.path());
        let told = error.to_string().replace(root.path().to_str().unwrap(), "ROOT");
        assert_eq!(told.replace('\\', "/"), expected);
        assert!(error.help().is_some(), "{error}");
    };
    check(&[], "", "`ROOT` has no class folders");
    check(&["1.png", "2.png"], "", "`ROOT` has no class folders");
    check(&["a/1.png"], "", "`ROOT` has one class folder only, `a`");
    check(&["a/1.png", "b/1.png"], "c", "the class folder `ROOT/c` has no images");
    let two = "2 class folders have no images: `ROOT/b`, `ROOT/c`";
    check(&["a/1.png", "b/1.txt"], "c/below", two);
    check(&["a/1.png", "b/1.txt"], "", "the class folder `ROOT/b` has no images");
    check(&[], "a/below", "`ROOT` has one class folder only, `a`");
    let too_far_up = "the folders in `ROOT` hold folders and no images, as `ROOT/a/b`";
    check(&["a/b/1.png", "a/c/1.png"], "", too_far_up);
    let splits = ["train/a/1.png", "train/b/1.png", "val/a/1.png", "val/B/1.png"];
    check(&splits, "", "the class folder `ROOT/val/B` has no counterpart to train on");
    check(&splits[..3], "val/b", "the class folder `ROOT/val/b` has no images");
    check(&splits[2..], "", "`ROOT` has a folder `val` and no folder `train`");
}

#[test]
fn a_path_that_is_no_folder_is_refused() {
    let root = folder(&["a.png"]);
    let check = |path: PathBuf, expected: &str| {
        let error = open_error(&path);
        assert_eq!(error.to_string(), format!("`{}` {expected}", path.display()));
        error.help().unwrap()
    };
    let help = check(root.path().join("missing"), "does not exist");
    assert!(help.contains("check the path"), "{help}");
    let help = check(root.path().join("a.png"), "is a file, a folder is expected");
    assert_eq!(help, format!("name the folder, as `{}`", root.path().display()));
}

#[test]
fn a_file_that_vanishes_is_named() {
    let root = folder(&["a/1.png", "b/1.png"]);
    let open = || open_image_folder(&ImageFolderOptions::new(root.path(), [8, 8])).unwrap().train;
    let (listed, listed_too) = (open(), open());
    let path = root.path().join("b").join("1.png");
    fs::remove_file(&path).unwrap();
    let start = format!("`{}` cannot be read: ", path.display());
    let error = listed.read(1, &mut vec![0; SHAPE.bytes()]).unwrap_err();
    assert!(error.to_string().starts_with(&start), "{error}");
    assert!(error.help().unwrap().ends_with("or train with `data.on_bad_image = \"skip\"`"));
    let error = listed_too.load(&mut silent).unwrap_err().to_string();
    assert!(error.starts_with(&start), "{error}");
}

#[cfg(unix)]
mod unix {
    use std::{ffi::OsStr, os::unix};

    use data::image_folder::image_files_in;

    use super::*;

    #[test]
    fn names_need_not_be_utf8_but_those_of_classes() {
        let root = folder(&["a/1.png", "b/1.png"]);
        let name = <OsStr as unix::ffi::OsStrExt>::from_bytes(b"\xff.png");
        fs::write(root.path().join("b").join(name), golden("wide.png")).unwrap();
        let options = ImageFolderOptions::new(root.path(), [8, 8]);
        let (images, _) = open_image_folder(&options).unwrap().train.load(&mut silent).unwrap();
        assert_eq!(images.labels(), [0, 1, 1]);

        fs::create_dir(root.path().join(name)).unwrap();
        let error = open_error(root.path()).to_string();
        assert!(error.ends_with("is not UTF-8"), "{error}");
    }

    #[test]
    fn links_neither_hang_nor_circle() {
        let root = folder(&["a/1.png", "b/1.png"]);
        let link = |to: &Path, at: &str| unix::fs::symlink(to, root.path().join(at)).unwrap();
        link(root.path(), "a/circle");
        link(&root.path().join("a/1.png"), "a/2.png");
        link(Path::new("nowhere"), "b/2.png");
        let train = open_image_folder(&ImageFolderOptions::new(root.path(), [8, 8])).unwrap().train;
        assert_eq!(train.labels(), [0, 0, 1, 1]);
        assert!(train.notes()[0].contains("a/circle"), "{:?}", train.notes());
        // To predict, classes are followed as they are to train on, and no further.
        let linked = tempfile::tempdir().unwrap();
        unix::fs::symlink(root.path().join("a"), linked.path().join("a")).unwrap();
        let found = image_files_in(linked.path()).unwrap();
        assert_eq!(found, ["a/1.png", "a/2.png"].map(|file| linked.path().join(file)));
        let error = train.load(&mut silent).unwrap_err().to_string();
        assert!(error.contains("b/2.png` cannot be read"), "{error}");
    }

    #[test]
    fn a_class_or_a_split_that_cannot_be_read_is_an_error() {
        let root = folder(&["train/a/1.png", "train/b/1.png"]);
        let check = |link: &str| {
            let link = root.path().join(link);
            unix::fs::symlink("nowhere", &link).unwrap();
            let error = open_error(root.path());
            let start = format!("`{}` cannot be read: ", link.display());
            assert!(error.to_string().starts_with(&start), "{error}");
            assert!(error.help().unwrap().contains("link"));
            fs::remove_file(link).unwrap();
        };
        check("val");
        check("train/c");
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn a_split_that_may_not_be_listed_is_named() {
        use unix::fs::PermissionsExt;

        let root = folder(&["train/a/1.png", "train/b/1.png", "val/a/1.png"]);
        let split = root.path().join("val");
        fs::set_permissions(&split, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read_dir(&split).is_ok() {
            return eprintln!("SKIPPED: this user may read everything");
        }
        let error = open_error(root.path());
        fs::set_permissions(&split, fs::Permissions::from_mode(0o755)).unwrap();
        let start = format!("`{}` cannot be listed: ", split.display());
        assert!(error.to_string().starts_with(&start), "{error}");
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let root = folder(&["a/1.png", "b/1.png"]);
        let _socket = unix::net::UnixListener::bind(root.path().join("b/2.png")).unwrap();
        let train = open_image_folder(&ImageFolderOptions::new(root.path(), [8, 8])).unwrap().train;
        assert_eq!((train.labels(), train.notes().len()), (&[0, 1][..], 1));
        let (path, mut pixels) = (root.path().join("b/2.png"), vec![0; SHAPE.bytes()]);
        let error = read_image(&path, SHAPE, Resize::Crop, &mut pixels).unwrap_err().to_string();
        assert!(error.ends_with("cannot be read: it is not a file"), "{error}");
    }
}

/// A small image of some format, damaged.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let files = [
        "wide.jpg",
        "subsampled.jpg",
        "progressive.jpg",
        "grey.jpg",
        "print.jpg",
        "turned.jpg",
        "wide.png",
        "grey_alpha.png",
        "palette.png",
        "turned.png",
        "wide.bmp",
        "wide.webp",
        "lossless.webp",
    ];
    let changes = prop::collection::vec((any::<Index>(), any::<u8>()), 1..8);
    let cut = prop::option::weighted(0.2, any::<Index>());
    (prop::sample::select(files.map(golden).to_vec()), changes, cut).prop_map(
        |(mut bytes, changes, cut)| {
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.map_or(bytes.len(), |at| at.index(bytes.len())));
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn damage_is_an_image_or_an_error(bytes in damaged()) {
        let _ = decode(&bytes);
    }

    #[test]
    fn any_bytes_after_a_magic_number_are_an_image_or_an_error(
        magic in prop::sample::select(vec![
            &b"\xff\xd8\xff"[..], b"\x89PNG\r\n\x1a\n", b"BM", b"RIFF\x40\0\0\0WEBPVP8 ",
            b"RIFF\x40\0\0\0WEBPVP8L", b"RIFF\x40\0\0\0WEBPVP8X",
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = decode(&[magic, &rest].concat());
    }
}
