//! `recipes list`.

use super::output::Output;
use crate::{Failure, registry::RECIPES};

pub(super) fn run(output: &Output) -> Result<(), Failure> {
    output.result(&RECIPES, |recipes| {
        recipes.iter().map(|recipe| format!("{:<10} {}\n", recipe.name, recipe.summary)).collect()
    })
}
