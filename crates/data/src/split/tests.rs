//! Tests of the division of samples.

use proptest::prelude::*;

use super::*;

fn of_all(classes: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    stratified(&Vec::from_iter(0..classes.len()), classes, fraction, seed)
}

fn of_all_groups(groups: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    of_groups(&Vec::from_iter(0..groups.len()), groups, fraction, seed)
}

#[test]
fn classes_keep_their_shares() {
    // Pima: 500 and 268.
    let classes: Vec<u32> = (0..768).map(|index| u32::from(index >= 500)).collect();
    let split = of_all(&classes, 0.2, 1).unwrap();
    let ones = split.held_out.iter().filter(|&&index| classes[index] == 1).count();
    assert_eq!((split.held_out.len(), ones), (154, 54));
    assert_eq!(split, of_all(&classes, 0.2, 1).unwrap());
    assert_ne!(split, of_all(&classes, 0.2, 2).unwrap());
}

#[test]
fn a_single_sample_is_trained_on() {
    let split = of_all(&[0, 0, 0, 7, 0], 0.9, 3).unwrap();
    assert!(split.train.contains(&3));
    assert_eq!((split.train.len(), split.held_out.len()), (2, 3));
}

#[test]
fn a_rare_class_is_held_out_too() {
    let classes: Vec<u32> = (0..500).map(|index| u32::from(index % 300 == 7)).collect();
    let split = of_all(&classes, 0.2, 0).unwrap();
    let rare = |indices: &[usize]| indices.iter().filter(|&&index| classes[index] == 1).count();
    assert_eq!((rare(&split.train), rare(&split.held_out)), (1, 1));
    assert_eq!(split.held_out.len(), 100);
}

#[test]
fn more_is_held_out_only_where_each_class_then_has_some() {
    let pairs: Vec<u32> = (0..200).map(|index| index / 2).collect();
    let [first, second] = [0, 1].map(|seed| of_all(&pairs, 0.1, seed).unwrap().held_out);
    assert_eq!((first.len(), second.len()), (20, 20));
    let last = |held_out: &[usize]| held_out.iter().filter(|&&index| index >= 100).count();
    assert!(first != second && last(&first) > 5, "the seed chooses the classes: {first:?}");
    // Of threes and pairs the larger classes come first.
    let unequal: Vec<u32> =
        (0..202).map(|index| if index < 102 { index / 3 } else { 100 + index / 2 }).collect();
    let held_out = of_all(&unequal, 0.1, 0).unwrap().held_out;
    assert!(held_out.len() == 20 && held_out.iter().all(|&index| index < 102), "{held_out:?}");
    let eight_each: Vec<u32> = (0..24).map(|index| index / 8).collect();
    assert_eq!(of_all(&eight_each, 0.1, 0).unwrap().held_out.len(), 3);
    assert_eq!(of_all(&eight_each, 0.5, 0).unwrap().held_out.len(), 12);
}

/// Two thirds of a sample, and nearly one, of those that have several; the others have one each.
#[test]
fn no_class_gives_for_those_with_a_single_sample() {
    let classes = [4, 0, 1, 2, 0, 3, 4, 4];
    let held_out = of_all(&classes, 0.33133, 0).unwrap().held_out;
    let of = |class| held_out.iter().filter(|&&index| classes[index] == class).count();
    assert_eq!([0, 1, 2, 3, 4].map(of), [1, 0, 0, 0, 1]);
}

#[test]
fn a_fraction_to_train_on_changes_nothing_else() {
    let classes: Vec<u32> = (0..1000).map(|index| u32::from(index % 10 == 0)).collect();
    let parts = |train| {
        let fractions = Fractions { train, validation: 0.2, test: 0.1 };
        hold_out(&classes, fractions, 3).unwrap()
    };
    let [all, half, few] = [1.0, 0.5, 0.1].map(parts);
    assert_eq!((half.train.len(), few.train.len()), (350, 70));
    let rare = few.train.iter().filter(|&&index| classes[index] == 1).count();
    assert_eq!(rare, 7);
    assert!(few.train.iter().all(|index| half.train.contains(index)), "a smaller part");
    assert!(half.train.iter().all(|index| all.train.contains(index)), "held out");
    assert_eq!((&few.validation, &few.test), (&all.validation, &all.test));
    let eights: Vec<u32> = (0..800).map(|index| index / 8).collect();
    let most = Fractions { train: 0.99, ..Fractions::default() };
    assert_eq!(
        hold_out(&eights, most, 3).unwrap().train.len(),
        792,
        "nothing more of rare classes"
    );
    let none = Fractions { train: 0.0, ..Fractions::default() };
    assert!(hold_out(&classes, none, 3).is_err());
    let scarce = hold_out(&[0, 1], Fractions { train: 0.1, ..none }, 3).unwrap();
    assert_eq!(scarce.train, [0, 1], "one of each class");
}

#[test]
fn too_few_samples_are_refused() {
    assert_eq!(of_all(&[], 0.5, 0), None);
    assert_eq!(of_all(&[0], 0.5, 0), None);
    assert_eq!(of_all(&[0, 1, 2], 0.5, 0), None);
    assert!(of_all(&[0, 0], 0.01, 0).is_some());
}

#[test]
fn the_last_rows_are_held_out() {
    let last = |rows: usize, validation: f64, test: f64| {
        let fractions = Fractions { validation, test, ..Fractions::default() };
        hold_out_rows(HoldOut::Last, &vec![0; rows], None, fractions, 7)
    };
    let parts = |train: usize, validation: &[usize], test: &[usize]| {
        let some = |rows: &[usize]| (!rows.is_empty()).then(|| rows.to_vec());
        Parts { train: (0..train).collect(), validation: some(validation), test: some(test) }
    };
    assert_eq!(last(10, 0.2, 0.0).unwrap(), parts(8, &[8, 9], &[]));
    assert_eq!(last(10, 0.2, 0.3).unwrap(), parts(5, &[5, 6], &[7, 8, 9]));
    assert_eq!(last(10, 0.0, 0.01).unwrap(), parts(9, &[], &[9]));
    assert_eq!(last(10, 0.01, 0.01).unwrap(), parts(8, &[8], &[9]));
    assert_eq!(last(10, 0.0, 0.0).unwrap(), parts(10, &[], &[]));
    assert_eq!(last(100, 0.29, 0.0).unwrap().train.len(), 71, "0.29 * 100 is below 29");
    assert!(last(1, 0.5, 0.0).is_err() && last(2, 0.4, 0.4).is_err());
}

#[test]
fn nothing_is_held_out_for_a_split_that_is_there() {
    let fractions = Fractions { train: 0.5, validation: 0.2, test: 0.1 };
    let unless_there = |validation, test| fractions.unless_there(validation, test);
    assert_eq!(unless_there(true, false), Fractions { validation: 0.0, ..fractions });
    assert_eq!(unless_there(false, true), Fractions { test: 0.0, ..fractions });
}

#[test]
fn both_splits_have_their_share_of_each_class() {
    let classes: Vec<u32> = (0..100).map(|index| u32::from(index >= 60)).collect();
    let fractions = Fractions { validation: 0.2, test: 0.1, ..Fractions::default() };
    let parts = hold_out(&classes, fractions, 3).unwrap();
    let [validation, test] = [&parts.validation, &parts.test].map(|rows| rows.as_ref().unwrap());
    let of = |rows: &[usize]| {
        let ones = rows.iter().filter(|&&row| classes[row] == 1).count();
        [rows.len() - ones, ones]
    };
    assert_eq!([&parts.train, validation, test].map(|rows| of(rows)), [[42, 28], [12, 8], [6, 4]]);
    let without_test = hold_out(&classes, Fractions { test: 0.0, ..fractions }, 3).unwrap();
    assert_eq!((without_test.train.len(), without_test.test), (80, None));
    for (validation, test) in [(0.5, 0.5), (1.0, 0.0), (0.1, -0.1), (0.1, f64::NAN)] {
        assert!(hold_out(&classes, Fractions { validation, test, ..fractions }, 3).is_err());
    }
}

#[test]
fn groups_are_held_out_in_an_order_that_the_seed_decides() {
    let groups: Vec<u32> = (0..60).map(|row| row / 6).collect();
    let split = |seed| of_all_groups(&groups, 0.2, seed).unwrap();
    assert_eq!(split(1), split(1));
    assert!((2..6).any(|seed| split(seed) != split(1)));
    assert_eq!(split(1).held_out.len(), 12);
    let threes: Vec<u32> = (0..12).map(|row| row / 3).collect();
    assert_eq!(of_all_groups(&threes, 5.0 / 12.0, 1).unwrap().held_out.len(), 6, "nearer than 3");
    assert_eq!(of_all_groups(&[0, 0, 0], 0.2, 1), None);
    // Either is larger than what is wanted: the smaller one goes.
    let two = of_all_groups(&[0, 0, 0, 1, 1, 1, 1], 0.1, 1).unwrap();
    assert_eq!(two.held_out, [0, 1, 2]);
}

#[test]
fn classes_that_are_not_validated_are_named() {
    let check = |train: &[u32], validation: &[u32], expected: Option<&str>| {
        let classes: Vec<String> = (0..9).map(|class| format!("c{class}")).collect();
        let found = classes_without_validation(&classes, train, validation);
        assert_eq!(found.as_deref(), expected);
    };
    check(&[0, 1, 0, 1], &[1, 0], None);
    check(&[0, 2], &[0], Some("class `c2` has 1 sample to train on, none to validate on"));
    check(&[2, 2], &[8], Some("class `c2` has 2 samples to train on, none to validate on"));
    let two = "2 classes have no samples to validate on: `c1` (1 to train on), \
               `c2` (2 to train on)";
    check(&[2, 1, 2, 0], &[0, 0], Some(two));
    let seven = ["x"; 7].map(str::to_owned);
    let found = classes_without_validation(&seven, &[0, 1, 2, 3, 4, 5, 6], &[]);
    assert!(found.unwrap().ends_with(", and 2 more"));
    assert_eq!(classes_without_validation(&[], &[], &[]), None);
}

proptest! {
    #[test]
    fn splits_are_disjoint_and_hold_every_sample(
        classes in prop::collection::vec(0u32..4, 1..120),
        (validation, test) in (0.0f64..0.49, 0.0f64..0.49),
        which in 0usize..3,
        seed: u64,
    ) {
        let hold_out = [HoldOut::Random, HoldOut::Last, HoldOut::Random][which];
        let groups = (which == 2).then_some(&classes[..]);
        let fractions = Fractions { validation, test, ..Fractions::default() };
        let Ok(parts) = hold_out_rows(hold_out, &classes, groups, fractions, seed) else {
            return Ok(());
        };
        let splits = [Some(&parts.train), parts.validation.as_ref(), parts.test.as_ref()];
        let splits: Vec<&Vec<usize>> = splits.into_iter().flatten().collect();
        prop_assert!(splits.iter().all(|split| !split.is_empty() && split.is_sorted()));
        let mut all: Vec<usize> = splits.iter().copied().flatten().copied().collect();
        all.sort_unstable();
        prop_assert!(all.into_iter().eq(0..classes.len()));
        if which == 2 {
            let groups_of = |split: &Vec<usize>| -> BTreeSet<u32> {
                split.iter().map(|&row| classes[row]).collect()
            };
            let each: usize = splits.iter().map(|split| groups_of(split).len()).sum();
            prop_assert_eq!(each, groups_of(&(0..classes.len()).collect()).len());
        }
    }

    #[test]
    fn no_group_is_on_both_sides(
        rows in prop::collection::vec(0u32..9, 2..80),
        fraction in 0.01f64..0.99,
        seed: u64,
    ) {
        let mut known = Vec::new();
        let groups: Vec<u32> = rows.iter().map(|row| {
            known.iter().position(|other| other == row).unwrap_or_else(|| {
                known.push(*row);
                known.len() - 1
            }) as u32
        }).collect();
        let split = of_all_groups(&groups, fraction, seed);
        prop_assert_eq!(split.is_some(), known.len() > 1);
        let Some(Split { train, held_out }) = split else { return Ok(()) };
        prop_assert!(!train.is_empty() && !held_out.is_empty());
        let mut all = [train.clone(), held_out.clone()].concat();
        all.sort_unstable();
        prop_assert!(all.into_iter().eq(0..rows.len()));
        let shared = train.iter().any(|&row| held_out.iter().any(|&other| groups[other] == groups[row]));
        prop_assert!(!shared);
        // Not further from the share than the largest group.
        let largest = (0..known.len()).map(|group| groups.iter().filter(|&&other| other as usize == group).count());
        let off = (held_out.len() as f64 - rows.len() as f64 * fraction).abs();
        prop_assert!(off <= largest.max().unwrap() as f64);
    }

    #[test]
    fn a_split_is_disjoint_complete_and_fair(
        classes in prop::collection::vec(0u32..5, 0..300),
        fraction in 0.01..0.99,
        seed: u64,
    ) {
        let Some(split) = of_all(&classes, fraction, seed) else {
            let mut seen = std::collections::HashSet::new();
            prop_assert!(classes.iter().all(|class| seen.insert(class)), "a pair could be split");
            return Ok(());
        };
        let mut all = [split.train.clone(), split.held_out.clone()].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..classes.len()).collect::<Vec<_>>());
        for class in 0..5 {
            let of = |indices: &[usize]| indices.iter().filter(|&&i| classes[i] == class).count();
            let (train, held_out) = (of(&split.train), of(&split.held_out));
            prop_assert!(train > 0 || held_out == 0);
            let share = (train + held_out) as f64 * fraction;
            prop_assert!((held_out as f64 - share).abs() <= 1.0, "{} of {}", held_out, share);
        }
    }
}
