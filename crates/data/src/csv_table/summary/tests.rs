//! What columns are taken for.

use super::*;

fn summary<'a>(cells: impl IntoIterator<Item = &'a str>) -> Summary {
    let mut summary = Summary::default();
    for (index, cell) in cells.into_iter().enumerate() {
        summary.add(index as u64 + 1, cell);
    }
    summary
}

#[test]
fn nineteen_of_twenty_make_numbers() {
    let numbers = |count| std::iter::repeat_n("1.5", count);
    assert_eq!(summary(numbers(19).chain(["x"])).kind(), Kind::Numeric);
    assert_ne!(summary(numbers(18).chain(["x"])).kind(), Kind::Numeric);
    assert_eq!(summary(numbers(1).chain(["", "?", "NA", "NaN"])).kind(), Kind::Numeric);
}

#[test]
fn repeated_text_is_a_category_and_unique_text_is_dropped() {
    let check = |cells: &[&str], expected: &[&str]| {
        let expected = expected.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(summary(cells.iter().copied()).kind(), Kind::Categorical(expected));
    };
    check(&["b", "a", "b", "a", ""], &["a", "b"]);
    check(&["10", "x", "9", "x", "10.0", "9"], &["9", "10", "x"]);
    assert!(matches!(summary(["a", "b", "c", "a"]).kind(), Kind::Dropped(_)));
    assert_eq!(summary(["", "?"]).kind(), Kind::Dropped("it has no values".into()));
}

/// A map has another order each time.
#[test]
fn numbers_that_are_the_same_float_have_an_order() {
    let ids: Vec<String> = (0..7).map(|i| format!("12345678901234567{i}")).collect();
    for _ in 0..5 {
        let categories = summary(ids.iter().rev().map(String::as_str)).categories();
        assert_eq!(categories, Some(ids.clone()));
        assert_eq!(
            summary(["1e-7", "x", "0.0000001"]).categories().unwrap(),
            ["0.0000001", "1e-7", "x"]
        );
    }
}

#[test]
fn values_are_kept_until_they_are_too_many() {
    let names: Vec<String> = (0..=LARGEST_CATEGORIES).map(|i| format!("n{i}")).collect();
    let most = summary(names[1..].iter().map(String::as_str));
    assert_eq!(most.distinct(), Some(LARGEST_CATEGORIES));
    let more = summary(names.iter().chain(&names).map(String::as_str));
    assert_eq!((more.distinct(), more.categories()), (None, None));
    assert!(matches!(more.kind(), Kind::Dropped(_)));
}

#[test]
fn formatted_numbers_are_pointed_out() {
    let check = |cells: &[&str], expected: Option<&str>| {
        let summary = summary(cells.iter().copied());
        assert_eq!(summary.unread_number().map(|place| &*place.text), expected, "{cells:?}");
    };
    check(&["1,5", "2", "", "3,25"], Some("1,5"));
    check(&["$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "free"], Some("$1"));
    check(&["$1", "2", "€3"], Some("€3"));
    check(&["50 %", "0.5"], Some("50 %"));
    check(&["$1", "$2", "$3", "free"], None);
    check(&["1", "2", "3"], None);
    check(&["a", "b", ""], None);
    check(&[&["1"; 30][..], &["1,5"]].concat(), None); // a slip has an error of its own

    let reason = |cells: &[&str]| match summary(cells.iter().copied()).kind() {
        Kind::Dropped(reason) => reason,
        kind => panic!("{kind:?}"),
    };
    let dropped = reason(&["x", "0,5", "1,5", "2,5", "3,5", "4,5", "5,5", "6,5", "7,5", "8,5"]);
    assert!(dropped.starts_with("its numbers are written as `0,5` in line 2 "), "{dropped}");
    let percents = summary(["5%", "10%", "0.5"].repeat(3));
    assert!(matches!(percents.as_read().kind(), Kind::Categorical(_)));
}

#[test]
fn numbers_that_are_formatted_alike_are_read() {
    let check = |cells: &[&str], expected: Option<Option<char>>| {
        let summary = summary(cells.iter().copied());
        let is_read = summary.as_read().is_numeric() && summary.common_format().is_some();
        let sign = summary.common_format().filter(|_| is_read).map(|common| common.format.sign);
        assert_eq!(sign, expected, "{cells:?}");
    };
    check(&["$1,000", "2", "$3.50", ""], Some(Some('$')));
    check(&["1,000", "2.5", "12,345,678"], Some(None));
    check(&["50 %", "0", "12.5%", "0.0"], Some(Some('%')));
    check(&["5", "1,000", "€ 7"], Some(Some('€')));
    check(&[&["$5"; 19][..], &["free"]].concat(), Some(Some('$')));
    check(&[&["$5"; 18][..], &["free"]].concat(), None);
    for other in ["0.5", "1,000", "$5", "(5%)", "5-", "1,5"] {
        check(&["50 %", other, "50 %"], None);
        check(&[other, "50 %"], None);
    }
    for other in ["€5", "5 %", "($5)", "5-", "1,5", "0,125", "1,23,456"] {
        check(&["$5", other, "$5"], None);
        check(&[other, "$5"], None);
    }
    check(&["1", "2"], None);
    check(&["10-20%", "20-30%"], None);
}

#[test]
fn a_column_of_formatted_numbers_is_read_as_the_one_of_plain_numbers() {
    let formatted = summary(["7", "$1,250.50", "", "inf", "$ -3"]);
    let plain = summary(["7", "1250.50", "", "inf", "-3"]);
    let shown = |summary: &Summary| {
        let values = (summary.numbers, summary.texts, summary.missing, summary.categories());
        (values, summary.is_whole())
    };
    assert_eq!(shown(formatted.as_read()), shown(&plain));
    assert_eq!(formatted.categories().unwrap(), ["7", "inf", "$ -3", "$1,250.50"]);
}

#[test]
fn what_is_not_formatted_alike_is_shown() {
    let check = |cells: &[&str], expected: &str| {
        let told = summary(cells.iter().copied()).note_on_unread().unwrap();
        let expected = format!("its numbers are written as {expected} and read as text; ");
        assert!(told.starts_with(&expected), "{told}");
    };
    check(&["$5", "6", "€5"], "`$5` in line 1 and `€5` in line 3");
    check(&["$5", "($6)", "€5"], "`$5` in line 1 and `($6)` in line 2");
    check(&["0.5", "5 %"], "`5 %` in line 2 and `0.5` in line 1");
    check(&["1,5", "$6"], "`$6` in line 2 and `1,5` in line 1");
    check(&["1,5", "2,5"], "`1,5` in line 1");
    check(&["5 kg", "6 kg"], "`5 kg` in line 1");
    check(&[&["$5"; 10][..], &["free"]].concat(), "`$5` in line 1 and `free` in line 11");
}

#[test]
fn points_separate_thousands_where_other_numbers_tell() {
    let check = |cells: &[&str], expected: Option<&str>| {
        let summary = summary(cells.iter().copied());
        assert_eq!(summary.surely_grouped().map(|place| &*place.text), expected, "{cells:?}");
    };
    check(&["925", "1.721", "12.345.678"], Some("1.721"));
    check(&["-100", "", "-1.721"], Some("-1.721"));
    check(&["1.721", "2.030"], None); // may as well be decimal
    check(&["5", "1.721"], None);
    check(&["925", "1.721", "0.5"], None);
    check(&["925", "1.721", "1500"], None);
    check(&["925", "1500"], None);
}

#[test]
fn dates_that_hardly_recur_are_told_from_other_texts() {
    let reason = |cells: &[&str]| match summary(cells.iter().copied()).kind() {
        Kind::Dropped(reason) => reason,
        kind => panic!("{kind:?}"),
    };
    let dates = reason(&["2024-01-31", "31.1.2024 10:00", "01/31/24", ""]);
    assert!(dates.starts_with("it holds dates"), "{dates}");
    let texts = reason(&["2024-01-31", "a", "b"]);
    assert!(texts.starts_with("its text hardly recurs"), "{texts}");
    let weights = reason(&["75 kg", "80.5 kg", "", "90 kg"]);
    assert!(weights.starts_with("its numbers are written as `75 kg` in line 1"), "{weights}");
    let seats = reason(&["12 A", "12 B", "13 A", "14 C"]);
    assert!(seats.starts_with("its text hardly recurs"), "{seats}");
}

#[test]
fn classes_keep_the_zeros_that_all_of_their_cells_have() {
    let check = |cells: &[&str], expected: &[&str]| {
        assert_eq!(summary(cells.iter().copied()).classes().unwrap(), expected);
    };
    check(&["007", "001", "007", "010"], &["001", "007", "010"]);
    check(&["01", "1", "02", "00"], &["00", "1", "02"]);
    check(&["1.0", "0.0", "x"], &["0", "1", "x"]);
    assert_eq!(summary(["7", "", "070", "08"]).first_code.unwrap().line, 3);
    assert_eq!(summary(["7", "123456789012345", "1234567890123456"]).first_code.unwrap().line, 3);
}

#[test]
fn a_class_with_and_without_leading_zeros_is_noticed() {
    let check = |cells: &[&str], expected: Option<[&str; 2]>| {
        let found = summary(cells.iter().copied()).respelled;
        assert_eq!(found, expected.map(|pair| pair.map(str::to_owned)), "{cells:?}");
    };
    check(&["02", "01", "1", "2"], Some(["01", "1"]));
    check(&["1.0", "2", "2.0", "01", "02"], Some(["01", "1"]));
    check(&["1", "1", "001", "01"], Some(["001", "1"]));
    check(&["01", "001"], Some(["01", "1"]));
    check(&["0", "00"], Some(["00", "0"]));
    check(&["1", "1.0", "2", "2.0", "1"], None); // as pandas writes integers beside missing ones
    check(&["007", "008", "007", "", "010"], None);
    check(&["0.5", "0.50", "x", "x"], None);
}

#[test]
fn a_change_of_type_has_its_line() {
    let check = |cells: &[&str], line| {
        let summary = summary(cells.iter().copied());
        assert_eq!(summary.type_change().map(|place| place.line), line, "{cells:?}");
    };
    check(&["1", "2", "", "x", "y"], Some(4));
    check(&["x", "y", "1", "2"], Some(3));
    check(&["1", "2", "x"], None);
    check(&["1", "x", "2", "y"], None);
    check(&["x", "y"], None);
}

#[test]
fn few_texts_among_numbers_are_markers() {
    let check = |numbers: &[&str], texts: &[&str], expected: Option<(u64, &str, u64)>| {
        let summary = summary(numbers.iter().chain(texts).copied());
        let found = summary.marker();
        let found = found.map(|place| (place.line, &*place.text, summary.percent_numbers()));
        assert_eq!(found, expected, "{numbers:?} {texts:?}");
    };
    let many: Vec<String> = (0..1800).map(|i| (i % 900).to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(&many[..90], &["-"; 10], Some((91, "-", 90)));
    check(&many, &["-"; 200], Some((1801, "-", 90)));
    check(&many, &["none", "-", "n.a.", "x", "y"].repeat(20), Some((1801, "none", 94)));
    check(&["0.5", "1", "0.5", "1"], &["-"], Some((5, "-", 80)));
    check(&["7", "8", "9"], &["-"], Some((4, "-", 75)));

    check(&many[..90], &["-"; 4], None); // a slip has an error of its own
    check(&many[..90], &["-"; 90], None);
    check(&many, &["a", "b", "c", "d", "e", "f"].repeat(20), None);
    check(&["1", "2", "1", "2", "1", "2"], &["3+", "3+"], None);
    check(&many, &[], None);
}

#[test]
fn whole_numbers_that_all_differ_tell_rows_apart() {
    let check = |cells: &[String], expected| {
        let summary = summary(cells.iter().map(String::as_str));
        assert_eq!(summary.tells_rows_apart(), expected, "{} cells", cells.len());
    };
    let numbers = |rows: usize| (0..rows).map(|n| (7 * n % 3001).to_string()).collect();
    let numbers: [Vec<String>; 2] = [10, 3000].map(numbers);
    numbers.iter().for_each(|numbers| check(numbers, true));
    check(&numbers[0][1..], false);
    for other in ["", "7", "1.5", "x"] {
        check(&[numbers[0].clone(), vec![other.to_owned()]].concat(), false);
    }
    check(&[vec!["7".to_owned()], numbers[1].clone()].concat(), false);
}

#[test]
fn a_counter_counts() {
    let numbers =
        |first: u32, rows: u32| (first..first + rows).map(|n| n.to_string()).collect::<Vec<_>>();
    let check = |cells: &[String], counter, index| {
        let summary = summary(cells.iter().map(String::as_str));
        assert_eq!((summary.is_counter(), summary.is_index()), (counter, index), "{cells:?}");
    };
    check(&numbers(1990, 10), true, false);
    check(&numbers(0, 10), true, true);
    check(&numbers(1, 10), true, true);
    check(&numbers(1, 9), false, false);
    check(&[numbers(1, 10), vec![String::new()]].concat(), false, false);
    check(&[numbers(1, 10), numbers(12, 9)].concat(), false, false);
    check(&["a"; 12].map(str::to_owned), false, false);
    check(&["9007199254740992"; 12].map(str::to_owned), false, false); // plus 1 it is the same
}
