//! Times of the steps of `cargo xtask test` when they last passed, for the remaining time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::run;

/// Seconds of each step, by its name.
pub struct StepTimes {
    file: PathBuf,
    seconds: BTreeMap<String, u64>,
}

impl StepTimes {
    pub fn read() -> Self {
        Self::of(&run::target().join("test-times.txt"))
    }

    /// Lines of a name and seconds. Other lines are ignored: the next run writes the file again.
    fn of(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let times = text.lines().filter_map(|line| {
            let (name, seconds) = line.split_once(' ')?;
            Some((name.to_owned(), seconds.parse().ok()?))
        });
        Self {
            file: file.to_owned(),
            seconds: times.collect(),
        }
    }

    /// Stores the time of a step that passed. A file that cannot be written is no failure of a
    /// test: the next run shows no remaining time.
    pub fn keep(&mut self, step: &str, time: Duration) {
        self.seconds.insert(step.to_owned(), time.as_secs());
        let lines = self.seconds.iter();
        let lines = lines.map(|(name, seconds)| format!("{name} {seconds}\n"));
        let _ = std::fs::write(&self.file, lines.collect::<String>());
    }

    /// The time of these steps, if each has passed before.
    pub fn of_steps<'a>(&self, steps: impl Iterator<Item = &'a str>) -> Option<Duration> {
        let seconds: Option<u64> = steps.map(|step| self.seconds.get(step)).sum();
        seconds.map(Duration::from_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remaining_time_is_known_once_each_step_has_passed() {
        let file = std::env::temp_dir().join(format!("step-times-{}", std::process::id()));
        let mut times = StepTimes::of(&file);
        times.keep("format", Duration::from_secs(3));
        assert_eq!(times.of_steps(["format", "lints"].into_iter()), None);
        times.keep("lints", Duration::from_secs(60));
        let read = StepTimes::of(&file);
        std::fs::remove_file(&file).unwrap();
        let both = read.of_steps(["format", "lints"].into_iter());
        assert_eq!(both, Some(Duration::from_secs(63)));
        assert_eq!(read.of_steps(std::iter::empty()), Some(Duration::ZERO));
    }
}
