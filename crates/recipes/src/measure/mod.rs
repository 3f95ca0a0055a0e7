//! What is computed from the outputs of a network: the losses to train on, and the metrics of a split.

pub(crate) mod images;
pub(crate) mod tables;
pub(crate) mod texts;
