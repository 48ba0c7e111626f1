//! The test gateway: three numbers, three fates, and no provider behind them. It is an ordinary
//! gateway, loaded as every other.
//!
//! | number | payment | payout |
//! |---|---|---|
//! | `4149518161` | success | success |
//! | `4149518162` | pending (stays) | failed |
//! | `4149518163` | failed | pending (stays) |
//!
//! Any other number fails with a message that names the three.
//!
//! A connection whose configuration has `ask_code: true` first asks the payer for a code, as
//! providers with one-time passwords do: `123456` leads on to the number's fate, and any other is
//! asked for again.
//!
//! Callbacks are JSON (see [`callback::CallbackBody`]), signed with the connection's `callback_secret` when
//! it has one.

mod callback;

use serde_json::{Value, json};
use switchyard_gateway::{
    Callback, CallbackResult, Collect, ConfigCheck, Context, DeclineReason, Direction, Fault,
    Fields, Gateway, Money, Outcome, Payer, PayerAction, Payout, Query, SubmitInput, gateway,
};

/// The test gateway.
#[derive(Default)]
pub struct Demo;

impl Gateway for Demo {
    async fn check_config(&self, _cx: &Context) -> Result<ConfigCheck, Fault> {
        Ok(ConfigCheck::Works {
            account: Some("Switchyard Test Gateway".into()),
        })
    }

    async fn collect(&self, cx: &Context, ask: Collect) -> Result<Outcome, Fault> {
        let number = paying(&ask.fields, &ask.payer);
        if let Some(number) = number.as_ref().filter(|_| asks_code(cx)) {
            cx.set_state(&json!({ "number": number, "waits_for_code": true }))?;
            return Ok(ask_for_code(&ask.reference, FIRST_TRY));
        }
        answer(cx, Direction::Collect, number, &ask.reference, &ask.amount)
    }

    async fn payout(&self, cx: &Context, ask: Payout) -> Result<Outcome, Fault> {
        let number = receiving(&ask.recipient);
        answer(cx, Direction::Payout, number, &ask.reference, &ask.amount)
    }

    async fn submit_input(&self, cx: &Context, ask: SubmitInput) -> Result<Outcome, Fault> {
        let kept = cx.state::<Value>()?.unwrap_or_default();
        let number = kept["number"].as_str().map(str::to_owned);
        if ask.input.get("code") != Some(CODE) {
            return Ok(ask_for_code(&ask.reference, WRONG_CODE));
        }
        answer(cx, Direction::Collect, number, &ask.reference, &ask.amount)
    }

    async fn query(&self, cx: &Context, ask: Query) -> Result<Outcome, Fault> {
        let kept = cx.state::<Value>()?;
        if kept
            .as_ref()
            .is_some_and(|kept| kept["waits_for_code"] == true)
        {
            return Ok(Outcome::pending().with_provider_id(format!("demo-{}", ask.reference)));
        }
        let number = kept
            .as_ref()
            .and_then(|kept| kept.get("number")?.as_str())
            .map(str::to_owned)
            .or_else(|| match ask.direction {
                Direction::Collect => paying(&ask.fields, &ask.payer),
                Direction::Payout => receiving(&ask.recipient),
            });
        if number.is_none() {
            return Ok(Outcome::NotFound {
                why: format!(
                    "the test gateway has seen no number under {}",
                    ask.reference
                ),
            });
        }
        Ok(fate(
            ask.direction,
            number.as_deref(),
            &ask.reference,
            &ask.amount,
        ))
    }

    async fn callback(&self, cx: &Context, news: Callback) -> Result<CallbackResult, Fault> {
        callback::read(&cx.config()?, &news)
    }
}

gateway!(Demo);

fn asks_code(cx: &Context) -> bool {
    cx.config::<Value>()
        .is_ok_and(|config| config["ask_code"] == true)
}

/// `how`: English and French.
fn ask_for_code(reference: &str, how: [&str; 2]) -> Outcome {
    Outcome::awaiting(PayerAction::EnterCode {
        label: "Code".into(),
        length: Some(6),
        how: [("en", how[0]), ("fr", how[1])]
            .map(|(lang, text)| (lang.to_owned(), text.to_owned()))
            .into(),
    })
    .with_provider_id(format!("demo-{reference}"))
}

fn answer(
    cx: &Context,
    direction: Direction,
    number: Option<String>,
    reference: &str,
    amount: &Money,
) -> Result<Outcome, Fault> {
    if let Some(number) = &number {
        cx.set_state(&json!({ "number": number }))?;
    }
    Ok(fate(direction, number.as_deref(), reference, amount))
}

fn fate(direction: Direction, number: Option<&str>, reference: &str, amount: &Money) -> Outcome {
    let outcome = match (direction, number) {
        (_, Some(SUCCESS)) => Outcome::succeeded(amount),
        (Direction::Collect, Some(SECOND)) | (Direction::Payout, Some(THIRD)) => Outcome::pending(),
        (Direction::Collect, Some(THIRD)) => Outcome::declined(
            DeclineReason::PayerDeclined,
            "The payer declined, as this test number always does.",
        )
        .with_provider_code("payer_declined"),
        (Direction::Payout, Some(SECOND)) => Outcome::declined(
            DeclineReason::InvalidAccount,
            "The recipient's account cannot be paid, as with this test number always.",
        )
        .with_provider_code("account_refused"),
        (direction, _) => unknown_number(direction),
    };
    outcome.with_provider_id(format!("demo-{reference}"))
}

fn unknown_number(direction: Direction) -> Outcome {
    let (pending, failed) = match direction {
        Direction::Collect => (SECOND, THIRD),
        Direction::Payout => (THIRD, SECOND),
    };
    Outcome::declined(
        DeclineReason::InvalidAccount,
        format!(
            "This is no number of the test gateway: use {SUCCESS} for success, {pending} for pending or {failed} for failure."
        ),
    )
    .with_provider_code("no_test_number")
    .about_field("msisdn")
}

/// Entries on the checkout page take precedence over the merchant's data of the customer.
fn paying(fields: &Fields, payer: &Payer) -> Option<String> {
    ["msisdn", "phone"]
        .iter()
        .find_map(|name| fields.get(name))
        .or(payer.msisdn.as_deref())
        .and_then(national)
}

fn receiving(recipient: &Fields) -> Option<String> {
    ["account_number", "msisdn"]
        .iter()
        .find_map(|name| recipient.get(name))
        .and_then(national)
}

/// The ten digits of a number in the United States, however it is written; `None` of an empty text.
fn national(number: &str) -> Option<String> {
    let digits: String = number
        .chars()
        .filter(|char| !matches!(char, ' ' | '\u{a0}' | '-' | '.' | '(' | ')' | '+'))
        .collect();
    let national = match digits.strip_prefix('1') {
        Some(rest) if rest.len() == 10 => rest,
        _ => &digits,
    };
    (!national.is_empty()).then(|| national.to_owned())
}

const CODE: &str = "123456";
const FIRST_TRY: [&str; 2] = [
    "This is a test: the code is 123456.",
    "Ceci est un essai : le code est 123456.",
];
const WRONG_CODE: [&str; 2] = [
    "The test gateway takes 123456 only.",
    "La passerelle d’essai n’accepte que 123456.",
];
const SUCCESS: &str = "4149518161";
const SECOND: &str = "4149518162";
const THIRD: &str = "4149518163";

#[cfg(test)]
mod tests {
    use switchyard_gateway::Operation;
    use switchyard_gateway::testing::{self, Call, no_provider};

    use super::*;

    fn pay(fields: Fields, msisdn: Option<&str>) -> testing::End {
        let mut ask = testing::collect("mtn_bj", 200, "XOF", 0);
        ask.fields = fields;
        ask.payer.msisdn = msisdn.map(str::to_owned);
        let call = Call::new(Operation::Collect).input(&ask);
        call.run::<Demo>(no_provider).unwrap()
    }

    fn pay_out(recipient: Fields) -> testing::End {
        let mut ask = testing::payout("switchyard_payout_demo", 2_500, "USD", 2);
        ask.recipient = recipient;
        let call = Call::new(Operation::Payout).input(&ask);
        call.run::<Demo>(no_provider).unwrap()
    }

    fn word(outcome: &Outcome) -> &'static str {
        match outcome {
            Outcome::Succeeded { .. } => "success",
            Outcome::Declined { .. } => "failed",
            Outcome::Pending { .. } => "pending",
            Outcome::Unknown { .. } | Outcome::NotFound { .. } => "unknown",
        }
    }

    #[test]
    fn each_test_number_has_its_fate_and_keeps_it_when_asked_again() {
        let fates = [
            (SUCCESS, "success", "success"),
            (SECOND, "pending", "failed"),
            (THIRD, "failed", "pending"),
            ("4149518164", "failed", "failed"),
        ];
        for (number, payment, payout) in fates {
            let ends = [
                (
                    Direction::Collect,
                    payment,
                    pay([("msisdn", number)].into(), None),
                ),
                (
                    Direction::Payout,
                    payout,
                    pay_out([("account_number", number)].into()),
                ),
            ];
            for (direction, fate, end) in ends {
                assert_eq!(word(&end.outcome), fate, "{number} {direction:?}");
                let ask = testing::query("mtn_bj", direction, 200, "XOF", 0);
                let again = Call::new(Operation::Query).input(&ask).state(end.state);
                let again = again.run::<Demo>(no_provider).unwrap();
                assert_eq!(
                    word(&again.outcome),
                    fate,
                    "{number} {direction:?} asked again"
                );
            }
        }
    }

    #[test]
    fn a_number_counts_however_it_is_written_and_wherever_it_stands() {
        for number in [
            "+1 (414) 951-8161",
            "14149518161",
            "414 951 81 61",
            "414-951-8161",
            "414.951.8161",
        ] {
            assert_eq!(
                word(&pay([("msisdn", number)].into(), None).outcome),
                "success",
                "{number}"
            );
        }
        assert_eq!(
            word(&pay([("phone", SUCCESS)].into(), None).outcome),
            "success"
        );
        assert_eq!(word(&pay([].into(), Some(SUCCESS)).outcome), "success");
        assert_eq!(
            word(&pay([("msisdn", THIRD)].into(), Some(SUCCESS)).outcome),
            "failed"
        );
        assert_eq!(
            word(&pay_out([("msisdn", SUCCESS)].into()).outcome),
            "success"
        );
    }

    #[test]
    fn any_other_number_fails_and_the_message_names_the_three() {
        for end in [
            pay([].into(), None),
            pay([].into(), Some("+229 97 00 00 00")),
            pay_out([("msisdn", "24149518161")].into()),
        ] {
            let Outcome::Declined {
                reason,
                retryable,
                provider_message: Some(message),
                field,
                ..
            } = end.outcome
            else {
                panic!("not declined: {:?}", end.outcome);
            };
            assert_eq!(reason, DeclineReason::InvalidAccount);
            assert_eq!(
                field.as_deref(),
                Some("msisdn"),
                "the page asks for it again"
            );
            assert!(!retryable);
            for number in [SUCCESS, SECOND, THIRD] {
                assert!(message.contains(number), "{message}");
            }
        }
    }

    #[test]
    fn a_connection_that_asks_for_a_code_asks_until_it_is_right() {
        let config = json!({ "ask_code": true });
        let mut ask = testing::collect("mtn_bj", 200, "XOF", 0);
        ask.fields = [("msisdn", THIRD)].into();
        let call = Call::new(Operation::Collect)
            .config(config.clone())
            .input(&ask);
        let begun = call.run::<Demo>(no_provider).unwrap();
        let asked = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::Pending {
                    payer_action: Some(PayerAction::EnterCode { .. }),
                    ..
                }
            )
        };
        assert!(asked(&begun.outcome));
        let submit = |code: &str| {
            let typed = SubmitInput {
                reference: ask.reference.clone(),
                provider_id: None,
                method: ask.method.clone(),
                amount: ask.amount.clone(),
                input: [("code", code)].into(),
                environment: ask.environment,
            };
            let call = Call::new(Operation::SubmitInput).config(config.clone());
            let call = call.input(&typed).state(begun.state.clone());
            call.run::<Demo>(no_provider).unwrap().outcome
        };
        assert!(asked(&submit("654321")));
        assert_eq!(word(&submit("123456")), "failed", "the number's own fate");
    }

    #[test]
    fn a_query_without_state_goes_by_the_number_in_its_input() {
        let mut ask = testing::query("switchyard_payout_demo", Direction::Payout, 2_500, "USD", 2);
        ask.recipient = [("account_number", THIRD)].into();
        let end = Call::new(Operation::Query)
            .input(&ask)
            .run::<Demo>(no_provider)
            .unwrap();
        assert_eq!(word(&end.outcome), "pending");
        ask.recipient = [].into();
        let end = Call::new(Operation::Query)
            .input(&ask)
            .run::<Demo>(no_provider)
            .unwrap();
        assert!(matches!(end.outcome, Outcome::NotFound { .. }));
    }

    #[test]
    fn a_success_names_the_amount_that_was_asked() {
        let end = pay([("msisdn", SUCCESS)].into(), None);
        let Outcome::Succeeded {
            amount: Some(amount),
            provider_id: Some(id),
            ..
        } = end.outcome
        else {
            panic!("not a full success: {:?}", end.outcome);
        };
        assert_eq!((amount.minor, amount.currency.as_str()), (Some(200), "XOF"));
        assert_eq!(id, format!("demo-{}", testing::REFERENCE));
    }
}
