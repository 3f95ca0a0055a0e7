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
    labels::count_labels,
};

/// How much is held out, as fractions of all samples, and how much of the rest is used; by default nothing
/// is held out, and all is trained on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fractions {
    /// Of what is not held out, to train on.
    pub train: f64,
    /// To validate on: it steers the training.
    pub validation: f64,
    /// To test on: it is only measured, at the end.
    pub test: f64,
}

impl Default for Fractions {
    fn default() -> Self {
        Self { train: 1.0, validation: 0.0, test: 0.0 }
    }
}

impl Fractions {
    /// Checks that each is one, and that something is left to train on.
    pub(crate) fn check(self) -> Result<(), DataError> {
        let Self { train, validation, test } = self;
        if !(train > 0.0 && train <= 1.0) {
            return Err(DataError::TrainFraction { fraction: train });
        }
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
            ..self
        }
    }

    /// Whether anything is held out.
    pub fn hold_out(self) -> bool {
        self.validation > 0.0 || self.test > 0.0
    }

    /// The fraction to validate on of what is left without the samples to test on.
    pub(crate) fn validation_of_rest(self) -> f64 {
        self.validation / (1.0 - self.test)
    }
}

/// The indices of the samples of each split, in ascending order; no sample is in two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// To train on.
    pub train: Vec<usize>,
    /// To validate on; none for a fraction of 0.
    pub validation: Option<Vec<usize>>,
    /// To test on; none for a fraction of 0.
    pub test: Option<Vec<usize>>,
}

/// Holds out about these fractions of each class, and keeps about the training fraction of the rest.
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
    /// The last ones: where rows are in order of time, a model is for what comes later.
    Last,
}

/// As [`hold_out`], but of rows that are last, or that belong together: no group has rows in two splits,
/// and about these fractions of all rows are held out, in whole groups that the seed chooses. The last
/// rows are those to test on, if there are any.
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
    let left_out = 1.0 - fractions.train;
    let fewer = (left_out > 0.0).then(|| proportional(&train, classes, left_out, seed));
    let train = fewer.flatten().map_or(train, |split| split.train);
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
/// one with two and more at least one is held out, even if the total becomes larger; if it became larger
/// than a quarter of all, only of as many classes as the fraction allows, which the seed chooses among
/// those of a size. No class gives up a whole sample more than its share, even if classes with a
/// single sample then leave the total short. `None` where no class has two; `fraction` lies between 0 and
/// 1, both excluded.
fn stratified(samples: &[usize], classes: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    divided(samples, classes, seed, |sizes| {
        let mut quotas = whole_quotas(sizes, fraction);
        hold_out_rare(&mut quotas, sizes, fraction, seed);
        fill(&mut quotas, sizes, fraction);
        quotas
    })
}

/// As [`stratified`], without care for rare classes.
fn proportional(samples: &[usize], classes: &[u32], fraction: f64, seed: u64) -> Option<Split> {
    divided(samples, classes, seed, |sizes| {
        let mut quotas = whole_quotas(sizes, fraction);
        fill(&mut quotas, sizes, fraction);
        quotas
    })
}

/// Holds out a number of samples of each class; `None` where there is none.
///
/// - `quotas`: from the sizes of the classes to how many of each are held out
fn divided(
    samples: &[usize],
    classes: &[u32],
    seed: u64,
    quotas: impl Fn(&[usize]) -> Vec<usize>,
) -> Option<Split> {
    let mut members = BTreeMap::<u32, Vec<usize>>::new();
    for &index in samples {
        members.entry(classes[index]).or_default().push(index);
    }

    let random = Random::new(seed, Purpose::Split, 0);
    let sizes: Vec<usize> = members.values().map(Vec::len).collect();
    let mut held_out = Vec::new();
    for (indices, count) in members.values_mut().zip(quotas(&sizes)) {
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

/// The whole part of each class's share.
fn whole_quotas(sizes: &[usize], fraction: f64) -> Vec<usize> {
    let quota = |&size: &usize| ((size as f64 * fraction) as usize).min(size.saturating_sub(1));
    sizes.iter().map(quota).collect()
}

/// One for each class that has none; where that is too many, for the largest.
fn hold_out_rare(quotas: &mut [usize], sizes: &[usize], fraction: f64, seed: u64) {
    let (total, held_out) = (sizes.iter().sum::<usize>(), quotas.iter().sum::<usize>());
    let mut without: Vec<usize> =
        (0..sizes.len()).filter(|&class| quotas[class] == 0 && sizes[class] > 1).collect();
    let random = Random::new(seed, Purpose::Split, 1);
    without.sort_by_cached_key(|&class| (Reverse(sizes[class]), random.bits(class as u64)));
    let fit = held_out + without.len() <= total / 4;
    let spare = if fit { without.len() } else { wanted(sizes, fraction).saturating_sub(held_out) };
    without.into_iter().take(spare).for_each(|class| quotas[class] = 1);
}

/// One more for those with the largest remainders until the total is right.
fn fill(quotas: &mut [usize], sizes: &[usize], fraction: f64) {
    let remainder = |class: usize| sizes[class] as f64 * fraction - quotas[class] as f64;
    let mut by_remainder: Vec<usize> = (0..sizes.len()).collect();
    by_remainder.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b)));
    let missing = wanted(sizes, fraction).saturating_sub(quotas.iter().sum());
    let can_give = by_remainder
        .into_iter()
        .filter(|&class| quotas[class] + 1 < sizes[class] && remainder(class) >= 0.0);
    for class in can_give.take(missing).collect::<Vec<_>>() {
        quotas[class] += 1;
    }
}

/// How many samples are held out in all.
fn wanted(sizes: &[usize], fraction: f64) -> usize {
    ((sizes.iter().sum::<usize>() as f64 * fraction).round() as usize).max(1)
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
    let [trained, validated] =
        [train, validation].map(|labels| count_labels(labels, classes.len()));
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
mod tests;
