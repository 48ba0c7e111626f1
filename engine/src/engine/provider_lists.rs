//! Transactions of the lost span that the providers know and the store does not.
//!
//! While a store that was restored is held, the report of the hold starts a fetch of each
//! connection's list, in the background, and shows what was fetched before. A listed transaction is
//! known when an attempt of its connection has its reference or its provider id. Attempts become
//! known while a store is held, so the comparison is made again for each report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{Engine, EngineError};
use crate::access::Connection;
use switchyard_core::environment::Environment;
use switchyard_core::ids::ConnectionId;
use switchyard_core::limits::{
    LIST_FETCHES, LIST_FRESH, LIST_MARGIN, LIST_RETRY, LISTED_UNKNOWN, LISTS,
};
use switchyard_core::money::Currency;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;
use switchyard_gateway_host::{
    FetchCache, FetchTimes, Fetched, Listed, ListedState, Listing, ListingCall, Operation,
};
use switchyard_records::{Name, is_named};
use switchyard_store::{Store, StoreError};
use switchyard_system::clock::Clock;

/// The lists that were fetched, by connection, configuration and span.
pub(super) struct ProviderLists {
    cache: FetchCache<Compared>,
    fetches: Arc<Semaphore>,
}

/// A list after its first comparison.
struct Compared {
    listed: u64,
    /// Transactions that the store did not know then.
    unknown: Vec<Listed>,
    incomplete: Option<String>,
}

/// List of a connection's provider for the lost span, compared with the store.
#[derive(Clone, Debug)]
pub struct ProviderList {
    pub connection: Arc<Connection>,
    pub status: ListStatus,
    /// Time of the fetch that the numbers come from.
    pub fetched_at: Option<Timestamp>,
    /// Transactions that the provider listed.
    pub listed: u64,
    /// Transactions of the list that the store does not know.
    pub unknown: Unknown,
}

/// State of the list of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListStatus {
    Complete,
    /// Some transactions are missing, for this reason.
    Incomplete(String),
    /// The first fetch, or the one after a failure, runs.
    InProgress,
    /// The last fetch failed. Numbers beside it are those of an earlier one.
    Failed(String),
    /// The gateway does not have the operation `list`.
    CannotList,
}

/// Transactions that the store does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    pub count: u64,
    pub sums: Vec<UnknownSum>,
    /// The first of them, at most [`LISTED_UNKNOWN`]: successes, then open ones, then failures.
    pub first: Vec<Listed>,
}

/// Unknown transactions of one kind, state and currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSum {
    pub kind: Kind,
    pub state: ListedState,
    /// `None`: the provider names no plausible amount of them.
    pub currency: Option<Currency>,
    pub count: u64,
    /// Sum in the currency's smallest unit. `None`: it is larger than any amount.
    pub minor: Option<i64>,
}

impl ProviderLists {
    pub(super) fn new(clock: Clock) -> Self {
        let times = FetchTimes {
            fresh: LIST_FRESH,
            retry: LIST_RETRY,
            keys: LISTS,
        };
        Self {
            cache: FetchCache::new(clock, times),
            fetches: Arc::new(Semaphore::new(LIST_FETCHES)),
        }
    }
}

impl ListStatus {
    /// Reason of an incomplete list or of a failure.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Incomplete(why) | Self::Failed(why) => Some(why),
            Self::Complete | Self::InProgress | Self::CannotList => None,
        }
    }

    fn of(fetched: &Fetched<Compared>) -> Self {
        match (&fetched.value, &fetched.failure) {
            (_, Some(_)) if fetched.is_running => Self::InProgress,
            (_, Some(why)) => Self::Failed(why.clone()),
            (None, None) => Self::InProgress,
            (Some((list, _)), None) => match &list.incomplete {
                Some(why) => Self::Incomplete(why.clone()),
                None => Self::Complete,
            },
        }
    }
}

impl Engine {
    /// The lists of all connections for the lost span, as they are now. Starts the fetches that
    /// are due and waits for none of them.
    pub(super) async fn provider_lists(
        &self,
        lost: (Timestamp, Timestamp),
    ) -> Result<Vec<ProviderList>, EngineError> {
        let span = span(lost);
        let mut lists = Vec::new();
        for app in self.access().apps(None) {
            for environment in [Environment::Live, Environment::Sandbox] {
                for connection in self.access().connections(app.id, environment) {
                    lists.push(self.provider_list(connection, span).await?);
                }
            }
        }
        Ok(lists)
    }

    async fn provider_list(
        &self,
        connection: Arc<Connection>,
        span: (Timestamp, Timestamp),
    ) -> Result<ProviderList, EngineError> {
        let call = match self.listing_call(&connection, span) {
            Ok(call) => call,
            Err(status) => return Ok(ProviderList::without(connection, status)),
        };
        let fetched = self.fetched_list(connection.id, call);
        let (mut listed, mut unknown) = (0, Unknown::default());
        if let Some((list, _)) = &fetched.value {
            listed = list.listed;
            let still = still_unknown(self.store(), connection.id, list.unknown.clone());
            unknown = Unknown::of(still.await?);
        }
        Ok(ProviderList {
            status: ListStatus::of(&fetched),
            fetched_at: fetched.value.map(|(_, at)| at),
            connection,
            listed,
            unknown,
        })
    }

    fn listing_call(
        &self,
        connection: &Connection,
        (from, until): (Timestamp, Timestamp),
    ) -> Result<ListingCall, ListStatus> {
        let failed = |why: &str| ListStatus::Failed(why.to_owned());
        let gateway = self.gateways().reader(&connection.gateway);
        let gateway = gateway.ok_or_else(|| failed("the gateway is not loaded"))?;
        if !gateway.has(Operation::List) {
            return Err(ListStatus::CannotList);
        }
        let config = self.access().connection_config(connection);
        Ok(ListingCall {
            gateway,
            environment: connection.environment,
            config: config.map_err(|_| failed("the configuration cannot be opened"))?,
            from,
            until,
        })
    }

    /// State of a connection's list. Starts a fetch if one is due.
    fn fetched_list(&self, connection: ConnectionId, call: ListingCall) -> Fetched<Compared> {
        let key = format!("{connection} {}", call.key());
        let (engine, fetches) = (self.clone(), Arc::clone(&self.0.lists.fetches));
        self.0.lists.cache.fetch_if_due(&key, || async move {
            let permit = fetches.acquire_owned().await;
            if permit.is_err() || engine.is_stopping() {
                return Err("the engine stops".to_owned());
            }
            let listing = engine.gateways().list_transactions(&call).await;
            let listing = listing.inspect_err(|why| {
                tracing::warn!(%connection, why, "failed to list transactions of the lost span");
            })?;
            let compared = Compared::new(engine.store(), connection, listing).await;
            compared.map_err(|error| error.to_string())
        });
        self.0.lists.cache.get(&key)
    }
}

impl ProviderList {
    fn without(connection: Arc<Connection>, status: ListStatus) -> Self {
        Self {
            connection,
            status,
            fetched_at: None,
            listed: 0,
            unknown: Unknown::default(),
        }
    }
}

impl Compared {
    async fn new(
        store: &Store,
        connection: ConnectionId,
        listing: Listing,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            listed: listing.transactions.len() as u64,
            unknown: still_unknown(store, connection, listing.transactions).await?,
            incomplete: listing.incomplete,
        })
    }
}

impl Unknown {
    fn of(mut all: Vec<Listed>) -> Self {
        let count = all.len() as u64;
        let sums = sums(&all);
        all.sort_by_key(|listed| (listed.state, listed.created_at));
        all.truncate(LISTED_UNKNOWN);
        Self {
            count,
            sums,
            first: all,
        }
    }
}

fn sums(all: &[Listed]) -> Vec<UnknownSum> {
    let mut sums = BTreeMap::new();
    for listed in all {
        let currency = listed.amount.map(|amount| amount.currency());
        let key = (
            listed.kind,
            listed.state,
            currency.map(|currency| currency.code()),
        );
        let sum = sums.entry(key).or_insert_with(|| UnknownSum {
            kind: listed.kind,
            state: listed.state,
            currency,
            count: 0,
            minor: Some(0),
        });
        let minor = listed.amount.map_or(0, |amount| amount.minor());
        sum.count += 1;
        sum.minor = sum.minor.and_then(|sum| sum.checked_add(minor));
    }
    sums.into_values().collect()
}

/// Removes the transactions that an attempt of the connection has the reference or the id of.
async fn still_unknown(
    store: &Store,
    connection: ConnectionId,
    listed: Vec<Listed>,
) -> Result<Vec<Listed>, StoreError> {
    let mut unknown = Vec::new();
    for listed in listed {
        if !is_known(store, connection, &listed).await? {
            unknown.push(listed);
        }
    }
    Ok(unknown)
}

async fn is_known(
    store: &Store,
    connection: ConnectionId,
    listed: &Listed,
) -> Result<bool, StoreError> {
    let reference = listed.reference.as_deref();
    let reference = reference.and_then(|text| Name::reference(connection, text));
    let id = listed.provider_id.as_deref();
    let id = id.and_then(|text| Name::provider_id(connection, text));
    for name in [reference, id].into_iter().flatten() {
        if is_named(store, &name).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The span to list, in whole seconds: the lost span with a margin on both sides.
fn span((from, until): (Timestamp, Timestamp)) -> (Timestamp, Timestamp) {
    let from = from.minus(LIST_MARGIN);
    let until = until.plus(LIST_MARGIN).plus(SECOND);
    let whole = |at: Timestamp| Timestamp::from_seconds(at.as_seconds());
    (whole(from), whole(until))
}

const SECOND: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use crate::testing::{START, amount};
    use switchyard_core::testing::fixtures::{World, route};
    use switchyard_core::transaction::Command;
    use switchyard_records::{Step, write};
    use switchyard_store::Batch;

    fn connection(number: u128) -> ConnectionId {
        switchyard_core::testing::fixtures::candidate(number).connection
    }

    fn listed(reference: Option<&str>, provider_id: Option<&str>) -> Listed {
        Listed {
            kind: Kind::Payout,
            reference: reference.map(str::to_owned),
            provider_id: provider_id.map(str::to_owned),
            amount: Some(amount(2_500, "USD")),
            created_at: START,
            state: ListedState::Succeeded,
        }
    }

    /// A store with one payout, which has one attempt at connection 0. Returns its reference.
    async fn store_with_an_attempt(provider_id: &str) -> (Store, String) {
        let store = Store::memory();
        let mut world = World::payout();
        world.apply(Command::Dispatch(route(1))).unwrap();
        let tx = &mut world.tx;
        tx.attempts[0].provider_id = Some(provider_id.to_owned());
        let reference = tx.attempts[0].reference.to_string();
        let mut batch = Batch::new();
        let step = Step {
            before: None,
            after: tx,
            events: &[],
        };
        write(&mut batch, &step).unwrap();
        store.commit(batch).await.unwrap();
        (store, reference)
    }

    #[tokio::test]
    async fn a_transaction_is_known_by_the_reference_or_the_id_of_an_attempt_of_its_connection() {
        let (store, ours) = store_with_an_attempt("ch_1").await;
        let bare = ours.replace('-', "").to_uppercase();
        let other = Ulid::from_parts(1, 1).to_string();
        for (at, reference, id, is_known) in [
            (0, Some(&*ours), None, true),
            (0, Some(&*bare), None, true),
            (0, None, Some("ch_1"), true),
            (0, Some(&*other), Some("ch_1"), true),
            (0, Some(&*ours), Some("ch_2"), true),
            (0, Some(&*other), Some("ch_2"), false),
            (0, None, Some("CH_1"), false),
            (0, Some("--"), None, false),
            (1, Some(&*ours), Some("ch_1"), false),
        ] {
            let one = vec![listed(reference, id)];
            let unknown = still_unknown(&store, connection(at), one).await.unwrap();
            assert_eq!(unknown.is_empty(), is_known, "{at} {reference:?} {id:?}");
        }
    }

    #[test]
    fn unknown_transactions_are_summed_and_those_that_moved_money_are_shown_first() {
        let one = |kind, state, amount, seconds| Listed {
            kind,
            state,
            amount,
            created_at: START.plus(Duration::from_secs(seconds)),
            ..listed(Some("r"), None)
        };
        use ListedState::{Failed, Pending, Succeeded};
        let (payment, payout) = (Kind::Payment, Kind::Payout);
        let usd = |minor| Some(amount(minor, "USD"));
        let mut all = vec![
            one(payment, Failed, usd(100), 0),
            one(payout, Pending, usd(200), 1),
            one(payout, Succeeded, None, 2),
            one(payout, Succeeded, Some(amount(500, "XOF")), 3),
            one(payout, Succeeded, usd(300), 4),
            one(payout, Succeeded, usd(50), 5),
        ];
        all.extend((0..LISTED_UNKNOWN).map(|_| one(payment, Failed, usd(1), 9)));
        let unknown = Unknown::of(all);
        let sums = unknown.sums.iter().map(|sum| {
            let currency = sum.currency.map(|currency| currency.code());
            (sum.kind, sum.state, currency, sum.count, sum.minor)
        });
        let expected = [
            (payment, Failed, Some("USD"), 101, Some(200)),
            (payout, Succeeded, None, 1, Some(0)),
            (payout, Succeeded, Some("USD"), 2, Some(350)),
            (payout, Succeeded, Some("XOF"), 1, Some(500)),
            (payout, Pending, Some("USD"), 1, Some(200)),
        ];
        assert!(sums.eq(expected), "{:#?}", unknown.sums);
        assert_eq!(unknown.count, 106);
        assert_eq!(unknown.first.len(), LISTED_UNKNOWN);
        let states = unknown.first.iter().map(|listed| listed.state);
        let first: Vec<_> = states.take(6).collect();
        assert_eq!(
            first,
            [Succeeded, Succeeded, Succeeded, Succeeded, Pending, Failed]
        );
    }

    #[test]
    fn a_sum_that_is_no_amount_is_none() {
        let most = Currency::from_code("USD").unwrap();
        let most = switchyard_core::money::Amount::from_minor(i64::MAX, most);
        let all = [most, most].map(|amount| Listed {
            amount: Some(amount),
            ..listed(Some("r"), None)
        });
        assert_eq!(Unknown::of(all.to_vec()).sums[0].minor, None);
    }

    #[test]
    fn the_span_has_a_margin_on_both_sides_and_whole_seconds() {
        let at = |micros| Timestamp::from_micros(START.as_micros() + micros);
        let (from, until) = span((at(400_000), at(1_600_000)));
        assert_eq!(from, START.minus(LIST_MARGIN));
        assert_eq!(until, at(2_000_000).plus(LIST_MARGIN));
    }

    #[test]
    fn the_status_follows_from_the_last_fetch() {
        let value = |incomplete: Option<&str>| {
            let compared = Compared {
                listed: 1,
                unknown: Vec::new(),
                incomplete: incomplete.map(str::to_owned),
            };
            Some((Arc::new(compared), START))
        };
        let failure = || Some("it is down".to_owned());
        for (value, failure, is_running, status) in [
            (None, None, true, ListStatus::InProgress),
            (value(None), None, false, ListStatus::Complete),
            (value(None), None, true, ListStatus::Complete),
            (
                value(Some("x")),
                None,
                false,
                ListStatus::Incomplete("x".into()),
            ),
            (
                None,
                failure(),
                false,
                ListStatus::Failed("it is down".into()),
            ),
            (
                value(None),
                failure(),
                false,
                ListStatus::Failed("it is down".into()),
            ),
            (None, failure(), true, ListStatus::InProgress),
        ] {
            let fetched = Fetched {
                value,
                failure,
                is_running,
            };
            assert_eq!(ListStatus::of(&fetched), status);
        }
    }
}
