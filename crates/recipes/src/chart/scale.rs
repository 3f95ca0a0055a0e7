//! Maps values to places along an axis, and chooses its ticks.

use std::ops::RangeInclusive;

use crate::numbers::grouped;

/// The largest magnitude that has a place; the span of two such values is finite.
pub(super) const LARGEST: f64 = 1e300;
/// The least value that has a place on a logarithmic axis.
pub(super) const LEAST_LOGARITHMIC: f64 = 1e-300;

/// The approximate number of ticks of an axis.
const TICKS: f64 = 5.0;
/// The relative size of differences that are rounding errors.
const NEGLIGIBLE: f64 = 1e-9;
/// The most powers of ten that are all marked on a logarithmic axis; of more, only some are.
const MOST_POWERS: i32 = 8;

/// Where shares lie.
const SHARES: RangeInclusive<f64> = 0.0..=1.0;
const ANY: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;

/// An axis.
#[derive(Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    ticks: Vec<Tick>,
}

/// A marked value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) text: String,
}

/// How the values at the ticks of an axis are written.
#[derive(Clone, Copy, PartialEq)]
enum Notation {
    Decimal,
    /// With a power of ten.
    Exponent,
}

/// A distance between ticks: `mantissa * 10^exponent`, the mantissa 1, 2 or 5.
#[derive(Clone, Copy)]
struct Step {
    mantissa: f64,
    exponent: i32,
}

impl Scale {
    /// An axis that begins at the least value and ends at the greatest.
    pub(super) fn tight(values: impl Iterator<Item = f64> + Clone) -> Self {
        let (low, high, step) = linear(values, ANY);
        Self { low, high, logarithmic: false, ticks: step.ticks(low, high) }
    }

    /// An axis that begins and ends at a tick, within 0 and 1 where the values, perhaps shares, are.
    pub(super) fn rounded(values: impl Iterator<Item = f64> + Clone) -> Self {
        let shares = values.clone().all(|value| SHARES.contains(&value));
        let (low, high, step) = linear(values, if shares { SHARES } else { ANY });
        let size = step.size();
        let (low, high) = ((low / size + NEGLIGIBLE).floor(), (high / size - NEGLIGIBLE).ceil());
        let (low, high) = (low * size, high.max(low + 1.0) * size);
        Self { low, high, logarithmic: false, ticks: step.ticks(low, high) }
    }

    /// An axis on which equal distances are equal ratios. All values are above 0.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = bounds(values).unwrap_or((1.0, 10.0));
        let single = high <= low * (1.0 + NEGLIGIBLE);
        let (low, high) = if single { (low / 2.0, high * 2.0) } else { (low, high) };
        let mut ticks = powers(low, high, &[1.0]);
        if ticks.len() < 3 {
            ticks = powers(low, high, &[1.0, 2.0, 5.0]);
        }
        if ticks.len() < 3 {
            ticks = Step::near((high - low) / TICKS).ticks(low, high);
        }
        Self { low: low.ln(), high: high.ln(), logarithmic: true, ticks }
    }

    /// The place of a value: 0 at the beginning, 1 at the end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.ln() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    pub(super) fn ticks(&self) -> &[Tick] {
        &self.ticks
    }
}

/// The ends of a linear axis, and the step of its ticks.
///
/// - `within`: where the axis may lie
fn linear(
    values: impl Iterator<Item = f64> + Clone,
    within: RangeInclusive<f64>,
) -> (f64, f64, Step) {
    let whole = within == ANY && values.clone().all(|value| value.fract() == 0.0);
    let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
    let largest = low.abs().max(high.abs());
    let (low, high) = if high - low <= (NEGLIGIBLE * largest).max(LEAST_LOGARITHMIC) {
        let margin = if largest <= LEAST_LOGARITHMIC { 1.0 } else { largest / 2.0 };
        ((low - margin).max(*within.start()), (high + margin).min(*within.end()))
    } else {
        (low, high)
    };
    let step = Step::near((high - low) / TICKS);
    let finer_than_one = whole && step.exponent < 0;
    (low, high, if finer_than_one { Step { mantissa: 1.0, exponent: 0 } } else { step })
}

fn bounds(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// The multiples of powers of ten that lie between the ends.
fn powers(low: f64, high: f64, mantissas: &[f64]) -> Vec<Tick> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let every = ((last - first) / MOST_POWERS).unsigned_abs() as usize + 1;
    let steps: Vec<Step> = (first..=last)
        .step_by(every)
        .flat_map(|exponent| mantissas.iter().map(move |&mantissa| Step { mantissa, exponent }))
        .filter(|step| (low..=high).contains(&step.value(1.0)))
        .collect();
    let decimal = steps.iter().all(|step| step.notation(step.size()) == Notation::Decimal);
    let notation = if decimal { Notation::Decimal } else { Notation::Exponent };
    steps.iter().map(|step| step.tick(1.0, notation)).collect()
}

impl Step {
    /// The round number nearest to `size`, by ratio.
    fn near(size: f64) -> Self {
        let exponent = size.log10().floor() as i32;
        let (mantissa, carry) = match size / 10_f64.powi(exponent) {
            ..1.5 => (1.0, 0),
            1.5..3.5 => (2.0, 0),
            3.5..7.5 => (5.0, 0),
            _ => (1.0, 1),
        };
        Self { mantissa, exponent: exponent + carry }
    }

    fn size(self) -> f64 {
        self.mantissa * 10_f64.powi(self.exponent)
    }

    fn ticks(self, low: f64, high: f64) -> Vec<Tick> {
        let size = self.size();
        let first = (low / size - NEGLIGIBLE).ceil() as i64;
        let last = (high / size + NEGLIGIBLE).floor() as i64;
        let notation = self.notation(low.abs().max(high.abs()));
        (first..=last).map(|index| self.tick(index as f64, notation)).collect()
    }

    /// How an axis up to `largest` is written: in powers of ten where the step is tiny, or that huge.
    fn notation(self, largest: f64) -> Notation {
        if self.exponent >= -4 && largest < 1e6 { Notation::Decimal } else { Notation::Exponent }
    }

    fn value(self, multiple: f64) -> f64 {
        let digits = multiple * self.mantissa;
        // Parsing the decimal digits avoids the rounding error of a product.
        format!("{digits}e{}", self.exponent).parse().unwrap_or(digits)
    }

    /// The tick at `multiple` steps from 0; as decimals it has as many digits as the step.
    fn tick(self, multiple: f64, notation: Notation) -> Tick {
        let value = self.value(multiple);
        let text = match notation {
            _ if multiple == 0.0 => "0".to_owned(),
            Notation::Decimal if self.exponent < 0 => {
                format!("{value:.*}", self.exponent.unsigned_abs() as usize)
            }
            Notation::Decimal => grouped(value),
            Notation::Exponent => format!("{value:e}"),
        };
        Tick { value, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<&str> {
        scale.ticks().iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        let rounded = |low, high| Scale::rounded([low, high].into_iter());
        let tight = |low, high| Scale::tight([low, high].into_iter());
        assert_eq!(texts(&rounded(0.03, 0.98)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(&rounded(0.1, 0.3)), ["0.10", "0.15", "0.20", "0.25", "0.30"]);
        assert_eq!(
            texts(&rounded(-40.0, 110.0)),
            ["-40", "-20", "0", "20", "40", "60", "80", "100", "120"]
        );
        assert_eq!(texts(&tight(1.0, 5.0)), ["1", "2", "3", "4", "5"]);
        assert_eq!(
            texts(&tight(1.0, 12_500.0)),
            ["2,000", "4,000", "6,000", "8,000", "10,000", "12,000"]
        );
        assert_eq!(
            texts(&tight(1e-5, 4e-5)),
            ["1e-5", "1.5e-5", "2e-5", "2.5e-5", "3e-5", "3.5e-5", "4e-5"]
        );
        assert_eq!(texts(&tight(0.0, 3e6)), ["0", "5e5", "1e6", "1.5e6", "2e6", "2.5e6", "3e6"]);
    }

    #[test]
    fn logarithmic_ticks_are_powers_or_their_simple_multiples() {
        let scale = |low, high| Scale::logarithmic([low, high].into_iter());
        assert_eq!(
            texts(&scale(1e-6, 10.0)),
            ["1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1", "1e0", "1e1"]
        );
        assert_eq!(texts(&scale(1e-4, 1.0)), ["0.0001", "0.001", "0.01", "0.1", "1"]);
        assert_eq!(texts(&scale(1e5, 1e7)), ["1e5", "1e6", "1e7"]);
        assert_eq!(texts(&scale(0.15, 6.0)), ["0.2", "0.5", "1", "2", "5"]);
        assert_eq!(texts(&scale(2.1, 2.9)), ["2.2", "2.4", "2.6", "2.8"]);
        assert!(texts(&scale(1e-300, 1e300)).len() <= 12);
    }

    #[test]
    fn shares_have_an_axis_of_shares() {
        let ends = |values: &[f64]| {
            let texts = texts(&Scale::rounded(values.iter().copied())).join(" ");
            let (first, last) = (texts.split(' ').next(), texts.split(' ').next_back());
            format!("{} to {}", first.unwrap(), last.unwrap())
        };
        assert_eq!(ends(&[1.0; 3]), "0.5 to 1.0");
        assert_eq!(ends(&[0.0; 3]), "0 to 1.0");
        assert_eq!(ends(&[0.9; 3]), "0.4 to 1.0");
        assert_eq!(ends(&[0.0, 1.0]), "0 to 1.0");
        assert_eq!(ends(&[0.97, 0.999]), "0.970 to 1.000");
        assert_eq!(ends(&[0.97, 1.001]), "0.970 to 1.005");
        assert_eq!(ends(&[3.0; 2]), "1 to 5");
    }

    #[test]
    fn a_single_value_or_none_has_an_axis() {
        for values in [
            vec![],
            vec![0.0],
            vec![3.0],
            vec![-1e-7],
            vec![1e300, -1e300],
            vec![0.5; 2],
            vec![5e-324, 0.0],
        ] {
            for scale in
                [Scale::tight(values.iter().copied()), Scale::rounded(values.iter().copied())]
            {
                assert!((1..=12).contains(&scale.ticks().len()), "{values:?}: {scale:?}");
                for value in &values {
                    assert!(
                        (-1e-9..=1.0 + 1e-9).contains(&scale.place(*value)),
                        "{values:?}: {scale:?}"
                    );
                }
            }
        }
        assert_eq!(Scale::logarithmic([7.0].into_iter()).place(7.0), 0.5);
    }
}
