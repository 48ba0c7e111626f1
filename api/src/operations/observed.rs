//! Gauges that are read when the metrics are: the engine's state and the resources of the process.

use std::path::PathBuf;

use metrics::{counter, gauge};
use metrics_process::Collector;
use switchyard_engine::engine::Engine;
use switchyard_records::open_cases;
use switchyard_system::resources;

/// Reads the engine's state and the resources of this process. A value that cannot be read stays as
/// it was.
#[allow(clippy::cast_precision_loss)] // gauges are floating point, and counts stay below 2^53
pub async fn observe(engine: &Engine, folders: &[(&'static str, PathBuf)]) {
    let store = engine.store().stats();
    counter!("switchyard_store_commits_total").absolute(store.commits);
    counter!("switchyard_store_batches_total").absolute(store.batches);
    gauge!("switchyard_store_largest_batch").set(store.largest_batch as f64);
    gauge!("switchyard_store_queue").set(store.queue as f64);
    gauge!("switchyard_store_available").set(if store.available { 1.0 } else { 0.0 });
    gauge!("switchyard_store_damaged").set(if store.damaged { 1.0 } else { 0.0 });
    gauge!("switchyard_store_copy_lag_seconds").set(store.copy_lag.as_secs_f64());
    gauge!("switchyard_actors_live").set(engine.live_actors() as f64);
    gauge!("switchyard_submissions_away").set(engine.submissions_away() as f64);
    gauge!("switchyard_held").set(if engine.hold().is_held() { 1.0 } else { 0.0 });
    match open_cases(engine.store()).await {
        Ok(open) => gauge!("switchyard_cases_open").set(open as f64),
        Err(error) => tracing::warn!(%error, "failed to count open cases"),
    }
    let versions = engine.gateways().list();
    let quarantined = versions.iter().filter(|version| version.is_in_quarantine());
    gauge!("switchyard_gateways_quarantined").set(quarantined.count() as f64);
    let folders = folders.to_owned();
    // A disk that hangs holds up one thread for such work and nothing else.
    let read = tokio::task::spawn_blocking(move || resources_of_process(&folders)).await;
    if let Err(error) = read {
        tracing::warn!(%error, "failed to read resources of process");
    }
}

#[allow(clippy::cast_precision_loss)] // as above
fn resources_of_process(folders: &[(&'static str, PathBuf)]) {
    Collector::default().collect();
    for (folder, path) in folders {
        if let Ok(free) = resources::free_disk_bytes(path) {
            gauge!("switchyard_disk_free_bytes", "folder" => *folder).set(free as f64);
        }
    }
}
