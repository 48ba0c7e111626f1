//! Webhooks, over the operator API.

use super::*;

#[tokio::test]
async fn a_webhook_is_made_and_changed_with_its_filter_schedule_and_bounds() {
    let world = World::new().await;
    let path = format!("/apps/{}/webhooks", world.app());
    let made = world
        .done("POST", &path, json!({ "url": "https://shop.example/a" }))
        .await;
    let expected = json!([["*"], { "profile": "spec" }, null, null]);
    let shown = |view: &Value| {
        json!([
            view["events"],
            view["retry"],
            view["per_second"],
            view["concurrency"]
        ])
    };
    assert_eq!(shown(&made), expected);
    let one = format!("/webhooks/{}", id(&made));
    let change = json!({
        "events": ["payment.*", "payout.failed"],
        "retry": { "profile": "custom", "delays": [60, 600] },
        "per_second": 5,
        "concurrency": 2,
    });
    let changed = world.done("PATCH", &one, change).await;
    assert_eq!(
        shown(&changed),
        json!([["payment.*", "payout.failed"], { "profile": "custom", "delays": [60, 600] }, 5, 2])
    );
    let lifted = world
        .done("PATCH", &one, json!({ "per_second": null }))
        .await;
    assert_eq!(lifted["per_second"], Value::Null);
    assert_eq!(lifted["concurrency"], 2);
    for bad in [
        json!({ "events": ["payment.succes"] }),
        json!({ "events": [] }),
        json!({ "retry": { "profile": "custom", "delays": [0] } }),
        json!({ "retry": { "profile": "often" } }),
        json!({ "per_second": 0 }),
        json!({ "concurrency": 65 }),
    ] {
        let refused = world.refused("PATCH", &one, bad.clone()).await;
        assert_eq!(refused, (422, "field_invalid".to_owned()), "{bad}");
    }
    let off = world
        .done("PATCH", &one, json!({ "is_enabled": false }))
        .await;
    assert!(off["disabled"]["why"].as_str().unwrap().contains("by hand"));
}

#[tokio::test]
async fn what_a_webhook_missed_is_sent_on_request_and_the_answer_says_how_much() {
    let world = World::new().await;
    let path = format!("/apps/{}/webhooks", world.app());
    let trigger = format!("/apps/{}/trigger", world.app());
    world
        .done("POST", &trigger, json!({ "event": "payment.cancelled" }))
        .await;
    let made = world
        .done("POST", &path, json!({ "url": "https://shop.example/late" }))
        .await;
    let missing = format!("/webhooks/{}/replay-missing", id(&made));
    let since = json!({ "since": "2020-01-01" });
    let done = world.done("POST", &missing, since.clone()).await;
    let expected = json!({ "replayed": 2, "examined": 1, "has_more": false, "after": null });
    assert_eq!(done, expected);
    let again = world.done("POST", &missing, since.clone()).await;
    assert_eq!(again["replayed"], 0);
    for bad in [
        json!({}),
        json!({ "since": "yesterday" }),
        json!({ "since": "2020-01-01", "after": "whd_x" }),
    ] {
        let refused = world.refused("POST", &missing, bad.clone()).await;
        assert_eq!(refused, (422, "field_invalid".to_owned()), "{bad}");
    }
    for _ in 0..28 {
        world.done("POST", &missing, since.clone()).await;
    }
    let refused = world.refused("POST", &missing, since).await;
    assert_eq!(refused, (429, "rate_limit_exceeded".to_owned()));
}

#[tokio::test]
async fn a_change_to_a_secret_that_is_not_base64_is_refused_and_keeps_the_old_one() {
    let world = World::new().await;
    let path = format!("/apps/{}/webhooks", world.app());
    let made = world
        .done("POST", &path, json!({ "url": "https://shop.example/a" }))
        .await;
    let one = format!("/webhooks/{}", id(&made));
    let secret = async || world.get(&format!("{one}/secret")).await["secret"].clone();
    let before = secret().await;
    for bad in [
        "whsec_not_base64_at_all",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
    ] {
        let (status, answer) = world.call("PATCH", &one, json!({ "secret": bad })).await;
        assert_eq!(status, 422, "{bad}: {answer}");
        let error = &answer["errors"][0];
        assert_eq!(
            (&error["code"], &error["field"]),
            (&json!("field_invalid"), &json!("secret")),
            "{bad}"
        );
        assert!(!answer.to_string().contains(bad), "a secret is not shown");
        assert_eq!(secret().await, before, "{bad}");
    }
    let good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    world.done("PATCH", &one, json!({ "secret": good })).await;
    assert_eq!(secret().await, good);
}
