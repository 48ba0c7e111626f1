//! Queued mail: its content, fixed when the transaction ended, and its row in the outbox.
//!
//! ```text
//! outbox    m <due 8> <mail 16>            the queued mail as JSON; all mails in order of due time
//! delivery  m <environment> <mail 16>      the mail and its result as JSON, once it has ended
//! ```

use serde::{Deserialize, Serialize};

use super::account_mail::AccountMail;
use super::messages::message;
use super::news::MoneyNews;
use crate::access::App;
use switchyard_core::charge::Charge;
use switchyard_core::directory::phone;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, MailId, TransactionId};
use switchyard_core::language::{Language, without_embeddings};
use switchyard_core::money::Amount;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    Attempt, Case, CaseReason, DeclineReason, Difference, Kind, MailTo, State, Status, TakenBack,
    Transaction,
};
use switchyard_store::{Batch, Key, KeyRange, KeyReader, Table};
use switchyard_system::ids::Ids;

/// Content and recipient of a mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedMail {
    pub id: MailId,
    pub app: AppId,
    pub app_name: String,
    pub transaction: TransactionId,
    pub environment: Environment,
    pub to: Recipient,
    pub address: String,
    pub reply_to: Option<String>,
    pub language: Language,
    pub status: Status,
    /// Amount that was paid or should have been, in the currency of the money, formatted.
    pub amount: String,
    /// Amount that was due, if it differs; normally in the same currency.
    #[serde(default)]
    pub due: Option<String>,
    /// Provider's fee that the customer paid in addition; included in the amount.
    #[serde(default)]
    pub fee: Option<String>,
    /// Received amount, if it is the amount without that fee.
    #[serde(default)]
    pub net: Option<String>,
    /// Requested amount, if its currency differs, with the exchange rate and the merchant's markup.
    #[serde(default)]
    pub asked: Option<String>,
    #[serde(default)]
    pub rate: Option<String>,
    #[serde(default)]
    pub markup: Option<String>,
    /// Certain facts about money that moved.
    #[serde(default)]
    pub money: Money,
    /// Reason for manual review, in a mail about a case.
    #[serde(default)]
    pub case: Option<CaseReason>,
    /// Report on received money, in a mail to the customer about a case.
    #[serde(default)]
    pub news: Option<MoneyNews>,
    /// Difference of the reported amount, in a mail about a case `amount_differs`.
    #[serde(default)]
    pub difference: Option<Difference>,
    /// Second payments, in a mail about a case `paid_twice`.
    #[serde(default)]
    pub second_payments: Vec<SecondPayment>,
    /// Whether the charge of the success was not taken back.
    #[serde(default)]
    pub success_stands: bool,
    /// Amount of a second success that contradicts the recorded one.
    #[serde(default)]
    pub second_report: Option<String>,
    /// Amounts of reports that contradict the received money.
    #[serde(default)]
    pub other_reports: Option<String>,
    /// Whether the received money is that of several charges.
    #[serde(default)]
    pub has_several_charges: bool,
    /// Part of the reported money that the providers took back.
    #[serde(default)]
    pub taken_back: TakenBack,
    /// Whether reports about the received money contradict each other.
    #[serde(default)]
    pub is_disputed: bool,
    /// Open case of the transaction at its end, for the customer's text.
    #[serde(default)]
    pub attention: Option<CaseReason>,
    /// Support contact for the customer, one line.
    #[serde(default)]
    pub support: Option<String>,
    pub description: String,
    pub customer_name: String,
    pub customer_email: String,
    pub method: Option<String>,
    /// Reason of the failure.
    pub reason: Option<String>,
    pub ended_at: Timestamp,
    pub enqueued_at: Timestamp,
    /// Attempts so far.
    pub attempts: u32,
}

/// Shown in place of the recipient's address.
const HIDDEN_ADDRESS: &str = "(address)";

/// Mail in the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum OutboxMail {
    Transaction(Box<QueuedMail>),
    User(AccountMail),
}

impl OutboxMail {
    pub fn read(value: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(value)
    }

    pub fn id(&self) -> MailId {
        match self {
            Self::Transaction(mail) => mail.id,
            Self::User(mail) => mail.id,
        }
    }

    pub fn transaction(&self) -> Option<TransactionId> {
        match self {
            Self::Transaction(mail) => Some(mail.transaction),
            Self::User(_) => None,
        }
    }

    pub fn enqueued_at(&self) -> Timestamp {
        match self {
            Self::Transaction(mail) => mail.enqueued_at,
            Self::User(mail) => mail.enqueued_at,
        }
    }

    /// `text` without the address of the recipient, in any case of its letters.
    pub fn without_address(&self, text: &str) -> String {
        let address = match self {
            Self::Transaction(mail) => &mail.address,
            Self::User(mail) => &mail.address,
        };
        if address.is_empty() {
            return text.to_owned();
        }
        let (mut shown, mut rest) = (String::new(), 0);
        let (lower, wanted) = (text.to_ascii_lowercase(), address.to_ascii_lowercase());
        for (at, _) in lower.match_indices(&wanted) {
            shown.extend([&text[rest..at], HIDDEN_ADDRESS]);
            rest = at + wanted.len();
        }
        shown + &text[rest..]
    }

    /// Counts an attempt, and returns the number of attempts with it.
    pub fn count_attempt(&mut self) -> u32 {
        let attempts = match self {
            Self::Transaction(mail) => &mut mail.attempts,
            Self::User(mail) => &mut mail.attempts,
        };
        *attempts += 1;
        *attempts
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    Merchant,
    Customer,
    /// Merchant, with a preview of the customer's mail (sandbox).
    Preview,
}

/// Certain facts about money that moved for a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Money {
    /// No money moved.
    Nothing,
    /// Providers reported `amount` of `asked`, both formatted.
    Received { amount: String, asked: String },
    /// Providers reported money, of an amount that cannot be read.
    Unreadable,
    #[default]
    Unknown,
}

impl Money {
    fn of(tx: &Transaction, language: Language) -> Self {
        if tx.surely_moved_no_money() {
            return Self::Nothing;
        }
        match tx.received() {
            Some(received) => Self::Received {
                amount: received.text(&message(language, "money-and-unreadable", &[]), |amount| {
                    amount.written(language)
                }),
                asked: received.asked.written(language),
            },
            None if tx.has_unreadable_money() => Self::Unreadable,
            None if tx.taken_back() == TakenBack::All => Self::Unreadable,
            None => Self::Unknown,
        }
    }
}

/// Payment that is to be returned, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondPayment {
    /// Code of the method.
    pub method: String,
    pub amount: String,
    /// Number of the payer, masked.
    pub number: Option<String>,
}

impl SecondPayment {
    fn all_of(tx: &Transaction, language: Language) -> Vec<Self> {
        // Nobody returns a sum that another report contradicts.
        let certain = tx
            .second_payments()
            .filter(|(_, attempt)| !attempt.charges.iter().any(|charge| charge.is_disputed()));
        let payments = certain.map(|(case, attempt)| Self {
            method: attempt.method.clone(),
            amount: written(case.amount, language),
            number: attempt.phone.as_deref().map(phone::masked),
        });
        payments.collect()
    }

    /// The parts that are known, with commas between.
    pub fn text(&self) -> String {
        let parts = [Some(&self.method), Some(&self.amount), self.number.as_ref()];
        let parts: Vec<_> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join(", ")
    }
}

/// Reported amount, or words for one that cannot be read.
fn written(amount: Option<Amount>, language: Language) -> String {
    amount.map_or_else(
        || message(language, "amount-unreadable", &[]),
        |amount| amount.written(language),
    )
}

/// Difference of the latest case `amount_differs`.
fn difference(tx: &Transaction) -> Option<Difference> {
    let mut latest = tx.cases.iter().rev();
    let case = latest.find(|case| case.reason == CaseReason::AmountDiffers)?;
    Difference::of(tx, case)
}

/// Amounts that providers reported beside the recorded ones, in open cases. `None`: there are none,
/// or a later report says the contrary.
fn second_report(tx: &Transaction, language: Language) -> Option<String> {
    let is_open = |case: &&Case| {
        let is_second = case.reason == CaseReason::ContradictingSuccess;
        is_second && case.closed.is_none() && !tx.is_superseded(case)
    };
    let cases = tx.cases.iter().filter(is_open);
    let amounts: Vec<_> = cases.map(|case| written(case.amount, language)).collect();
    (!amounts.is_empty()).then(|| amounts.join("; "))
}

/// Amounts of reports that contradict the received money. `None`: there are none.
fn other_reports(tx: &Transaction, language: Language) -> Option<String> {
    let amounts = tx.contradicting_amounts().into_iter();
    let amounts: Vec<_> = amounts.map(|amount| amount.written(language)).collect();
    (!amounts.is_empty()).then(|| amounts.join(", "))
}

/// Reason of a failure in the language of the mail, with the provider's own words where it gave
/// some. `None`: it has not failed, or money came after that or may have come: then the reason is
/// no longer true. A person's reason is true in a mail about the end, whatever money came before.
fn failure_reason(
    tx: &Transaction,
    case: Option<CaseReason>,
    language: Language,
) -> Option<String> {
    let State::Failed(failure) = &tx.state else {
        return None;
    };
    let words = Some(failure.message.as_str());
    let is_by_person = |attempt: &Attempt| attempt.settled.as_deref() == words;
    let is_certain = tx.surely_moved_no_money();
    if (is_certain || case.is_none()) && tx.attempts.iter().any(is_by_person) {
        return Some(failure.message.clone());
    }
    if !is_certain {
        return None;
    }
    let declines = || {
        tx.attempts
            .iter()
            .filter_map(|attempt| attempt.decline.as_ref())
    };
    let is_stopped = failure.reason == DeclineReason::NotPermitted
        && declines().all(|decline| decline.reason != failure.reason);
    let name = match is_stopped {
        true => "reason-stopped".to_owned(),
        false => format!("reason-{}", failure.reason.as_str()),
    };
    let reason = message(language, &name, &[]);
    let is_said = declines().any(|decline| decline.provider_message.as_deref() == words);
    Some(match is_said {
        true => {
            let values = [("reason", reason.as_str()), ("message", &failure.message)];
            message(language, "reason-said", &values)
        }
        false => reason,
    })
}

/// Mail that was sent or abandoned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentMail {
    pub letter: QueuedMail,
    pub is_sent: bool,
    pub at: Timestamp,
    /// Reason why it was abandoned.
    pub why: Option<String>,
}

/// Adds a mail about the end of `tx` to the batch, if the app wants it and there is an address.
/// Returns the number of mails. The app's settings apply at this time: a later change affects no
/// queued mail. With the mail to the merchant about a case of money, the customer gets one about the same
/// money.
pub fn enqueue(
    batch: &mut Batch,
    app: &App,
    tx: &Transaction,
    to: MailTo,
    now: Timestamp,
    ids: &Ids,
) -> usize {
    let case = match to {
        MailTo::MerchantAboutCase(reason) => Some(reason),
        MailTo::Merchant | MailTo::Customer => None,
    };
    let about = About { case, news: None };
    let mut letters: Vec<_> = letter(app, tx, to, about, now, ids).into_iter().collect();
    if let Some(news) = case.and_then(|reason| MoneyNews::of(tx, reason, now)) {
        let about = About {
            case,
            news: Some(news),
        };
        letters.extend(letter(app, tx, MailTo::Customer, about, now, ids));
    }
    let count = letters.len();
    for letter in letters {
        let key = key(now, letter.id);
        let row = OutboxMail::Transaction(Box::new(letter));
        batch.put(Table::Outbox, key, json(&row));
    }
    count
}

/// Case that a mail is about, and the report on its money to the customer.
struct About {
    case: Option<CaseReason>,
    news: Option<MoneyNews>,
}

/// Builds the mail. `None`: the app does not want it or has no address for it.
fn letter(
    app: &App,
    tx: &Transaction,
    to: MailTo,
    About { case, news }: About,
    now: Timestamp,
    ids: &Ids,
) -> Option<QueuedMail> {
    let settings = &app.settings;
    let (to, address, language) = recipient(app, tx, to)?;
    let charge = Charge::of(tx);
    Some(QueuedMail {
        id: MailId::new(ids.ulid(now)),
        app: app.id,
        app_name: app.name.clone(),
        transaction: tx.id,
        environment: tx.environment,
        to,
        address: address.to_owned(),
        reply_to: settings
            .support_email
            .clone()
            .or_else(|| settings.merchant_email.clone())
            .filter(|_| to != Recipient::Merchant),
        language,
        status: tx.status(),
        amount: charge.amount.written(language),
        due: (charge.due != charge.net()).then(|| charge.due.written(language)),
        fee: charge.fee.map(|fee| fee.written(language)),
        net: charge.fee.map(|_| charge.net().written(language)),
        asked: charge.conversion.map(|_| charge.asked.written(language)),
        rate: charge.rate(language),
        markup: charge.markup(language),
        money: Money::of(tx, language),
        case,
        news,
        difference: case
            .filter(|case| *case == CaseReason::AmountDiffers)
            .and_then(|_| difference(tx)),
        second_payments: match (case, news) {
            (Some(CaseReason::PaidTwice), None) => SecondPayment::all_of(tx, language),
            _ => Vec::new(),
        },
        success_stands: tx.success_stands(),
        second_report: second_report(tx, language),
        other_reports: other_reports(tx, language),
        has_several_charges: tx.has_several_charges(),
        taken_back: tx.taken_back(),
        is_disputed: tx.is_received_sum_disputed(),
        attention: tx.attention(),
        support: settings.support(),
        description: without_embeddings(&tx.description).into_owned(),
        customer_name: without_embeddings(&format!(
            "{} {}",
            tx.customer.first_name, tx.customer.last_name
        ))
        .into_owned(),
        customer_email: tx.customer.email.clone(),
        method: tx.method().map(str::to_owned),
        reason: failure_reason(tx, case, language),
        ended_at: now,
        enqueued_at: now,
        attempts: 0,
    })
}

/// Recipient, address and language of the mail. `None`: the app does not want the mail or has no
/// address for it.
fn recipient<'a>(
    app: &'a App,
    tx: &'a Transaction,
    to: MailTo,
) -> Option<(Recipient, &'a str, Language)> {
    let settings = &app.settings;
    let own_locale = settings.locale.as_deref().and_then(Language::of);
    let own_language = own_locale.unwrap_or(Language::En);
    let payers = tx.context.locale.as_deref().and_then(Language::of);
    let payers_language = payers.unwrap_or(own_language);
    let (merchant, customer) = (settings.merchant_email.as_deref(), &tx.customer.email);
    let is_sandbox = tx.environment == Environment::Sandbox;
    let (to, address, language) = match to {
        MailTo::Merchant | MailTo::MerchantAboutCase(_) if settings.notify_merchant => {
            (Recipient::Merchant, merchant, own_language)
        }
        MailTo::Customer if settings.notify_customer && is_sandbox => {
            (Recipient::Preview, merchant, payers_language)
        }
        MailTo::Customer if settings.notify_customer => (
            Recipient::Customer,
            // Empty once the personal data was erased.
            Some(customer.as_str()).filter(|address| !address.is_empty()),
            payers_language,
        ),
        MailTo::Merchant | MailTo::Customer | MailTo::MerchantAboutCase(_) => return None,
    };
    Some((to, address?, language))
}

impl QueuedMail {
    pub const fn kind(&self) -> Kind {
        Kind::of(self.transaction)
    }
}

/// Outbox key of a mail that is due at `due`.
pub fn key(due: Timestamp, id: MailId) -> Key {
    Key::of(PREFIX).with(due).with(id)
}

/// Key range of the mails that are due at `due` or later.
pub fn range(due: Timestamp) -> KeyRange {
    let mails = Key::of(PREFIX);
    mails.range().starting_at(mails.with(due))
}

/// Due time in an outbox key.
pub fn due(key: &[u8]) -> Option<Timestamp> {
    KeyReader::of(PREFIX, key)?.take()
}

/// Beginning of the keys of the ended mails of an environment.
pub fn ended(environment: Environment) -> Key {
    Key::of(PREFIX).with(environment)
}

pub fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("structs of strings and numbers always print")
}

/// First byte of a mail's keys in the outbox and delivery tables, which webhooks share.
const PREFIX: u8 = b'm';
