//! Reasons why a worker did not start, and the message to the operator about its library.

use std::fmt;
use std::path::PathBuf;

use super::frame::Refusal;
use crate::inspect::Refused;

/// The reason why a worker did not start.
pub(super) enum NotStarted {
    /// The worker runs, and does not load the library.
    Refused(Refusal),
    /// The worker process could not be started, or ended.
    Failed(String),
}

impl NotStarted {
    /// The refusal of the library at `path`.
    pub(super) fn about(self, path: PathBuf) -> Refused {
        match self {
            Self::Refused(Refusal::OtherAbi(found)) => Refused::OtherAbi { path, found },
            Self::Refused(Refusal::ShortTable(found)) => Refused::ShortTable { path, found },
            Self::Refused(Refusal::NotLoadable(reason)) => Refused::NotLoadable { path, reason },
            Self::Refused(Refusal::Unconfined(reason)) => Refused::Unconfined { path, reason },
            Self::Failed(reason) => Refused::NotStarted { path, reason },
        }
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => why.fmt(f),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_library_that_does_not_load_is_said_to_lack_another_one() {
        let missing = "a library";
        for (why, lacks_library) in [
            (NotStarted::Refused(Refusal::NotLoadable("x".into())), true),
            (NotStarted::Refused(Refusal::Unconfined("x".into())), false),
            (NotStarted::Failed("x".into()), false),
        ] {
            let text = why.about("acme.so".into()).to_string();
            assert_eq!(text.contains(missing), lacks_library, "{text}");
        }
    }
}
