// Hidden part of examples in the documentation: `Acme`, a gateway with the manifest
// `tests/acme.json`, and `call!`, which runs statements as a gateway's code.

mod acme {
    use serde::Deserialize;
    use serde_json::json;
    use switchyard_gateway::runtime::{Answer, Answering, Entry, Input, input};
    use switchyard_gateway::{
        Amount, Collect, Context, DeclineReason, Environment, Fault, FaultKind, Gateway, LogLevel,
        Operation, Outcome, Query,
    };

    #[derive(Default)]
    pub struct Acme;

    #[derive(Deserialize)]
    struct Config {
        api_key: String,
    }

    #[derive(Deserialize)]
    struct Charge {
        id: String,
        state: String,
    }

    impl Charge {
        fn outcome(self, amount: Amount) -> Outcome {
            let outcome = match self.state.as_str() {
                "paid" => Outcome::succeeded(amount),
                "open" => Outcome::pending(),
                other => Outcome::unknown(format!("Acme has the state `{other}`")),
            };
            outcome.with_provider_id(self.id)
        }
    }

    fn url(cx: &Context, charge: &str) -> String {
        let host = match cx.environment() {
            Environment::Sandbox => "sandbox.acme.example",
            Environment::Live => "api.acme.example",
        };
        format!("https://{host}/charges{charge}")
    }

    impl Gateway for Acme {
        async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
            let phone = ask.fields.get("msisdn");
            if phone.is_some_and(|phone| phone.len() != 11) {
                let short = Outcome::declined(DeclineReason::InvalidAccount, "Write 11 digits");
                return Ok(short.about_field("msisdn"));
            }
            let body = json!({ "id": ask.reference, "amount": ask.amount.decimal, "phone": phone });
            let mut request = cx.post(url(cx, "")).json(&body);
            if let Some(config) = cx.config::<Option<Config>>()? {
                request = request.bearer(&config.api_key);
            }
            let request = request.header("x-date", cx.now().to_string());
            let charge: Charge = request.send().await?.json()?;
            cx.log(
                LogLevel::Info,
                format!("charge {} is {}", charge.id, charge.state),
            );
            cx.set_state(&charge.id)?;
            Ok(charge.outcome(ask.amount.into()))
        }

        async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
            let id = cx.state()?.unwrap_or(ask.reference);
            let number = cx.next_number("request").await?;
            let request = cx
                .get(url(cx, &format!("/{id}")))
                .header("x-number", number.to_string());
            let charge: Charge = request.send().await?.json()?;
            Ok(charge.outcome(ask.amount.into()))
        }
    }

    impl Entry for Acme {
        fn manifest() -> &'static [u8] {
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acme.json"))
        }

        fn start(cx: Context, operation: Operation, ask: Input) -> Answering {
            Box::pin(async move {
                let outcome = match operation {
                    Operation::Collect => Acme.collect(&cx, input(operation, ask)?).await,
                    Operation::Query => Acme.query(&cx, input(operation, ask)?).await,
                    other => Err(Fault::new(FaultKind::Unsupported, other.as_str())),
                };
                outcome.map(Answer::from)
            })
        }
    }
}

use acme::Acme;

/// Message `begin` of a query.
const QUERY: &[u8] = br#"{
    "op": "query", "call": "c_1", "now": "2026-11-20T10:00:00Z", "seed": "5eed", "input": {
        "reference": "7d3f0c9e", "direction": "collect", "method": "mtn_bj",
        "amount": { "minor": 1000, "currency": "XOF", "decimals": 0, "decimal": "1000" }
    }
}"#;

/// A provider with one answer, which has the header `Retry-After: 30`.
fn answers(
    status: u16,
    body: &'static str,
) -> impl FnMut(
    &switchyard_gateway::wire::HttpRequest,
) -> Result<switchyard_gateway::wire::HttpResponse, switchyard_gateway::wire::EffectError> {
    move |_| {
        let mut answer = switchyard_gateway::testing::text_answer(status, body)?;
        answer.headers.push(("Retry-After".into(), "30".into()));
        Ok(answer)
    }
}

/// Runs statements as a call in sandbox with the configuration `{"api_key": "sk_test_7"}`.
macro_rules! call {
    ($cx:ident, $provider:expr, { $($code:tt)* }) => {{
        use switchyard_gateway::runtime::{Answer, Answering, Entry, Input};
        struct Example;
        impl Entry for Example {
            fn manifest() -> &'static [u8] {
                b"{}"
            }

            fn start(
                context: switchyard_gateway::Context,
                _: switchyard_gateway::Operation,
                _: Input,
            ) -> Answering {
                Box::pin(async move {
                    let $cx = &context;
                    $($code)*
                    let outcome = switchyard_gateway::Outcome::pending();
                    Ok::<_, switchyard_gateway::Fault>(Answer::from(outcome))
                })
            }
        }
        let config = serde_json::json!({ "api_key": "sk_test_7" });
        let call = switchyard_gateway::testing::Call::new(switchyard_gateway::Operation::Query);
        let end = call.config(config).run::<Example>($provider);
        end.unwrap_or_else(|fault| panic!("{fault}"))
    }};
}
