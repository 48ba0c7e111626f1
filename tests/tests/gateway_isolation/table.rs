//! Every misdeed of a gateway in its worker. Each call ends by the money rule. A version that
//! repeats it comes into quarantine with the reason. Payments through another gateway go on.

use std::sync::Arc;
use std::time::Duration;

use switchyard_gateway_host::Version;
use switchyard_tests::eventually;

use crate::host::{Host, Others, nonsense, on_two_threads};

/// Misdeed before anything was sent and after it, and its end.
type Misdeed = ([&'static str; 2], End);

enum End {
    /// Each call fails, and this is in the reason; the next one is paid.
    Fault(&'static str),
    /// Each call fails with the first text in its reason; after this many calls the version is in
    /// quarantine, with the last text as the reason.
    Quarantine(&'static str, usize, &'static str),
}
use End::{Fault, Quarantine};

const TABLE: [Misdeed; 13] = [
    (
        ["panic", "write and panic"],
        Quarantine("panicked", 5, "it panicked 5 times within a minute"),
    ),
    (["panic bomb", "write and panic"], Fault("panicked")),
    // The first panics when it is dropped.
    (["never bomb", "write and never"], Fault(TOO_LONG)),
    (["stall", "stall"], Fault("no effect")),
    (["effects", "effects"], Fault("more than 16 effects")),
    (["harm: loop", "write, harm: loop"], death(STUCK)),
    (["harm: late", "write, harm: late"], death(STUCK)),
    (["harm: abort", "write, harm: abort"], death("SIGABRT")),
    (["harm: null", "write, harm: null"], death("SIGSEGV")),
    (
        ["harm: overflow", "write, harm: overflow"],
        death("SIGABRT"),
    ),
    (["harm: exit", "write, harm: exit"], death("exit status: 0")),
    (["harm: memory", "write, harm: memory"], death("SIGABRT")),
    (["panic twice", "panic twice"], death("SIGABRT")),
];

/// End of a version whose worker dies three times.
const fn death(how: &'static str) -> End {
    Quarantine(how, 3, DIED)
}

const DIED: &str = "its worker died 3 times within an hour";
const STUCK: &str = "longer than a second";
const TOO_LONG: &str = "the time for this call is over";

#[test]
fn whatever_a_gateway_does_in_its_worker_the_engine_and_the_other_gateways_go_on() {
    on_two_threads(all());
}

async fn all() {
    let host = Arc::new(Host::new().await);
    let others = Others::pay(&host).await;
    for (what, end) in TABLE {
        match end {
            Fault(how) => faults(&host, what, how).await,
            Quarantine(how, times, why) => {
                let turns: Vec<_> = what.into_iter().cycle().take(times).collect();
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
        assert!(why.contains(how), "{kind}: {why}");
        others.go_on().await;
    }
    others.end().await;
}

/// Invalid messages of a gateway in C.
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
}

/// Waits until the version is in quarantine for this reason: the harm of a call's end may come a
/// little later.
pub async fn is_in_quarantine(gateway: &Version, reason: &str) {
    let net = Duration::from_secs(120);
    let quarantine = || async { Ok(gateway.quarantine()) };
    let found = eventually("its quarantine", net, quarantine).await.unwrap();
    assert!(found.reason.contains(reason), "{found:?}");
    assert_eq!(found.by, "engine");
}
