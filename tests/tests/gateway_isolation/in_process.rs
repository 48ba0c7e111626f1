//! A gateway inside the engine's own process that does what a process lives through: the call ends by the money rule, the version goes into
//! quarantine when it has to, and nobody else's calls are held up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use switchyard_engine::gateway::{Isolation, Version};
use switchyard_engine::transaction::Outcome;
use switchyard_tests::{demo_gateway, eventually};
use tokio::task::JoinHandle;

use crate::host::{Host, workers};

/// The server's runtime on the smallest machine. It is left behind with the threads that gateways keep: to wait for them would be to
/// wait for ever.
fn on_two_threads(test: impl Future<Output = ()> + Send + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(async { tokio::spawn(test).await });
    runtime.shutdown_background();
    if let Err(error) = done {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// Payments through the test gateway, one after the other, while something else happens.
struct Others {
    paid: Arc<AtomicUsize>,
    done: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Others {
    async fn pay(host: &Arc<Host>) -> Self {
        let demo = host.gateways.add(&demo_gateway()).await.unwrap();
        let (paid, done) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (host, count, is_done) = (Arc::clone(host), Arc::clone(&paid), Arc::clone(&done));
        let task = tokio::spawn(async move {
            while !is_done.load(Ordering::SeqCst) {
                let (end, _) = host.collect(&demo, "").await;
                let is_paid = matches!(end.outcome, Outcome::Succeeded { .. });
                assert!(is_paid, "{:?}", end.outcome);
                count.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        });
        Self { paid, done, task }
    }

    /// They go on: so many more are paid.
    async fn go_on(&self) {
        let before = self.paid.load(Ordering::SeqCst);
        let more = || async {
            let is_done = self.paid.load(Ordering::SeqCst) > before + 20 || self.task.is_finished();
            Ok(is_done.then_some(()))
        };
        let net = Duration::from_secs(120);
        eventually("other payments", net, more).await.unwrap();
        assert!(!self.task.is_finished(), "another payment failed");
    }

    async fn end(self) {
        self.go_on().await;
        self.done.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
    }
}

/// It is in quarantine, or comes into it when it is its end that holds a thread, and the reason says so.
async fn is_given_up(gateway: &Version) {
    let net = Duration::from_secs(120);
    let quarantine = || async { Ok(gateway.quarantine()) };
    let quarantine = eventually("its quarantine", net, quarantine).await.unwrap();
    assert!(
        quarantine.reason.contains("held a thread"),
        "{quarantine:?}"
    );
    assert_eq!(quarantine.by, "engine");
}

#[test]
fn a_step_that_never_comes_back_ends_by_the_money_rule_and_in_quarantine_while_others_pay_on() {
    on_two_threads(async {
        let host = Arc::new(Host::new(Isolation::InProcess).await);
        let others = Others::pay(&host).await;
        for what in ["harm: loop", "write, harm: loop", "never, then loop"] {
            let gateway = host.misbehaving_as(what).await;
            others.go_on().await;
            host.fault(&gateway, what).await;
            is_given_up(&gateway).await;
            others.go_on().await;
            // Nothing new begins on it, and it is still asked about what it began.
            let why = host.fault(&gateway, "read and fail").await;
            assert!(why.contains("in quarantine"), "{what}: {why}");
            let asked = host.query(&gateway).await.outcome;
            let asked = format!("{asked:?}");
            assert!(asked.contains("no such charge"), "{what}: {asked}");
        }
        others.end().await;
    });
}

#[test]
fn many_steps_that_never_come_back_at_once_keep_few_threads_and_none_that_others_need() {
    on_two_threads(async {
        let host = Arc::new(Host::new(Isolation::InProcess).await);
        let others = Others::pay(&host).await;
        let gateway = host.misbehaving_as("many").await;
        let calls: Vec<_> = (0..40)
            .map(|_| {
                let (host, gateway) = (Arc::clone(&host), Arc::clone(&gateway));
                tokio::spawn(async move { host.fault(&gateway, "harm: loop").await })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        is_given_up(&gateway).await;
        others.end().await;
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_panic_and_a_late_answer_end_by_the_money_rule_and_a_late_one_goes_into_quarantine() {
    let host = Arc::new(Host::new(Isolation::InProcess).await);
    let others = Others::pay(&host).await;
    let gateway = host.misbehaving().await;
    for what in ["panic", "panic bomb", "write and panic", "stall"] {
        host.fault(&gateway, what).await;
    }
    assert!(!gateway.is_in_quarantine());
    host.fault(&gateway, "write, harm: late").await;
    assert!(gateway.is_in_quarantine());
    assert_eq!(workers(std::process::id(), &gateway.sha256).len(), 0);
    others.end().await;
}
