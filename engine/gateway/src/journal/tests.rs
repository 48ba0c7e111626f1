//! Tests of the proofs that the journal gives, and of rows that it must not overwrite.

use super::*;
use switchyard_core::ids::PaymentId;
use switchyard_gateway::wire::Body;

fn journal() -> Journal {
    let ulid = ulid::Ulid::from_parts(1, 1);
    Journal {
        store: Store::memory(),
        transaction: TransactionId::Payment(PaymentId::new(ulid)),
        attempt: AttemptId::new(ulid),
    }
}

fn request(mutates: bool) -> HttpRequest {
    HttpRequest {
        method: "POST".into(),
        url: "https://a.example/".into(),
        headers: Vec::new(),
        body: None,
        timeout_ms: None,
        mutates: Some(mutates),
    }
}

fn answer() -> Result<HttpResponse, EffectError> {
    answer_of(200)
}

fn answer_of(status: u16) -> Result<HttpResponse, EffectError> {
    Ok(HttpResponse {
        status,
        headers: Vec::new(),
        body: Body::Text(String::new()),
    })
}

#[tokio::test]
async fn calls_of_one_attempt_that_overlap_write_over_none_of_each_others_rows() {
    let (journal, redactor) = (journal(), Redactor::default());
    let scribe = |operation| JournalWriter::new(Some(&journal), &redactor, "acme", operation);
    let now = Timestamp::from_seconds(1_000);
    let (code, query) = (scribe("submit_input"), scribe("query"));
    let asking = query.begin(&request(false), now).await.unwrap();
    let telling = code.begin(&request(true), now).await.unwrap();
    query.end(asking, &answer()).await;
    query.finish(None).await;
    let (transaction, attempt) = (journal.transaction, journal.attempt);
    assert_eq!(
        recover(&journal.store, transaction, attempt).await.unwrap(),
        Recovered::MaybeSent,
        "what only read took the place of what may have moved money"
    );
    code.end(telling, &answer()).await;
    let rows = provider_calls(&journal.store, transaction, attempt)
        .await
        .unwrap();
    let told: Vec<_> = rows.iter().map(|row| row.operation.as_str()).collect();
    assert_eq!(told, ["query", "submit_input"]);
    assert_eq!(journal.next().await.unwrap(), 1);
}

/// A scheduled query and one of a merchant may run at the same time.
#[tokio::test]
async fn two_calls_of_one_operation_at_one_moment_are_two_rows() {
    let (journal, redactor) = (journal(), Redactor::default());
    let now = Timestamp::from_seconds(1_000);
    let scribes = [1, 2].map(|call| {
        let scribe = JournalWriter::new(Some(&journal), &redactor, "acme", "query");
        scribe.name_call(call);
        scribe
    });
    let mut asking = Vec::new();
    for scribe in &scribes {
        asking.push(scribe.begin(&request(false), now).await.unwrap());
    }
    for (scribe, begun) in scribes.iter().zip(asking) {
        scribe.end(begun, &answer()).await;
        scribe.finish(None).await;
    }
    let (transaction, attempt) = (journal.transaction, journal.attempt);
    let rows = provider_calls(&journal.store, transaction, attempt).await;
    assert_eq!(rows.unwrap().len(), 2);
}

#[tokio::test]
async fn a_state_that_cannot_be_read_is_lost_and_not_the_state_of_the_beginning() {
    let journal = journal();
    let (transaction, attempt) = (journal.transaction, journal.attempt);
    let read = || recovered_state(&journal.store, transaction, attempt);
    assert_eq!(read().await, Ok(None));
    let address = serde_json::json!({"address": 7});
    for (row, state) in [
        ("{\"address\":7}", address),
        ("{\"address\"", Attempt::lost_state()),
        ("", Attempt::lost_state()),
    ] {
        let mut batch = Batch::new();
        batch.put(Table::Journal, state_key(transaction, attempt), row);
        journal.store.commit(batch).await.unwrap();
        assert_eq!(read().await, Ok(Some(state)), "{row}");
    }
}

#[tokio::test]
async fn rows_of_before_are_read_and_counted_on() {
    let journal = journal();
    let Journal {
        transaction,
        attempt,
        ..
    } = journal;
    let mut batch = Batch::new();
    let key = of_attempt(transaction, attempt).child("0000000006");
    batch.put(Table::Journal, key, written(&unreadable()));
    journal.store.commit(batch).await.unwrap();
    assert_eq!(journal.next().await.unwrap(), 7);
    let rows = provider_calls(&journal.store, transaction, attempt).await;
    assert_eq!(rows.unwrap().len(), 1);
}

/// Request without the flag that says whether it moves money.
fn request_by(method: &str) -> HttpRequest {
    HttpRequest {
        method: method.into(),
        mutates: None,
        ..request(false)
    }
}

#[tokio::test]
async fn a_request_of_every_verb_that_can_move_money_is_durable_before_it_leaves() {
    let now = Timestamp::from_seconds(1_000);
    for (request, is_journaled) in [
        (request_by("POST"), true),
        (request_by("PUT"), true),
        (request_by("PATCH"), true),
        (request_by("DELETE"), true),
        (request_by("CONNECT"), true),
        (request_by("TRACE"), true),
        (request_by("MERGE"), true),
        (request_by("SETTLE"), true),
        (request_by("post"), true),
        (request_by("patch"), true),
        (request_by(""), true),
        (request_by("GET"), false),
        (request_by("HEAD"), false),
        (request_by("OPTIONS"), false),
        (request_by("get"), false),
        // The flag of the gateway takes precedence over the verb.
        (
            HttpRequest {
                method: "GET".into(),
                ..request(true)
            },
            true,
        ),
        (request(false), false),
    ] {
        let (journal, redactor) = (journal(), Redactor::default());
        let scribe = JournalWriter::new(Some(&journal), &redactor, "acme", "collect");
        // The request is sent after this call, not before it.
        let begun = scribe.begin(&request, now).await.unwrap();
        let named = format!("{} {:?}", request.method, request.mutates);
        let rows = provider_calls(&journal.store, journal.transaction, journal.attempt);
        let rows = rows.await.unwrap();
        assert_eq!(rows.len(), usize::from(is_journaled), "{named}");
        let maybe = rows.iter().filter(|row| row.stage == Stage::MaybeSent);
        assert_eq!(maybe.count(), rows.len(), "{named}");
        assert_eq!(scribe.maybe_sent(), is_journaled, "{named}");
        scribe.end(begun, &answer()).await;
    }
}

#[tokio::test]
async fn an_answer_of_any_status_proves_that_the_request_was_sent() {
    let now = Timestamp::from_seconds(1_000);
    for status in [
        200, 302, 400, 401, 404, 409, 429, 500, 501, 502, 503, 504, 520, 599,
    ] {
        let (journal, redactor) = (journal(), Redactor::default());
        let scribe = JournalWriter::new(Some(&journal), &redactor, "acme", "collect");
        let begun = scribe.begin(&request(true), now).await.unwrap();
        scribe.end(begun, &answer_of(status)).await;
        assert!(scribe.maybe_sent(), "{status}");
        let (transaction, attempt) = (journal.transaction, journal.attempt);
        let rows = provider_calls(&journal.store, transaction, attempt).await;
        assert_eq!(rows.unwrap()[0].stage, Stage::Answered, "{status}");
        assert_eq!(
            recover(&journal.store, transaction, attempt).await.unwrap(),
            Recovered::MaybeSent,
            "{status}"
        );
    }
}

#[test]
fn the_keys_of_an_attempt_have_their_stored_bytes() {
    let journal = journal();
    let (transaction, attempt) = (journal.transaction, journal.attempt);
    let call = ProviderCall {
        at: Timestamp::from_micros(55),
        operation: "collect".to_owned(),
        ..unreadable()
    };
    let key = row_key(&journal, 7, 0xab, &call);
    let text = format!("{transaction}/{attempt}/0000000007-55-collect-000000ab");
    assert_eq!(*key, *text.as_bytes());
    let state = state_key(transaction, attempt);
    assert_eq!(*state, *format!("{transaction}/{attempt}/state").as_bytes());
    let rows = rows_of(transaction, attempt);
    assert!(rows.contains(&key) && !rows.contains(&state));
}
