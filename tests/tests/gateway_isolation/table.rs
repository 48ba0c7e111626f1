//! All that a gateway can do wrong, in both places where it may run, and what becomes of it: each call ends by the money rule, a version
//! that goes on so comes into quarantine with the reason, and another gateway is paid through meanwhile without an error.

use std::sync::Arc;
use std::time::Duration;

use switchyard_engine::gateway::{Isolation, Version};
use switchyard_tests::eventually;

use crate::host::{Host, Others, nonsense, on_two_threads, workers};

/// What a gateway does before anything was sent, and after it.
struct Misdeed {
    what: [&'static str; 2],
    apart: End,
    in_process: End,
}

#[derive(Clone, Copy)]
enum End {
    /// Each call fails, and this is in the reason; the next one is paid.
    Fault(&'static str),
    /// Each call fails, and this is in the reason; after so many of them the version is in quarantine, and this is why.
    Quarantine(&'static str, usize, &'static str),
    /// Shown by a test of its own.
    Elsewhere,
}
use End::{Elsewhere, Fault, Quarantine};

/// What a worker that dies three times comes to. In process it ends the server: `gateway_life/harm.rs`.
const fn death(what: [&'static str; 2], how: &'static str) -> Misdeed {
    Misdeed {
        what,
        apart: Quarantine(how, 3, DIED),
        in_process: Elsewhere,
    }
}

const fn everywhere(what: [&'static str; 2], end: End) -> Misdeed {
    Misdeed {
        what,
        apart: end,
        in_process: end,
    }
}

const TABLE: [Misdeed; 14] = [
    everywhere(
        ["panic", "write and panic"],
        Quarantine("panicked", 5, "it panicked 5 times within a minute"),
    ),
    everywhere(["panic bomb", "write and panic"], Fault("panicked")),
    // The first panics when it is dropped.
    everywhere(["never bomb", "write and never"], Fault(TOO_LONG)),
    everywhere(["stall", "stall"], Fault("no effect")),
    everywhere(["effects", "effects"], Fault("more than 16 effects")),
    Misdeed {
        what: ["harm: loop", "write, harm: loop"],
        apart: Quarantine(STUCK, 3, DIED),
        in_process: Quarantine(HELD, 1, HELD),
    },
    // In a worker this is in a test of its own.
    Misdeed {
        what: ["never, then loop", "never, then loop"],
        apart: Elsewhere,
        in_process: Quarantine("", 1, HELD),
    },
    Misdeed {
        what: ["harm: late", "write, harm: late"],
        apart: Quarantine(STUCK, 3, DIED),
        // Given up, or seen to be late when it comes back: which is a matter of tenths of a second.
        in_process: Quarantine("", 1, "a step of it"),
    },
    death(["harm: abort", "write, harm: abort"], "SIGABRT"),
    death(["harm: null", "write, harm: null"], "SIGSEGV"),
    death(["harm: overflow", "write, harm: overflow"], "SIGABRT"),
    death(["harm: exit", "write, harm: exit"], "exit status: 0"),
    death(["harm: memory", "write, harm: memory"], "SIGABRT"),
    death(["panic twice", "panic twice"], "SIGABRT"),
];

const DIED: &str = "its worker died three times within a minute";
const STUCK: &str = "longer than a second";
const TOO_LONG: &str = "the time for this call is over";
pub const HELD: &str = "held a thread";

#[test]
fn whatever_a_gateway_does_in_its_worker_the_engine_and_the_other_gateways_go_on() {
    on_two_threads(all(Isolation::Process));
}

#[test]
fn whatever_a_gateway_does_in_process_and_the_process_lives_through_the_other_gateways_go_on() {
    on_two_threads(all(Isolation::InProcess));
}

async fn all(isolation: Isolation) {
    let host = Arc::new(Host::new(isolation).await);
    let others = Others::pay(&host).await;
    for misdeed in TABLE {
        let end = match isolation {
            Isolation::InProcess => misdeed.in_process,
            _ => misdeed.apart,
        };
        match end {
            Elsewhere => continue,
            Fault(how) => faults(&host, misdeed.what, how).await,
            // Where one is enough each has a version of its own.
            Quarantine(how, 1, why) => {
                for what in misdeed.what {
                    let gateway = host.misbehaving_as(what).await;
                    quarantined(&host, &gateway, &[what], how, why).await;
                }
            }
            Quarantine(how, times, why) => {
                let turns: Vec<_> = misdeed.what.into_iter().cycle().take(times).collect();
                let gateway = host.misbehaving().await;
                quarantined(&host, &gateway, &turns, how, why).await;
            }
        }
        others.go_on().await;
    }
    for (kind, how) in NONSENSE {
        let library = nonsense(host.folder.path(), kind);
        let gateway = host.gateways.add(&library).await.unwrap();
        let why = host.fault(&gateway, "nonsense").await;
        assert!(why.contains(how), "{isolation:?}: {why}");
        others.go_on().await;
    }
    others.end().await;
}

/// What a gateway in C says that is nonsense.
const NONSENSE: [(u32, &str); 5] = [
    (1, "code 77"),
    (2, "cannot be understood"),
    (3, "left nothing to go on with"),
    (4, "more than 4194304 bytes"),
    (5, "waits for nothing"),
];

async fn faults(host: &Host, all: [&str; 2], how: &str) {
    let gateway = host.misbehaving().await;
    for what in all {
        let why = host.fault(&gateway, what).await;
        assert!(why.contains(how), "{what}: {why}");
        assert!(!gateway.is_in_quarantine(), "{what}");
        host.works(&gateway).await;
    }
}

async fn quarantined(host: &Host, gateway: &Arc<Version>, all: &[&str], how: &str, reason: &str) {
    for (number, what) in all.iter().enumerate() {
        assert!(!gateway.is_in_quarantine(), "{what}, {number} times");
        let why = host.fault(gateway, what).await;
        assert!(why.contains(how), "{what}: {why}");
    }
    is_in_quarantine(gateway, reason).await;
    // Nothing new begins on it, and it is still asked about what it began.
    let why = host.fault(gateway, "harm: none").await;
    assert!(why.contains("in quarantine"), "{}: {why}", all[0]);
    let asked = format!("{:?}", host.query(gateway).await.outcome);
    assert!(asked.contains("no such charge"), "{}: {asked}", all[0]);
    if !gateway.is_apart() {
        assert!(workers(std::process::id(), &gateway.sha256).is_empty());
    }
}

/// It is, or comes to be when it is a call's end that does harm, and the reason says so.
pub async fn is_in_quarantine(gateway: &Version, reason: &str) {
    let net = Duration::from_secs(120);
    let quarantine = || async { Ok(gateway.quarantine()) };
    let found = eventually("its quarantine", net, quarantine).await.unwrap();
    assert!(found.reason.contains(reason), "{found:?}");
    assert_eq!(found.by, "engine");
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
        is_in_quarantine(&gateway, HELD).await;
        assert!(
            threads_behind() <= 9,
            "{} threads are lost",
            threads_behind()
        );
        others.end().await;
    });
}

/// Threads of this process that compute only when nothing else wants to: those that were given up.
fn threads_behind() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let is_behind = |stat: &String| {
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(NICE) == Some("19")
    };
    let stats = threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("stat")));
    stats.filter_map(Result::ok).filter(is_behind).count()
}

/// Where its priority stands in `/proc/…/stat`, from behind the name on.
const NICE: usize = 16;
