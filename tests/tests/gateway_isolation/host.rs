//! A host of gateways with a provider and a store of its own, and the requests to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AttemptId, PaymentId, TransactionId};
use switchyard_core::transaction::Outcome;
use switchyard_gateway_host::{
    Call, CallEnd, GatewaySettings, Gateways, Journal, Operation, Recovered, Version,
    WorkerSettings, recover,
};
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::gateways::cc;
use switchyard_tests::{demo_gateway, eventually, misbehaving_gateway};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// The secret of the connection: it may stand nowhere but in messages and in the request itself.
pub const KEY: &str = "sk_test_do_not_show_me";
pub const MIB: u64 = 1024 * 1024;

pub struct Host {
    pub gateways: Gateways,
    pub store: Store,
    pub clock: Clock,
    pub ids: Ids,
    pub folder: TempDir,
    pub provider: String,
    pub requests: Arc<AtomicUsize>,
}

impl Host {
    pub async fn new() -> Self {
        Self::accepting(&[]).await
    }

    /// With workers that may lack these sandbox restrictions.
    pub async fn accepting(walls: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let (clock, ids) = (Clock::wall(), Ids::system());
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let router = Router::new().fallback(move || {
            count.fetch_add(1, Ordering::SeqCst);
            async { "{}" }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            gateways: gateways(folder.path(), &clock, walls),
            store: Store::memory(),
            clock,
            ids,
            folder,
            provider,
            requests,
        }
    }

    /// The host after a restart of the engine at the time of `clock`, on the same store.
    pub async fn restarted(mut self, clock: &Clock) -> Self {
        self.gateways = gateways(self.folder.path(), clock, &[]);
        self.gateways.keep_in(&self.store).await.unwrap();
        self
    }

    /// Adds it, or ends its suspension.
    pub async fn misbehaving(&self) -> Arc<Version> {
        self.gateways.add(&self.own_copy()).await.unwrap()
    }

    /// A copy with a hash of its own, which distinguishes its workers from those of other tests in
    /// this process.
    pub fn own_copy(&self) -> PathBuf {
        let copy = self.folder.path().join("misbehaving.so");
        if !copy.exists() {
            let mut bytes = fs::read(misbehaving_gateway()).unwrap();
            bytes.extend_from_slice(self.folder.path().as_os_str().as_encoded_bytes());
            fs::write(&copy, bytes).unwrap();
        }
        copy
    }

    /// A collection of 25.00 USD, and whether anything may have been sent of it.
    pub async fn collect(&self, gateway: &Arc<Version>, what: &str) -> (CallEnd, Recovered) {
        let call = self.call(gateway, Operation::Collect, what);
        let (id, attempt) = (call.journal.transaction, call.journal.attempt);
        let end = self.gateways.call(call).await;
        let recovered = recover(&self.store, id, attempt).await.unwrap();
        (end, recovered)
    }

    /// Queries an attempt.
    pub async fn query(&self, gateway: &Arc<Version>) -> CallEnd {
        let mut call = self.call(gateway, Operation::Query, "");
        call.input["direction"] = json!("collect");
        self.gateways.call(call).await
    }

    fn call(&self, gateway: &Arc<Version>, operation: Operation, what: &str) -> Call {
        let now = self.clock.now();
        Call {
            gateway: Arc::clone(gateway),
            operation,
            journal: Journal {
                store: self.store.clone(),
                transaction: TransactionId::Payment(PaymentId::new(self.ids.ulid(now))),
                attempt: AttemptId::new(self.ids.ulid(now)),
            },
            now,
            environment: Environment::Sandbox,
            config: json!({ "url": self.provider, "key": KEY }),
            config_changed_at: None,
            state: Value::Null,
            input: json!({
                "reference": "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d", "transaction": "py_1", "method": "card_usd",
                "country": "US", "amount": {"minor": 2500, "currency": "USD", "decimals": 2, "decimal": "25.00"},
                "payer": {"first_name": "Ada", "msisdn": "4149518161"}, "fields": {"msisdn": "4149518161"}, "description": what,
                "return_url": null, "callback_url": null, "environment": "sandbox"
            }),
        }
    }

    /// Required result of a fault: not sent before the first write, unknown after it. Returns the
    /// reason.
    pub async fn fault(&self, gateway: &Arc<Version>, what: &str) -> String {
        let (end, recovered) = self.collect(gateway, what).await;
        let why = match (end.outcome, recovered) {
            (Outcome::NotSent { why }, Recovered::NothingSent) if !what.starts_with("write") => why,
            (Outcome::Unknown { why, .. }, Recovered::MaybeSent) if what.starts_with("write") => {
                why
            }
            other => panic!("{what}: {other:?}"),
        };
        assert!(!why.contains(KEY), "{what}: {why}");
        why
    }

    pub async fn works(&self, gateway: &Arc<Version>) {
        let (end, _) = self.collect(gateway, "write").await;
        let is_paid = matches!(end.outcome, Outcome::Succeeded { .. });
        assert!(is_paid, "{:?}", end.outcome);
    }
}

fn gateways(folder: &Path, clock: &Clock, accepted: &[&str]) -> Gateways {
    let settings = GatewaySettings {
        dir: folder.join("gateways"),
        development: true,
        worker: WorkerSettings {
            memory_bytes: 128 * MIB,
            accepted: accepted.iter().map(|wall| (*wall).to_owned()).collect(),
            ..switchyard_tests::gateways::workers()
        },
        ..GatewaySettings::default()
    };
    Gateways::new(settings, clock.clone(), Ids::system()).unwrap()
}

/// The server's runtime on the smallest machine. It is left behind with the threads that gateways
/// keep: to wait for them would be to wait for ever.
pub fn on_two_threads(test: impl Future<Output = ()> + Send + 'static) {
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
pub struct Others {
    paid: Arc<AtomicUsize>,
    done: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Others {
    pub async fn pay(host: &Arc<Host>) -> Self {
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

    /// Payments continue: this many more are paid.
    pub async fn go_on(&self) {
        let before = self.paid.load(Ordering::SeqCst);
        let more = || async {
            let is_done = self.paid.load(Ordering::SeqCst) > before + 20 || self.task.is_finished();
            Ok(is_done.then_some(()))
        };
        let net = Duration::from_secs(120);
        eventually("other payments", net, more).await.unwrap();
        assert!(!self.task.is_finished(), "another payment failed");
    }

    pub async fn end(self) {
        self.go_on().await;
        self.done.store(true, Ordering::SeqCst);
        self.task.await.unwrap();
    }
}

/// The folders in `/proc` of the workers for a library.
pub fn workers(parent: u32, sha256: &str) -> Vec<PathBuf> {
    let is_worker = |process: &PathBuf| {
        let line = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
        line.contains("gateway-worker") && line.contains(sha256)
    };
    children(parent).into_iter().filter(is_worker).collect()
}

pub fn only_worker(parent: u32, sha256: &str) -> PathBuf {
    let found = workers(parent, sha256);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

pub fn children(parent: u32) -> Vec<PathBuf> {
    let is_child = |process: &PathBuf| {
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        let is_dead = status.contains("\nState:\tZ");
        status.contains(&format!("\nPPid:\t{parent}\n")) && !is_dead
    };
    let processes = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    processes.filter(is_child).collect()
}

/// A gateway in C that talks nonsense, a kind of it by number; from 11 on nonsense that shows when
/// it is loaded.
pub fn nonsense(folder: &Path, number: u32) -> PathBuf {
    let folder = folder.join(number.to_string());
    fs::create_dir_all(&folder).unwrap();
    let manifest = json!({
        "name": "nonsense", "version": format!("1.0.{number}"), "abi": 1, "title": "Nonsense", "operations": ["collect", "query"],
        "methods": [{"code": "card_usd", "direction": "collect", "currency": "USD", "countries": ["US"]}]
    });
    fs::write(folder.join("gateway.json"), manifest.to_string()).unwrap();
    let source = folder.join("gateway.c");
    fs::write(&source, NONSENSE).unwrap();
    let kind = format!("-DKIND={number}");
    let kept = folder.with_file_name("kept");
    let kept = format!("-DKEPT=\"{}\"", kept.display());
    cc(&source, &folder, "nonsense", &["-Wno-unused", &kind, &kept]).unwrap()
}

pub const NONSENSE: &str = include_str!("../../misbehaving/nonsense.c");
