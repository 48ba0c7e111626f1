//! Counts of the lies that providers told, and of the core events in the histories.

use std::collections::BTreeMap;

use switchyard_core::transaction::{Event, Recorded};

/// Counts by name.
pub type Counts = BTreeMap<&'static str, u64>;

/// The names of all variants of an enum, and the name of a value. A new variant does not compile
/// until it is listed.
macro_rules! names {
    ($all:ident, $name:ident, $of:ident: $($variant:ident)*) => {
        /// All names.
        pub const $all: &[&str] = &[$(stringify!($variant)),*];
        /// Name of a value.
        pub const fn $name(of: &$of) -> &'static str {
            match of {
                $($of::$variant { .. } => stringify!($variant),)*
            }
        }
    };
}

names! { EVENTS, event, Event:
    Initiated Confirmed AttemptStarted AttemptPending AttemptInDoubt AttemptNotSent AttemptDeclined
    AttemptSucceeded QueryStarted QueryPlanned SubmissionResumed CodeSubmitted CodeAnswered
    CallOffStarted OperatorActed SteppedOver AttemptAllowed Held Succeeded Failed Cancelled Processed
    CaseOpened CaseAmended CaseClosed MoneyReported AttemptIdentified
}

/// Counts of lies and events over several histories.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    pub lies: Counts,
    pub events: Counts,
}

impl Reached {
    pub fn count(&mut self, timeline: &[Recorded]) {
        for recorded in timeline {
            *self.events.entry(event(&recorded.event)).or_default() += 1;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (into, from) in [
            (&mut self.lies, &other.lies),
            (&mut self.events, &other.events),
        ] {
            for (name, count) in from {
                *into.entry(name).or_default() += count;
            }
        }
    }

    /// Returns the lies that no provider told.
    pub fn untold(&self) -> Vec<&'static str> {
        let is_untold = |name: &&&str| !self.lies.contains_key(**name);
        crate::LIES.iter().filter(is_untold).copied().collect()
    }

    /// Returns the lies that no provider told, and the events that no history contains.
    pub fn missing(&self) -> Vec<&'static str> {
        let has_not_occurred = |name: &&&str| !self.events.contains_key(**name);
        let mut missing = self.untold();
        missing.extend(EVENTS.iter().filter(has_not_occurred));
        missing
    }
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (title, counts) in [
            ("lies told", &self.lies),
            ("events of the core", &self.events),
        ] {
            let counts = counts.iter().map(|(name, count)| format!("{name} {count}"));
            writeln!(f, "{title}: {}", counts.collect::<Vec<_>>().join(", "))?;
        }
        match self.missing().as_slice() {
            [] => write!(
                f,
                "every lie was told, and every event of the core occurred"
            ),
            missing => write!(f, "in no history: {}", missing.join(", ")),
        }
    }
}
