//! Webhooks to 1, 100 and 10,000 receivers, a tenth of them dead; and the delay at healthy ones while a tenth is dead and a tenth slow.
//!
//! Receivers have addresses of their own in 127.0.0.0/8, as merchants' servers have: no connection serves two of them. They are in this
//! process and take their share of the machine.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use switchyard_engine::access::{NewApp, NewWebhook, Webhook, WebhookOptions};
use switchyard_engine::clock::{Clock, Timestamp};
use switchyard_engine::engine::EngineSettings;
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::{CustomerId, EventId, Ids, PaymentId, TransactionId};
use switchyard_engine::limits::WEBHOOKS_PER_APP;
use switchyard_engine::store::Batch;
use switchyard_engine::testing::{Bench, amount};
use switchyard_engine::transaction::{
    ClientContext, Customer, Details, EventName, NewTransaction, PaymentDetails, Transaction,
    initiate,
};
use switchyard_engine::webhook::{self, WebhookSettings};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::load::read_message;
use crate::subject;

const BACKLOG: usize = 10_000;
const OFFERED: u64 = 1_000;
const OFFERING: Duration = Duration::from_secs(20);
/// Events written in one commit, as the engine's group commit writes them under load.
const TOGETHER: usize = 20;

pub async fn measure() -> Result<()> {
    println!("webhooks, durable on the default store");
    for receivers in [1, 100, 10_000] {
        backlog(receivers).await?;
    }
    delay(10_000).await
}

/// How fast a backlog goes out, a tenth of the receivers dead.
async fn backlog(count: usize) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let (world, mut arrivals) = World::start(dir.path(), count, false).await?;
    let healthy = world.put(BACKLOG, Clock::wall().now()).await?;
    let begun = Instant::now();
    world.bench.engine.webhooks.nudge(&healthy.queued);
    for _ in 0..healthy.count {
        let next = tokio::time::timeout(Duration::from_secs(120), arrivals.recv()).await;
        next.context("a delivery did not come within two minutes")?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "  {count:>6} receivers, a tenth dead         {:>8.0} deliveries/s to the others",
        healthy.count as f64 / seconds
    );
    Ok(())
}

/// How long healthy receivers wait at a steady rate, a tenth of all dead and a tenth slow.
async fn delay(count: usize) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let (world, mut arrivals) = World::start(dir.path(), count, true).await?;
    let begun = Instant::now();
    let mut expected = 0;
    let steps = OFFERED * OFFERING.as_secs() / TOGETHER as u64;
    for step in 0..steps {
        let at = OFFERING.mul_f64(step as f64 / steps as f64);
        tokio::time::sleep_until(begun + at).await;
        let put = world.put(TOGETHER, Clock::wall().now()).await?;
        world.bench.engine.webhooks.nudge(&put.queued);
        expected += put.count;
    }
    let offered = begun.elapsed();
    let mut delays = Vec::with_capacity(expected);
    while delays.len() < expected {
        let next = tokio::time::timeout(Duration::from_secs(60), arrivals.recv()).await;
        let Ok(Some(delay)) = next else { break };
        delays.push(delay);
    }
    ensure!(!delays.is_empty(), "nothing was delivered");
    delays.sort_unstable();
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize].as_secs_f64();
    println!(
        "  {count:>6} receivers, a tenth dead, a tenth slow (2.9 s), {:.0} events/s offered",
        (OFFERED * OFFERING.as_secs()) as f64 / offered.as_secs_f64()
    );
    println!(
        "  healthy: {} of {expected} delivered, p50 {:.3} s   p99 {:.3} s   most {:.3} s   (bar: p99 at most 1 s)",
        delays.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    Ok(())
}

struct World {
    bench: Bench,
    webhooks: Vec<Arc<Webhook>>,
    ids: Ids,
    next: AtomicUsize,
}

/// What was put into the outbox.
struct Put {
    queued: Vec<webhook::Queued>,
    /// How many go to healthy receivers.
    count: usize,
}

impl World {
    async fn start(
        dir: &std::path::Path,
        count: usize,
        some_slow: bool,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Duration>)> {
        let settings = EngineSettings {
            webhook: WebhookSettings {
                allow_private: true,
                ..WebhookSettings::default()
            },
            ..EngineSettings::default()
        };
        let bench = subject::start_with(dir, settings).await?;
        let (told, arrivals) = mpsc::unbounded_channel();
        let port = receive(told).await?;
        let mut webhooks = Vec::with_capacity(count);
        let account = bench.engine.access.create_account("Bench").await?;
        let mut app = bench.keys.app;
        for number in 0..count {
            if number % WEBHOOKS_PER_APP == 0 {
                let new = NewApp {
                    account: account.id,
                    name: format!("Shop {number}"),
                    icon_url: None,
                    website_url: None,
                    settings: Default::default(),
                };
                app = bench.engine.access.create_app(new).await?.id;
            }
            let manner = match number % 10 {
                9 => "dead",
                8 if some_slow => "slow",
                _ => "good",
            };
            let host = Ipv4Addr::from(0x7f01_0000 + u32::try_from(number)?);
            let new = NewWebhook {
                app,
                url: format!("http://{host}:{port}/{manner}"),
                secret: None,
                options: WebhookOptions::default(),
            };
            webhooks.push(bench.engine.access.create_webhook(new).await?);
        }
        let world = Self {
            bench,
            webhooks,
            ids: Ids::system(),
            next: AtomicUsize::new(0),
        };
        Ok((world, arrivals))
    }

    /// Puts events into the outbox, for one receiver after the other.
    async fn put(&self, events: usize, now: Timestamp) -> Result<Put> {
        let mut put = Put {
            queued: Vec::with_capacity(events),
            count: 0,
        };
        let mut batch = Batch::new();
        for event in 1..=events {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let webhook = &self.webhooks[number % self.webhooks.len()];
            put.count += usize::from(webhook.url.ends_with("/good"));
            let tx = payment(webhook, &self.ids, now);
            let name = EventName::PaymentInitiated;
            let id = webhook::event_id(tx.id, name, now);
            let to = std::slice::from_ref(webhook);
            let queued = webhook::enqueue(&mut batch, to, &tx, name, id, now);
            put.queued.extend(queued);
            if event % TOGETHER == 0 || event == events {
                let full = std::mem::replace(&mut batch, Batch::new());
                self.bench.engine.store.commit(full).await?;
            }
        }
        Ok(put)
    }
}

/// Serves all receivers, and tells how long after its event each healthy one heard of it.
async fn receive(told: mpsc::UnboundedSender<Duration>) -> Result<u16> {
    let listener = TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, told.clone()));
        }
    });
    Ok(port)
}

async fn answer(mut stream: TcpStream, told: mpsc::UnboundedSender<Duration>) -> Result<()> {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    let clock = Clock::wall();
    let mut buffer = Vec::with_capacity(4_096);
    while read_message(&mut stream, &mut buffer).await? {
        if buffer.starts_with(b"POST /dead ") {
            tokio::time::sleep(Duration::from_secs(60)).await;
            return Ok(());
        }
        if buffer.starts_with(b"POST /slow ") {
            tokio::time::sleep(Duration::from_millis(2_900)).await;
        } else {
            let head = String::from_utf8_lossy(&buffer);
            let id = head
                .lines()
                .find_map(|line| line.strip_prefix("webhook-id: "))
                .context("a webhook without an id")?;
            let id: EventId = id.trim().parse()?;
            let millis = i64::try_from(id.ulid().timestamp_ms())?;
            let at = Timestamp::from_micros(millis.saturating_mul(1_000));
            let _ = told.send(clock.now().since(at));
        }
        stream.write_all(OK).await?;
    }
    Ok(())
}

fn payment(webhook: &Webhook, ids: &Ids, now: Timestamp) -> Transaction {
    let customer = Customer {
        id: CustomerId::new(ids.ulid(now)),
        first_name: "Awa".to_owned(),
        last_name: "Diop".to_owned(),
        email: "awa@example.com".to_owned(),
        phone: None,
        address: None,
        city: None,
        state: None,
        country_code: None,
        zip_code: None,
        created_at: now,
        updated_at: now,
    };
    let new = NewTransaction {
        id: TransactionId::Payment(PaymentId::new(ids.ulid(now))),
        app: webhook.app,
        environment: Environment::Live,
        amount: amount(2_500, "USD"),
        description: "Two coffees".to_owned(),
        customer,
        metadata: BTreeMap::new(),
        details: Details::Payment(PaymentDetails {
            return_url: "https://shop.example/return".to_owned(),
            methods: Vec::new(),
            restriction: None,
            attempts_allowed: 1,
            expires_at: now.plus(Duration::from_secs(1_800)),
        }),
        context: ClientContext::default(),
    };
    initiate(new, now).0
}
