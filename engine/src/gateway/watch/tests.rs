//! Steps that come back late, on a version whose library is never needed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::*;
use crate::clock::Clock;
use crate::gateway::home::Home;
use crate::gateway::manifest::Manifest;
use crate::gateway::worker::{Worker, WorkerSettings};

fn version() -> Arc<Version> {
    let manifest = br#"{"name": "late", "version": "1.0.0", "abi": 1, "title": "Late", "operations": ["collect", "query"],
        "methods": [{"code": "late_usd", "direction": "collect", "currency": "USD", "countries": ["US"]}]}"#;
    let worker = Worker::new("late", "", Path::new(""), &WorkerSettings::default());
    Arc::new(Version::new(
        Manifest::parse(manifest).unwrap(),
        String::new(),
        Home::Worker(Box::new(worker)),
        Clock::wall(),
    ))
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_step_that_comes_back_late_is_told_to_nobody_and_gives_its_thread_back() {
    let watcher = Arc::<Watcher>::default();
    let drops = Arc::<AtomicUsize>::default();
    // First on a thread of the runtime, then on a blocking thread.
    for beside in [false, true] {
        let version = version();
        let ward = Ward::new(&watcher).unwrap();
        if beside {
            version.mark_slow(Duration::ZERO);
        }
        let (release, released) = mpsc::channel::<()>();
        let (is_back, back) = tokio::sync::oneshot::channel();
        let (own, its_ward, dropped) = (Arc::clone(&version), ward.clone(), Arc::clone(&drops));
        let call = tokio::spawn(async move {
            let late = move || {
                let _ = released.recv();
                let _ = is_back.send(());
                Counted(dropped)
            };
            step(&own, Some(&its_ward), late).await.is_ok()
        });
        ward.0.lost.notified().await;
        assert_eq!(version.quarantine().unwrap().reason, HELD);
        assert!(!call.is_finished());
        release.send(()).unwrap();
        back.await.unwrap();
        while !watcher.is_idle() {
            tokio::task::yield_now().await;
        }
        assert!(!call.is_finished(), "its call has ended already");
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    assert_eq!(drops.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_version_that_has_held_up_every_lane_is_not_run_any_more_and_says_what_to_do() {
    let (version, watcher) = (version(), Arc::<Watcher>::default());
    let ward = Ward::new(&watcher).unwrap();
    for lane in 0..crate::limits::GATEWAY_LANES.len() {
        assert!(step(&version, Some(&ward), || ()).await.is_ok());
        version.lanes.shut(lane);
    }
    let refused = step(&version, Some(&ward), || ()).await;
    assert!(refused.is_err_and(|gone| gone.0.contains("started again")));
    assert!(version.is_in_quarantine());
}
