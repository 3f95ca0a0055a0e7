//! Samples that are in two splits: files, whatever they are called, copies and links among them, and
//! images by their pixels.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use rayon::prelude::*;

use crate::{
    DataError, ImageSource,
    count::{counted, grouped},
};

/// What the splits of files that the user names are called.
pub(crate) const OPTIONS: [&str; 3] = ["`data.path`", "`data.validation_path`", "`data.test_path`"];

/// What the splits of a folder are called.
pub(crate) const OF_A_FOLDER: [&str; 3] =
    ["the training split", "the validation split", "the test split"];

/// Files or images of one split with the content of some of an earlier one.
///
/// Displayed, it says which these are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// The splits, the earlier one first.
    pub(crate) splits: [&'static str; 2],
    /// The first such sample, and the one in the earlier split that has its content.
    pub(crate) example: Example,
    /// How many there are.
    pub(crate) count: usize,
    /// The samples of the later split.
    pub(crate) total: usize,
}

/// A sample and the one in an earlier split that has its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Example {
    Files([PathBuf; 2]),
    /// By their indices in their splits.
    Images([usize; 2]),
}

impl Example {
    /// The sample, and the one that has its content.
    fn each(&self) -> [String; 2] {
        match self {
            Self::Files(files) => files.each_ref().map(|file| format!("`{}`", file.display())),
            Self::Images(images) => images.map(|index| format!("number {index} (from 0)")),
        }
    }
}

impl Shared {
    /// What to tell the user where splits that share samples are not refused.
    pub fn note(&self) -> String {
        let refused = if self.are_most() { ", and a run that begins refuses them" } else { "" };
        format!("{self}; results there look better than they are{refused}")
    }

    /// What to tell the user where samples to measure on are the same as some of the run's.
    ///
    /// - `looked_at`: what was looked at, such as `18 images`
    pub(crate) fn note_on_known(&self, looked_at: &str) -> String {
        let [sample, original] = self.example.each();
        format!(
            "{} of {looked_at} are the same as images of the run, such as {sample}, which is the same as \
             {original}: results on what it was trained on say nothing about new data",
            grouped(self.count)
        )
    }

    /// Whether these are so many that the later split measures what was learnt by heart.
    fn are_most(&self) -> bool {
        2 * self.count >= self.total
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { splits: [first, second], example, count, total } = self;
        let [shown, copied] = example.each();
        let sample = match example {
            Example::Files([file, original]) if (*count, *total) == (1, 1) => {
                return match is_same(file, original) {
                    true => write!(f, "{shown} is read for both {first} and {second}"),
                    false => {
                        write!(
                            f,
                            "{shown}, read for {second}, is a copy of {copied}, read for {first}"
                        )
                    }
                };
            }
            Example::Files(_) => "file",
            Example::Images(_) => "image",
        };
        write!(
            f,
            "{} of the {} read for {second} are the same as {sample}s read for {first}, such as {shown}, \
             which is the same as {copied}",
            grouped(count),
            counted(total, sample)
        )
    }
}

/// Whether two paths lead to one file.
fn is_same(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

/// Refuses splits if at least half of the files of one are in another.
///
/// To be called before a run begins; an existing run only notes them.
///
/// # Errors
///
/// Names the splits and the first file.
pub fn refuse_shared(shared: &[Shared]) -> Result<(), DataError> {
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
pub(crate) fn find(names: [&'static str; 3], splits: [&[Known<'_>]; 3]) -> Vec<Shared> {
    find_samples(names, splits, |files| Example::Files(files.map(Path::to_owned)))
}

/// As [`find`], of samples of any kind, each with what tells its content.
fn find_samples<T: Copy, C: Copy + Eq + Hash>(
    names: [&'static str; 3],
    splits: [&[(T, Option<C>)]; 3],
    example: impl Fn([T; 2]) -> Example,
) -> Vec<Shared> {
    let mut earlier: Vec<(&'static str, HashMap<C, T>)> = Vec::new();
    let mut shared = Vec::new();
    for (second, samples) in names.into_iter().zip(splits) {
        for (first, contents) in &earlier {
            let original = |content: Option<C>| contents.get(&content?).copied();
            let mut pairs =
                samples.iter().filter_map(|&(sample, content)| Some([sample, original(content)?]));
            if let Some(pair) = pairs.next() {
                shared.push(Shared {
                    splits: [first, second],
                    example: example(pair),
                    count: 1 + pairs.count(),
                    total: samples.len(),
                });
            }
        }
        let contents = samples.iter().rev(); // of equal ones the first counts
        let contents = contents.filter_map(|&(sample, content)| Some((content?, sample)));
        earlier.push((second, contents.collect()));
    }
    shared
}

/// As [`find`], of files whose contents are unknown: read are only those as long as one of another
/// split. One that cannot be read is left to what reads it next.
pub(crate) fn find_files(names: [&'static str; 3], splits: [&[PathBuf]; 3]) -> Vec<Shared> {
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

/// The images that are in two splits; one that cannot be read is like no other.
pub(crate) fn find_images(train: &dyn ImageSource, test: &dyn ImageSource) -> Option<Shared> {
    let [train, test] = [train, test].map(hashes);
    find_samples(OF_A_FOLDER, [&train, &[], &test], Example::Images).pop()
}

/// The index of each image, and a hash of its pixels.
fn hashes(images: &dyn ImageSource) -> Vec<(usize, Option<u64>)> {
    let hash = |pixels: &mut Vec<u8>, index: usize| {
        images.read(index, pixels).ok()?;
        let mut hasher = DefaultHasher::new();
        hasher.write(pixels);
        Some(hasher.finish())
    };
    let pixels = || vec![0; images.shape().bytes()];
    (0..images.labels().len())
        .into_par_iter()
        .map_init(pixels, |pixels, index| (index, hash(pixels, index)))
        .collect()
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
    use crate::{ImageShape, ImagesInMemory};

    #[test]
    fn images_are_known_by_their_pixels() {
        let images = |pixels: &[u8]| {
            let shape = ImageShape { channels: 1, height: 1, width: 2 };
            let labels = vec![0; pixels.len() / 2];
            ImagesInMemory::new(shape, pixels.to_vec(), labels, vec!["a".to_owned()]).unwrap()
        };
        let train = images(&[1, 2, 3, 4, 3, 4]);
        assert_eq!(find_images(&train, &images(&[2, 1, 4, 3])), None);
        let shared = find_images(&train, &images(&[0, 0, 3, 4, 9, 9])).unwrap();
        let told = "1 of the 3 images read for the test split are the same as images read for the training \
                    split, such as number 1 (from 0), which is the same as number 1 (from 0)";
        assert_eq!(shared.to_string(), told);
        assert!(refuse_shared(&[shared]).is_ok());
        let shared = find_images(&train, &images(&[1, 2])).unwrap();
        assert!(refuse_shared(&[shared]).is_err());
    }

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
