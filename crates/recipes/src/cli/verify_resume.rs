//! `recipes verify-resume`.

use training::Group;

use super::{
    arguments::{RecipeParser, at_least},
    output::Output,
    processes::check_alike,
    signals::stop_on_signals,
    train::recipe_and_layers,
};
use crate::{
    ExitCode, Failure,
    console::{Console, ProgressMode},
    resume_check::{ResumeCheck, Runs},
};

#[derive(Debug, clap::Args)]
pub(super) struct VerifyArguments {
    /// A recipe's name, or a configuration file
    #[arg(value_name = "RECIPE|FILE.toml", value_parser = RecipeParser, hide_possible_values = true)]
    recipe: String,
    /// Change a setting, such as `training.batch_size=8`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", allow_hyphen_values = true)]
    settings: Vec<String>,
    /// Number of steps of each run, at least 3
    #[arg(long, value_name = "N", default_value_t = 40, allow_negative_numbers = true,
        value_parser = at_least::<3>)]
    steps: u64,
}

pub(super) fn run(
    arguments: &VerifyArguments,
    progress: ProgressMode,
    output: &Output,
    group: &Group,
) -> Result<(), Failure> {
    let (recipe, layers) = recipe_and_layers(&arguments.recipe, &arguments.settings)?;
    check_alike(group, &layers)?;
    let mut console = Console::new(progress);
    let interrupt = stop_on_signals(group.is_rank_zero())?;
    let runs = Runs { recipe, layers: &layers, steps: arguments.steps, interrupt, group };
    let check = runs.verify(&mut |task, done, of| console.on_preparation(task, done, of))?;
    let printed = output.result(&check, |check| describe(check, arguments.steps));
    if check.identical {
        return printed;
    }
    Err(Failure::new(
        ExitCode::Unexpected,
        format!("a resumed run of `{}` differs from one that was never stopped", recipe.name),
        "this is a bug, on a GPU perhaps of its kernels: please report it",
    ))
}

/// - `asked`: the steps that each run was to have at most
fn describe(check: &ResumeCheck, asked: u64) -> String {
    let ResumeCheck { recipe, identical, largest_difference, steps, stops, straight, resumed } =
        check;
    let stops: Vec<String> = stops.iter().map(u64::to_string).collect();
    let verdict = if *identical {
        "identical: weights, optimizer state and metrics are the same, bit for bit".to_owned()
    } else {
        format!("different: weights differ by up to {largest_difference:e}")
    };
    let why_fewer = if *steps < asked { " (all that the run has)" } else { "" };
    format!(
        "{recipe}, {steps} steps{why_fewer}\n  \
         uninterrupted                   {straight}\n  \
         {:<30}  {resumed}\n{verdict}\n",
        format!("stopped after steps {}", stops.join(" and ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_fewer_steps_than_asked_for_says_why() {
        let check = ResumeCheck {
            recipe: "cnn".to_owned(),
            identical: true,
            largest_difference: 0.0,
            steps: 10,
            stops: vec![3, 7],
            straight: "a".to_owned(),
            resumed: "a".to_owned(),
        };
        let first = |asked| describe(&check, asked).lines().next().unwrap_or_default().to_owned();
        assert_eq!(first(12), "cnn, 10 steps (all that the run has)");
        assert_eq!(first(10), "cnn, 10 steps");
    }
}
