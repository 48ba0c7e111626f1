//! A server with two connections to one provider, and a merchant's inbox. The first connection and
//! the inbox are reached by name, the second connection by its address.

use std::path::Path;

use serde_json::{Value, json};
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;
use tempfile::TempDir;

use super::inbox::{Inbox, SECRET};
use crate::provider::{NOWHERE, Provider};
use crate::server::{Server, Setup, stage};
use crate::world::World;

/// Everything but the load.
pub struct Site {
    pub server: Server,
    pub provider: Provider,
    pub inbox: Inbox,
    pub world: World,
    /// Ids of the two connections, by slot.
    pub(super) connections: Vec<String>,
    _folder: TempDir,
}

/// Age of the connections before the first transaction, in seconds. With newer credentials, a
/// provider's "not found" would not prove that the request never arrived.
const CONNECTIONS_ARE_OLDER: i64 = 3_600;

/// Key with which the provider signs its callbacks.
const KEY: &str = "key_of_these_tests";

impl Site {
    /// Starts a site. `programmable`: the library of that gateway. `change`: adjusts the result of
    /// [`setup`].
    pub async fn open(
        programmable: &Path,
        change: impl FnOnce(&mut Setup),
    ) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let world = World::new(folder.path())?;
        let mut setup = setup(folder.path(), programmable)?;
        world.surround(&mut setup);
        change(&mut setup);
        let (provider, inbox) = (Provider::start().await, Inbox::start().await?);
        world.set_clock(-CONNECTIONS_ARE_OLDER)?;
        let mut server = Server::start(setup).await?;
        server.add_webhook(&by_name(&inbox.url), SECRET).await?;
        let mut connections = Vec::new();
        for (slot, url) in [by_name(&provider.url), provider.url.clone()]
            .iter()
            .enumerate()
        {
            let config = json!({ "url": url, "nowhere": NOWHERE, "slot": slot, "key": KEY });
            connections.push(connect(&server, &format!("Account {slot}"), config).await?);
        }
        provider.call_back(server.stranger(), connections.clone(), KEY);
        server.stop().await?;
        world.set_clock(0)?;
        server.up().await?;
        Ok(Self {
            server,
            provider,
            inbox,
            world,
            connections,
            _folder: folder,
        })
    }

    /// The server's current time: the real clock plus the suspensions, regardless of changes to its
    /// wall clock since the start.
    pub(super) fn now(&self) -> Timestamp {
        Clock::wall().now().plus(self.world.slept())
    }
}

/// Replaces the address by a name that has to be resolved.
fn by_name(url: &str) -> String {
    url.replace("127.0.0.1", "localhost")
}

/// Adds a sandbox connection of the programmable gateway to the seeded app, and returns its id.
pub async fn connect(server: &Server, name: &str, config: Value) -> anyhow::Result<String> {
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let connection = json!({
        "environment": "sandbox", "gateway": "programmable", "account_name": name, "config": config,
    });
    let made = server.operator().post(&path, &connection).await?;
    Ok(made.expect(201)?.data("id")?.to_owned())
}

/// Setup in which webhooks are retried at once, payments expire after a day, and the programmable
/// gateway is in the folder.
fn setup(folder: &Path, programmable: &Path) -> anyhow::Result<Setup> {
    let gateways = folder.join("gateways");
    std::fs::create_dir(&gateways)?;
    for library in [&stage()?.join("gateways/libgateway_demo.so"), programmable] {
        let name = library.file_name().unwrap_or_default();
        std::fs::copy(library, gateways.join(name))?;
    }
    Ok(Setup {
        gateways: Some(gateways),
        settings: vec![
            ("SWITCHYARD_WEBHOOK__RETRY_AFTER", "1s"),
            ("SWITCHYARD_WEBHOOK__RETRIES", "10"),
            ("SWITCHYARD_PAYMENT__EXPIRES_AFTER", "1d"),
            ("SWITCHYARD_LOG__REQUESTS", "false"),
            // All clients of the load have one address.
            ("SWITCHYARD_SERVER__MAX_CONNECTIONS_PER_ADDRESS", "0"),
        ],
        ..Setup::default()
    })
}
