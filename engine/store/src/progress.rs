//! Progress of a check, a backup or a restore.

/// The state of a stage of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Name of the stage: `copy`, `replay`, `structure`, or the part of the store whose rows are
    /// read.
    pub stage: &'static str,
    pub done: u64,
    /// `None`: not known beforehand.
    pub total: Option<u64>,
    /// Unit of `done` and `total`.
    pub unit: Unit,
}

/// The unit in which progress is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Rows,
    Logs,
}

/// Receives the progress, many times a second.
pub type Report<'a> = &'a mut dyn FnMut(Progress);
