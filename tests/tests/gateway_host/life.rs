//! Installation, change and removal of gateways, and their state after a restart.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{AttemptState, Status};
use switchyard_engine::access::NewConnection;
use switchyard_engine::testing::TestEngineBuilder;
use switchyard_gateway_host::{
    ChangeAuthor, ChangeKind, Consent, FileStatus, Gateways, LifeError, Operation, State, Version,
};
use switchyard_tests::{demo_gateway, misbehaving_gateway};

use crate::engine::{choice, payment};
use crate::fixture::{Fixture, KEY, collection};
use crate::loading::craft;

const ADA: ChangeAuthor<'_> = ChangeAuthor::new("ada");
/// A second operator, with a token of another origin.
const BEA: ChangeAuthor<'_> = ChangeAuthor {
    who: "bea",
    why: None,
    origin: Some("bea"),
};

/// The second operator approves the version that waits: it would run inside the engine.
async fn approved<T: std::fmt::Debug>(gateways: &Gateways, awaits: Result<T, LifeError>) {
    let Err(LifeError::AwaitsApproval { name, sha256, .. }) = awaits else {
        panic!("{awaits:?}");
    };
    gateways.approve(&name, &sha256, &BEA).await.unwrap();
}

/// The crafted gateway in a version of its own, as a file.
fn file(fixture: &Fixture, number: &str) -> PathBuf {
    let folder = fixture.folder().join(number);
    fs::create_dir_all(&folder).unwrap();
    let set = |manifest: &mut serde_json::Value| manifest["version"] = json!(number);
    craft(&folder, "crafted", |source| source, set)
}

async fn kept(fixture: &Fixture) -> &Fixture {
    fixture.gateways.keep_in(&fixture.store).await.unwrap();
    fixture
}

/// Gateways of a process that starts on the same folder and store.
async fn restarted(fixture: &Fixture) -> Gateways {
    let again = fixture.again();
    again.keep_in(&fixture.store).await.unwrap();
    again
}

fn current(gateways: &Gateways) -> Option<String> {
    let version = gateways.current("crafted")?;
    Some(version.manifest.version.clone())
}

#[tokio::test]
async fn a_restart_comes_back_with_the_version_that_was_current_and_needs_no_file_of_the_operators()
{
    let fixture = Fixture::new();
    kept(&fixture).await;
    for number in ["1.0.0", "2.0.0"] {
        fixture.gateways.add(&file(&fixture, number)).await.unwrap();
        fs::remove_dir_all(fixture.folder().join(number)).unwrap();
    }
    fs::write(fixture.kept().join("upload-1.partial"), b"cut short").unwrap();
    assert_eq!(
        current(&restarted(&fixture).await).as_deref(),
        Some("2.0.0")
    );
    assert_eq!(
        fs::read_dir(fixture.kept()).unwrap().count(),
        2,
        "the versions and nothing else"
    );
    fixture
        .gateways
        .roll_back("crafted", None, &ADA)
        .await
        .unwrap();
    let again = restarted(&fixture).await;
    assert_eq!(current(&again).as_deref(), Some("1.0.0"));
    let seen = again.overview("crafted").await.unwrap();
    assert_eq!((seen.state, seen.versions.len()), (State::Serving, 2));
    assert!(!seen.versions[0].is_current && seen.versions[0].loaded.is_none());
    let told: Vec<_> = seen
        .record
        .changes
        .iter()
        .map(|change| change.what)
        .collect();
    assert_eq!(
        told,
        [
            ChangeKind::Added,
            ChangeKind::Upgraded,
            ChangeKind::RolledBack
        ]
    );
    assert_eq!(seen.record.changes[2].by, "ada");

    again.remove("crafted", &ADA).await.unwrap();
    let again = restarted(&fixture).await;
    assert_eq!(current(&again), None);
    assert_eq!(
        again.overview("crafted").await.unwrap().state,
        State::Removed
    );
    again.restore("crafted", None, &ADA).await.unwrap();
    assert_eq!(current(&again).as_deref(), Some("1.0.0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_has_a_current_version_at_every_moment_of_its_upgrade() {
    let fixture = Fixture::new();
    kept(&fixture).await;
    fixture
        .gateways
        .add(&file(&fixture, "1.0.0"))
        .await
        .unwrap();
    let (gateways, second) = (fixture.gateways.clone(), file(&fixture, "2.0.0"));
    let upgrade = tokio::spawn(async move { gateways.add(&second).await });
    while !upgrade.is_finished() {
        assert!(current(&fixture.gateways).is_some(), "a gap in the upgrade");
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    upgrade.await.unwrap().unwrap();
    assert_eq!(current(&fixture.gateways).as_deref(), Some("2.0.0"));
}

#[tokio::test]
async fn nothing_of_a_file_runs_before_somebody_said_yes_to_its_hash() {
    let fixture = Fixture::with(false);
    kept(&fixture).await;
    let path = file(&fixture, "1.0.0");
    let seen = fixture.gateways.propose(&path).await.unwrap();
    assert!(!seen.needs_no_consent && !seen.is_known && seen.replaces.is_none());
    let sha256 = seen.inspection.sha256;
    let refused = fixture
        .gateways
        .install(&path, Consent::Standing, &ADA)
        .await;
    assert!(
        matches!(refused, Err(LifeError::NoConsent { .. })),
        "{refused:?}"
    );
    let given = |sha256: &str| Consent::Given {
        sha256: sha256.to_owned(),
        hosts: None,
    };
    let refused = fixture
        .gateways
        .install(&path, given(&"0".repeat(64)), &ADA)
        .await;
    assert!(
        matches!(refused, Err(LifeError::OtherFile { .. })),
        "{refused:?}"
    );
    assert!(!fixture.kept().exists() && fixture.gateways.list().is_empty());

    let version = fixture.gateways.install(&path, given(&sha256), &ADA);
    version.await.unwrap();
    assert_eq!(current(&fixture.gateways).as_deref(), Some("1.0.0"));
    // A hash that is pinned comes without a question, also after a restart.
    let next = file(&fixture, "2.0.0");
    let seen = fixture.gateways.propose(&next).await.unwrap();
    assert_eq!(seen.replaces.unwrap().version, "1.0.0");
    fixture
        .gateways
        .pin(&seen.inspection.sha256, &ADA)
        .await
        .unwrap();
    let again = restarted(&fixture).await;
    let awaits = again.install(&next, Consent::Standing, &ADA).await;
    approved(&again, awaits).await;
    assert_eq!(current(&again).as_deref(), Some("2.0.0"));
    let record = again.overview("crafted").await.unwrap().record;
    let consents: Vec<_> = record
        .versions
        .iter()
        .map(|kept| kept.consent.as_str())
        .collect();
    assert_eq!(consents, ["asked", "pinned"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_end_on_their_version_and_are_counted_there_while_the_gateway_is_upgraded_drained_and_removed()
 {
    let fixture = Fixture::new();
    let engine = TestEngineBuilder::with(fixture.gateways.clone())
        .start()
        .await;
    fixture
        .gateways
        .keep_in(engine.engine.store())
        .await
        .unwrap();
    let first = fixture.gateways.add(&demo_gateway()).await.unwrap();
    let open = payment(&engine, "USD").await;
    let waiting = choice("switchyard_payment_demo", "4149518162");
    engine.engine.confirm(open.id, waiting).await.unwrap();
    let second = fixture.folder().join("second.so");
    let mut bytes = fs::read(demo_gateway()).unwrap();
    bytes.extend_from_slice(b"another version");
    fs::write(&second, bytes).unwrap();
    let second = fixture.gateways.add(&second).await.unwrap();
    assert_ne!(first.sha256, second.sha256);

    let seen = fixture.gateways.overview("switchyard_demo").await.unwrap();
    let counts: Vec<_> = seen
        .versions
        .iter()
        .map(|version| version.open_attempts.count)
        .collect();
    assert_eq!(counts, [0, 1], "the latest first");
    let drained = fixture
        .gateways
        .drain("switchyard_demo", &ADA)
        .await
        .unwrap();
    assert_eq!(drained.state, State::Draining);
    let refused = payment(&engine, "USD").await;
    let chosen = choice("switchyard_payment_demo", "4149518161");
    assert!(
        engine
            .engine
            .confirm(refused.id, chosen.clone())
            .await
            .is_err()
    );
    fixture
        .gateways
        .restore("switchyard_demo", None, &ADA)
        .await
        .unwrap();
    let paid = engine.engine.confirm(refused.id, chosen).await.unwrap();
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(paid.attempts[0].candidate.gateway_hash, second.sha256);

    let removed = fixture
        .gateways
        .remove("switchyard_demo", &ADA)
        .await
        .unwrap();
    assert_eq!(
        (removed.state, removed.open_attempts().count),
        (State::Removed, 1)
    );
    let asked = engine.engine.verify(open.id).await.unwrap().unwrap();
    assert_eq!(
        asked.status(),
        Status::Pending,
        "it is still asked about, and not lost"
    );
    assert_eq!(asked.attempts[0].candidate.gateway_hash, first.sha256);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_meets_a_quarantine_before_anything_left_waits_instead_of_failing() {
    let fixture = Fixture::new();
    let gateway = fixture.gateways.add(&misbehaving_gateway()).await.unwrap();
    let engine = TestEngineBuilder::with(fixture.gateways.clone())
        .start()
        .await;
    let connection = NewConnection {
        app: engine.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "misbehaving".into(),
        account_name: "Main".into(),
        methods: None,
        config: json!({ "url": "http://127.0.0.1:1", "key": KEY }),
    };
    engine
        .engine
        .access()
        .create_connection(connection)
        .await
        .unwrap();
    for _ in 0..4 {
        panics(&fixture, &gateway).await;
    }
    let met = crate::engine::payment_for(&engine, "USD", "panic").await;
    let chosen = choice("card_usd", "4149518161");
    let kept = engine.engine.confirm(met.id, chosen).await.unwrap();
    assert!(gateway.is_in_quarantine(), "the fifth panic");
    assert_eq!(kept.status(), Status::Pending, "{:?}", kept.state);
    assert_eq!(kept.state.name(), "awaiting_customer");
    assert_eq!(kept.attempts[0].state, AttemptState::NotSent);
    assert!(kept.failed_at.is_none());
}

async fn panics(fixture: &Fixture, gateway: &Arc<Version>) {
    fixture
        .collect(gateway, fixture.attempt(), "http://127.0.0.1:1", "panic")
        .await;
}

#[tokio::test]
async fn a_quarantine_outlives_the_process_and_a_copy_that_cannot_be_loaded_is_one() {
    let fixture = Fixture::new();
    kept(&fixture).await;
    let path = file(&fixture, "1.0.0");
    let version = fixture.gateways.add(&path).await.unwrap();
    let why = ChangeAuthor {
        why: Some("the provider asked for it"),
        ..ADA
    };
    let seen = fixture
        .gateways
        .quarantine("crafted", None, &why)
        .await
        .unwrap();
    assert_eq!(seen.state, State::Quarantined);
    let again = restarted(&fixture).await;
    let loaded = again.current("crafted").unwrap();
    assert!(
        loaded
            .quarantine()
            .unwrap()
            .reason
            .contains("provider asked")
    );
    again.restore("crafted", None, &ADA).await.unwrap();
    assert!(!again.current("crafted").unwrap().is_in_quarantine());

    let copy = fixture.kept().join(format!("{}.so", version.sha256));
    // Not in place: this process has it mapped.
    fs::remove_file(&copy).unwrap();
    fs::write(&copy, b"not a library any more").unwrap();
    let again = restarted(&fixture).await;
    assert_eq!(current(&again), None, "what is damaged is not offered");
    let seen = again.overview("crafted").await.unwrap();
    assert_eq!(seen.state, State::Quarantined);
    let reason = &seen.versions[0].kept.quarantine.as_ref().unwrap().reason;
    assert!(reason.contains("could not be loaded"), "{reason}");
    assert!(
        again.restore("crafted", None, &ADA).await.is_err(),
        "it is damaged still"
    );
    // Its file repairs it.
    again.add(&path).await.unwrap();
    assert_eq!(
        again.overview("crafted").await.unwrap().state,
        State::Serving
    );
}

#[tokio::test]
async fn a_roll_back_leaves_a_version_in_quarantine_behind_and_attempts_go_on_at_the_one_before() {
    let fixture = Fixture::new();
    kept(&fixture).await;
    for number in ["1.0.0", "2.0.0"] {
        fixture.gateways.add(&file(&fixture, number)).await.unwrap();
    }
    fixture
        .gateways
        .quarantine("crafted", None, &ADA)
        .await
        .unwrap();
    let seen = fixture
        .gateways
        .roll_back("crafted", None, &ADA)
        .await
        .unwrap();
    assert_eq!(
        (seen.state, current(&fixture.gateways).as_deref()),
        (State::Serving, Some("1.0.0"))
    );
    let newer = seen.versions[0].kept.sha256.clone();
    let refused = fixture
        .gateways
        .roll_back("crafted", Some(&newer[..10]), &ADA)
        .await;
    assert!(
        matches!(refused, Err(LifeError::InQuarantine { .. })),
        "{refused:?}"
    );
    let held = fixture.gateways.version("crafted", &newer).unwrap();
    let call = fixture.call(
        &held,
        fixture.attempt(),
        Operation::Collect,
        json!({}),
        collection(""),
    );
    let outcome = fixture.gateways.call(call).await.outcome;
    assert!(format!("{outcome:?}").contains("quarantine"), "{outcome:?}");
}

#[tokio::test]
async fn the_folder_is_taken_at_the_start_and_a_new_or_changed_file_when_it_rests() {
    let fixture = Fixture::new();
    kept(&fixture).await;
    let folder = fixture.folder().join("folder");
    fs::create_dir_all(&folder).unwrap();
    let there = folder.join("crafted.so");
    fs::copy(file(&fixture, "1.0.0"), &there).unwrap();
    fixture.gateways.set_folder(&folder).await.unwrap();
    assert_eq!(current(&fixture.gateways).as_deref(), Some("1.0.0"));

    fs::copy(file(&fixture, "2.0.0"), &there).unwrap();
    fixture.gateways.scan_folder(false).await.unwrap();
    assert_eq!(
        current(&fixture.gateways).as_deref(),
        Some("1.0.0"),
        "it may still be copied"
    );
    assert!(matches!(
        fixture.gateways.folder_files()[0].notice,
        FileStatus::Settling
    ));
    fixture.gateways.scan_folder(false).await.unwrap();
    assert_eq!(current(&fixture.gateways).as_deref(), Some("2.0.0"));

    // The newer file is still there after a roll back, and after a restart: it was installed once.
    fixture
        .gateways
        .roll_back("crafted", None, &ADA)
        .await
        .unwrap();
    let again = restarted(&fixture).await;
    again.set_folder(&folder).await.unwrap();
    again.scan_folder(false).await.unwrap();
    assert_eq!(current(&again).as_deref(), Some("1.0.0"));

    fs::remove_file(&there).unwrap();
    fs::write(folder.join("broken.so"), b"no gateway").unwrap();
    for _ in 0..3 {
        again.scan_folder(false).await.unwrap();
    }
    assert_eq!(
        current(&again).as_deref(),
        Some("1.0.0"),
        "a vanished file changes nothing"
    );
    let files = again.folder_files();
    let notices: Vec<_> = files
        .iter()
        .map(|file| (file.file.as_str(), &file.notice))
        .collect();
    assert!(
        matches!(notices[0], ("broken.so", FileStatus::Refused { .. })),
        "{notices:?}"
    );
    assert!(
        matches!(notices[1], ("crafted.so", FileStatus::Gone { .. })),
        "{notices:?}"
    );
}

#[tokio::test]
async fn outside_development_mode_a_file_of_the_folder_waits_for_a_yes() {
    let fixture = Fixture::with(false);
    kept(&fixture).await;
    let folder = fixture.folder().join("folder");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(file(&fixture, "1.0.0"), folder.join("crafted.so")).unwrap();
    fixture.gateways.set_folder(&folder).await.unwrap();
    assert_eq!(current(&fixture.gateways), None);
    let FileStatus::AwaitsConsent(proposal) = fixture.gateways.folder_files()[0].notice.clone()
    else {
        panic!("it waits");
    };
    let sha256 = &proposal.inspection.sha256;
    assert!(
        fixture
            .gateways
            .accept(&"0".repeat(64), &ADA)
            .await
            .is_err()
    );
    fixture.gateways.accept(sha256, &ADA).await.unwrap();
    assert_eq!(current(&fixture.gateways).as_deref(), Some("1.0.0"));
    let again = restarted(&fixture).await;
    again.set_folder(&folder).await.unwrap();
    assert!(matches!(
        again.folder_files()[0].notice,
        FileStatus::Taken { .. }
    ));
}
