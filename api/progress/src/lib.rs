//! Progress of commands that take more than two seconds, on standard error.
//!
//! Promises:
//! - On a terminal a bar shows the amount, the rate and the remaining time. It is removed at the
//!   end. It has no colour, so that `NO_COLOR` has nothing to turn off.
//! - Elsewhere, and with `TERM=dumb`, the same figures are plain lines: the first after
//!   [`FIRST_LINE`], the next ones every [`LINE_INTERVAL`], one at the end of a long stage. A
//!   command that ends earlier prints none.
//! - Standard output is left to the result of the command.
//!
//! A remaining time is an estimate from the recent rate. None is shown before there is a rate.

mod figures;
mod lines;

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use self::figures::Figures;
use self::lines::{PlainLines, print_line};

/// Delay of the first plain line.
pub const FIRST_LINE: Duration = Duration::from_secs(2);
/// Interval of the plain lines that follow.
pub const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval in which a bar is drawn again without news.
const REDRAW: Duration = Duration::from_millis(200);

/// Unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    /// Things, by their plural: `rows`.
    Things(&'static str),
    /// Elapsed time alone: nothing is counted.
    Time,
}

/// Progress of one command. Dropping it removes the bar.
pub struct Progress {
    bar: ProgressBar,
    /// `None` on a terminal.
    lines: Option<PlainLines>,
}

impl Progress {
    /// Begins with a stage. `total` is `None` if it is not known beforehand.
    pub fn begin(stage: &str, total: Option<u64>, unit: Unit) -> Self {
        let target = match std::io::stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(total, target);
        set_stage(&bar, stage, total, unit);
        // Also hidden on a terminal that cannot move its cursor.
        let lines = bar.is_hidden().then(|| PlainLines::new(bar.clone(), unit));
        if lines.is_none() {
            bar.enable_steady_tick(REDRAW);
        }
        Self { bar, lines }
    }

    /// Progress that counts nothing: shows the elapsed time.
    pub fn waiting(stage: &str) -> Self {
        Self::begin(stage, None, Unit::Time)
    }

    /// Begins the next stage; rate and remaining time start again.
    pub fn stage(&self, stage: &str, total: Option<u64>, unit: Unit) {
        if let Some(lines) = &self.lines {
            lines.end_stage(unit);
        }
        self.bar.reset();
        set_stage(&self.bar, stage, total, unit);
    }

    /// Sets the finished amount.
    pub fn at(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Adds to the finished amount.
    pub fn add(&self, done: u64) {
        self.bar.inc(done);
    }

    /// Corrects the total amount.
    pub fn of(&self, total: u64) {
        self.bar.set_length(total);
    }

    /// Names the part of the stage that is being worked on.
    pub fn name(&self, stage: &str) {
        self.bar.set_message(stage.to_owned());
    }

    /// Prints a line of the command itself to standard error, above the bar.
    pub fn line(&self, text: &str) {
        match self.lines {
            None => self.bar.println(text),
            Some(_) => print_line(text),
        }
    }

    /// Runs `work`, which may write to the terminal, without the bar.
    pub fn without_bar<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Prints the place in a sequence as one line that stays, with its bar on a terminal. For steps
    /// of other programs, which write to the terminal themselves.
    pub fn mark(stage: &str, done: u64, total: u64, unit: Unit) {
        let progress = Self::begin(stage, Some(total), unit);
        progress.bar.set_position(done);
        // The position is no rate.
        progress.bar.reset_eta();
        match &progress.lines {
            None => progress.bar.abandon(),
            Some(_) => print_line(&format!(
                "{stage}: {}",
                Figures::of_bar(&progress.bar, unit)
            )),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(lines) = self.lines.take() {
            lines.end();
        } else if !self.bar.is_finished() {
            self.bar.finish_and_clear();
        }
    }
}

fn set_stage(bar: &ProgressBar, stage: &str, total: Option<u64>, unit: Unit) {
    let template = match total {
        Some(_) => "{msg} {bar:30} {figures}",
        None => "{spinner} {msg} {figures}",
    };
    let style = ProgressStyle::with_template(template).expect("the template is valid");
    let figures = move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
        let _ = text.write_str(&Figures::of_state(state, unit).to_string());
    };
    bar.set_style(style.progress_chars("█░").with_key("figures", figures));
    match total {
        Some(total) => bar.set_length(total),
        None => bar.unset_length(),
    }
    bar.set_message(stage.to_owned());
}
