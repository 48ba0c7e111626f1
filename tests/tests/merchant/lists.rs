//! The lists of transactions, and the lists of methods.

use std::time::Duration;

use serde_json::json;
use switchyard_tests::merchant::Merchant;
use switchyard_tests::{PAYS, eventually};

use crate::shape::{METHOD_IN_LIST, PAYMENT_RETRIEVED, PAYOUT_RETRIEVED, check};

#[tokio::test]
async fn payments_are_listed_newest_first_page_by_page() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(merchant.payment().await?);
        // Ids of one millisecond are in no order.
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    ids.reverse();
    let page = merchant.get("/v1/payments?limit=2&page=2").await?;
    let data = page.body["data"].as_array().unwrap();
    data.iter()
        .for_each(|payment| check(payment, PAYMENT_RETRIEVED));
    let shown: Vec<_> = data
        .iter()
        .map(|payment| payment["id"].as_str().unwrap())
        .collect();
    assert_eq!(shown, [&ids[2], &ids[3]]);
    let meta =
        json!({"total": 5, "per_page": 2, "current_page": 2, "last_page": 3, "from": 3, "to": 4});
    assert_eq!(page.body["meta"], meta);
    let beyond = merchant.get("/v1/payments?limit=2&page=9").await?;
    assert_eq!(
        (&beyond.body["data"], &beyond.body["meta"]["from"]),
        (&json!([]), &json!(null))
    );
    Ok(())
}

#[tokio::test]
async fn payments_are_found_by_status_and_time() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let (paid, waiting) = (merchant.payment().await?, merchant.payment().await?);
    merchant.pay(&paid, PAYS).await?;
    let now = merchant.bench.clock.now().to_string();
    let today = &now[..10];
    for (query, expected) in [
        ("status=success".to_owned(), vec![&paid]),
        ("status=initiated".to_owned(), vec![&waiting]),
        ("status=failed".to_owned(), vec![]),
        (
            format!("from_date={today}&to_date={today}&status=success"),
            vec![&paid],
        ),
        ("to_date=2020-01-01".to_owned(), vec![]),
        ("from_date=2999-01-01".to_owned(), vec![]),
    ] {
        let reply = merchant.get(&format!("/v1/payments?{query}")).await?;
        let found = reply.body["data"].as_array().unwrap().iter();
        let found: Vec<_> = found
            .map(|payment| payment["id"].as_str().unwrap())
            .collect();
        assert_eq!(found, expected, "{query}");
        assert_eq!(reply.body["meta"]["total"], expected.len(), "{query}");
    }
    Ok(())
}

#[tokio::test]
async fn a_query_that_cannot_be_read_is_named() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let reply = merchant
        .get("/v1/payments?limit=0&page=x&status=paid&from_date=soon")
        .await?;
    let expected =
        ["limit", "page", "status", "from_date"].map(|name| format!("parameter_invalid {name}"));
    assert_eq!(reply.refusal(), (422, expected.to_vec()));
    assert_eq!(
        merchant.get("/v1/payouts?status=cancelled").await?.status,
        422
    );
    Ok(())
}

#[tokio::test]
async fn a_filter_that_does_not_exist_is_refused_by_name() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    merchant.payment().await?;
    for list in ["/v1/payments", "/v1/payouts"] {
        let path = format!("{list}?email=ada%40shop.example&limit=5&order=desc&email=x");
        let reply = merchant.get(&path).await?;
        let expected = ["email", "order"].map(|name| format!("parameter_unknown {name}"));
        assert_eq!(reply.refusal(), (422, expected.to_vec()), "{list}");
        let hint = reply.body["errors"][0]["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("from_date"), "{hint}");
    }
    Ok(())
}

#[tokio::test]
async fn entries_of_lists_carry_their_times_and_what_verify_says_of_the_attempt()
-> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let payment = merchant.payment().await?;
    merchant.pay(&payment, PAYS).await?;
    let payout = merchant.payout(PAYS).await?;
    for (kind, id, attempt) in [
        ("payments", payment, "capture"),
        ("payouts", payout, "disburse"),
    ] {
        let path = format!("/v1/{kind}/{id}/verify");
        let verified = eventually("success", Duration::from_secs(10), || async {
            let data = merchant.get(&path).await?.body["data"].clone();
            Ok((data["status"] == "success").then_some(data))
        })
        .await?;
        let list = merchant.get(&format!("/v1/{kind}")).await?;
        let entry = &list.body["data"][0];
        let table = if kind == "payments" {
            PAYMENT_RETRIEVED
        } else {
            PAYOUT_RETRIEVED
        };
        check(entry, table);
        assert_eq!(entry["id"], id.as_str());
        assert_eq!(entry[attempt], verified[attempt]);
        assert!(entry[attempt]["gateway"]["transaction_id"].is_string());
        assert_eq!(entry["created_at"], entry["initiated_at"]);
        assert!(entry["pending_at"].is_string() && entry["success_at"].is_string());
        assert!(entry["failed_at"].is_null() && entry["failure_message"].is_null());
        let retrieved = merchant.get(&format!("/v1/{kind}/{id}")).await?;
        assert_eq!(&retrieved.body["data"], entry);
    }
    Ok(())
}

#[tokio::test]
async fn all_methods_are_listed_without_a_key_under_both_paths() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    for (kind, count) in [("payment", 66), ("payout", 41)] {
        let open = axum::http::Request::get(format!("/utils/{kind}/methods"))
            .body(axum::body::Body::empty())?;
        let reply = merchant.ask(open).await?;
        assert_eq!(reply.status, 200);
        let methods = reply.body["data"].as_array().unwrap();
        assert_eq!(methods.len(), count);
        for method in methods {
            check(method, METHOD_IN_LIST);
            assert_eq!(method["code"], method["short_code"]);
            assert_eq!(
                method["is_enabled"], true,
                "the test gateway serves every method"
            );
            assert_eq!(method["gateways"][0]["short_code"], "switchyard_demo");
            assert!(!method["countries"].as_array().unwrap().is_empty());
        }
        // A key that is given is ignored, even a wrong one.
        let same = merchant
            .get_with("nonsense", &format!("/v1/utils/{kind}/methods"))
            .await?;
        assert_eq!(same.text, reply.text);
    }
    Ok(())
}

#[tokio::test]
async fn every_icon_that_answers_point_to_is_served() -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let id = merchant.payment().await?;
    merchant.pay(&id, PAYS).await?;
    let verified = merchant
        .get(&format!("/v1/payments/{id}/verify"))
        .await?
        .body;
    let data = &verified["data"];
    for url in [
        &data["currency"]["icon_url"],
        &data["app"]["icon_url"],
        &data["customer"]["profile_url"],
        &data["capture"]["method"]["icon_url"],
        &data["capture"]["gateway"]["icon_url"],
    ] {
        let path = url.as_str().unwrap().replace("http://127.0.0.1:8080", "");
        let icon = merchant.get(&path).await?;
        assert_eq!(
            (icon.status, icon.header("content-type")),
            (200, Some("image/svg+xml")),
            "{url}"
        );
        assert!(icon.text.starts_with("<svg"), "{url}");
    }
    assert_eq!(
        merchant.get("/icons/methods/nope.svg").await?.refusal(),
        (404, vec!["route_not_found -".to_owned()])
    );
    Ok(())
}
