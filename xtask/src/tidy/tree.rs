//! The files of the repository: those that git tracks, and new ones that it does not ignore.

use std::fs;

use xshell::{Shell, cmd};

pub(crate) struct Tree {
    /// In the order of their paths.
    pub(crate) files: Vec<File>,
}

pub(crate) struct File {
    /// From the repository's root, with `/` on every platform.
    pub(crate) path: String,
    /// Empty for a file that is not UTF-8, such as a picture or a tensor.
    pub(crate) text: String,
}

impl Tree {
    pub(crate) fn read(shell: &Shell) -> anyhow::Result<Self> {
        let listed =
            cmd!(shell, "git ls-files -z --cached --others --exclude-standard").quiet().read()?;
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let place = shell.current_dir().join(path);
            // Git lists a deleted file until the deletion is committed.
            if !place.is_file() {
                continue;
            }
            files.push(File {
                path: path.to_owned(),
                text: String::from_utf8(fs::read(place)?).unwrap_or_default(),
            });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files whose names end in `.extension`.
    pub(crate) fn with_extension<'tree>(
        &'tree self,
        extension: &'tree str,
    ) -> impl Iterator<Item = &'tree File> {
        self.files.iter().filter(move |file| file.extension() == Some(extension))
    }

    /// The files of Rust, but those of the checks, which are full of what they look for.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &File> {
        self.with_extension("rs").filter(|file| !file.path.starts_with("xtask/src/tidy/"))
    }

    /// Whether `path` is a file or a folder that holds one; the empty path is the root.
    pub(crate) fn contains(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        self.files.iter().any(|file| {
            file.path
                .strip_prefix(path)
                .is_some_and(|rest| path.is_empty() || rest.is_empty() || rest.starts_with('/'))
        })
    }
}

impl File {
    /// The path of the folder it lies in, empty for the root.
    pub(crate) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    pub(crate) fn extension(&self) -> Option<&str> {
        let name = &self.path[self.path.rfind('/').map_or(0, |slash| slash + 1)..];
        name.rsplit_once('.').map(|(_, extension)| extension)
    }

    /// Its lines with their numbers, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    /// A tree of `(path, text)`, for the tests of the checks.
    fn from(files: [(&str, &str); N]) -> Self {
        let file =
            |(path, text): (&str, &str)| File { path: path.to_owned(), text: text.to_owned() };
        Self { files: files.map(file).into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_contains_its_files_and_their_folders() {
        let tree = Tree::from([("crates/data/src/lib.rs", "")]);
        for path in ["", "crates", "crates/data/", "crates/data/src/lib.rs"] {
            assert!(tree.contains(path), "{path}");
        }
        for path in ["crate", "crates/data/src/lib", "lib.rs"] {
            assert!(!tree.contains(path), "{path}");
        }
    }

    #[test]
    fn an_extension_is_what_follows_the_last_dot_of_the_name() {
        let tree = Tree::from([(".ci/run", ""), ("a.b/c", ""), ("a/b.test.rs", "")]);
        let extensions: Vec<_> = tree.files.iter().map(File::extension).collect();
        assert_eq!(extensions, [None, None, Some("rs")]);
    }
}
