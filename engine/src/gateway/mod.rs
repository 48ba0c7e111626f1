//! The host's side of gateways: inspects a file, loads it, calls it, and performs what it asks for.
//!
//! What it promises:
//! - A file that is no gateway, or lies about itself, is refused with a sentence that says what to do, and nothing changes.
//! - A gateway touches the world only through effects, and only the hosts of its manifest.
//! - A request that can move money is durable in the journal before its first byte leaves.
//! - **A fault never means declined.** A fault, a panic or nonsense before the first such request is [`Outcome::NotSent`], after
//!   it [`Outcome::Unknown`].
//! - Different calls run at the same time; a call stays on the version that it began on.
//!
//! How gateways come, change and go while payments flow is [`life`]'s.
//!
//! A library that runs inside this process is trusted code: it can be told from a liar, not from an attacker. One in a process of its
//! own ([`worker`]) speaks the same messages and can hurt nobody; [`Isolation`] says which is where.

mod amounts;
mod cache;
mod callback;
mod counter;
mod crash;
mod drive;
mod egress;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod home;
mod inspect;
mod journal;
mod library;
mod life;
mod not_found;
mod options;
mod outcome;
mod pieces;
mod redact;
mod redirect;
mod registry;
mod routable;
mod turns;
mod version;
mod watch;
mod worker;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
pub use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::wire::Ready;
pub use switchyard_gateway::{ConfigCheck, Direction, Money, Operation, Options, manifest};

use self::cache::Cache;
pub use self::callback::{CallbackCall, CallbackEnd, CallbackSaid, ShownRequest};
pub use self::counter::SequenceError;
use self::drive::{Drive, NoOutcome};
use self::egress::Egress;
use self::home::Home;
pub use self::home::Isolation;
use self::inspect::Inspected;
pub use self::inspect::{Inspection, Refused};
use self::journal::Scribe;
use self::journal::rules::Asked;
pub use self::journal::{
    Exchange, Journal, Recovered, Stage, exchanges, note_unknown, recover, recovered_state,
};
use self::life::Life;
#[cfg(any(feature = "simulation", feature = "fuzzing"))]
pub use self::life::Shelf;
pub use self::life::{
    Awaiting, By, Change, Consent, Count, FolderFile, FolderWatch, Incoming, Kept, LifeError,
    Notice, Overview, Pin, Proposal, Record, Source, State, VersionView, What, Widening,
};
use self::options::OptionsCache;
pub use self::options::OptionsCall;
pub use self::outcome::is_shown;
use self::pieces::Pace;
use self::redact::Redactor;
use self::registry::Registry;
pub use self::routable::misfit;
use self::turns::Turns;
pub use self::version::{Quarantine, Version};
use self::watch::{Ward, Watcher};
pub use self::worker::{Bare, BareCall, BareStep, WALLS, WorkerSettings, run as run_worker};
use crate::clock::{Clock, Timestamp};
use crate::environment::Environment;
use crate::ids::Ids;
use crate::planted::{Fault, is_planted};
use crate::transaction::Outcome;

/// The gateways of this engine; clones share them.
#[derive(Clone)]
pub struct Gateways(Arc<Inner>);

/// How gateways are kept and what they may do.
#[derive(Clone, Debug)]
pub struct GatewaySettings {
    /// Where the engine keeps its own copies of the libraries, by their hash.
    pub dir: PathBuf,
    /// Lifts https and the ban on private addresses, for the hosts that a manifest lists and for this machine itself.
    pub development: bool,
    /// Hosts (`node.internal:8545`) that a gateway may reach at a private address and without https, if its manifest or its
    /// connection names them, too.
    pub private_hosts: Vec<String>,
    /// The installation's code, in place of `{service}` in method codes.
    pub service_code: String,
    /// Hashes of files that may come without a question.
    pub pinned: BTreeSet<String>,
    /// Which gateways get a process of their own.
    pub isolation: Isolation,
    /// The hashes of the gateways that came with this release.
    pub bundled: BTreeSet<String>,
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
            isolation: Isolation::InProcess,
            bundled: BTreeSet::new(),
            worker: WorkerSettings::default(),
        }
    }
}

/// The engine's client for providers could not be made.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client for gateways can be made: {0}")]
pub struct ClientBuildError(#[from] reqwest::Error);

/// One operation for one attempt.
pub struct Call {
    pub gateway: Arc<Version>,
    pub operation: Operation,
    pub journal: Journal,
    pub now: Timestamp,
    pub environment: Environment,
    /// The connection's configuration, opened.
    pub config: Value,
    /// When that configuration took the place of another.
    pub config_changed_at: Option<Timestamp>,
    /// What earlier calls of the attempt kept.
    pub state: Value,
    pub input: Value,
}

/// What it came to.
#[derive(Debug)]
pub struct CallEnd {
    pub outcome: Outcome,
    /// To be kept with the attempt, and given to its next call.
    pub state: Value,
}

struct Inner {
    settings: GatewaySettings,
    registry: Registry,
    life: Life,
    egress: Egress,
    cache: Cache,
    options: OptionsCache,
    turns: Turns,
    watcher: Arc<Watcher>,
    #[cfg(any(feature = "simulation", feature = "fuzzing"))]
    shelf: OnceLock<Shelf>,
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
            life: Life::default(),
            cache: Cache::default(),
            options: OptionsCache::default(),
            turns: Turns::default(),
            watcher: Arc::default(),
            #[cfg(any(feature = "simulation", feature = "fuzzing"))]
            shelf: OnceLock::new(),
            began: clock.now(),
            settings,
            clock,
            ids,
        })))
    }

    /// Looks at a file without running any of it.
    pub fn inspect(&self, path: &Path) -> Result<Inspection, Refused> {
        inspect::inspect_new(path, self.0.pace()).map(|inspected| inspected.inspection)
    }

    /// Takes a file on without a question, for whoever runs the engine: see [`Gateways::install`].
    pub async fn add(&self, path: &Path) -> Result<Arc<Version>, Refused> {
        let by = By::new(version::ENGINE);
        match self.install(path, Consent::Trusted, &by).await {
            Ok(version) => Ok(version),
            Err(LifeError::Refused(refused)) => Err(refused),
            Err(error) => Err(Refused::NotTaken {
                path: path.to_owned(),
                reason: error.to_string(),
            }),
        }
    }

    /// The current version of each gateway, in order of name.
    pub fn list(&self) -> Vec<Arc<Version>> {
        self.0.registry.list()
    }

    pub fn current(&self, name: &str) -> Option<Arc<Version>> {
        self.0.registry.current(name)
    }

    /// The version that reads what its provider sends: the current one, and of a gateway that was removed the one that was current last.
    /// News of what it began come after it, too.
    pub fn reader(&self, name: &str) -> Option<Arc<Version>> {
        self.current(name)
            .or_else(|| self.version(name, &self.0.life.last(name)?))
    }

    /// A certain version: one that an attempt began on. It is loaded from the engine's own copy when it is not loaded yet.
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
                    "an earlier version of a gateway cannot be loaded: {refused}"
                );
                None
            }
        }
    }

    /// Did the engine or a worker die in code of this version since `at`? Then fail-over avoids it.
    pub fn has_died_since(&self, name: &str, sha256: &str, at: Timestamp) -> bool {
        let version = self.0.registry.version(name, sha256);
        let ago = version.and_then(|version| version.worker_died_ago());
        let since = self.0.clock.now().since(at);
        ago.is_some_and(|ago| ago <= since) || self.0.life.engine_died_since(name, sha256, at)
    }

    /// Runs one operation to its outcome. It never fails: what goes wrong is an outcome, too. A query waits for its turn first.
    pub async fn call(&self, mut call: Call) -> CallEnd {
        let shares = is_planted(Fault::TurnsShared);
        if call.operation != Operation::Query && !shares {
            return self.run(call).await;
        }
        let connection = match shares {
            true => String::new(),
            false => drive::connection(&call.gateway, call.environment, &call.config),
        };
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
        let (journal, state) = (call.journal.clone(), call.state.clone());
        let running = gateway.running();
        let gateways = self.clone();
        let made = watch::guard(&self.0.watcher, &gateway, |ward| gateways.make(call, ward));
        let end = match made.await {
            Some(end) => end,
            None => given_up(&gateway, operation, &journal, state).await,
        };
        measure(&gateway, operation, since.elapsed());
        drop(running);
        self.note_quarantine(&gateway).await;
        end
    }

    async fn make(self, call: Call, ward: Option<Ward>) -> CallEnd {
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
        let redactor = Redactor::new(&gateway.manifest, &config).with_typed(typed_in(&input));
        let asked_at = self.0.clock.now();
        let (name, verb) = (gateway.name(), operation.as_str());
        let scribe = Scribe::new(Some(&journal), &redactor, name, verb);
        let drive = Drive {
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
            ward,
        };
        let said = drive.run(&mut state).await.and_then(|message| {
            let ready: Ready<switchyard_gateway::Outcome> = drive.read(&message)?;
            drive.last(ready.state, &ready.log, &mut state);
            Ok(ready.outcome)
        });
        let mut meaning = None;
        let outcome = match said {
            Ok(switchyard_gateway::Outcome::NotFound { why }) => {
                let why = redactor.sentence(&why);
                let asked = Asked {
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
            Ok(said) => {
                let fields_only = operation == Operation::Collect && !scribe.maybe_sent();
                let subject = outcome::Subject {
                    manifest: &gateway.manifest,
                    transaction: journal.transaction,
                    environment,
                    asked: outcome::asked_in(&input),
                    redactor: &redactor,
                };
                outcome::translate(said, &subject).with_field_if(fields_only)
            }
            Err(NoOutcome(why)) => outcome::without_outcome(operation, scribe.maybe_sent(), why),
        };
        scribe.finish(meaning).await;
        CallEnd { outcome, state }
    }

    /// One harmless live call that says whether credentials work. `Err` is why that could not be found out.
    pub async fn check_config(
        &self,
        gateway: &Arc<Version>,
        environment: Environment,
        config: &Value,
    ) -> Result<ConfigCheck, String> {
        let _running = gateway.running();
        let (own, checked) = (self.clone(), (Arc::clone(gateway), config.clone()));
        let made = watch::guard(&self.0.watcher, gateway, |ward| {
            own.check(checked.0, environment, checked.1, ward)
        });
        let said = made.await;
        self.note_quarantine(gateway).await;
        said.unwrap_or_else(|| Err(drive::given_up(gateway, Operation::CheckConfig)))
    }

    async fn check(
        self,
        gateway: Arc<Version>,
        environment: Environment,
        config: Value,
        ward: Option<Ward>,
    ) -> Result<ConfigCheck, String> {
        let operation = Operation::CheckConfig;
        let redactor = Redactor::new(&gateway.manifest, &config);
        let scribe = Scribe::new(None, &redactor, gateway.name(), operation.as_str());
        let drive = Drive {
            inner: &self.0,
            version: &gateway,
            operation,
            environment,
            now: self.0.clock.shown(),
            config: &config,
            input: &Value::Null,
            redactor: &redactor,
            scribe: &scribe,
            connection: OnceLock::new(),
            until: drive::deadline(&gateway, operation),
            ward,
        };
        let ready = drive
            .run(&mut Value::Null)
            .await
            .and_then(|message| drive.read(&message));
        let ready: Ready<ConfigCheck> = ready.map_err(|NoOutcome(why)| why)?;
        Ok(match ready.outcome {
            ConfigCheck::Works { account } => ConfigCheck::Works {
                account: account.map(|account| redactor.sentence(&account)),
            },
            ConfigCheck::Refused { message, field } => ConfigCheck::Refused {
                message: redactor.sentence(&message),
                field,
            },
        })
    }

    /// What a query proves by which the provider does not know our reference.
    async fn not_found(
        &self,
        final_after_seconds: Option<u64>,
        asked: &Asked,
        journal: &Journal,
        why: String,
    ) -> Outcome {
        if is_planted(Fault::NotFoundBelieved) {
            return Outcome::NotSent { why };
        }
        let Some(seconds) = final_after_seconds else {
            return Outcome::unknown(why);
        };
        match exchanges(&journal.store, journal.transaction, journal.attempt).await {
            Ok(rows) => {
                let promised = Duration::from_secs(seconds);
                not_found::judge(&rows, promised, asked, self.0.clock.now(), why)
            }
            Err(_) => Outcome::unknown(why),
        }
    }
}

impl Inner {
    /// Where the engine's own copy of a version lies.
    fn kept(&self, sha256: &str) -> PathBuf {
        self.settings.dir.join(format!("{sha256}.so"))
    }

    /// How a file that comes is worked on: payments flow only where there is a gateway already.
    fn pace(&self) -> Pace {
        match self.registry.list().is_empty() {
            true => Pace::AtOnce,
            false => Pace::Resting,
        }
    }

    /// Copies an inspected file and loads the copy, unless that version is loaded already. It is nobody's choice yet.
    fn open(
        &self,
        path: &Path,
        inspected: &Inspected,
        pace: Pace,
    ) -> Result<Arc<Version>, Refused> {
        let Inspection {
            manifest, sha256, ..
        } = &inspected.inspection;
        if let Some(loaded) = self.registry.version(&manifest.name, sha256) {
            return Ok(loaded);
        }
        let kept = library::keep(&self.settings.dir, path, inspected, pace)?;
        // One that is new is tried now; of the others many may never be needed again.
        let start = (kept != path).then_some(pace);
        let is_suspect = self.life.is_suspect(&manifest.name, sha256);
        let home = Home::open(
            &self.settings,
            &inspected.inspection,
            &kept,
            start,
            is_suspect,
        )?;
        let manifest = self.substituted(manifest);
        let version = Version::new(manifest, sha256.clone(), home, self.clock.clone());
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
    /// No gateway yet, on the wall clock, with the default settings.
    fn default() -> Self {
        Self::new(GatewaySettings::default(), Clock::wall(), Ids::system())
            .expect("ring is compiled in, and that is all a client without files or proxies needs")
    }
}

/// The part of an input that the payer typed.
fn typed_in(input: &Value) -> &Value {
    match is_planted(Fault::CodeKept) {
        true => &Value::Null,
        false => input,
    }
}

/// What a call came to of which a step was given up: what its journal proves.
async fn given_up(
    gateway: &Version,
    operation: Operation,
    journal: &Journal,
    state: Value,
) -> CallEnd {
    let (store, id, attempt) = (&journal.store, journal.transaction, journal.attempt);
    let sent = recover(store, id, attempt).await;
    let maybe_sent = !matches!(sent, Ok(Recovered::NothingSent));
    let kept = match operation.submits() {
        true => recovered_state(store, id, attempt).await.ok().flatten(),
        false => None,
    };
    let why = drive::given_up(gateway, operation);
    CallEnd {
        outcome: outcome::without_outcome(operation, maybe_sent, why),
        state: kept.unwrap_or(state),
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
