//! `recipes list`.

use super::output::{Output, aligned};
use crate::{
    Failure,
    registry::{RECIPES, Recipe},
};

pub(super) fn run(output: &Output) -> Result<(), Failure> {
    output.result(&RECIPES, |recipes| {
        let row = |recipe: &Recipe| [recipe.name, recipe.summary].map(str::to_owned);
        aligned(&recipes.iter().map(row).collect::<Vec<_>>(), 2)
    })
}
