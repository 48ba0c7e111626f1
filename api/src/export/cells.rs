//! Cells of an export.

use switchyard_core::money::Amount;
use switchyard_core::transaction::{Attempt, State, Transaction};

use super::columns::Column;

/// Text of a cell. Empty: there is no value.
pub fn cell(column: Column, tx: &Transaction) -> String {
    let attempt = tx.deciding_attempt();
    let of_attempt = |part: fn(&Attempt) -> String| attempt.map(part).unwrap_or_default();
    let fees = attempt.and_then(|attempt| attempt.fees);
    let customer = &tx.customer;
    match column {
        Column::Id => tx.id.to_string(),
        Column::Kind => tx.kind().as_str().to_owned(),
        Column::Status => tx.status().as_str().to_owned(),
        Column::Amount => tx.amount.decimal(),
        Column::Currency => tx.amount.currency().code().to_owned(),
        Column::Received => {
            let unreadable = tx.has_unreadable_money().then_some("unreadable");
            received(tx, Amount::decimal, unreadable)
        }
        Column::ReceivedCurrency => {
            received(tx, |amount| amount.currency().code().to_owned(), None)
        }
        Column::Fees => fees.map(Amount::decimal).unwrap_or_default(),
        Column::FeesCurrency => {
            fees.map_or_else(String::new, |fees| fees.currency().code().to_owned())
        }
        Column::Method => safe(tx.method().unwrap_or_default()),
        Column::Country => of_attempt(|one| safe(one.country.as_deref().unwrap_or_default())),
        Column::Gateway => of_attempt(|one| safe(&one.candidate.gateway)),
        Column::Connection => of_attempt(|one| one.candidate.connection.to_string()),
        Column::Reference => of_attempt(|one| one.reference.to_string()),
        Column::ProviderId => {
            of_attempt(|one| safe(one.provider_id.as_deref().unwrap_or_default()))
        }
        Column::FailureReason => match &tx.state {
            State::Failed(failure) => failure.reason.as_str().to_owned(),
            _ => String::new(),
        },
        Column::Attention => tx
            .attention()
            .map_or("", |reason| reason.as_str())
            .to_owned(),
        Column::Description => safe(&tx.description),
        // JSON, which begins with a brace.
        Column::Metadata => serde_json::to_string(&tx.metadata).unwrap_or_default(),
        Column::CustomerId => customer.id.to_string(),
        Column::FirstName => safe(&customer.first_name),
        Column::LastName => safe(&customer.last_name),
        Column::Email => safe(&customer.email),
        Column::Phone => {
            let phone = attempt.and_then(|attempt| attempt.phone.as_ref());
            safe(phone.or(customer.phone.as_ref()).map_or("", String::as_str))
        }
        Column::CreatedAt => tx.created_at.to_string(),
        Column::UpdatedAt => tx.updated_at.to_string(),
        Column::EndedAt => {
            let ended = tx.success_at.or(tx.failed_at).or(tx.cancelled_at);
            ended.map(|at| at.to_string()).unwrap_or_default()
        }
    }
}

/// A part of each amount that was received and of a payment not taken back, one for each currency,
/// and the word for an amount that cannot be read.
fn received(tx: &Transaction, part: fn(Amount) -> String, unreadable: Option<&str>) -> String {
    let amounts = tx.kept().map(|kept| kept.amounts);
    let parts = amounts.unwrap_or_default().into_iter().map(part);
    let parts: Vec<_> = parts.chain(unreadable.map(str::to_owned)).collect();
    parts.join(";")
}

/// Text with an apostrophe before it if it begins like a formula, so that no spreadsheet reads it
/// as one.
fn safe(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}
