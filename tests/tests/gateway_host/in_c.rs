//! The gateway in C, and libraries in C that keep the letter of the ABI and not its meaning.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use switchyard_core::transaction::{Captured, Outcome};
use switchyard_gateway_host::{Operation, Recovered};
use switchyard_tests::c_gateway;

use crate::fixture::{Fixture, collection};
use crate::loading::craft;
use crate::provider::Provider;

#[tokio::test]
async fn the_gateway_in_c_serves_a_payment() {
    let (fixture, provider) = (Fixture::new(), Provider::start().await);
    let gateway = fixture
        .gateways
        .add(&c_gateway(fixture.folder()))
        .await
        .unwrap();
    assert_eq!(gateway.manifest.title, "Example in C");
    let call = |mood: &str, operation| {
        let config = json!({ "url": provider.in_mood(mood) });
        let call = fixture.call(
            &gateway,
            fixture.attempt(),
            operation,
            config,
            collection(""),
        );
        fixture.gateways.call(call)
    };
    let end = call("paid", Operation::Collect).await;
    let Outcome::Succeeded {
        amount: Captured::Named(amount),
        ..
    } = end.outcome
    else {
        panic!("{:?}", end.outcome);
    };
    assert_eq!((amount.minor(), amount.currency().code()), (2_500, "USD"));
    for operation in [Operation::Collect, Operation::Query] {
        let outcome = call("waiting", operation).await.outcome;
        assert!(
            matches!(
                outcome,
                Outcome::Pending {
                    poll_after: Some(_),
                    ..
                }
            ),
            "{outcome:?}"
        );
        let outcome = call("refused", operation).await.outcome;
        assert!(matches!(outcome, Outcome::Declined(_)), "{outcome:?}");
        let outcome = call("riddle", operation).await.outcome;
        assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn nonsense_of_a_library_is_not_sent_and_the_engine_goes_on() {
    let fixture = Fixture::new();
    let cases = [
        ("no_json", "say(answer, \"hello\"); return 0;"),
        ("no_outcome", "say(answer, \"{}\"); return 0;"),
        ("silence", "(void)answer; return 0;"),
        ("other_code", "say(answer, \"{}\"); return 7;"),
        ("fault_without_words", "say(answer, \"\"); return 2;"),
        (
            "waits_without_a_call",
            "say(answer, \"{\\\"do\\\":[]}\"); return 1;",
        ),
        (
            "waits_for_nothing",
            "say(answer, \"{\\\"do\\\":[]}\"); *call = &dummy; return 1;",
        ),
        (
            "other_effect",
            "say(answer, \"{\\\"do\\\":[{\\\"id\\\":1,\\\"fork\\\":{}}]}\"); *call = &dummy; return 1;",
        ),
        (
            "endless",
            "for (int i = 0; i < 100; i++) { put_zeros(answer); } return 0;",
        ),
    ];
    for (name, begin) in cases {
        let gateway = fixture
            .gateways
            .add(&speaking(&fixture, name, begin))
            .await
            .unwrap();
        let of = fixture.attempt();
        let call = fixture.call(&gateway, of, Operation::Collect, json!({}), collection(""));
        let outcome = fixture.gateways.call(call).await.outcome;
        assert!(
            matches!(outcome, Outcome::NotSent { .. }),
            "{name}: {outcome:?}"
        );
        assert_eq!(
            fixture.recovered(of).await,
            Recovered::NothingSent,
            "{name}"
        );
    }
}

/// A gateway whose `begin` is this.
fn speaking(fixture: &Fixture, name: &str, begin: &str) -> PathBuf {
    let folder = fixture.folder().join(name);
    fs::create_dir_all(&folder).unwrap();
    craft(
        &folder,
        name,
        |source| {
            source.replace(
                "*call = NULL;
  return fail(answer);",
                &format!(
                    "*call = NULL;
  {begin}"
                ),
            )
        },
        |_| {},
    )
}
