//! How the next token is chosen from the logits.

use backend::random::{Purpose, Random};

use crate::InferenceError;

/// How the next token is chosen; the choice depends on the logits, the seed and the position only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Divides the logits, at least 0: below 1 it favours likely tokens, at 0 the likeliest always wins.
    pub temperature: f64,
    /// Only this many of the likeliest tokens, at least 1, may be chosen.
    pub top_k: Option<usize>,
    /// Only the likeliest tokens whose probabilities together reach this share, above 0 and at most 1,
    /// may be chosen (Holtzman et al., 2020, "nucleus sampling").
    pub top_p: Option<f64>,
    /// The seed of the choices.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 0.8, top_k: None, top_p: None, seed: 0 }
    }
}

impl Sampling {
    /// Checks the ranges; beyond them the least likely tokens might be chosen.
    ///
    /// # Errors
    ///
    /// Where a value is out of its range.
    pub fn check(&self) -> Result<(), InferenceError> {
        let wrong =
            |setting, value, expected| Err(InferenceError::Sampling { setting, value, expected });
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return wrong("temperature", self.temperature, "a number of at least 0");
        }
        if self.top_k == Some(0) {
            return wrong("top_k", 0.0, "at least 1");
        }
        match self.top_p {
            Some(share) if !(share > 0.0 && share <= 1.0) => {
                wrong("top_p", share, "above 0 and at most 1")
            }
            _ => Ok(()),
        }
    }

    /// The token for `position`, from logits that are finite, or -∞ for what is never chosen.
    pub(crate) fn choose(&self, logits: &[f32], position: u64) -> u32 {
        let candidates = (0..).zip(logits).map(|(token, &logit)| (token, f64::from(logit)));
        // The likeliest first; equal logits by token, so that they give the same choice everywhere.
        let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if self.temperature == 0.0 {
            let (token, _) = candidates.min_by(order).expect("there are logits");
            return token;
        }
        let mut candidates: Vec<_> = candidates.collect();
        if let Some(top_k) = self.top_k.filter(|&top_k| top_k < candidates.len()) {
            candidates.select_nth_unstable_by(top_k, order);
            candidates.truncate(top_k);
        }
        candidates.sort_unstable_by(order);

        let largest = candidates[0].1;
        for (_, weight) in &mut candidates {
            *weight = ((*weight - largest) / self.temperature).exp();
        }
        let total: f64 = candidates.iter().map(|(_, weight)| weight).sum();
        let share = self.top_p.unwrap_or(1.0) * total;
        let mut reached = 0.0;
        let kept = candidates.iter().take_while(|(_, weight)| {
            let below = reached < share;
            reached += if below { weight } else { &0.0 };
            below
        });
        let kept = kept.count().max(1);

        let random = Random::new(self.seed, Purpose::Sampling, 0);
        let mut left = random.uniform_f64(position)
            * candidates[..kept].iter().map(|(_, weight)| weight).sum::<f64>();
        for &(token, weight) in &candidates[..kept] {
            left -= weight;
            if left < 0.0 {
                return token;
            }
        }
        candidates[kept - 1].0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Probabilities 0.1, 0.4, 0.3, 0.2.
    fn logits() -> Vec<f32> {
        [0.1f32, 0.4, 0.3, 0.2].map(f32::ln).to_vec()
    }

    fn shares(sampling: Sampling) -> [f64; 4] {
        let draws = 20_000;
        let mut counts = [0.0; 4];
        for position in 0..draws {
            counts[sampling.choose(&logits(), position) as usize] += 1.0 / draws as f64;
        }
        counts
    }

    fn assert_shares(sampling: Sampling, expected: [f64; 4]) {
        let found = shares(sampling);
        // Four standard errors of a share.
        let close = found.iter().zip(expected).all(|(found, expected)| {
            (found - expected).abs() <= 4.0 * (expected * (1.0 - expected) / 20_000.0).sqrt() + 1e-9
        });
        assert!(close, "{found:?} instead of {expected:?}");
    }

    #[test]
    fn tokens_come_as_often_as_they_are_likely() {
        let plain = Sampling { temperature: 1.0, ..Sampling::default() };
        assert_shares(plain, [0.1, 0.4, 0.3, 0.2]);
        let total: f64 = 0.01 + 0.16 + 0.09 + 0.04;
        let cold = Sampling { temperature: 0.5, ..plain };
        assert_shares(cold, [0.01, 0.16, 0.09, 0.04].map(|weight| weight / total));
        assert_shares(Sampling { temperature: 0.0, ..plain }, [0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn unlikely_tokens_can_be_cut_off() {
        let plain = Sampling { temperature: 1.0, ..Sampling::default() };
        let two = [0.0, 4.0 / 7.0, 3.0 / 7.0, 0.0];
        assert_shares(Sampling { top_k: Some(2), ..plain }, two);
        assert_shares(Sampling { top_p: Some(0.69), ..plain }, two);
        assert_shares(Sampling { top_p: Some(0.01), ..plain }, [0.0, 1.0, 0.0, 0.0]);
        assert_shares(
            Sampling { top_k: Some(100), top_p: Some(1.0), ..plain },
            [0.1, 0.4, 0.3, 0.2],
        );
    }

    #[test]
    fn of_equally_likely_tokens_the_first_are_kept() {
        let logits: Vec<f32> =
            (0..1000).map(|token| if token % 10 == 7 { 1.0 } else { 0.0 }).collect();
        let choices = |sampling: Sampling| -> BTreeSet<u32> {
            (0..200).map(|position| sampling.choose(&logits, position)).collect()
        };
        let plain = Sampling { temperature: 1.0, ..Sampling::default() };
        assert_eq!(choices(Sampling { temperature: 0.0, ..plain }), [7].into());
        assert_eq!(choices(Sampling { top_k: Some(3), ..plain }), [7, 17, 27].into());
        let sevens = (0..100).map(|ten| 10 * ten + 7);
        let and_the_first = Sampling { top_k: Some(101), temperature: 1e3, ..plain };
        assert!(choices(and_the_first).is_subset(&sevens.chain([0]).collect()));
    }

    #[test]
    fn only_differences_of_logits_count() {
        let sampling = Sampling { temperature: 0.5, top_p: Some(0.95), ..Sampling::default() };
        let choices = |shift: f32| -> Vec<u32> {
            let logits = [0.0, 1.0, 2.0, 3.0].map(|logit| logit + shift);
            (0..200).map(|position| sampling.choose(&logits, position)).collect()
        };
        assert_eq!(choices(2000.0), choices(0.0));
        assert_eq!(choices(-2000.0), choices(0.0));
    }

    #[test]
    fn the_seed_decides() {
        let tokens = |seed| -> Vec<u32> {
            let sampling = Sampling { temperature: 1.0, seed, ..Sampling::default() };
            (0..50).map(|position| sampling.choose(&logits(), position)).collect()
        };
        assert_eq!(tokens(1), tokens(1));
        assert_ne!(tokens(1), tokens(2));
    }
}
