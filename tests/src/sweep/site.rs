//! A server with two connections to one provider, and a merchant's inbox. The first connection and the inbox are reached by name, the
//! second connection by its address.

use std::path::Path;

use serde_json::{Value, json};
use switchyard_engine::clock::{Clock, Timestamp};
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
    /// The ids of its two connections, by slot.
    pub(super) connections: Vec<String>,
    _folder: TempDir,
}

/// How much older than the first transaction the connections are, in seconds: what a provider does not know proves nothing about
/// a request that went out under credentials that are as new as it.
const CONNECTIONS_ARE_OLDER: i64 = 3_600;

/// What the provider signs its callbacks with.
const KEY: &str = "key_of_these_tests";

impl Site {
    /// `programmable`: the library of that gateway. `change`: what is to be otherwise than [`setup`] has it.
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

    /// What the server takes the time to be, whatever its clock on the wall was set to since it was started.
    pub(super) fn now(&self) -> Timestamp {
        Clock::wall().now().plus(self.world.slept())
    }
}

/// The same address with a name, for what has to be resolved.
fn by_name(url: &str) -> String {
    url.replace("127.0.0.1", "localhost")
}

/// Gives the seeded app one more connection of the programmable gateway in sandbox. Its id.
pub async fn connect(server: &Server, name: &str, config: Value) -> anyhow::Result<String> {
    let path = format!("/operator/v1/apps/{}/connections", server.dev().app_id);
    let connection = json!({
        "environment": "sandbox", "gateway": "programmable", "account_name": name, "config": config,
    });
    let made = server.operator().post(&path, &connection).await?;
    Ok(made.expect(201)?.data("id")?.to_owned())
}

/// Webhooks are tried again at once, payments wait for a day, and the programmable gateway is trusted.
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
            ("SWITCHYARD_GATEWAYS__ISOLATION", "in_process"),
            ("SWITCHYARD_LOG__REQUESTS", "false"),
            // All clients of the load have one address.
            ("SWITCHYARD_SERVER__MAX_CONNECTIONS_PER_ADDRESS", "0"),
        ],
        ..Setup::default()
    })
}
