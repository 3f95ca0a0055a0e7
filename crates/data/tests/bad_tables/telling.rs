//! Columns that tell the target by themselves, and what is true or false as several programs write it.

use super::{told::notes, *};

/// Thirty rows of a number, a text and a class.
fn table(text: impl Fn(usize) -> &'static str) -> String {
    let row = |i: usize| format!("{}.5,{},{}\n", i * 7 % 30, text(i), i % 2);
    format!("x,code,y\n{}", (0..30).map(row).collect::<String>())
}

#[test]
fn a_column_that_alone_tells_the_target_is_noted() {
    let note = "column `code` alone tells the target of every row to train on: if it is not known before \
                the target is, `--set data.columns.code=drop` leaves it out";
    let told = |text: fn(usize) -> &'static str| notes(&table(text)).1;
    assert!(told(|i| ["no", "yes"][i % 2]).contains(note));
    // Several values may have one class.
    assert!(told(|i| ["a", "b", "c", "d"][i % 4]).contains(note));
    let other = |i: usize| if i == 4 { "yes" } else { ["no", "yes"][i % 2] };
    assert!(!told(other).contains("alone tells"), "but one row does not fit");
    // Each number is there once.
    assert!(!told(|_| "same").contains("alone tells"));
    // A class of few rows may be told by chance.
    let rare = |rows: usize| {
        let cells = |i: usize| if i < rows { "1,b" } else { "0,a" };
        let lines = (0..40).map(|i| format!("{}.5,{}\n", i * 7 % 40, cells(i)));
        notes(&format!("x,code,y\n{}", lines.collect::<String>())).1
    };
    assert!(rare(12).contains(note) && !rare(2).contains("alone tells"));
}

#[test]
fn a_number_that_alone_tells_the_target_is_noted() {
    let note = "column `score` alone tells the target of every row";
    let told = |score: fn(usize) -> f64, target: fn(usize) -> String| {
        let row = |i: usize| format!("{}.5,{},{}\n", i * 7 % 60, score(i), target(i));
        notes(&format!("x,score,y\n{}", (0..60).map(row).collect::<String>())).1
    };
    let class = |i: usize| ["no", "yes"][i % 2].to_owned();
    let apart = |i: usize| 10.0 * (i % 2) as f64 + (i * 13 % 60) as f64 / 10.0;
    assert!(told(apart, class).contains(note), "{}", told(apart, class));
    let one_between =
        |i: usize| if i == 8 { 12.0 } else { 10.0 * (i % 2) as f64 + i as f64 / 10.0 };
    assert!(!told(one_between, class).contains(note));

    let price = |i: usize| (1000 + i * i * 17 % 400).to_string();
    let commission = |i: usize| (1000 + i * i * 17 % 400) as f64 * 0.02;
    assert!(told(commission, price).contains(note), "{}", told(commission, price));
    let noisy = |i: usize| (1000 + i * i * 17 % 400) as f64 + (i * 11 % 60) as f64;
    assert!(!told(noisy, price).contains(note));
}

#[test]
fn an_identifier_that_recurs_is_used_and_noted() {
    let told = |name: &str| {
        let rows = (0..60).map(|i| format!("{},{}.5,{}\n", i * 7 % 40, i * 11 % 60, i % 2));
        notes(&format!("{name},x,y\n{}", rows.collect::<String>()))
    };
    let (splits, noted) = told("user_id");
    assert_eq!(splits.preprocessing.feature_names(), ["user_id", "x"]);
    let note = "column `user_id` is named as an identifier, and used since its numbers recur; \
                `--set data.columns.user_id=drop` leaves it out, and `data.group` holds out rows of \
                other ones";
    assert!(noted.contains(note), "{noted}");
    assert!(!told("visits").1.contains("identifier"));
    let told = |name: &str, number: fn(usize) -> String| {
        let rows = (0..40).map(|i| format!("{},{}.5,{}\n", number(i), i * 11 % 40, i % 2));
        notes(&format!("{name},x,y\n{}", rows.collect::<String>())).1
    };
    let differ = told("user_id", |i| match i {
        7 => String::new(), // without which it would be dropped
        _ => (i * 7 % 40 + 5).to_string(),
    });
    assert!(!differ.contains("numbers recur"), "{differ}");
    let unnamed = told("", |i| (i % 9).to_string());
    assert!(!unnamed.contains("identifier"), "{unnamed}");
}

#[test]
fn what_is_true_may_be_spelled_as_another_program_does() {
    let of = |spellings: [&'static str; 2]| move |i: usize| spellings[i % 3 % 2];
    let excel = table(of(["TRUE", "FALSE"]));
    let (splits, _) = notes(&excel);
    let expected = encoded(&excel, &splits);
    for spellings in [["True", "False"], ["true", "false"]] {
        assert_eq!(encoded(&table(of(spellings)), &splits), expected);
    }
    // Which of two is meant by a third cannot be told, nor are other words spelled otherwise.
    let both = table(|i| ["TRUE", "True", "FALSE"][i % 3]);
    let (splits, _) = notes(&both);
    assert_eq!(encoded("x,code\n1,true\n", &splits), encoded("x,code\n1,unseen\n", &splits));
    let (splits, _) = notes(&table(of(["Yes", "No"])));
    assert_eq!(encoded("x,code\n1,YES\n", &splits), encoded("x,code\n1,unseen\n", &splits));
}
