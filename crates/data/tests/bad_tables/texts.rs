//! Columns of texts, whose words are read.

use data::{Column, TablePreprocessing};

use super::{told::notes, *};

/// Twelve reviews of three words and more, each with a number and a class.
fn reviews() -> String {
    let row = |index: usize| {
        let (subject, says) = (["film", "cast", "music"][index % 3], index.is_multiple_of(2));
        let verdict = if says { "really good" } else { "not good" };
        let class = if says { "yes" } else { "no" };
        let year = index * 5 % 7;
        format!("\"The {subject} number {index}, is {verdict}!\",{year},{class}\n")
    };
    format!("review,year,liked\n{}", (0..12).map(row).collect::<String>())
}

/// Reads reviews, and those in `b.csv`, whose column `review` is one of texts.
fn read_texts(
    text: &str,
    set: impl FnOnce(&Path, &mut CsvOptions),
) -> (TempDir, Result<TableSplits, DataError>) {
    let other = "review,year,liked\nThe film is worse,3,no\n,4,yes\nEin Film,5,no\n";
    read(&[("a.csv", text.as_bytes()), ("b.csv", other.as_bytes())], |folder, options| {
        options.columns.insert("review".into(), ColumnOverride::Text);
        options.texts.vocabulary = 5;
        set(folder, options);
    })
}

fn words(preprocessing: &TablePreprocessing) -> (String, usize) {
    let [Column { kind: ColumnKind::Text { vocabulary, length }, .. }, _] =
        &preprocessing.columns[..]
    else {
        panic!("{:?}", preprocessing.columns)
    };
    let words: Vec<String> = (0..vocabulary.len() as u32)
        .map(|id| vocabulary.token(id).expect("an id of the vocabulary"))
        .collect();
    (words.join(" "), *length)
}

#[test]
fn a_text_is_learnt_from_the_training_rows_and_read_likewise_later() {
    let (_folder, result) = read_texts(&reviews(), |folder, options| {
        options.validation_path = Some(folder.join("b.csv"));
    });
    let splits = result.expect("a good table");
    let preprocessing = &splits.preprocessing;
    // Nine tokens in each: the longest text decides, if it is shorter than what may be read.
    assert_eq!(words(preprocessing), ("<unknown> ! , good is".to_owned(), 9));
    assert_eq!(preprocessing.width(), 10);
    let text = |table: &data::Table, row: usize| table.features[row * 10..][..9].to_vec();
    // The film number 0 , is really good !
    assert_eq!(text(&splits.train, 0), [1.0, 1.0, 1.0, 1.0, 3.0, 5.0, 1.0, 4.0, 2.0]);
    // The cast number 1 , is not good !
    assert_eq!(text(&splits.train, 1), text(&splits.train, 0));

    let validation = splits.validation.as_ref().expect("a file of its own");
    assert_eq!(text(validation, 0), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 5.0, 1.0]);
    assert_eq!(text(validation, 1), [0.0; 9]);
    let notes = splits.notes.join("\n");
    for expected in [
        "columns used: 1 numeric, 1 of text (`review`)",
        "column `review`: 55.6 % of the words are rare, or beyond the 4 most frequent that recur (`data.text_vocabulary`)",
        "column `review`: the value `Ein Film` is without a known word",
    ] {
        assert!(notes.contains(expected), "{notes}");
    }
    assert!(!notes.contains("data.text_length"), "{notes}");

    let rows = reviews().replace(",yes", ",").replace(",no", ",");
    assert_eq!(encoded(&rows, &splits), splits.train.features);
}

#[test]
fn columns_are_taken_by_name_unless_there_were_none() {
    let (_folder, result) = read_texts(&reviews(), |_, _| {});
    let splits = result.expect("a good table");
    let error = read_rows("text,year\nquite good,1\n".as_bytes(), "b.csv", &splits.preprocessing);
    assert_eq!(error.unwrap_err().to_string(), "`b.csv` has no column `review`");

    let (_, rows) =
        reviews().split_once('\n').map(|(header, rows)| (header, rows.to_owned())).unwrap();
    let (_folder, result) = read(&[("a.csv", rows.as_bytes())], |_, options| {
        options.columns.insert("column_0".into(), ColumnOverride::Text);
    });
    let splits = result.expect("a good table");
    assert!(!splits.preprocessing.header);
    assert_eq!(encoded(&rows, &splits), splits.train.features);
}

#[test]
fn the_end_of_a_long_text_is_read() {
    let (_folder, result) = read_texts(&reviews(), |_, options| options.texts.length = 3);
    let splits = result.expect("a good table");
    assert_eq!(words(&splits.preprocessing).1, 3);
    assert_eq!(splits.train.features[..3], [1.0, 4.0, 2.0]); // really good !
    let notes = splits.notes.join("\n");
    let cut = "up to 3 tokens of a text are read, the last ones, and 12 of 12 texts have as many or more \
               (`data.text_length`)";
    assert!(notes.contains(cut), "{notes}");
}

#[test]
fn a_column_without_words_to_train_on_is_dropped() {
    for (word, reason) in [
        ("", "it has no values in the training split"),
        ("w", "no word is in two of its texts in the training split"),
    ] {
        let row = |row: usize| {
            let text = if word.is_empty() { String::new() } else { format!("{word}{row}") };
            format!("{text},{},{}\n", row * 5 % 7, ["no", "yes"][row % 2])
        };
        let text = format!("review,year,liked\n{}", (0..12).map(row).collect::<String>());
        let (_folder, result) = read_texts(&text, |_, _| {});
        let notes = result.expect("a good table").notes.join("\n");
        assert!(notes.contains(&format!("`review` is dropped: {reason}")), "{notes}");
    }
}

#[test]
fn a_text_that_is_a_number_stays_as_it_is_written() {
    for texts in [["9,5", "2.5", "1,5", "3.5"], ["9,5", "1,5", "7,5", "2,5"]] {
        let rows = |point: &str| {
            let row = |row: usize| {
                let year = ["0,5", "1,25"][row % 2].replace(',', point);
                let cells = [texts[row % 4], &year, ["no", "yes"][row / 2 % 2]];
                match point {
                    "," => cells.join(";") + "\n",
                    _ => format!("\"{}\"\n", cells.join("\",\"")),
                }
            };
            (0..16).map(row).collect::<String>()
        };
        let text = format!("review;year;liked\n{}", rows(","));
        let (_folder, result) = read_texts(&text, |_, options| options.texts.vocabulary = 20);
        let splits = result.expect("a good table");
        let mut tokens = splits.train.features.iter().step_by(2);
        assert!(tokens.all(|&token| token > 1.0), "every text is known");
        assert_eq!(encoded(&text, &splits), splits.train.features);
        let with_points = format!("review,year,liked\n{}", rows("."));
        assert_eq!(encoded(&with_points, &splits), splits.train.features);
    }
}

#[test]
fn a_comment_that_most_rows_lack_makes_no_copies() {
    let row = |index: usize| {
        let random = index * 7919 % 104_729;
        let [a, b, class] = [random % 2, random / 3 % 2, random / 7 % 2];
        let comment =
            if random.is_multiple_of(8) { format!("word {}", random % 40) } else { String::new() };
        format!("{comment},{},{},{}\n", ["x", "y"][a], ["p", "q"][b], ["no", "yes"][class])
    };
    let text = format!("review,a,b,liked\n{}", (0..600).map(row).collect::<String>());
    let (_folder, result) = read_texts(&text, |_, options| options.fractions.validation = 0.2);
    let notes = result.expect("a good table").notes.join("\n");
    assert!(!notes.contains("the same as") && !notes.contains("the same features"), "{notes}");
}

#[test]
fn sizes_with_which_no_text_can_be_read_are_refused() {
    for (vocabulary, length) in [(1, 5), (2_000_000, 5), (5, 0)] {
        let (_folder, result) = read_texts(&reviews(), |_, options| {
            (options.texts.vocabulary, options.texts.length) = (vocabulary, length);
        });
        let error = result.expect_err("no text").to_string();
        let expected = format!("as {length} tokens with a vocabulary of {vocabulary} words");
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn a_column_of_sentences_says_how_it_is_read() {
    let (_, told) = notes(&reviews());
    let expected = "column `review` is dropped: its text hardly recurs, so it tells little of other \
                    rows: 12 different ones in 12 rows; to read its words, use \
                    `--set data.columns.review=text`";
    assert!(told.contains(expected), "{told}");
    let rows = (0..1500).map(|row| format!("a b c{row},{row},{}\n", ["no", "yes"][row % 2]));
    let (_, told) = notes(&format!("code,year,liked\n{}", rows.collect::<String>()));
    let many = "it has more than 1000 different texts; to read its words, use";
    assert!(told.contains(many), "{told}");
    for code in ["x", "+49 30 1234 "] {
        let rows = (0..40).map(|row| format!("{code}{row},{row},{}\n", ["no", "yes"][row % 2]));
        let (_, told) = notes(&format!("code,year,liked\n{}", rows.collect::<String>()));
        assert!(told.contains("`code` is dropped") && !told.contains("=text"), "{told}");
    }
}

#[test]
fn copies_of_texts_are_told() {
    let row = |index: usize| {
        let text = index % 100; // each twice
        format!("number {text} of these,{}\n", if text.is_multiple_of(3) { "a" } else { "b" })
    };
    let text = format!("review,class\n{}", (0..200).map(row).collect::<String>());
    let (_folder, result) = read(&[("a.csv", text.as_bytes())], |_, options| {
        options.columns.insert("review".into(), ColumnOverride::Text);
        options.fractions.validation = 0.5;
    });
    let notes = result.expect("a good table").notes.join("\n");
    assert!(notes.contains(" of 100 held-out rows are the same as rows to train on"), "{notes}");
}
