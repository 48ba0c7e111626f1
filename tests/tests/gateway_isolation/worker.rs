//! A gateway in a process of its own: whatever it does, the engine goes on, and its process has
//! nothing to reach for.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use switchyard_core::transaction::Outcome;
use switchyard_gateway_host::ChangeAuthor;
use switchyard_system::clock::Clock;
use switchyard_tests::{Server, Setup, eventually};

use crate::host::{Host, NONSENSE, children, nonsense, on_two_threads, only_worker, workers};
use crate::table::is_in_quarantine;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_open_when_their_worker_dies_end_by_the_money_rule() {
    let host = Arc::new(Host::new().await);
    let gateway = host.misbehaving().await;
    let open = |what: &'static str| {
        let (host, gateway) = (Arc::clone(&host), Arc::clone(&gateway));
        tokio::spawn(async move { host.fault(&gateway, what).await })
    };
    let (before, after) = (open("wait"), open("write and wait"));
    let asked = || async { Ok((host.requests.load(Ordering::SeqCst) > 0).then_some(())) };
    eventually("a request", Duration::from_secs(20), asked)
        .await
        .unwrap();
    host.fault(&gateway, "harm: abort").await;
    for open in [before, after] {
        let why = open.await.unwrap();
        assert!(why.contains("its worker ended"), "{why}");
    }
    host.works(&gateway).await;
}

/// Two deaths before the restart and one after it, or one an hour later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_of_a_worker_and_their_quarantine_outlive_a_restart_of_the_engine() {
    for (later, is_quarantined) in [(1_800, true), (3_660, false)] {
        let host = Host::new().await;
        host.gateways.keep_in(&host.store).await.unwrap();
        let gateway = host.misbehaving().await;
        for _ in 0..2 {
            host.fault(&gateway, "write, harm: abort").await;
        }
        assert!(!gateway.is_in_quarantine());
        let clock = Clock::manual(host.clock.now().plus(Duration::from_secs(later)));
        let host = host.restarted(&clock).await;
        let gateway = host.gateways.current("misbehaving").unwrap();
        assert!(!gateway.is_in_quarantine(), "two deaths are not enough");
        host.fault(&gateway, "harm: abort").await;
        assert_eq!(gateway.is_in_quarantine(), is_quarantined, "{later} s");
        if !is_quarantined {
            continue;
        }
        let host = host.restarted(&clock).await;
        let gateway = host.gateways.current("misbehaving").unwrap();
        let reason = "its worker died 3 times within an hour; last: its worker ended: signal: 6";
        is_in_quarantine(&gateway, reason).await;
        let why = host.fault(&gateway, "harm: none").await;
        assert!(why.contains("in quarantine"), "{why}");
        // Restored by an operator, it begins with none.
        let ada = ChangeAuthor::new("ada");
        let restored = host.gateways.restore("misbehaving", None, &ada).await;
        restored.unwrap();
        let host = host.restarted(&clock).await;
        let gateway = host.gateways.current("misbehaving").unwrap();
        for _ in 0..2 {
            host.fault(&gateway, "harm: abort").await;
        }
        assert!(!gateway.is_in_quarantine());
        host.works(&gateway).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_end_does_harm_has_its_own_outcome_and_the_next_call_a_new_worker() {
    let host = Host::new().await;
    let gateway = host.misbehaving().await;
    for what in ["never, then abort", "never, then loop"] {
        let first = only_worker(std::process::id(), &gateway.sha256);
        let why = host.fault(&gateway, what).await;
        assert!(why.contains("time for this call is over"), "{what}: {why}");
        eventually("its end", Duration::from_secs(20), || async {
            Ok((!first.exists()).then_some(()))
        })
        .await
        .unwrap();
        host.misbehaving().await;
        host.works(&gateway).await;
    }
}

/// Has the system refuse Landlock, as a kernel without it does, to this thread and to all threads
/// and processes that it starts.
fn refuse_landlock() {
    let rules = BTreeMap::from([(libc::SYS_landlock_create_ruleset, Vec::new())]);
    let refused = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let target = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, target).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

#[test]
fn no_gateway_is_loaded_where_the_system_refuses_a_wall_unless_the_setting_names_it() {
    // A thread of its own, which ends with the test.
    let refused = std::thread::spawn(|| {
        refuse_landlock();
        on_two_threads(async {
            let host = Host::new().await;
            let why = host.gateways.add(&host.own_copy()).await.unwrap_err();
            let why = why.to_string();
            for words in [
                "this system does not confine it: landlock: ",
                "`gateways.accept_missing_walls = [\"landlock\"]`",
            ] {
                assert!(why.contains(words), "{why}");
            }
            let host = Host::accepting(&["network"]).await;
            host.gateways.add(&host.own_copy()).await.unwrap_err();
            let host = Host::accepting(&["landlock"]).await;
            let gateway = host.misbehaving().await;
            host.works(&gateway).await;
        });
    });
    refused.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_has_nothing_to_reach_for_and_what_it_prints_breaks_nothing() {
    let host = Host::new().await;
    let gateway = host.misbehaving().await;
    let holes = host.fault(&gateway, "harm: walls").await;
    assert!(holes.ends_with("collect: "), "open: {holes}");
    let why = host.fault(&gateway, "harm: print").await;
    assert!(why.contains("did print"), "{why}");
    host.works(&gateway).await;

    let worker = only_worker(std::process::id(), &gateway.sha256);
    let line = fs::read(worker.join("cmdline")).unwrap();
    let expected = format!("switchyard\0gateway-worker\0{}\0", gateway.sha256);
    assert_eq!(String::from_utf8(line).unwrap(), expected);
    // Root can look into it, and finds nothing. That others cannot is held by a test of its own,
    // without root's rights.
    if let Ok(environment) = fs::read(worker.join("environ")) {
        assert!(environment.is_empty(), "{environment:?}");
    }
    let status = fs::read_to_string(worker.join("status")).unwrap();
    let has = |line: &str| status.lines().any(|found| found == line);
    assert!(has("NoNewPrivs:\t1") && has("Seccomp:\t2"), "{status}");
    let limits = fs::read_to_string(worker.join("limits")).unwrap();
    for (name, value) in [
        ("Max core file size", "0"),
        ("Max processes", "0"),
        ("Max open files", "0"),
    ] {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        let hard = line[26..].split_whitespace().nth(1).unwrap();
        assert_eq!(hard, value, "{line}");
    }
    let memory = limits
        .lines()
        .find(|line| line.starts_with("Max address space"));
    assert!(!memory.unwrap().contains("unlimited"));
    if let Ok(open) = fs::read_dir(worker.join("fd")) {
        assert_eq!(
            open.count(),
            5,
            "the three standard ones, and its two pipes"
        );
    }
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    if let Ok(network) = fs::read_link(worker.join("ns/net")) {
        assert_ne!(network, own);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_forges_its_answer_and_computes_on_is_ended_and_named() {
    let host = Host::new().await;
    let gateway = host.misbehaving().await;
    let (end, _) = host.collect(&gateway, "harm: forge").await;
    assert!(
        matches!(end.outcome, Outcome::Pending { .. }),
        "{:?}",
        end.outcome
    );
    let first = only_worker(std::process::id(), &gateway.sha256);
    let ended = || async { Ok((!first.exists()).then_some(())) };
    eventually("its end", Duration::from_secs(60), ended)
        .await
        .unwrap();
    let death = || async { Ok(gateway.last_worker_death()) };
    let reason = eventually("the record of its end", Duration::from_secs(20), death)
        .await
        .unwrap();
    assert!(
        reason.contains("used CPU time while none of its steps was open"),
        "{reason}"
    );
    host.works(&gateway).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_worker_run_side_by_side() {
    let host = Arc::new(Host::new().await);
    let gateway = host.misbehaving().await;
    let since = tokio::time::Instant::now();
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let (host, gateway) = (Arc::clone(&host), Arc::clone(&gateway));
            let what = if number % 2 == 0 {
                "write and wait"
            } else {
                "wait"
            };
            tokio::spawn(async move { host.collect(&gateway, what).await.0.outcome })
        })
        .collect();
    for call in calls {
        let outcome = call.await.unwrap();
        assert!(matches!(outcome, Outcome::Succeeded { .. }), "{outcome:?}");
    }
    let took = since.elapsed();
    assert!(
        took < Duration::from_secs(25),
        "50 waits of a second each took {took:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_loading_shows_is_refused_from_a_worker_too() {
    let host = Host::new().await;
    for (number, sentence) in [
        (11, "says ABI 2"),
        (12, "an entry table of 16 bytes"),
        (13, "cannot be loaded"),
        (14, "while it loaded"),
    ] {
        let library = nonsense(host.folder.path(), number);
        let refused = host.gateways.add(&library).await.expect_err(sentence);
        let refused = refused.to_string();
        assert!(refused.contains(sentence), "{refused}");
    }
    assert!(host.gateways.list().is_empty());
}

/// The initialisers of a library run while its loader still needs some system calls. Each of these
/// libraries ends its process when it can do with them what is forbidden.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_library_breaks_no_wall_while_it_is_loaded() {
    let host = Host::new().await;
    let kept = host.folder.path().join("kept");
    fs::write(&kept, "as it was").unwrap();
    for number in LOOKS {
        let library = nonsense(host.folder.path(), number);
        let added = host.gateways.add(&library).await;
        assert!(added.is_ok(), "{number}: {:?}", added.err());
    }
    assert_eq!(fs::read_to_string(&kept).unwrap(), "as it was");
    // The same looks where there is no wall find the holes: so they can.
    let (code, holes) = (host.folder.path().join("look.c"), LOOKS.len());
    fs::write(
        &code,
        format!("{NONSENSE}\nint main(void) {{ return 0; }}\n"),
    )
    .unwrap();
    let mut found = 0;
    for number in LOOKS {
        let look = host.folder.path().join(format!("look-{number}"));
        let define = format!("-DKIND={number}");
        let kept = format!("-DKEPT=\"{}\"", kept.display());
        fs::write(host.folder.path().join("gateway.json"), "{}").unwrap();
        let built = std::process::Command::new("cc")
            .args(["-w", &define, &kept, "-o"])
            .args([&look, &code])
            .current_dir(host.folder.path())
            .status();
        assert!(built.unwrap().success());
        let ended = std::process::Command::new(&look).status().unwrap();
        found += usize::from(!ended.success());
    }
    assert_eq!(found, holes);
}

/// Kinds of [`NONSENSE`] that look for a hole when they are loaded.
const LOOKS: [u32; 5] = [15, 16, 17, 18, 19];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_worker_of_a_version_that_was_replaced_rests_soon_and_starts_again_when_it_is_asked() {
    let host = Host::new().await;
    let first = host.misbehaving().await;
    let mut bytes = fs::read(host.own_copy()).unwrap();
    bytes.push(b'2');
    let next = host.folder.path().join("next.so");
    fs::write(&next, bytes).unwrap();
    let next = host.gateways.add(&next).await.unwrap();
    let (replaced, own) = (&first.sha256, std::process::id());
    let rests = || async { Ok(workers(own, replaced).is_empty().then_some(())) };
    eventually("its end", Duration::from_secs(60), rests)
        .await
        .unwrap();
    only_worker(own, &next.sha256);
    host.works(&first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_initialiser_in_a_worker_reads_no_file_of_the_engines_user() {
    let host = Host::new().await;
    fs::write(host.folder.path().join("kept"), "the master key").unwrap();
    let library = nonsense(host.folder.path(), 20);
    let gateway = host.gateways.add(&library).await.unwrap();
    let why = host.fault(&gateway, "nonsense").await;
    assert!(why.contains("it read nothing"), "{why}");
}

#[tokio::test]
async fn workers_end_with_the_engine_even_when_it_is_killed() {
    let mut server = Server::start(Setup::default()).await.unwrap();
    let ours = worker_of_child(std::process::id());
    assert!(!ours.is_empty(), "each gateway has a worker");
    server.kill().await.unwrap();
    eventually(
        "the end of the workers",
        Duration::from_secs(20),
        || async { Ok(ours.iter().all(|worker| !worker.exists()).then_some(())) },
    )
    .await
    .unwrap();
    server.up().await.unwrap();
    server.stop().await.unwrap();
    assert_eq!(worker_of_child(std::process::id()).len(), 0);
}

/// The workers of the servers that this process has started.
fn worker_of_child(parent: u32) -> Vec<PathBuf> {
    let servers = children(parent);
    servers
        .iter()
        .filter_map(|server| server.file_name()?.to_str()?.parse().ok())
        .flat_map(|server| workers(server, ""))
        .collect()
}
