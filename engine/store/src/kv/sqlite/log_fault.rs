//! Faults of a log beside its database, with their messages.

use std::fmt;

use crate::point::Point;

/// A log that must not be opened.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogFault {
    /// Whole commits follow a broken frame.
    Damaged {
        /// Byte of the file at which the damage begins.
        at: u64,
        /// Last commit before the damage.
        before: Option<Point>,
        /// Last commit behind it.
        behind: Option<Point>,
    },
    /// The database ends before the log begins.
    OldDatabase { ends: Option<Point>, begins: Point },
    /// The log ends before the database.
    OldLog { ends: Point, database: Point },
    /// The log belongs to another store.
    Foreign,
}

impl fmt::Display for LogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |point: &Option<Point>| {
            point.map_or_else(|| "no commit group".to_owned(), |point| point.to_string())
        };
        match self {
            Self::Damaged { at, before, behind } => write!(
                f,
                "the log is damaged from byte {at} on: it ends with {} before the damage, and \
                 holds {} behind it",
                named(before),
                named(behind)
            ),
            Self::OldDatabase { ends, begins } => write!(
                f,
                "the database is older than its log: it ends with {}, and the log begins with \
                 {begins}",
                named(ends)
            ),
            Self::OldLog { ends, database } => write!(
                f,
                "the log is older than the database: it ends with {ends}, and the database \
                 holds {database}"
            ),
            Self::Foreign => f.write_str("the log belongs to another store than the database"),
        }
    }
}
