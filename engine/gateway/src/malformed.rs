//! Malformed ends of calls: money that one reports is not lost with the rest of it.
//!
//! An outcome that can be read counts, whatever is wrong beside it. An outcome that cannot be read
//! and names money is a success of an amount that cannot be read.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use switchyard_gateway::wire::{LogLevel, LogLine, Ready};
use switchyard_gateway::{Amount, CallbackResult, Outcome};

#[derive(Deserialize)]
struct End<'m> {
    #[serde(borrow)]
    outcome: &'m RawValue,
    #[serde(borrow, default)]
    state: Option<&'m RawValue>,
}

#[derive(Deserialize)]
struct Report<'m> {
    #[serde(borrow, default)]
    reference: Option<&'m RawValue>,
    #[serde(borrow, default)]
    provider_id: Option<&'m RawValue>,
    #[serde(borrow, default)]
    trusted: Option<&'m RawValue>,
    #[serde(borrow)]
    outcome: Option<&'m RawValue>,
    #[serde(borrow, default)]
    refused: Option<&'m RawValue>,
}

impl Report<'_> {
    fn is_named(&self) -> bool {
        self.reference.is_some() || self.provider_id.is_some()
    }
}

/// The end of a call in a malformed message. `None`: it names no money.
pub(super) fn outcome(message: &[u8]) -> Option<Ready<Outcome>> {
    let text = text(message);
    let end: Option<End<'_>> = serde_json::from_str(&text).ok();
    let state = end.as_ref().and_then(|end| end.state);
    let state = state.and_then(|state| serde_json::from_str(state.get()).ok());
    let outcome = match end {
        Some(end) => read(end.outcome)?,
        None => names_money(&text).then(|| unreadable(None))?,
    };
    Some(ready(outcome, state))
}

/// The end of a callback in a malformed message. `None`: it names no money, or no attempt.
pub(super) fn report(message: &[u8]) -> Option<Ready<CallbackResult>> {
    let text = text(message);
    let end: Option<End<'_>> = serde_json::from_str(&text).ok();
    let whole: Option<Report<'_>> = serde_json::from_str(&text).ok();
    let within = end.and_then(|end| serde_json::from_str::<Report<'_>>(end.outcome.get()).ok());
    // The report may lack what belongs around it.
    let report = match within {
        Some(within) if within.outcome.is_none() => whole.filter(Report::is_named).or(Some(within)),
        within => within,
    };
    let Some(report) = report else {
        return verified_money(&text).map(|result| ready(result, None));
    };
    if report.refused.is_some_and(|why| is_text(why.get())) {
        return None;
    }
    let result = CallbackResult {
        reference: report.reference.and_then(id),
        provider_id: report.provider_id.and_then(id),
        trusted: report.trusted.is_some_and(|word| word.get() == "true"),
        outcome: Some(read(report.outcome?)?),
        refused: None,
    };
    let is_named = result.reference.is_some() || result.provider_id.is_some();
    is_named.then(|| ready(result, None))
}

/// Money of an unreadable amount for the attempt whose reference, or else provider id, is in a text
/// that is no report. `None`: the gateway did not verify it, or it names no money or no attempt.
fn verified_money(text: &str) -> Option<CallbackResult> {
    let mut trusted = members(text, "trusted").peekable();
    let is_verified = trusted.peek().is_some() && trusted.all(is_true);
    let is_refused = members(text, "refused").any(is_text);
    if !is_verified || is_refused || !names_money(text) {
        return None;
    }
    let result = CallbackResult::trusted(unreadable(None));
    let named = |name| members(text, name).find_map(text_of);
    // A reference of ours before another one, which may be within the outcome.
    let ours = members(text, "reference")
        .filter_map(text_of)
        .find(|one| is_uuid(one));
    match ours.or_else(|| named("reference")) {
        Some(reference) => Some(result.about(reference)),
        None => Some(result.about_provider_id(named("provider_id")?)),
    }
}

/// The text from the value of each member of this name on.
fn members<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let name = format!("\"{name}\"");
    let ends = text.match_indices(&name).map(|(at, name)| at + name.len());
    let ends: Vec<_> = ends.collect();
    ends.into_iter().filter_map(|end| {
        let value = text.get(end..)?.trim_start().strip_prefix(':')?;
        Some(value.trim_start())
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4
}

fn is_true(value: &str) -> bool {
    let rest = value.strip_prefix("true");
    rest.is_some_and(|rest| rest.trim_start().starts_with([',', '}']))
}

/// Whether a value begins like a text: the reason of a refusal is one.
fn is_text(value: &str) -> bool {
    value.starts_with('"')
}

/// The text that a value begins with, up to the next quotation mark.
fn text_of(value: &str) -> Option<String> {
    let (text, _) = value.strip_prefix('"')?.split_once('"')?;
    Some(text.to_owned())
}

/// The message as text: bytes that are no UTF-8 are replaced.
fn text(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    text.trim_start_matches('\u{feff}').to_owned()
}

fn ready<T>(outcome: T, state: Option<Value>) -> Ready<T> {
    let line = LogLine {
        level: LogLevel::Warn,
        text: "its answer is malformed, and only the outcome was read".to_owned(),
    };
    Ready {
        outcome,
        state,
        log: vec![line],
    }
}

fn read(outcome: &RawValue) -> Option<Outcome> {
    let text = outcome.get();
    // An id with a replaced byte would be another id.
    let is_whole = !text.contains(char::REPLACEMENT_CHARACTER);
    let read = is_whole.then(|| serde_json::from_str(text).ok()).flatten();
    read.or_else(|| names_money(text).then(|| unreadable(provider_id(text))))
}

/// Whether a text that cannot be read has the word of a success, or a member with received money
/// other than `null`. A word that was meant otherwise makes a case too many.
fn names_money(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let is_word = |rest: &str| !rest.starts_with('_');
    let mut succeeded = text.split(r#""succeeded"#).skip(1);
    let has_value = |rest: &str| {
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| !value.starts_with("null"))
    };
    let mut received = text.split(r#""received""#).skip(1);
    succeeded.any(is_word) || received.any(has_value)
}

/// Success of an amount that cannot be read.
fn unreadable(provider_id: Option<String>) -> Outcome {
    Outcome::Succeeded {
        provider_id,
        amount: Some(Amount {
            currency: String::new(),
            minor: None,
            decimal: None,
        }),
        fees: None,
        provider_status: None,
    }
}

/// The provider id in an outcome of one kind.
fn provider_id(outcome: &str) -> Option<String> {
    let kinds: Members<'_> = serde_json::from_str(outcome).ok()?;
    let mut kinds = kinds.into_values();
    let members = kinds.next().filter(|_| kinds.next().is_none())?;
    let members: Members<'_> = serde_json::from_str(members.get()).ok()?;
    id(members.get("provider_id")?).filter(|id| !id.contains(char::REPLACEMENT_CHARACTER))
}

type Members<'m> = BTreeMap<String, &'m RawValue>;

/// An id, which may be written as an integer of any length. Another number is none: it may be
/// written in several ways.
fn id(value: &RawValue) -> Option<String> {
    let text = value.get();
    let is_integer = text.bytes().all(|byte| byte.is_ascii_digit());
    match is_integer {
        true => Some(text.to_owned()),
        false => serde_json::from_str(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bytes(message: &Value) -> Vec<u8> {
        serde_json::to_vec(message).unwrap()
    }

    /// The outcome that is read in place of a malformed one, of a call and of a callback.
    fn both(outcome: &Value) -> Option<[Outcome; 2]> {
        let call = json!({ "outcome": outcome, "state": { "step": 2 } });
        let result = json!({ "outcome": outcome, "trusted": true, "reference": "r" });
        let callback = json!({ "outcome": result });
        assert!(serde_json::from_value::<Ready<Outcome>>(call.clone()).is_err());
        assert!(serde_json::from_value::<Ready<CallbackResult>>(callback.clone()).is_err());
        let call = super::outcome(&bytes(&call))?;
        assert_eq!(call.state, Some(json!({ "step": 2 })));
        let callback = report(&bytes(&callback))?.outcome;
        assert!(callback.trusted && callback.reference.is_some());
        Some([call.outcome, callback.outcome.unwrap()])
    }

    #[test]
    fn a_malformed_outcome_that_names_money_is_a_success_of_an_unreadable_amount() {
        let usd = json!({ "currency": "USD", "minor": 2_500 });
        for (outcome, id) in [
            (json!({ "succeeded": { "amount": { "minor": 1 } } }), None),
            (
                json!({ "succeeded": { "amount": 2_500, "provider_id": "a" } }),
                Some("a"),
            ),
            (
                json!({ "succeeded": { "amount": usd, "provider_id": [] } }),
                None,
            ),
            (
                json!({ "succeeded": { "amount": usd, "provider_id": 12_345 } }),
                Some("12345"),
            ),
            (json!({ "succeeded": { "amount": usd, "fees": 1 } }), None),
            (json!({ "succeeded": usd, "declined": {} }), None),
            (json!({ "Succeeded": { "amount": usd } }), None),
            (json!(["succeeded", { "amount": usd }]), None),
            (json!("succeeded"), None),
            (json!({ "type": "succeeded", "amount": usd }), None),
            (
                json!({ "pending": { "received": "10.00", "provider_id": "b" } }),
                Some("b"),
            ),
            (
                json!({ "pending": { "received": usd, "poll_after": -1 } }),
                None,
            ),
            (
                json!({ "declined": { "reason": 7, "received": usd } }),
                None,
            ),
        ] {
            let [call, callback] = both(&outcome).unwrap_or_else(|| panic!("{outcome}"));
            let unreadable = unreadable(id.map(str::to_owned));
            assert_eq!(call, unreadable, "{outcome}");
            assert_eq!(callback, unreadable, "{outcome}");
        }
    }

    #[test]
    fn a_malformed_outcome_without_money_stays_malformed() {
        for outcome in [
            json!({ "pending": { "poll_after": -1 } }),
            json!({ "pending": { "received": null, "poll_after": -1 } }),
            json!({ "pending": { "provider_status": "received", "poll_after": -1 } }),
            json!({ "pending": { "succeeded_at": null, "poll_after": -1 } }),
            json!({ "declined": { "reason": 7 } }),
            json!({ "paid": {} }),
            json!(null),
        ] {
            let message = bytes(&json!({ "outcome": outcome }));
            assert_eq!(super::outcome(&message), None, "{outcome}");
        }
        assert_eq!(super::outcome(b"{"), None);
        assert_eq!(super::outcome(br#"{"log":"it was received","#), None);
    }

    #[test]
    fn an_outcome_that_can_be_read_counts_whatever_is_wrong_beside_it() {
        let succeeded = r#"{"succeeded":{"amount":{"currency":"USD","minor":2500}}}"#;
        let declined = r#"{"declined":{"reason":"other"}}"#;
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for beside in [
            r#""log":[{"level":"error","text":"it received it"}]"#,
            r#""log":"done""#,
            r#""log":null"#,
            r#""state":1e999"#,
            &format!(r#""state":{deep}"#),
        ] {
            for outcome in [succeeded, declined] {
                let message = format!(r#"{{"outcome":{outcome},{beside}}}"#);
                assert!(serde_json::from_str::<Ready<Outcome>>(&message).is_err());
                let read = super::outcome(message.as_bytes()).unwrap().outcome;
                assert_eq!(read, serde_json::from_str(outcome).unwrap(), "{beside}");
            }
        }
        // An id that is no UTF-8 is none, and the money is not lost.
        let id = [
            &br#"{"outcome":{"succeeded":{"provider_id":"caf"#[..],
            b"\xe9\"}}}",
        ]
        .concat();
        assert_eq!(super::outcome(&id).unwrap().outcome, unreadable(None));
        // Bytes that are no UTF-8 beside the outcome, and a mark of the order of bytes.
        let mut message = format!(r#"{{"outcome":{succeeded},"log":[{{"level":"info","text":"caf"#);
        message.insert(0, '\u{feff}');
        let message = [message.as_bytes(), b"\xe9\"}]}"].concat();
        let read = super::outcome(&message).unwrap().outcome;
        assert_eq!(read, serde_json::from_str(succeeded).unwrap());
    }

    #[test]
    fn money_in_a_message_that_is_no_json_or_says_two_things_is_not_lost() {
        let usd = r#"{"currency":"USD","minor":2500}"#;
        let succeeded = format!(r#"{{"succeeded":{{"amount":{usd}}}}}"#);
        for message in [
            format!(r#"{{"outcome":{succeeded},}}"#),
            format!(r#"{{"outcome":{succeeded}}} {{"outcome":{succeeded}}}"#),
            format!(r#"{{"outcome":{succeeded},"outcome":null}}"#),
            format!(r#"{{"outcome":{{"pending":{{"received":{usd},"received":null}}}}}}"#),
            r#"{"outcome":{"succeeded":{"amount":{"currency":"USD","minor":NaN}}}}"#.to_owned(),
            r#"{"outcome":"{\"succeeded\":{\"amount\":1}}","log":1}"#.to_owned(),
            r#"{"outcome":{"succeeded ":{}}}"#.to_owned(),
            r#"{"outcome":{"succeeded":{"amount":{"currency":"USD","minor":1e400}}}}"#.to_owned(),
            format!(
                r#"{{"outcome":{{"succeeded":{{"amount":{usd},"provider_status":"\ud800"}}}}}}"#
            ),
        ] {
            let read = super::outcome(message.as_bytes());
            let read = read.unwrap_or_else(|| panic!("{message}"));
            assert_eq!(read.outcome, unreadable(None), "{message}");
        }
    }

    #[test]
    fn a_callback_is_about_the_attempt_that_it_names_in_text_or_in_digits() {
        let succeeded = json!({ "succeeded": { "amount": { "currency": "USD", "minor": 1 } } });
        let read = |result: Value| Some(report(&bytes(&json!({ "outcome": result })))?.outcome);
        let numbered = json!({ "trusted": true, "provider_id": 12_345, "outcome": succeeded });
        let result = read(numbered).unwrap();
        assert_eq!(result.provider_id.as_deref(), Some("12345"));
        assert!(result.trusted && result.outcome.is_some());
        // Every digit of a long number counts, and a number that may be rounded is no id.
        for (number, id) in [
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            ("18446744073709551617", "18446744073709551617"),
            ("1.5", ""),
            ("1e20", ""),
            ("-7", ""),
        ] {
            let id = Some(id).filter(|id| !id.is_empty()).map(str::to_owned);
            let paid = format!(r#"{{"succeeded":{{"provider_id":{number},"amount":1}}}}"#);
            let callback = format!(
                r#"{{"outcome":{{"trusted":true,"reference":"r","provider_id":{number},"outcome":{paid}}}}}"#
            );
            let callback = report(callback.as_bytes()).unwrap().outcome;
            assert_eq!(callback.provider_id, id, "{number}");
            assert_eq!(callback.outcome, Some(unreadable(id.clone())), "{number}");
            let call = super::outcome(format!(r#"{{"outcome":{paid}}}"#).as_bytes());
            assert_eq!(call.unwrap().outcome, unreadable(id), "{number}");
        }
        // A text that is no JSON, or says a thing twice, is about its first reference.
        for rest in [
            r#""provider_status":"a
b"}},"trusted":true,"reference":"r"}}"#,
            r#""amount":1}},"trusted":true,"reference":"r"},"state":1,"state":2}"#,
            r#""amount":1}},"trusted":true,"reference":"r","reference":"r"}}"#,
            r#""amount":NaN}},"trusted":true,"reference":"r"}}"#,
            r#""amount":1}},"trusted":true,"reference":"r",}}"#,
        ] {
            let message = format!(r#"{{"outcome":{{"outcome":{{"succeeded":{{{rest}"#);
            let result = report(message.as_bytes()).unwrap_or_else(|| panic!("{message}"));
            let expected = CallbackResult::trusted(unreadable(None)).about("r");
            let kept = result.outcome;
            assert_eq!(kept.outcome.is_some(), expected.outcome.is_some());
            assert_eq!(kept.reference.as_deref(), Some("r"), "{message}");
            assert!(kept.trusted);
            let unverified = message.replace("true", "false");
            let unverified = report(unverified.as_bytes());
            assert!(unverified.is_none_or(|ready| !ready.outcome.trusted));
        }
        let vague = json!({ "trusted": "yes", "reference": "r", "outcome": succeeded });
        assert!(!read(vague).unwrap().trusted);
        for nothing in [
            json!({ "trusted": true, "reference": [], "outcome": succeeded }),
            json!({ "trusted": true, "reference": "r", "outcome": null }),
            json!({ "trusted": true, "reference": "r", "outcome": succeeded, "refused": "no" }),
        ] {
            assert_eq!(read(nothing.clone()), None, "{nothing}");
        }
    }

    #[test]
    fn a_callback_without_its_wrapper_or_with_another_reference_within_is_about_its_attempt() {
        let ours = "0190b7a4-5a3c-7d1e-8f00-0123456789ab";
        let usd = r#"{"currency":"USD","minor":2500}"#;
        let named = format!(r#""trusted":true,"reference":"{ours}""#);
        let transfer = r#"{"transfer":{"reference":"ORDER-77"}}"#;
        let pending = format!(r#"{{"pending":{{"received":{usd},"payer_action":{transfer}}}}}"#);
        for message in [
            format!(r#"{{"outcome":{{"succeeded":{{"amount":{usd}}}}},{named}}}"#),
            format!(r#"{{"outcome":{{"outcome":{pending},{named}}},}}"#),
        ] {
            assert!(serde_json::from_str::<Ready<CallbackResult>>(&message).is_err());
            let result = report(message.as_bytes()).unwrap_or_else(|| panic!("{message}"));
            let result = result.outcome;
            assert_eq!(result.reference.as_deref(), Some(ours), "{message}");
            assert!(result.trusted && result.outcome.is_some(), "{message}");
        }
    }

    /// The message of a callback that is no JSON, with these members beside its outcome.
    fn no_json(beside: &str) -> String {
        let paid = r#"{"succeeded":{"amount":{"currency":"USD","minor":1}}}"#;
        format!(r#"{{"outcome":{{"outcome":{paid},{beside}}},}}"#)
    }

    #[test]
    fn a_text_that_is_no_json_is_verified_when_it_says_so_and_nothing_else() {
        let named = r#""reference":"r""#;
        for (beside, is_verified) in [
            (r#""trusted":true"#, true),
            (r#""trusted": true , "state":1"#, true),
            (r#""refused":false,"trusted":true"#, true),
            (r#""refused":null,"trusted":true"#, true),
            (r#""refused":"unsigned","trusted":true"#, false),
            (r#""trusted":true,"trusted":false"#, false),
            (r#""trusted":false,"trusted":true"#, false),
            (r#""state":{"trusted":true},"trusted":false"#, false),
            (r#""trusted":trueish"#, false),
            (r#""trusted":1"#, false),
            (r#""state":1"#, false),
        ] {
            let message = no_json(&format!("{beside},{named}"));
            let read = report(message.as_bytes()).map(|ready| ready.outcome);
            assert_eq!(
                read.is_some_and(|read| read.trusted),
                is_verified,
                "{message}"
            );
        }
        let id = no_json(r#""reference":null,"provider_id":"p","trusted":true"#);
        let id = report(id.as_bytes()).unwrap().outcome;
        assert_eq!((id.reference, id.provider_id.as_deref()), (None, Some("p")));
        let nobody = no_json(r#""provider_id":7,"trusted":true"#);
        assert_eq!(report(nobody.as_bytes()), None);
        // A refusal is a text. Anything else in its place is a fault beside the outcome.
        for refused in ["false", "0", "{}"] {
            let beside = format!(r#""reference":"r","trusted":true,"refused":{refused}"#);
            let message = no_json(&beside).replace("},}", "}}");
            let read = report(message.as_bytes()).unwrap().outcome;
            assert!(read.trusted && read.outcome.is_some(), "{message}");
        }
    }
}
