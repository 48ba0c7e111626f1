//! Page of one payment or payout: status, money, attempts, customer and timeline.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use switchyard_core::charge::Charge;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{Attempt, AttemptState, Kind, State as Stage, Transaction};
use switchyard_users::Action;

use super::case_names::second_payments;
use super::frame::Frame;
use super::installation::resolution::can_resolve;
use super::labels::{self, Badge, Sum};
use super::list::segment;
use super::page::{Failed, Page, Scoped};
use super::text::Text;
use super::timeline::{self, Entry};
use super::{answer, shown};
use crate::operations::note_transaction;
use crate::operator::full_view;
use crate::privacy;

#[derive(Template)]
#[template(path = "console/transaction.html")]
struct Shown {
    frame: Frame,
    list: Link,
    sum: Sum,
    badge: Badge,
    money: String,
    description: String,
    detail: Option<String>,
    /// Whether a case is open, which the detail then names.
    has_case: bool,
    /// Second payments, which are to be returned.
    second_payments: Vec<String>,
    attempts: Vec<AttemptRow>,
    entries: Vec<Entry>,
    rows: Vec<Row>,
    customer: Vec<Row>,
    /// Page of the customer. `None`: the personal data was erased.
    customer_page: Option<String>,
    ids: Vec<Row>,
    metadata: Vec<Row>,
    checkout: Option<String>,
    actions: Vec<ActionButton>,
    /// Page of the manual resolution, for operators.
    resolve: Option<String>,
}

/// Button of an action on the transaction.
struct ActionButton {
    /// Value of the field `do`.
    name: &'static str,
    label: String,
    hint: String,
    is_danger: bool,
}

struct Link {
    href: String,
    name: String,
}

/// Name and value.
struct Row {
    name: String,
    value: String,
    is_total: bool,
}

struct AttemptRow {
    number: usize,
    gateway: String,
    badge: Badge,
    said: String,
    method: String,
}

/// App, environment and id in the address of a transaction's page.
pub type TransactionPath = Path<(String, String, String)>;

/// `GET /console/apps/{app}/{environment}/payments/{id}`
pub async fn payment(Scoped(page): Scoped, Path((.., id)): TransactionPath) -> Response {
    let found = show(&page, Kind::Payment, &id).await;
    answer(&page, found)
}

/// `GET /console/apps/{app}/{environment}/payouts/{id}`
pub async fn payout(Scoped(page): Scoped, Path((.., id)): TransactionPath) -> Response {
    let found = show(&page, Kind::Payout, &id).await;
    answer(&page, found)
}

async fn show(page: &Page, kind: Kind, id: &str) -> Result<Response, Failed> {
    page.permit(Action::ViewPayments)?;
    let tx = one_of_scope(page, kind, id).await?;
    let recorded = full_view(page.state.api(), tx.id).await;
    let mut recorded = recorded.map_err(|_| Failed::Unavailable)?;
    if !page.may(Action::ViewRouting) {
        privacy::hide_routing(&mut recorded);
    }
    let may_see = page.may(Action::ViewPersonalData);
    let entries = timeline::entries(&recorded.timeline, &tx, page.text(), may_see);
    Ok(shown(page, &view(page, &tx, entries, may_see)))
}

/// The transaction, if it is one of the page's app and environment.
pub async fn one_of_scope(page: &Page, kind: Kind, id: &str) -> Result<Arc<Transaction>, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let id: TransactionId = id.parse().map_err(|_| Failed::NotFound)?;
    note_transaction(id);
    let found = page.state.engine().transaction(id).await?;
    found
        .filter(|tx| tx.app == scope.app.id && tx.environment == scope.environment)
        .filter(|tx| tx.kind() == kind)
        .ok_or(Failed::NotFound)
}

fn view(page: &Page, tx: &Transaction, entries: Vec<Entry>, may_see: bool) -> Shown {
    let (text, name) = (page.text(), segment(tx.kind()));
    let is_waiting = tx.kind() == Kind::Payment && !tx.state.is_final();
    Shown {
        frame: page.frame(&format!("console-one-{name}"), name),
        list: Link {
            href: page.in_scope(name),
            name: text.say(&format!("console-{name}")),
        },
        sum: Sum::new(tx.amount, text),
        badge: labels::badge(tx, text),
        money: labels::about_money(tx, text),
        description: tx.description.clone(),
        detail: labels::detail(tx, text),
        has_case: tx.attention().is_some(),
        second_payments: second_payments(tx, page.state.engine().directory(), text),
        attempts: attempts(page, tx),
        entries,
        rows: money_rows(tx, text),
        customer: customer(tx, text, may_see),
        customer_page: customer_page(page, tx),
        ids: ids(tx, text),
        metadata: tx
            .metadata
            .iter()
            .map(|(name, value)| row(name.clone(), value.clone()))
            .collect(),
        actions: actions(page, tx),
        resolve: (can_resolve(tx) && page.may(Action::ResolveManually))
            .then(|| page.link(&format!("installation/transactions/{}/resolve", tx.id))),
        checkout: is_waiting.then(|| page.state.checkout_url(tx.id)),
    }
}

/// The actions that the state and the reader's role allow.
fn actions(page: &Page, tx: &Transaction) -> Vec<ActionButton> {
    let text = page.text();
    let is_at_provider = tx.has_open_attempt() || tx.state == Stage::OnHold;
    let mut actions = Vec::new();
    if is_at_provider && page.may(Action::QueryProvider) {
        actions.push(ActionButton {
            name: "check",
            label: text.say("console-action-check"),
            hint: text.say("console-action-check-hint"),
            is_danger: false,
        });
    }
    let can_cancel = match tx.kind() {
        Kind::Payment => !tx.state.is_final() && tx.state != Stage::OnHold && !tx.is_held(),
        Kind::Payout => tx.state == Stage::AwaitingDispatch,
    };
    if can_cancel && page.may(Action::CancelTransaction) {
        let name = segment(tx.kind());
        actions.push(ActionButton {
            name: "cancel",
            label: text.say(&format!("console-action-cancel-{name}")),
            hint: text.say(&format!("console-action-cancel-{name}-hint")),
            is_danger: true,
        });
    }
    actions
}

const fn row(name: String, value: String) -> Row {
    Row {
        name,
        value,
        is_total: false,
    }
}

/// Amounts: asked, received, fees, and the net amount of a success in one currency.
fn money_rows(tx: &Transaction, text: Text) -> Vec<Row> {
    let write = |amount: switchyard_core::money::Amount| amount.with_code(text.language());
    let mut rows = vec![row(text.say("console-asked"), write(tx.amount))];
    rows.extend(conversion_rows(tx, text));
    if let Some(received) = tx.received() {
        let label = match (tx.is_received_sum_disputed(), tx.kind()) {
            (true, _) => "console-reported",
            (false, Kind::Payment) => "console-received",
            (false, Kind::Payout) => "console-paid-out",
        };
        rows.push(row(
            text.say(label),
            received.text(&text.say("console-money-and-unreadable"), write),
        ));
    }
    let paid = tx
        .deciding_attempt()
        .filter(|one| one.state == AttemptState::Succeeded);
    let Some(fees) = paid.and_then(|attempt| attempt.fees) else {
        return rows;
    };
    rows.push(row(text.say("console-fees"), write(fees)));
    let captured = paid.and_then(|attempt| attempt.captured);
    let is_certain = tx.state == Stage::Succeeded && !tx.is_received_sum_disputed();
    let net = captured.filter(|_| is_certain && tx.kind() == Kind::Payment);
    if let Some(net) = net.and_then(|captured| captured.checked_sub(fees)) {
        rows.push(Row {
            name: text.say("console-net"),
            value: write(net),
            is_total: true,
        });
    }
    rows
}

/// The amount that was asked for in the currency of the money, the rate and the mark-up. Empty
/// without a conversion.
fn conversion_rows(tx: &Transaction, text: Text) -> Vec<Row> {
    let (charge, language) = (Charge::of(tx), text.language());
    let Some(rate) = charge.rate(language) else {
        return Vec::new();
    };
    let due = charge.due.with_code(language);
    let mut rows = vec![
        row(text.say("console-converted"), due),
        row(text.say("console-rate"), rate),
    ];
    let markup = charge.markup(language);
    rows.extend(markup.map(|markup| row(text.say("console-markup"), markup)));
    rows
}

fn customer(tx: &Transaction, text: Text, may_see: bool) -> Vec<Row> {
    let customer = &tx.customer;
    let shown = |value: &str| match may_see {
        true => value.to_owned(),
        false => labels::masked(value),
    };
    let name = labels::customer_name(customer, may_see, text);
    let mut rows = vec![row(text.say("console-name-of-customer"), name)];
    if !customer.email.is_empty() {
        rows.push(row(text.say("console-email"), shown(&customer.email)));
    }
    if let Some(phone) = &customer.phone {
        rows.push(row(text.say("console-phone"), shown(phone)));
    }
    rows
}

fn customer_page(page: &Page, tx: &Transaction) -> Option<String> {
    let customer = &tx.customer;
    let is_known = !customer.email.is_empty();
    is_known.then(|| page.in_scope(&format!("customers/{}", customer.id)))
}

fn ids(tx: &Transaction, text: Text) -> Vec<Row> {
    let mut rows = vec![row(text.say("console-id"), tx.id.to_string())];
    for attempt in &tx.attempts {
        rows.push(row(
            text.say("console-reference"),
            attempt.reference.to_string(),
        ));
        if let Some(id) = &attempt.provider_id {
            rows.push(row(text.say("console-provider-id"), id.clone()));
        }
    }
    rows
}

fn attempts(page: &Page, tx: &Transaction) -> Vec<AttemptRow> {
    let text = page.text();
    let row = |(at, attempt): (usize, &Attempt)| AttemptRow {
        number: at + 1,
        gateway: attempt.candidate.gateway_title.clone(),
        badge: attempt_badge(attempt, tx.kind(), text),
        said: provider_text(attempt, text),
        method: labels::method_name(
            page.state.engine().directory(),
            tx.kind(),
            &attempt.method,
            text,
        ),
    };
    tx.attempts.iter().enumerate().map(row).collect()
}

fn attempt_badge(attempt: &Attempt, kind: Kind, text: Text) -> Badge {
    let (class, word, api) = match (attempt.state, kind) {
        (AttemptState::Started, _) => ("waiting", "console-status-provider", "started"),
        (AttemptState::Pending, _) => ("waiting", "console-status-provider", "pending"),
        (AttemptState::InDoubt, _) => ("unknown", "console-status-unknown", "in_doubt"),
        (AttemptState::Succeeded, _) if is_taken_back(attempt) => {
            ("unknown", "console-status-taken-back", "succeeded")
        }
        (AttemptState::Succeeded, Kind::Payment) => ("paid", "console-status-paid", "succeeded"),
        (AttemptState::Succeeded, Kind::Payout) => ("paid", "console-status-sent", "succeeded"),
        (AttemptState::Declined, _) => ("failed", "console-status-declined", "declined"),
        (AttemptState::NotSent, _) => ("cancelled", "console-status-not-sent", "not_sent"),
    };
    Badge {
        class,
        word: text.say(word),
        api,
    }
}

/// Whether the provider took back the charge with which the attempt succeeded.
fn is_taken_back(attempt: &Attempt) -> bool {
    let mut recorded = attempt.charges.iter().filter(|charge| charge.is_recorded);
    recorded.any(|charge| charge.is_taken_back)
}

/// Reason of an attempt's end or doubt, in the provider's words where there are any, and the money
/// of an attempt that ended without a success.
fn provider_text(attempt: &Attempt, text: Text) -> String {
    let decline = Some(decline_text(attempt, text)).filter(|decline| !decline.is_empty());
    let parts = [
        decline,
        money_of_ended(attempt, false, text),
        money_of_ended(attempt, true, text),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// Money that the provider reported for an attempt that ended without a success, and that it did or
/// did not take back.
fn money_of_ended(attempt: &Attempt, is_taken_back: bool, text: Text) -> Option<String> {
    let is_ended = matches!(
        attempt.state,
        AttemptState::Declined | AttemptState::NotSent
    );
    let charges = || {
        let charges = attempt.charges.iter();
        charges.filter(|charge| is_ended && charge.is_taken_back == is_taken_back)
    };
    let amounts = charges().filter_map(|charge| charge.amount);
    let amounts = amounts.map(|amount| amount.with_code(text.language()));
    let is_unreadable = charges().any(|charge| charge.has_unreadable());
    let unreadable = is_unreadable.then(|| text.say("console-money-unreadable"));
    let sums: Vec<_> = amounts.chain(unreadable).collect();
    let (name, received) = match is_taken_back {
        false => ("console-attempt-money", sums.join(" + ")),
        true => ("console-attempt-money-back", sums.join(" + ")),
    };
    (!sums.is_empty()).then(|| text.with(name, &[("received", &received)]))
}

fn decline_text(attempt: &Attempt, text: Text) -> String {
    if let Some(decline) = &attempt.decline {
        let message = decline.provider_message.as_ref();
        let reason = format!("console-decline-{}", decline.reason.as_str());
        return message.cloned().unwrap_or_else(|| text.say(&reason));
    }
    match (&attempt.why, &attempt.provider_status) {
        (Some(why), _) => why.clone(),
        (None, Some(status)) => text.with("console-provider-status", &[("status", status)]),
        (None, None) => String::new(),
    }
}
