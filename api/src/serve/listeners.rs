//! The listeners of the server: for payers and merchants, for operators, for the console.

use std::net::SocketAddr;

use anyhow::Context as _;
use switchyard_core::limits::{ADMIN_CONNECTIONS, CONSOLE_CONNECTIONS};
use tokio::net::TcpListener;

use super::admission::{Admission, Totals};
use super::{listener, routes};
use crate::config::Settings;

/// Listeners of the server.
pub struct Listeners {
    pub public: TcpListener,
    /// For operators, balancers and Prometheus. `None`: the public one serves them.
    admin: Option<TcpListener>,
    /// For the console. `None`: it is off, or the public one serves it.
    console: Option<TcpListener>,
}

impl Listeners {
    /// Takes the addresses of the settings.
    ///
    /// # Errors
    /// When one of them is in use, or is not one of this machine.
    pub async fn bind(settings: &Settings) -> anyhow::Result<Self> {
        Ok(Self {
            admin: bind_if(settings.admin_listen(), "server.admin_listen").await?,
            console: bind_if(settings.console_listen(), "console.listen").await?,
            public: bind(settings.server.listen, "server.listen or --port").await?,
        })
    }

    /// Logs where the server is reached.
    pub fn announce(&self, settings: &Settings) -> anyhow::Result<()> {
        let admin = self.admin.as_ref().unwrap_or(&self.public).local_addr()?;
        tracing::info!(
            address = %settings.server.listen,
            admin_address = %admin,
            public_url = settings.public_url(),
            console_url = settings.has_console().then(|| settings.console_url()),
            "server started"
        );
        Ok(())
    }

    /// Serves on all of them.
    pub async fn serve(self, parts: routes::ServerContext, totals: Totals, settings: Settings) {
        let drain_delay = settings.server.shutdown_delay.0;
        let of_address = settings.server.max_connections_per_address;
        let proxies = parts.trust.proxies.clone();
        let public = Admission::new("public", totals.connections, of_address, proxies.clone());
        let draining = parts.draining.clone();
        let serve = async |listener: Option<TcpListener>, admission, routes| {
            if let Some(listener) = listener {
                listener::serve(listener, admission, routes, draining.clone(), drain_delay).await;
            }
        };
        let of_public = match self.admin {
            Some(_) => parts.public(),
            None => parts.all(),
        };
        let operators = Admission::new("admin", ADMIN_CONNECTIONS, 0, proxies.clone());
        let users = Admission::new("console", CONSOLE_CONNECTIONS, of_address, proxies);
        tokio::join!(
            serve(Some(self.public), public, of_public),
            serve(self.admin, operators, parts.admin()),
            serve(self.console, users, parts.console()),
        );
    }
}

async fn bind_if(
    address: Option<SocketAddr>,
    setting: &str,
) -> anyhow::Result<Option<TcpListener>> {
    match address {
        Some(address) => Ok(Some(bind(address, setting).await?)),
        None => Ok(None),
    }
}

async fn bind(address: SocketAddr, setting: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!("cannot listen on {address}: another program may use the port; choose another with {setting}")
    })
}
