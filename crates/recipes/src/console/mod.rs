//! Progress of a run: a bar on a terminal, plain lines in a pipe.

mod bar;

use std::{
    error::Error,
    io::{Write, stderr},
    ops::ControlFlow,
    time::{Duration, Instant},
};

use backend::{Backend, Selected};
use indicatif::ProgressBar;
use training::{EpochReport, Event, Metrics, Observer, StepReport, TUNING_UPDATES, Throughput};

use self::bar::{bar, bar_style, fitting, preparation_bar, room, width};
use crate::{
    numbers::{duration, grouped, listed, of_training, rate, rounded, significant, size},
    report::Verdict,
};

/// Seconds between two lines on speed and time left.
const STATUS_EVERY: Duration = Duration::from_secs(2);

/// Between two lines on the position, while a log interval takes longer; after the first.
const POSITION_EVERY: Duration = Duration::from_secs(30);

/// Seconds of a validation that is told of.
const LONG: f64 = 0.5;

/// Between two lines on epochs above a bar, where there are more than a few.
const EPOCH_EVERY: Duration = Duration::from_secs(1);
const FEW_EPOCHS: usize = 30;

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ProgressMode {
    /// A bar on a terminal, plain lines elsewhere.
    #[default]
    Auto,
    /// Plain lines.
    Plain,
    /// Only notes and errors; the result is still printed.
    Quiet,
}

/// Shows a run on stderr. It never fails: a terminal that is closed must not stop training.
pub(crate) struct Console {
    view: View,
    epochs: usize,
    steps: u64,
    /// Whether the run has ended.
    has_ended: bool,
    first_step: u64, // of this process
    began: Instant,
    last_status: Instant,
    last_report: Instant, // of a log interval
    last_epoch: Instant,  // of which a line was printed
    last_step: Option<StepReport>,
    told_step: u64,      // by the last line on speed
    told_position: bool, // by any line
    validation: Option<Metrics>,
    validates_long: bool, // or perhaps, before it was seen
    preparation: Option<ProgressBar>,
    /// From when and from which step on the time left is estimated: on a GPU the first steps tune kernels.
    settled: Option<(Instant, u64)>,
}

enum View {
    Bar(ProgressBar),
    Plain,
    Quiet,
}

impl Console {
    /// A console that shows as much as `progress` says.
    pub(crate) fn new(progress: ProgressMode) -> Self {
        let view = match progress {
            ProgressMode::Quiet => View::Quiet,
            ProgressMode::Plain => View::Plain,
            ProgressMode::Auto => {
                let bar = bar();
                // Where no bar can be drawn, in a pipe or on a terminal without cursor movement.
                if bar.is_hidden() { View::Plain } else { View::Bar(bar) }
            }
        };
        Self::with_view(view)
    }

    fn with_view(view: View) -> Self {
        let now = Instant::now();
        Self {
            view,
            epochs: 0,
            steps: 0,
            has_ended: false,
            first_step: 0,
            began: now,
            last_status: now,
            last_report: now,
            last_epoch: now,
            last_step: None,
            told_step: 0,
            told_position: false,
            validation: None,
            validates_long: true,
            preparation: None,
            settled: None,
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

    /// Prints what a run that has ended came to.
    pub(crate) fn verdict(&self, Verdict { sentence, notes }: &Verdict) {
        if matches!(self.view, View::Quiet) {
            return;
        }
        for sentence in [sentence].into_iter().chain(notes) {
            // Nobody is left to tell when stderr is closed.
            let _ = writeln!(stderr(), "{}", printable(sentence));
        }
    }

    fn line(&self, text: &str) {
        let text = &printable(text);
        match &self.view {
            // Nothing is drawn before its length is known, and `println` would draw it.
            View::Bar(bar) if bar.length() != Some(0) => bar.println(text),
            // Nobody is left to tell when stderr is closed.
            _ => drop(writeln!(stderr(), "{text}")),
        }
    }

    /// `step 2500/12500, loss 0.6123, accuracy 67.1 %, learning rate 0.001, gradient norm 0.21, 652,000
    /// samples/s, 12 % of peak, 85 MB, data wait 0 %, 0.2 s elapsed, 0.8 s left`
    fn status(&self, last: StepReport) -> String {
        let StepReport { step, loss, accuracy, learning_rate, gradient_norm, throughput, .. } =
            last;
        format!(
            "step {step}/{}, {}{}, learning rate {}, gradient norm {}, {}, \
             data wait {:.0} %{}, {}",
            self.steps,
            listed(&of_training(loss, accuracy)),
            self.validation.as_ref().map(describe).unwrap_or_default(),
            significant(learning_rate, 2),
            significant(gradient_norm, 2),
            speed(throughput),
            throughput.data_wait * 100.0,
            throughput
                .communication_wait
                .map(|share| format!(", communication wait {:.0} %", share * 100.0))
                .unwrap_or_default(),
            self.times(step),
        )
    }

    /// `0.2 s elapsed, 0.8 s left`
    fn times(&self, step: u64) -> String {
        let elapsed = duration(self.began.elapsed().as_secs_f64());
        match self.settled {
            Some((since, first)) if step > first => {
                let of_each = since.elapsed().as_secs_f64() / (step - first) as f64;
                let left = of_each * self.steps.saturating_sub(step) as f64;
                format!("{elapsed} elapsed, {} left", duration(left))
            }
            _ => format!("{elapsed} elapsed"),
        }
    }

    /// Begins to estimate the time left, if it can be by now.
    fn settle(&mut self, step: u64) {
        let tuning = if Selected::IS_SYNCHRONOUS { 0 } else { TUNING_UPDATES };
        if self.settled.is_none() && step >= self.first_step + tuning {
            self.settled = Some((Instant::now(), step));
            if let View::Bar(bar) = &self.view {
                bar.reset_eta();
            }
        }
    }

    fn on_start(&mut self, epochs: usize, steps: u64, first_step: u64) {
        (self.epochs, self.steps, self.first_step) = (epochs, steps, first_step);
        let now = Instant::now();
        (self.began, self.last_status, self.last_report) = (now, now, now);
        if let View::Bar(bar) = &self.view {
            bar.set_length(steps);
            bar.set_position(first_step);
            bar.set_message("starting");
            bar.reset_elapsed();
        }
        self.settled = None;
        self.settle(first_step);
    }

    /// Between two log intervals only the place is known.
    fn on_progress(&mut self, epoch: usize, step: u64) {
        self.settle(step);
        let wait = if self.told_position { POSITION_EVERY } else { STATUS_EVERY };
        match &self.view {
            View::Bar(bar) => {
                self.move_to(bar, step);
                self.show_interval(bar, epoch);
            }
            View::Plain
                if self.last_report.elapsed() >= STATUS_EVERY
                    && self.last_status.elapsed() >= wait =>
            {
                (self.last_status, self.told_position) = (Instant::now(), true);
                let (steps, epochs, times) = (self.steps, self.epochs, self.times(step));
                self.line(&format!("step {step}/{steps}, epoch {epoch}/{epochs}, {times}"));
            }
            View::Plain | View::Quiet => {}
        }
    }

    fn move_to(&self, bar: &ProgressBar, step: u64) {
        if self.settled.is_some_and(|(_, first)| step > first && bar.position() <= first) {
            bar.set_style(bar_style("{eta} left, "));
        }
        bar.set_position(step);
    }

    fn on_step(&mut self, last: StepReport) {
        self.settle(last.step);
        (self.last_step, self.last_report) = (Some(last), Instant::now());
        match &self.view {
            View::Bar(bar) => {
                self.move_to(bar, last.step);
                self.show_interval(bar, last.epoch);
            }
            // The last one is told with the last validation, at the end.
            View::Plain if last.step < self.steps && self.last_status.elapsed() >= STATUS_EVERY => {
                (self.last_status, self.told_step) = (Instant::now(), last.step);
                self.line(&self.status(last));
            }
            View::Plain | View::Quiet => {}
        }
    }

    /// A validation that may take long; a short one would flicker.
    fn on_validating(&self) {
        if let View::Bar(bar) = &self.view
            && self.validates_long
        {
            bar.set_message("validating");
            bar.tick();
        }
    }

    /// Shows the epoch, and the last log interval if there is one.
    fn show_interval(&self, bar: &ProgressBar, epoch: usize) {
        bar.set_message(fitting(&self.fields(epoch), room(width(), self.steps)));
    }

    /// What a bar says of an epoch and of the last log interval, the most important first.
    fn fields(&self, epoch: usize) -> String {
        let epoch = format!("epoch {epoch}/{}", self.epochs);
        let Some(last) = self.last_step else { return epoch };
        let validation = self.validation.as_ref().map(describe).unwrap_or_default();
        let training = listed(&of_training(last.loss, last.accuracy));
        format!("{epoch}, {training}{validation}, {}", speed(last.throughput))
    }

    /// A line for the epoch: in a pipe for each, above a bar of many epochs at most one a second, and the
    /// last.
    fn on_epoch(&mut self, report: &EpochReport) {
        let is_due = match &self.view {
            View::Quiet => false,
            View::Plain => true,
            View::Bar(_) => {
                self.epochs <= FEW_EPOCHS
                    || self.last_epoch.elapsed() >= EPOCH_EVERY
                    || report.step == self.steps
            }
        };
        if !is_due {
            return;
        }
        self.last_epoch = Instant::now();
        self.line(&format!("Epoch [{}/{}], {}", report.epoch, self.epochs, measured(report)));
    }

    /// Is told of preparation, as [`Console::on_preparation`] is.
    pub(crate) fn progress(&mut self) -> impl FnMut(&str, usize, usize) -> ControlFlow<()> {
        |task: &str, done, of| {
            self.on_preparation(task, done, of);
            ControlFlow::Continue(())
        }
    }

    /// On a terminal a bar of its own, or a message in the run's bar if there is one; in a pipe a
    /// line now and then, and one at the start where the run waits for it.
    pub(crate) fn on_preparation(&mut self, task: &str, done: usize, of: usize) {
        let runs = self.has_begun() && !self.has_ended;
        match &self.view {
            View::Bar(bar) if runs => {
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
            View::Plain if self.last_status.elapsed() >= STATUS_EVERY || (done == 0 && runs) => {
                self.last_status = Instant::now();
                self.line(&format!("{task}: {} of {}", grouped(done), grouped(of)));
            }
            View::Plain | View::Quiet => {}
        }
    }

    fn on_end(&mut self) {
        self.has_ended = true;
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
            &Event::Progress { epoch, step } => self.on_progress(epoch, step),
            Event::Validating => self.on_validating(),
            Event::Epoch(report) => {
                self.validation.clone_from(&report.validation);
                let seconds = report.validation_seconds;
                self.validates_long = seconds.is_some_and(|seconds| seconds > LONG);
                if let View::Bar(bar) = &self.view {
                    self.move_to(bar, report.step);
                    self.show_interval(bar, report.epoch);
                }
                self.on_epoch(report);
            }
            Event::Preparation { task, done, of } => self.on_preparation(task, *done, *of),
            Event::Warning { message } => self.note(message),
            Event::End { .. } => self.on_end(),
            Event::Checkpoint { .. } | Event::Sample { .. } => {}
        }
        Ok(())
    }
}

/// `train loss 0.5325, accuracy 74.2 %, validation loss 0.4812, accuracy 76.6 %`; without validation
/// `Loss: 0.4684`, the loss of the last batch, as the tutorial prints it.
fn measured(report: &EpochReport) -> String {
    let Some(validation) = &report.validation else {
        return format!("Loss: {}", rounded(report.last_loss));
    };
    let training = of_training(report.train_loss, report.train_accuracy);
    format!("train {}{}", listed(&training), describe(validation))
}

/// `, validation loss 0.4812, accuracy 76.6 %`
fn describe(metrics: &Metrics) -> String {
    format!(", validation {}", listed(metrics))
}

/// `652,000 samples/s, 12 % of peak, 85 MB`, as far as known
fn speed(throughput: Throughput) -> String {
    let peak = throughput.percent_of_peak.map(|percent| format!(", {percent:.0} % of peak"));
    let memory = throughput.memory_bytes.map(|bytes| format!(", {}", size(bytes as f64)));
    let [peak, memory] = [peak, memory].map(Option::unwrap_or_default);
    format!("{} samples/s{peak}{memory}", rate(throughput.samples_per_second))
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
        let losses = EpochReport { train_loss: 0.25, last_loss: 0.125, ..EpochReport::default() };
        assert_eq!(measured(&losses), "Loss: 0.1250");
        let validated = EpochReport { validation: Some(validation), ..losses };
        let of_validation = ", validation loss 0.5000, accuracy 75.0 %";
        assert_eq!(measured(&validated), format!("train loss 0.2500{of_validation}"));
        let counted = EpochReport { train_accuracy: Some(0.875), ..validated };
        let of_training = "train loss 0.2500, accuracy 87.5 %";
        assert_eq!(measured(&counted), format!("{of_training}{of_validation}"));
    }

    fn hear(console: &mut Console, event: &Event) {
        console.observe(event).unwrap();
    }

    #[test]
    fn a_bar_moves_between_log_intervals_and_at_the_end_of_an_epoch() {
        let bar = ProgressBar::hidden();
        let mut console = Console::with_view(View::Bar(bar.clone()));
        hear(&mut console, &Event::Start { epochs: 4, steps: 40, trainable_parameters: 1 });
        assert_eq!((bar.position(), bar.message().as_str()), (0, "starting"));
        hear(&mut console, &Event::Progress { epoch: 1, step: 3 });
        assert_eq!((bar.position(), bar.message().as_str()), (3, "epoch 1/4"));
        hear(&mut console, &Event::Step(StepReport { epoch: 1, step: 5, ..Default::default() }));
        let message = bar.message();
        assert!(message.starts_with("epoch 1/4, loss 0.0000, "), "{message}");
        hear(&mut console, &Event::Progress { epoch: 1, step: 7 });
        assert_eq!((bar.position(), bar.message()), (7, message.clone()));
        hear(&mut console, &Event::Validating);
        assert_eq!(bar.message(), "validating");
        let report = EpochReport { epoch: 1, step: 10, ..EpochReport::default() };
        let short = EpochReport { validation_seconds: Some(0.01), ..report };
        hear(&mut console, &Event::Epoch(short));
        assert_eq!((bar.position(), bar.message()), (10, message.clone()));
        hear(&mut console, &Event::Validating);
        assert_eq!(bar.message(), message, "it was short");
        hear(&mut console, &Event::Progress { epoch: 2, step: 13 });
        assert_eq!(bar.message(), message.replace("epoch 1/4", "epoch 2/4"));
    }

    #[test]
    fn a_narrow_terminal_gets_whole_fields() {
        let mut console = Console::with_view(View::Quiet);
        (console.steps, console.epochs) = (12_500, 500);
        let throughput = Throughput {
            samples_per_second: 652_000.0,
            percent_of_peak: Some(12.0),
            memory_bytes: Some(85_000_000),
            ..Throughput::default()
        };
        let report =
            StepReport { epoch: 7, step: 175, loss: 0.5326, throughput, ..Default::default() };
        console.last_step = Some(report);
        let fields = console.fields(7);
        assert_eq!(fitting(&fields, room(120, 12_500)), fields);
        let narrow = fitting(&fields, room(80, 12_500));
        assert_eq!(narrow, "epoch 7/500, loss 0.5326");
        assert_eq!(fitting(&fields, room(84, 12_500)), narrow + ", 652,000 samples/s");
        assert_eq!(fitting(&fields, room(60, 12_500)), "epoch 7/500, loss 0.5326");
        assert_eq!(fitting(&fields, room(40, 12_500)), "epoch 7/500");
        assert_eq!(fitting(&fields, 0), "");
    }

    #[test]
    fn a_name_cannot_command_the_terminal() {
        assert_eq!(printable("süß\n\tb"), "süß\n\tb");
        assert_eq!(printable("a\u{1b}[2J\rb"), "a\\u{1b}[2J\\rb");
    }
}
