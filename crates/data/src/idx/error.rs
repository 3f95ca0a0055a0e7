//! What can be wrong with IDX files.

use std::path::PathBuf;

use crate::count::counted;

/// What is wrong with IDX files. Records count from 0.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum IdxError {
    /// The first bytes are not those of an IDX file of that kind.
    #[error("`{}` begins with {}, expected {}", path.display(), hex(found), hex(expected))]
    Magic { path: PathBuf, found: [u8; 4], expected: [u8; 4] },
    /// No images, or images of no pixels.
    #[error("`{}` declares {} of {height}x{width} pixels", path.display(), counted(count, "image"))]
    Empty { path: PathBuf, count: u32, height: u32, width: u32 },
    /// A file of images and one of labels that do not belong together.
    #[error("`{}` has {}, `{}` has {}", images_path.display(), counted(images, "image"), labels_path.display(), counted(labels, "label"))]
    Disagree { images_path: PathBuf, images: u32, labels_path: PathBuf, labels: u32 },
    /// Test images of another shape than those to train on.
    #[error("`{}` has images of {}x{} pixels, those to train on have {}x{}", path.display(), found.0, found.1, expected.0, expected.1)]
    Shape { path: PathBuf, found: (usize, usize), expected: (usize, usize) },
    /// A label that is that of no class.
    #[error("`{}`: the label of record {record} is {label}, expected at most {most}", path.display())]
    Label { path: PathBuf, record: usize, label: u8, most: u8 },
    /// There is nothing to tell apart.
    #[error("`{}`: all labels are {label}", path.display())]
    SingleClass { path: PathBuf, label: u8 },
}

impl IdxError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Magic { found: [0, 0, 8, found], expected: [.., expected], .. } => format!(
                "it has {found} dimensions instead of {expected}: have images and labels been swapped?"
            ),
            Self::Magic { found: [0, 0, ..], .. } => {
                "write the values as unsigned bytes, IDX type 08".into()
            }
            Self::Magic { .. } => {
                "this is no IDX file; if it is a saved web page, download the data again".into()
            }
            Self::Empty { .. } => "name a folder whose files hold images".into(),
            Self::Disagree { .. } => "take both files from the same download".into(),
            Self::Shape { .. } => "take all files from the same data set".into(),
            Self::SingleClass { .. } => "give images of at least two classes".into(),
            Self::Label { .. } => {
                "labels start at 0 and, above 9, leave no gap; the test files use the labels of the \
                 training files"
                    .into()
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
