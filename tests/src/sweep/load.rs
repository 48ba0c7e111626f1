//! Merchants and payers that send requests at a steady rate, whether or not the server is up.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::client::{Answer, Client, HttpError, payment, payout};
use crate::{PAYS, eventually};

/// Generous timeout, not a measurement.
const GOES_ON_WITHIN: Duration = Duration::from_secs(120);
/// Maximum concurrent turns, so that a hanging server does not accumulate clients without limit.
const AT_ONCE: usize = 400;

/// Behavior of the provider at each of the two connections, for ten orders in turn. The end does
/// not depend on which connection comes first.
const WORDS: [&str; 10] = [
    "ok ok",
    "signed signed",
    "refused ok",
    "ok ok",
    "lost_done ok",
    "ok ok",
    "no no",
    "hint hint",
    "busy ok",
    "ok ok",
];

/// Orders from this number on are large and unpaid.
const FLOOD: u64 = 1 << 40;
/// Maximum orders of one flood: more than any store's disk reserve can hold.
const FLOOD_ORDERS: u64 = 100_000;

/// Required end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Success,
    Failed,
    /// Unpaid.
    Initiated,
}

/// Promise made by a 201.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    pub order: u64,
    pub fate: Fate,
    /// Whether the engine has accepted the work: by a payout's 201, or at the end of the page's
    /// forms.
    pub under_way: bool,
}

/// Knowledge of the clients.
#[derive(Default)]
pub struct Told {
    /// Promises by id.
    pub made: BTreeMap<String, Promise>,
    /// Payments whose payer has not yet completed the forms and will return.
    pub payers: VecDeque<String>,
    /// Orders without an answer or with a 503 or 409. They are sent again with the same key.
    pub again: VecDeque<Order>,
    pub counts: Counts,
    /// Send time of each order that was answered with 201, and its response time.
    pub answered: Vec<(Instant, Duration)>,
    /// Responses that no client should ever get.
    pub broken: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Ticks at which an order was due.
    pub offered: u64,
    /// Orders that found the port closed.
    pub turned_away: u64,
    /// Responses with 503 or 409.
    pub refused: u64,
    /// Orders without a response. They are sent again with the same key.
    pub unanswered: u64,
    /// Orders that were not sent because the maximum of concurrent turns was reached.
    pub withheld: u64,
}

/// Order, identified by its number, which determines the body and the idempotency key.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    number: u64,
    /// Whether an earlier request may have reached the server.
    may_be_known: bool,
}

impl Order {
    fn is_payout(self) -> bool {
        self.number < FLOOD && self.number.is_multiple_of(2)
    }

    fn words(self) -> &'static str {
        WORDS[(self.number / 2) as usize % WORDS.len()]
    }

    fn fate(self) -> Fate {
        match self.words() {
            _ if self.number >= FLOOD || self.number % 16 == 15 => Fate::Initiated,
            "no no" => Fate::Failed,
            _ => Fate::Success,
        }
    }

    fn path_and_body(self) -> (&'static str, Value) {
        let description = format!("{} order {}", self.words(), self.number);
        if self.number >= FLOOD {
            let mut body = payment(&description);
            let long = "x".repeat(500);
            body["metadata"] = json!({ "a": long, "b": long, "c": long, "d": long });
            return ("/v1/payments/initialize", body);
        }
        match self.is_payout() {
            true => ("/v1/payouts/initialize", payout(&description, PAYS)),
            false => ("/v1/payments/initialize", payment(&description)),
        }
    }
}

/// The clients. Clones share their knowledge.
#[derive(Clone)]
pub struct Load {
    merchant: Client,
    payer: Client,
    /// Number before that of the first order.
    before_first: u64,
    told: Arc<Mutex<Told>>,
    stop: Arc<AtomicBool>,
    pause: Arc<AtomicBool>,
}

impl Load {
    pub fn new(merchant: Client, payer: Client) -> Self {
        Self {
            merchant,
            payer,
            before_first: 0,
            told: Arc::default(),
            stop: Arc::default(),
            pause: Arc::default(),
        }
    }

    /// Starts the order numbers after this one, so that two loads use different keys.
    pub(super) fn numbered_after(self, before_first: u64) -> Self {
        Self {
            before_first,
            ..self
        }
    }

    pub fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops new orders for good.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Pauses or resumes new orders. Orders already sent continue, and so do their payers.
    pub(super) fn pause(&self, is_paused: bool) {
        self.pause.store(is_paused, Ordering::Relaxed);
    }

    /// Sends `rate` orders per second until stopped, then waits until every order is answered and
    /// every payer is served.
    pub async fn run(self, rate: u32) -> anyhow::Result<()> {
        let mut turns = JoinSet::new();
        let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
        tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut next = self.before_first;
        loop {
            tick.tick().await;
            while let Some(ended) = turns.try_join_next() {
                ended?;
            }
            let has_ended = self.stop.load(Ordering::Relaxed);
            if has_ended && turns.is_empty() && self.is_done() {
                return Ok(());
            }
            let goes_on = !has_ended && !self.pause.load(Ordering::Relaxed);
            self.told().counts.offered += u64::from(goes_on);
            if turns.len() >= AT_ONCE {
                self.told().counts.withheld += u64::from(goes_on);
                continue;
            }
            let again = self.told().again.pop_front();
            let order = again.or_else(|| {
                goes_on.then(|| {
                    next += 1;
                    Order {
                        number: next,
                        may_be_known: false,
                    }
                })
            });
            if let Some(order) = order {
                let load = self.clone();
                turns.spawn(async move { load.place(order).await });
            }
            let comes_back = self.told().payers.pop_front();
            if let Some(id) = comes_back {
                let load = self.clone();
                turns.spawn(async move { load.come_to_pay(id).await });
            }
        }
    }

    /// Fills the disk with unpaid orders until the server refuses more. `number`: a different one
    /// for each flood.
    pub async fn flood(&self, number: u64) -> anyhow::Result<()> {
        let refused = self.told().counts.refused;
        let first = FLOOD + number * FLOOD_ORDERS;
        for number in first..first + FLOOD_ORDERS {
            let order = Order {
                number,
                may_be_known: false,
            };
            self.place(order).await;
            if self.told().counts.refused > refused {
                return Ok(());
            }
        }
        anyhow::bail!("{FLOOD_ORDERS} long orders fit on a full disk")
    }

    /// Adds an order placed elsewhere to the promises, as one that remains unpaid.
    pub fn nobody_pays(&self, id: &str) {
        let promise = Promise {
            order: u64::MAX,
            fate: Fate::Initiated,
            under_way: false,
        };
        self.told().made.insert(id.to_owned(), promise);
    }

    /// Waits until this many more orders have been promised.
    pub async fn goes_on(&self, orders: usize) -> anyhow::Result<()> {
        let before = self.told().made.len();
        eventually("orders are taken", GOES_ON_WITHIN, async || {
            Ok((self.told().made.len() >= before + orders).then_some(()))
        })
        .await
    }

    fn is_done(&self) -> bool {
        let told = self.told();
        told.again.is_empty() && told.payers.is_empty()
    }

    async fn place(&self, order: Order) {
        let (path, body) = order.path_and_body();
        let key = format!("order-{}", order.number);
        let sent = Instant::now();
        let answer = self.merchant.post_keyed(path, &body, &key).await;
        if answer.as_ref().is_ok_and(|answer| answer.status == 201) {
            self.told().answered.push((sent, sent.elapsed()));
        }
        let id = match self.read(order, answer) {
            Some(id) if order.fate() != Fate::Initiated && !order.is_payout() => id,
            _ => return,
        };
        self.come_to_pay(id).await;
    }

    /// Repeats the order of a promise with the same key, and returns the id in the response.
    pub(super) async fn repeats(&self, promise: Promise) -> anyhow::Result<String> {
        let order = Order {
            number: promise.order,
            may_be_known: true,
        };
        let (path, body) = order.path_and_body();
        let key = format!("order-{}", order.number);
        let answer = self.merchant.post_keyed(path, &body, &key).await?;
        Ok(answer.expect(201)?.data("id")?.to_owned())
    }

    /// Returns the transaction's id, if the response has one.
    fn read(&self, order: Order, answer: anyhow::Result<Answer>) -> Option<String> {
        let mut told = self.told();
        match answer {
            Ok(answer) if answer.status == 201 => {
                let id = answer.data("id").map(str::to_owned).unwrap_or_default();
                let promise = Promise {
                    order: order.number,
                    fate: order.fate(),
                    under_way: order.is_payout(),
                };
                let earlier = told.made.insert(id.clone(), promise);
                if earlier.is_some_and(|earlier| earlier.order != order.number) {
                    told.broken.push(format!("{id} was given to two orders"));
                }
                Some(id)
            }
            // 503: nothing was created. 409: an earlier request is still in flight.
            Ok(answer) if matches!(answer.status, 503 | 409) => {
                told.counts.refused += 1;
                told.again.push_back(order);
                None
            }
            Ok(answer) => {
                let wrong = format!("order {}: {} {}", order.number, answer.status, answer.body);
                told.broken.push(wrong);
                None
            }
            Err(error) if !order.may_be_known && never_left(&error) => {
                told.counts.turned_away += 1;
                None
            }
            Err(error) => {
                told.counts.unanswered += u64::from(!never_left(&error));
                told.again.push_back(Order {
                    may_be_known: true,
                    ..order
                });
                None
            }
        }
    }

    /// Takes the payer through the page from its current step. The payer returns later if that is
    /// not possible now.
    pub(super) async fn come_to_pay(&self, id: String) {
        let paid = pays(&self.payer, &id).await;
        let mut told = self.told();
        match paid {
            Ok(Page::Typed) => {
                if let Some(promise) = told.made.get_mut(&id) {
                    promise.under_way = true;
                }
            }
            Ok(Page::Later) => told.payers.push_back(id),
            Ok(Page::Wrong(status)) => told.broken.push(format!("the page of {id}: {status}")),
            Err(_) => told.payers.push_back(id),
        }
    }
}

fn never_left(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<HttpError>()
        .is_some_and(HttpError::is_connect)
}

/// Result of the forms.
enum Page {
    /// The engine is processing the payment, or the payment has ended.
    Typed,
    Later,
    Wrong(u16),
}

/// Submits the two forms of the page, as a browser without scripts does. Repeating them is
/// harmless: where the page no longer asks, they redirect to the current step. An error means that
/// the server is gone.
async fn pays(payer: &Client, id: &str) -> anyhow::Result<Page> {
    let details = [
        ("country", "US"),
        ("method", "switchyard_payment_demo"),
        ("msisdn", PAYS),
    ];
    let path = format!("/checkout/{id}/details");
    let mut place = match leads_to(payer, &path, &details).await? {
        Ok(place) => place,
        Err(page) => return Ok(page),
    };
    if let Some((_, answers)) = place.split_once("/confirm?a=") {
        let form = [("a", answers)];
        place = match leads_to(payer, &format!("/checkout/{id}/confirm"), &form).await? {
            Ok(place) => place,
            Err(page) => return Ok(page),
        };
    }
    Ok(
        match place.ends_with("/result") || place.ends_with("/wait") {
            true => Page::Typed,
            false => Page::Later,
        },
    )
}

/// Returns the path to which a form redirects.
async fn leads_to(
    payer: &Client,
    path: &str,
    form: &[(&str, &str)],
) -> anyhow::Result<Result<String, Page>> {
    let answer = payer.post_form(path, form).await?;
    Ok(match answer.status().as_u16() {
        303 => {
            let place = answer.headers().get("location").context("a location")?;
            Ok(place.to_str()?.to_owned())
        }
        503 => Err(Page::Later),
        other => Err(Page::Wrong(other)),
    })
}
