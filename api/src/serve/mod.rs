//! `switchyard serve`: puts the rooms together, serves, and ends in order.
//!
//! Store → vault → access → gateways → engine → routes. The port is taken first, so that a second server on it fails before it touches
//! anything; requests wait in the port's queue until everything is ready.

mod development;
mod gateways;
mod routes;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::serve::ListenerExt as _;
use switchyard_engine::access::{
    Access, DevelopmentKeys, Fingerprint, MasterKey, MasterKeyError, Options, Vault,
};
use switchyard_engine::clock::Clock;
use switchyard_engine::directory::Directory;
use switchyard_engine::engine::{Engine, EngineSettings, Equipment};
use switchyard_engine::ids::Ids;
use switchyard_engine::mail::MailSettings;
use switchyard_engine::store::{self, Store, StoreSettings};
use switchyard_engine::webhook::WebhookSettings;
use tokio::net::TcpListener;

use crate::config::{self, Settings, StoreEngine};
use crate::operations::{self, Draining, Operations, StopSignals};
use crate::state::{ApiState, HttpSettings};

/// Why the server did not start, or did not end well.
#[derive(Debug)]
pub enum Failure {
    /// Settings that are unsafe or cannot work: one sentence each.
    Settings(Vec<String>),
    /// Anything else.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// Serves until a signal ends it.
///
/// # Errors
/// When the settings are refused or something that it needs is missing.
pub async fn run(mut settings: Settings) -> Result<(), Failure> {
    let refusals = config::check(&settings);
    if !refusals.is_empty() {
        return Err(Failure::Settings(refusals));
    }
    let listen = settings.server.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| {
        format!("cannot listen on {listen}: another program may use the port; choose another with server.listen or --port")
    })?;
    // From here on a signal ends the server in order, even one that comes while it starts.
    let signals = StopSignals::listen()?;
    // The same, unless port 0 asked for any that is free.
    settings.server.listen = listener.local_addr()?;
    make_folder(&settings)?;
    let ids = Ids::system();
    let vault = Vault::new(&master_key(&settings, &ids)?, ids.clone());
    operations::logging::start(&settings)?;
    let metrics = settings
        .metrics
        .enabled
        .then(operations::metrics::start)
        .transpose()?;
    let (engine, keys) = start_engine(&settings, vault, ids).await?;
    let draining = Draining::default();
    let open = settings.metrics.open || settings.development;
    let operations = Operations::new(engine.clone(), metrics, open, draining.clone());
    let http = HttpSettings {
        client_address_header: Some(operations::CLIENT_ADDRESS.to_owned()),
        client_country_header: Some(operations::CLIENT_COUNTRY.to_owned()),
        development: settings.development,
    };
    let state = ApiState::new(engine.clone(), http);
    let routes = routes::all(state, &operations, &draining, &settings)?;

    tracing::info!(address = %settings.server.listen, public_url = settings.public_url(), "Switchyard serves.");
    if let Some(keys) = keys {
        development::welcome(&settings, &keys)?;
    }
    serve(
        listener,
        routes,
        draining,
        signals,
        settings.server.shutdown_timeout.0,
    )
    .await?;
    engine.stop(settings.server.shutdown_timeout.0).await;
    tracing::info!("Switchyard has ended; everything is stored.");
    Ok(())
}

/// Opens the store and starts the engine on it, in development mode with its seeded keys.
async fn start_engine(
    settings: &Settings,
    vault: Vault,
    ids: Ids,
) -> anyhow::Result<(Engine, Option<DevelopmentKeys>)> {
    let clock = Clock::wall();
    let store = Store::open(&store_settings(settings))?;
    let options = access_options(settings);
    let access = Access::load(store.clone(), vault, clock.clone(), ids.clone(), options).await?;
    let keys = match settings.development {
        true => Some(development::seed(&access, settings).await?),
        false => None,
    };
    let gateways = gateways::load(settings, &clock, &ids).await?;
    let engine = Engine::start(Equipment {
        store,
        access,
        gateways,
        directory: Arc::new(Directory::new(&settings.service.code)),
        clock,
        ids,
        settings: engine_settings(settings),
    })?;
    Ok((engine, keys))
}

/// Answers requests until a signal comes, then finishes those that are under way.
async fn serve(
    listener: TcpListener,
    routes: axum::Router,
    draining: Draining,
    mut signals: StopSignals,
    patience: Duration,
) -> io::Result<()> {
    // Answers are small and complete: waiting to fill a packet only delays them.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "A connection keeps waiting to fill packets.");
        }
    });
    let ended = draining.clone();
    let server = axum::serve(
        listener,
        routes.into_make_service_with_connect_info::<SocketAddr>(),
    )
    .with_graceful_shutdown(async move { ended.begun().await });
    let mut server = tokio::spawn(server.into_future());
    tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "Told to end: open requests are finished first.");
        }
        // It ends by itself only when something is wrong.
        ended = &mut server => return ended?,
    }
    draining.begin();
    match tokio::time::timeout(patience, server).await {
        Ok(ended) => ended?,
        Err(_) => {
            tracing::warn!(
                "Some requests were not finished in time and are cut off; what they stored is stored."
            );
            Ok(())
        }
    }
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

/// The master key from the settings or its file. Development mode makes the file when there is none.
fn master_key(settings: &Settings, ids: &Ids) -> Result<MasterKey, Failure> {
    let path = settings.master_key_path();
    let key = match &settings.secrets.master_key {
        Some(text) => MasterKey::from_text(text, "secrets.master_key"),
        None => match MasterKey::from_file(&path) {
            Err(MasterKeyError::Missing(_)) if settings.development => {
                MasterKey::create_file(&path, ids)
            }
            found => found,
        },
    };
    key.map_err(|why| Failure::Settings(vec![format!("{:#}", anyhow::Error::from(why))]))
}

fn store_settings(settings: &Settings) -> StoreSettings {
    StoreSettings {
        engine: match settings.store.engine {
            StoreEngine::Fjall => store::Engine::Fjall,
            StoreEngine::Sled => store::Engine::Sled,
            StoreEngine::Memory => store::Engine::Memory,
        },
        path: settings.store_path(),
        cache_bytes: settings.store.cache.0,
    }
}

fn access_options(settings: &Settings) -> Options {
    let hashes = settings.operator.tokens.iter();
    Options {
        service_code: settings.service.code.clone(),
        requests_per_minute: settings.rate_limit.per_minute,
        // What is not a hash was refused with the other settings.
        operator_tokens: hashes
            .filter_map(|text| Fingerprint::from_hex(text.strip_prefix("sha256:")?))
            .collect(),
    }
}

fn engine_settings(settings: &Settings) -> EngineSettings {
    EngineSettings {
        service_code: settings.service.code.clone(),
        service_name: settings.service.name.clone(),
        public_url: settings.public_url(),
        expires_after: settings.payment.expires_after.0,
        idle_after: settings.actors.idle_after.0,
        sandbox_retention: Duration::from_secs(
            u64::from(settings.sandbox.retention_days) * 24 * 60 * 60,
        ),
        webhook: WebhookSettings {
            retries: settings.webhook.retries,
            interval: settings.webhook.retry_after.0,
            extra_signature_headers: settings.webhook.signature_headers.clone(),
            allow_private: settings.webhooks_may_be_private(),
            extra_ports: settings.webhook.extra_ports.clone(),
            ..WebhookSettings::default()
        },
        mail: MailSettings {
            smtp_url: settings.mail.smtp_url.clone(),
            from: mail_sender(settings),
            folder: settings.development.then(|| settings.data.dir.join("mail")),
        },
        ..EngineSettings::default()
    }
}

/// Who mails come from: as set, or the service's name at the public host.
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
