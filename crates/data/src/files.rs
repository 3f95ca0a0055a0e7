//! Binary files of known names in a folder, plain or gzip, read no further than their expected
//! length.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::bufread::MultiGzDecoder;

use crate::DataError;

/// The first bytes of a gzip file, and of no other format that is read here.
pub(crate) const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The most bytes that a byte of a gzip file unpacks to: deflate needs at least two bits for a copy
/// of at most 258 bytes.
pub(crate) const LARGEST_RATIO: u64 = 258 * 8 / 2;

/// What is wrong with a folder or with the length of a file, whatever its format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum FileError {
    /// The path leads to a file.
    #[error("`{}` is a file, a folder is expected", path.display())]
    NotAFolder { path: PathBuf },
    /// A file is not there, under any of its names.
    #[error("`{}` has no file {}", folder.display(), alternatives(names))]
    Missing { folder: PathBuf, names: Vec<String> },
    /// A gzip file whose end is missing.
    #[error("`{}` ends within its gzip data, after {unpacked} unpacked bytes", path.display())]
    GzipTruncated {
        path: PathBuf,
        /// Bytes unpacked before.
        unpacked: u64,
    },
    /// A gzip file whose content is damaged.
    #[error("`{}`: damaged gzip data after {unpacked} unpacked bytes: {reason}", path.display())]
    GzipDamaged {
        path: PathBuf,
        /// Bytes unpacked before.
        unpacked: u64,
        reason: io::Error,
    },
    /// A gzip file that is too small for the length that its header gives.
    #[error("`{}` has {packed} bytes, which cannot unpack to the {expected} that are expected", path.display())]
    GzipTooShort {
        path: PathBuf,
        packed: u64,
        /// Its unpacked length by its header, which is included.
        expected: u64,
    },
    /// A file that is shorter than its header says.
    #[error("`{}` has {found} bytes, {expected} are expected", path.display())]
    TooShort {
        path: PathBuf,
        /// Its length, unpacked.
        found: u64,
        expected: u64,
    },
    /// A file that is longer than its header says.
    #[error("`{}` goes on after the {expected} bytes that are expected", path.display())]
    TooLong { path: PathBuf, expected: u64 },
}

impl FileError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::NotAFolder { path } => {
                match path.parent().filter(|parent| *parent != Path::new("")) {
                    Some(parent) => format!("name the folder, as `{}`", parent.display()),
                    None => "name the folder that the file lies in, here `.`".into(),
                }
            }
            Self::Missing { .. } => {
                "put the file there under such a name, or name the folder that has it".into()
            }
            Self::GzipTruncated { .. } | Self::GzipDamaged { .. } => {
                "download the file again; `gzip -t FILE` says whether a copy is whole".into()
            }
            Self::GzipTooShort { .. } | Self::TooShort { .. } | Self::TooLong { .. } => {
                "the file is damaged or was not copied to its end; download or save it again".into()
            }
        }
    }
}

fn alternatives(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

/// A folder that the user names.
pub(crate) struct Folder<'a> {
    path: &'a Path,
}

impl<'a> Folder<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Self, DataError> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(Self { path }),
            Ok(_) => Err(FileError::NotAFolder { path: path.to_owned() }.into()),
            Err(error) => Err(DataError::io(path, error)),
        }
    }

    /// The file with the first of these names that exists.
    pub(crate) fn find(&self, names: &[String]) -> Result<Option<PathBuf>, DataError> {
        for name in names {
            let path = self.path.join(name);
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() => return Ok(Some(path)),
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(DataError::io(&path, error));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Two files that need each other, each by its first name that exists; `None` if both are
    /// missing.
    pub(crate) fn find_pair(
        &self,
        names: [&[String]; 2],
    ) -> Result<Option<[PathBuf; 2]>, DataError> {
        match (self.find(names[0])?, self.find(names[1])?) {
            (Some(one), Some(other)) => Ok(Some([one, other])),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self.missing(names[0])),
            (Some(_), None) => Err(self.missing(names[1])),
        }
    }

    pub(crate) fn missing(&self, names: &[String]) -> DataError {
        FileError::Missing { folder: self.path.to_owned(), names: names.to_vec() }.into()
    }
}

/// A file's content from the first byte on, unpacked if it is a gzip file.
///
/// Its first bytes decide, not its name: browsers unpack a download and keep the name.
pub(crate) struct BinaryFile {
    path: PathBuf,
    content: Box<dyn Read>,
    position: u64,
    /// Bytes of the file on disk.
    length: u64,
    packed: bool,
}

impl BinaryFile {
    pub(crate) fn open(path: &Path) -> Result<Self, DataError> {
        let error = |reason| DataError::io(path, reason);
        let file = File::open(path).map_err(error)?;
        let length = file.metadata().map_err(error)?.len();
        let mut file = BufReader::new(file);
        let packed = file.fill_buf().map_err(error)?.starts_with(&GZIP_MAGIC);
        let content: Box<dyn Read> =
            if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Ok(Self { path: path.to_owned(), content, position: 0, length, packed })
    }

    /// Bytes of the content that were read so far.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next `length` bytes. Memory is allocated only for what the file can hold.
    pub(crate) fn take(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        let expected = self.position.saturating_add(length);
        if self.packed && expected > self.length.saturating_mul(LARGEST_RATIO) {
            let (path, packed) = (self.path.clone(), self.length);
            return Err(FileError::GzipTooShort { path, packed, expected }.into());
        }
        if !self.packed && expected > self.length {
            return Err(self.too_short(self.length, expected));
        }
        let bytes = self.take_up_to(length)?;
        if self.position < expected {
            return Err(self.too_short(self.position, expected));
        }
        Ok(bytes)
    }

    /// The next bytes of a header.
    pub(crate) fn take_array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], DataError> {
        let mut bytes = [0; LENGTH];
        bytes.copy_from_slice(&self.take(LENGTH as u64)?);
        Ok(bytes)
    }

    /// The next bytes, fewer where the file ends.
    pub(crate) fn take_up_to(&mut self, length: u64) -> Result<Vec<u8>, DataError> {
        // The unpacked length of a gzip file is unknown, so memory grows with its content.
        let left = if self.packed { 0 } else { self.length.saturating_sub(self.position) };
        let room = usize::try_from(left.min(length)).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let result = match bytes.try_reserve_exact(room) {
            Ok(()) => self.content.by_ref().take(length).read_to_end(&mut bytes),
            Err(_) => Err(io::ErrorKind::OutOfMemory.into()),
        };
        self.position += bytes.len() as u64;
        result.map_err(|reason| self.unreadable(reason))?;
        Ok(bytes)
    }

    /// Checks that nothing is left; this also checks the checksum of a gzip file.
    pub(crate) fn end(mut self) -> Result<(), DataError> {
        let expected = self.position;
        if self.take_up_to(1)?.is_empty() {
            Ok(())
        } else {
            Err(FileError::TooLong { path: self.path, expected }.into())
        }
    }

    fn too_short(&self, found: u64, expected: u64) -> DataError {
        FileError::TooShort { path: self.path.clone(), found, expected }.into()
    }

    fn unreadable(&self, reason: io::Error) -> DataError {
        let packed = self.packed.then_some(self.position);
        unreadable(&self.path, packed, reason)
    }
}

/// The error of reading a file.
///
/// - `packed`: of a gzip file, the bytes that were unpacked before
pub(crate) fn unreadable(path: &Path, packed: Option<u64>, reason: io::Error) -> DataError {
    let file = path.to_owned();
    match (packed, reason.kind()) {
        (Some(unpacked), io::ErrorKind::UnexpectedEof) => {
            FileError::GzipTruncated { path: file, unpacked }.into()
        }
        (Some(unpacked), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
            FileError::GzipDamaged { path: file, unpacked, reason }.into()
        }
        _ => DataError::io(path, reason),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads a file of these bytes as one of `length`; errors come without the folder, and with their
    /// help.
    fn read(bytes: &[u8], length: u64) -> Result<Vec<u8>, [String; 2]> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, bytes).unwrap();
        let mut file = BinaryFile::open(&path).unwrap();
        let content = file.take(length).and_then(|content| file.end().map(|()| content));
        content.map_err(|error| {
            [error.to_string().replace(path.to_str().unwrap(), "f"), error.help().unwrap()]
        })
    }

    #[test]
    fn content_is_the_same_plain_or_packed() {
        for length in [0, 1, 100, 100_000] {
            let content: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
            let halves = content.split_at(length / 3);
            let two_members = [gzip(halves.0), gzip(halves.1)].concat();
            for bytes in [content.clone(), gzip(&content), two_members] {
                assert_eq!(read(&bytes, length as u64).as_ref(), Ok(&content));
            }
        }
    }

    #[test]
    fn a_wrong_length_is_named() {
        let check = |bytes: &[u8], length, expected: &str| {
            let [error, help] = read(bytes, length).unwrap_err();
            assert_eq!(error, expected);
            assert!(help.contains("was not copied"), "{help}");
        };
        for bytes in [b"abcde".to_vec(), gzip(b"abcde")] {
            check(&bytes, 6, "`f` has 5 bytes, 6 are expected");
            check(&bytes, 4, "`f` goes on after the 4 bytes that are expected");
        }
        let huge = u64::MAX;
        check(b"abcde", huge, &format!("`f` has 5 bytes, {huge} are expected"));
        check(
            &gzip(b"abcde"),
            huge,
            &format!("`f` has 25 bytes, which cannot unpack to the {huge} that are expected"),
        );
    }

    #[test]
    fn damaged_gzip_data_is_named() {
        let check = |bytes: &[u8], expected: &str| {
            let [error, help] = read(bytes, 5).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
            assert!(help.contains("gzip -t"), "{help}");
        };
        let whole = gzip(b"abcde");
        for end in [2, 9] {
            check(&whole[..end], "`f` ends within its gzip data, after 0 unpacked bytes");
        }
        check(&whole[..whole.len() - 1], "`f` ends within its gzip data, after 5 unpacked bytes");
        let mut method = whole.clone();
        method[2] = 9;
        check(&method, "`f`: damaged gzip data after 0 unpacked bytes: invalid gzip header");
        let mut checksum = whole.clone();
        checksum[whole.len() - 5] ^= 1;
        check(&checksum, "`f`: damaged gzip data after 5 unpacked bytes: corrupt gzip stream");
        let trailing = [&whole[..], b"more bytes"].concat();
        check(&trailing, "`f`: damaged gzip data after 5 unpacked bytes: invalid gzip header");
    }

    #[test]
    fn zeros_reach_the_largest_ratio_and_no_more() {
        let content = vec![0; 1 << 24];
        let packed = gzip(&content);
        assert!(content.len() / packed.len() > 1000);
        assert_eq!(read(&packed, 1 << 24), Ok(content));
    }

    #[test]
    fn files_are_found_by_their_first_name() {
        let folder = tempfile::tempdir().unwrap();
        let place = Folder::open(folder.path()).unwrap();
        let names = ["a", "b"].map(str::to_owned);
        let other = ["c".to_owned()];
        fs::create_dir(folder.path().join("a")).unwrap();
        assert_eq!(place.find(&names).unwrap(), None);
        assert_eq!(place.find_pair([&names, &other]).unwrap(), None);

        fs::write(folder.path().join("b"), "").unwrap();
        assert_eq!(place.find(&names).unwrap(), Some(folder.path().join("b")));
        let error = place.find_pair([&other, &names]).unwrap_err().to_string();
        assert!(error.ends_with("has no file `c`"), "{error}");
    }
}
