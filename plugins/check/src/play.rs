//! Plays one call: the library in its worker, the engine and the provider by script.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchyard_gateway::manifest::Method;
use switchyard_gateway::wire::{
    Begin, Effect, EffectResult, Failed, HttpRequest, Pending, Ready, Resume,
};
use switchyard_gateway::{Direction, Fault, Money, Operation, testing};
use switchyard_gateway_host::{DirectLibrary, DirectStep, Manifest};

use crate::samples::{Sample, Samples};
use crate::script::{Echo, Script};

/// A loaded gateway with what is known of it.
pub(crate) struct Stage<'a> {
    bare: DirectLibrary,
    pub manifest: &'a Manifest,
    pub samples: &'a Samples,
    pub config: Value,
    /// Texts that may stand in requests and nowhere else.
    pub secrets: Vec<String>,
}

/// End of a call, and its effects.
#[derive(Debug)]
pub(crate) struct Played {
    pub end: End,
    pub requests: Vec<HttpRequest>,
    /// Answered effects, of all kinds.
    pub effects: usize,
    pub log: Vec<String>,
    pub unanswered: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    Ready(Value),
    Fault(Fault),
    /// Not by the contract; a sentence.
    Broken(String),
    Cancelled,
}

impl<'a> Stage<'a> {
    pub(crate) fn new(bare: DirectLibrary, manifest: &'a Manifest, samples: &'a Samples) -> Self {
        let config = samples.config(manifest);
        let texts = manifest
            .secret_fields()
            .into_iter()
            .filter_map(|name| config[name].as_str());
        let secrets = texts
            .filter(|text| text.len() >= 6)
            .map(str::to_owned)
            .collect();
        Self {
            bare,
            manifest,
            samples,
            config,
            secrets,
        }
    }

    pub(crate) fn begin(&self, operation: Operation, input: Value, state: Value) -> Begin<'_> {
        Begin {
            op: operation,
            call: Cow::Borrowed("c_check"),
            now: Cow::Borrowed("2026-11-20T10:00:00.000000Z"),
            seed: Cow::Borrowed(SEED),
            environment: Default::default(),
            config: Cow::Borrowed(&self.config),
            state: Cow::Owned(state),
            input: Cow::Owned(input),
        }
    }

    /// Runs a call to its end, or until so many effects are answered.
    pub(crate) async fn play(
        &self,
        begin: &Begin<'_>,
        script: &mut Script<'_>,
        until: Option<usize>,
    ) -> Played {
        let mut played = Played {
            end: End::Cancelled,
            requests: Vec::new(),
            effects: 0,
            log: Vec::new(),
            unanswered: Vec::new(),
        };
        let mut cache = BTreeMap::new();
        let mut waiting: Vec<switchyard_gateway::wire::Request> = Vec::new();
        let mut step = self.bare.begin(&written(begin)).await;
        loop {
            let (message, call) = match step {
                DirectStep::Pending(message, call) => (message, call),
                over => {
                    played.over(over);
                    break;
                }
            };
            let pending: Pending = match serde_json::from_slice(&message) {
                Ok(pending) => pending,
                Err(error) => {
                    played.end =
                        End::Broken(format!("asks for what the engine cannot read: {error}"));
                    break;
                }
            };
            played
                .log
                .extend(pending.log.into_iter().map(|line| line.text));
            waiting.extend(pending.effects);
            if until == Some(played.effects) {
                break; // the call is dropped, which cancels it
            }
            if waiting.is_empty() || played.effects == EFFECTS {
                played.end = End::Broken(if waiting.is_empty() {
                    "waits and asks for nothing: await only what the context gives".to_owned()
                } else {
                    format!("asks for more than {EFFECTS} effects, where the engine ends the call")
                });
                break;
            }
            let request = waiting.remove(0);
            let result = played.perform(request.effect, &mut cache, script);
            let resume = Resume {
                id: request.id,
                result,
            };
            played.effects += 1;
            step = call.resume(&written(&resume)).await;
        }
        played.unanswered.append(&mut script.unanswered);
        played
    }

    pub(crate) fn method(&self, sample: &Sample, direction: Direction) -> Option<&Method> {
        let mut methods = self.manifest.methods.iter();
        methods.find(|method| {
            let is_named = |code: &String| *code == method.code.replace("{service}", SERVICE);
            method.direction == direction && sample.method.as_ref().is_none_or(is_named)
        })
    }

    /// Input of an operation, under the `nth` reference.
    pub(crate) fn input(&self, operation: Operation, is_decline: bool, nth: u8) -> (Value, Echo) {
        let own = self.samples.of(operation);
        let direction = match operation {
            Operation::Payout => Direction::Payout,
            _ => own
                .direction
                .unwrap_or(if self.manifest.has(Operation::Collect) {
                    Direction::Collect
                } else {
                    Direction::Payout
                }),
        };
        let basis = match (own.method.is_none() && own.fields.is_empty(), direction) {
            (false, _) => own,
            (true, Direction::Collect) => &self.samples.collect,
            (true, Direction::Payout) => &self.samples.payout,
        };
        let method = self.method(basis, direction);
        let amount = amount(own.amount.as_deref().or(basis.amount.as_deref()), method);
        let code = basis
            .method
            .clone()
            .or(method.map(|method| method.code.replace("{service}", SERVICE)));
        let fields = match &own.decline_fields {
            Some(fields) if is_decline => switchyard_gateway::Fields(fields.clone()),
            _ => basis.fields(),
        };
        let country = basis
            .country
            .clone()
            .or(method.and_then(|method| method.countries.first().cloned()));
        let reference = reference(nth);
        let input = json!({
            "reference": reference,
            "of": reference,
            "transaction": "py_01jd4v3z6q8k9m2n5p7r1s3t4v",
            "method": code,
            "country": country.filter(|country| country.len() == 2),
            "amount": amount,
            "direction": direction,
            "provider_id": own.provider_id,
            "payer": { "first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com", "msisdn": fields.get("msisdn") },
            "fields": fields,
            "recipient": fields,
            "input": fields,
            "description": own.description.as_deref().unwrap_or("A sample"),
            "return_url": "https://pay.example.com/checkout/py_01jd4v3z6q8k9m2n5p7r1s3t4v",
            "callback_url": "https://pay.example.com/callbacks/con_01jd4v3z6q8k9m2n5p7r1s3t4v",
            "environment": "sandbox",
        });
        (input, Echo { reference, amount })
    }
}

/// All references of a run differ in their last letter.
fn reference(nth: u8) -> String {
    let mut uuid = testing::REFERENCE.to_owned();
    uuid.pop();
    uuid.push(char::from(b'0' + nth % 10));
    uuid
}

impl Played {
    fn over(&mut self, step: DirectStep) {
        self.end = match step {
            DirectStep::Ready(message) => match serde_json::from_slice::<Ready<Value>>(&message) {
                Ok(ready) => {
                    self.log.extend(ready.log.into_iter().map(|line| line.text));
                    End::Ready(ready.outcome)
                }
                Err(error) => End::Broken(format!("ends in what the engine cannot read: {error}")),
            },
            DirectStep::Failed(message) => match serde_json::from_slice::<Failed>(&message) {
                Ok(failed) => {
                    self.log
                        .extend(failed.log.into_iter().map(|line| line.text));
                    End::Fault(failed.fault)
                }
                Err(error) => End::Broken(format!("fails in what the engine cannot read: {error}")),
            },
            DirectStep::Nonsense(what) => End::Broken(what),
            DirectStep::Gone(why) => End::Broken(format!("took its process down: {why}")),
            DirectStep::Pending(..) => End::Cancelled,
        };
    }

    fn perform(
        &mut self,
        effect: Effect,
        cache: &mut BTreeMap<String, String>,
        script: &mut Script<'_>,
    ) -> EffectResult {
        match effect {
            Effect::Http(request) => {
                let answer = script.answer(&request);
                self.requests.push(request);
                answer
            }
            Effect::Sleep { .. } => EffectResult::Slept {},
            Effect::CacheGet { key } => EffectResult::Cache {
                value: cache.get(&key).cloned(),
            },
            Effect::CachePut { key, value, .. } => {
                cache.insert(key, value.clone());
                EffectResult::Cache { value: Some(value) }
            }
            Effect::CounterNext { from, .. } => EffectResult::Counter { value: from },
        }
    }

    pub(crate) fn wrote(&self) -> bool {
        self.requests.iter().any(HttpRequest::can_mutate)
    }
}

/// The author's amount, or one that the method takes.
fn amount(given: Option<&str>, method: Option<&Method>) -> Money {
    let decimals = method.and_then(|method| method.decimals).unwrap_or(2);
    let currency = method.map_or("USD", |method| method.currency.as_str());
    let limit = |text: &Option<String>| text.as_deref().and_then(|text| minor(text, decimals));
    let least = method.and_then(|method| limit(&method.min)).unwrap_or(0);
    let most = method
        .and_then(|method| limit(&method.max))
        .unwrap_or(i64::MAX);
    let usual = minor("100", decimals).unwrap_or(100);
    let given = given.and_then(|text| minor(text, decimals));
    let chosen = given.unwrap_or_else(|| usual.max(least).min(most));
    Money::from_minor(chosen, currency, decimals)
}

/// Major units in smallest ones; none when that is not exact.
fn minor(text: &str, decimals: u8) -> Option<i64> {
    let (major, fraction) = text.split_once('.').unwrap_or((text, ""));
    let decimals = usize::from(decimals);
    if fraction.len() > decimals {
        return None;
    }
    format!("{major}{fraction:0<decimals$}").parse().ok()
}

fn written(message: &impl serde::Serialize) -> Vec<u8> {
    // Maps with text keys, texts and numbers: there is nothing in a message that JSON does not
    // have.
    serde_json::to_vec(message).unwrap_or_default()
}

const SERVICE: &str = "switchyard";
const SEED: &str = "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed";
/// As many as the engine performs for one call.
const EFFECTS: usize = switchyard_core::limits::GATEWAY_EFFECTS;
