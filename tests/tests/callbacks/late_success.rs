//! A success of an attempt that counted as not sent: it ends the payment, and nobody pays again.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::json;
use switchyard::checkout;
use switchyard::operations::Draining;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::{AttemptState, CaseReason};
use switchyard_tests::eventually;
use tower::ServiceExt as _;

use crate::fixture::{Fixture, KEY, PAYS, SOON};
use crate::reread::Provider;

/// Answer to a payer at a page of the payment: its status, its destination, and its text.
pub async fn checkout_page(
    fixture: &Fixture,
    id: TransactionId,
    page: &str,
    form: Option<&str>,
) -> anyhow::Result<(u16, String, String)> {
    let pages = checkout::router(fixture.merchant.state.clone(), Draining::default());
    let request = Request::builder().uri(format!("/checkout/{id}{page}"));
    let request = match form {
        Some(form) => request
            .method("POST")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form.to_owned()))?,
        None => request.body(Body::empty())?,
    };
    let answer = pages.oneshot(request).await?;
    let status = answer.status().as_u16();
    let leads_to = answer.headers().get("location").map(|to| to.to_str());
    let leads_to = leads_to.transpose()?.unwrap_or_default().to_owned();
    let bytes = to_bytes(answer.into_body(), 1 << 20).await?;
    Ok((
        status,
        leads_to,
        String::from_utf8_lossy(&bytes).into_owned(),
    ))
}

/// The gateway's promise was that *not found* for 15 minutes is final.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_was_open_again_after_not_found_ends_with_the_first_attempts_money()
-> anyhow::Result<()> {
    // It takes requests and never answers one.
    let silent = Provider::default().start().await?;
    let fixture = Fixture::misbehaving_by_its_clock(&silent).await?;
    let id = fixture.confirmed("write").await?;
    let choice = "country=US&method=card_usd";
    eventually("nobody knows", SOON, async || {
        let attempt = &fixture.transaction(id).await?.attempts[0];
        Ok((attempt.state == AttemptState::InDoubt).then_some(()))
    })
    .await?;
    let promised = Duration::from_secs(15 * 60);
    fixture.merchant.bench.clock.advance(promised);
    eventually("not found is final", SOON, async || {
        fixture.merchant.bench.clock.advance(Duration::from_secs(1));
        let attempt = &fixture.transaction(id).await?.attempts[0];
        Ok((attempt.state == AttemptState::NotSent).then_some(()))
    })
    .await?;
    let verified = async || {
        let path = format!("/v1/payments/{id}/verify");
        let verified = fixture.merchant.get(&path).await?;
        anyhow::Ok(verified.body["data"].clone())
    };
    assert_eq!(verified().await?["status"], "pending");
    let (status, _, page) = checkout_page(&fixture, id, "", None).await?;
    assert!(
        status == 200 && page.contains("/confirm?a="),
        "{status} {page}"
    );
    let (status, next, _) = checkout_page(&fixture, id, "/details", Some(choice)).await?;
    assert!(
        status == 303 && next.contains("/confirm?a="),
        "{status} {next}"
    );
    let form = next.split_once("/confirm?").unwrap_or_default().1;

    let news = json!({
        "reference": fixture.reference(id).await?, "status": "succeeded", "minor": 2_500,
    });
    fixture.send_raw(news.to_string(), Some(KEY)).await?;
    fixture.dealt_with(1).await?;
    let paid = verified().await?;
    assert_eq!(
        (
            &paid["status"],
            &paid["attention"],
            &paid["amount_received"]
        ),
        (&json!("success"), &json!("late_success"), &json!(25))
    );
    let transaction = fixture.transaction(id).await?;
    let reasons: Vec<_> = transaction.cases.iter().map(|case| case.reason).collect();
    assert_eq!(reasons, [CaseReason::LateSuccess]);

    let result = format!("/checkout/{id}/result");
    for page in ["", "/wait"] {
        let (status, leads_to, _) = checkout_page(&fixture, id, page, None).await?;
        assert_eq!((status, &leads_to), (303, &result), "{page}");
    }
    let (status, _, page) = checkout_page(&fixture, id, "/result", None).await?;
    assert_eq!(status, 200);
    for invitation in ["<form", "/choose", "/details", "/confirm", "/again"] {
        assert!(!page.contains(invitation), "{invitation} in {page}");
    }
    for (page, form) in [("/details", choice), ("/confirm", form)] {
        let (status, leads_to, _) = checkout_page(&fixture, id, page, Some(form)).await?;
        assert_eq!((status, &leads_to), (303, &result), "{page}");
    }
    assert!(fixture.merchant.pay(&id.to_string(), PAYS).await.is_err());
    let after = fixture.transaction(id).await?;
    assert_eq!(after.attempts.len(), 1, "no second attempt was taken");
    assert_eq!(after.attempts[0].captured, Some(after.amount));
    Ok(())
}
