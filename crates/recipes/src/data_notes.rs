//! Notes on the data of a run, before it begins.

use crate::numbers::{counted, grouped};

/// The most notes on columns that are shown; a wide table may have thousands.
pub(crate) const MOST_ON_COLUMNS: usize = 30;

/// How many samples each split has: `120 rows to train on, 30 to validate on`.
///
/// - `sample`: the word for one
/// - `others`: the validation and the test split, if there are any
pub(crate) fn note_on_sizes(sample: &str, train: usize, others: [Option<usize>; 2]) -> String {
    let others = others.into_iter().zip(["to validate on", "to test on"]);
    let others = others.filter_map(|(size, to)| Some(format!(", {} {to}", grouped(size?))));
    format!("{} to train on{}", counted(train, sample), others.collect::<String>())
}

/// Leaves out the notes on columns after the first, and returns how many there were.
pub(crate) fn leave_out_on_columns(notes: &mut Vec<String>) -> usize {
    let mut on_columns = 0;
    notes.retain(|note| {
        on_columns += usize::from(note.starts_with("column `"));
        on_columns <= MOST_ON_COLUMNS || !note.starts_with("column `")
    });
    on_columns.saturating_sub(MOST_ON_COLUMNS)
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
        assert_eq!(leave_out_on_columns(&mut notes), 10);
        assert_eq!((notes.len(), notes[29].as_str()), (31, "column `29`: odd"));
        assert_eq!(notes[30], "target `y`: binary");
        assert_eq!(leave_out_on_columns(&mut notes), 0);
    }
}
