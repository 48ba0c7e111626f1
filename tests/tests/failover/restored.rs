//! A store that is restored from a backup: attempts that were made after the backup are found at
//! the provider and never made again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{CaseReason, ClientContext, Refusal, Status, Transaction};
use switchyard_engine::access::{AccessError, DevelopmentKeys, NewConnection};
use switchyard_engine::engine::{EngineError, NewPayment, NewPayout};
use switchyard_engine::hold::Reasons;
use switchyard_engine::testing::{START, TestEngine, TestEngineBuilder, amount, customer};
use switchyard_gateway_host::Gateways;
use switchyard_store::{Backend, Restored, Store, StoreSettings};
use switchyard_system::clock::Clock;
use switchyard_tests::provider::{NOWHERE, Provider};
use tempfile::TempDir;
use ulid::Ulid;

use crate::road::{METHOD, choice, gateways};

const PAYOUT: &str = "switchyard_payout_demo";

/// A store on disk, its provider, and the engines that come and go.
pub struct Installation {
    folder: TempDir,
    pub clock: Clock,
    gateways: Gateways,
    pub provider: Provider,
    keys: Option<DevelopmentKeys>,
    restores: u128,
    backed_up_at: Timestamp,
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

pub fn ordered() -> Reasons {
    Reasons {
        is_ordered: true,
        ..Reasons::default()
    }
}

impl Installation {
    /// With this many connections of one app.
    pub async fn new(connections: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let clock = Clock::manual(START);
        let gateways = gateways(folder.path(), &clock).await;
        let mut installation = Self {
            folder,
            clock,
            gateways,
            provider: Provider::start().await,
            keys: None,
            restores: 0,
            backed_up_at: START,
        };
        let bench = installation.start(Reasons::default()).await;
        for slot in 0..connections {
            installation.connect(&bench, "programmable", slot).await;
        }
        stop(bench).await;
        // A denial by an account whose credentials are new proves nothing.
        installation.clock.advance(Duration::from_secs(3_600));
        installation
    }

    async fn connect(&self, bench: &TestEngine, gateway: &str, slot: usize) {
        let connection = NewConnection {
            app: bench.keys.app,
            environment: Environment::Sandbox,
            gateway: gateway.into(),
            account_name: format!("Account {slot}"),
            methods: None,
            config: json!({ "url": self.provider.url, "nowhere": NOWHERE, "slot": slot }),
        };
        let access = bench.engine.access();
        access.create_connection(connection).await.unwrap();
        // Connections of one millisecond have no order.
        self.clock.advance(Duration::from_secs(1));
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub async fn start(&mut self, hold: Reasons) -> TestEngine {
        let settings = StoreSettings {
            backend: Backend::Sqlite,
            path: self.store(),
            cache_bytes: 1 << 20,
        };
        let wanted = TestEngineBuilder {
            store: Store::open_accepting_loss(&settings).unwrap(),
            clock: self.clock.clone(),
            keys: self.keys.take(),
            hold,
            checkout_attempts: 3,
            ..TestEngineBuilder::with(self.gateways.clone())
        };
        let bench = wanted.start().await;
        self.keys = Some(bench.keys.clone());
        bench
    }

    /// Copies the store of a stopped engine.
    pub fn back_up(&mut self) {
        self.backed_up_at = self.clock.now();
        copy(&self.store(), &self.folder.path().join("backup"));
    }

    /// Puts the copy in the place of the store, and starts on it as after a restore.
    pub async fn restore(&mut self) -> TestEngine {
        std::fs::remove_dir_all(self.store()).unwrap();
        copy(&self.folder.path().join("backup"), &self.store());
        self.clock.advance(Duration::from_secs(60));
        self.restores += 1;
        let restored = Restored {
            store: Ulid::from_parts(1, self.restores),
            incarnation: Ulid::from_parts(2, 2),
            sequence: 7,
            backup_at: self.backed_up_at,
            restored_at: self.clock.now(),
            lost: None,
        };
        let reasons = Reasons {
            restored: Some(restored),
            is_ordered: false,
        };
        self.start(reasons).await
    }

    /// How often money moved at the provider.
    fn charges(&self) -> u32 {
        self.provider
            .books()
            .values()
            .map(|entry| entry.charges)
            .sum()
    }

    /// Turns the clock until the transaction is as wanted.
    pub async fn until(
        &self,
        bench: &TestEngine,
        id: TransactionId,
        wanted: impl Fn(&Transaction) -> bool,
    ) -> Arc<Transaction> {
        let mut last = None;
        for _ in 0..1_000 {
            let tx = bench.engine.transaction(id).await.unwrap().unwrap();
            if wanted(&tx) {
                return tx;
            }
            last = Some(tx);
            self.clock.advance(Duration::from_secs(5));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it stays {last:#?}");
    }
}

pub async fn stop(bench: TestEngine) {
    assert!(bench.engine.stop(Duration::from_secs(20)).await);
}

pub async fn release(bench: &TestEngine) {
    let released = bench.engine.hold().release(None, &[], "ada".into(), None);
    released.await.unwrap();
}

pub async fn pay_out(bench: &TestEngine, words: &str) -> TransactionId {
    let new = NewPayout {
        amount: amount(2_500, "USD"),
        description: words.to_owned(),
        method: PAYOUT.into(),
        recipient: BTreeMap::from([("account_number".into(), "1".into())]),
        customer: customer(),
        metadata: BTreeMap::new(),
        context: ClientContext::default(),
    };
    let payout = bench
        .engine
        .initialize_payout(&bench.caller(), new, None)
        .await;
    payout.unwrap().id
}

pub async fn payment(bench: &TestEngine, words: &str) -> TransactionId {
    let new = NewPayment {
        amount: amount(2_500, "USD"),
        description: words.to_owned(),
        return_url: "https://shop.example/return".into(),
        customer: customer(),
        metadata: BTreeMap::new(),
        methods: vec![METHOD.into()],
        restriction: None,
        expires_in: Some(Duration::from_secs(24 * 3_600)),
        context: ClientContext::default(),
    };
    let payment = bench
        .engine
        .initialize_payment(&bench.caller(), new, None)
        .await;
    payment.unwrap().id
}

pub fn is_final(tx: &Transaction) -> bool {
    tx.state.is_final()
}

/// A payout that waits for its dispatch is paid after the backup. `words`: actions of the provider.
async fn paid_after_the_backup(connections: usize, words: &str) {
    let mut installation = Installation::new(connections).await;
    let bench = installation.start(ordered()).await;
    let id = pay_out(&bench, words).await;
    stop(bench).await;
    installation.back_up();

    let bench = installation.start(Reasons::default()).await;
    release(&bench).await;
    let paid = installation.until(&bench, id, is_final).await;
    assert_eq!(paid.status(), Status::Success, "{words}");
    stop(bench).await;
    assert_eq!(installation.charges(), 1, "{words}");
    let sent = installation.provider.books().len();

    let bench = installation.restore().await;
    assert!(bench.engine.hold().is_held());
    let found = installation.until(&bench, id, is_final).await;
    assert_eq!(found.status(), Status::Success, "{words}");
    release(&bench).await;
    installation.clock.advance(Duration::from_secs(600));
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop(bench).await;
    let books = installation.provider.books();
    assert_eq!((installation.charges(), books.len()), (1, sent), "{words}");
    let requests = books.values().map(|entry| entry.requests);
    assert!(requests.max().unwrap() == 1, "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_that_was_paid_after_the_backup_is_found_and_paid_once() {
    for (connections, words) in [(1, "ok"), (2, "busy ok"), (3, "refused busy ok")] {
        paid_after_the_backup(connections, words).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_that_was_never_sent_is_sent_once_after_the_release() {
    let mut installation = Installation::new(2).await;
    let bench = installation.start(ordered()).await;
    let id = pay_out(&bench, "ok ok").await;
    stop(bench).await;
    installation.back_up();

    let bench = installation.restore().await;
    let denied = |tx: &Transaction| tx.attempts.len() == 2 && tx.status() == Status::Initiated;
    let waiting = installation.until(&bench, id, denied).await;
    assert_eq!(installation.provider.asked_in_vain().len(), 2);
    assert!(waiting.attempts.iter().all(|attempt| attempt.presumed));
    assert_eq!(installation.charges(), 0, "it is held");
    // The hold and the answers survive a restart.
    stop(bench).await;
    let bench = installation.start(Reasons::default()).await;
    assert!(bench.engine.hold().is_held());
    installation.clock.advance(Duration::from_secs(600));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(installation.charges(), 0, "it is still held");
    release(&bench).await;
    let paid = installation.until(&bench, id, is_final).await;
    assert_eq!(paid.status(), Status::Success);
    assert_eq!(installation.charges(), 1);
    stop(bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_that_was_sent_after_one_restore_is_found_after_another_of_the_same_backup() {
    let mut installation = Installation::new(1).await;
    let bench = installation.start(ordered()).await;
    let id = pay_out(&bench, "ok ok").await;
    stop(bench).await;
    installation.back_up();

    let bench = installation.restore().await;
    let denied = |tx: &Transaction| tx.attempts.len() == 1 && tx.status() == Status::Initiated;
    installation.until(&bench, id, denied).await;
    release(&bench).await;
    let paid = installation.until(&bench, id, is_final).await;
    assert_eq!(paid.status(), Status::Success);
    stop(bench).await;

    let bench = installation.restore().await;
    assert!(bench.engine.hold().is_held());
    let found = installation.until(&bench, id, is_final).await;
    assert_eq!(found.status(), Status::Success);
    release(&bench).await;
    installation.clock.advance(Duration::from_secs(600));
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop(bench).await;
    assert_eq!(installation.charges(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_waits_for_a_person_when_the_gateway_of_a_connection_is_not_loaded() {
    let mut installation = Installation::new(1).await;
    let bench = installation.start(ordered()).await;
    // Its file is not on the new machine: it may have paid after the backup.
    installation.connect(&bench, "lost", 1).await;
    let id = pay_out(&bench, "ok").await;
    stop(bench).await;
    installation.back_up();

    let bench = installation.restore().await;
    let in_review = |tx: &Transaction| tx.attention() == Some(CaseReason::UnknownAfterRestore);
    let waiting = installation.until(&bench, id, in_review).await;
    assert_eq!(waiting.attempts.len(), 2, "the other one was asked first");
    release(&bench).await;
    installation.clock.advance(Duration::from_secs(600));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(installation.charges(), 0, "a person has to look");
    let connection = waiting.attempts[1].candidate.connection;
    let deleted = bench.engine.delete_connection(connection).await;
    assert!(deleted.is_err(), "its provider cannot be asked then");
    stop(bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_not_deleted_before_its_provider_was_asked_after_a_restore() {
    let mut installation = Installation::new(2).await;
    let bench = installation.start(ordered()).await;
    let id = pay_out(&bench, "refused ok").await;
    stop(bench).await;
    installation.back_up();
    let bench = installation.start(Reasons::default()).await;
    release(&bench).await;
    let paid = installation.until(&bench, id, is_final).await;
    let connection = paid.attempts.last().unwrap().candidate.connection;
    stop(bench).await;

    let bench = installation.restore().await;
    let refused = bench.engine.delete_connection(connection).await;
    let is_needed = matches!(
        refused,
        Err(AccessError::NeededAfterRestore | AccessError::OpenAttempts(_))
    );
    assert!(is_needed, "{refused:?}");
    let found = installation.until(&bench, id, is_final).await;
    assert_eq!(found.status(), Status::Success);
    bench.engine.delete_connection(connection).await.unwrap();
    release(&bench).await;
    stop(bench).await;
    assert_eq!(installation.charges(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_was_paid_after_the_backup_succeeds_and_cannot_be_paid_again() {
    let mut installation = Installation::new(1).await;
    let bench = installation.start(Reasons::default()).await;
    let (paid, open) = (payment(&bench, "ok").await, payment(&bench, "ok").await);
    let backed_up = bench.engine.transaction(paid).await.unwrap().unwrap();
    assert!(bench.engine.knows_all_attempts(&backed_up));
    stop(bench).await;
    installation.back_up();

    let bench = installation.start(Reasons::default()).await;
    bench.engine.confirm(paid, choice(METHOD)).await.unwrap();
    installation.until(&bench, paid, is_final).await;
    stop(bench).await;

    let bench = installation.restore().await;
    assert!(!bench.engine.knows_all_attempts(&backed_up));
    for id in [paid, open] {
        let refused = bench.engine.confirm(id, choice(METHOD)).await;
        let paused = matches!(
            refused,
            Err(EngineError::Refused(
                Refusal::Paused | Refusal::AttemptUnderWay
            ))
        );
        assert!(paused, "{refused:?}");
    }
    let found = installation.until(&bench, paid, is_final).await;
    assert_eq!(found.status(), Status::Success);
    let denied = |tx: &Transaction| tx.attempts.len() == 1 && tx.status() == Status::Initiated;
    let denied = installation.until(&bench, open, denied).await;
    assert!(bench.engine.knows_all_attempts(&denied));
    assert_eq!(installation.charges(), 1);

    let report = bench.engine.hold_report().await.unwrap().unwrap();
    assert_eq!(report.open.iter().map(|open| open.count).sum::<u64>(), 2);
    let became = |progress: &str| {
        let mut answers = report.answers.iter();
        answers.any(|answer| answer.now.as_str() == progress && answer.count == 1)
    };
    assert!(became("succeeded") && became("not_sent"), "{report:#?}");

    release(&bench).await;
    bench.engine.confirm(open, choice(METHOD)).await.unwrap();
    installation.until(&bench, open, is_final).await;
    assert_eq!(installation.charges(), 2);
    stop(bench).await;
}
