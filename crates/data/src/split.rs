//! The split into training and held-out samples: a function of the seed, stratified by class, or files
//! of their own.

use std::{cmp::Reverse, collections::BTreeMap};

use backend::random::{Purpose, Random};
use serde::{Deserialize, Serialize};

use crate::{
    DataError,
    count::{counted, grouped},
};

/// Checks a fraction of samples to hold out; 0 holds out none.
pub(crate) fn check_fraction(fraction: f64) -> Result<(), DataError> {
    match (0.0..1.0).contains(&fraction) {
        true => Ok(()),
        false => Err(DataError::Fraction { fraction }),
    }
}

/// The indices of the samples to train on and of those held out, about a `fraction` of each class; none
/// are held out for a fraction of 0.
///
/// - `classes`: the class of each sample
///
/// # Errors
///
/// Where no class has two samples, or the fraction is not within 0 and 1.
pub fn hold_out(
    classes: &[u32],
    fraction: f64,
    seed: u64,
) -> Result<(Vec<usize>, Option<Vec<usize>>), DataError> {
    check_fraction(fraction)?;
    if fraction == 0.0 {
        return Ok(((0..classes.len()).collect(), None));
    }
    let split = stratified(classes, fraction, seed).ok_or(DataError::OneSampleEach)?;
    Ok((split.train, Some(split.held_out)))
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

/// As [`hold_out`], but of rows that are last, or that belong together: of no group are there rows on both
/// sides, and about a `fraction` of all rows is held out, in whole groups that the seed chooses.
///
/// - `groups`: the group of each row, below the number of rows; if there are any, `which` does not matter
///
/// # Errors
///
/// Where there is a single row or group, or the fraction is not within 0 and 1.
pub(crate) fn hold_out_rows(
    which: HoldOut,
    classes: &[u32],
    groups: Option<&[u32]>,
    fraction: f64,
    seed: u64,
) -> Result<(Vec<usize>, Option<Vec<usize>>), DataError> {
    check_fraction(fraction)?;
    let rows = classes.len();
    let split = match (groups, which) {
        _ if fraction == 0.0 => return hold_out(classes, fraction, seed),
        (Some(groups), _) => of_groups(groups, fraction, seed).ok_or(DataError::OneGroup)?,
        (None, HoldOut::Random) => return hold_out(classes, fraction, seed),
        (None, HoldOut::Last) if rows < 2 => return Err(DataError::OneSampleEach),
        (None, HoldOut::Last) => {
            let held_out = ((rows as f64 * fraction).round() as usize).clamp(1, rows - 1);
            let trained = rows - held_out;
            Split { train: (0..trained).collect(), held_out: (trained..rows).collect() }
        }
    };
    Ok((split.train, Some(split.held_out)))
}

/// `None` where there is a single group.
fn of_groups(groups: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    let mut sizes = vec![0usize; groups.iter().max().map_or(0, |&last| last as usize + 1)];
    groups.iter().for_each(|&group| sizes[group as usize] += 1);
    let random = Random::new(seed, Purpose::Split, 0);
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_cached_key(|&group| (random.bits(group as u64), group));
    let smallest = *order.iter().min_by_key(|&&group| sizes[group])?;
    let wanted = groups.len() as f64 * fraction;
    let off = |rows: usize| (rows as f64 - wanted).abs();
    let (mut is_held_out, mut rows) = (vec![false; sizes.len()], 0);
    for group in order {
        let with = rows + sizes[group];
        if with < groups.len() && off(with) < off(rows) {
            (is_held_out[group], rows) = (true, with);
        }
    }
    is_held_out[smallest] |= rows == 0; // where all are larger than what is wanted
    let (held_out, train) =
        (0..groups.len()).partition::<Vec<usize>, _>(|&row| is_held_out[groups[row] as usize]);
    (!train.is_empty()).then_some(Split { train, held_out })
}

/// Two disjoint sets of indices that together hold every sample, each in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    /// Samples to train on.
    pub(crate) train: Vec<usize>,
    /// Samples held out.
    pub(crate) held_out: Vec<usize>,
}

/// Holds out a `fraction` of the samples, to the nearest sample, and about that fraction of each
/// class.
///
/// `classes` has the class of each sample. A class keeps at least one sample to train on, and of a
/// rare one with two and more at least one is held out, even if the total becomes larger, but not
/// beyond a quarter of all. No class gives up a whole sample more than its share, even if classes with a
/// single sample then leave the total short. `None` where no class has two; `fraction` lies between 0 and
/// 1, both excluded.
pub(crate) fn stratified(classes: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    let mut members = BTreeMap::<u32, Vec<usize>>::new();
    for (index, &class) in classes.iter().enumerate() {
        members.entry(class).or_default().push(index);
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
    let train = (0..classes.len()).filter(|index| held_out.binary_search(index).is_err()).collect();
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

    #[test]
    fn classes_keep_their_shares() {
        // Pima: 500 and 268.
        let classes: Vec<u32> = (0..768).map(|index| u32::from(index >= 500)).collect();
        let split = stratified(&classes, 0.2, 1).unwrap();
        let ones = split.held_out.iter().filter(|&&index| classes[index] == 1).count();
        assert_eq!((split.held_out.len(), ones), (154, 54));
        assert_eq!(split, stratified(&classes, 0.2, 1).unwrap());
        assert_ne!(split, stratified(&classes, 0.2, 2).unwrap());
    }

    #[test]
    fn a_single_sample_is_trained_on() {
        let split = stratified(&[0, 0, 0, 7, 0], 0.9, 3).unwrap();
        assert!(split.train.contains(&3));
        assert_eq!((split.train.len(), split.held_out.len()), (2, 3));
    }

    #[test]
    fn a_rare_class_is_held_out_too() {
        let classes: Vec<u32> = (0..500).map(|index| u32::from(index % 300 == 7)).collect();
        let split = stratified(&classes, 0.2, 0).unwrap();
        let rare = |indices: &[usize]| indices.iter().filter(|&&index| classes[index] == 1).count();
        assert_eq!((rare(&split.train), rare(&split.held_out)), (1, 1));
        assert_eq!(split.held_out.len(), 100);
    }

    #[test]
    fn at_most_a_quarter_is_held_out_for_rare_classes() {
        let pairs: Vec<u32> = (0..200).map(|index| index / 2).collect();
        assert_eq!(stratified(&pairs, 0.1, 0).unwrap().held_out.len(), 50);
        let eight_each: Vec<u32> = (0..24).map(|index| index / 8).collect();
        assert_eq!(stratified(&eight_each, 0.1, 0).unwrap().held_out.len(), 3);
        assert_eq!(stratified(&eight_each, 0.5, 0).unwrap().held_out.len(), 12);
    }

    /// Two thirds of a sample, and nearly one, of those that have several; the others have one each.
    #[test]
    fn no_class_gives_for_those_with_a_single_sample() {
        let classes = [4, 0, 1, 2, 0, 3, 4, 4];
        let held_out = stratified(&classes, 0.33133, 0).unwrap().held_out;
        let of = |class| held_out.iter().filter(|&&index| classes[index] == class).count();
        assert_eq!([0, 1, 2, 3, 4].map(of), [1, 0, 0, 0, 1]);
    }

    #[test]
    fn too_few_samples_are_refused() {
        assert_eq!(stratified(&[], 0.5, 0), None);
        assert_eq!(stratified(&[0], 0.5, 0), None);
        assert_eq!(stratified(&[0, 1, 2], 0.5, 0), None);
        assert!(stratified(&[0, 0], 0.01, 0).is_some());
    }

    #[test]
    fn the_last_rows_are_held_out() {
        let classes = [0; 10];
        let (train, held_out) = hold_out_rows(HoldOut::Last, &classes, None, 0.2, 7).unwrap();
        assert_eq!((train, held_out), ((0..8).collect(), Some(vec![8, 9])));
        let (_, few) = hold_out_rows(HoldOut::Last, &classes, None, 0.01, 7).unwrap();
        assert_eq!(few, Some(vec![9]));
        let (_, none) = hold_out_rows(HoldOut::Last, &classes, None, 0.0, 7).unwrap();
        assert_eq!(none, None);
        assert!(hold_out_rows(HoldOut::Last, &[0], None, 0.5, 0).is_err());
    }

    #[test]
    fn groups_are_held_out_in_an_order_that_the_seed_decides() {
        let groups: Vec<u32> = (0..60).map(|row| row / 6).collect();
        let split = |seed| of_groups(&groups, 0.2, seed).unwrap();
        assert_eq!(split(1), split(1));
        assert!((2..6).any(|seed| split(seed) != split(1)));
        assert_eq!(split(1).held_out.len(), 12);
        assert_eq!(of_groups(&[0, 0, 0], 0.2, 1), None);
        // Either is larger than what is wanted: the smaller one goes.
        let two = of_groups(&[0, 0, 0, 1, 1, 1, 1], 0.1, 1).unwrap();
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
            let split = of_groups(&groups, fraction, seed);
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
            let Some(split) = stratified(&classes, fraction, seed) else {
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
