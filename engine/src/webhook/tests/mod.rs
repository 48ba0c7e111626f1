//! Tests of the webhook module with a memory store, a manual clock, and receivers on this machine.

mod delivery;
mod engine;
mod neighbours;
mod options;
mod order;
mod payload;
mod rebinding;
mod receiver;
mod replay;
mod restart;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use self::receiver::Receiver;
use super::*;
use crate::access::{MasterKey, NewApp, NewWebhook, Options, Vault, Webhook, WebhookOptions};
use crate::runtime::ActorThreads;
use crate::testing::{START, amount};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CustomerId, EventId, PaymentId, TransactionId};
use switchyard_core::secret::Secret;
use switchyard_core::transaction::{
    CancelledBy, ClientContext, Customer, Details, Event, EventName, NewTransaction,
    PaymentDetails, Transaction, evolve, initiate,
};
use switchyard_store::{Batch, Direction, Table};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

struct Room {
    store: Store,
    access: Access,
    clock: Clock,
    ids: Ids,
    app: AppId,
    threads: ActorThreads,
    webhooks: Webhooks,
}

impl Room {
    async fn new() -> Self {
        Self::with(
            Store::memory(),
            Clock::manual(START),
            WebhookSettings::default(),
        )
        .await
    }

    async fn with(store: Store, clock: Clock, settings: WebhookSettings) -> Self {
        Self::with_names(store, clock, settings, Resolver::system()).await
    }

    async fn with_names(
        store: Store,
        clock: Clock,
        settings: WebhookSettings,
        names: Resolver,
    ) -> Self {
        let settings = WebhookSettings {
            allow_private: true,
            ..settings
        };
        Self::as_set(store, clock, settings, names).await
    }

    /// Starts with the given settings: they must allow receivers on this machine explicitly.
    async fn as_set(
        store: Store,
        clock: Clock,
        settings: WebhookSettings,
        names: Resolver,
    ) -> Self {
        let ids = Ids::system();
        let master = MasterKey::from_text(&Secret::new("11".repeat(32)), "a test").unwrap();
        let vault = Vault::new(&master, ids.clone());
        let access = Access::load(
            store.clone(),
            vault,
            clock.clone(),
            ids.clone(),
            Options::default(),
        )
        .await
        .unwrap();
        let app = match access.apps(None).first() {
            Some(app) => app.id,
            None => new_app(&access).await,
        };
        let threads = ActorThreads::start().unwrap();
        let dependencies = Dependencies {
            store: store.clone(),
            access: access.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            settings,
            names,
        };
        let webhooks = Webhooks::start(dependencies, threads.arbiter()).unwrap();
        Self {
            store,
            access,
            clock,
            ids,
            app,
            threads,
            webhooks,
        }
    }

    async fn webhook(&self, receiver: &Receiver) -> Arc<Webhook> {
        self.webhook_at(&receiver.url).await
    }

    async fn webhook_with(&self, receiver: &Receiver, options: WebhookOptions) -> Arc<Webhook> {
        self.make_webhook(&receiver.url, options).await
    }

    async fn webhook_at(&self, url: &str) -> Arc<Webhook> {
        self.make_webhook(url, WebhookOptions::default()).await
    }

    async fn make_webhook(&self, url: &str, options: WebhookOptions) -> Arc<Webhook> {
        let new = NewWebhook {
            app: self.app,
            url: url.to_owned(),
            secret: Some(SECRET.into()),
            options,
        };
        self.access.create_webhook(new).await.unwrap()
    }

    /// New payment for the store; its first event is not announced yet.
    fn payment(&self) -> Transaction {
        self.payment_in(Environment::Sandbox)
    }

    fn payment_in(&self, environment: Environment) -> Transaction {
        payment(self.app, environment, &self.ids, self.clock.now())
    }

    /// Announces the start of a payment.
    async fn begin(&self) -> Transaction {
        let tx = self.payment();
        self.announce(&tx, EventName::PaymentInitiated).await;
        tx
    }

    /// Announces the cancellation of the payment.
    async fn end(&self, tx: &Transaction) -> EventId {
        let by = CancelledBy::Customer;
        let ended = evolve(tx.clone(), &Event::Cancelled { by }, self.clock.now());
        self.announce(&ended, EventName::PaymentCancelled).await
    }

    async fn announce(&self, tx: &Transaction, name: EventName) -> EventId {
        let (event, targets) = self.store_only(tx, name).await;
        self.webhooks.nudge(&targets);
        event
    }

    /// Commits the event without a nudge.
    async fn store_only(&self, tx: &Transaction, name: EventName) -> (EventId, Vec<Queued>) {
        let now = self.clock.now();
        let event = event_id(tx.id, name, now);
        let mut batch = Batch::new();
        let webhooks = self.access.enabled_webhooks(self.app);
        let targets = enqueue(&mut batch, &webhooks, tx, name, event, now);
        self.store.commit(batch).await.unwrap();
        (event, targets)
    }

    async fn waiting(&self) -> usize {
        let all = row::all();
        let (start, end) = (all.from(), all.to());
        self.store
            .scan(Table::Outbox, start, end, Direction::Forward, 10_000)
            .await
            .unwrap()
            .len()
    }

    async fn attempts_at(&self, webhook: &Webhook) -> Vec<Attempt> {
        self.webhooks
            .attempts(webhook.id, None, 1_000)
            .await
            .unwrap()
    }

    /// Waits until the log contains at least `times` attempts at the webhook.
    async fn attempted(&self, webhook: &Webhook, times: usize) -> Vec<Attempt> {
        for _ in 0..WAITS {
            let attempts = self.attempts_at(webhook).await;
            if attempts.len() >= times {
                return attempts;
            }
            tokio::time::sleep(WAIT).await;
        }
        panic!("there were never {times} attempts at {}", webhook.url);
    }

    async fn nothing_waits(&self) {
        for _ in 0..WAITS {
            if self.waiting().await == 0 {
                return;
            }
            tokio::time::sleep(WAIT).await;
        }
        panic!("{} deliveries still wait", self.waiting().await);
    }

    /// Waits for a while, so that an unwanted event would have time to happen.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.webhooks.0.queue.stop_now();
        self.threads.stop();
    }
}

async fn new_app(access: &Access) -> AppId {
    let account = access.create_account("Coffee").await.unwrap();
    let new = NewApp {
        account: account.id,
        name: "Shop".to_owned(),
        icon_url: None,
        website_url: None,
        settings: crate::access::AppSettings::default(),
    };
    access.create_app(new).await.unwrap().id
}

fn payment(app: AppId, environment: Environment, ids: &Ids, now: Timestamp) -> Transaction {
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
        app,
        environment,
        amount: amount(2_550, "USD"),
        description: "Two coffees".to_owned(),
        customer,
        metadata: BTreeMap::new(),
        details: Details::Payment(PaymentDetails {
            return_url: "https://shop.example/".to_owned(),
            methods: Vec::new(),
            restriction: None,
            attempts_allowed: 1,
            expires_at: now.plus(Duration::from_secs(1_800)),
        }),
        context: ClientContext::default(),
    };
    initiate(new, now).0
}

/// Interval longer than any retry with its jitter.
const RETRY: Duration = Duration::from_secs(10 * 60 + 5);
const WAIT: Duration = Duration::from_millis(10);
const WAITS: usize = 2_000;
