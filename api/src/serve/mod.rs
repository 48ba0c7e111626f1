//! `switchyard serve`: assembles the modules, serves, and shuts down.
//!
//! Store → vault → access → gateways → engine → routes. The port is taken first, so that a second
//! server on it fails before it touches anything; requests wait in the port's queue until
//! everything is ready.

mod admission;
pub(crate) mod backups;
mod checks;
mod console;
mod copy;
mod demo;
mod development;
mod examine;
pub mod folders;
mod gateways;
mod http;
mod listener;
mod listeners;
mod quiet;
mod reload;
pub(crate) mod routes;
mod supervisor;

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use switchyard_core::directory::Directory;
use switchyard_core::environment::Environment;
use switchyard_engine::access::{
    Access, AccessError, DevelopmentKeys, MasterKey, MasterKeyError, Options, SettingsToken, Vault,
    VaultError,
};
use switchyard_engine::engine::{Dependencies, Engine, EngineSettings};
use switchyard_engine::exchange_rates::{ExchangeRates, FeedSettings};
use switchyard_engine::hold::{Hold, Reasons};
use switchyard_engine::mail::MailSettings;
use switchyard_engine::webhook::WebhookSettings;
use switchyard_gateway_host::FolderWatch;
use switchyard_records::format::{FormatError, ensure_format};
use switchyard_store::{self as store, OpenError, Store, StoreSettings};
use switchyard_system::clock::Clock;
use switchyard_system::descriptors;
use switchyard_system::dumps;
use switchyard_system::ids::Ids;
use switchyard_users::Users;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::config::{Problem, Settings, StoreBackend};
use crate::operations::{self, DiskReserve, Draining, Operations, StopSignals, Surroundings};
use crate::state::ApiState;
use admission::Totals;
use backups::{BackupContents, Schedule};
pub(crate) use console::provider as openid_provider;
use copy::RunningCopy;
use listeners::Listeners;

pub use examine::examine;
pub use reload::Source;

/// Error of a start or a shutdown.
#[derive(Debug)]
pub enum Failure {
    /// Settings, folders or a store that every later start refuses as well: one sentence each.
    Refused(Vec<String>),
    /// Anything else. A later start may succeed.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let why = error.into();
        match is_lasting(&why) {
            true => Self::Refused(vec![format!("{why:#}")]),
            false => Self::Other(why),
        }
    }
}

/// Returns whether every later start fails for the same reason until a person has done something.
fn is_lasting(why: &anyhow::Error) -> bool {
    let access = why.downcast_ref().is_some_and(|access| {
        // Another master key, or the name of a token that the settings and the store have.
        let wrong_key = matches!(
            access,
            AccessError::Vault(VaultError::WrongMasterKey { .. })
        );
        wrong_key || matches!(access, AccessError::Invalid { .. })
    });
    let folder = why.downcast_ref::<io::Error>();
    access
        || why.downcast_ref().is_some_and(OpenError::is_lasting)
        || why.downcast_ref().is_some_and(FormatError::is_lasting)
        || folder.is_some_and(|fault| fault.kind() == io::ErrorKind::PermissionDenied)
}

/// The way to treat a store that has lost acknowledged commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    Refuse,
    Accept,
}

/// Special ways to start.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub loss: Loss,
    /// Hold the store: no attempt starts until an operator releases it.
    pub is_held: bool,
    /// Fill a new data folder of development mode with demo data.
    pub is_demo: bool,
}

/// Serves with the settings of `source` until a signal ends it.
///
/// # Errors
/// When the settings are refused or something that it needs is missing.
pub async fn run(source: Source, start: Start) -> Result<(), Failure> {
    // SIGHUP no longer kills the server, also not during the start.
    let hangups = signal(SignalKind::hangup())?;
    // Before anything is opened with the master key.
    let dumps = dumps::forbid();
    let examined = examine(&source);
    refuse(examined.refusals())?;
    let (mut settings, warnings) = (examined.settings, examined.problems);
    let started_with = settings.clone();
    let totals = totals(&settings)?;
    let listeners = Listeners::bind(&settings).await?;
    // After this, SIGTERM and SIGINT shut the server down, also during the start.
    let signals = StopSignals::listen()?;
    // The same, unless port 0 asked for any that is free.
    settings.server.listen = listeners.public.local_addr()?;
    make_folder(&settings)?;
    let ids = Ids::system();
    let master_key = master_key(&settings, &ids)?;
    let vault = || Vault::new(&master_key, ids.clone());
    let log = operations::logging::start(&settings)?;
    let traces = operations::traces::start(&settings.telemetry)?;
    let contents = BackupContents::of(&settings, source.file.clone());
    tokio::spawn(reload::at_each(hangups, source, started_with, log));
    if let Err(error) = dumps {
        tracing::warn!(%error, "failed to disable core dumps, which may contain secrets");
    }
    let metrics = settings
        .metrics
        .enabled
        .then(operations::metrics::start)
        .transpose()?;
    if start.is_demo {
        demo::fill(&settings, vault(), ids.clone()).await?;
    }
    let store = open_store(&settings, start.loss)?;
    let reasons = reasons(&store, start).await?;
    let (engine, keys, _folder) =
        start_engine(&settings, (store, reasons), vault(), ids, Clock::wall()).await?;
    let copy = look_after_store(&settings, &engine, contents)?;
    let draining = Draining::default();
    let open = settings.metrics.open || settings.development;
    let around = surroundings(&settings);
    let reserve = around.disk_reserve.clone();
    let parts = routes::ServerContext {
        state: ApiState::with_console(
            engine.clone(),
            http::settings(&settings, totals, reserve)?,
            console::access(&engine, &settings).await?,
        ),
        operations: Operations::new(engine.clone(), metrics, open, draining.clone(), around),
        draining: draining.clone(),
        trust: routes::trust(&settings)?,
        request_timeout: settings.server.request_timeout.0,
    };
    listeners.announce(&settings)?;
    warn_of_settings(&warnings);
    warn_of_hold(&engine);
    warn_of_development(&settings, &engine);
    start_console(&parts.state, keys, &settings).await?;
    let users = parts.state.console().map(|console| console.users.clone());
    let doors = tokio::spawn(listeners.serve(parts, totals, settings.clone()));
    supervisor::start_watchdog(&engine);
    supervisor::ready();
    let served = (&engine, users.as_ref());
    let ended = run_until_shutdown(doors, draining, signals, &settings, served).await;
    if let Some(copy) = copy {
        copy.ended().await;
    }
    if let Some(traces) = traces {
        traces.flush().await;
    }
    ended
}

/// Creates the users of development mode, and continues unfinished batches of payouts.
async fn start_console(
    state: &ApiState,
    keys: Option<DevelopmentKeys>,
    settings: &Settings,
) -> Result<(), Failure> {
    let Some(console) = state.console() else {
        return Ok(());
    };
    if let Some(keys) = keys {
        let links = console::seed(&console.users, state.engine(), settings, &keys).await?;
        development::welcome(settings, &keys, &links)?;
    }
    crate::payout_batches::resume(state, &console.users).await;
    Ok(())
}

/// Starts the scheduled backups and checks of the store, and its continuous copy.
fn look_after_store(
    settings: &Settings,
    engine: &Engine,
    contents: BackupContents,
) -> anyhow::Result<Option<RunningCopy>> {
    let suspected = contents.suspected.clone();
    let copy = copy::start(engine.store(), settings, contents.clone())?;
    tokio::spawn(backups::run(Schedule::of(
        settings,
        contents,
        engine.store(),
    )));
    tokio::spawn(checks::run(
        engine.store().clone(),
        store_settings(settings),
        settings.store.check_every.0,
        engine.clock().clone(),
        suspected,
    ));
    Ok(copy)
}

/// The limits on connections. Their settings were checked with the others.
fn totals(settings: &Settings) -> Result<Totals, Failure> {
    let totals = admission::totals(settings, descriptors::raise_limit()?);
    totals.map_err(|(_, why)| Failure::Refused(vec![why]))
}

/// Logs the problems of the settings with which the server starts nevertheless.
fn warn_of_settings(warnings: &[Problem]) {
    for warning in warnings {
        tracing::warn!(
            setting = warning.setting,
            origin = %warning.origin,
            advice = warning.text,
            "setting is unusual in production"
        );
    }
}

/// Says that the store is held, and how that ends.
fn warn_of_hold(engine: &Engine) {
    let Some(held) = engine.hold().state() else {
        return;
    };
    if held.released.is_some() {
        return;
    }
    tracing::warn!(
        since = %held.since,
        advice = "read `switchyard release --report`, then run `switchyard release`",
        "store is held, no payout is sent and no payment attempt starts"
    );
}

/// The reasons to hold the store: its restore, an accepted loss, an order.
async fn reasons(store: &Store, start: Start) -> anyhow::Result<Reasons> {
    Ok(Reasons {
        restored: store.restored().await?,
        is_ordered: start.is_held || start.loss == Loss::Accept,
    })
}

fn surroundings(settings: &Settings) -> Surroundings {
    Surroundings {
        folders: vec![
            ("data", settings.data.dir.clone()),
            ("store", settings.store_path()),
        ],
        requires_live_gateway: !settings.development,
        disk_reserve: disk_reserve(settings),
    }
}

fn disk_reserve(settings: &Settings) -> Option<DiskReserve> {
    let store = &settings.store;
    let (reserve, public) = (store.reserve.0, store.public_key_reserve.0);
    let uses_disk = store.backend != StoreBackend::Memory;
    uses_disk.then(|| DiskReserve::new(settings.store_path(), reserve, public))
}

/// Serves until a signal arrives, then completes open requests within the timeout of the settings.
async fn run_until_shutdown(
    mut doors: JoinHandle<()>,
    draining: Draining,
    mut signals: StopSignals,
    settings: &Settings,
    (engine, users): (&Engine, Option<&Users>),
) -> Result<(), Failure> {
    tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "graceful shutdown started");
            supervisor::stopping();
        }
        // It ends by itself only by a defect of ours.
        ended = &mut doors => {
            return Err(Failure::Other(anyhow!("connections are not taken any more: {ended:?}")));
        }
    }
    tokio::spawn(abort(signals));
    draining.begin();
    let server = &settings.server;
    let deadline = Instant::now() + server.shutdown_delay.0 + server.shutdown_timeout.0;
    if tokio::time::timeout_at(deadline, doors).await.is_err() {
        tracing::warn!("shutdown timeout reached, closing connections");
    }
    if let Some(users) = users {
        // After the timeout they are cut off, as connections are.
        let _ = tokio::time::timeout_at(deadline, users.background_writes_ended()).await;
    }
    let left = deadline.saturating_duration_since(Instant::now());
    let stopped = tokio::time::timeout(left + LAST_FLUSH, engine.stop(left)).await;
    let has_stored_all = stopped.map_err(|_| {
        Failure::Other(anyhow!(
            "not everything came to its end within server.shutdown_timeout: it is cut off, and the next start finds what is stored \
             and goes on with it"
        ))
    })?;
    if !has_stored_all {
        return Err(Failure::Other(anyhow!(
            "the store could not write when the server stopped: results that came in meanwhile are not stored. Every request that was \
             answered is; the next start asks the providers about the rest. Check the disk first"
        )));
    }
    tracing::info!("shutdown completed, everything is stored");
    Ok(())
}

/// A second signal ends the process at once. Acknowledged requests are stored; the next start
/// recovers the others.
async fn abort(mut signals: StopSignals) {
    let signal = signals.next().await;
    tracing::error!(signal, "second signal, process ends at once");
    std::process::exit(1);
}

fn refuse<'a>(problems: impl Iterator<Item = &'a Problem>) -> Result<(), Failure> {
    let refusals: Vec<String> = problems.map(ToString::to_string).collect();
    match refusals.is_empty() {
        true => Ok(()),
        false => Err(Failure::Refused(refusals)),
    }
}

fn open_store(settings: &Settings, loss: Loss) -> Result<Store, OpenError> {
    let copy = settings.store.copy_to.as_deref();
    Store::open_beside_copy(&store_settings(settings), copy, loss == Loss::Accept)
}

/// Starts the engine on the store, in development mode with its seeded keys.
async fn start_engine(
    settings: &Settings,
    (store, reasons): (Store, Reasons),
    vault: Vault,
    ids: Ids,
    clock: Clock,
) -> anyhow::Result<(Engine, Option<DevelopmentKeys>, FolderWatch)> {
    ensure_format(&store).await?;
    let hold = Hold::open(store.clone(), clock.clone(), reasons).await?;
    let options = access_options(settings);
    let access = Access::load(store.clone(), vault, clock.clone(), ids.clone(), options).await?;
    warn_of_tokens_without_maker(&access);
    let keys = match settings.development {
        true => Some(development::seed(&access, settings).await?),
        false => None,
    };
    let (gateways, folder) = gateways::load(settings, &store, &clock, &ids).await?;
    let exchange_rates = exchange_rates(settings, &store, &clock).await?;
    let engine = Engine::start(Dependencies {
        store,
        access,
        gateways,
        exchange_rates,
        directory: Arc::new(Directory::new(&settings.service.code)),
        clock,
        ids,
        hold,
        settings: engine_settings(settings),
    })?;
    Ok((engine, keys, folder))
}

/// Tokens stay valid when the token that created them is deleted or leaves the settings.
fn warn_of_tokens_without_maker(access: &Access) {
    let mut tokens = access.operator_tokens();
    tokens.retain(|token| access.has_lost_its_maker(token));
    let names: Vec<_> = tokens.iter().map(|token| token.name.as_str()).collect();
    if !names.is_empty() {
        tracing::warn!(tokens = ?names, "operator tokens outlive the token that created them");
    }
}

/// Warns of what development mode allowed and left in the store of a production server.
fn warn_of_development(settings: &Settings, engine: &Engine) {
    if settings.development {
        return;
    }
    let is_test = |gateway: &str| {
        let version = engine.gateways().current(gateway);
        version.is_some_and(|version| version.manifest.any_method)
    };
    for app in engine.access().apps(None) {
        for connection in engine.access().connections(app.id, Environment::Live) {
            if connection.is_enabled && is_test(&connection.gateway) {
                tracing::warn!(
                    connection.id = %connection.id,
                    gateway.name = connection.gateway,
                    app.id = %app.id,
                    advice = "it moves no money: disable or delete its connection",
                    "a test gateway serves live"
                );
            }
        }
    }
    if let Some(token) = engine.access().development_token() {
        tracing::warn!(
            token.id = %token.id,
            advice = "delete it with `switchyard tokens delete`",
            "the operator token of development mode is valid"
        );
    }
}

/// The exchange rates, and where they are fetched.
async fn exchange_rates(
    settings: &Settings,
    store: &Store,
    clock: &Clock,
) -> anyhow::Result<ExchangeRates> {
    let feed = FeedSettings {
        url: settings.exchange.url.clone(),
        every: settings.exchange.every.0,
        valid_for: settings.exchange.valid_for.0,
        max_change_percent: settings.exchange.max_change_percent,
    };
    let allow_private = settings.development || settings.exchange.private;
    Ok(ExchangeRates::load(store.clone(), clock.clone(), feed, allow_private).await?)
}

fn make_folder(settings: &Settings) -> anyhow::Result<()> {
    let folder = &settings.data.dir;
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder);
    made.with_context(|| {
        format!(
            "cannot make the data folder {}: choose another with data.dir or --data",
            folder.display()
        )
    })
}

/// The master key from the settings or its file. Development mode makes the file when there is
/// none.
fn master_key(settings: &Settings, ids: &Ids) -> Result<MasterKey, Failure> {
    let key = match current_master_key(settings) {
        Err(MasterKeyError::Missing(path)) if settings.development => {
            MasterKey::create_file(&path, ids)
        }
        found => found,
    };
    key.map_err(|why| Failure::Refused(vec![format!("{:#}", anyhow::Error::from(why))]))
}

/// The master key that the settings name.
///
/// # Errors
/// When it is missing, malformed, or readable by others.
pub(crate) fn current_master_key(settings: &Settings) -> Result<MasterKey, MasterKeyError> {
    match &settings.secrets.master_key {
        Some(text) => MasterKey::from_text(text, "secrets.master_key"),
        None => MasterKey::from_file(&settings.master_key_path()),
    }
}

/// Store settings from these settings.
pub(crate) fn store_settings(settings: &Settings) -> StoreSettings {
    StoreSettings {
        backend: match settings.store.backend {
            StoreBackend::Sqlite => store::Backend::Sqlite,
            StoreBackend::Sled => store::Backend::Sled,
            StoreBackend::Memory => store::Backend::Memory,
        },
        path: settings.store_path(),
        cache_bytes: settings.store.cache.0,
    }
}

fn access_options(settings: &Settings) -> Options {
    // Invalid entries were refused with the other settings.
    let read = |texts: &[String]| -> Vec<SettingsToken> {
        let read = texts.iter().filter_map(|text| SettingsToken::parse(text));
        read.collect()
    };
    Options {
        service_code: settings.service.code.clone(),
        requests_per_minute: settings.rate_limit.per_minute,
        public_key_requests_per_minute: settings.rate_limit.public_key_per_minute,
        requests_without_key_per_minute: settings.rate_limit.without_key_per_minute,
        operator_tokens: read(&settings.operator.tokens),
        metrics_tokens: read(&settings.metrics.tokens),
    }
}

fn engine_settings(settings: &Settings) -> EngineSettings {
    EngineSettings {
        service_code: settings.service.code.clone(),
        service_name: settings.service.name.clone(),
        public_url: settings.public_url(),
        expires_after: settings.payment.expires_after.0,
        idle_after: settings.actors.idle_after.0,
        live_test_gateways: settings.development,
        sandbox_retention: Duration::from_secs(
            u64::from(settings.sandbox.retention_days) * 24 * 60 * 60,
        ),
        webhook: WebhookSettings {
            retries: settings.webhook.retries,
            interval: settings.webhook.retry_after.0,
            extra_signature_headers: settings.webhook.signature_headers.clone(),
            allow_private: settings.webhooks_may_be_private(),
            // Networks that cannot be parsed were refused with the other settings.
            private_networks: settings.webhook.private_networks().unwrap_or_default(),
            allow_http: settings.webhook.allow_http || settings.development,
            extra_ports: settings.webhook.extra_ports.clone(),
            live_log: Duration::from_secs(u64::from(settings.webhook.live_log_days) * 24 * 60 * 60),
            ..WebhookSettings::default()
        },
        mail: MailSettings {
            smtp_url: settings.mail.smtp_url.clone(),
            from: mail_sender(settings),
            folder: settings.development.then(|| settings.data.dir.join("mail")),
        },
        // Networks that cannot be parsed were refused with the other settings.
        limits: settings.limits.for_engine().unwrap_or_default(),
        ..EngineSettings::default()
    }
}

/// Sender of mails: the setting, or the service's name at the public host.
fn mail_sender(settings: &Settings) -> String {
    if let Some(from) = &settings.mail.from {
        return from.clone();
    }
    let public = url::Url::parse(&settings.public_url()).ok();
    let domain = public.as_ref().and_then(url::Url::domain);
    // A host that is an address has no mail; development mode is served from one.
    let domain = domain.unwrap_or("localhost");
    format!(
        "\"{}\" <no-reply@{domain}>",
        settings.service.name.replace(['"', '\\'], "")
    )
}

/// Time for the actors' threads and the store to flush and close, after the shutdown timeout.
const LAST_FLUSH: Duration = Duration::from_secs(10);
