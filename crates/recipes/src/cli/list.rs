//! `recipes list`.

use super::output::Output;
use crate::{
    Failure,
    registry::{RECIPES, Recipe},
};

pub(super) fn run(output: &Output) -> Result<(), Failure> {
    output.result(&RECIPES, |recipes| {
        let width = recipes.iter().map(|recipe| recipe.name.len()).max().unwrap_or(0);
        let line = |recipe: &Recipe| format!("{:<width$}  {}\n", recipe.name, recipe.summary);
        recipes.iter().map(line).collect()
    })
}
