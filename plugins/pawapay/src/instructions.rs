//! Payer's steps on the phone, from pawaPay's active configuration.
//!
//! They are optional: without them the payer reads that the prompt will come, and nothing else
//! changes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_gateway::{Context, PayerAction, Prompt, Texts};

use crate::operators::Operator;

/// One operator's instructions, as they are kept in the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instructions {
    /// The payer calls up the prompt, instead of waiting for it.
    pub is_manual: bool,
    /// In each language, in order.
    pub steps: BTreeMap<String, Vec<String>>,
    pub ussd: Option<String>,
}

impl Instructions {
    /// The cached instructions of an operator, if any.
    pub async fn cached(cx: &Context, operator: &Operator) -> Option<Self> {
        let kept = cx.cached(key(operator)).await?;
        serde_json::from_str(&kept).ok()
    }

    pub async fn cache(&self, cx: &Context, operator: &Operator) {
        if let Ok(text) = serde_json::to_string(self) {
            cx.cache(key(operator), text, KEPT).await;
        }
    }

    /// From the answer to `/v2/active-conf`; none when the operator is not in it.
    pub fn read(answer: &Value, operator: &Operator) -> Option<Self> {
        let deposit = deposit(answer, operator)?;
        let about = ["pinPromptInstructions", "authTokenInstructions"];
        let channel = about
            .iter()
            .find_map(|name| deposit.get(name)?.get("channels")?.get(0));
        Some(Self {
            is_manual: deposit.get("pinPrompt").and_then(Value::as_str) == Some("MANUAL"),
            steps: channel.map(steps).unwrap_or_default(),
            ussd: channel.and_then(short_code),
        })
    }

    pub fn action(self) -> PayerAction {
        PayerAction::ConfirmOnPhone {
            prompt: match self.is_manual {
                true => Prompt::Manual,
                false => Prompt::Auto,
            },
            steps: self.steps,
            ussd: self.ussd,
        }
    }

    /// Ways to get the code that a payment needs beforehand.
    pub fn how(&self) -> Texts {
        let joined = self
            .steps
            .iter()
            .map(|(lang, steps)| (lang.clone(), steps.join(". ")));
        joined.collect()
    }
}

/// `operationTypes` is an object by type, or a list of such objects, or a list of objects that name
/// their type: all three occur.
fn deposit<'a>(answer: &'a Value, operator: &Operator) -> Option<&'a Value> {
    let listed = |value: &'a Value, list: &str, name: &str, wanted: &str| {
        let rows = value.get(list)?.as_array()?;
        rows.iter()
            .find(|row| row.get(name).and_then(Value::as_str) == Some(wanted))
    };
    let country = listed(answer, "countries", "country", operator.country.alpha3)?;
    let provider = listed(country, "providers", "provider", operator.provider)?;
    let currency = listed(provider, "currencies", "currency", operator.currency)?;
    let types = currency.get("operationTypes")?;
    let in_list = |row: &'a Value| {
        let is_named = row.get("operationType").and_then(Value::as_str) == Some(DEPOSIT);
        row.get(DEPOSIT).or(is_named.then_some(row))
    };
    match types {
        Value::Array(rows) => rows.iter().find_map(in_list),
        _ => types.get(DEPOSIT),
    }
}

fn steps(channel: &Value) -> BTreeMap<String, Vec<String>> {
    let languages = channel.get("instructions").and_then(Value::as_object);
    let texts = |steps: &Value| -> Vec<String> {
        let steps = steps.as_array().into_iter().flatten();
        let text = |step: &Value| Some(step.get("text").unwrap_or(step).as_str()?.to_owned());
        steps.filter_map(text).collect()
    };
    languages
        .into_iter()
        .flatten()
        .map(|(lang, list)| (lang.clone(), texts(list)))
        .filter(|(_, steps)| !steps.is_empty())
        .collect()
}

/// Code to dial: named for the channel or for one of its steps.
fn short_code(channel: &Value) -> Option<String> {
    let of = |value: &Value| {
        let code = value.get("variables")?.get("shortCode")?;
        Some(code.as_str()?.to_owned())
    };
    of(channel).or_else(|| {
        let languages = channel.get("instructions")?.as_object()?;
        languages
            .values()
            .filter_map(Value::as_array)
            .flatten()
            .find_map(of)
    })
}

fn key(operator: &Operator) -> String {
    format!("instructions {}", operator.provider)
}

const DEPOSIT: &str = "DEPOSIT";
/// The instructions change about once a year.
const KEPT: Duration = Duration::from_secs(6 * 60 * 60);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn configuration(types: Value) -> Value {
        json!({ "countries": [{ "country": "CIV", "providers": [{
            "provider": "ORANGE_CIV", "currencies": [{ "currency": "XOF", "operationTypes": types }],
        }] }] })
    }

    #[test]
    fn instructions_read_from_each_shape_that_the_configuration_comes_in() {
        let channel = |on_channel: bool| {
            let variables = json!({ "shortCode": "#120#" });
            let step = json!({ "text": "Dial #120#", "variables": variables });
            let mut channel =
                json!({ "type": "USSD", "instructions": { "en": [step, "Enter PIN"], "fr": [] } });
            if on_channel {
                channel["variables"] = variables;
            }
            json!({ "pinPrompt": "MANUAL", "pinPromptInstructions": { "channels": [channel] } })
        };
        let mut named = channel(true);
        named["operationType"] = json!("DEPOSIT");
        let wanted = Instructions {
            is_manual: true,
            steps: [(
                "en".to_owned(),
                vec!["Dial #120#".into(), "Enter PIN".into()],
            )]
            .into(),
            ussd: Some("#120#".into()),
        };
        let operator = Operator::of("orange_ci").unwrap();
        for types in [
            json!({ "PAYOUT": {}, "DEPOSIT": channel(true) }),
            json!([{ "PAYOUT": {} }, { "DEPOSIT": channel(false) }]),
            json!([{ "operationType": "PAYOUT" }, named]),
        ] {
            let read = Instructions::read(&configuration(types), operator);
            assert_eq!(read.as_ref(), Some(&wanted));
        }
        assert_eq!(Instructions::read(&json!({}), operator), None);
        let other = Operator::of("mtn_ci").unwrap();
        assert_eq!(Instructions::read(&configuration(json!({})), other), None);
    }
}
