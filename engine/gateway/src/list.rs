//! Lists of a provider's transactions, for the comparison after a restore: page by page, within
//! limits of pages, transactions and time. A list that reaches a limit says so.

use std::sync::Arc;

use serde_json::Value;
use switchyard_gateway::{List, ListedState, ListedTransaction, Operation, TransactionPage};
use tokio::time::Instant;

use super::ask::Question;
use super::drive;
use super::redact::Redactor;
use super::{Gateways, Version, amounts};
use switchyard_core::environment::Environment;
use switchyard_core::limits::{LIST_PAGES, LIST_TIME, LIST_TRANSACTIONS};
use switchyard_core::money::Amount;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;

/// The transactions of one connection's provider that were created in a span of time.
#[derive(Clone)]
pub struct ListingCall {
    pub gateway: Arc<Version>,
    pub environment: Environment,
    /// The connection's configuration, opened.
    pub config: Value,
    /// Inclusive, in whole seconds.
    pub from: Timestamp,
    /// Exclusive, in whole seconds.
    pub until: Timestamp,
}

/// A transaction that a provider lists. Its texts have no secrets and are cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub kind: Kind,
    pub reference: Option<String>,
    pub provider_id: Option<String>,
    /// `None`: the provider names no plausible amount.
    pub amount: Option<Amount>,
    pub created_at: Timestamp,
    pub state: ListedState,
}

/// Result of a call: each transaction once, in the order of their creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub transactions: Vec<Listed>,
    /// Reason for which it is not all of them.
    pub incomplete: Option<String>,
    pages: usize,
}

impl Gateways {
    /// Lists the payments and the payouts of a span. `Err`: the reason why not one page could be
    /// read, without secrets.
    pub async fn list_transactions(&self, call: &ListingCall) -> Result<Listing, String> {
        let redactor = Redactor::new(&call.gateway.manifest, &call.config);
        let mut listing = Listing::default();
        let deadline = Instant::now() + LIST_TIME;
        for kind in Kind::ALL {
            let direction = crate::direction(kind);
            let mut methods = call.gateway.manifest.methods.iter();
            if !methods.any(|method| method.direction == direction) {
                continue;
            }
            let pages = self.pages(call, kind, &redactor, &mut listing);
            let ended = match tokio::time::timeout_at(deadline, pages).await {
                Ok(ended) => ended,
                Err(_) => Err(format!("it took longer than {} s", LIST_TIME.as_secs())),
            };
            if let Err(why) = ended {
                listing.incomplete.get_or_insert(why);
            }
        }
        match listing.incomplete.take_if(|_| listing.pages == 0) {
            Some(why) => Err(why),
            None => Ok(listing.sorted()),
        }
    }

    /// Reads all pages of one kind. `Err`: the reason why some are missing.
    async fn pages(
        &self,
        call: &ListingCall,
        kind: Kind,
        redactor: &Redactor,
        listing: &mut Listing,
    ) -> Result<(), String> {
        let mut ask = List {
            direction: crate::direction(kind),
            from: call.from.to_string(),
            until: call.until.to_string(),
            cursor: None,
        };
        let before = listing.transactions.len();
        for _ in 0..LIST_PAGES {
            let page = self.page(call, &ask, redactor.clone()).await?;
            let transactions = page.transactions.into_iter();
            let read = transactions.map(|listed| read(listed, kind, redactor));
            listing.transactions.extend(read);
            listing.pages += 1;
            ask.cursor = page.next;
            if ask.cursor.is_none() {
                return Ok(());
            }
            if listing.transactions.len() - before >= LIST_TRANSACTIONS {
                return Err(format!("it has more than {LIST_TRANSACTIONS} transactions"));
            }
        }
        Err(format!("it has more than {LIST_PAGES} pages"))
    }

    async fn page(
        &self,
        call: &ListingCall,
        ask: &List,
        redactor: Redactor,
    ) -> Result<TransactionPage, String> {
        let question = Question {
            gateway: Arc::clone(&call.gateway),
            operation: Operation::List,
            environment: call.environment,
            config: call.config.clone(),
            input: serde_json::to_value(ask).unwrap_or(Value::Null),
            redactor,
        };
        let page = self.ask::<TransactionPage>(question).await?;
        let checked = page.check(ask);
        let name = call.gateway.name();
        checked.map_err(|why| format!("gateway {name}, list: its page {why}"))?;
        Ok(page)
    }
}

impl ListingCall {
    /// Text that differs for another gateway, environment, configuration or span.
    pub fn key(&self) -> String {
        let connection = drive::connection(&self.gateway, self.environment, &self.config);
        format!("{connection} {} {}", self.from, self.until)
    }
}

impl Listing {
    /// A transaction that moves to another page between two calls is listed twice.
    fn sorted(mut self) -> Self {
        self.transactions
            .sort_by(|one, other| one.key().cmp(&other.key()));
        self.transactions
            .dedup_by(|one, other| one.key() == other.key());
        self
    }
}

impl Listed {
    fn key(&self) -> (Timestamp, Kind, Option<&str>, Option<&str>) {
        let (reference, id) = (self.reference.as_deref(), self.provider_id.as_deref());
        (self.created_at, self.kind, reference, id)
    }
}

/// Reads a transaction of a checked page.
fn read(listed: ListedTransaction, kind: Kind, redactor: &Redactor) -> Listed {
    let id = |text: Option<String>| {
        let text = text.filter(|text| !text.trim().is_empty());
        text.map(|text| redactor.id(&text))
    };
    Listed {
        kind,
        reference: id(listed.reference),
        provider_id: id(listed.provider_id),
        amount: listed.amount.as_ref().and_then(amounts::not_negative),
        created_at: Timestamp::parse(&listed.created_at).unwrap_or_default(),
        state: listed.state,
    }
}
