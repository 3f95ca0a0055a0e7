//! What a model predicts for one input.

use burn::tensor::{Tensor, activation::softmax};
use serde::Serialize;

use backend::Backend;

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

/// The probabilities of both classes, from the logits of the second: `[batch]`.
pub(crate) fn binary<B: Backend>(logits: Tensor<B, 1>, classes: &[String]) -> Vec<Prediction<'_>> {
    let logits: Vec<f32> = logits.into_data().iter().collect();
    let sigmoid = |logit: f32| 1.0 / (1.0 + (-logit).exp());
    logits.into_iter().map(|logit| ranked(classes, &[sigmoid(-logit), sigmoid(logit)])).collect()
}

/// The probabilities of all classes, from `[batch, classes]` logits.
pub(crate) fn multiclass<B: Backend>(
    logits: Tensor<B, 2>,
    classes: &[String],
) -> Vec<Prediction<'_>> {
    let [_, width] = logits.dims();
    let probabilities: Vec<f32> = softmax(logits, 1).into_data().iter().collect();
    probabilities.chunks_exact(width.max(1)).map(|row| ranked(classes, row)).collect()
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
    fn predictions_are_plain_json() {
        let class =
            Prediction::Class { top: vec![Probability { class: "cat", probability: 0.75 }] };
        let json = |prediction: &Prediction<'_>| serde_json::to_string(prediction).unwrap();
        assert_eq!(json(&class), r#"{"top":[{"class":"cat","probability":0.75}]}"#);
        assert_eq!(json(&Prediction::Value(1.5)), "1.5");
    }
}
