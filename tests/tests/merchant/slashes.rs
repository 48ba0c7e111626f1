//! Paths with repeated or trailing slashes: a GET is answered nevertheless, other methods get the
//! exact path.

use axum::body::Body;
use axum::http::Request;
use switchyard_tests::merchant::{Merchant, payment};

#[tokio::test]
async fn a_get_is_answered_as_without_needless_slashes() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    for (exact, others) in [
        (
            format!("/v1/payments/{id}"),
            [
                format!("/v1/payments/{id}/"),
                format!("//v1//payments///{id}"),
            ],
        ),
        (
            format!("/v1/payments/{id}/verify"),
            [
                format!("/v1/payments//{id}/verify"),
                format!("/v1/payments/{id}/verify//"),
            ],
        ),
        (
            "/v1/payments?limit=1".to_owned(),
            [
                "/v1/payments/?limit=1".to_owned(),
                "//v1/payments?limit=1".to_owned(),
            ],
        ),
        (
            "/utils/payout/methods".to_owned(),
            [
                "/utils/payout/methods/".to_owned(),
                "/utils//payout/methods".to_owned(),
            ],
        ),
    ] {
        let expected = merchant.get(&exact).await?;
        assert_eq!(expected.status, 200, "{exact}");
        for other in others {
            let reply = merchant.get(&other).await?;
            assert_eq!(reply.status, 200, "{other}: {}", reply.text);
            assert_eq!(reply.text, expected.text, "{other}");
            assert_eq!(reply.headers.get_all("x-request-id").iter().count(), 1);
        }
    }
    // Neither more nor less is allowed than at the exact path.
    let strangers = Request::get(format!("/v1//payments/{id}/")).body(Body::empty())?;
    assert_eq!(merchant.ask(strangers).await?.status, 401);
    for nothing in ["/v1/nothing/", "//", "/v1/payments/py_nothing/"] {
        assert_eq!(merchant.get(nothing).await?.status, 404, "{nothing}");
    }
    Ok(())
}

#[tokio::test]
async fn another_method_is_told_the_exact_path_and_changes_nothing() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    for path in ["/v1/payments/initialize/", "//v1/payments//initialize"] {
        let reply = merchant.post(path, &payment()).await?;
        assert_eq!(reply.refusal(), (404, vec!["route_not_found -".to_owned()]));
        let hint = reply.body["errors"][0]["hint"].as_str().unwrap_or_default();
        assert!(hint.ends_with(" /v1/payments/initialize"), "{hint}");
    }
    assert_eq!(merchant.get("/v1/payments").await?.body["meta"]["total"], 0);
    Ok(())
}
