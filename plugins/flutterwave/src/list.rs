//! Pages of charges and of transfers.
//!
//! Flutterwave filters by days, and its pages are numbered and hold ten rows. So a page of ours is
//! made of several of them, without the rows outside of the span. Its days may be those of UTC or
//! of Lagos, one hour ahead.

use serde::de::DeserializeOwned;
use switchyard_gateway::{
    Direction, Fault, FaultKind, List, ListedTransaction, Moment, TransactionPage,
};

use crate::api::Api;
use crate::charges::Charge;
use crate::transfers::Transfer;

/// The page that the cursor numbers.
pub async fn page(api: &Api<'_>, ask: &List) -> Result<TransactionPage, Fault> {
    match ask.direction {
        Direction::Collect => rows(api, ask, "/transactions", Charge::listed).await,
        Direction::Payout => rows(api, ask, "/transfers", Transfer::listed).await,
    }
}

async fn rows<T: DeserializeOwned>(
    api: &Api<'_>,
    ask: &List,
    path: &str,
    listed: impl Fn(T) -> ListedTransaction,
) -> Result<TransactionPage, Fault> {
    let first = match &ask.cursor {
        Some(cursor) => page_number(cursor)?,
        None => 1,
    };
    let (from, to) = days(ask)?;
    let mut found = TransactionPage::default();
    for number in first..first.saturating_add(PAGES) {
        let path = format!("{path}?from={from}&to={to}&page={number}");
        let page = api.page::<T>(&path).await?;
        for row in page.data.into_iter().map(&listed) {
            // A row without a time could be one of the span.
            Moment::parse(&row.created_at)
                .map_err(|_| Fault::provider("Flutterwave lists a row without a time in UTC"))?;
            if ask.contains(&row.created_at) {
                found.transactions.push(row);
            }
        }
        if number >= page.pages {
            return Ok(found);
        }
    }
    found.next = Some(first.saturating_add(PAGES).to_string());
    Ok(found)
}

fn page_number(cursor: &str) -> Result<u32, Fault> {
    let number = cursor.parse().ok().filter(|number| *number > 0);
    let why = "the cursor is no number of a page";
    number.ok_or_else(|| Fault::new(FaultKind::Message, why))
}

/// The first and the last day that can have a part of the span.
fn days(ask: &List) -> Result<(String, String), Fault> {
    let (from, until) = ask.span()?;
    let day = |seconds: i64| -> Result<String, Fault> {
        let text = Moment::from_unix_seconds(seconds)?.to_string();
        Ok(text.chars().take(DAY_CHARACTERS).collect())
    };
    let until = until.unix_seconds().saturating_add(LAGOS_S);
    Ok((day(from.unix_seconds())?, day(until)?))
}

/// Pages of Flutterwave in one of ours. A call may have sixteen effects.
const PAGES: u32 = 10;
/// Of `2026-11-20`.
const DAY_CHARACTERS: usize = 10;
/// Difference between the time of Lagos and UTC.
const LAGOS_S: i64 = 60 * 60;
