//! An engine with receivers, and events for them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{CustomerId, EventId, PaymentId, TransactionId};
use switchyard_core::limits::WEBHOOKS_PER_APP;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    ClientContext, Customer, Details, EventName, NewTransaction, PaymentDetails, Transaction,
    initiate,
};
use switchyard_engine::access::{NewApp, NewWebhook, RetryProfile, Webhook, WebhookOptions};
use switchyard_engine::engine::EngineSettings;
use switchyard_engine::testing::{TestEngine, amount};
use switchyard_engine::webhook::{self, WebhookSettings};
use switchyard_store::Batch;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

use super::receivers::{DEAD, GOOD, Receivers};
use crate::subject;

/// Events written in one commit, as the engine's group commit writes them under load.
pub const TOGETHER: usize = 20;

pub struct World {
    pub bench: TestEngine,
    pub receivers: Receivers,
    webhooks: Vec<Arc<Webhook>>,
    ids: Ids,
    next: usize,
}

/// Events that were put into the outbox.
#[derive(Default)]
pub struct Put {
    pub queued: Vec<webhook::Queued>,
    /// Events of good receivers.
    pub events: Vec<EventId>,
    pub good: usize,
    /// How many go to dead ones.
    pub dead: usize,
}

impl World {
    /// `manner`: the path of the receiver with that number.
    pub async fn start(
        dir: &Path,
        count: usize,
        settings: WebhookSettings,
        retry: RetryProfile,
        manner: fn(usize) -> &'static str,
    ) -> Result<Self> {
        let settings = EngineSettings {
            webhook: WebhookSettings {
                allow_private: true,
                ..settings
            },
            ..EngineSettings::default()
        };
        let bench = subject::start_with(dir, settings).await?;
        let receivers = Receivers::start().await?;
        let mut webhooks = Vec::with_capacity(count);
        let account = bench.engine.access().create_account("TestEngine").await?;
        let mut app = bench.keys.app;
        for number in 0..count {
            if number.is_multiple_of(WEBHOOKS_PER_APP) {
                let new = NewApp {
                    account: account.id,
                    name: format!("Shop {number}"),
                    icon_url: None,
                    website_url: None,
                    settings: Default::default(),
                };
                app = bench.engine.access().create_app(new).await?.id;
            }
            let host = Ipv4Addr::from(0x7f01_0000 + u32::try_from(number)?);
            let new = NewWebhook {
                app,
                url: format!("http://{host}:{}{}", receivers.port, manner(number)),
                secret: None,
                options: WebhookOptions {
                    retry: retry.clone(),
                    ..WebhookOptions::default()
                },
            };
            webhooks.push(bench.engine.access().create_webhook(new).await?);
        }
        Ok(Self {
            bench,
            receivers,
            webhooks,
            ids: Ids::system(),
            next: 0,
        })
    }

    /// The addresses of the good receivers, one after the other.
    pub fn good(&self) -> Vec<String> {
        let urls = self.webhooks.iter().map(|webhook| webhook.url.clone());
        urls.filter(|url| url.ends_with(GOOD)).collect()
    }

    /// A body as it is sent.
    pub fn body(&self) -> Vec<u8> {
        let now = Clock::wall().now();
        let tx = payment(&self.webhooks[0], &self.ids, now);
        let name = EventName::PaymentInitiated;
        webhook::body(&tx, name, webhook::event_id(tx.id, name, now))
    }

    /// Puts events into the outbox, for one receiver after the other.
    pub async fn put(&mut self, events: usize) -> Result<Put> {
        let now = Clock::wall().now();
        let mut put = Put::default();
        let mut batch = Batch::new();
        for event in 1..=events {
            let webhook = &self.webhooks[self.next % self.webhooks.len()];
            self.next += 1;
            let is_good = webhook.url.ends_with(GOOD);
            put.good += usize::from(is_good);
            put.dead += usize::from(webhook.url.ends_with(DEAD));
            let tx = payment(webhook, &self.ids, now);
            let name = EventName::PaymentInitiated;
            let id = webhook::event_id(tx.id, name, now);
            put.events.extend(is_good.then_some(id));
            let to = std::slice::from_ref(webhook);
            let queued = webhook::enqueue(&mut batch, to, &tx, name, id, now);
            put.queued.extend(queued);
            if event % TOGETHER == 0 || event == events {
                let full = std::mem::replace(&mut batch, Batch::new());
                self.bench.engine.store().commit(full).await?;
            }
        }
        Ok(put)
    }
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
            expires_at: now.plus(std::time::Duration::from_secs(1_800)),
        }),
        context: ClientContext::default(),
    };
    initiate(new, now).0
}
