//! What a run begins with: its samples, and the weights of its network.

// Pictures.
pub mod image_set;
pub(crate) mod training_images;

// Texts.
pub(crate) mod training_text;

// Weights.
pub(crate) mod backbone;
pub(crate) mod features;
pub mod initial_weights;
pub(crate) mod pretrained;
pub(crate) mod weights_file;

// What is told, recorded and weighed.
pub(crate) mod class_weights;
pub(crate) mod data_notes;
pub(crate) mod run_inputs;
