//! What lies on the disk before a history begins: an app with its keys, connections and webhooks. Made once for each shape.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use switchyard_engine::access::{
    Access, AppChange, AppSettings, DevelopmentKeys, Environment, MasterKey, NewConnection,
    NewWebhook, Options, Vault,
};
use switchyard_engine::clock::{Clock, Timestamp};
use switchyard_engine::ids::{ConnectionId, Ids};
use switchyard_engine::secret::Secret;
use switchyard_engine::simulation::{Disk, FlushEnd, Nature, Tables, World};
use switchyard_engine::store::Store;
use switchyard_engine::testing::START;

use crate::plan::Plan;
use crate::world;

/// A disk to begin with, and what is known of it.
pub struct Image {
    pub tables: Tables,
    pub keys: DevelopmentKeys,
    /// By the provider's host.
    pub connections: BTreeMap<String, ConnectionId>,
    pub webhooks: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    connections: usize,
    webhooks: usize,
    /// Of the gateway, in hundreds of a thousand.
    temper: u64,
    attempts: u8,
}

/// What callbacks of every provider are signed with.
pub const CALLBACK_SECRET: &str = "simulated-callback-secret";

/// The image for a plan.
pub fn of(plan: &Plan) -> Arc<Image> {
    static IMAGES: OnceLock<Mutex<BTreeMap<Shape, Arc<Image>>>> = OnceLock::new();
    let shape = Shape {
        connections: plan.connections,
        webhooks: plan.webhooks,
        temper: plan.trouble.gateways.div_ceil(50),
        attempts: u8::try_from(plan.seed % 3 + 1).unwrap_or(1),
    };
    let images = IMAGES.get_or_init(Mutex::default);
    let mut images = images.lock().unwrap_or_else(PoisonError::into_inner);
    let image = images.entry(shape);
    image.or_insert_with(|| Arc::new(make(shape))).clone()
}

/// The vault of every engine that runs on an image.
pub fn vault(ids: &Ids) -> Vault {
    let master = MasterKey::from_text(&Secret::new("11".repeat(32)), "the simulation");
    Vault::new(&master.expect("it is 32 bytes in hexadecimal"), ids.clone())
}

/// An app without a rate limit.
pub fn options() -> Options {
    Options {
        requests_per_minute: 0,
        ..Options::default()
    }
}

fn make(shape: Shape) -> Image {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and sockets takes nothing that could be missing");
    let _world = switchyard_engine::simulation::enter(World {
        line: Arc::new(|_| Box::pin(std::future::pending())),
        fault: None,
    });
    runtime.block_on(furnish(shape))
}

async fn furnish(shape: Shape) -> Image {
    let disk = Disk::new(Nature {
        takes: Box::new(|| Duration::from_millis(1)),
        ends: Box::new(|_| FlushEnd::Done),
    });
    // Credentials are older than any request of a history.
    let start = Timestamp::from_seconds(START.as_seconds() - 30 * 24 * 3_600);
    let (clock, ids) = (Clock::simulated(start), Ids::seeded(7));
    let store = Store::simulated(&disk);
    let access = Access::load(store, vault(&ids), clock, ids, options());
    let access = access.await.expect("an empty disk has nothing unreadable");
    let seeded = access.seed_development(None).await;
    let keys = seeded.expect("an empty disk takes everything").keys;
    let settings = AppSettings {
        merchant_email: Some("merchant@shop.example".to_owned()),
        checkout_attempts: shape.attempts,
        ..AppSettings::default()
    };
    let change = AppChange {
        settings: Some(settings),
        ..AppChange::default()
    };
    access
        .update_app(keys.app, change)
        .await
        .expect("the settings are in order");
    let mut connections = BTreeMap::new();
    for (environment, word) in [
        (Environment::Sandbox, "sandbox"),
        (Environment::Live, "live"),
    ] {
        for slot in 0..shape.connections {
            let host = format!("s{slot}.{word}");
            let made = access.create_connection(NewConnection {
                app: keys.app,
                environment,
                gateway: "simulated".to_owned(),
                account_name: host.clone(),
                methods: None,
                config: serde_json::json!({
                    "base": format!("https://{host}.example"),
                    "secret": CALLBACK_SECRET,
                    "temper": shape.temper * 50,
                }),
            });
            connections.insert(host, made.await.expect("the connection is in order").id);
            tokio::time::sleep(Duration::from_secs(1)).await; // connections are listed by age
        }
    }
    let mut webhooks = Vec::new();
    for number in 0..shape.webhooks {
        let url = format!("https://shop{number}.example/hook");
        let made = access.create_webhook(NewWebhook {
            app: keys.app,
            url: url.clone(),
            secret: Some(Secret::new(world::SECRET.to_owned())),
            options: Default::default(),
        });
        made.await.expect("the webhook is in order");
        webhooks.push(url);
    }
    Image {
        tables: disk.copy(),
        keys,
        connections,
        webhooks,
    }
}
