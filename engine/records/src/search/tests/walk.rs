//! After any history with crashes, a search finds what a walk through all transactions finds.

use std::time::Duration;

use proptest::prelude::*;
use uuid::Uuid;

use super::*;

/// A change of the transactions of a shop.
#[derive(Clone, Debug)]
enum Op {
    Begin(Box<Transaction>),
    /// Changes the customer, as a confirmation does, and starts an attempt.
    Confirm(prop::sample::Index, Box<Transaction>),
    Purge(u64),
}

fn transactions() -> impl Strategy<Value = Transaction> {
    let names = || prop::sample::select(vec!["Awa", "Zoé", "Jean-Pierre", "Diop", "Kɔffi", "李"]);
    let phones = prop::sample::select(vec!["+2290197000000", "+22897000000", "97000000", "x-9"]);
    let amounts = (
        prop::sample::select(vec![1_i64, 25, 2_500, 250_000]),
        prop::sample::select(vec!["USD", "XOF", "TND"]),
    );
    let value = prop::sample::select(vec!["A-1", "25", "awa", "97000000", "two words", "k:v", ""]);
    let entries = prop::collection::btree_map("[kK]|order", value.prop_map(str::to_owned), 0..3);
    let kinds = prop::sample::select(Kind::ALL.to_vec());
    let owner = (1..3_u128, prop::sample::select(Environment::ALL.to_vec()));
    let at = (1_u64..100, 1_u128..40);
    let all = (
        names(),
        names(),
        prop::option::of(phones),
        amounts,
        entries,
        kinds,
        owner,
        at,
    );
    all.prop_map(
        |(first, last, phone, (minor, code), metadata, kind, (number, environment), (at, n))| {
            let mut tx = begun(kind, 1);
            tx.id = id(kind, at * 60_000, n);
            tx.app = app(number);
            tx.environment = environment;
            tx.amount = amount(minor, code);
            tx.customer.first_name = first.to_owned();
            tx.customer.last_name = last.to_owned();
            tx.customer.email = format!("{}@example.com", first.to_lowercase());
            tx.customer.phone = phone.map(str::to_owned);
            tx.description = format!("Order {n}");
            tx.metadata = metadata;
            tx
        },
    )
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let begin = transactions().prop_map(|tx| Op::Begin(Box::new(tx)));
    let confirm = (any::<prop::sample::Index>(), transactions())
        .prop_map(|(which, tx)| Op::Confirm(which, Box::new(tx)));
    let op = prop_oneof![
        6 => begin,
        3 => confirm,
        1 => (0_u64..100).prop_map(Op::Purge),
    ];
    prop::collection::vec(op, 1..50)
}

/// The step from a transaction to the same one with the customer of another, and with an attempt.
fn confirmed(before: &Transaction, other: &Transaction) -> Option<Transaction> {
    let mut world = World::payment();
    world.tx = before.clone();
    world.apply(confirm(2)).ok()?;
    world.tx.customer = other.customer.clone();
    let number = before.id.ulid().0 ^ u128::from(before.version);
    let attempt = world.tx.attempts.last_mut()?;
    attempt.reference = Uuid::from_u128(number);
    attempt.phone.clone_from(&other.customer.phone);
    attempt.provider_id = Some(format!("P{}", before.id.ulid().random() % 7));
    Some(world.tx)
}

/// Commits `ops` in processes on one disk, which die now and then.
async fn lived(ops: &[Op], mut deaths: Vec<CrashPoint>) -> Store {
    let disk = MemoryDisk::default();
    let mut store = CrashingKv::new(&disk, CrashPoint::Never).store();
    ensure_format(&store).await.unwrap();
    let mut next = || CrashingKv::new(&disk, deaths.pop().unwrap_or(CrashPoint::Never)).store();
    for op in ops {
        let mut batch = Batch::new();
        match op {
            Op::Begin(tx) => add(&mut batch, None, tx),
            Op::Confirm(which, other) => {
                let all = stored(&store).await;
                let payments = all.iter().filter(|tx| tx.kind() == Kind::Payment);
                let payments: Vec<_> = payments.collect();
                if payments.is_empty() {
                    continue;
                }
                let before = which.get(&payments);
                let Some(after) = confirmed(before, other) else {
                    continue;
                };
                add(&mut batch, Some(before), &after);
            }
            Op::Purge(minute) => {
                let end = Timestamp::from_seconds(0).plus(Duration::from_secs(60 * minute));
                purge_sandbox(&store, app(1), end).await.unwrap();
            }
        }
        if let Err(CommitError::Unavailable { .. }) = store.commit(batch).await {
            store = next();
        }
    }
    next()
}

/// A text that names a term.
fn texts(term: &Term) -> Vec<String> {
    match term {
        Term::Text { text, key } => {
            let named = key.iter().map(|key| format!("{key}:{text}"));
            named.chain([text.clone(), text.to_uppercase()]).collect()
        }
        Term::Phone(digits) => vec![digits.clone(), format!("+{digits}")],
        Term::Amount { decimal, currency } => {
            vec![decimal.clone(), format!("{decimal} {currency}")]
        }
    }
}

/// Walks through all transactions. Returns those that match, newest first.
fn walked(all: &[Transaction], query: &SearchQuery) -> Vec<TransactionId> {
    let is_found = |tx: &&Transaction| {
        let is_own = tx.app == query.app && tx.environment == query.environment;
        let is_kind = query.kind.is_none_or(|kind| kind == tx.kind());
        is_own && is_kind && query.text.matches(tx, &terms(tx))
    };
    let found = all.iter().filter(is_found);
    let mut found: Vec<_> = found.map(|tx| tx.id).collect();
    found.sort_by_key(|id| std::cmp::Reverse((id.ulid(), std::cmp::Reverse(Kind::of(*id)))));
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn each_value_finds_its_transaction_and_all_others_that_a_walk_finds(
        ops in ops(),
        deaths in prop::collection::vec((1_u64..9, any::<bool>()), 0..4),
        kind in prop::option::of(prop::sample::select(Kind::ALL.to_vec())),
        limit in 1_usize..9,
    ) {
        let death = |(flush, is_made)| match is_made {
            true => CrashPoint::After(flush),
            false => CrashPoint::Before(flush),
        };
        let deaths = deaths.into_iter().map(death).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = lived(&ops, deaths).await;
            let all = stored(&store).await;
            let mut expected = Vec::new();
            for tx in &all {
                let own = places(tx).into_iter().map(|place| keys::search(&place, tx.id.ulid()));
                expected.extend(own.map(|key| key.to_vec()));
            }
            expected.sort();
            prop_assert_eq!(rows(&store).await, expected, "each term has one row");
            for tx in &all {
                let mut asked: Vec<_> = terms(tx).iter().flat_map(texts).collect();
                let names = tx.attempts.iter();
                asked.extend(names.clone().map(|attempt| attempt.reference.to_string()));
                asked.extend(names.filter_map(|attempt| attempt.provider_id.clone()));
                asked.extend([tx.id.to_string(), "awa diop".to_owned(), "zoe 25".to_owned()]);
                for text in asked {
                    let query = SearchQuery {
                        app: tx.app,
                        environment: tx.environment,
                        kind,
                        text: SearchText::parse(&text).unwrap(),
                        before: None,
                        limit,
                    };
                    let expected = walked(&all, &query);
                    prop_assert_eq!(&paged(&store, query).await, &expected, "{:?}", &text);
                    let is_phrase = text == "awa diop" || text == "zoe 25";
                    let is_other = kind.is_some_and(|kind| kind != tx.kind());
                    prop_assert!(is_phrase || is_other || expected.contains(&tx.id), "{:?}", text);
                }
            }
            Ok(())
        })?;
    }
}
