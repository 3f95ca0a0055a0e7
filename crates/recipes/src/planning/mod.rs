//! Before a run: what it will take, what is odd about it, and which learning rate suits it.

pub(crate) mod memory;
pub(crate) mod odd_settings;
pub(crate) mod plan;
pub(crate) mod range_test;
