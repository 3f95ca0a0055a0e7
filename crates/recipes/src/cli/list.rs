//! `recipes list`.

use super::output::{Output, aligned};
use crate::{Failure, registry::RECIPES};

pub(super) fn run(output: &Output) -> Result<(), Failure> {
    output.result(&RECIPES, |recipes| {
        aligned(&recipes.map(|recipe| [recipe.name, recipe.summary].map(str::to_owned)), 2)
    })
}
