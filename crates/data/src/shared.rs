//! Files that are in two splits, whatever they are called: copies and links among them.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
};

use crate::{
    DataError,
    count::{counted, grouped},
};

/// What the splits of files that the user names are called.
pub(crate) const OPTIONS: [&str; 3] = ["`data.path`", "`data.validation_path`", "`data.test_path`"];

/// What the splits of a folder are called.
pub(crate) const OF_A_FOLDER: [&str; 3] =
    ["the training split", "the validation split", "the test split"];

/// Files of one split with the content of files of an earlier one.
///
/// Displayed, it says which these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFiles {
    /// The splits, the earlier one first.
    pub(crate) splits: [&'static str; 2],
    /// The first such file, and the one in the earlier split that has its content.
    pub(crate) example: [PathBuf; 2],
    /// How many there are.
    pub(crate) count: usize,
    /// The files of the later split.
    pub(crate) total: usize,
}

impl SharedFiles {
    /// What to tell the user where splits that share files are not refused.
    pub fn note(&self) -> String {
        let refused = if self.are_most() { ", and a run that begins refuses them" } else { "" };
        format!("{self}; results there look better than they are{refused}")
    }

    /// Whether these are so many that the later split measures what was learnt by heart.
    fn are_most(&self) -> bool {
        2 * self.count >= self.total
    }
}

impl fmt::Display for SharedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { splits: [first, second], example: [file, original], count, total } = self;
        let (shown, copied) = (file.display(), original.display());
        match (count, total) {
            (1, 1) if is_same(file, original) => {
                write!(f, "`{shown}` is read for both {first} and {second}")
            }
            (1, 1) => {
                write!(f, "`{shown}`, read for {second}, is a copy of `{copied}`, read for {first}")
            }
            _ => write!(
                f,
                "{} of the {} read for {second} are the same as files read for {first}, such as \
                 `{shown}`, which is the same as `{copied}`",
                grouped(count),
                counted(total, "file")
            ),
        }
    }
}

/// Whether two paths lead to one file.
fn is_same(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// Refuses splits of which one has at least half of its files from another.
///
/// To be called before a run begins: one that exists can only be told.
///
/// # Errors
///
/// Names the splits and the first file.
pub fn refuse_shared(shared: &[SharedFiles]) -> Result<(), DataError> {
    match shared.iter().find(|shared| shared.are_most()) {
        Some(shared) => Err(DataError::Shared(shared.clone())),
        None => Ok(()),
    }
}

/// A file, and what tells its content; `None` where that is like no other.
pub(crate) type Known<'a> = (&'a Path, Option<&'a str>);

/// The files that are in two splits.
///
/// - `names`: what the splits are called
/// - `splits`: those to train on, to validate on and to test on
pub(crate) fn find(names: [&'static str; 3], splits: [&[Known<'_>]; 3]) -> Vec<SharedFiles> {
    let mut earlier: Vec<(&'static str, HashMap<&str, &Path>)> = Vec::new();
    let mut shared = Vec::new();
    for (second, files) in names.into_iter().zip(splits) {
        for (first, contents) in &earlier {
            let mut pairs =
                files.iter().filter_map(|&(file, content)| Some((file, *contents.get(content?)?)));
            if let Some((file, original)) = pairs.next() {
                shared.push(SharedFiles {
                    splits: [first, second],
                    example: [file.to_owned(), original.to_owned()],
                    count: 1 + pairs.count(),
                    total: files.len(),
                });
            }
        }
        let contents = files.iter().rev().filter_map(|&(file, content)| Some((content?, file)));
        earlier.push((second, contents.collect()));
    }
    shared
}

/// As [`find`], of files whose contents are unknown: read are only those as long as one of another
/// split. One that cannot be read is left to what reads it next.
pub(crate) fn find_files(names: [&'static str; 3], splits: [&[PathBuf]; 3]) -> Vec<SharedFiles> {
    let lengths = splits.map(|files| files.iter().map(|file| length(file)).collect::<Vec<_>>());
    let known = lengths.each_ref().map(|of_split| of_split.iter().collect::<HashSet<_>>());
    let is_elsewhere = |split: usize, length: Option<u64>| {
        let mut others = known.iter().enumerate().filter(|&(other, _)| other != split);
        length.is_some() && others.any(|(_, others)| others.contains(&length))
    };
    let contents = [0, 1, 2].map(|split| -> Vec<Option<String>> {
        let files = splits[split].iter().zip(&lengths[split]);
        files
            .map(|(file, &length)| is_elsewhere(split, length).then(|| content(file)).flatten())
            .collect()
    });
    let known = [0, 1, 2].map(|split| -> Vec<Known<'_>> {
        let contents = contents[split].iter().map(Option::as_deref);
        splits[split].iter().map(PathBuf::as_path).zip(contents).collect()
    });
    find(names, known.each_ref().map(Vec::as_slice))
}

/// The length of a file; none where nothing is in it.
fn length(path: &Path) -> Option<u64> {
    let metadata = fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() > 0).then_some(metadata.len())
}

fn content(path: &Path) -> Option<String> {
    store::sha256_hex_of(File::open(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_refused_where_half_of_it_is_in_another() {
        let file = |name: &'static str, content| (Path::new(name), content);
        let train = [file("t1", Some("a")), file("t2", Some("b")), file("t3", None)];
        let find = |validation: &[Known<'_>], test: &[Known<'_>]| {
            find(OF_A_FOLDER, [&train, validation, test])
        };
        assert_eq!(find(&[file("v", Some("c"))], &[file("x", None)]), []);

        let third = [file("v1", Some("c")), file("v2", Some("b")), file("v3", Some("d"))];
        let shared = find(&third, &[]);
        let told = "1 of the 3 files read for the validation split are the same as files read for the \
                    training split, such as `v2`, which is the same as `t2`";
        assert_eq!(shared[0].to_string(), told);
        assert_eq!(shared[0].note(), format!("{told}; results there look better than they are"));
        assert!(refuse_shared(&shared).is_ok());

        let shared = find(&third, &[file("x1", Some("d")), file("x2", None)]);
        assert!(shared[1].note().ends_with(" than they are, and a run that begins refuses them"));
        let error = refuse_shared(&shared).unwrap_err();
        assert!(error.to_string().contains("`x1`, which is the same as `v3`"), "{error}");
        assert!(error.help().unwrap().contains("the test split"));
    }
}
