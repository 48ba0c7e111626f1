//! State of the request handlers.

use std::sync::Arc;

use switchyard_core::limits::{CONNECTIONS, CONNECTIONS_PER_STREAM};
use switchyard_engine::engine::Engine;
use switchyard_engine::idempotency::Idempotency;
use switchyard_users::Users;

use crate::geoip::GeoIp;
use crate::openid::Provider;
use crate::operations::DiskReserve;
use crate::operations::meters::Meters;
use crate::utils::MethodIcons;

/// Shared by all routes; cloning gives another handle. Every layer of every route clones it for
/// every request, so it is one counter and not one for each of its parts.
#[derive(Clone)]
pub struct ApiState(Arc<Inner>);

struct Inner {
    engine: Engine,
    settings: HttpSettings,
    idempotency: Idempotency,
    meters: Meters,
    console: Option<ConsoleAccess>,
}

/// Users of the console, and its address for them.
#[derive(Clone)]
pub struct ConsoleAccess {
    pub users: Users,
    /// Without a slash at its end.
    pub url: String,
    /// `None`: users sign in with their passwords only.
    pub openid: Option<Provider>,
}

/// Path of all pages of the console.
pub const CONSOLE_PATH: &str = "/console";

impl ConsoleAccess {
    /// Address of a single-use link for a user.
    pub fn link_url(&self, token: &str) -> String {
        self.page_url(&format!("link/{token}"))
    }

    /// Address of a page of the console.
    pub fn page_url(&self, path: &str) -> String {
        format!("{}{CONSOLE_PATH}/{path}", self.url)
    }
}

/// HTTP settings: client address and country headers, development mode.
#[derive(Clone, Debug, Default)]
pub struct HttpSettings {
    /// Header in which a trusted proxy names the client's address, such as `x-forwarded-for`;
    /// `None`: the connection's own address.
    pub client_address_header: Option<String>,
    /// Header in which a trusted proxy names the client's country (ISO 3166-1 alpha-2); `None`: the
    /// country is not known.
    pub client_country_header: Option<String>,
    /// Development mode: pages may say so.
    pub development: bool,
    /// How many event streams checkout pages may have.
    pub streams: StreamLimits,
    /// Countries by address; `None`: the header alone names the country.
    pub geoip: Option<GeoIp>,
    /// Icons of methods that the operator supplies.
    pub method_icons: Arc<MethodIcons>,
    /// Whether a second operator approves each manual resolution, in the console.
    pub second_person: bool,
    /// Disk space that new transactions leave free; `None`: the store uses no disk.
    pub disk_reserve: Option<DiskReserve>,
    /// Excluded countries of payers (alpha-2): neither the checkout page nor a restriction offers
    /// them.
    pub excluded_countries: Vec<String>,
}

/// How many event streams of checkout pages there may be at once; 0 for an address or a payment:
/// any number.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    pub total: usize,
    pub per_address: usize,
    pub per_payment: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            total: CONNECTIONS / CONNECTIONS_PER_STREAM,
            per_address: 0,
            per_payment: 0,
        }
    }
}

impl ApiState {
    /// State of a server without a console.
    pub fn new(engine: Engine, settings: HttpSettings) -> Self {
        Self::with_console(engine, settings, None)
    }

    pub fn with_console(
        engine: Engine,
        settings: HttpSettings,
        console: Option<ConsoleAccess>,
    ) -> Self {
        let idempotency = Idempotency::new(engine.store().clone(), engine.clock().clone());
        Self(Arc::new(Inner {
            engine,
            settings,
            idempotency,
            meters: Meters::default(),
            console,
        }))
    }

    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    pub fn idempotency(&self) -> &Idempotency {
        &self.0.idempotency
    }

    /// `None`: there is no console.
    pub fn console(&self) -> Option<&ConsoleAccess> {
        self.0.console.as_ref()
    }

    pub fn meters(&self) -> &Meters {
        &self.0.meters
    }
}
