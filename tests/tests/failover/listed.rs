//! After a restore the report of the hold shows the transactions of the lost span that the
//! provider knows and the store does not.

use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use switchyard::operations::Draining;
use switchyard::operator;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::{LIST_FRESH, LIST_RETRY};
use switchyard_engine::hold::Reasons;
use switchyard_engine::testing::TestEngine;
use switchyard_tests::eventually;

use crate::http::ask;
use crate::restored::{Installation, is_final, ordered, pay_out, payment, release, stop};
use crate::road::{METHOD, choice};

const SOON: Duration = Duration::from_secs(20);

/// The operator API of an engine.
struct Operator {
    router: Router,
    token: String,
}

impl Operator {
    fn of(bench: &TestEngine) -> Self {
        let state = ApiState::new(bench.engine.clone(), HttpSettings::default());
        Self {
            router: operator::routes(state.clone(), Draining::default()).with_state(state),
            token: bench.keys.operator_token.expose().clone(),
        }
    }

    async fn report(&self) -> Value {
        ask(&self.router, &self.token, "GET", "/hold", Value::Null).await
    }

    /// The list of the only connection.
    async fn list(&self) -> Value {
        self.report().await["provider_lists"][0].take()
    }

    /// The list, once its fetch is over and it has so many unknown transactions.
    async fn list_with(&self, unknown: usize) -> Value {
        let what = format!("{unknown} unknown transactions");
        let listed = eventually(&what, SOON, || async {
            let list = self.list().await;
            let is_it = list["status"] != "in_progress" && list["unknown"] == unknown;
            Ok(is_it.then_some(list))
        });
        listed.await.unwrap()
    }
}

async fn paid(installation: &Installation, bench: &TestEngine) -> String {
    let id = payment(bench, "ok").await;
    bench.engine.confirm(id, choice(METHOD)).await.unwrap();
    reference(installation, bench, id).await
}

async fn paid_out(installation: &Installation, bench: &TestEngine) -> String {
    let id = pay_out(bench, "ok").await;
    reference(installation, bench, id).await
}

/// The reference of the attempt, once the transaction has ended.
async fn reference(installation: &Installation, bench: &TestEngine, id: TransactionId) -> String {
    let tx = installation.until(bench, id, is_final).await;
    tx.attempts[0].reference.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_shows_what_the_provider_has_of_the_lost_span_and_the_store_does_not_know() {
    let mut installation = Installation::new(1).await;
    let bench = installation.start(ordered()).await;
    let waiting = pay_out(&bench, "ok").await;
    assert_eq!(
        Operator::of(&bench).report().await["provider_lists"],
        json!([]),
        "nothing is lost"
    );
    release(&bench).await;
    stop(bench).await;
    let bench = installation.start(Reasons::default()).await;
    reference(&installation, &bench, waiting).await;
    let known = paid(&installation, &bench).await;
    stop(bench).await;
    installation.back_up();

    let bench = installation.start(Reasons::default()).await;
    let lost = [
        paid(&installation, &bench).await,
        paid_out(&installation, &bench).await,
    ];
    stop(bench).await;

    let bench = installation.restore().await;
    let operator = Operator::of(&bench);
    let first = operator.list().await;
    assert!(
        first["status"] == "in_progress" || first["status"] == "complete",
        "the report waits for no fetch: {first}"
    );
    let list = operator.list_with(2).await;
    assert_eq!(
        (&list["status"], &list["left_out"]),
        (&json!("complete"), &json!(0))
    );
    assert_eq!(
        (&list["gateway"], &list["environment"]),
        (&json!("programmable"), &json!("sandbox"))
    );
    let shown = list["transactions"].as_array().unwrap().iter();
    let references: Vec<&str> = shown.filter_map(|it| it["reference"].as_str()).collect();
    assert!(
        lost.iter().all(|lost| references.contains(&lost.as_str())),
        "{list}"
    );
    assert!(!references.contains(&known.as_str()), "{list}");
    assert!(list["listed"].as_u64().unwrap() >= 3, "{list}");
    let sum = |kind: &str| {
        json!({
            "kind": kind, "state": "succeeded", "currency": "USD", "count": 1, "amount": "$ 25.00",
        })
    };
    assert_eq!(list["sums"], json!([sum("payment"), sum("payout")]));

    release(&bench).await;
    assert_eq!(
        operator.report().await["provider_lists"],
        json!([]),
        "it is released"
    );
    stop(bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_leaves_the_list_when_its_attempt_is_found_and_a_provider_that_is_down_fails()
{
    let mut installation = Installation::new(1).await;
    let bench = installation.start(ordered()).await;
    let id = pay_out(&bench, "ok").await;
    stop(bench).await;
    installation.back_up();

    let bench = installation.start(Reasons::default()).await;
    release(&bench).await;
    installation.until(&bench, id, is_final).await;
    let lost = paid(&installation, &bench).await;
    stop(bench).await;

    let bench = installation.restore().await;
    let operator = Operator::of(&bench);
    operator.list().await;
    installation.until(&bench, id, is_final).await;
    let list = operator.list_with(1).await;
    assert_eq!(list["listed"], 2, "{list}");
    assert_eq!(list["transactions"][0]["reference"], lost.as_str());

    installation.provider.fail_to_list();
    installation
        .clock
        .advance(LIST_FRESH + Duration::from_secs(1));
    let failed = eventually("a failed fetch", SOON, || async {
        let list = operator.list().await;
        Ok((list["status"] == "failed").then_some(list))
    });
    let failed = failed.await.unwrap();
    let reason = failed["reason"].as_str().unwrap();
    assert!(reason.contains("gateway programmable, list"), "{reason}");
    assert_eq!(failed["unknown"], 1, "the earlier list stays: {failed}");
    stop(bench).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_does_not_wait_for_a_provider_that_hangs_and_a_later_one_has_its_list() {
    let mut installation = Installation::new(1).await;
    let bench = installation.start(Reasons::default()).await;
    stop(bench).await;
    installation.back_up();
    let bench = installation.start(Reasons::default()).await;
    let lost = paid(&installation, &bench).await;
    stop(bench).await;

    installation.provider.hang(Some(0));
    let bench = installation.restore().await;
    let operator = Operator::of(&bench);
    let first = operator.list().await;
    assert_eq!(
        (&first["status"], &first["listed"]),
        (&json!("in_progress"), &json!(0))
    );
    assert_eq!(first["fetched_at"], Value::Null);
    let failed = eventually("a failed fetch", SOON, || async {
        Ok((operator.list().await["status"] == "failed").then_some(()))
    });
    failed.await.unwrap();
    installation.provider.hang(None);
    installation
        .clock
        .advance(LIST_RETRY + Duration::from_secs(1));
    let list = operator.list_with(1).await;
    assert_eq!(list["status"], "complete", "{list}");
    assert_eq!(list["transactions"][0]["reference"], lost.as_str());
    stop(bench).await;
}
