//! Malformed ends of calls: money that an outcome reports is not lost with the rest of it.

use serde_json::{Value, json};

/// The message with a readable outcome in the place of the malformed one, if that reports money: a
/// success of an amount that cannot be read. `place`: JSON pointer of the outcome. `None`: it
/// reports no money, or the message is no JSON.
pub(super) fn keep_money(message: &[u8], place: &str) -> Option<Vec<u8>> {
    let mut message: Value = serde_json::from_slice(message).ok()?;
    let outcome = message.pointer_mut(place)?;
    let (kind, members) = outcome.as_object()?.iter().next()?;
    let is_money = match kind.as_str() {
        "succeeded" => true,
        "pending" => members
            .get("received")
            .is_some_and(|received| !received.is_null()),
        _ => false,
    };
    if !is_money {
        return None;
    }
    let provider_id = members.get("provider_id").and_then(Value::as_str);
    let unreadable = json!({ "currency": "" });
    *outcome = json!({ "succeeded": { "provider_id": provider_id, "amount": unreadable } });
    serde_json::to_vec(&message).ok()
}

#[cfg(test)]
mod tests {
    use switchyard_gateway::wire::Ready;
    use switchyard_gateway::{Amount, CallbackResult, Outcome};

    use super::*;

    /// The outcome that is read in place of a malformed one, of a call and of a callback.
    fn read(outcome: &Value) -> Option<[Outcome; 2]> {
        let call = json!({ "outcome": outcome, "state": { "step": 2 } });
        let result = json!({ "outcome": outcome, "trusted": true, "reference": "r" });
        let callback = json!({ "outcome": result });
        let bytes = |value: &Value| serde_json::to_vec(value).unwrap();
        assert!(serde_json::from_value::<Ready<Outcome>>(call.clone()).is_err());
        assert!(serde_json::from_value::<Ready<CallbackResult>>(callback.clone()).is_err());
        let call = keep_money(&bytes(&call), "/outcome")?;
        let call: Ready<Outcome> = serde_json::from_slice(&call).unwrap();
        assert_eq!(call.state, Some(json!({ "step": 2 })));
        let callback = keep_money(&bytes(&callback), "/outcome/outcome")?;
        let callback: Ready<CallbackResult> = serde_json::from_slice(&callback).unwrap();
        assert!(callback.outcome.trusted && callback.outcome.reference.is_some());
        Some([call.outcome, callback.outcome.outcome.unwrap()])
    }

    #[test]
    fn a_malformed_outcome_that_reports_money_is_a_success_of_an_unreadable_amount() {
        let usd = json!({ "currency": "USD", "minor": 2_500 });
        for (outcome, id) in [
            (json!({ "succeeded": { "amount": { "minor": 1 } } }), None),
            (
                json!({ "succeeded": { "amount": 2_500, "provider_id": "a" } }),
                Some("a"),
            ),
            (
                json!({ "succeeded": { "amount": [], "provider_id": 7 } }),
                None,
            ),
            (
                json!({ "succeeded": { "amount": usd, "provider_id": 12_345 } }),
                None,
            ),
            (json!({ "succeeded": { "amount": usd, "fees": 1 } }), None),
            (
                json!({ "pending": { "received": "10.00", "provider_id": "b" } }),
                Some("b"),
            ),
            (
                json!({ "pending": { "received": usd, "poll_after": -1 } }),
                None,
            ),
        ] {
            let unreadable = Outcome::Succeeded {
                provider_id: id.map(str::to_owned),
                amount: Some(Amount {
                    currency: String::new(),
                    minor: None,
                    decimal: None,
                }),
                fees: None,
                provider_status: None,
            };
            let [call, callback] = read(&outcome).unwrap_or_else(|| panic!("{outcome}"));
            assert_eq!(call, unreadable, "{outcome}");
            assert_eq!(callback, unreadable, "{outcome}");
        }
    }

    #[test]
    fn a_malformed_outcome_without_money_stays_malformed() {
        for outcome in [
            json!({ "pending": { "poll_after": -1 } }),
            json!({ "pending": { "received": null, "poll_after": -1 } }),
            json!({ "declined": { "reason": 7 } }),
            json!({ "paid": {} }),
            json!("succeeded"),
            json!(null),
        ] {
            let message = json!({ "outcome": outcome }).to_string();
            assert_eq!(
                keep_money(message.as_bytes(), "/outcome"),
                None,
                "{outcome}"
            );
        }
        assert_eq!(keep_money(b"{", "/outcome"), None);
    }
}
