//! What the beginning of a file tells: formats that are neither a table nor a text as they are, and
//! how a text is encoded.

use crate::files::GZIP_MAGIC;

/// How much of a file shows its format, in bytes.
pub(crate) const START: u64 = 512;

/// The byte order mark that may precede UTF-8.
pub(crate) const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a text that starts like this is UTF-16: it has a byte order mark, or its first two
/// characters are Latin ones, which have a zero byte each.
pub(crate) fn is_utf16(start: &[u8]) -> bool {
    matches!(
        start,
        [0xff, 0xfe, ..]
            | [0xfe, 0xff, ..]
            | [0, 1..=255, 0, 1..=255, ..]
            | [1..=255, 0, 1..=255, 0, ..]
    )
}

/// What a file is, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    /// How it becomes a CSV file.
    pub(crate) to_csv: &'static str,
    /// How it becomes a plain text; none where it is text already.
    pub(crate) to_text: Option<&'static str>,
}

const AS_TEXT: Option<&str> = Some("save the text in it as plain text, in UTF-8");
const GUNZIP: &str = "unpack it, as `gunzip FILE` does";
const BUNZIP: &str = "unpack it, as `bunzip2 FILE` does";
const UNXZ: &str = "unpack it, as `unxz FILE` does";
const UNZSTD: &str = "unpack it, as `unzstd FILE` does";
const UNZIP: &str = "unpack it, as `unzip FILE` does";
const OFFICE: Format = Format {
    name: "an Excel workbook or another office document",
    to_csv: "save it as CSV",
    to_text: AS_TEXT,
};
const NPZ: Format = Format {
    name: "an archive of NumPy arrays",
    to_csv: "convert an array of it, as `numpy.savetxt(\"OUT.csv\", numpy.load(\"IN.npz\")[\"NAME\"], \
             delimiter=\",\")` does",
    to_text: AS_TEXT,
};
const ZIP: Format = Format { name: "a zip archive", to_csv: UNZIP, to_text: Some(UNZIP) };
const JSON: Format = Format {
    name: "JSON",
    to_csv: "convert it, as `pandas.read_json(\"IN\").to_csv(\"OUT.csv\", index=False)` does; \
             with `lines=True` where each line is an object",
    to_text: None,
};
const HTML: Format = Format {
    name: "a web page",
    to_csv: "download the file itself: a page may have come in its place; a table in it is converted \
             by `pandas.read_html(\"IN\")[0].to_csv(\"OUT.csv\", index=False)`",
    to_text: None,
};

/// A format of pictures.
const fn picture(name: &'static str) -> Format {
    Format {
        name,
        to_csv: "name a table in its place; pictures are read by recipes for images, such as `cnn`",
        to_text: Some(
            "name a text in its place; pictures are read by recipes for images, such as `cnn`",
        ),
    }
}

/// What begins a file of each format that its first bytes tell.
const MAGIC: [(&[u8], Format); 17] = [
    (&GZIP_MAGIC, Format { name: "a gzip file", to_csv: GUNZIP, to_text: Some(GUNZIP) }),
    (b"BZh", Format { name: "a bzip2 file", to_csv: BUNZIP, to_text: Some(BUNZIP) }),
    (b"\xfd7zXZ\0", Format { name: "an xz file", to_csv: UNXZ, to_text: Some(UNXZ) }),
    (b"\x28\xb5\x2f\xfd", Format { name: "a zstd file", to_csv: UNZSTD, to_text: Some(UNZSTD) }),
    (b"\xd0\xcf\x11\xe0", OFFICE),
    (
        b"%PDF-",
        Format {
            name: "a PDF document",
            to_csv: "copy its table into a spreadsheet, and save that as CSV",
            to_text: Some("extract its text, as `pdftotext -enc UTF-8 IN.pdf OUT.txt` does"),
        },
    ),
    (
        b"{\\rtf",
        Format {
            name: "a document in rich text (RTF)",
            to_csv: "copy its table into a spreadsheet, and save that as CSV",
            to_text: AS_TEXT,
        },
    ),
    (
        b"PAR1\x15", // `PAR1` alone may be the name of a column
        Format {
            name: "a Parquet file",
            to_csv: "convert it, as `pandas.read_parquet(\"IN\").to_csv(\"OUT.csv\", index=False)` does",
            to_text: AS_TEXT,
        },
    ),
    (b"ARROW1\0", FEATHER),
    (b"FEA1\0", FEATHER),
    (
        b"\x93NUMPY",
        Format {
            name: "a NumPy array",
            to_csv: "convert it, as `numpy.savetxt(\"OUT.csv\", numpy.load(\"IN.npy\"), \
                     delimiter=\",\")` does; to train on arrays, name a folder of `features.npy` and \
                     `targets.npy`, with `data.source=npy`",
            to_text: AS_TEXT,
        },
    ),
    (
        b"SQLite format 3\0",
        Format {
            name: "an SQLite database",
            to_csv: "export a table, as `sqlite3 -header -csv IN \"select * from NAME\" > OUT.csv` does",
            to_text: AS_TEXT,
        },
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        Format {
            name: "an HDF5 file",
            to_csv: "convert a table of it, as `pandas.read_hdf(\"IN\", \"NAME\").to_csv(\"OUT.csv\", \
                     index=False)` does",
            to_text: AS_TEXT,
        },
    ),
    (b"\xff\xd8\xff", picture("a JPEG picture")),
    (b"\x89PNG\r\n\x1a\n", picture("a PNG picture")),
    (b"II*\0", TIFF),
    (b"MM\0*", TIFF),
];
const TIFF: Format = picture("a TIFF picture");
const FEATHER: Format = Format {
    name: "a Feather file",
    to_csv: "convert it, as `pandas.read_feather(\"IN\").to_csv(\"OUT.csv\", index=False)` does",
    to_text: AS_TEXT,
};
const PICKLE: Format = Format {
    name: "a pickle of Python's",
    to_csv: "if you trust it, convert it, as `pandas.read_pickle(\"IN\").to_csv(\"OUT.csv\", \
             index=False)` does",
    to_text: AS_TEXT,
};

/// The format of a file that begins like this, if it is one of those here.
pub(crate) fn of(start: &[u8]) -> Option<Format> {
    if let Some(&(_, format)) = MAGIC.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(format);
    }
    match start {
        [b'P', b'K', 3, 4, ..] => Some(of_zip(start)),
        [0x80, 2..=5, ..] => Some(PICKLE),
        _ => of_picture(start).or_else(|| of_markup(start)),
    }
}

/// A picture that begins with letters, as a table may: what follows them tells.
fn of_picture(start: &[u8]) -> Option<Format> {
    match start {
        // Two reserved numbers are 0.
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some(picture("a BMP picture")),
        // Of seven bytes that follow, the last is 0 where pixels are square.
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', _, _, _, _, _, _, 0, ..] => {
            Some(picture("a GIF picture"))
        }
        [b'R', b'I', b'F', b'F', _, _, _, _, kind @ ..] if kind.starts_with(b"WEBPVP8") => {
            Some(picture("a WebP picture"))
        }
        _ => None,
    }
}

/// What an archive is, by the name of its first file.
fn of_zip(start: &[u8]) -> Format {
    let length =
        start.get(26..28).map_or(0, |length| usize::from(length[0]) | usize::from(length[1]) << 8);
    let name = start.get(30..).map(|rest| &rest[..length.min(rest.len())]).unwrap_or_default();
    let of_office: [&[u8]; 5] = [b"[Content_Types]", b"_rels/", b"docProps/", b"xl/", b"mimetype"];
    match name {
        _ if name.ends_with(b".npy") => NPZ,
        _ if of_office.iter().any(|office| name.starts_with(office)) => OFFICE,
        _ => ZIP,
    }
}

/// A format that is text, but no table.
fn of_markup(start: &[u8]) -> Option<Format> {
    let text = start.trim_ascii_start();
    let begins = |tag: &[u8]| {
        text.get(..tag.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(tag))
    };
    if begins(b"<!doctype html") || begins(b"<html") {
        return Some(HTML);
    }
    // A bracket alone may begin the name of a column.
    let (&bracket, rest) = text.split_first()?;
    let next = rest.trim_ascii_start().first();
    let is_json = match bracket {
        b'{' => matches!(next, Some(b'"')),
        b'[' => matches!(next, Some(b'{' | b'[')),
        _ => false,
    };
    is_json.then_some(JSON)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of an archive whose first file is called so.
    fn zip(name: &str) -> Vec<u8> {
        let mut bytes = vec![0; 30];
        bytes[..4].copy_from_slice(b"PK\x03\x04");
        bytes[26] = name.len() as u8;
        [&bytes, name.as_bytes(), b"content"].concat()
    }

    #[test]
    fn formats_are_known_by_how_they_begin() {
        let check = |start: &[u8], name: &str, to_csv: &str| {
            let format = of(start).unwrap();
            assert_eq!(format.name, name);
            assert!(format.to_csv.contains(to_csv), "{}", format.to_csv);
        };
        check(b"\x1f\x8b\x08\0\0", "a gzip file", "gunzip");
        check(b"BZh91AY&SY", "a bzip2 file", "bunzip2");
        check(b"\xfd7zXZ\0\0", "an xz file", "unxz");
        check(b"\x28\xb5\x2f\xfd\0", "a zstd file", "unzstd");
        check(b"PAR1\x15\x04", "a Parquet file", "read_parquet");
        check(b"ARROW1\0\0", "a Feather file", "read_feather");
        check(b"SQLite format 3\0", "an SQLite database", "sqlite3");
        check(b"\x89HDF\r\n\x1a\n", "an HDF5 file", "read_hdf");
        check(b"\x93NUMPY\x01\0", "a NumPy array", "numpy.load(\"IN.npy\")");
        check(b"\x80\x04\x95", "a pickle of Python's", "read_pickle");
        check(&zip("arr_0.npy"), "an archive of NumPy arrays", "[\"NAME\"]");
        check(&zip("[Content_Types].xml"), OFFICE.name, "CSV");
        check(b"\xd0\xcf\x11\xe0\xa1", OFFICE.name, "CSV");
        check(&zip("train.csv"), "a zip archive", "unzip");
        check(b"PK\x03\x04", "a zip archive", "unzip");
        check(b" [ {\"a\": 1}]", "JSON", "read_json");
        check(b"{\"a\": 1}\n{\"a\": 2}\n", "JSON", "lines=True");
        check(b"<!DOCTYPE html>", "a web page", "read_html");
        let is_picture = |start: &[u8], name| check(start, name, "name a table in its place");
        is_picture(b"\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG picture");
        is_picture(b"\x89PNG\r\n\x1a\n\0", "a PNG picture");
        is_picture(b"GIF89a\xf4\x01\xf4\x01\xf7\x1f\0", "a GIF picture");
        is_picture(b"GIF87a\x10\0\x10\0\x80\0\0", "a GIF picture");
        is_picture(b"RIFF\x24\0\0\0WEBPVP8 ", "a WebP picture");
        is_picture(b"BM\x46\x10\x20\x01\0\0\0\0\x36\0", "a BMP picture");
        is_picture(b"II*\0\x08\0", "a TIFF picture");
        is_picture(b"MM\0*\0\0", "a TIFF picture");
    }

    #[test]
    fn tables_are_none_of_them() {
        for start in ["PAR1,PAR2", "[a],{b}", "{a},b", "<b>,c", "BZ,b", "\u{80}x,y", ""] {
            assert_eq!(of(start.as_bytes()), None, "{start}");
        }
        let like_pictures =
            ["BM,BMI,height,weight", "GIF89a,GIF87a,size", "RIFF,abcWEBP,size", "MM,II"];
        for start in like_pictures {
            assert_eq!(of(start.as_bytes()), None, "{start}");
        }
    }
}
