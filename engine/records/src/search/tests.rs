//! Texts and the transactions that they find, pages of a search, and the rows that it costs.

mod walk;

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;

use super::term::{Term, places, terms};
use super::*;
use crate::format::ensure_format;
use crate::{NewCustomer, Step, purge_sandbox, register};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::testing::fixtures::{World, confirm, pending, succeeded, usd};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{Details, Restriction};
use switchyard_store::{CommitError, CrashPoint, CrashingKv, MemoryDisk};
use switchyard_system::ids::Ids;

fn app(number: u128) -> AppId {
    AppId::new(Ulid::from_parts(1, number))
}

fn id(kind: Kind, at: u64, number: u128) -> TransactionId {
    crate::list::id(kind, Ulid::from_parts(at, number))
}

fn amount(minor: i64, code: &str) -> Amount {
    Amount::from_minor(minor, Currency::from_code(code).unwrap())
}

fn metadata(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    entries.iter().map(owned).collect()
}

/// A payment or a payout of the first app in live, at the minute `number`.
fn begun(kind: Kind, number: u64) -> Transaction {
    let mut tx = match kind {
        Kind::Payment => World::payment().tx,
        Kind::Payout => World::payout().tx,
    };
    tx.id = id(kind, number * 60_000, u128::from(number));
    tx.app = app(1);
    tx.environment = Environment::Live;
    tx
}

async fn put(store: &Store, before: Option<&Transaction>, after: &Transaction) {
    let mut batch = Batch::new();
    add(&mut batch, before, after);
    store.commit(batch).await.unwrap();
}

fn add(batch: &mut Batch, before: Option<&Transaction>, after: &Transaction) {
    let step = Step {
        before,
        after,
        events: &[],
    };
    crate::write(batch, &step).unwrap();
}

fn asked(text: &str) -> SearchQuery {
    SearchQuery {
        app: app(1),
        environment: Environment::Live,
        kind: None,
        text: SearchText::parse(text).unwrap(),
        before: None,
        limit: 100,
    }
}

/// The connections of attempts in these tests.
fn connections() -> Vec<ConnectionId> {
    let number = |number| ConnectionId::new(Ulid::from_parts(2, number));
    (0..3).map(number).collect()
}

async fn found(store: &Store, query: &SearchQuery) -> Vec<TransactionId> {
    let page = search(store, query, &connections()).await.unwrap();
    assert_eq!(page.more, None);
    page.items.iter().map(|tx| tx.id).collect()
}

/// All pages of a search.
async fn paged(store: &Store, mut query: SearchQuery) -> Vec<TransactionId> {
    let mut all = Vec::new();
    loop {
        let page = search(store, &query, &connections()).await.unwrap();
        assert!(page.items.len() <= query.limit);
        all.extend(page.items.iter().map(|tx| tx.id));
        match page.more {
            None => return all,
            more => {
                assert_ne!(query.before, more, "a page goes on");
                query.before = more;
            }
        }
    }
}

async fn rows(store: &Store) -> Vec<Vec<u8>> {
    let rows = store.scan(Table::Index, b"s", b"t", Direction::Forward, 100_000);
    rows.await
        .unwrap()
        .into_iter()
        .map(|(key, _)| key)
        .collect()
}

async fn stored(store: &Store) -> Vec<Transaction> {
    let rows = store.scan(
        Table::Transaction,
        &[0],
        &[255],
        Direction::Forward,
        100_000,
    );
    let rows = rows.await.unwrap();
    let read = |(_, row): &(Vec<u8>, Vec<u8>)| serde_json::from_slice(&row[8..]).unwrap();
    rows.iter().map(read).collect()
}

/// Payment of a shop with each value that a search finds.
fn order() -> Transaction {
    let mut world = World::payment();
    world.tx = Transaction {
        amount: amount(2_500, "USD"),
        metadata: metadata(&[
            ("order", "A-1042"),
            ("channel", "Web Shop"),
            ("Site", "shop:3"),
        ]),
        description: "Order #1042: two coffees".to_owned(),
        ..begun(Kind::Payment, 9)
    };
    world.apply(confirm(1)).unwrap();
    world.answer(succeeded()).unwrap();
    let mut tx = world.tx;
    tx.customer.first_name = "Zoé".to_owned();
    tx.customer.last_name = "Jean-Pierre d'Almeida".to_owned();
    tx.customer.email = "Zoe.Almeida@Example.com".to_owned();
    tx.customer.phone = Some("+2290197000000".to_owned());
    tx.attempts[0].phone = Some("+2290190000001".to_owned());
    tx.attempts[0].reference = Uuid::from_u128(0x7d3f_0c9e_5b1a_4a52_9d6e_0f3c_8a1b_2c4d);
    tx.attempts[0].provider_id = Some("pi_3Q9xYz".to_owned());
    tx.attempts[0].charges[0].id = Some("pi_3Q9xYz".to_owned());
    tx
}

/// [`order`] beside others with the same values: of another app, and of the sandbox.
async fn shops() -> (Store, [Transaction; 3]) {
    let store = Store::memory();
    let order = order();
    let mut twin = order.clone();
    twin.app = app(2);
    twin.id = id(Kind::Payment, 9 * 60_000, 10);
    twin.attempts[0].reference = Uuid::from_u128(10);
    let mut rehearsal = order.clone();
    rehearsal.environment = Environment::Sandbox;
    rehearsal.id = id(Kind::Payment, 9 * 60_000, 11);
    rehearsal.attempts[0].reference = Uuid::from_u128(11);
    for tx in [&order, &twin, &rehearsal, &begun(Kind::Payment, 3)] {
        put(&store, None, tx).await;
    }
    (store, [order, twin, rehearsal])
}

#[tokio::test]
async fn a_payment_is_found_by_each_of_its_values_in_any_spelling() {
    let (store, [order, ..]) = shops().await;
    let spelt = order.id.to_string();
    for text in [
        &spelt,
        &spelt.to_uppercase(),
        spelt.trim_start_matches("py_"),
        "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d",
        "7D3F0C9E5B1A4A529D6E0F3C8A1B2C4D",
        " pi_3Q9xYz ",
        "zoe.almeida@example.com",
        "ZOE.ALMEIDA@EXAMPLE.COM",
        "+229 01 97 00 00 00",
        "00229 0197000000",
        "0197000000",
        "97 00 00 00",
        "97-00-00-00",
        "01 90 00 00 01",
        "A-1042",
        "a-1042",
        "order:A-1042",
        "Order: a-1042",
        "web shop",
        "channel:web shop",
        "site:shop:3",
        "shop:3",
        "zoe",
        "ZOÉ",
        "Zoé Almeida",
        "almeida, zoe",
        "jean pierre",
        "Jean-Pierre",
        "d'Almeida Zoé",
        "#1042",
        "1042",
        "zoe 1042",
        "zoe $25.00",
    ] {
        assert_eq!(found(&store, &asked(text)).await, [order.id], "{text}");
    }
}

#[tokio::test]
async fn other_values_find_nothing() {
    let (store, _) = shops().await;
    for text in [
        "py_61jd4v3z6q8k9m2n5p7r1s3t4v",
        "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4e",
        "PI_3Q9XYZ",
        "zoe.almeida@example",
        "+228 01 97 00 00 00",
        "97 00 00 01",
        "channel:A-1042",
        "web",
        "zoe diop",
        "coffees",
        "zoe 25.01",
        "-",
    ] {
        assert_eq!(found(&store, &asked(text)).await, [], "{text}");
    }
}

#[tokio::test]
async fn transactions_of_another_app_environment_or_kind_are_not_found() {
    let (store, [order, twin, rehearsal]) = shops().await;
    let spelt = order.id.to_string();
    for (text, kind, expected) in [
        ("zoe", Some(Kind::Payment), vec![order.id]),
        ("zoe", Some(Kind::Payout), vec![]),
        (&spelt, Some(Kind::Payout), vec![]),
    ] {
        let query = SearchQuery {
            kind,
            ..asked(text)
        };
        assert_eq!(found(&store, &query).await, expected, "{text}");
    }
    let reference = order.attempts[0].reference.to_string();
    for (app, environment, expected) in [
        (app(2), Environment::Live, vec![twin.id]),
        (app(1), Environment::Sandbox, vec![rehearsal.id]),
        (app(2), Environment::Sandbox, vec![]),
    ] {
        let asked = |text| SearchQuery {
            app,
            environment,
            ..asked(text)
        };
        for text in ["zoe", "0197000000", "a-1042", "$25", "pi_3Q9xYz"] {
            assert_eq!(found(&store, &asked(text)).await, expected, "{text}");
        }
        for text in [&spelt, &reference] {
            assert_eq!(found(&store, &asked(text)).await, [], "{text}");
        }
    }
}

#[tokio::test]
async fn an_amount_is_found_in_the_typed_currency_or_in_each() {
    let store = Store::memory();
    let amounts = [
        (2_500, "USD"),
        (25, "XOF"),
        (2_550, "EUR"),
        (2_500, "XAF"),
        (150_000, "USD"),
        (1_500, "XOF"),
    ];
    for (number, (minor, code)) in (1..).zip(amounts) {
        let tx = Transaction {
            amount: amount(minor, code),
            ..begun(Kind::Payment, number)
        };
        put(&store, None, &tx).await;
    }
    for (text, expected) in [
        ("25", vec![2, 1]),
        ("25.00", vec![2, 1]),
        ("25,00", vec![2, 1]),
        ("USD 25", vec![1]),
        ("25 usd", vec![1]),
        ("XOF 25", vec![2]),
        ("25 EUR", vec![]),
        ("25,50", vec![3]),
        ("25,50 €", vec![3]),
        ("2500", vec![4]),
        ("2 500 FCFA", vec![4]),
        ("1500", vec![6, 5]),
        ("1 500", vec![6, 5]),
        ("$1,500.00", vec![5]),
        ("1.500", vec![6, 5]),
    ] {
        let found = found(&store, &asked(text)).await;
        let numbers: Vec<_> = found.iter().map(|id| id.ulid().random()).collect();
        assert_eq!(numbers, expected, "{text}");
    }
}

#[tokio::test]
async fn a_payout_is_found_by_its_recipient_and_both_kinds_at_once_newest_first() {
    let store = Store::memory();
    let mut payout = begun(Kind::Payout, 5);
    let Details::Payout(details) = &mut payout.details else {
        panic!("a payout");
    };
    details.recipient = metadata(&[("iban", "BJ66 BJ06 1010"), ("msisdn", "+22990000001")]);
    let mut payment = begun(Kind::Payment, 6);
    let Details::Payment(details) = &mut payment.details else {
        panic!("a payment");
    };
    details.restriction = Some(Restriction::Phone {
        number: "+22990000001".to_owned(),
        country_code: "BJ".to_owned(),
    });
    // At the same moment, under the same ulid.
    let mut last = begun(Kind::Payout, 6);
    last.customer = payment.customer.clone();
    for tx in [&payout, &payment, &last] {
        put(&store, None, tx).await;
    }
    assert_eq!(found(&store, &asked("bj66 bj06 1010")).await, [payout.id]);
    for text in ["90 00 00 01", "awa diop"] {
        let all = [payment.id, last.id, payout.id];
        assert_eq!(found(&store, &asked(text)).await, all, "{text}");
        for limit in 1..4 {
            let query = SearchQuery {
                limit,
                ..asked(text)
            };
            assert_eq!(paged(&store, query).await, all, "{text}, {limit} a page");
        }
    }
}

#[tokio::test]
async fn a_customer_is_found_by_id_and_by_what_the_payer_corrected() {
    let store = Store::memory();
    let new = NewCustomer {
        email: "awa@example.com".to_owned(),
        ..NewCustomer::default()
    };
    let (mut batch, now) = (Batch::new(), Timestamp::from_seconds(1_700_000_000));
    let owner = (app(1), Environment::Live);
    let ids = Ids::seeded(1);
    let customer = register(&store, &mut batch, owner, new, now, &ids)
        .await
        .unwrap()
        .customer;
    let mut tx = begun(Kind::Payment, 1);
    tx.customer = customer.clone();
    tx.customer.phone = Some("+2290197000000".to_owned());
    add(&mut batch, None, &tx);
    store.commit(batch).await.unwrap();
    assert_eq!(
        found(&store, &asked(&customer.id.to_string())).await,
        [tx.id]
    );
    let mut corrected = tx.clone();
    corrected.version += 1;
    corrected.customer.phone = Some("+2290190000009".to_owned());
    put(&store, Some(&tx), &corrected).await;
    assert_eq!(found(&store, &asked("0190000009")).await, [tx.id]);
    assert_eq!(found(&store, &asked("0197000000")).await, []);
}

#[tokio::test]
async fn attempts_of_a_deleted_connection_are_found_by_their_names() {
    let store = Store::memory();
    let order = order();
    put(&store, None, &order).await;
    let query = asked("pi_3Q9xYz");
    let page = search(&store, &query, &[]).await.unwrap();
    assert!(page.items.is_empty(), "the app has no such connection");
    let connection = order.attempts[0].candidate.connection;
    let mut batch = Batch::new();
    note_past_connection(&mut batch, app(1), Environment::Live, connection);
    store.commit(batch).await.unwrap();
    for text in ["pi_3Q9xYz", "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d"] {
        let page = search(&store, &asked(text), &[]).await.unwrap();
        assert_eq!(page.items.len(), 1, "{text}");
    }
}

/// Costs of a payment with few values, and of [`order`].
#[tokio::test]
async fn a_payment_writes_a_row_for_each_new_term_and_none_in_its_other_commits() {
    let store = Store::memory();
    let count = async || rows(&store).await.len();
    let mut world = World::payment();
    put(&store, None, &world.tx).await;
    assert_eq!(count().await, 4, "amount, e-mail, two names");
    let mut written = Vec::new();
    let before = world.tx.clone();
    world.apply(confirm(1)).unwrap();
    put(&store, Some(&before), &world.tx).await;
    written.push(count().await);
    for outcome in [pending(), succeeded(), usd("P2", 2_500)] {
        let before = world.tx.clone();
        world.answer(outcome).unwrap();
        put(&store, Some(&before), &world.tx).await;
        written.push(count().await);
    }
    assert_eq!(
        written,
        [5, 5, 5, 6],
        "the payer's phone, and the id of money that a case is about"
    );

    let store = Store::memory();
    put(&store, None, &order()).await;
    // amount, e-mail, two phones, four words of the name, three values, the order's number
    assert_eq!(rows(&store).await.len(), 12);
}

#[test]
fn terms_are_bounded() {
    let mut tx = begun(Kind::Payment, 1);
    let words = |count: usize, word: &str| {
        let words = (0..count).map(|number| format!("{word}{number}"));
        words.collect::<Vec<_>>().join(" ")
    };
    tx.customer.first_name = words(50, "name");
    tx.description = words(50, "order");
    tx.metadata = (0..50)
        .map(|number| (format!("key{number:02}"), number.to_string()))
        .collect();
    tx.metadata.insert("a".to_owned(), "x".repeat(255));
    let texts = 1 + 6 + (20 - 1) + 4;
    assert_eq!(terms(&tx).len(), 1 + texts, "the amount, and texts");
    let mut payout = begun(Kind::Payout, 1);
    payout.metadata = tx.metadata;
    if let Details::Payout(details) = &mut payout.details {
        details.recipient = (0..200)
            .map(|n| (n.to_string(), format!("field {n}")))
            .collect();
    }
    assert_eq!(terms(&payout).len(), 64);
    for text in ["", " \u{a0}", "x".repeat(255).as_str()] {
        assert!(SearchText::parse(text).is_err(), "{text:?}");
    }
    assert!(SearchText::parse(&"x".repeat(254)).is_ok());
}

#[tokio::test]
async fn a_search_for_words_that_never_meet_ends_in_bounded_pages() {
    let store = Store::memory();
    let mut batch = Batch::new();
    for number in 1..=4_000 {
        let mut tx = begun(Kind::Payment, number);
        let (first, last) = match number {
            17 => ("Awa", "Zoe"),
            number if number % 2 == 0 => ("Awa", "Diop"),
            _ => ("Zoe", "Diop"),
        };
        (tx.customer.first_name, tx.customer.last_name) = (first.to_owned(), last.to_owned());
        add(&mut batch, None, &tx);
    }
    store.commit(batch).await.unwrap();
    let (mut query, mut pages) = (asked("awa zoe"), Vec::new());
    loop {
        let page = search(&store, &query, &[]).await.unwrap();
        pages.push(page.items.len());
        query.before = page.more;
        if page.more.is_none() {
            break;
        }
    }
    assert!((3..50).contains(&pages.len()), "{pages:?}");
    assert_eq!(pages.iter().sum::<usize>(), 1);
}

#[tokio::test]
async fn a_purge_takes_the_rows_of_sandbox_transactions_and_of_no_others() {
    let store = Store::memory();
    let mut sandbox = order();
    sandbox.environment = Environment::Sandbox;
    let live = begun(Kind::Payment, 3);
    put(&store, None, &live).await;
    let kept = rows(&store).await;
    put(&store, None, &sandbox).await;
    let end = Timestamp::from_seconds(0).plus(Duration::from_secs(24 * 60 * 60));
    assert_eq!(purge_sandbox(&store, app(1), end).await.unwrap(), 1);
    assert_eq!(rows(&store).await, kept);
    let query = SearchQuery {
        environment: Environment::Sandbox,
        ..asked("zoe")
    };
    assert_eq!(found(&store, &query).await, []);
}
