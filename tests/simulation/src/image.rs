//! Initial contents of the disk: an app with its keys, connections and webhooks. Built once for
//! each shape.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use switchyard_core::ids::{AppId, ConnectionId};
use switchyard_core::money::{Correction, Currency, Rate};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_engine::access::{
    Access, AppChange, AppSettings, DevelopmentKeys, Environment, MasterKey, NewConnection,
    NewWebhook, Options, RetryProfile, Vault, WebhookOptions,
};
use switchyard_engine::exchange_rates::{ExchangeError, ExchangeRates, FeedSettings};
use switchyard_engine::testing::START;
use switchyard_gateway_host::{ChangeAuthor, GatewaySettings, Gateways, StaticGateways};
use switchyard_store::Store;
use switchyard_store::{Disk, DiskModel, FlushEnd, Tables};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_system::simulation::World;

use crate::gateway::{IDEMPOTENT, NAMES, PLUGINS, VERSIONS, manifest};
use crate::plan::Plan;
use crate::world;

/// Initial contents of a disk, with the ids in them.
pub struct Image {
    pub tables: Tables,
    pub keys: DevelopmentKeys,
    /// Connections by the provider's host.
    pub connections: BTreeMap<String, ConnectionId>,
    pub webhooks: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    connections: usize,
    neighbours: usize,
    webhooks: usize,
    /// Rate of faults of the first gateway, in units of 50 permille.
    temper: u64,
    /// Rate of faults of the second gateway, in units of 300 permille. 0 when it is healthy.
    sick: u64,
    attempts: u8,
}

/// Secret with which every provider signs its callbacks.
pub const CALLBACK_SECRET: &str = "simulated-callback-secret";

/// Returns the image for a plan.
pub fn of(plan: &Plan) -> Arc<Image> {
    static IMAGES: OnceLock<Mutex<BTreeMap<Shape, Arc<Image>>>> = OnceLock::new();
    let shape = Shape {
        connections: plan.connections,
        neighbours: plan.neighbours,
        webhooks: plan.webhooks,
        temper: plan.trouble.gateways.div_ceil(50),
        sick: plan.trouble.sick.div_ceil(300),
        attempts: u8::try_from(plan.seed % 3 + 1).unwrap_or(1),
    };
    let images = IMAGES.get_or_init(Mutex::default);
    let mut images = images.lock().unwrap_or_else(PoisonError::into_inner);
    let image = images.entry(shape);
    image.or_insert_with(|| Arc::new(make(shape))).clone()
}

/// Creates the vault of every engine that runs on an image.
pub fn vault(ids: &Ids) -> Vault {
    let master = MasterKey::from_text(&Secret::new("11".repeat(32)), "the simulation");
    Vault::new(&master.expect("it is 32 bytes in hexadecimal"), ids.clone())
}

/// Options without a rate limit.
pub fn options() -> Options {
    Options {
        requests_per_minute: 0,
        ..Options::default()
    }
}

/// Creates gateways with every version registered.
pub fn shelved(clock: &Clock, ids: &Ids) -> Gateways {
    static SHELF: OnceLock<StaticGateways> = OnceLock::new();
    let settings = GatewaySettings {
        dir: "/nowhere".into(), // there are no files
        ..GatewaySettings::default()
    };
    let gateways = Gateways::new(settings, clock.clone(), ids.clone());
    let gateways = gateways.expect("the client is made of what is compiled in");
    gateways.put_up(SHELF.get_or_init(|| {
        let all = NAMES
            .iter()
            .flat_map(|name| (1..=VERSIONS).map(move |version| manifest(name, version)));
        let all: Vec<String> = all.collect();
        let versions = all.iter().map(String::as_bytes);
        let shelf = StaticGateways::of(versions.zip(PLUGINS.iter().cycle()));
        shelf.expect("the manifests are in order")
    }));
    gateways
}

/// Hash that identifies a version.
pub fn hash(name: &str, version: usize) -> String {
    base16ct::lower::encode_string(&Sha256::digest(manifest(name, version)))
}

/// Sets the rate from USD to XOF.
pub async fn set_rate(exchange_rates: &ExchangeRates, rate: &str) -> Result<(), ExchangeError> {
    let currency = |code| Currency::from_code(code).expect("it is in the table");
    let rate = Rate::parse(rate).expect("it is a rate");
    let set = exchange_rates.set(currency("USD"), currency("XOF"), rate, None);
    set.await.map(drop)
}

const FIRST_RATE: &str = "601.25";

fn make(shape: Shape) -> Image {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and sockets takes nothing that could be missing");
    let _world = switchyard_system::simulation::enter(World {
        line: Arc::new(|_| Box::pin(std::future::pending())),
        decide: None,
    });
    runtime.block_on(furnish(shape))
}

async fn furnish(shape: Shape) -> Image {
    let disk = Disk::new(DiskModel {
        takes: Box::new(|| Duration::from_millis(1)),
        ends: Box::new(|_| FlushEnd::Done),
        replaces: None,
    });
    // Credentials are older than any request of a history.
    let start = Timestamp::from_seconds(START.as_seconds() - 30 * 24 * 3_600);
    let (clock, ids) = (Clock::simulated(start), Ids::seeded(7));
    let store = Store::simulated(&disk).expect("a new disk can be read");
    take_on_gateways(&store, &clock, &ids).await;
    let access = Access::load(store, vault(&ids), clock, ids, options());
    let access = access.await.expect("an empty disk has nothing unreadable");
    let seeded = access.seed_development(None).await;
    let keys = seeded.expect("an empty disk takes everything").keys;
    let settings = AppSettings {
        merchant_email: Some("merchant@shop.example".to_owned()),
        checkout_attempts: shape.attempts,
        conversion: Some(Correction::default()),
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
    let connections = connect(&access, keys.app, shape).await;
    let mut webhooks = Vec::new();
    for number in 0..shape.webhooks {
        let url = format!("https://shop{number}.example/hook");
        let made = access.create_webhook(NewWebhook {
            app: keys.app,
            url: url.clone(),
            secret: Some(Secret::new(world::SECRET.to_owned())),
            options: WebhookOptions {
                retry: match number % 2 {
                    0 => RetryProfile::Spec,
                    _ => RetryProfile::Standard,
                },
                ..WebhookOptions::default()
            },
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

/// Installs the first version of each gateway, and sets the first exchange rate.
async fn take_on_gateways(store: &Store, clock: &Clock, ids: &Ids) {
    let gateways = shelved(clock, ids);
    gateways
        .keep_in(store)
        .await
        .expect("an empty disk has nothing unreadable");
    for name in NAMES {
        let (first, by) = (hash(name, 1), ChangeAuthor::new("ada"));
        let added = gateways.install_shelved(name, &first, &by).await;
        added.expect("it lies on the shelf");
    }
    let feed = FeedSettings::default();
    let exchange_rates = ExchangeRates::load(store.clone(), clock.clone(), feed, false).await;
    let exchange_rates = exchange_rates.expect("an empty disk has nothing unreadable");
    set_rate(&exchange_rates, FIRST_RATE)
        .await
        .expect("an empty disk takes everything");
}

/// Creates the app's connections, and returns them by the host of their provider.
async fn connect(access: &Access, app: AppId, shape: Shape) -> BTreeMap<String, ConnectionId> {
    let mut connections = BTreeMap::new();
    for (environment, word) in [
        (Environment::Sandbox, "sandbox"),
        (Environment::Live, "live"),
    ] {
        let first = (0..shape.connections).map(|slot| (NAMES[0], slot, shape.temper * 50));
        let second = (0..shape.neighbours).map(|slot| (NAMES[1], slot, shape.sick * 300));
        for (gateway, slot, temper) in first.chain(second) {
            let host = format!("{}{slot}.{word}", &gateway[..1]);
            let made = access.create_connection(NewConnection {
                app,
                environment,
                gateway: gateway.to_owned(),
                account_name: host.clone(),
                methods: None,
                config: serde_json::json!({
                    "base": format!("https://{host}.example"),
                    "secret": CALLBACK_SECRET,
                    "temper": temper,
                    "repeats": host.starts_with(IDEMPOTENT),
                }),
            });
            connections.insert(host, made.await.expect("the connection is in order").id);
            tokio::time::sleep(Duration::from_secs(1)).await; // connections are sorted by age
        }
    }
    connections
}
