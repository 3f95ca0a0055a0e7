//! What a model predicts for one input.

use serde::Serialize;

/// What a model predicts for one input; in JSON `{"top": [..]}`, or the value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Prediction<'a> {
    /// Every class with its probability, the most probable first.
    Class {
        /// The classes.
        top: Vec<Probability<'a>>,
    },
    /// A value in the units of the training data.
    Value(f64),
}

/// A class and how probable it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probability<'a> {
    /// The class, as the model's description names it.
    pub class: &'a str,
    /// From 0 to 1.
    pub probability: f32,
}

/// The probabilities of both classes, from the logits of the second.
pub(crate) fn binary(logits: Vec<f32>, classes: &[String]) -> Vec<Prediction<'_>> {
    let sigmoid = |logit: f32| 1.0 / (1.0 + (-logit).exp());
    logits.into_iter().map(|logit| ranked(classes, &[sigmoid(-logit), sigmoid(logit)])).collect()
}

/// The probabilities of all classes, from as many logits for each input.
pub(crate) fn multiclass(logits: Vec<f32>, classes: &[String]) -> Vec<Prediction<'_>> {
    logits
        .chunks_exact(classes.len().max(1))
        .map(|logits| ranked(classes, &softmax(logits)))
        .collect()
}

/// - `logits`: finite
fn softmax(logits: &[f32]) -> Vec<f32> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponentials: Vec<f32> = logits.iter().map(|logit| (logit - highest).exp()).collect();
    let sum: f32 = exponentials.iter().sum();
    exponentials.into_iter().map(|exponential| exponential / sum).collect()
}

fn ranked<'a>(classes: &'a [String], probabilities: &[f32]) -> Prediction<'a> {
    let mut top: Vec<Probability<'a>> = classes
        .iter()
        .zip(probabilities)
        .map(|(class, &probability)| Probability { class, probability })
        .collect();
    top.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    Prediction::Class { top }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_logits() {
        let check = |logits: [f32; 3], expected: [f32; 3]| {
            for (value, expected) in softmax(&logits).into_iter().zip(expected) {
                assert!((value - expected).abs() < 1e-6, "{value} instead of {expected}");
            }
        };
        // torch.softmax(torch.tensor(...), 0)
        check([1.0, 2.0, 3.0], [0.09003057, 0.24472848, 0.66524094]);
        check([-1e30, 3e38, 3e38], [0.0, 0.5, 0.5]);
    }

    #[test]
    fn predictions_are_plain_json() {
        let class =
            Prediction::Class { top: vec![Probability { class: "cat", probability: 0.75 }] };
        let json = |prediction: &Prediction<'_>| serde_json::to_string(prediction).unwrap();
        assert_eq!(json(&class), r#"{"top":[{"class":"cat","probability":0.75}]}"#);
        assert_eq!(json(&Prediction::Value(1.5)), "1.5");
    }
}
