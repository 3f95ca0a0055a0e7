//! `[checkpoint]`: the ranges of its keys.

use training::CheckpointConfig;

use crate::config::check::{Check, Checker};

impl Check for CheckpointConfig {
    fn check(&self, checker: &mut Checker<'_>) {
        let Self { every_steps, every_epochs, keep, keep_every_epochs } = self;
        checker.require("checkpoint.every_steps", *every_steps != Some(0), "at least 1");
        checker.require("checkpoint.every_epochs", *every_epochs != Some(0), "at least 1");
        checker.require("checkpoint.keep", *keep >= 1, "at least 1");
        let rule = *keep_every_epochs != Some(0);
        checker.require("checkpoint.keep_every_epochs", rule, "at least 1");
    }
}
