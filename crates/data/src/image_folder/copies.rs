//! Pictures that are there more than once, by the contents of their files.

use std::{collections::HashMap, path};

use super::ImageFolder;
use crate::{
    ImageSource, Parts, Shared,
    count::counted,
    shared::{self, Known, OF_A_FOLDER},
};

impl ImageFolder {
    /// What the user should know where files with one content are in folders of different classes.
    pub fn note_on_labels(&self) -> Option<String> {
        let labels = self.labels();
        let mut pairs = self.copies().filter(|&[image, first]| labels[image] != labels[first]);
        let [shown, original] = self.shown(pairs.next()?);
        Some(match 1 + pairs.count() {
            1 => format!(
                "`{shown}` is the same picture as `{original}`, and of another class; one of the two \
                 is in the wrong folder"
            ),
            count => format!(
                "{} are the same as one of another class, such as `{shown}` and `{original}`; one of \
                 each pair is in the wrong folder",
                counted(count, "picture")
            ),
        })
    }

    /// What the user should know where files have one content, and none is held out.
    pub fn note_on_repeats(&self) -> Option<String> {
        let mut pairs = self.copies();
        let [shown, original] = self.shown(pairs.next()?);
        Some(match 1 + pairs.count() {
            1 => format!(
                "`{shown}` is the same picture as `{original}`, and counts twice; where one of the two is \
                 held out, results on it say nothing about new data"
            ),
            count => format!(
                "{} are the same as another one, such as `{shown}` and `{original}`, and count twice; \
                 where one of the two is held out, results on it say nothing about new data",
                counted(count, "picture")
            ),
        })
    }

    /// Each image whose file has the content of an earlier one, and the first such one.
    fn copies(&self) -> impl Iterator<Item = [usize; 2]> {
        let mut first = HashMap::new();
        let hashes = self.known_hashes().iter().enumerate();
        hashes.filter_map(move |(image, hash)| {
            let original = *first.entry(hash.as_deref()?).or_insert(image);
            (image != original).then_some([image, original])
        })
    }

    fn shown(&self, images: [usize; 2]) -> [path::Display<'_>; 2] {
        images.map(|image| self.path(image).display())
    }

    /// What the user should know where images that are held out are copies of others, a sentence for each
    /// two splits.
    pub fn notes_on_copies(&self, parts: &Parts) -> Vec<String> {
        let hashes = self.known_hashes();
        let hash = |image: usize| hashes.get(image).and_then(Option::as_deref);
        let known = |images: &[usize]| -> Vec<Known<'_>> {
            images.iter().map(|&image| (self.path(image), hash(image))).collect()
        };
        let known_of = |images: &Option<Vec<usize>>| images.as_deref().map_or(Vec::new(), known);
        let (validation, test) = (known_of(&parts.validation), known_of(&parts.test));
        let shared = shared::find(OF_A_FOLDER, [&known(&parts.train), &validation, &test]);
        shared.iter().map(Shared::note).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{
        ImageShape, Parts,
        image_folder::{ImageFolderOptions, open_image_folder},
        picture, silent,
    };

    /// Notes on pictures, each a file and its shade of grey: those on labels, on the copies among the last
    /// two, of those before, and on copies where none is held out.
    fn notes(pictures: &[(&str, u8)]) -> [Option<String>; 3] {
        let folder = tempfile::tempdir().unwrap();
        let shape = ImageShape { channels: 1, height: 2, width: 2 };
        for (file, grey) in pictures {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, picture(shape, &[vec![vec![*grey; shape.bytes()]]], 1)).unwrap();
        }
        let options = ImageFolderOptions::new(folder.path(), [2, 2]);
        let listed = open_image_folder(&options).unwrap().train;
        let (images, _) = listed.load(&mut silent).unwrap();
        let (trained, held_out) = (0..pictures.len() - 2, pictures.len() - 2..pictures.len());
        let [trained, held_out] = [trained, held_out].map(Vec::from_iter);
        let root = format!("{}/", folder.path().display()).replace('\\', "/");
        let shown = |note: String| note.replace('\\', "/").replace(&root, "");
        let parts = Parts { train: trained, validation: Some(held_out), test: None };
        let copies = images.notes_on_copies(&parts).pop();
        [images.note_on_labels(), copies, images.note_on_repeats()].map(|note| note.map(shown))
    }

    #[test]
    fn copies_that_tell_a_false_tale_are_told() {
        let different = [("a/1.png", 1), ("a/2.png", 2), ("b/1.png", 3), ("b/2.png", 4)];
        assert_eq!(notes(&different), [None, None, None]);
        let within = [("a/1.png", 1), ("a/2.png", 1), ("b/1.png", 3), ("b/2.png", 3)];
        let [labels, copies, repeats] = notes(&within);
        assert_eq!([labels, copies], [None, None], "where no label and no split differs");
        let repeats = repeats.unwrap();
        let told = "2 pictures are the same as another one, such as `a/2.png` and `a/1.png`";
        assert!(repeats.starts_with(told), "{repeats}");

        let [labels, copies, repeats] =
            notes(&[("a/1.png", 1), ("a/2.png", 2), ("b/1.png", 1), ("b/2.png", 4)]);
        let labels = labels.unwrap();
        let told = "`b/1.png` is the same picture as `a/1.png`, and of another class; ";
        assert!(labels.starts_with(told), "{labels}");
        let repeats = repeats.unwrap();
        let told = "`b/1.png` is the same picture as `a/1.png`, and counts twice; ";
        assert!(repeats.starts_with(told), "{repeats}");
        assert_eq!(
            copies.unwrap(),
            "1 of the 2 files read for the validation split are the same as files read for the training \
             split, such as `b/1.png`, which is the same as `a/1.png`; results there look better than they \
             are, and a run that begins refuses them"
        );

        let [labels, ..] = notes(&[("a/1.png", 1), ("a/2.png", 2), ("b/1.png", 1), ("b/2.png", 2)]);
        let labels = labels.unwrap();
        let told =
            "2 pictures are the same as one of another class, such as `b/1.png` and `a/1.png`";
        assert!(labels.starts_with(told), "{labels}");
    }
}
