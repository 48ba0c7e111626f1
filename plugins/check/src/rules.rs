//! Rules of every call, whatever the provider responds; and the allowed ends of a call after each
//! kind of fault. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use switchyard_core::money::{Amount, Currency};
use switchyard_gateway::manifest::config_field;
use switchyard_gateway::wire::{Body, HttpRequest};
use switchyard_gateway::{
    ConfigCheck, DeclineReason, FaultKind, Money, Operation, Outcome, PayerAction,
};
use switchyard_gateway_host::{Manifest, is_shown};
use url::Url;

use crate::play::{End, Played};
use crate::report::Report;
use crate::script::ProviderBehavior;

/// Requests to hosts that the manifest does not list for sandbox, or without https.
pub(crate) fn hosts(manifest: &Manifest, config: &Value, requests: &[HttpRequest]) -> Vec<String> {
    let mut found = Vec::new();
    for request in requests {
        let Ok(url) = Url::parse(&request.url) else {
            found.push(format!("asks for `{}`, which is no address", request.url));
            continue;
        };
        let host = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or(0);
        let fits = |listed: &String| {
            if let Some(field) = config_field(listed) {
                let configured = config[field]
                    .as_str()
                    .and_then(|text| Url::parse(text).ok());
                return configured.is_some_and(|it| it.host_str() == Some(host));
            }
            let (name, listed_port) = listed.rsplit_once(':').unwrap_or((listed, "443"));
            let is_host = match name.strip_prefix("*.") {
                Some(under) => host
                    .strip_suffix(under)
                    .is_some_and(|rest| rest.ends_with('.')),
                None => name == host,
            };
            is_host && listed_port == port.to_string()
        };
        if !manifest.hosts.sandbox.iter().any(fits) {
            found.push(format!(
                "asks {host}:{port}, which is not listed: add it to `hosts` in gateway.json, or keep to those that are"
            ));
        }
    }
    found.dedup();
    found
}

/// Requests that can move money and do not carry our reference.
pub(crate) fn references(reference: &str, requests: &[HttpRequest]) -> Vec<String> {
    let bare = reference.replace('-', "").to_lowercase();
    let lacks = |request: &&HttpRequest| request.can_mutate() && !written(request).contains(&bare);
    let missing = requests.iter().filter(lacks);
    missing
        .map(|request| {
            format!(
                "{} {} lacks our reference, so that nobody can ask about it later: put `ask.reference` into it, or mark it \
                 `.reads_only()` if it can move no money",
                request.method,
                path(&request.url)
            )
        })
        .collect()
}

/// Requests that can move money, to one address, under more than one form of our reference: the
/// second is a second charge, which is never queried. `beginning` is the common prefix of all
/// forms.
pub(crate) fn resubmissions(beginning: &str, requests: &[HttpRequest]) -> Vec<String> {
    let beginning = beginning.replace('-', "").to_lowercase();
    let mut first: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for request in requests.iter().filter(|request| request.can_mutate()) {
        let text = written(request);
        let forms: BTreeSet<String> = forms(&text, &beginning).map(str::to_owned).collect();
        let mut address = format!("{} {}", request.method, request.url).replace('-', "");
        address.make_ascii_lowercase();
        for form in &forms {
            address = address.replace(form.as_str(), "…");
        }
        match first.get(&address) {
            None => drop(first.insert(address, forms)),
            Some(earlier) if *earlier == forms => {}
            Some(_) => found.push(format!(
                "submits again under another reference ({} {}): send the same one again, or ask about the first",
                request.method,
                path(&request.url)
            )),
        }
    }
    found
}

/// The words of a text that have the beginning of a reference in them.
fn forms<'t>(text: &'t str, beginning: &str) -> impl Iterator<Item = &'t str> {
    let is_of_it = |letter: char| letter.is_ascii_alphanumeric() || "_.:~+#%".contains(letter);
    let words = text.split(move |letter| !is_of_it(letter));
    words.filter(move |word| word.contains(beginning))
}

/// All of a request as lower-case text without hyphens.
fn written(request: &HttpRequest) -> String {
    let mut text = request.url.clone();
    for (name, value) in &request.headers {
        text += &format!("\n{name}: {value}");
    }
    match &request.body {
        Some(Body::Form(fields)) => text += &format!("{fields:?}"),
        Some(body) => {
            text += &body
                .bytes()
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default()
        }
        None => {}
    }
    text.replace('-', "").to_lowercase()
}

fn path(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    after.find('/').map_or("/", |at| &after[at..])
}

/// Secrets of the configuration in what is kept and shown.
pub(crate) fn secrets(secrets: &[String], played: &Played) -> Vec<String> {
    let end = match &played.end {
        End::Ready(outcome) => ("the outcome", outcome.to_string()),
        End::Fault(fault) => ("the fault", fault.message.clone()),
        End::Broken(_) | End::Cancelled => ("", String::new()),
    };
    let log = ("the log", played.log.join("\n"));
    let mut found = Vec::new();
    for (place, text) in [end, log] {
        if secrets.iter().any(|secret| text.contains(secret)) {
            found.push(format!(
                "a secret of the configuration is in {place}: leave it out, people read that"
            ));
        }
    }
    found
}

/// Reason why no call may end like this.
pub(crate) fn broken(operation: Operation, end: &End) -> Option<String> {
    match end {
        End::Broken(why) => Some(why.clone()),
        End::Fault(fault) => match fault.kind {
            FaultKind::Panic => Some(format!(
                "panics ({}): return a `Fault` instead",
                fault.message
            )),
            FaultKind::Stalled => Some(format!(
                "stalls ({}): await only what the context gives",
                fault.message
            )),
            FaultKind::Unsupported => Some(fault.message.clone()),
            _ => None,
        },
        End::Ready(value) => {
            let error = match operation {
                Operation::CheckConfig => {
                    serde_json::from_value::<ConfigCheck>(value.clone()).err()
                }
                Operation::Options => {
                    serde_json::from_value::<switchyard_gateway::OptionList>(value.clone()).err()
                }
                Operation::List => {
                    serde_json::from_value::<switchyard_gateway::TransactionPage>(value.clone())
                        .err()
                }
                Operation::Callback => {
                    serde_json::from_value::<switchyard_gateway::CallbackResult>(value.clone())
                        .err()
                }
                _ => serde_json::from_value::<Outcome>(value.clone()).err(),
            };
            error.map(|error| format!("ends in no outcome of the contract: {error}"))
        }
        End::Cancelled => None,
    }
}

/// Rule that the end of a call for a list breaks after trouble at the provider.
pub(crate) fn invented(operation: Operation, end: &End) -> Option<String> {
    let is_list = matches!(end, End::Ready(_));
    let why = "returns a list, and the provider named none: return a fault (`?` is enough)";
    broken(operation, end).or_else(|| is_list.then(|| why.to_owned()))
}

pub(crate) fn outcome(end: &End) -> Option<Outcome> {
    match end {
        End::Ready(value) => serde_json::from_value(value.clone()).ok(),
        _ => None,
    }
}

/// Reason why a call may not end like this after that fault; `None` if it may.
pub(crate) fn trouble(operation: Operation, mood: ProviderBehavior, end: &End) -> Option<String> {
    if let Some(why) = broken(operation, end) {
        return Some(why);
    }
    if operation == Operation::CheckConfig {
        return config_trouble(mood, end);
    }
    let refuses = matches!(
        mood,
        ProviderBehavior::Unauthorized | ProviderBehavior::TooMany
    );
    match outcome(end)? {
        Outcome::Succeeded { .. } => Some("ends as succeeded, and the provider said nothing of the kind: look at status and body".into()),
        Outcome::Declined { .. } if operation == Operation::Query => {
            Some("ends as declined, and only the question failed: return a fault (`?` is enough)".into())
        }
        Outcome::Declined { reason, retryable, .. } if refuses => {
            let is_ours = matches!(reason, DeclineReason::Misconfigured | DeclineReason::ProviderUnavailable);
            let says = "ends as declined by the payer's side, and the provider refused us: return a fault, or decline `.and_retryable()`";
            (!is_ours && !retryable).then(|| says.into())
        }
        Outcome::Declined { .. } => Some(
            "ends as declined, and the money may have moved: return a fault (`?` is enough) or `Outcome::unknown`".into(),
        ),
        Outcome::NotFound { .. } => {
            Some("ends as not found, and the provider did not say so: return a fault (`?` is enough)".into())
        }
        Outcome::Pending { .. } | Outcome::Unknown { .. } => None,
    }
}

/// Whether the instruction for the payer matches the requested amount.
pub(crate) fn action(part: &'static str, action: PayerAction, asked: &Money, report: &mut Report) {
    let check = "amount for the payer";
    let says = match &action {
        PayerAction::Transfer { amount, fees, .. } => format!("{amount:?}, fees {fees:?}"),
        PayerAction::SendCrypto { amount, worth, .. } => format!("{amount}, worth {worth:?}"),
        _ => return,
    };
    let currency = Currency::from_code(&asked.currency);
    let asked = currency.map(|currency| Amount::from_minor(asked.minor, currency));
    if asked.is_some_and(|asked| is_shown(action, asked)) {
        report.pass(part, check, says);
    } else {
        let why = "the payer is told to send another amount than was asked, and the engine does \
                   not show that: give what was asked, with the provider's `fees` on top in a \
                   Transfer and what it is `worth` in a SendCrypto";
        report.fail(part, check, format!("{why} ({says})"));
    }
}

fn config_trouble(mood: ProviderBehavior, end: &End) -> Option<String> {
    let End::Ready(value) = end else {
        return (mood == ProviderBehavior::Unauthorized)
            .then(|| "ends in a fault, and the provider refused the credentials: answer `Refused` with the field".into());
    };
    match (serde_json::from_value::<ConfigCheck>(value.clone()).ok()?, mood) {
        (ConfigCheck::Refused { .. }, ProviderBehavior::Unauthorized) => None,
        (ConfigCheck::Works { .. }, _) => Some("says that the keys work, and nobody said so: look at status and body".into()),
        (ConfigCheck::Refused { .. }, _) => {
            Some("says that the keys are wrong, and the provider was in trouble: return a fault (`?` is enough)".into())
        }
    }
}

/// The end in a few words, for the table.
pub(crate) fn word(end: &End) -> String {
    let text = match end {
        End::Fault(fault) => format!("fault: {}", fault.message),
        End::Broken(why) => why.clone(),
        End::Cancelled => "cancelled".into(),
        End::Ready(value) => match serde_json::from_value::<Outcome>(value.clone()) {
            Ok(Outcome::Succeeded { .. }) => "succeeded".into(),
            Ok(Outcome::Declined { provider_code, .. }) => {
                format!("declined {}", provider_code.unwrap_or_default())
            }
            Ok(Outcome::Pending { .. }) => "pending".into(),
            Ok(Outcome::Unknown { why }) => format!("unknown: {why}"),
            Ok(Outcome::NotFound { .. }) => "not found".into(),
            Err(_) => value.to_string(),
        },
    };
    let mut short: String = text.chars().take(90).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.trim_end().to_owned()
}
