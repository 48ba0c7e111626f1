use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use switchyard_core::ids::PaymentId;
use switchyard_system::ids::Ids;

struct World {
    store: Store,
    clock: Clock,
    ids: Ids,
    idempotency: Idempotency,
}

fn world() -> World {
    let store = Store::memory();
    let clock = Clock::manual(Timestamp::from_seconds(1_000_000));
    World {
        idempotency: Idempotency::new(store.clone(), clock.clone()),
        ids: Ids::seeded(1),
        store,
        clock,
    }
}

fn request(key: &str, fields: &[(&str, &str)]) -> KeyedRequest {
    KeyedRequest {
        app: AppId::new(Ids::seeded(9).ulid(Timestamp::from_seconds(1))),
        environment: Environment::Sandbox,
        route: Route::InitializePayment,
        kind: KeyKind::Secret,
        key: key.to_owned(),
        fields: fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

fn answer(id: TransactionId) -> Answer {
    Answer {
        status: 201,
        body: id.to_string(),
    }
}

impl World {
    /// Carries a request out, and answers as the API would.
    async fn send(&self, request: &KeyedRequest) -> Result<Answer, String> {
        loop {
            match self.idempotency.begin(request).await.unwrap() {
                Begin::Replay(answer) => return Ok(answer),
                Begin::Differs(field) => return Err(field),
                Begin::InFlight => return Err("in flight".to_owned()),
                Begin::First(pending) => {
                    let id =
                        TransactionId::Payment(PaymentId::new(self.ids.ulid(self.clock.now())));
                    let keyed = KeyedResponse {
                        pending: &pending,
                        answer: &answer,
                        with: None,
                    };
                    let mut batch = Batch::new();
                    batch.put(Table::Transaction, id.to_string(), "made");
                    keyed.keep(&mut batch, id);
                    match self.store.commit(batch).await {
                        Ok(()) => return Ok(answer(id)),
                        Err(CommitError::Conflict) => {
                            assert!(keyed.was_overtaken(&self.store).await.unwrap())
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    }

    async fn made(&self) -> usize {
        let rows = self
            .store
            .scan(
                Table::Transaction,
                b"a",
                b"z",
                switchyard_store::Direction::Forward,
                1_000,
            )
            .await;
        rows.unwrap().len()
    }

    async fn kept(&self) -> usize {
        let rows = self
            .store
            .scan(
                Table::Idempotency,
                b"a",
                b"z",
                switchyard_store::Direction::Forward,
                1_000,
            )
            .await;
        rows.unwrap().len()
    }
}

use switchyard_store::CommitError;

#[tokio::test]
async fn the_same_request_is_answered_the_same_and_made_once() {
    let world = world();
    let request = request("k", &[("amount", "5"), ("currency", "XOF")]);
    let first = world.send(&request).await.unwrap();
    assert_eq!(world.send(&request).await.unwrap(), first);
    assert_eq!(world.made().await, 1);
}

#[tokio::test]
async fn another_body_is_refused_by_the_name_of_the_first_field_that_differs() {
    let world = world();
    let fields = [
        ("amount", "5"),
        ("currency", "XOF"),
        ("metadata.order", "1"),
    ];
    world.send(&request("k", &fields)).await.unwrap();
    let table: [(&[(&str, &str)], &str); 4] = [
        (
            &[
                ("amount", "6"),
                ("currency", "USD"),
                ("metadata.order", "1"),
            ],
            "amount",
        ),
        (
            &[
                ("amount", "5"),
                ("currency", "XOF"),
                ("metadata.order", "2"),
            ],
            "metadata.order",
        ),
        (
            &[
                ("amount", "5"),
                ("currency", "XOF"),
                ("metadata.order", "1"),
                ("methods", "a"),
            ],
            "methods",
        ),
        (&[("amount", "5"), ("currency", "XOF")], "metadata.order"),
    ];
    for (fields, differs) in table {
        assert_eq!(
            world.send(&request("k", fields)).await,
            Err(differs.to_owned())
        );
    }
    assert_eq!(world.made().await, 1);
}

#[tokio::test]
async fn a_key_belongs_to_one_app_one_environment_one_route_and_one_kind_of_api_key() {
    let world = world();
    let mine = request("k", &[]);
    let others = [
        KeyedRequest {
            app: AppId::new(Ids::seeded(3).ulid(Timestamp::from_seconds(1))),
            ..mine.clone()
        },
        KeyedRequest {
            environment: Environment::Live,
            ..mine.clone()
        },
        KeyedRequest {
            route: Route::InitializePayout,
            ..mine.clone()
        },
        KeyedRequest {
            kind: KeyKind::Public,
            ..mine.clone()
        },
        KeyedRequest {
            key: "K".to_owned(),
            ..mine.clone()
        },
    ];
    let first = world.send(&mine).await.unwrap();
    for other in others {
        assert_ne!(world.send(&other).await.unwrap(), first, "{other:?}");
    }
}

#[tokio::test]
async fn two_hundred_twins_make_one_transaction() {
    let world = Arc::new(world());
    let made = Arc::new(AtomicU32::new(0));
    let twins: Vec<_> = (0..200)
        .map(|_| {
            let (world, made) = (world.clone(), made.clone());
            tokio::spawn(async move {
                let answer = world
                    .send(&request("storm", &[("amount", "5")]))
                    .await
                    .unwrap();
                made.fetch_add(1, Ordering::SeqCst);
                answer
            })
        })
        .collect();
    let mut answers = Vec::new();
    for twin in twins {
        answers.push(twin.await.unwrap().body);
    }
    answers.dedup();
    assert_eq!(
        (
            answers.len(),
            made.load(Ordering::SeqCst),
            world.made().await
        ),
        (1, 200, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_twin_waits_for_the_first_and_then_gives_up() {
    let world = world();
    let request = request("slow", &[]);
    let Begin::First(pending) = world.idempotency.begin(&request).await.unwrap() else {
        panic!("the first request is the first");
    };
    let before = tokio::time::Instant::now();
    assert!(matches!(
        world.idempotency.begin(&request).await.unwrap(),
        Begin::InFlight
    ));
    assert!(before.elapsed() >= Duration::from_secs(2));
    // The first failed without keeping anything: the next one is the first again.
    drop(pending);
    assert!(matches!(
        world.idempotency.begin(&request).await.unwrap(),
        Begin::First(_)
    ));
}

#[tokio::test]
async fn two_processes_on_one_store_make_one_transaction() {
    let world = world();
    let other = Idempotency::new(world.store.clone(), world.clock.clone());
    let request = request("k", &[]);
    let Begin::First(pending) = other.begin(&request).await.unwrap() else {
        panic!("the first request is the first");
    };
    let first = world.send(&request).await.unwrap();
    let mut batch = Batch::new();
    let keyed = KeyedResponse {
        pending: &pending,
        answer: &answer,
        with: None,
    };
    keyed.keep(
        &mut batch,
        TransactionId::Payment(PaymentId::new(world.ids.ulid(world.clock.now()))),
    );
    assert_eq!(world.store.commit(batch).await, Err(CommitError::Conflict));
    assert!(keyed.was_overtaken(&world.store).await.unwrap());
    drop(pending);
    assert!(
        matches!(other.begin(&request).await.unwrap(), Begin::Replay(answer) if answer == first)
    );
}

#[tokio::test]
async fn a_key_can_be_used_again_when_its_time_is_over_and_the_sweep_leaves_the_new_answer() {
    let world = world();
    let live = KeyedRequest {
        environment: Environment::Live,
        ..request("k", &[])
    };
    let sandbox = request("k", &[]);
    let (kept, first) = (
        world.send(&live).await.unwrap(),
        world.send(&sandbox).await.unwrap(),
    );
    world
        .clock
        .advance(IDEMPOTENCY_SANDBOX - Duration::from_secs(1));
    assert_eq!(world.send(&sandbox).await.unwrap(), first);
    world.clock.advance(Duration::from_secs(1));
    let second = world.send(&sandbox).await.unwrap();
    assert_ne!(second, first);
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(sweep(&world.store, world.clock.now()).await, Ok(0));
    assert_eq!(world.send(&sandbox).await.unwrap(), second);
    assert_eq!(world.send(&live).await.unwrap(), kept);

    world.clock.advance(IDEMPOTENCY_LIVE);
    assert_eq!(sweep(&world.store, world.clock.now()).await, Ok(2));
    assert_eq!(world.kept().await, 0);
    assert_ne!(world.send(&live).await.unwrap(), kept);
}

impl World {
    /// Puts `value` into every row that keeps an answer; says into how many.
    async fn spoil(&self, value: &[u8]) -> usize {
        let all = (b"k".as_slice(), b"l".as_slice());
        let rows = self.store.scan(
            Table::Idempotency,
            all.0,
            all.1,
            switchyard_store::Direction::Forward,
            1_000,
        );
        let rows = rows.await.unwrap();
        let mut batch = Batch::new();
        for (key, _) in &rows {
            batch.put(Table::Idempotency, key, value);
        }
        self.store.commit(batch).await.unwrap();
        rows.len()
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_an_error_and_not_the_first_request_until_its_time_is_over() {
    let world = world();
    let request = request("k", &[("amount", "5")]);
    let first = world.send(&request).await.unwrap();
    for rubbish in [&b""[..], b"rubbish", br#"{"until":1,"status":201}"#] {
        assert_eq!(world.spoil(rubbish).await, 1);
        let begun = world.idempotency.begin(&request).await;
        assert!(
            matches!(&begun, Err(RecordError::Damaged { id, .. }) if id == "k"),
            "{}",
            String::from_utf8_lossy(rubbish)
        );
    }
    world
        .clock
        .advance(IDEMPOTENCY_SANDBOX - Duration::from_secs(1));
    assert_eq!(sweep(&world.store, world.clock.now()).await, Ok(0));
    assert!(world.idempotency.begin(&request).await.is_err());
    assert_eq!(world.made().await, 1);
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(sweep(&world.store, world.clock.now()).await, Ok(1));
    assert_ne!(world.send(&request).await.unwrap(), first);
}

#[tokio::test]
async fn the_sweep_of_an_earlier_answer_leaves_a_row_that_cannot_be_read() {
    let world = world();
    let request = request("k", &[("amount", "5")]);
    world.send(&request).await.unwrap();
    world.clock.advance(IDEMPOTENCY_SANDBOX);
    world.send(&request).await.unwrap();
    world.spoil(b"rubbish").await;
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(sweep(&world.store, world.clock.now()).await, Ok(0));
    assert!(world.idempotency.begin(&request).await.is_err());
}

#[test]
fn the_keys_of_a_response_have_their_stored_bytes() {
    let request = request("order-1", &[]);
    let key = row::key(&request);
    let app = request.app.ulid().to_bytes();
    assert_eq!(*key, [&b"k"[..], &app, b"s\x01order-1"].concat());
    let expiry = row::expiry_key(Timestamp::from_micros(0x0102), &key);
    assert_eq!(*expiry, [&b"x\0\0\0\0\0\0\x01\x02"[..], &key].concat());
    assert_eq!(row::expiring(&expiry), Some(&*key));
    assert_eq!(row::expiring(&expiry[..9]), None);
    let expired = row::expired(Timestamp::from_micros(0x0102));
    assert!(!expired.contains(&expiry) && expired.contains(&row::expiry_key(START, &key)));
}

/// A time before all others in these tests.
const START: Timestamp = Timestamp::from_micros(1);
