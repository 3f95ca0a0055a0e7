//! The table of the first tutorial: normal features, and labels that are random or follow a rule.

use backend::random::{Purpose, Random};
use serde::{Deserialize, Serialize};

use super::numpy::LegacyRandomState;
use crate::{
    DataError, Fractions, Origins, Table, TablePreprocessing, TableSplits, TargetKind, Targets,
    hold_out, table::matrix,
};

/// The tutorial calls `numpy.random.seed(0)`.
const TUTORIAL_SEED: u32 = 0;

/// Standard deviation of the noise where the linear rule's is 1: about 8 % of the labels are on the
/// wrong side, so no network exceeds an accuracy of 92 %.
const NOISE: f64 = 0.25;

/// The table to make.
#[derive(Debug, Clone, PartialEq)]
pub struct SyntheticOptions {
    /// Rows.
    pub samples: usize,
    /// Columns.
    pub features: usize,
    /// What the labels follow.
    pub labels: Labels,
    /// How many samples are held out, and trained on.
    pub fractions: Fractions,
}

/// What the labels of a synthetic table follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Labels {
    /// Nothing, as in the tutorial; a network can only memorise them.
    #[default]
    Random,
    /// A noisy linear rule of the features, which can be learnt.
    Linear,
}

/// Makes a table and holds out some of it.
///
/// # Errors
///
/// Where there is no sample or feature to make, or where the shares to hold out are no shares, or leave
/// nothing to train on.
pub fn read_synthetic(options: &SyntheticOptions, seed: u64) -> Result<TableSplits, DataError> {
    let &SyntheticOptions { samples, features, labels, fractions } = options;
    fractions.check()?;
    if samples == 0 || features == 0 {
        return Err(DataError::NothingToMake { samples, features });
    }
    let table = match labels {
        Labels::Random => random_labels(samples, features)?,
        Labels::Linear => linear_labels(samples, features, seed)?,
    };
    let parts = hold_out(table.targets.labels(), fractions, seed)?;
    let held_out = |rows: Option<Vec<usize>>| rows.map(|rows| table.select(&rows)).transpose();
    let (validation, test) = (held_out(parts.validation)?, held_out(parts.test)?);
    let train = if parts.train.len() == samples { table } else { table.select(&parts.train)? };
    Ok(TableSplits {
        shared: Vec::new(),
        has_own: [false; 2],
        train,
        validation,
        test,
        preprocessing: TablePreprocessing::of_numbers(
            // Normal as they are: nothing is learnt from them.
            std::iter::repeat_n((0.0, 1.0), features),
            "label",
            TargetKind::Binary { classes: ["0".to_owned(), "1".to_owned()] },
        ),
        notes: Vec::new(),
        skipped: 0,
    })
}

/// The tutorial's numbers: `seed(0)`, `randn(samples, features)`, `randint(0, 2, samples)`.
fn random_labels(samples: usize, features: usize) -> Result<Table, DataError> {
    let mut random = LegacyRandomState::new(TUTORIAL_SEED);
    let features = normal_features(&mut random, samples, features)?;
    let labels = (0..samples).map(|_| random.below(2)).collect();
    Ok(Table { features, targets: Targets::Classes(labels), origins: Origins::Places })
}

/// The tutorial's features, labelled by the side of a plane through 0 that a sample and some noise
/// lie on; the plane and the noise are those of the seed.
pub fn linear_labels(samples: usize, features: usize, seed: u64) -> Result<Table, DataError> {
    let mut state = LegacyRandomState::new(TUTORIAL_SEED);
    let matrix = normal_features(&mut state, samples, features)?;
    let normals = |stream| {
        let random = Random::new(seed, Purpose::Synthetic, stream);
        move |index: usize| f64::from(random.normal(index as u64))
    };
    let weights: Vec<f64> = (0..features).map(normals(0)).collect();
    let noise = normals(1);
    let scale = NOISE * weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    let label = |index: usize| {
        let row = &matrix[index * features..][..features];
        let side: f64 = row.iter().zip(&weights).map(|(&x, weight)| f64::from(x) * weight).sum();
        u32::from(side + scale * noise(index) > 0.0)
    };
    let labels = (0..samples).map(label).collect();
    Ok(Table { features: matrix, targets: Targets::Classes(labels), origins: Origins::Places })
}

fn normal_features(
    random: &mut LegacyRandomState,
    samples: usize,
    features: usize,
) -> Result<Vec<f32>, DataError> {
    let mut values = matrix(samples, features)?;
    values.extend((0..samples * features).map(|_| random.normal() as f32));
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(labels: Labels, validation: f64) -> SyntheticOptions {
        let fractions = Fractions { validation, ..Fractions::default() };
        SyntheticOptions { samples: 1000, features: 20, labels, fractions }
    }

    #[test]
    fn the_tutorial_s_table_is_numpy_s() {
        let splits = read_synthetic(&options(Labels::Random, 0.0), 5).unwrap();
        assert_eq!(splits.train.features.len(), 20_000);
        assert_eq!(splits.train.features[0], 1.764_052_345_967_664_f64 as f32);
        // numpy: randint(0, 2, 1000).sum() after the features.
        assert_eq!(splits.train.targets.labels().iter().sum::<u32>(), 489);
        assert_eq!(splits.validation, None);
        assert_eq!(splits.preprocessing.width(), 20);
    }

    #[test]
    fn a_linear_rule_can_be_learnt_and_depends_on_the_seed() {
        let table = linear_labels(1000, 20, 1).unwrap();
        assert_eq!(table.features, random_labels(1000, 20).unwrap().features);
        assert_ne!(table.targets, linear_labels(1000, 20, 2).unwrap().targets);

        // The class means differ along the weights, so the line through them tells the classes
        // apart about as well as the noise allows.
        let labels = table.targets.labels();
        let sign = |row: usize| if labels[row] == 1 { 1.0 } else { -1.0 };
        let row = |row: usize| &table.features[row * 20..][..20];
        let mut direction = [0.0f32; 20];
        for sample in 0..1000 {
            direction.iter_mut().zip(row(sample)).for_each(|(sum, x)| *sum += sign(sample) * x);
        }
        let side = |sample| row(sample).iter().zip(&direction).map(|(x, w)| x * w).sum::<f32>();
        let right = (0..1000).filter(|&sample| side(sample) * sign(sample) > 0.0).count();
        assert!((850..970).contains(&right), "{right}");
    }

    #[test]
    fn samples_are_held_out_once() {
        let splits = read_synthetic(&options(Labels::Linear, 0.2), 3).unwrap();
        let validation = splits.validation.unwrap();
        assert_eq!((splits.train.rows(), validation.rows()), (800, 200));
        let mut rows: Vec<_> = [&splits.train.features, &validation.features]
            .iter()
            .flat_map(|features| features.chunks_exact(20).map(|row| row[0].to_bits()))
            .collect();
        rows.sort_unstable();
        rows.dedup();
        assert!(rows.len() > 990, "{} different rows", rows.len());
    }

    #[test]
    fn impossible_tables_are_refused() {
        let check = |samples, features, validation, expected: &str| {
            let options =
                SyntheticOptions { samples, features, ..options(Labels::Random, validation) };
            assert_eq!(read_synthetic(&options, 0).unwrap_err().to_string(), expected);
        };
        check(0, 3, 0.0, "a table of 0 samples and 3 features is empty");
        check(10, 3, 1.0, "the share to hold out is 1 in all, and must be at least 0 and below 1");
        check(
            10,
            3,
            f64::NAN,
            "the share to hold out is NaN in all, and must be at least 0 and below 1",
        );
        check(1, 3, 0.5, "no class has a sample to spare, so none can be held out");
        let rows = usize::MAX;
        check(rows, 3, 0.0, &format!("{rows} samples of 3 features do not fit in memory"));
    }
}
