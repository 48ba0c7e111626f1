//! Acme: mobile money in one request and one question. The README has its protocol.

use serde::Deserialize;
use serde_json::json;
use switchyard_gateway::http::Response;
use switchyard_gateway::{
    Amount, Collect, ConfigCheck, Context, DeclineReason, Environment, Fault, Gateway, Outcome,
    Query, gateway,
};

#[derive(Default)]
struct Acme;

/// Configuration of a connection, as the operator enters it.
#[derive(Deserialize)]
struct Config {
    api_key: String,
    #[serde(default)]
    base_url: String,
}

impl Config {
    fn url(&self, cx: &Context, path: &str) -> String {
        let base = match (self.base_url.as_str(), cx.environment()) {
            ("", Environment::Sandbox) => "https://sandbox.acme.example",
            ("", Environment::Live) => "https://api.acme.example",
            (given, _) => given,
        };
        format!("{base}{path}")
    }
}

#[derive(Deserialize)]
struct Charge {
    reference: String,
    id: String,
    status: String,
    amount: String,
    currency: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Account {
    name: String,
}

impl Gateway for Acme {
    async fn check_config(&self, cx: &Context) -> Result<ConfigCheck, Fault> {
        let config: Config = cx.config()?;
        let request = cx.get(config.url(cx, "/account")).bearer(&config.api_key);
        let answer = request.send().await?;
        if is_refusal_of_the_key(&answer) {
            return Ok(ConfigCheck::Refused {
                message: "Acme does not know this key".to_owned(),
                field: Some("api_key".to_owned()),
            });
        }
        let account: Account = read(&answer)?;
        Ok(ConfigCheck::Works {
            account: Some(account.name),
        })
    }

    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let config: Config = cx.config()?;
        let charge = json!({
            "reference": ask.reference,
            "amount": ask.amount.decimal,
            "currency": ask.amount.currency,
            "phone": ask.fields.get("msisdn"),
        });
        let request = cx.post(config.url(cx, "/charges")).bearer(&config.api_key);
        // A `?` after a request that can move money means "unknown": the engine asks for the
        // outcome by `query`.
        let answer = request.json(&charge).send().await?;
        outcome(read(&answer)?, &ask.reference)
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let config: Config = cx.config()?;
        let path = format!("/charges/{}", ask.reference);
        let request = cx.get(config.url(cx, &path)).bearer(&config.api_key);
        let answer = request.send().await?;
        if answer.status == 404 {
            return Ok(Outcome::NotFound {
                why: "Acme does not know this reference".to_owned(),
            });
        }
        outcome(read(&answer)?, &ask.reference)
    }
}

gateway!(Acme);

/// Only what Acme says in so many words is an outcome; the amount is the one that Acme names.
fn outcome(charge: Charge, reference: &str) -> Result<Outcome, Fault> {
    if charge.reference != reference {
        return Err(Fault::provider("Acme answers with another charge"));
    }
    let outcome = match charge.status.as_str() {
        "paid" => Outcome::succeeded(Amount::decimal(charge.amount, charge.currency)),
        "open" => Outcome::pending(),
        "refused" => {
            Outcome::declined(reason(&charge.code), charge.message).with_provider_code(charge.code)
        }
        other => Outcome::unknown(format!("Acme has the status `{other}`, which is not known")),
    };
    Ok(outcome.with_provider_id(charge.id))
}

fn reason(code: &str) -> DeclineReason {
    match code {
        "no_funds" => DeclineReason::InsufficientFunds,
        "wrong_number" => DeclineReason::InvalidAccount,
        "payer_said_no" => DeclineReason::PayerDeclined,
        _ => DeclineReason::Other,
    }
}

fn read<T: serde::de::DeserializeOwned>(answer: &Response) -> Result<T, Fault> {
    if is_refusal_of_the_key(answer) {
        return Err(Fault::config("Acme refuses the API key"));
    }
    if !answer.is_success() {
        return Err(Fault::provider(format!("Acme answered {}", answer.status)));
    }
    answer.json()
}

fn is_refusal_of_the_key(answer: &Response) -> bool {
    matches!(answer.status, 401 | 403)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use switchyard_gateway::testing::{self, Call, answer, text_answer, timeout};
    use switchyard_gateway::{Direction, Operation};

    use super::*;

    fn charge(status: &str) -> Value {
        json!({
            "reference": testing::REFERENCE, "id": "ch_1", "status": status,
            "amount": "1000", "currency": "XOF", "code": "no_funds", "message": "Not enough money",
        })
    }

    fn call(operation: Operation) -> Call {
        Call::new(operation).config(json!({ "api_key": "sk_test" }))
    }

    fn collect() -> Call {
        call(Operation::Collect).input(&testing::collect("mtn_bj", 1_000, "XOF", 0))
    }

    #[test]
    fn a_charge_is_sent_once_under_our_reference() {
        let end = collect().run::<Acme>(|_| answer(201, charge("open"))).unwrap();
        let [request] = end.requests.as_slice() else {
            panic!("{:?}", end.requests);
        };
        assert_eq!(request.url, "https://sandbox.acme.example/charges");
        assert!(format!("{:?}", request.body).contains(testing::REFERENCE));
    }

    #[test]
    fn each_status_has_its_outcome() {
        let outcome = |status: &str| {
            let end = collect().run::<Acme>(|_| answer(201, charge(status)));
            end.unwrap().outcome
        };
        let paid = Outcome::succeeded(Amount::decimal("1000", "XOF"));
        assert_eq!(outcome("paid"), paid.with_provider_id("ch_1"));
        assert_eq!(outcome("open"), Outcome::pending().with_provider_id("ch_1"));
        let Outcome::Declined { reason, .. } = outcome("refused") else {
            panic!("a refused charge is declined");
        };
        assert_eq!(reason, DeclineReason::InsufficientFunds);
        assert!(matches!(outcome("frozen"), Outcome::Unknown { .. }));
    }

    #[test]
    fn what_cannot_be_read_is_a_fault_and_never_a_decline() {
        for (status, body) in [(502, "<html>"), (200, "<html>"), (200, ""), (200, "{\"id\":")] {
            let end = collect().run::<Acme>(|_| text_answer(status, body));
            assert!(end.is_err(), "{status} {body}: {end:?}");
        }
        assert!(collect().run::<Acme>(|_| timeout()).is_err());
        assert!(collect().run::<Acme>(|_| answer(401, json!({}))).is_err());
        let mut another = charge("refused");
        another["reference"] = "another".into();
        assert!(collect().run::<Acme>(|_| answer(200, another.clone())).is_err());
    }

    #[test]
    fn a_query_asks_by_our_reference_and_tells_not_found_from_trouble() {
        let ask = testing::query("mtn_bj", Direction::Collect, 1_000, "XOF", 0);
        let query = || call(Operation::Query).input(&ask);
        let end = query().run::<Acme>(|_| answer(200, charge("paid"))).unwrap();
        assert!(end.requests[0].url.ends_with(testing::REFERENCE));
        assert!(matches!(end.outcome, Outcome::Succeeded { .. }));
        let end = query().run::<Acme>(|_| answer(404, json!({}))).unwrap();
        assert!(matches!(end.outcome, Outcome::NotFound { .. }));
        assert!(query().run::<Acme>(|_| text_answer(502, "<html>")).is_err());
    }

    #[test]
    fn a_key_that_works_and_one_that_does_not() {
        let check = |status: u16| {
            let call = call(Operation::CheckConfig);
            let answer = answer(status, json!({ "name": "Ada's shop" }));
            let end = call.run_as::<Acme, ConfigCheck>(|_| answer.clone());
            end.map(|end| end.outcome)
        };
        assert!(matches!(check(200), Ok(ConfigCheck::Works { .. })));
        assert!(matches!(check(401), Ok(ConfigCheck::Refused { .. })));
        assert!(check(500).is_err(), "nobody knows whether it works");
    }
}
