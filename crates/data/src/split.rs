//! The split into training and held-out samples: a function of the seed, stratified by class, or files
//! of their own.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use backend::random::{Purpose, Random};
use serde::{Deserialize, Serialize};

use crate::{
    DataError,
    count::{counted, grouped},
};

/// How much is held out, as fractions of all samples; none by default.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fractions {
    /// To validate on: it steers the training.
    pub validation: f64,
    /// To test on: it is only measured, at the end.
    pub test: f64,
}

impl Fractions {
    /// Checks that each is one, and that something is left to train on.
    pub(crate) fn check(self) -> Result<(), DataError> {
        let Self { validation, test } = self;
        match [validation, test, validation + test].iter().find(|sum| !(0.0..1.0).contains(*sum)) {
            Some(&fraction) => Err(DataError::Fraction { fraction }),
            None => Ok(()),
        }
    }

    /// Holds nothing out for a split that has samples of its own.
    pub fn unless_there(self, has_validation: bool, has_test: bool) -> Self {
        Self {
            validation: if has_validation { 0.0 } else { self.validation },
            test: if has_test { 0.0 } else { self.test },
        }
    }

    /// The fraction to validate on of what is left without the samples to test on.
    pub(crate) fn validation_of_rest(self) -> f64 {
        self.validation / (1.0 - self.test)
    }
}

/// The indices of the samples of each split, in ascending order; together they are all samples, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// To train on.
    pub train: Vec<usize>,
    /// To validate on; none for a fraction of 0.
    pub validation: Option<Vec<usize>>,
    /// To test on; none for a fraction of 0.
    pub test: Option<Vec<usize>>,
}

/// Holds out about these fractions of each class.
///
/// - `classes`: the class of each sample
///
/// # Errors
///
/// Where no class has a sample for each split, or nothing is left to train on.
pub fn hold_out(classes: &[u32], fractions: Fractions, seed: u64) -> Result<Parts, DataError> {
    hold_out_rows(HoldOut::Random, classes, None, fractions, seed)
}

/// Which rows are held out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldOut {
    /// Any, about the same share of each class.
    #[default]
    Random,
    /// The last ones: where rows are in the order of time, a model is for what comes after it.
    Last,
}

/// As [`hold_out`], but of rows that are last, or that belong together: of no group are there rows in two
/// splits, and about these fractions of all rows are held out, in whole groups that the seed chooses. The
/// last rows are those to test on, where there are any.
///
/// - `groups`: the group of each row, below the number of rows; if there are any, `which` does not matter
///
/// # Errors
///
/// Where there are fewer rows or groups than splits, or nothing is left to train on.
pub(crate) fn hold_out_rows(
    which: HoldOut,
    classes: &[u32],
    groups: Option<&[u32]>,
    fractions: Fractions,
    seed: u64,
) -> Result<Parts, DataError> {
    fractions.check()?;
    let divide = |rows: Vec<usize>, fraction: f64| {
        if fraction == 0.0 {
            return Ok((rows, None));
        }
        let split = match (groups, which) {
            (Some(groups), _) => {
                of_groups(&rows, groups, fraction, seed).ok_or(DataError::OneGroup)
            }
            (None, HoldOut::Last) => last(&rows, fraction).ok_or(DataError::OneSampleEach),
            (None, HoldOut::Random) => {
                stratified(&rows, classes, fraction, seed).ok_or(DataError::OneSampleEach)
            }
        };
        split.map(|Split { train, held_out }| (train, Some(held_out)))
    };
    let (rest, test) = divide((0..classes.len()).collect(), fractions.test)?;
    let (train, validation) = divide(rest, fractions.validation_of_rest())?;
    Ok(Parts { train, validation, test })
}

/// `None` where there is a single row.
fn last(rows: &[usize], fraction: f64) -> Option<Split> {
    let most = rows.len().checked_sub(1).filter(|&most| most > 0)?;
    let held_out = ((rows.len() as f64 * fraction).round() as usize).clamp(1, most);
    let (train, held_out) = rows.split_at(rows.len() - held_out);
    Some(Split { train: train.to_vec(), held_out: held_out.to_vec() })
}

/// `None` where there is a single group.
///
/// - `rows`: those to divide
/// - `groups`: the group of each row, also of others
fn of_groups(rows: &[usize], groups: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    let mut sizes = BTreeMap::<u32, usize>::new();
    rows.iter().for_each(|&row| *sizes.entry(groups[row]).or_default() += 1);
    let random = Random::new(seed, Purpose::Split, 0);
    let mut order: Vec<u32> = sizes.keys().copied().collect();
    order.sort_by_cached_key(|&group| (random.bits(group.into()), group));
    let smallest = *order.iter().min_by_key(|group| sizes[group])?;
    let wanted = rows.len() as f64 * fraction;
    let off = |count: usize| (count as f64 - wanted).abs();
    let (mut chosen, mut count) = (BTreeSet::new(), 0);
    for group in order {
        let with = count + sizes[&group];
        if with < rows.len() && off(with) < off(count) {
            chosen.insert(group);
            count = with;
        }
    }
    if chosen.is_empty() {
        chosen.insert(smallest); // all are larger than what is wanted
    }
    let (held_out, train) =
        rows.iter().partition::<Vec<usize>, _>(|&&row| chosen.contains(&groups[row]));
    (!train.is_empty()).then_some(Split { train, held_out })
}

/// Samples divided in two, each in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Split {
    train: Vec<usize>,
    held_out: Vec<usize>,
}

/// Holds out a `fraction` of these samples, to the nearest sample, and about that fraction of each
/// class.
///
/// `classes` has the class of each sample, also of others. A class keeps at least one sample, and of a rare
/// one with two and more at least one is held out, even if the total becomes larger, but not
/// beyond a quarter of all. No class gives up a whole sample more than its share, even if classes with a
/// single sample then leave the total short. `None` where no class has two; `fraction` lies between 0 and
/// 1, both excluded.
fn stratified(samples: &[usize], classes: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    let mut members = BTreeMap::<u32, Vec<usize>>::new();
    for &index in samples {
        members.entry(classes[index]).or_default().push(index);
    }

    let random = Random::new(seed, Purpose::Split, 0);
    let sizes: Vec<usize> = members.values().map(Vec::len).collect();
    let mut held_out = Vec::new();
    for (indices, count) in members.values_mut().zip(quotas(&sizes, fraction)) {
        // Sorting by a key of its own gives each sample a place that no other sample can shift.
        indices.sort_by_cached_key(|&index| (random.bits(index as u64), index));
        held_out.extend_from_slice(&indices[..count]);
    }
    if held_out.is_empty() {
        return None;
    }

    held_out.sort_unstable();
    let is_left = |index: &usize| held_out.binary_search(index).is_err();
    let train = samples.iter().copied().filter(is_left).collect();
    Some(Split { train, held_out })
}

/// How many samples of each class are held out: the whole part of its share, then one for the largest
/// classes that have none, and one more for those with the largest remainders until the total is right.
fn quotas(sizes: &[usize], fraction: f64) -> Vec<usize> {
    let total = sizes.iter().sum::<usize>() as f64;
    let wanted = ((total * fraction).round() as usize).max(1);
    let mut quotas: Vec<usize> = sizes
        .iter()
        .map(|&size| ((size as f64 * fraction) as usize).min(size.saturating_sub(1)))
        .collect();

    let spare = wanted.max(total as usize / 4).saturating_sub(quotas.iter().sum());
    let mut without: Vec<usize> =
        (0..sizes.len()).filter(|&class| quotas[class] == 0 && sizes[class] > 1).collect();
    without.sort_by_key(|&class| Reverse(sizes[class]));
    without.into_iter().take(spare).for_each(|class| quotas[class] = 1);

    let remainder = |class: usize| sizes[class] as f64 * fraction - quotas[class] as f64;
    let mut by_remainder: Vec<usize> = (0..sizes.len()).collect();
    by_remainder.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b)));
    let missing = wanted.saturating_sub(quotas.iter().sum());
    let can_give = by_remainder
        .into_iter()
        .filter(|&class| quotas[class] + 1 < sizes[class] && remainder(class) >= 0.0);
    for class in can_give.take(missing).collect::<Vec<_>>() {
        quotas[class] += 1;
    }
    quotas
}

/// What the user should know of classes that are trained on and not validated on, if there are any.
///
/// - `train`, `validation`: the label of each sample, below the number of classes
pub fn classes_without_validation(
    classes: &[String],
    train: &[u32],
    validation: &[u32],
) -> Option<String> {
    /// How many classes are named.
    const SHOWN: usize = 5;
    let [mut trained, mut validated] = [(); 2].map(|()| vec![0usize; classes.len()]);
    train.iter().for_each(|&label| trained[label as usize] += 1);
    validation.iter().for_each(|&label| validated[label as usize] += 1);
    let counts = trained.into_iter().zip(validated);
    let without: Vec<(&String, usize)> = classes
        .iter()
        .zip(counts)
        .filter(|&(_, (trained, validated))| trained > 0 && validated == 0)
        .map(|(class, (trained, _))| (class, trained))
        .collect();
    Some(match without[..] {
        [] => return None,
        [(class, count)] => {
            let samples = counted(count, "sample");
            format!("class `{class}` has {samples} to train on, none to validate on")
        }
        _ => {
            let shown = without.iter().take(SHOWN);
            let mut named: Vec<String> = shown
                .map(|(class, count)| format!("`{class}` ({} to train on)", grouped(count)))
                .collect();
            if without.len() > SHOWN {
                named.push(format!("and {} more", without.len() - SHOWN));
            }
            let count = without.len();
            format!("{count} classes have no samples to validate on: {}", named.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
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
    fn at_most_a_quarter_is_held_out_for_rare_classes() {
        let pairs: Vec<u32> = (0..200).map(|index| index / 2).collect();
        assert_eq!(of_all(&pairs, 0.1, 0).unwrap().held_out.len(), 50);
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
    fn too_few_samples_are_refused() {
        assert_eq!(of_all(&[], 0.5, 0), None);
        assert_eq!(of_all(&[0], 0.5, 0), None);
        assert_eq!(of_all(&[0, 1, 2], 0.5, 0), None);
        assert!(of_all(&[0, 0], 0.01, 0).is_some());
    }

    #[test]
    fn the_last_rows_are_held_out() {
        let last = |rows: usize, validation: f64, test: f64| {
            let fractions = Fractions { validation, test };
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
        assert!(last(1, 0.5, 0.0).is_err() && last(2, 0.4, 0.4).is_err());
    }

    #[test]
    fn both_splits_have_their_share_of_each_class() {
        let classes: Vec<u32> = (0..100).map(|index| u32::from(index >= 60)).collect();
        let fractions = Fractions { validation: 0.2, test: 0.1 };
        let parts = hold_out(&classes, fractions, 3).unwrap();
        let [validation, test] =
            [&parts.validation, &parts.test].map(|rows| rows.as_ref().unwrap());
        let of = |rows: &[usize]| {
            let ones = rows.iter().filter(|&&row| classes[row] == 1).count();
            [rows.len() - ones, ones]
        };
        assert_eq!(
            [&parts.train, validation, test].map(|rows| of(rows)),
            [[42, 28], [12, 8], [6, 4]]
        );
        let without_test = hold_out(&classes, Fractions { test: 0.0, ..fractions }, 3).unwrap();
        assert_eq!((without_test.train.len(), without_test.test), (80, None));
        for (validation, test) in [(0.5, 0.5), (1.0, 0.0), (0.1, -0.1), (0.1, f64::NAN)] {
            assert!(hold_out(&classes, Fractions { validation, test }, 3).is_err());
        }
    }

    #[test]
    fn groups_are_held_out_in_an_order_that_the_seed_decides() {
        let groups: Vec<u32> = (0..60).map(|row| row / 6).collect();
        let split = |seed| of_all_groups(&groups, 0.2, seed).unwrap();
        assert_eq!(split(1), split(1));
        assert!((2..6).any(|seed| split(seed) != split(1)));
        assert_eq!(split(1).held_out.len(), 12);
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
            let fractions = Fractions { validation, test };
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
}
