//! Numbers as people read them.

use std::{
    collections::BTreeMap,
    fmt::{Display, LowerExp},
};

pub(crate) use data::count::{counted, grouped};
use training::Metrics;

/// Smaller numbers have an exponent in CSV, as they do in JSON.
const LEAST_DECIMAL: f64 = 1e-5;

/// Of values that lie close together, this many digits of their deviation are shown.
const DIGITS_OF_DEVIATION: f64 = 4.0;

/// More digits carry no information.
const DIGITS_OF_F64: f64 = 17.0;

/// With so many decimals a percentage differs from 100 wherever its share differs from 1.
const PERCENT_DECIMALS: usize = 15;

/// A share as `99.1 %`, with more digits where it would read as none or all and is neither.
pub(crate) fn percent(share: f64) -> String {
    let percentage = 100.0 * share;
    let text = match format!("{percentage:.1}").as_str() {
        "0.0" if share > 0.0 => significant(percentage, 1),
        _ => format!("{percentage:.*}", percent_decimals(share, 1)),
    };
    format!("{text} %")
}

/// The decimals, `fewest` or more, with which a percentage reads as none or all only where it is.
pub(crate) fn percent_decimals(share: f64, fewest: usize) -> usize {
    let reads_as = |decimals: usize, end: f64| {
        let text = format!("{:.decimals$}", 100.0 * share);
        text.parse::<f64>().is_ok_and(|percentage| percentage == end)
    };
    let misleads = |decimals: usize| {
        share > 0.0 && reads_as(decimals, 0.0) || share < 1.0 && reads_as(decimals, 100.0)
    };
    (fewest..PERCENT_DECIMALS).find(|&decimals| !misleads(decimals)).unwrap_or(PERCENT_DECIMALS)
}

/// Bytes as `884 bytes`, `3.5 kB`, `1.2 GB`.
pub(crate) fn size(bytes: f64) -> String {
    match bytes {
        0.0..1e3 => counted(bytes as u64, "byte"),
        // What rounds to a thousand is told in the next unit.
        1e3..999.95e3 => format!("{:.1} kB", bytes / 1e3),
        1e3..999.95e6 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}

/// Seconds as `35 ms`, `0.8 s`, `2 min 5 s` or `3 h 20 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0 if (5e-4..0.05).contains(&seconds) => format!("{:.0} ms", 1e3 * seconds),
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// A metric in at least four significant digits: four decimals, more after leading zeros, and none
/// for large values.
pub(crate) fn rounded(value: f64) -> String {
    match value.abs() {
        0.0 | 0.1..1000.0 => format!("{value:.4}"),
        0.01..0.1 => format!("{value:.5}"),
        0.001..0.01 => format!("{value:.6}"),
        0.0..0.001 => format!("{value:.3e}"),
        _ => grouped(value),
    }
}

/// The value of a metric: a share as a percentage, others as [`rounded`].
pub(crate) fn metric(name: &str, value: f64) -> String {
    match name {
        name if is_share(name) => percent(value),
        _ => rounded(value),
    }
}

/// Whether the metric of this name is a share, whatever split it is of.
pub(crate) fn is_share(name: &str) -> bool {
    name.ends_with("accuracy") || name.ends_with("macro_f1")
}

/// The name of a metric in a sentence: `test macro F1` of `test_macro_f1`.
pub(crate) fn in_words(metric: &str) -> String {
    let word = |word| match word {
        "f1" => "F1",
        "r2" => "R²",
        "rmse" => "RMSE",
        "mae" => "MAE",
        "roc" => "ROC",
        "auc" => "AUC",
        "top5" => "top-5",
        word => word,
    };
    metric.split('_').map(word).collect::<Vec<_>>().join(" ")
}

/// Metrics, the loss first, the others by name.
pub(crate) fn ordered<V: Copy>(metrics: &BTreeMap<String, V>) -> Vec<(&str, V)> {
    let mut ordered: Vec<(&str, V)> =
        metrics.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    ordered.sort_by_key(|&(name, _)| name != "loss");
    ordered
}

/// What training measured of its own samples.
pub(crate) fn of_training(loss: f64, accuracy: Option<f64>) -> Metrics {
    let accuracy = accuracy.map(|accuracy| ("accuracy".to_owned(), accuracy));
    [("loss".to_owned(), loss)].into_iter().chain(accuracy).collect()
}

/// Metrics as `loss 0.4812, accuracy 76.6 %`.
pub(crate) fn listed(metrics: &Metrics) -> String {
    let told = |(name, value): (&str, f64)| format!("{name} {}", metric(name, value));
    ordered(metrics).into_iter().map(told).collect::<Vec<_>>().join(", ")
}

/// A number in as few digits as determine it, with an exponent instead of many zeros.
pub(crate) fn shortest<N: Into<f64> + Display + LowerExp + Copy>(number: N) -> String {
    let size = number.into().abs();
    if size > 0.0 && size < LEAST_DECIMAL { format!("{number:e}") } else { number.to_string() }
}

/// A speed, of which a slow one has a decimal: `652,000`, `0.4`.
pub(crate) fn rate(a_second: f64) -> String {
    if a_second < 10.0 { significant(a_second, 2) } else { grouped(a_second) }
}

/// A value of a table in so many significant digits, without trailing zeros, but with all digits
/// before the point; with an exponent only where there would be many zeros.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    let kept: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value);
    match kept.abs() {
        0.0 | 1e-4..1e15 if kept.abs() >= 10f64.powi(digits as i32) => value.round().to_string(),
        0.0 | 1e-4..1e15 => kept.to_string(),
        _ => format!("{kept:e}"),
    }
}

/// As [`significant`], with more digits where values differ only in later ones.
///
/// - `deviation`: the standard deviation of the values
pub(crate) fn told_apart(value: f64, digits: usize, deviation: f64) -> String {
    let place = |number: f64| number.abs().log10().floor();
    let needed = DIGITS_OF_DEVIATION + place(value) - place(deviation);
    let needed = if needed.is_finite() { needed.clamp(0.0, DIGITS_OF_F64) as usize } else { 0 };
    significant(value, digits.max(needed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_is_not_all_or_none_does_not_read_as_such() {
        assert_eq!([0.0, 1.0].map(percent), ["0.0 %", "100.0 %"]);
        assert_eq!([0.9994, 0.9995].map(percent), ["99.9 %", "99.95 %"]);
        assert_eq!([0.9997, 0.999_997].map(percent), ["99.97 %", "99.9997 %"]);
        assert_eq!([0.0003, 0.0006].map(percent), ["0.03 %", "0.1 %"]);
        assert_eq!([0.000_04, 3.57e-35].map(percent), ["0.004 %", "4e-33 %"]);
        assert_eq!(percent(1.0 - f64::EPSILON / 2.0), "99.99999999999999 %");
        assert_eq!(percent(f64::from(1.0 - f32::EPSILON / 2.0)), "99.99999 %");
        assert_eq!(percent(f64::NAN), "NaN %");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!([1.0, 999.0, 3500.0].map(size), ["1 byte", "999 bytes", "3.5 kB"]);
        assert_eq!([999_940.0, 999_960.0].map(size), ["999.9 kB", "1.0 MB"]);
        assert_eq!(percent(0.99149), "99.1 %");
        assert_eq!(rounded(0.47651), "0.4765");
        assert_eq!(rounded(68_628.3), "68,628");
        assert_eq!(rounded(0.0), "0.0000");
        assert_eq!(rounded(-0.020_501), "-0.02050");
        assert_eq!(rounded(0.001_234_56), "0.001235");
        assert_eq!(rounded(0.000_012_34), "1.234e-5");
        assert_eq!(rounded(f64::NAN), "NaN");
        assert_eq!(significant(1234.561, 6), "1234.56");
        assert_eq!(significant(f64::from(0.1_f32), 6), "0.1");
        assert_eq!(significant(-12_345_678.9, 6), "-12345679");
        assert_eq!(significant(0.000_012_345_678, 6), "1.23457e-5");
        assert_eq!(significant(3e-9, 5), "3e-9");
        assert_eq!(significant(0.0, 6), "0");
        assert_eq!(
            [0.2149, 12.6, 1234.0].map(|value| significant(value, 2)),
            ["0.21", "13", "1234"]
        );
        assert_eq!(significant(f64::NAN, 2), "NaN");
        assert_eq!(significant(f64::INFINITY, 6), "inf");
        assert_eq!(told_apart(1_700_000_123.456, 6, 200.0), "1700000123.5");
        assert_eq!(told_apart(100.000_012_346, 6, 2e-5), "100.00001235");
        assert_eq!(told_apart(275_000.4, 6, 50_000.0), "275000");
        assert_eq!(told_apart(1.0, 6, 1e-30), "1");
        for (value, deviation) in [(0.5, 0.0), (0.5, 1e30)] {
            assert_eq!(told_apart(value, 6, deviation), "0.5");
        }
        assert_eq!(told_apart(0.0, 6, 1.0), "0");
        assert_eq!([0.0, 0.0354, 0.84].map(duration), ["0.0 s", "35 ms", "0.8 s"]);
        assert_eq!(duration(125.0), "2 min 5 s");
        assert_eq!(duration(12_000.0), "3 h 20 min");
        assert_eq!([0.437, 2.34, 651_999.6].map(rate), ["0.44", "2.3", "652,000"]);
        assert_eq!([0.0, -0.001, 1.5e-6].map(shortest), ["0", "-0.001", "1.5e-6"]);
        let metrics = of_training(0.25, Some(0.5));
        assert_eq!(listed(&metrics), "loss 0.2500, accuracy 50.0 %");
    }
}
