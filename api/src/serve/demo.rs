//! Demo data of development mode: a month of sandbox payments and payouts, made through the test
//! gateway by an engine whose clock runs through that month.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context as _;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{ClientContext, State};
use switchyard_engine::access::{AccessError, App, AppChange, AppSettings, Vault};
use switchyard_engine::engine::{ConfirmRequest, Engine, NewPayment, NewPayout};
use switchyard_engine::hold::Reasons;
use switchyard_records::NewCustomer;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

use super::{Loss, open_store, start_engine};
use crate::config::Settings;
use crate::operator::trigger::{PAYMENT_FAILS, PAYMENT_PENDING, PAYOUT_FAILS, SUCCEEDS, settled};

/// Number of transactions.
const COUNT: u32 = 300;
const DAYS: u64 = 30;

/// A method with its country, its currency and a common amount in minor units.
type Offer = (&'static str, &'static str, &'static str, i64);

const OFFERS: [Offer; 6] = [
    ("mtn_bj", "BJ", "XOF", 7_500),
    ("orange_sn", "SN", "XOF", 12_000),
    ("mpesa_ke", "KE", "KES", 185_000),
    ("mtn_gh", "GH", "GHS", 14_500),
    ("card_usd", "US", "USD", 4_200),
    ("wave_ci", "CI", "XOF", 5_000),
];
const CUSTOMERS: [(&str, &str); 12] = [
    ("Awa", "Diop"),
    ("Kofi", "Mensah"),
    ("Grace", "Wanjiru"),
    ("Fatou", "Ndiaye"),
    ("Chinedu", "Okafor"),
    ("Amina", "Traoré"),
    ("Jean-Baptiste", "Houngbédji"),
    ("Akosua", "Boateng"),
    ("Peter", "Kamau"),
    ("Mariam", "Coulibaly"),
    ("Ngozi", "Eze"),
    ("Ousmane", "Sarr"),
];
const GOODS: [&str; 5] = [
    "Tea and cups",
    "School books",
    "Solar lamp",
    "Rice, 25 kg",
    "Bus ticket",
];

/// End of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Success,
    Failed,
    /// The provider does not report a result.
    Pending,
    Cancelled,
    /// Not confirmed by the payer.
    Abandoned,
}

/// Fills a new data folder. Does nothing when the folder has a store.
///
/// # Errors
/// When the engine cannot start, or refuses a transaction.
pub async fn fill(settings: &Settings, vault: Vault, ids: Ids) -> anyhow::Result<()> {
    if settings.store_path().exists() {
        tracing::warn!("demo data not made, the data folder has a store already");
        return Ok(());
    }
    let end = Clock::wall().now().minus(Duration::from_secs(60));
    let begin = end.minus(Duration::from_secs(DAYS * 24 * 3_600));
    let clock = Clock::manual(begin);
    let store = open_store(settings, Loss::Refuse)?;
    let parts = (store, Reasons::default());
    let (engine, keys, _folder) = start_engine(settings, parts, vault, ids, clock.clone()).await?;
    let app = keys.context("development mode has seeded keys")?.app;
    // Customers of the past get no mails today.
    notify_customers(&engine, app, false).await?;
    for number in 0..COUNT {
        let at = begin.plus(time_of(number));
        clock.advance(at.since(clock.now()));
        let made = make(&engine, &clock, app, number).await;
        made.with_context(|| format!("cannot make transaction {number} of the demo data"))?;
    }
    clock.advance(end.since(clock.now()));
    notify_customers(&engine, app, true).await?;
    engine.stop(Duration::from_secs(10)).await;
    Ok(())
}

async fn notify_customers(engine: &Engine, app: AppId, is_on: bool) -> anyhow::Result<()> {
    let change = |app: &App| {
        Ok::<_, AccessError>(AppChange {
            settings: Some(AppSettings {
                notify_customer: is_on,
                ..app.settings.clone()
            }),
            ..AppChange::default()
        })
    };
    engine.access().update_app_as(app, change).await?;
    Ok(())
}

/// Time of a transaction after the beginning: more by day than by night.
fn time_of(number: u32) -> Duration {
    let minutes = DAYS * 24 * 60 * u64::from(number) / u64::from(COUNT);
    let (day, minute) = (minutes / (24 * 60), minutes % (24 * 60));
    // From 24 hours to the 14 between 7 and 21 o'clock.
    let minute = 7 * 60 + minute * 14 / 24;
    Duration::from_secs((day * 24 * 60 + minute) * 60 + u64::from(number * 37 % 60))
}

async fn make(engine: &Engine, clock: &Clock, app: AppId, number: u32) -> anyhow::Result<()> {
    let caller = engine.access().on_behalf_of(app, Environment::Sandbox);
    let caller = caller.context("the app of development mode")?;
    let end = end_of(number);
    let offer = OFFERS[number as usize % OFFERS.len()];
    let id = match is_payout(number) {
        true => {
            let new = payout(offer, number, end)?;
            engine.initialize_payout(&caller, new, None).await?.id
        }
        false => {
            let new = payment(engine, offer, number)?;
            let payment = engine.initialize_payment(&caller, new, None).await?;
            clock.advance(Duration::from_secs(u64::from(20 + number * 7 % 100)));
            pay(engine, payment.id, offer, end).await?;
            payment.id
        }
    };
    clock.advance(Duration::from_secs(u64::from(3 + number * 11 % 40)));
    if !matches!(end, End::Pending | End::Abandoned) {
        settled(engine, id).await?;
    }
    Ok(())
}

/// Does what the payer does.
async fn pay(engine: &Engine, id: TransactionId, offer: Offer, end: End) -> anyhow::Result<()> {
    let number = match end {
        End::Abandoned => return Ok(()),
        End::Cancelled => {
            engine.cancel(id).await?;
            return Ok(());
        }
        End::Success => SUCCEEDS,
        End::Failed => PAYMENT_FAILS,
        End::Pending => PAYMENT_PENDING,
    };
    loop {
        let after = engine.confirm(id, choice(offer, number)).await?;
        // Declined attempts are repeated until the app allows no further one.
        if end != End::Failed || after.state != State::AwaitingCustomer {
            return Ok(());
        }
    }
}

fn payment(engine: &Engine, offer: Offer, number: u32) -> anyhow::Result<NewPayment> {
    Ok(NewPayment {
        amount: amount(offer, number)?,
        description: GOODS[number as usize % GOODS.len()].to_owned(),
        return_url: format!("{}/healthz", engine.settings().public_url),
        customer: customer(number),
        metadata: BTreeMap::from([("order".to_owned(), (10_000 + number).to_string())]),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    })
}

fn payout(offer: Offer, number: u32, end: End) -> anyhow::Result<NewPayout> {
    let recipient = match end {
        End::Failed => PAYOUT_FAILS,
        _ => SUCCEEDS,
    };
    // Payouts have methods of mobile money only.
    let offer = match offer.0 {
        "card_usd" => OFFERS[0],
        _ => offer,
    };
    Ok(NewPayout {
        amount: amount(offer, number)?,
        description: "Weekly earnings".to_owned(),
        method: offer.0.to_owned(),
        recipient: BTreeMap::from([("msisdn".to_owned(), recipient.to_owned())]),
        customer: customer(number + 5),
        metadata: BTreeMap::from([("batch".to_owned(), (100 + number / 10).to_string())]),
        context: ClientContext::default(),
    })
}

fn choice((method, country, ..): Offer, number: &str) -> ConfirmRequest {
    ConfirmRequest {
        method: method.to_owned(),
        country: Some(country.to_owned()),
        phone: Some(format!("+1{number}")),
        fields: BTreeMap::from([("msisdn".to_owned(), number.to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}

fn customer(number: u32) -> NewCustomer {
    let (first, last) = CUSTOMERS[number as usize * 5 % CUSTOMERS.len()];
    let letters = |text: &str| {
        text.chars()
            .filter(char::is_ascii_alphabetic)
            .collect::<String>()
    };
    NewCustomer {
        first_name: first.to_owned(),
        last_name: last.to_owned(),
        // A reserved name: no mail reaches anybody.
        email: format!("{}.{}@example.com", letters(first), letters(last)).to_lowercase(),
        ..NewCustomer::default()
    }
}

/// Between half and twice the common amount.
fn amount((.., currency, common): Offer, number: u32) -> anyhow::Result<Amount> {
    let currency = Currency::from_code(currency).context("a currency of the table")?;
    let parts = i64::from(5 + number * 7 % 16);
    Ok(Amount::from_minor(common / 10 * parts, currency))
}

const fn is_payout(number: u32) -> bool {
    number % 5 == 4
}

/// Most succeed. Two payments of the last days are pending.
const fn end_of(number: u32) -> End {
    match number {
        number if is_payout(number) && number % 60 == 59 => End::Failed,
        number if is_payout(number) => End::Success,
        287 | 292 => End::Pending,
        _ => match number % 20 {
            3 => End::Abandoned,
            11 => End::Cancelled,
            6 | 17 => End::Failed,
            _ => End::Success,
        },
    }
}
