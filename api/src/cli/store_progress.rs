//! Progress of work on the files of the store.

use switchyard_progress::{Progress, Unit};
use switchyard_store as store;

/// Progress of a check, a backup or a restore, from its first report on.
#[derive(Default)]
pub struct StoreProgress {
    shown: Option<(&'static str, Progress)>,
}

impl StoreProgress {
    pub fn show(&mut self, now: store::Progress) {
        let unit = unit(now.unit);
        let (stage, progress) = self
            .shown
            .get_or_insert_with(|| (now.stage, Progress::begin(&name(&now), now.total, unit)));
        if *stage != now.stage {
            *stage = now.stage;
            progress.stage(&name(&now), now.total, unit);
        }
        progress.at(now.done);
    }
}

/// The work without a known end is a check.
fn name(now: &store::Progress) -> String {
    match now.total {
        Some(_) => now.stage.to_owned(),
        None => format!("check {}", now.stage),
    }
}

fn unit(unit: store::Unit) -> Unit {
    match unit {
        store::Unit::Bytes => Unit::Bytes,
        store::Unit::Rows => Unit::Things("rows"),
        store::Unit::Logs => Unit::Things("logs"),
    }
}
