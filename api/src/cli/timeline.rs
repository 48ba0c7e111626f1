//! Timeline of a transaction as rows of a table.

use serde::Deserialize;

use super::output::{Column, cell};
use crate::operator::contract::attempts::{Decision, PayerAction, Skipped};
use crate::operator::contract::callbacks::Callback;
use crate::operator::contract::timeline::{Event, ProviderCall, TimelineEntry};

/// Row of the timeline.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    at: String,
    what: String,
    more: String,
}

/// Columns of the timeline.
pub const ROW: &[Column<Row>] = &[
    ("when", |row| cell(&row.at)),
    ("what", |row| cell(&row.what)),
    ("more", |row| cell(&row.more)),
];

pub fn rows(timeline: &[TimelineEntry]) -> Vec<Row> {
    timeline.iter().map(row).collect()
}

fn row(entry: &TimelineEntry) -> Row {
    let (what, more) = match entry {
        TimelineEntry::Event { event, .. } => (name(event), details(event).join(", ")),
        TimelineEntry::Exchange { exchange, .. } => {
            (format!("  {}", exchange.operation), call(exchange))
        }
        TimelineEntry::Callback { callback, .. } => ("  callback".to_owned(), received(callback)),
    };
    Row {
        at: entry.at().to_string(),
        what,
        more,
    }
}

fn call(call: &ProviderCall) -> String {
    let end = match (call.status, &call.error) {
        (Some(status), _) => status.to_string(),
        (None, Some(error)) => error.clone(),
        (None, None) => cell(&call.stage),
    };
    let meaning = match &call.meaning {
        Some(meaning) => format!("; {meaning}"),
        None => String::new(),
    };
    format!("{} {} → {end}{meaning}", call.method, call.url)
}

fn received(callback: &Callback) -> String {
    let note = callback.note.as_deref().unwrap_or_default();
    format!("{}: {note}", callback.state.as_str())
}

/// The name of an event, as in JSON.
fn name(event: &Event) -> String {
    #[derive(Deserialize)]
    struct Tag {
        r#type: String,
    }
    let tag = serde_json::to_value(event).and_then(Tag::deserialize);
    tag.map_or_else(|_| "-".to_owned(), |tag| tag.r#type)
}

/// Formats the details of an event, each with its name.
fn details(event: &Event) -> Vec<String> {
    let one = |name: &str, text: &str| format!("{name}: {text}");
    let some = |name: &str, text: &Option<String>| text.as_deref().map(|text| one(name, text));
    match event {
        Event::AttemptStarted { attempt } => {
            let gateway = one("gateway", &attempt.candidate.gateway);
            let mut told = vec![gateway, one("reference", &attempt.reference)];
            told.extend(attempt.decision.iter().flat_map(decided));
            told
        }
        Event::AttemptPending {
            provider_id,
            provider_status,
            payer_action,
            ..
        } => {
            let mut told = reported(provider_status, provider_id);
            told.extend(unusable_page(payer_action.as_ref()));
            told
        }
        Event::AttemptSucceeded {
            provider_id,
            provider_status,
            ..
        } => reported(provider_status, provider_id),
        Event::AttemptInDoubt { why, .. } | Event::AttemptNotSent { why, .. } => {
            vec![one("why", why)]
        }
        Event::AttemptIdentified { provider_id, .. } => vec![one("provider_id", provider_id)],
        Event::CodeAnswered { why, .. } => some("why", why).into_iter().collect(),
        Event::AttemptDeclined { decline, .. } => {
            let reason = one("reason", &cell(&decline.reason));
            let message = some("message", &decline.provider_message);
            [Some(reason), message].into_iter().flatten().collect()
        }
        Event::CallOffStarted { by, .. } | Event::Cancelled { by } => vec![one("by", &cell(by))],
        Event::OperatorActed {
            operator,
            act,
            note,
            ..
        } => {
            let mut told = vec![one("act", &cell(act))];
            told.extend(some("note", note));
            told.push(one("operator", &operator.name));
            told
        }
        Event::SteppedOver { skipped } => skipped.iter().map(passed_over).collect(),
        Event::Failed { failure } => vec![one("message", &failure.message)],
        Event::CaseOpened { case } => vec![one("case", &cell(&case.reason))],
        Event::CaseClosed { closed, .. } => {
            let operator = one("operator", &closed.by.name);
            let note = some("note", &closed.note);
            [Some(operator), note].into_iter().flatten().collect()
        }
        Event::Initiated {}
        | Event::Confirmed { .. }
        | Event::MoneyReported { .. }
        | Event::QueryStarted { .. }
        | Event::QueryPlanned { .. }
        | Event::SubmissionResumed { .. }
        | Event::CodeSubmitted { .. }
        | Event::AttemptAllowed {}
        | Event::Held {}
        | Event::Succeeded {}
        | Event::Processed {}
        | Event::CaseAmended { .. } => Vec::new(),
    }
}

/// Formats the status and the id that a provider reported.
fn reported(status: &Option<String>, id: &Option<String>) -> Vec<String> {
    let names = ["provider_status", "provider_id"].into_iter();
    let both = names.zip([status, id]);
    let told = both.filter_map(|(name, text)| Some(format!("{name}: {}", text.as_deref()?)));
    told.collect()
}

/// Formats the reason why the provider's page is not shown to the payer.
fn unusable_page(action: Option<&PayerAction>) -> Option<String> {
    match action {
        Some(PayerAction::UnusablePage { why }) => Some(format!("page: {why}")),
        _ => None,
    }
}

/// Formats the reason for the chosen connection, and the other candidates.
fn decided(decision: &Decision) -> Vec<String> {
    let mut told = vec![format!("because: {}", decision.chosen_because)];
    if let Some(rule) = &decision.rule {
        told.push(format!("rules: version {}", rule.version));
    }
    if let Some(roll) = decision.roll {
        told.push(format!("drawn: {roll} of 10000"));
    }
    for one in decision.considered.iter().skip(1) {
        let is_open = one.health.as_ref().is_some_and(|health| health.open);
        let sick = if is_open { ", breaker open" } else { "" };
        told.push(format!("then: {} ({}{sick})", one.gateway, one.why));
    }
    told.extend(decision.skipped.iter().map(passed_over));
    told
}

/// Formats a connection that was skipped, with the reason.
fn passed_over(skipped: &Skipped) -> String {
    format!("not: {} ({})", skipped.connection, skipped.because)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::output::aligned;
    use super::*;

    const AT: &str = "2026-11-20T10:00:00.000000Z";
    const CONNECTION: &str = "con_01jd2nq3v4k5m6n7p8q9r0s1t2";

    fn entry(rest: Value) -> TimelineEntry {
        let mut entry = json!({ "at": AT });
        let fields = entry.as_object_mut().unwrap();
        fields.extend(rest.as_object().unwrap().clone());
        serde_json::from_value(entry).unwrap()
    }

    fn event(event: Value) -> TimelineEntry {
        entry(json!({ "version": 1, "event": event }))
    }

    fn exchange(more: Value) -> TimelineEntry {
        let mut call = json!({
            "gateway": "acme", "request_headers": [], "request_body": null, "mutates": true,
            "stage": "answered", "response_headers": [], "response_body": null, "error": null,
            "duration_ms": 5, "url": "https://p.example/x",
        });
        let fields = call.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let attempt = "atm_01jd2nq3v4k5m6n7p8q9r0s1t2";
        entry(json!({ "attempt": attempt, "exchange": call }))
    }

    #[test]
    fn a_decision_is_told_with_its_reason_and_the_other_connections() {
        let considered = json!([
            { "connection": CONNECTION, "gateway": "a", "why": "drawn with weight 70 of 100" },
            {
                "connection": CONNECTION, "gateway": "b", "why": "drawn with weight 30 of 30",
                "health": {
                    "open": true, "calls": 1, "faults": 1, "ended": 0, "succeeded": 0,
                    "short_of_funds": false,
                },
            },
        ]);
        let decision = json!({
            "chosen_because": "rule 1, weighted: drawn with weight 70 of 100",
            "rule": { "version": 4, "number": 1, "strategy": "weighted" },
            "roll": 4711,
            "considered": considered,
            "skipped": [{ "connection": CONNECTION, "because": "the connection is switched off" }],
        });
        let decision: Decision = serde_json::from_value(decision).unwrap();
        let expected = format!(
            "because: rule 1, weighted: drawn with weight 70 of 100, rules: version 4, \
             drawn: 4711 of 10000, then: b (drawn with weight 30 of 30, breaker open), \
             not: {CONNECTION} (the connection is switched off)"
        );
        assert_eq!(decided(&decision).join(", "), expected);
    }

    #[test]
    fn the_timeline_tells_whom_a_fail_over_stepped_over() {
        let skipped = json!([{ "connection": CONNECTION, "because": "its gateway is not loaded" }]);
        let row = row(&event(
            json!({ "type": "stepped_over", "skipped": skipped }),
        ));
        let expected = format!("not: {CONNECTION} (its gateway is not loaded)");
        assert_eq!(row.more, expected);
    }

    #[test]
    fn the_timeline_tells_why_the_payer_was_not_sent_to_the_providers_page() {
        let why = "The provider's payment page cannot be opened: its address has no host.";
        let row = row(&event(json!({
            "type": "attempt_pending", "attempt": "atm_01jd2nq3v4k5m6n7p8q9r0s1t2",
            "provider_id": "cs_1", "provider_status": null, "next_query_at": AT,
            "payer_action": { "kind": "unusable_page", "why": why },
        })));
        assert_eq!(row.what, "attempt_pending");
        assert_eq!(row.more, format!("provider_id: cs_1, page: {why}"));
    }

    #[test]
    fn the_timeline_tells_what_a_not_found_meant() {
        let row = row(&exchange(json!({
            "operation": "query", "method": "GET", "status": 404,
            "meaning": "not found, and finally so: the attempt counts as not sent",
        })));
        let meaning = "not found, and finally so: the attempt counts as not sent";
        assert_eq!(
            row.more,
            format!("GET https://p.example/x → 404; {meaning}")
        );
    }

    #[test]
    fn the_timeline_tells_when_what_and_what_it_said() {
        let decline = json!({
            "reason": "insufficient_funds", "retryable": false, "provider_id": null,
            "provider_code": null, "provider_message": "no",
        });
        let attempt = "atm_01jd2nq3v4k5m6n7p8q9r0s1t2";
        let declined =
            json!({ "type": "attempt_declined", "attempt": attempt, "decline": decline });
        let timeline = [
            event(json!({ "type": "initiated" })),
            exchange(json!({ "operation": "collect", "method": "POST", "status": 200 })),
            event(declined),
        ];
        let head = "WHEN                         WHAT              MORE\n";
        let call = "  collect         POST https://p.example/x → 200\n";
        let end = "attempt_declined  reason: insufficient_funds, message: no\n";
        let expected = format!("{head}{AT}  initiated\n{AT}  {call}{AT}  {end}");
        assert_eq!(aligned(&rows(&timeline), ROW), expected);
    }
}
