//! The host's side of gateways: inspects a file, loads it, calls it, and performs its effects.
//!
//! Guarantees:
//! - A file that is not a gateway, or whose manifest is false, is refused with a message that
//!   states the remedy, and nothing changes.
//! - A gateway acts only through effects, and reaches only the hosts of its manifest.
//! - A request that can move money is durable in the journal before its first byte is sent.
//! - **A fault never means declined.** A fault, a panic or an invalid answer before the first such
//!   request is [`Outcome::NotSent`], after it [`Outcome::Unknown`].
//! - Different calls run concurrently; a call stays on the version that it began on.
//!
//! [`life`] adds, changes and removes gateways while payments flow.
//!
//! - A library runs in a worker process of its own ([`worker`]) and cannot harm the engine.

mod amounts;
mod ask;
mod cache;
mod callback;
mod counter;
mod direction;
mod drive;
mod egress;
mod fetch_cache;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod host;
mod inspect;
mod journal;
mod library;
mod life;
mod list;
mod malformed;
mod not_found;
mod options;
mod outcome;
mod query_limiter;
mod redact;
mod redirect;
mod registry;
mod routable;
mod throttled_io;
mod version;
mod worker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use switchyard_gateway::manifest::FieldOption;
pub use switchyard_gateway::manifest::Manifest;
pub use switchyard_gateway::{
    ConfigCheck, Direction, ListedState, Money, Operation, Options, manifest,
};

use self::ask::Question;
use self::cache::Cache;
pub use self::callback::{CallbackCall, CallbackEnd, CallbackReport, ShownRequest};
pub use self::counter::SequenceError;
pub use self::direction::direction;
use self::drive::{CallDriver, CallFailure};
use self::egress::Egress;
pub use self::fetch_cache::{FetchCache, FetchTimes, Fetched};
use self::host::GatewayHost;
use self::inspect::Inspected;
pub use self::inspect::{Inspection, Refused};
use self::journal::JournalWriter;
pub use self::journal::{
    Journal, ProviderCall, Recovered, Stage, erase_calls, note_unknown, origin_of, provider_calls,
    recover, recovered_state,
};
use self::life::Lifecycle;
#[cfg(any(feature = "simulation", feature = "fuzzing"))]
pub use self::life::StaticGateways;
pub use self::life::{
    Awaiting, Change, ChangeAuthor, ChangeKind, Consent, Count, FileStatus, FolderFile,
    FolderWatch, Incoming, LifeError, Overview, Pin, Proposal, Record, Source, State,
    StoredVersion, VersionView, Widening,
};
#[cfg(any(test, feature = "testing"))]
pub use self::life::{VersionState, VersionTransition, version_transitions};
pub use self::list::{Listed, Listing, ListingCall};
pub use self::options::OptionsCall;
pub use self::outcome::is_shown;
use self::query_limiter::QueryLimiter;
use self::redact::Redactor;
use self::registry::Registry;
pub use self::routable::misfit;
use self::throttled_io::Throttle;
pub use self::version::{Quarantine, Version};
pub use self::worker::{
    BareCall, DirectLibrary, DirectStep, WALLS, WorkerSettings, missing_walls, refused_walls,
    run as run_worker,
};
use switchyard_core::environment::Environment;
use switchyard_core::journal::StatusQuery;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Outcome;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

/// Gateways of this engine; clones share them.
#[derive(Clone)]
pub struct Gateways(Arc<Inner>);

/// Settings of all gateways: their directories and permissions.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Directory of the engine's own copies of the libraries, named by their hash.
    pub dir: PathBuf,
    /// Allows http and private addresses, for the hosts that a manifest lists and for this machine
    /// itself.
    pub development: bool,
    /// Hosts (`node.internal:8545`) that a gateway may reach at a private address and without
    /// https, if its manifest or its connection names them, too.
    pub private_hosts: Vec<String>,
    /// The installation's code, which replaces `{service}` in method codes.
    pub service_code: String,
    /// Hashes of files that are installed without further consent.
    pub pinned: BTreeSet<String>,
    pub worker: WorkerSettings,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            dir: PathBuf::from("data/gateways"),
            development: false,
            private_hosts: Vec::new(),
            service_code: "switchyard".to_owned(),
            pinned: BTreeSet::new(),
            worker: WorkerSettings::default(),
        }
    }
}

/// Failure to build the engine's HTTP client for providers.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client for gateways can be made: {0}")]
pub struct ClientBuildError(#[from] reqwest::Error);

/// One operation of one attempt.
pub struct Call {
    pub gateway: Arc<Version>,
    pub operation: Operation,
    pub journal: Journal,
    pub now: Timestamp,
    pub environment: Environment,
    /// The connection's configuration, opened.
    pub config: Value,
    /// Time at which that configuration replaced another.
    pub config_changed_at: Option<Timestamp>,
    /// State that earlier calls of the attempt saved.
    pub state: Value,
    pub input: Value,
}

/// Result of a call.
#[derive(Debug)]
pub struct CallEnd {
    pub outcome: Outcome,
    /// State to save with the attempt and to pass to its next call.
    pub state: Value,
}

struct Inner {
    settings: GatewaySettings,
    registry: Registry,
    life: Lifecycle,
    egress: Egress,
    cache: Cache,
    options: FetchCache<Vec<FieldOption>>,
    turns: QueryLimiter,
    #[cfg(any(feature = "simulation", feature = "fuzzing"))]
    shelf: OnceLock<StaticGateways>,
    began: Timestamp,
    clock: Clock,
    ids: Ids,
}

impl Gateways {
    pub fn new(
        settings: GatewaySettings,
        clock: Clock,
        ids: Ids,
    ) -> Result<Self, ClientBuildError> {
        Ok(Self(Arc::new(Inner {
            egress: Egress::new(settings.development, &settings.private_hosts)?,
            registry: Registry::default(),
            life: Lifecycle::default(),
            cache: Cache::default(),
            options: options::cache(clock.clone()),
            turns: QueryLimiter::default(),
            #[cfg(any(feature = "simulation", feature = "fuzzing"))]
            shelf: OnceLock::new(),
            began: clock.now(),
            settings,
            clock,
            ids,
        })))
    }

    /// Inspects a file without running any of it.
    pub fn inspect(&self, path: &Path) -> Result<Inspection, Refused> {
        inspect::inspect_new(path, self.0.pace()).map(|inspected| inspected.inspection)
    }

    /// Installs a file without asking for consent, for tests and programs that embed the engine:
    /// see [`Gateways::install`].
    pub async fn add(&self, path: &Path) -> Result<Arc<Version>, Refused> {
        let by = ChangeAuthor::new(version::ENGINE);
        match self.install(path, Consent::Trusted, &by).await {
            Ok(version) => Ok(version),
            Err(LifeError::Refused(refused)) => Err(refused),
            Err(error) => Err(Refused::NotTaken {
                path: path.to_owned(),
                reason: error.to_string(),
            }),
        }
    }

    /// Current version of each gateway, in order of name.
    pub fn list(&self) -> Vec<Arc<Version>> {
        self.0.registry.list()
    }

    pub fn current(&self, name: &str) -> Option<Arc<Version>> {
        self.0.registry.current(name)
    }

    /// Version that reads callbacks: the current one, or the last one of a removed gateway.
    /// Callbacks about earlier attempts arrive after the removal, too.
    pub fn reader(&self, name: &str) -> Option<Arc<Version>> {
        self.current(name)
            .or_else(|| self.version(name, &self.0.life.last(name)?))
    }

    /// Version with this hash, for an attempt that began on it. If it is not loaded yet, it is
    /// loaded from the engine's own copy.
    pub fn version(&self, name: &str, sha256: &str) -> Option<Arc<Version>> {
        if let Some(version) = self.0.registry.version(name, sha256) {
            return Some(version);
        }
        #[cfg(any(feature = "simulation", feature = "fuzzing"))]
        if let Some(version) = self.taken_from_shelf(name, sha256) {
            return Some(version);
        }
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash || !self.0.kept(sha256).is_file() {
            return None;
        }
        match self.load_kept(name, sha256) {
            Ok(version) => Some(version),
            Err(refused) => {
                tracing::error!(
                    gateway.name = name,
                    gateway.sha256 = sha256,
                    reason = %refused,
                    "failed to load an earlier gateway version"
                );
                None
            }
        }
    }

    /// Whether a worker crashed in code of this version since `at`. Failover then avoids it.
    pub fn has_died_since(&self, name: &str, sha256: &str, at: Timestamp) -> bool {
        let version = self.0.registry.version(name, sha256);
        version.is_some_and(|version| version.has_died_since(at))
    }

    /// Runs one operation to its outcome. Never fails: a failure is an outcome, too. A query first
    /// waits for a permit of its connection.
    pub async fn call(&self, mut call: Call) -> CallEnd {
        if call.operation != Operation::Query {
            return self.run(call).await;
        }
        let connection = drive::connection(&call.gateway, call.environment, &call.config);
        let Some(turn) = self.0.turns.take(connection).await else {
            let why = format!(
                "gateway {}: too many queries of this connection wait for its provider",
                call.gateway.name()
            );
            return CallEnd {
                outcome: Outcome::unknown(why),
                state: call.state,
            };
        };
        call.now = call.now.plus(turn.waited);
        self.run(call).await
    }

    async fn run(&self, call: Call) -> CallEnd {
        let since = tokio::time::Instant::now();
        let (gateway, operation) = (Arc::clone(&call.gateway), call.operation);
        let running = gateway.running();
        let end = self.make(call).await;
        measure(&gateway, operation, since.elapsed());
        drop(running);
        self.note_health(&gateway).await;
        end
    }

    async fn make(&self, call: Call) -> CallEnd {
        let Call {
            gateway,
            operation,
            journal,
            now,
            environment,
            config,
            config_changed_at,
            mut state,
            input,
        } = call;
        let redactor = Redactor::new(&gateway.manifest, &config).with_typed(&input);
        let asked_at = self.0.clock.now();
        let (name, verb) = (gateway.name(), operation.as_str());
        let scribe = JournalWriter::new(Some(&journal), &redactor, name, verb);
        let drive = CallDriver {
            inner: &self.0,
            version: &gateway,
            operation,
            environment,
            now,
            config: &config,
            input: &input,
            redactor: &redactor,
            scribe: &scribe,
            connection: OnceLock::new(),
            until: drive::deadline(&gateway, operation),
        };
        let reported = drive.run(&mut state).await.and_then(|message| {
            let ready = drive.read_end(&message, malformed::outcome)?;
            drive.last(ready.state, &ready.log, &mut state);
            Ok(ready.outcome)
        });
        let mut meaning = None;
        let outcome = match reported {
            Ok(switchyard_gateway::Outcome::NotFound { why }) => {
                let why = redactor.sentence(&why);
                let asked = StatusQuery {
                    at: asked_at,
                    config_changed_at,
                    began: self.0.began,
                };
                let promise = gateway.manifest.capabilities.not_found_is_final_after_s;
                let promise = promise.filter(|_| operation == Operation::Query);
                let outcome = self.not_found(promise, &asked, &journal, why).await;
                meaning = Some(not_found::meaning(&outcome, promise.is_some()));
                outcome
            }
            Ok(reported) => {
                let fields_only = operation == Operation::Collect && !scribe.maybe_sent();
                let subject = outcome::Subject {
                    manifest: &gateway.manifest,
                    transaction: journal.transaction,
                    environment,
                    asked: outcome::requested_amount(&input),
                    redactor: &redactor,
                };
                outcome::translate(reported, &subject).with_field_if(fields_only)
            }
            Err(CallFailure(why)) => outcome::without_outcome(operation, scribe.maybe_sent(), why),
        };
        scribe.finish(meaning).await;
        CallEnd { outcome, state }
    }

    /// Makes one harmless live call to find out whether credentials work. `Err`: the reason why
    /// that is not known.
    pub async fn check_config(
        &self,
        gateway: &Arc<Version>,
        environment: Environment,
        config: &Value,
    ) -> Result<ConfigCheck, String> {
        let redactor = Redactor::new(&gateway.manifest, config);
        let question = Question {
            gateway: Arc::clone(gateway),
            operation: Operation::CheckConfig,
            environment,
            config: config.clone(),
            input: Value::Null,
            redactor: redactor.clone(),
        };
        Ok(match self.ask(question).await? {
            ConfigCheck::Works { account } => ConfigCheck::Works {
                account: account.map(|account| redactor.sentence(&account)),
            },
            ConfigCheck::Refused { message, field } => ConfigCheck::Refused {
                message: redactor.sentence(&message),
                field,
            },
        })
    }

    /// Outcome of a query whose provider does not know our reference.
    async fn not_found(
        &self,
        final_after_seconds: Option<u64>,
        asked: &StatusQuery,
        journal: &Journal,
        why: String,
    ) -> Outcome {
        let Some(seconds) = final_after_seconds else {
            return Outcome::unknown(why);
        };
        match provider_calls(&journal.store, journal.transaction, journal.attempt).await {
            Ok(rows) => {
                let promised = Duration::from_secs(seconds);
                not_found::evaluate(&rows, promised, asked, self.0.clock.now(), why)
            }
            Err(_) => Outcome::unknown(why),
        }
    }
}

impl Inner {
    /// Path of the engine's own copy of a version.
    fn kept(&self, sha256: &str) -> PathBuf {
        self.settings.dir.join(format!("{sha256}.so"))
    }

    /// Throttle for work on a new file: without any gateway there are no payments to delay.
    fn pace(&self) -> Throttle {
        match self.registry.list().is_empty() {
            true => Throttle::AtOnce,
            false => Throttle::Resting,
        }
    }

    /// Copies an inspected file and loads the copy, unless that version is loaded already. Does not
    /// make it current.
    fn open(
        &self,
        path: &Path,
        inspected: &Inspected,
        pace: Throttle,
    ) -> Result<Arc<Version>, Refused> {
        let Inspection {
            manifest, sha256, ..
        } = &inspected.inspection;
        if let Some(loaded) = self.registry.version(&manifest.name, sha256) {
            return Ok(loaded);
        }
        let kept = library::keep(&self.settings.dir, path, inspected, pace)?;
        // A new version is started now. Many of the earlier versions may never be needed again.
        let start = (kept != path).then_some(pace);
        let host = GatewayHost::open(&self.settings, &inspected.inspection, &kept, start)?;
        let manifest = self.substituted(manifest);
        let version = Version::new(manifest, sha256.clone(), host, self.clock.clone());
        Ok(self.registry.add(Arc::new(version)))
    }

    fn substituted(&self, manifest: &Manifest) -> Manifest {
        let mut manifest = manifest.clone();
        for method in &mut manifest.methods {
            method.code = method
                .code
                .replace("{service}", &self.settings.service_code);
        }
        manifest
    }
}

impl Default for Gateways {
    /// Creates an instance without gateways, on the wall clock, with the default settings.
    fn default() -> Self {
        Self::new(GatewaySettings::default(), Clock::wall(), Ids::system())
            .expect("ring is compiled in, and that is all a client without files or proxies needs")
    }
}

fn measure(gateway: &Version, operation: Operation, took: Duration) {
    metrics::histogram!(
        "switchyard_gateway_call_seconds",
        "gateway" => gateway.name().to_owned(),
        "operation" => operation.as_str()
    )
    .record(took.as_secs_f64());
}
