//! The keys of all rows about transactions and customers.

use ulid::Ulid;

use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CaseId, ConnectionId, CustomerId, TransactionId};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Kind;

/// First byte of the list index in the index table.
const LIST: u8 = b'l';
/// First byte of the customers' e-mail index in the index table.
const EMAIL: u8 = b'e';
/// First byte of the index of open attempts in the index table.
const OPEN: u8 = b'g';
/// First byte of the index of attempts by provider ids, in the index table.
const NAME: u8 = b'n';

/// First byte of the search index in the index table.
const SEARCH: u8 = b's';
/// First byte of the list of deleted connections in the index table.
const PAST_CONNECTION: u8 = b'd';

/// First byte of the cases' index in the index table.
const CASE: u8 = b'c';

pub(super) const TRANSACTION_BYTES: usize = 17;

/// `<kind><ulid>`.
pub(super) fn transaction(id: TransactionId) -> [u8; TRANSACTION_BYTES] {
    let mut key = [0; TRANSACTION_BYTES];
    key[0] = kind_byte(Kind::of(id));
    key[1..].copy_from_slice(&id.ulid().to_bytes());
    key
}

pub(super) fn read_transaction(key: &[u8]) -> Option<TransactionId> {
    let (kind, ulid) = key.split_first()?;
    let ulid = Ulid::from_bytes(ulid.try_into().ok()?);
    let kind = Kind::ALL.into_iter().find(|one| kind_byte(*one) == *kind)?;
    Some(super::list::id(kind, ulid))
}

/// `<transaction><version>`: a transaction's events are adjacent, in order.
pub(super) fn event(id: TransactionId, version: u64) -> Vec<u8> {
    [&transaction(id)[..], &version.to_be_bytes()].concat()
}

/// `<due, microseconds><transaction>`: the timers are ordered by due time.
pub(super) fn timer(at: Timestamp, id: TransactionId) -> Vec<u8> {
    [&moment(at)[..], &transaction(id)].concat()
}

/// A moment as bytes that sort as it does. Moments before 1970 do not occur and would sort as 1970.
pub(super) fn moment(at: Timestamp) -> [u8; 8] {
    u64::try_from(at.as_micros()).unwrap_or(0).to_be_bytes()
}

pub(super) const COUNT_BYTES: usize = 25;

/// `<app><environment><kind><span><its first millisecond>`: the counts of one span are adjacent, in
/// order of time.
pub(super) fn count(
    app: AppId,
    environment: Environment,
    kind: Kind,
    span: u8,
    start: u64,
) -> [u8; COUNT_BYTES] {
    let mut key = [0; COUNT_BYTES];
    key[..16].copy_from_slice(&app.ulid().to_bytes());
    key[16] = environment_byte(environment);
    key[17] = kind_byte(kind);
    key[18] = span;
    key[19..].copy_from_slice(&millis(start));
    key
}

/// The first millisecond of the span that a count is of.
pub(super) fn read_count(key: &[u8]) -> Option<u64> {
    let millis: [u8; 6] = key.get(COUNT_BYTES - 6..)?.try_into().ok()?;
    let [a, b, c, d, e, f] = millis;
    Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
}

/// Milliseconds since 1970 in 48 bits, as every ULID begins with them.
pub(super) const fn millis(at: u64) -> [u8; 6] {
    let [_, _, a, b, c, d, e, f] = at.to_be_bytes();
    [a, b, c, d, e, f]
}

/// All lines of all lists.
#[cfg(test)]
pub(super) const LIST_PREFIX: [u8; 1] = [LIST];

/// The app, the environment and the transaction of a line of the list.
#[cfg(test)]
pub(super) fn read_list(key: &[u8]) -> Option<(AppId, Environment, TransactionId)> {
    let (app, rest) = key.strip_prefix(&LIST_PREFIX)?.split_first_chunk()?;
    let (&environment, transaction) = rest.split_first()?;
    let environment = Environment::ALL
        .into_iter()
        .find(|one| environment_byte(*one) == environment)?;
    let app = AppId::new(Ulid::from_bytes(*app));
    Some((app, environment, read_transaction(transaction)?))
}

/// `l<app><environment><kind>`, which the ulid follows: one app's transactions are adjacent, in
/// order of time.
pub(super) fn list_prefix(app: AppId, environment: Environment, kind: Kind) -> Vec<u8> {
    let mut key = Vec::with_capacity(35);
    key.push(LIST);
    key.extend_from_slice(&app.ulid().to_bytes());
    key.push(environment_byte(environment));
    key.push(kind_byte(kind));
    key
}

pub(super) fn list(app: AppId, environment: Environment, id: TransactionId) -> Vec<u8> {
    let mut key = list_prefix(app, environment, Kind::of(id));
    key.extend_from_slice(&id.ulid().to_bytes());
    key
}

/// `c<open or closed>`, which the case's ulid follows: all open cases are adjacent, in order of
/// time.
pub(super) const fn case_prefix(open: bool) -> [u8; 2] {
    [CASE, if open { b'o' } else { b'x' }]
}

pub(super) fn case(open: bool, id: CaseId) -> Vec<u8> {
    [&case_prefix(open)[..], &id.ulid().to_bytes()].concat()
}

/// `<app><environment>`, which the ulid follows.
pub(super) fn customer_prefix(app: AppId, environment: Environment) -> Vec<u8> {
    let mut key = Vec::with_capacity(33);
    key.extend_from_slice(&app.ulid().to_bytes());
    key.push(environment_byte(environment));
    key
}

pub(super) fn customer(app: AppId, environment: Environment, id: CustomerId) -> Vec<u8> {
    let mut key = customer_prefix(app, environment);
    key.extend_from_slice(&id.ulid().to_bytes());
    key
}

/// `e<app><environment><lower-case e-mail>`.
pub(super) fn email(app: AppId, environment: Environment, email: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(18 + email.len());
    key.push(EMAIL);
    key.extend_from_slice(&app.ulid().to_bytes());
    key.push(environment_byte(environment));
    key.extend(email.bytes().map(|byte| byte.to_ascii_lowercase()));
    key
}

/// All open attempts.
pub(super) const OPEN_PREFIX: [u8; 1] = [OPEN];

/// `g<hash of the gateway>\0`, which the transaction follows: open attempts of one version of a
/// gateway are adjacent.
pub(super) fn open_prefix(gateway_hash: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(gateway_hash.len() + 2 + TRANSACTION_BYTES);
    key.push(OPEN);
    key.extend_from_slice(gateway_hash.as_bytes());
    key.push(0);
    key
}

pub(super) fn open(gateway_hash: &str, id: TransactionId) -> Vec<u8> {
    let mut key = open_prefix(gateway_hash);
    key.extend_from_slice(&transaction(id));
    key
}

/// `n<connection><kind of name><name>`.
pub(super) fn name(connection: ConnectionId, kind: u8, text: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(18 + text.len());
    key.push(NAME);
    key.extend_from_slice(&connection.ulid().to_bytes());
    key.push(kind);
    key.extend_from_slice(text.as_bytes());
    key
}

/// Bytes of a [`SearchPlace`] before its variant.
pub(super) const SEARCH_TERM_BYTES: usize = 9;

/// `s<hash of app, environment, kind and term><variant>`, which the ulid follows: the transactions
/// with one term are adjacent, in order of time.
pub(super) type SearchPlace = [u8; SEARCH_TERM_BYTES + 1];

pub(super) fn search_term(hash: u64) -> [u8; SEARCH_TERM_BYTES] {
    let mut key = [SEARCH; SEARCH_TERM_BYTES];
    key[1..].copy_from_slice(&hash.to_be_bytes());
    key
}

pub(super) fn search_place(hash: u64, variant: u8) -> SearchPlace {
    let mut key = [variant; SEARCH_TERM_BYTES + 1];
    key[..SEARCH_TERM_BYTES].copy_from_slice(&search_term(hash));
    key
}

pub(super) const SEARCH_BYTES: usize = SEARCH_TERM_BYTES + 1 + 16;

pub(super) fn search(place: &SearchPlace, ulid: Ulid) -> [u8; SEARCH_BYTES] {
    let mut key = [0; SEARCH_BYTES];
    let (head, tail) = key.split_at_mut(SEARCH_TERM_BYTES + 1);
    head.copy_from_slice(place);
    tail.copy_from_slice(&ulid.to_bytes());
    key
}

pub(super) fn read_search(key: &[u8]) -> Option<Ulid> {
    let ulid = key.get(SEARCH_TERM_BYTES + 1..)?.try_into().ok()?;
    Some(Ulid::from_bytes(ulid))
}

/// `<app><environment><kind>`: the transactions that one search covers, in the hash of its keys.
pub(super) fn search_owner(app: AppId, environment: Environment, kind: Kind) -> [u8; 18] {
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&app.ulid().to_bytes());
    bytes[16] = environment_byte(environment);
    bytes[17] = kind_byte(kind);
    bytes
}

/// `d<app><environment>`, which the ulid of the connection follows.
pub(super) fn past_connection_prefix(app: AppId, environment: Environment) -> Vec<u8> {
    let mut key = Vec::with_capacity(34);
    key.push(PAST_CONNECTION);
    key.extend_from_slice(&app.ulid().to_bytes());
    key.push(environment_byte(environment));
    key
}

pub(super) fn past_connection(
    app: AppId,
    environment: Environment,
    connection: ConnectionId,
) -> Vec<u8> {
    let mut key = past_connection_prefix(app, environment);
    key.extend_from_slice(&connection.ulid().to_bytes());
    key
}

pub(super) const fn kind_byte(kind: Kind) -> u8 {
    match kind {
        Kind::Payment => b'p',
        Kind::Payout => b'o',
    }
}

const fn environment_byte(environment: Environment) -> u8 {
    match environment {
        Environment::Sandbox => b's',
        Environment::Live => b'l',
    }
}

/// The first key after all keys that begin with `prefix`.
pub(super) fn after(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // Every byte was 255: nothing sorts after it but longer keys, and no table has such keys.
    vec![u8::MAX; prefix.len() + 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list;

    /// Ids in the order of their creation, a millisecond apart.
    fn ids(kind: Kind) -> Vec<TransactionId> {
        let ulid = |at: u64| Ulid::from_parts(1_795_168_800_000 + at, u128::from(at * 7_919 % 101));
        (0..300).map(|at| list::id(kind, ulid(at))).collect()
    }

    /// A commit about a transaction changes few pages, because its events are in few pages.
    #[test]
    fn the_events_of_a_transaction_are_adjacent_whatever_was_written_in_between() {
        let ids: Vec<_> = Kind::ALL.into_iter().flat_map(ids).collect();
        let versions = 1..=260;
        // Written in turns: the first event of each, then the second of each.
        let in_turns = versions.clone().flat_map(|version| {
            let of = |id: &TransactionId| (event(*id, version), *id, version);
            ids.iter().map(of).collect::<Vec<_>>()
        });
        let mut rows: Vec<_> = in_turns.collect();
        rows.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        for rows in rows.chunks(versions.clone().count()) {
            let (_, first, _) = &rows[0];
            let expected = versions.clone().map(|version| (*first, version));
            assert!(
                rows.iter()
                    .map(|(_, id, version)| (*id, *version))
                    .eq(expected)
            );
        }
    }

    /// A new transaction is written to the last page of its kind, not to a random one.
    #[test]
    fn a_new_transaction_comes_after_the_earlier_ones_of_its_kind() {
        for kind in Kind::ALL {
            let keys: Vec<_> = ids(kind).into_iter().map(transaction).collect();
            assert!(keys.is_sorted(), "{kind:?}");
        }
    }
}
