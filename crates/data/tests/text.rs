//! The text source, from files to windows: real texts, and what is no good one.

mod common;
#[path = "common/folders.rs"]
mod folders;

use std::{collections::HashSet, fs};

use common::shared_data;
use data::{
    DataError, Fractions, TokenKind, Vocabulary, refuse_shared,
    text::{Corpus, PRIMER, Streams, TextOptions, Windows, read_text, read_tokens},
};
use folders::{folder, refused};
use proptest::prelude::*;
use tempfile::TempDir;

fn characters(sequence_length: usize) -> TextOptions {
    TextOptions { tokens: TokenKind::Characters, sequence_length, ..TextOptions::default() }
}

/// Writes `files` and reads the one called `path`, or all where it is empty.
fn read(
    files: &[(&str, &[u8])],
    path: &str,
    options: TextOptions,
) -> (TempDir, Result<Corpus, DataError>) {
    let folder = folder(files);
    let path = Some(folder.path().join(path));
    let result = read_text(&TextOptions { path, ..options });
    (folder, result)
}

/// Expects an error whose paths are given without their folder, and a part of its help.
fn check(files: &[(&str, &[u8])], path: &str, options: TextOptions, error: &str, help: &str) {
    let (folder, result) = read(files, path, options);
    refused(folder.path(), result, error, help);
}

fn check_text(text: &str, options: TextOptions, error: &str, help: &str) {
    check(&[("a.txt", text.as_bytes())], "a.txt", options, error, help);
}

/// All ids of a part, by its windows.
fn ids(windows: &Windows) -> Vec<u32> {
    let mut all = vec![0; windows.tokens().len()];
    windows.tokens().read(0, &mut all);
    all
}

#[test]
fn files_that_are_no_text() {
    check(&[], "absent.txt", characters(4), "`absent.txt` does not exist", "check the path");
    check(&[("a.txt", b"")], "a.txt", characters(4), "`a.txt` is empty", "longer");
    check(&[("a.txt", b"\xef\xbb\xbf")], "a.txt", characters(4), "`a.txt` is empty", "longer");
    check(&[("a.txt", b""), ("b.txt", b"")], "", characters(4), "`` is empty", "longer");
    let error = "`` has no file whose name ends in `.txt`";
    check(&[("a.md", b"text")], "", characters(4), error, "add a text file");
    let error = "`a.txt`: the text is not UTF-8 at byte 4";
    check(
        &[("a.txt", b"caf\xc3\xa9")],
        "a.txt",
        characters(9),
        "the training part of `a.txt` has 3 tokens, a sequence of 9 and its target take 10",
        "longer",
    );
    check(&[("a.txt", b"na\xc3\xaf\xefve")], "a.txt", characters(1), error, "iconv");
    check(&[("b.txt", b"good"), ("a.txt", b"text\xe9")], "", characters(1), error, "iconv");
    check(&[("a.txt", b"text\xff\0")], "a.txt", characters(1), error, "iconv");
    let pdf = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n";
    let format = "`a.pdf` is a PDF document, plain text is expected";
    check(&[("a.pdf", pdf)], "a.pdf", characters(1), format, "pdftotext");
    check(&[("a.pdf", b"%PDF-1.4 plain")], "a.pdf", characters(1), format, "pdftotext");
    let picture = "`a.jpg` is a JPEG picture, plain text is expected";
    let jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF";
    check(&[("a.jpg", jpeg)], "a.jpg", characters(1), picture, "name a text in its place");
    let rtf = "`a.rtf` is a document in rich text (RTF), plain text is expected";
    check(&[("a.rtf", b"{\\rtf1\\ansi Text.}")], "a.rtf", characters(1), rtf, "as plain text");
    let bytes = TextOptions { tokens: TokenKind::Bytes, ..characters(1) };
    assert!(read(&[("a.rtf", b"{\\rtf1\\ansi A text as it is.}")], "a.rtf", bytes).1.is_ok());
    let json = b"{\"a\": 1, \"text\": \"JSON is text\"}";
    assert!(read(&[("a.json", json)], "a.json", characters(1)).1.is_ok());
    check(&[("a.txt", b"text\xff")], "a.txt", characters(1), error, "data.tokens=bytes");
    let error = "`a.txt`: the text has a zero byte at byte 4";
    for bytes in [&b"text\0and"[..], b"text\0\xff"] {
        check(&[("a.txt", bytes)], "a.txt", characters(1), error, "tr -d '\\000'");
    }
    let error = "`a.txt`: the text is not UTF-8 at byte 0";
    for bytes in [&b"\xff\xfea\0b\0"[..], b"\xfe\xff\0a\0b", b"\0a\0b\0c"] {
        check(&[("a.txt", bytes)], "a.txt", characters(1), error, "iconv -f utf-16 ");
    }
}

#[test]
fn bytes_may_be_anything() {
    let bytes: Vec<u8> = (0..=255).rev().cycle().take(1000).collect();
    let options = TextOptions { tokens: TokenKind::Bytes, ..characters(4) };
    let (folder, corpus) = read(&[("a.txt", &bytes)], "a.txt", options);
    let corpus = corpus.unwrap();
    let mut read = vec![0; 1000];
    let (train, validation) = read.split_at_mut(corpus.train.len());
    corpus.train.read(0, train);
    corpus.validation.unwrap().read(0, validation);
    assert_eq!(read, bytes.iter().map(|&byte| byte.into()).collect::<Vec<u32>>());
    let (tokens, notes) = read_tokens(&folder.path().join("a.txt"), &corpus.vocabulary, 4).unwrap();
    assert_eq!((tokens.len(), notes.len()), (1000, 1));
}

#[test]
fn a_corpus_is_known_again_and_told_from_others() {
    let text = "some words come again and others do not , but all of them count . ".repeat(9);
    let fingerprint = |text: &str, vocabulary| {
        let options = TextOptions { tokens: TokenKind::Words, vocabulary, ..characters(4) };
        read(&[("a.txt", text.as_bytes())], "a.txt", options).1.unwrap().fingerprint
    };
    let known = fingerprint(&text, 30);
    // The ids of words lie in a map, which has another order each time.
    for _ in 0..5 {
        assert_eq!(fingerprint(&text, 30), known);
    }
    assert_ne!(fingerprint(&text, 9), known);
    assert_ne!(fingerprint(&text.replace("count", "matter"), 30), known);
    assert_ne!(fingerprint(&text.replacen("others", "words", 1), 30), known);
}

#[test]
fn what_a_vocabulary_lacks_is_told_of_another_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.txt");
    fs::write(&path, "a b zebra, a!").unwrap();
    let check = |vocabulary: Vocabulary, length, expected: &str| {
        let (tokens, notes) = read_tokens(&path, &vocabulary, 1).unwrap();
        assert_eq!(tokens.len(), length);
        assert!(notes[1].contains(expected), "{notes:?}");
    };
    check(Vocabulary::words("a b , !", 5).unwrap(), 6, "are unknown words");
    check(Vocabulary::characters("ab e,r!"), 12, "without 1 of its characters");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_before_it_is_read() {
    let options = TextOptions { path: Some("/dev/zero".into()), ..characters(4) };
    let error = read_text(&options).unwrap_err();
    assert_eq!(error.to_string(), "`/dev/zero` is neither a file nor a folder");
    assert!(error.help().unwrap().contains("to a file"));
}

#[test]
fn texts_that_are_too_short() {
    let check = check_text;
    let text = "0123456789";
    let error = "the training part of `a.txt` has 9 tokens, a sequence of 9 and its target take 10";
    check(text, characters(9), error, "`data.sequence_length`");
    let error = "the validation part of `a.txt`, without 1 of its characters, which the vocabulary \
                 lacks ('9'), has 0 tokens, a sequence of 8 and its target take 9";
    check(text, characters(8), error, "`data.validation`");
    let error = "the validation part of `a.txt` has 1 token, a sequence of 8 and its target take 9";
    check("0000000000", characters(8), error, "`data.validation`");
    let foreign = format!("{}{}", "ab".repeat(50), "xy".repeat(6));
    let error = "the validation part of `a.txt`, without 12 of its characters, which the vocabulary lacks \
                 ('x', 'y'), has 0 tokens, but a sequence of 8 and its target take 9";
    check(
        &foreign,
        characters(8),
        error,
        "use a text in the characters that the network has learnt",
    );
    let options = TextOptions { fractions: Fractions::default(), ..characters(9) };
    let (_folder, corpus) = read(&[("a.txt", text.as_bytes())], "a.txt", options);
    assert_eq!(corpus.unwrap().validation, None);

    check(text, characters(0), "a sequence of 0 tokens has nothing to predict from", "20");
    for validation in [-0.1, 1.0, f64::NAN] {
        let mut options = characters(1);
        options.fractions.validation = validation;
        let error = format!(
            "the share to hold out is {validation} in all, and must be at least 0 and below 1"
        );
        check(text, options, &error, "0.1");
    }
}

#[test]
fn a_file_is_of_one_part_only() {
    let text = "abcdefgh ".repeat(9);
    let [b, c] = ["hgfedcba ", "abcd efgh"].map(|text| text.repeat(9));
    let files = [("a.txt", &text), ("copy.txt", &text), ("more/b.txt", &b), ("more/c.txt", &c)];
    let folder = folder(&files.map(|(name, text)| (name, text.as_str())));
    let read = |parts: [&str; 3]| {
        let path = |name: &str| (!name.is_empty()).then(|| folder.path().join(name));
        let [path, validation_path, test_path] = parts.map(path);
        read_text(&TextOptions { path, validation_path, test_path, ..characters(2) })
    };
    let check = |parts, file: &str, first: &str, second: &str, help: &str| {
        let error = format!("`{file}` is read for both `data.{first}` and `data.{second}`");
        refused(folder.path(), refuse_shared(&read(parts).unwrap().shared), &error, help);
    };
    let [train, validation, test] = ["path", "validation_path", "test_path"];
    let help = "leave `data.validation_path` out to hold out a part of `data.path`";
    check(["a.txt", "more/../a.txt", ""], "more/../a.txt", train, validation, help);
    check(["more", "more/c.txt", ""], "more/c.txt", train, validation, help);
    let help = "leave `data.test_path` out";
    check(["", "a.txt", "a.txt"], "a.txt", validation, test, help);
    assert_eq!(read(["more", "a.txt", ""]).unwrap().shared, []);

    let error = "`copy.txt`, read for `data.test_path`, is a copy of `a.txt`, read for `data.path`";
    let shared = read(["a.txt", "", "copy.txt"]).unwrap().shared;
    refused(folder.path(), refuse_shared(&shared), error, help);
    let corpus = read(["a.txt", "more/c.txt", "more"]).unwrap();
    let error = "1 of the 2 files read for `data.test_path` are the same as files read for \
                 `data.validation_path`, such as `more/c.txt`, which is the same as `more/c.txt`";
    refused(folder.path(), refuse_shared(&corpus.shared), error, help);
    assert_eq!(corpus.notes.last().unwrap(), &corpus.shared[0].note());
}

#[test]
fn vocabularies_that_the_text_does_not_fill() {
    let words =
        |vocabulary| TextOptions { vocabulary, sequence_length: 1, ..TextOptions::default() };
    // The last tenth, `d e`, adds nothing to the training part's three words.
    let text = format!("{}d e", "a b c ".repeat(6));
    let (folder, corpus) = read(&[("a.txt", text.as_bytes())], "a.txt", words(5));
    let corpus = corpus.unwrap();
    assert_eq!((corpus.vocabulary.len(), corpus.train.len()), (4, 18));
    let part = format!("the training part of `{}`", folder.path().join("a.txt").display());
    let note = format!("the vocabulary has 4 tokens, not 5: {part} has no more different words");
    assert_eq!(corpus.notes[0], note);
    let error = "the training part of `a.txt`: the text has no word";
    check_text(&" ".repeat(20), words(5), error, "has words");
    let error = "the training part of `a.txt`: a vocabulary of 1 has no room for a word";
    check_text(&text, words(1), error, "1000");
    let (_folder, corpus) = read(&[("a.txt", text.as_bytes())], "a.txt", words(4));
    let notes = corpus.unwrap().notes.join("\n");
    assert!(notes.contains("100.0 % of the validation part"), "{notes}");
}

#[test]
fn the_primer_is_long_and_rich_enough_to_learn_from() {
    assert!(PRIMER.len() >= 60 * 1024 && PRIMER.is_ascii(), "{}", PRIMER.len());
    assert!(PRIMER.lines().all(|line| line.len() <= 90));
    let words = |text: &str| -> HashSet<String> {
        text.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_lowercase).collect()
    };
    assert!(words(PRIMER).len() > 1000, "{}", words(PRIMER).len());

    let paragraphs: Vec<&str> = PRIMER.split("\n\n").collect();
    let different: HashSet<&&str> = paragraphs.iter().collect();
    assert_eq!(different.len(), paragraphs.len());
}

#[test]
fn the_primer_is_the_default_text() {
    let corpus = read_text(&TextOptions::default()).unwrap();
    assert_eq!(corpus.vocabulary.len(), 1000);
    assert_eq!(corpus.train.name(), "the training part of the built-in text");
    let train = Windows::new(corpus.train, 20).unwrap();
    let validation = Windows::new(corpus.validation.unwrap(), 20).unwrap();
    assert!(validation.tokens().len() * 9 >= train.tokens().len());

    let unknown = ids(&train).iter().filter(|&&id| Some(id) == corpus.vocabulary.unknown()).count();
    let share = unknown as f64 / train.tokens().len() as f64;
    assert!(share < 0.1, "{share} of the words are unknown");
    let start = corpus.vocabulary.decode(&ids(&train)[..20]);
    assert!(start.starts_with("How gpus train neural networks\n\nA "), "{start}");
}

#[test]
fn shakespeare_has_65_symbols() {
    let Some(path) = shared_data("tinyshakespeare/input.txt") else { return };
    let text = fs::read_to_string(&path).unwrap();
    let corpus = read_text(&TextOptions { path: Some(path), ..characters(64) }).unwrap();
    let validation = corpus.validation.unwrap();
    assert_eq!((corpus.train.len(), validation.len()), (1_003_854, 111_540));
    assert_eq!(corpus.vocabulary.len(), 65);
    assert_eq!(corpus.vocabulary, Vocabulary::characters(&text));
    assert_eq!(corpus.notes.len(), 2, "{:?}", corpus.notes);

    let train = Windows::new(corpus.train, 64).unwrap();
    let validation = Windows::new(validation, 64).unwrap();
    let whole = [ids(&train), ids(&validation)].concat();
    assert!(corpus.vocabulary.decode(&whole) == text, "the text comes back");
    assert_eq!(train.len(), 1_003_790);
    let streams = Streams::new(train.tokens().clone(), 64, 64).unwrap();
    assert_eq!(streams.len(), 245);
}

#[test]
fn shakespeare_reads_well_in_words() {
    let Some(path) = shared_data("tinyshakespeare/input.txt") else { return };
    let corpus = read_text(&TextOptions { path: Some(path), ..TextOptions::default() }).unwrap();
    let mut start = [0; 30];
    corpus.train.read(0, &mut start);
    let start = corpus.vocabulary.decode(&start);
    assert!(
        start.starts_with(
            "First citizen: before we proceed any further, hear me speak.\n\nAll: speak, speak.\n\n"
        ),
        "{start}"
    );
}

proptest! {
    #[test]
    fn any_file_is_a_corpus_or_an_error(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            any::<String>().prop_map(String::into_bytes),
            "[ab .\n'\"-]{0,200}".prop_map(String::into_bytes),
        ],
        kind in prop::sample::select(vec![TokenKind::Characters, TokenKind::Bytes, TokenKind::Words]),
        vocabulary in 0usize..6,
        sequence_length in 0usize..6,
        validation in prop_oneof![Just(0.0), 0.0..1.0],
    ) {
        let fractions = Fractions { validation, ..Fractions::default() };
        let options = TextOptions { tokens: kind, vocabulary, sequence_length, fractions, ..TextOptions::default() };
        let (_folder, result) = read(&[("a.txt", &bytes)], "a.txt", options);
        match result {
            Err(error) => prop_assert!(error.help().is_some() && !error.to_string().contains('\n')),
            Ok(corpus) => for part in [Some(corpus.train), corpus.validation].into_iter().flatten() {
                let windows = Windows::new(part, sequence_length).unwrap();
                let mut inputs = vec![0; sequence_length];
                for index in 0..windows.len() {
                    let target = windows.read(index, &mut inputs);
                    let known = |&id: &u32| (id as usize) < corpus.vocabulary.len();
                    prop_assert!(inputs.iter().chain([&target]).all(known));
                }
            }
        }
    }
}
