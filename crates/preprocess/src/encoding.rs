//! The features of a row.

use super::{
    cell::{self, CellError, Mark},
    table::{CategoryEncoding, Column, ColumnKind, TablePreprocessing},
    text_cell::{encode_tokens, token_ids},
};

/// Standardised features are clamped to ± this many standard deviations. A value of the training split
/// cannot lie further out (that would take a trillion rows), and no finite cell becomes infinite.
pub const LARGEST_SCORE: f64 = 1e6;

/// Farther from the mean, in deviations, hardly any number is of the same unit and meaning.
pub const FAR: f32 = 100.0;

/// What is odd about a cell, beside those of the training split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    /// Its category is not among theirs.
    Unseen,
    /// Its number is more than 100 deviations from their mean.
    Far,
    /// None of its words is in the vocabulary.
    Unread,
}

impl TablePreprocessing {
    /// Appends the features of a row to `out`, [`width`](Self::width) of them.
    ///
    /// There is a cell for each of [`columns`](Self::columns), including dropped ones but not the
    /// target; numbers have a point. Line breaks in a text count as spaces.
    ///
    /// # Errors
    ///
    /// Where a cell is not what its column holds, or there are more or fewer; `out` is what it was before.
    pub fn encode(&self, cells: &[&str], out: &mut Vec<f32>) -> Result<(), CellError> {
        self.encode_written(cells, out).map(|_| ())
    }

    /// As [`encode`](Self::encode), of cells that are found by name, such as those of a request to a server.
    /// Returns the columns whose cells are odd beside those of the training split: what the model makes of
    /// such a row may mean little.
    ///
    /// - `cell`: the cell of the column of this name, empty where its value is missing; none where there is no
    ///   such column, which only one that is dropped may lack
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode), and [`CellError::NoColumn`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// use preprocess::{CellError, Odd, TablePreprocessing};
    ///
    /// # let table: TablePreprocessing = serde_json::from_value(serde_json::json!({
    /// #     "header": true,
    /// #     "columns": [{"name": "age", "kind": "numeric", "mean": 30.0, "deviation": 10.0}],
    /// #     "target": {"name": "y", "index": 1, "task": "regression", "mean": 0.0, "deviation": 1.0}
    /// # }))?;
    /// let request = HashMap::from([("age", "1e9")]);
    /// let mut features = Vec::new();
    /// let odd = table.encode_named(|name| request.get(name).copied(), &mut features)?;
    /// assert_eq!(odd, [("age", Odd::Far)]);
    /// let error = table.encode_named(|_| None, &mut features).unwrap_err();
    /// assert_eq!(error, CellError::NoColumn { column: "age".to_owned() });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_named<'cell>(
        &self,
        cell: impl Fn(&str) -> Option<&'cell str>,
        out: &mut Vec<f32>,
    ) -> Result<Vec<(&str, Odd)>, CellError> {
        let cell = |column: &Column| match (cell(&column.name), &column.kind) {
            (Some(cell), _) => Ok(cell),
            (None, ColumnKind::Dropped { .. }) => Ok(""),
            (None, _) => Err(CellError::NoColumn { column: column.name.clone() }),
        };
        let cells = self.columns.iter().map(cell).collect::<Result<Vec<_>, _>>()?;
        let odd = self.encode_written(&cells, out)?.into_iter();
        Ok(odd.map(|(place, odd)| (self.columns[place].name.as_str(), odd)).collect())
    }

    /// Encodes cells as they are written, marks of missing values included, and returns the places of those
    /// that are odd.
    fn encode_written(
        &self,
        cells: &[&str],
        out: &mut Vec<f32>,
    ) -> Result<Vec<(usize, Odd)>, CellError> {
        let marks: Vec<Mark> = self.missing.iter().map(|text| Mark::new(text)).collect();
        let is_mark = |text: &str| marks.iter().any(|mark| mark.is_in(text.trim()));
        let cells: Vec<&str> =
            cells.iter().map(|text| if is_mark(text) { "" } else { text }).collect();
        let place =
            |at: usize, name: &str| cell::find(name, |name| self.columns[at].place_of(name));
        let mut odd_cells = Vec::new();
        self.encode_telling(&cells, out, place, |place, odd| odd_cells.push((place, odd)))?;
        Ok(odd_cells)
    }

    /// As [`encode`](Self::encode); `find` returns the place of a category among those of a column, and
    /// `tell` is called with the place of each column whose cell is odd, and what is odd about it.
    pub fn encode_telling(
        &self,
        cells: &[&str],
        out: &mut Vec<f32>,
        find: impl Fn(usize, &str) -> Option<usize>,
        mut tell: impl FnMut(usize, Odd),
    ) -> Result<(), CellError> {
        if cells.len() != self.columns.len() {
            return Err(CellError::Count { cells: cells.len(), expected: self.columns.len() });
        }
        let before = out.len();
        self.columns
            .iter()
            .zip(cells)
            .enumerate()
            .try_for_each(|(place, (column, text))| {
                column.encode(text, out, |name| find(place, name), |odd| tell(place, odd))
            })
            .inspect_err(|_| out.truncate(before))
    }
}

impl Column {
    fn place_of(&self, category: &str) -> Option<usize> {
        self.categories().iter().position(|known| known == category)
    }

    fn encode(
        &self,
        text: &str,
        out: &mut Vec<f32>,
        find: impl FnOnce(&str) -> Option<usize>,
        tell: impl FnOnce(Odd),
    ) -> Result<(), CellError> {
        match &self.kind {
            ColumnKind::Numeric { mean, deviation } => {
                let score =
                    standardise(cell::number(&self.name, text, self.format)?, *mean, *deviation);
                if score.abs() > FAR {
                    tell(Odd::Far);
                }
                out.push(score);
            }
            ColumnKind::Categorical { categories, fill, encoding } => {
                let category = cell::category(text);
                let category = category.as_deref().unwrap_or(fill);
                let place = find(category);
                if place.is_none() {
                    tell(Odd::Unseen);
                }
                encoding.encode(place, categories.len(), out);
            }
            ColumnKind::Text { vocabulary, length } => {
                let ids = token_ids(vocabulary, text);
                if !ids.is_empty() && ids.iter().all(|&id| vocabulary.unknown() == Some(id)) {
                    tell(Odd::Unread);
                }
                encode_tokens(&ids, *length, out);
            }
            ColumnKind::Dropped { .. } => {}
        }
        Ok(())
    }
}

/// A feature in deviations from the mean; 0 where it is missing or nothing deviates.
pub fn standardise(number: Option<f64>, mean: f64, deviation: f64) -> f32 {
    match number {
        Some(number) if deviation > 0.0 => {
            let score = (number - mean) / deviation;
            score.clamp(-LARGEST_SCORE, LARGEST_SCORE) as f32
        }
        _ => 0.0,
    }
}

impl CategoryEncoding {
    /// Appends the features of the category at `place` of `count`.
    pub fn encode(self, place: Option<usize>, count: usize, out: &mut Vec<f32>) {
        match self {
            Self::OneHot => {
                out.extend((0..count).map(|category| f32::from(u8::from(place == Some(category)))))
            }
            Self::Index => out.push(place.map_or(0, |place| place + 1) as f32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Vocabulary,
        table::{TextFeatures, tests::example},
    };

    #[test]
    fn a_row_by_names_is_the_row_by_places() {
        let table = example();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let cells: Vec<&str> = names
            .iter()
            .map(|&name| match name {
                "age" => "-999",
                "sex" => "other",
                _ => "",
            })
            .collect();
        let (mut by_place, mut by_name) = (vec![7.0], vec![7.0]);
        table.encode(&cells, &mut by_place).unwrap();
        let is_dropped = |name: &str| name == "ticket";
        let cell = |name: &str| {
            let place = names.iter().position(|&other| other == name).unwrap();
            (!is_dropped(name)).then_some(cells[place])
        };
        let odd = table.encode_named(cell, &mut by_name).unwrap();
        assert_eq!((odd, &by_name), (vec![("sex", Odd::Unseen)], &by_place));

        let lacking = |name: &str| cell(name).filter(|_| name != "sex");
        let error = table.encode_named(lacking, &mut by_name).unwrap_err();
        assert_eq!(error, CellError::NoColumn { column: "sex".to_owned() });
        let wrong = |name: &str| if name == "age" { Some("old") } else { cell(name) };
        assert!(table.encode_named(wrong, &mut by_name).is_err());
        assert_eq!(by_name, by_place, "what was there stays");
    }

    #[test]
    fn rows_are_encoded() {
        let check = |cells: [&str; 4], expected: [f32; 4]| {
            let mut out = vec![];
            example().encode(&cells, &mut out).unwrap();
            assert_eq!(out, expected, "{cells:?}");
        };
        check(["40", "A/5", "female", "5"], [1.0, 1.0, 0.0, 0.0]);
        check(["-999.0", "inf", "?", "7"], [0.0, 0.0, 1.0, 0.0]); // missing: mean and mode

        let mut marked = example();
        marked.missing.push("lost".into());
        let mut out = vec![];
        marked.encode(&[" lost", "", "lost\t", "7"], &mut out).unwrap();
        assert_eq!(out, [0.0, 0.0, 1.0, 0.0]);
        check(["25", "", "unseen", "NA"], [-0.5, 0.0, 0.0, 0.0]);
        check(["3e38", "", "male", "3e38"], [1e6, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_number_beyond_a_hundred_deviations_is_far() {
        for (age, odd) in
            [("1030", None), ("1031", Some((0, Odd::Far))), ("-971", Some((0, Odd::Far)))]
        {
            let found = example().encode_written(&[age, "", "male", "5"], &mut vec![]).unwrap();
            assert_eq!(found, Vec::from_iter(odd), "{age}");
        }
    }

    #[test]
    fn a_category_is_a_place_for_an_embedding() {
        let mut example = example();
        if let ColumnKind::Categorical { encoding, .. } = &mut example.columns[2].kind {
            *encoding = CategoryEncoding::Index;
        }
        for (sex, expected) in [("female", 1.0), ("male", 2.0), ("", 2.0), ("unseen", 0.0)] {
            let mut out = vec![];
            example.encode(&["30", "", sex, "5"], &mut out).unwrap();
            assert_eq!(out, [0.0, expected, 0.0], "{sex}");
        }
        assert_eq!((example.indexed(), example.width()), (vec![(1, 3)], 3));
        assert_eq!(example.feature_names(), ["age", "sex", "constant"]);
    }

    #[test]
    fn a_text_is_the_ids_of_its_last_tokens() {
        let mut example = example();
        let vocabulary = Vocabulary::words("the film is good, the cast is not", 5).unwrap();
        // <unknown>, the, is, film, good
        example.columns[2].kind = ColumnKind::Text { vocabulary, length: 3 };
        assert_eq!(example.width(), 5);
        assert_eq!(example.texts(), [TextFeatures { feature: 1, length: 3, tokens: 6 }]);
        assert_eq!(example.id_counts(), [0, 6, 6, 6, 0]);
        assert_eq!([100, 9000].map(|most| example.rows_at_a_time(most)), [100, 5461]);
        assert_eq!(example.feature_names(), ["age", "sex[0]", "sex[1]", "sex[2]", "constant"]);
        for (text, expected) in [
            ("Good", [0.0, 0.0, 5.0]),
            ("The film is GOOD", [4.0, 3.0, 5.0]),
            ("the worst", [0.0, 2.0, 1.0]),
            ("the\n\nfilm", [0.0, 2.0, 4.0]),
            ("", [0.0; 3]),
            ("NA", [0.0; 3]),
        ] {
            let mut out = vec![];
            let mut odd = Vec::new();
            let tell = |column, what| odd.push((column, what));
            example.encode_telling(&["30", "", text, "5"], &mut out, |_, _| None, tell).unwrap();
            assert_eq!(out[1..4], expected, "{text}");
            assert_eq!((out.len(), odd), (5, Vec::new()));
        }
        let (mut odd, mut out) = (Vec::new(), vec![]);
        let cells = ["30", "", "ein guter", "5"];
        let tell = |column, what| odd.push((column, what));
        example.encode_telling(&cells, &mut out, |_, _| None, tell).unwrap();
        assert_eq!(odd, [(2, Odd::Unread)]);

        let json = serde_json::to_string(&example).unwrap();
        assert!(json.contains(r#""kind":"text","vocabulary":{"tokens":"words","words":["the""#));
        assert_eq!(serde_json::from_str::<TablePreprocessing>(&json).unwrap(), example);
    }

    #[test]
    fn an_error_leaves_the_output_as_it_was() {
        let mut out = vec![9.0];
        let error = example().encode(&["1", "", "male", "abc"], &mut out).unwrap_err();
        assert_eq!(error.to_string(), "column `constant`: `abc` is not a number");
        let error = example().encode(&["1"], &mut out).unwrap_err();
        assert_eq!(error.to_string(), "the row has 1 cell, the model was trained on 4");
        assert_eq!(out, [9.0]);
    }
}
