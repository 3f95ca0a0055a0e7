//! A value over several runs.

use serde::Serialize;

use crate::numbers::{grouped, is_share, percent_decimals, rounded, significant};

/// Of counts that deviate by less, the tenths are shown.
const FEW: f64 = 10.0;

/// The mean of a value over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// The sample standard deviation, n - 1 in its denominator; none of a single run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deviation: Option<f64>,
}

impl Spread {
    /// - `values`: at least one
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        Self { mean, deviation }
    }

    fn with(self, text: impl Fn(f64) -> String) -> String {
        match self.deviation {
            Some(deviation) if deviation > 0.0 => {
                format!("{} ± {}", text(self.mean), text(deviation))
            }
            _ => text(self.mean),
        }
    }

    /// As a metric: the deviation with as many decimals as the mean, or more where it is smaller than
    /// those show.
    pub(crate) fn told(self) -> String {
        let mean = rounded(self.mean);
        let decimals = mean.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let deviation = |value: f64| {
            let equal = if decimals == 0 { grouped(value) } else { format!("{value:.decimals$}") };
            if is_shown(&equal) && !mean.contains('e') { equal } else { rounded(value) }
        };
        match self.deviation.filter(|&deviation| deviation > 0.0) {
            Some(value) => format!("{mean} ± {}", deviation(value)),
            None => mean,
        }
    }

    /// As the metric of this name: a share as a percentage, others as [`Spread::told`].
    pub(crate) fn metric(self, name: &str) -> String {
        if !is_share(name) {
            return self.told();
        }
        let decimals = percent_decimals(self.mean, 2);
        let told = |share: f64| {
            let equal = format!("{:.decimals$}", 100.0 * share);
            if share == self.mean || is_shown(&equal) {
                equal
            } else {
                significant(100.0 * share, 1)
            }
        };
        format!("{} %", self.with(told))
    }

    /// With one decimal, or as many as show it.
    pub(crate) fn short(self) -> String {
        self.with(|value| if value < 1.0 { significant(value, 2) } else { format!("{value:.1}") })
    }

    /// As a whole number, or with the tenths of which a small deviation consists.
    pub(crate) fn count(self) -> String {
        let tenths = |value: f64| {
            let tenths = (10.0 * value).round();
            format!("{}.{}", grouped((tenths / 10.0).trunc()), tenths % 10.0)
        };
        match self.deviation {
            Some(deviation) if 0.0 < deviation && deviation < FEW => self.with(tenths),
            _ => self.with(grouped),
        }
    }
}

/// Whether a number is written with a digit that is not 0.
fn is_shown(number: &str) -> bool {
    number.bytes().any(|digit| (b'1'..=b'9').contains(&digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_and_its_deviation_have_equal_decimals() {
        let told = |mean, deviation| Spread { mean, deviation: Some(deviation) }.told();
        assert_eq!(told(0.4741, 0.027_78), "0.4741 ± 0.0278");
        assert_eq!(told(0.4741, 0.000_012), "0.4741 ± 1.200e-5");
        assert_eq!(told(3.1e-5, 0.000_012), "3.100e-5 ± 1.200e-5");
        assert_eq!(told(25_000.0, 1234.5), "25,000 ± 1,234");
        assert_eq!(told(0.5, 0.0), "0.5000");
        let spread = Spread { mean: 0.98765, deviation: Some(0.0123) };
        assert_eq!(spread.metric("validation_accuracy"), "98.77 ± 1.23 %");
        assert_eq!(spread.metric("validation_loss"), "0.9877 ± 0.0123");
        let nearly_all = Spread { mean: 0.999_96, deviation: Some(0.000_02) };
        assert_eq!(nearly_all.metric("accuracy"), "99.996 ± 0.002 %");
        let alike = Spread { mean: 0.98765, deviation: Some(0.000_03) };
        assert_eq!(alike.metric("accuracy"), "98.77 ± 0.003 %");
        assert_eq!(Spread { mean: 0.0, deviation: None }.metric("accuracy"), "0.00 %");
    }

    #[test]
    fn a_deviation_that_is_not_0_does_not_read_as_such() {
        let count = |values: &[f64]| Spread::of(values).count();
        assert_eq!(count(&[10.0, 11.0]), "10.5 ± 0.7");
        assert_eq!(count(&[1999.0, 2000.9]), "2,000.0 ± 1.3");
        assert_eq!(count(&[25_000.0, 26_000.0]), "25,500 ± 707");
        assert_eq!([count(&[1200.0]), count(&[4.0; 3])], ["1,200", "4"]);
        let short = |values: &[f64]| Spread::of(values).short();
        assert_eq!(short(&[0.03, 0.04]), "0.035 ± 0.0071");
        assert_eq!([short(&[12.34]), short(&[0.0])], ["12.3", "0"]);
    }
}
