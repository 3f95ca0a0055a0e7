//! Notes on the data of a run, before it begins.

use crate::numbers::{counted, grouped};

/// The most notes on columns that are shown; a wide table may have thousands.
const MOST_ON_COLUMNS: usize = 30;

/// How many samples each split has: `120 rows to train on, 30 to validate on`.
///
/// - `sample`: the word for one
/// - `others`: the validation and the test split, if there are any
pub(crate) fn note_on_sizes(sample: &str, train: usize, others: [Option<usize>; 2]) -> String {
    let others = others.into_iter().zip(["to validate on", "to test on"]);
    let others = others.filter_map(|(size, to)| Some(format!(", {} {to}", grouped(size?))));
    format!("{} to train on{}", counted(train, sample), others.collect::<String>())
}

/// What the user should know of settings that hold samples out, where the data have a split of their own instead,
/// a sentence each.
///
/// - `settings`: whether one has no effect, its key, and the split
pub(crate) fn notes_on_own_splits<const N: usize>(
    settings: [(bool, &str, &str); N],
) -> impl Iterator<Item = String> {
    let ignored = settings.into_iter().filter(|&(is_ignored, ..)| is_ignored);
    ignored.map(|(_, key, split)| {
        format!("`{key}` has no effect: the data have their own {split} split")
    })
}

/// Has the notes on columns after the first be one note.
///
/// - `whole`: the command or option that has them all
pub(crate) fn shorten_notes_on_columns(notes: &mut Vec<String>, whole: &str) {
    let mut on_columns = 0;
    notes.retain(|note| {
        on_columns += usize::from(note.starts_with("column `"));
        on_columns <= MOST_ON_COLUMNS || !note.starts_with("column `")
    });
    if on_columns > MOST_ON_COLUMNS {
        let more = counted(on_columns - MOST_ON_COLUMNS, "note");
        notes.push(format!("and {more} more on columns; `{whole}` has them all"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_counted() {
        assert_eq!(note_on_sizes("row", 1, [None, None]), "1 row to train on");
        let told = "1,200 images to train on, 300 to validate on, 20 to test on";
        assert_eq!(note_on_sizes("image", 1200, [Some(300), Some(20)]), told);
    }

    #[test]
    fn the_first_notes_on_columns_and_all_others_stay() {
        let mut notes: Vec<String> = (0..40).map(|at| format!("column `{at}`: odd")).collect();
        notes.push("target `y`: binary".to_owned());
        shorten_notes_on_columns(&mut notes, "--json");
        assert_eq!((notes.len(), notes[29].as_str()), (32, "column `29`: odd"));
        assert_eq!(notes[30], "target `y`: binary");
        assert_eq!(notes[31], "and 10 notes more on columns; `--json` has them all");
        shorten_notes_on_columns(&mut notes, "--json");
        assert_eq!(notes.len(), 32);
    }
}
