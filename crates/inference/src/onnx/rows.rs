//! What a graph for rows of a table has around its network, and its file's description of the columns.

use preprocess::{
    ALWAYS_MISSING, Column, ColumnKind, LARGEST_SCORE, TablePreprocessing, TargetScale,
    TargetScores,
};
use serde_json::{Value as Json, json};
use store::StoredTensor;

use super::{
    VALUE,
    graph::{Graph, Size, Value},
    messages::ElementType,
};
use crate::Preprocessing;

/// The features with 0 for those whose column was constant in training, which have no effect.
///
/// - `features`: `[batch, features]`
pub(super) fn without_constants(
    graph: &mut Graph,
    table: &TablePreprocessing,
    features: &Value,
) -> Value {
    let counts = |Column { kind, .. }: &Column| {
        let counts = !matches!(kind, ColumnKind::Numeric { deviation, .. } if *deviation <= 0.0);
        std::iter::repeat_n(f32::from(u8::from(counts)), kind.width())
    };
    let counts: Vec<f32> = table.columns.iter().flat_map(counts).collect();
    if !counts.contains(&0.0) {
        return features.clone();
    }
    let counts = StoredTensor::new(vec![counts.len()], counts).expect("a vector has its length");
    let counts = graph.tensor("counting_features", &counts);
    graph.node("Mul", &[features, &counts], Vec::new())
}

/// Makes a regression's output the graph's, in the units of the training data; as f64, since an f32 has
/// too few digits for values that are close together and far from 0.
///
/// - `output`: `[batch, 1]`
pub(super) fn give_value(graph: &mut Graph, output: &Value, scores: &TargetScores) {
    let output = graph.cast(output, ElementType::F64);
    let deviation = graph.number("target_deviation", scores.deviation);
    let mean = graph.number("target_mean", scores.mean);
    let value = graph.node("Mul", &[&output, &deviation], Vec::new());
    let value = graph.node("Add", &[&value, &mean], Vec::new());
    let value = match scores.scale {
        TargetScale::Linear => value,
        TargetScale::Log => {
            let largest = graph.number("largest_logarithm", f64::MAX.ln());
            let value = graph.node("Min", &[&value, &largest], Vec::new());
            graph.node("Exp", &[&value], Vec::new())
        }
    };
    graph.output(&value, VALUE, ElementType::F64, &[Size::Named("batch"), Size::Fixed(1)]);
}

/// The preprocessing as other programs need it: no deviation is 0, since they would divide by it; the
/// offset of an index, that of words after the unknown one, the filter of a resize, what is always missing
/// and how large features become are given.
pub(super) fn for_others(preprocessing: &Preprocessing) -> Json {
    let mut preprocessing =
        serde_json::to_value(preprocessing).expect("a description has a form in JSON");
    if !preprocessing["words"].is_null() {
        preprocessing["unknown"] = json!(0);
        preprocessing["offset"] = json!(1);
    }
    if !preprocessing["resize"].is_null() {
        preprocessing["filter"] = json!("bilinear, antialiased");
    }
    if !preprocessing["columns"].is_null() {
        preprocessing["always_missing"] = json!(ALWAYS_MISSING);
        preprocessing["largest"] = json!(LARGEST_SCORE);
    }
    let columns = preprocessing.get_mut("columns").and_then(Json::as_array_mut);
    for column in columns.into_iter().flatten() {
        if column["deviation"].as_f64().is_some_and(|deviation| deviation <= 0.0) {
            column["deviation"] = json!(1.0);
        }
        if column["encoding"] == json!("index") {
            column["offset"] = json!(1);
        }
        if column["kind"] == json!("text") {
            column["vocabulary"]["unknown"] = json!(1);
            column["vocabulary"]["offset"] = json!(2); // 0 stands before a text
        }
    }
    preprocessing
}
