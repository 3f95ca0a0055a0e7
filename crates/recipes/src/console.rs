//! Progress of a run: a bar on a terminal, plain lines in a pipe.

use std::{
    error::Error,
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use training::{Event, Metrics, Observer, Pace, StepReport};

use crate::numbers::{duration, grouped, listed, rounded, significant, size};

/// Seconds between two lines on speed and time left.
const STATUS_EVERY: Duration = Duration::from_secs(2);

/// Between two lines on epochs above a bar.
const EPOCH_EVERY: Duration = Duration::from_secs(1);

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Progress {
    /// A bar on a terminal, plain lines elsewhere.
    #[default]
    Auto,
    /// Plain lines.
    Plain,
    /// Only notes and errors; the result is still printed.
    Quiet,
}

/// Shows a run on stderr. It never fails: a terminal that is closed must not stop training.
pub struct Console {
    view: View,
    epochs: usize,
    steps: u64,
    first_step: u64, // of this process
    began: Instant,
    last_status: Instant,
    last_epoch: Instant, // of which a line was printed
    last_step: Option<StepReport>,
    told_step: u64, // by the last line on speed
    validation: Option<Metrics>,
    preparation: Option<ProgressBar>,
}

enum View {
    Bar(ProgressBar),
    Plain,
    Quiet,
}

impl Console {
    /// A console that shows as much as `progress` says.
    pub fn new(progress: Progress) -> Self {
        let view = match progress {
            Progress::Quiet => View::Quiet,
            Progress::Auto if stderr().is_terminal() => View::Bar(bar()),
            Progress::Auto | Progress::Plain => View::Plain,
        };
        let now = Instant::now();
        Self {
            view,
            epochs: 0,
            steps: 0,
            first_step: 0,
            began: now,
            last_status: now,
            last_epoch: now,
            last_step: None,
            told_step: 0,
            validation: None,
            preparation: None,
        }
    }

    /// Whether it has heard a run begin or resume.
    pub(crate) fn has_begun(&self) -> bool {
        self.steps > 0
    }

    /// Prints a note to the user.
    pub(crate) fn note(&self, message: &str) {
        self.line(&format!("note: {message}"));
    }

    fn line(&self, text: &str) {
        let text = &printable(text);
        match &self.view {
            View::Bar(bar) => bar.println(text),
            // Nobody is left to tell when stderr is closed.
            View::Plain | View::Quiet => drop(writeln!(stderr(), "{text}")),
        }
    }

    /// `step 2500/12500, loss 0.6123, learning rate 0.001, gradient norm 0.21, 652,000 samples/s, 12 % of
    /// peak, 85 MB, data wait 0 %, 0.2 s elapsed, 0.8 s left`
    fn status(&self, last: StepReport) -> String {
        let StepReport { step, loss, learning_rate, gradient_norm, pace, .. } = last;
        let elapsed = self.began.elapsed().as_secs_f64();
        let done = step.saturating_sub(self.first_step).max(1) as f64;
        let left = elapsed / done * self.steps.saturating_sub(step) as f64;
        format!(
            "step {step}/{}, loss {}{}, learning rate {}, gradient norm {}, {}, \
             data wait {:.0} %{}, {} elapsed, {} left",
            self.steps,
            rounded(loss),
            self.validation.as_ref().map(describe).unwrap_or_default(),
            significant(learning_rate, 2),
            significant(gradient_norm, 2),
            speed(pace),
            pace.data_wait * 100.0,
            pace.communication_wait
                .map(|share| format!(", communication wait {:.0} %", share * 100.0))
                .unwrap_or_default(),
            duration(elapsed),
            duration(left),
        )
    }

    fn on_start(&mut self, epochs: usize, steps: u64, first_step: u64) {
        (self.epochs, self.steps, self.first_step) = (epochs, steps, first_step);
        (self.began, self.last_status) = (Instant::now(), Instant::now());
        if let View::Bar(bar) = &self.view {
            bar.set_length(steps);
            bar.set_position(first_step);
            bar.set_message("starting");
            bar.reset_elapsed();
            bar.reset_eta();
        }
    }

    fn on_step(&mut self, last: StepReport) {
        let is_first = self.last_step.replace(last).is_none();
        match &self.view {
            View::Bar(bar) => {
                if is_first {
                    bar.set_style(bar_style("{eta} left, "));
                }
                bar.set_position(last.step);
                let validation = self.validation.as_ref().map(describe).unwrap_or_default();
                let speed = speed(last.pace);
                let (epoch, epochs, loss) = (last.epoch, self.epochs, rounded(last.loss));
                bar.set_message(format!(
                    "epoch {epoch}/{epochs}, loss {loss}{validation}, {speed}"
                ));
            }
            View::Plain if self.last_status.elapsed() >= STATUS_EVERY => {
                (self.last_status, self.told_step) = (Instant::now(), last.step);
                self.line(&self.status(last));
            }
            View::Plain | View::Quiet => {}
        }
    }

    /// A line for the epoch: in a pipe for each, above a bar at most one a second, and the last.
    fn on_epoch(&mut self, epoch: usize, train_loss: f64, last_loss: f64) {
        let is_due = match &self.view {
            View::Quiet => false,
            View::Plain => true,
            View::Bar(_) => self.last_epoch.elapsed() >= EPOCH_EVERY || epoch == self.epochs,
        };
        if !is_due {
            return;
        }
        self.last_epoch = Instant::now();
        let losses = losses(train_loss, last_loss, self.validation.as_ref());
        self.line(&format!("Epoch [{epoch}/{}], {losses}", self.epochs));
    }

    /// Is told of preparation, as [`Console::on_preparation`] is.
    pub(crate) fn progress(&mut self) -> impl FnMut(&str, usize, usize) {
        |task: &str, done, of| self.on_preparation(task, done, of)
    }

    /// On a terminal a bar of its own, or a message in the run's bar if there is one; in a pipe a
    /// line now and then, and one at the start where the run waits for it.
    pub(crate) fn on_preparation(&mut self, task: &str, done: usize, of: usize) {
        match &self.view {
            View::Bar(bar) if self.steps > 0 => {
                if done < of {
                    bar.set_message(task.to_owned());
                } else if bar.message() == task {
                    bar.set_message("");
                }
                bar.tick();
            }
            View::Bar(_) if done == of => {
                self.preparation.take().iter().for_each(|bar| bar.finish_and_clear())
            }
            View::Bar(_) => {
                let bar = self.preparation.get_or_insert_with(|| preparation_bar(task));
                bar.set_length(of as u64);
                bar.set_position(done as u64);
            }
            View::Plain
                if self.last_status.elapsed() >= STATUS_EVERY || (done == 0 && self.steps > 0) =>
            {
                self.last_status = Instant::now();
                self.line(&format!("{task}: {} of {}", grouped(done as f64), grouped(of as f64)));
            }
            View::Plain | View::Quiet => {}
        }
    }

    fn on_end(&self) {
        match (&self.view, self.last_step) {
            (View::Bar(bar), _) => bar.finish_and_clear(),
            (View::Plain, Some(last)) if self.told_step < last.step => {
                self.line(&self.status(last));
            }
            (View::Plain | View::Quiet, _) => {}
        }
    }
}

impl Observer for Console {
    fn observe(&mut self, event: &Event) -> Result<(), Box<dyn Error + Send + Sync>> {
        match event {
            &Event::Start { epochs, steps, .. } => self.on_start(epochs, steps, 0),
            &Event::Resume { epochs, steps, step, .. } => {
                self.on_start(epochs, steps, step);
                if !matches!(self.view, View::Quiet) {
                    self.note(&format!("resuming after step {step} of {steps}"));
                }
            }
            &Event::Step(report) => self.on_step(report),
            Event::Epoch { epoch, train_loss, last_loss, validation, .. } => {
                self.validation.clone_from(validation);
                self.on_epoch(*epoch, *train_loss, *last_loss);
            }
            Event::Preparation { task, done, of } => self.on_preparation(task, *done, *of),
            Event::Warning { message } => self.note(message),
            Event::End { .. } => self.on_end(),
            Event::Checkpoint { .. } | Event::Sample { .. } => {}
        }
        Ok(())
    }
}

fn bar() -> ProgressBar {
    ProgressBar::new(0).with_style(bar_style(""))
}

/// - `left`: the time left, from the first step on
fn bar_style(left: &str) -> ProgressStyle {
    // The message is cut where a terminal is too narrow for it.
    let style = format!("{{bar:16}} step {{human_pos}}/{{human_len}}, {left}{{wide_msg}}");
    ProgressStyle::with_template(&style).expect("the template is a constant")
}

fn preparation_bar(task: &str) -> ProgressBar {
    let style = "{bar:32} {msg} {human_pos}/{human_len}, {elapsed} elapsed, {eta} left";
    let style = ProgressStyle::with_template(style).expect("the template is a constant");
    ProgressBar::new(0).with_style(style).with_message(task.to_owned())
}

/// `train loss 0.5325, validation loss 0.4812`; without validation `Loss: 0.4684`, the loss of the
/// last batch, as the tutorial prints it.
fn losses(train_loss: f64, last_loss: f64, validation: Option<&Metrics>) -> String {
    match validation {
        Some(validation) => format!("train loss {}{}", rounded(train_loss), describe(validation)),
        None => format!("Loss: {}", rounded(last_loss)),
    }
}

/// `, validation loss 0.4812, accuracy 0.7662`
fn describe(metrics: &Metrics) -> String {
    format!(", validation {}", listed(metrics))
}

/// `652,000 samples/s, 12 % of peak, 85 MB`, as far as known
fn speed(pace: Pace) -> String {
    let peak = pace.percent_of_peak.map(|percent| format!(", {percent:.0} % of peak"));
    let memory = pace.memory_bytes.map(|bytes| format!(", {}", size(bytes as f64)));
    let [peak, memory] = [peak, memory].map(Option::unwrap_or_default);
    format!("{} samples/s{peak}{memory}", grouped(pace.samples_per_second))
}

/// Text whose control characters are escaped, since names of files and classes may have any; its
/// lines and tabs stay.
pub(crate) fn printable(text: &str) -> String {
    let escaped = |letter: char| letter.is_control() && !['\n', '\t'].contains(&letter);
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        match escaped(letter) {
            true => printable.extend(letter.escape_default()),
            false => printable.push(letter),
        }
    }
    printable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_told_by_its_mean_loss_beside_the_validation() {
        let validation = Metrics::from([("accuracy".to_owned(), 0.75), ("loss".to_owned(), 0.5)]);
        let told = losses(0.25, 0.125, Some(&validation));
        assert_eq!(told, "train loss 0.2500, validation loss 0.5000, accuracy 0.7500");
        assert_eq!(losses(0.25, 0.125, None), "Loss: 0.1250");
    }

    #[test]
    fn a_name_cannot_command_the_terminal() {
        assert_eq!(printable("süß\n\tb"), "süß\n\tb");
        assert_eq!(printable("a\u{1b}[2J\rb"), "a\\u{1b}[2J\\rb");
    }
}
