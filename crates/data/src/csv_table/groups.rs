//! Groups of rows, such as a patient's, which are held out or trained on together.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

use preprocess::cell;

use crate::count::{counted, grouped};

/// The groups of the rows of the training file.
#[derive(Debug, Default)]
pub(super) struct Groups {
    known: HashMap<String, u32>,
    count: u32,
    /// The group of each row, counted in the order in which they first come.
    pub(super) of_rows: Vec<u32>,
    /// How many rows are a group of their own for want of a value, and the line of the first.
    without: Option<(usize, u64)>,
}

impl Groups {
    /// Takes the next row's cell.
    pub(super) fn push(&mut self, text: &str, line: u64) {
        let name = cell::category(text);
        let group = match name.as_deref().and_then(|name| self.known.get(name)) {
            Some(&group) => group,
            None => {
                let group = self.count;
                self.count += 1;
                match name {
                    Some(name) => drop(self.known.insert(name.into_owned(), group)),
                    None => self.without.get_or_insert((0, line)).0 += 1,
                }
                group
            }
        };
        self.of_rows.push(group);
    }

    /// What the user should know of rows whose group is unknown.
    ///
    /// - `column`: which names the groups
    pub(super) fn note(&self, column: &str) -> Option<String> {
        let (count, line) = self.without?;
        let rows = counted(count, "row");
        Some(format!(
            "{rows} without a value in `{column}`, such as line {line}: each counts as a group of its own, \
             though some may belong together"
        ))
    }

    /// What the user should know of another file, to measure on, if it has rows of groups that are trained on.
    ///
    /// - `rows`: those that are trained on
    /// - `others`: the values of `column` in the rows of the file
    pub(super) fn note_on_shared(
        &self,
        rows: &[usize],
        column: &str,
        path: &Path,
        others: &BTreeSet<String>,
    ) -> Option<String> {
        let trained_on: BTreeSet<u32> = rows.iter().map(|&row| self.of_rows[row]).collect();
        let is_shared =
            |name: &&String| self.known.get(*name).is_some_and(|group| trained_on.contains(group));
        let shared = others.iter().filter(is_shared).count();
        (shared > 0).then(|| {
            format!(
                "`{}`: it shares {} of its {} of `{column}` with the rows to train on, so the result on it \
                 says nothing about new ones",
                path.display(),
                grouped(shared),
                counted(others.len(), "value")
            )
        })
    }
}
