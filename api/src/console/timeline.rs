//! Timeline of a transaction in the reader's words: steps, calls to providers and callbacks.

use std::collections::BTreeSet;

use switchyard_core::language::Language;
use switchyard_core::money::Amount;
use switchyard_core::transaction::{OperatorEvent, Transaction};
use switchyard_engine::callback::CallbackState;

use super::case_names::case_name_by_id;
use super::text::Text;
use crate::operator::contract;
use crate::operator::contract::attempts::{Attempt, PayerAction};
use crate::operator::contract::callbacks::Callback;
use crate::operator::contract::timeline::{Event, MoneyReport, ProviderCall, TimelineEntry};

/// Entry of the timeline.
pub struct Entry {
    /// Class of the style sheet: `money`, `bad`, `warn` or empty.
    pub class: &'static str,
    /// Name of the icon.
    pub icon: &'static str,
    pub iso: String,
    /// Time of day to the second.
    pub time: String,
    /// Time since the start, such as `+31 s`. Empty for the first entry.
    pub offset: String,
    pub title: String,
    pub detail: String,
    /// Language of the detail, if it is not the reader's.
    pub detail_language: Option<&'static str>,
    /// Request and response, or a callback, without secrets.
    pub raw: Option<String>,
    /// Name of the link that opens the raw text.
    pub raw_label: String,
}

/// Text and icon of an entry, without its times.
struct Statement {
    class: &'static str,
    icon: &'static str,
    message: &'static str,
    detail: String,
}

/// Entries of a transaction's timeline, oldest first.
///
/// `may_see_raw`: whether requests and callbacks are shown, which name people and their numbers.
pub fn entries(
    timeline: &[TimelineEntry],
    tx: &Transaction,
    text: Text,
    may_see_raw: bool,
) -> Vec<Entry> {
    let ended = ended_attempts(timeline);
    let entry = |(entry, is_ended): (&TimelineEntry, bool)| {
        let at = entry.at().0;
        let (statement, raw) = statement_of(entry, tx, is_ended, text);
        let iso = at.to_string();
        Entry {
            class: statement.class,
            icon: statement.icon,
            time: iso.get(11..19).unwrap_or_default().to_owned(),
            iso,
            offset: offset(at.since(tx.created_at).as_secs()),
            title: text.say(statement.message),
            detail: statement.detail,
            // The engine's notes about callbacks are English.
            detail_language: match entry {
                TimelineEntry::Callback { .. } if text.language() != Language::En => Some("en"),
                _ => None,
            },
            raw_label: match entry {
                TimelineEntry::Callback { .. } => text.say("console-raw-callback"),
                _ => text.say("console-raw-call"),
            },
            raw: raw.filter(|_| may_see_raw),
        }
    };
    timeline.iter().zip(ended).map(entry).collect()
}

/// Of each entry, whether it reports money of an attempt that had ended before.
fn ended_attempts(timeline: &[TimelineEntry]) -> Vec<bool> {
    let mut over = BTreeSet::new();
    let is_ended = |entry: &TimelineEntry| match entry {
        TimelineEntry::Event { event, .. } => match event {
            Event::AttemptDeclined { attempt, .. }
            | Event::AttemptNotSent { attempt, .. }
            | Event::AttemptSucceeded { attempt, .. } => {
                over.insert(*attempt);
                false
            }
            Event::OperatorActed {
                settled: Some(settled),
                ..
            } => {
                over.insert(settled.attempt);
                false
            }
            Event::MoneyReported { attempt, .. } => over.contains(attempt),
            _ => false,
        },
        TimelineEntry::Exchange { .. } | TimelineEntry::Callback { .. } => false,
    };
    timeline.iter().map(is_ended).collect()
}

/// `is_ended`: whether it reports money of an attempt that had ended before.
fn statement_of(
    entry: &TimelineEntry,
    tx: &Transaction,
    is_ended: bool,
    text: Text,
) -> (Statement, Option<String>) {
    match entry {
        TimelineEntry::Event { event, .. } => match event {
            Event::MoneyReported { report, .. } => (money_statement(report, is_ended, text), None),
            Event::CaseOpened { case } => {
                let name = case_name_by_id(tx, case.id, case.reason, text);
                (
                    of("warn", "i-warning", "console-event-case-opened", name),
                    None,
                )
            }
            _ => (event_statement(event, text), None),
        },
        TimelineEntry::Exchange { exchange, .. } => {
            (call_statement(exchange, text), Some(raw(exchange)))
        }
        TimelineEntry::Callback { callback, .. } => {
            (callback_statement(callback), raw_callback(callback))
        }
    }
}

const fn plain(icon: &'static str, message: &'static str, detail: String) -> Statement {
    Statement {
        class: "",
        icon,
        message,
        detail,
    }
}

const fn of(
    class: &'static str,
    icon: &'static str,
    message: &'static str,
    detail: String,
) -> Statement {
    Statement {
        class,
        icon,
        message,
        detail,
    }
}

fn event_statement(event: &Event, text: Text) -> Statement {
    let none = String::new;
    match event {
        Event::Initiated {} => plain("i-in", "console-event-initiated", none()),
        Event::Confirmed { .. } => plain("i-person", "console-event-confirmed", none()),
        Event::AttemptStarted { attempt } => plain(
            "i-out",
            "console-event-attempt-started",
            choice(attempt, text),
        ),
        Event::AttemptPending {
            payer_action: Some(PayerAction::UnusablePage { why }),
            ..
        } => of(
            "bad",
            "i-failed",
            "console-event-unusable-page",
            why.clone(),
        ),
        Event::AttemptPending {
            provider_status, ..
        } => plain(
            "i-waiting",
            "console-event-attempt-pending",
            provider_status.clone().unwrap_or_default(),
        ),
        Event::AttemptInDoubt { why, .. } => of(
            "warn",
            "i-unknown",
            "console-event-attempt-in-doubt",
            why.clone(),
        ),
        Event::AttemptNotSent { why, .. } => of(
            "bad",
            "i-cancelled",
            "console-event-attempt-not-sent",
            why.clone(),
        ),
        Event::AttemptDeclined { decline, .. } => of(
            "bad",
            "i-failed",
            "console-event-attempt-declined",
            text.say(&format!("console-decline-{}", decline.reason.as_str())),
        ),
        Event::AttemptSucceeded { captured, .. } => {
            let amount = Amount::from_minor(captured.minor, captured.currency);
            let detail = amount.with_code(text.language());
            of("money", "i-paid", "console-event-attempt-succeeded", detail)
        }
        Event::CodeSubmitted { .. } => plain("i-person", "console-event-code-submitted", none()),
        Event::CodeAnswered { accepted, why, .. } => plain(
            "i-in",
            match accepted {
                true => "console-event-code-accepted",
                false => "console-event-code-refused",
            },
            why.clone().unwrap_or_default(),
        ),
        other => later_event_statement(other, text),
    }
}

/// Events about the whole transaction, and about people.
fn later_event_statement(event: &Event, text: Text) -> Statement {
    let none = String::new;
    match event {
        Event::AttemptIdentified { provider_id, .. } => plain(
            "i-in",
            "console-event-attempt-identified",
            provider_id.clone(),
        ),
        Event::QueryStarted { .. } => {
            plain("i-search", "console-event-query-started", String::new())
        }
        Event::QueryPlanned { .. } => {
            plain("i-waiting", "console-event-query-planned", String::new())
        }
        Event::SubmissionResumed { .. } => {
            plain("i-out", "console-event-submission-resumed", String::new())
        }
        Event::CallOffStarted { .. } => plain("i-out", "console-event-call-off", none()),
        Event::OperatorActed {
            act: OperatorEvent::ErasedPersonalData,
            ..
        } => plain("i-person", "console-event-data-erased", none()),
        Event::OperatorActed { note, .. } => plain(
            "i-person",
            "console-event-operator-acted",
            note.clone().unwrap_or_default(),
        ),
        Event::SteppedOver { .. } => plain("i-older", "console-event-stepped-over", none()),
        Event::AttemptAllowed {} => plain("i-older", "console-event-attempt-allowed", none()),
        Event::Held {} => of("warn", "i-warning", "console-event-held", none()),
        Event::Succeeded {} => of("money", "i-paid", "console-event-succeeded", none()),
        Event::Failed { failure } => of(
            "bad",
            "i-failed",
            "console-event-failed",
            text.say(&format!("console-decline-{}", failure.reason.as_str())),
        ),
        Event::Cancelled { .. } => plain("i-cancelled", "console-event-cancelled", none()),
        Event::Processed {} => plain("i-paid", "console-event-processed", none()),
        Event::CaseAmended { detail, .. } => of(
            "warn",
            "i-warning",
            "console-event-case-amended",
            detail.clone(),
        ),
        _ => plain("i-paid", "console-event-case-closed", none()),
    }
}

/// What a provider reported about money, and for which attempt.
fn money_statement(report: &MoneyReport, is_ended: bool, text: Text) -> Statement {
    let written = |amount: &contract::Amount| {
        Amount::from_minor(amount.minor, amount.currency).with_code(text.language())
    };
    let (message, detail) = match (report, is_ended) {
        (MoneyReport::Moved { amount, .. }, _) => {
            let unreadable = || text.say("console-event-money-unreadable");
            let detail = amount.as_ref().map_or_else(unreadable, written);
            match is_ended {
                true => ("console-event-money-ended", detail),
                false => ("console-event-money-open", detail),
            }
        }
        (MoneyReport::Part { amount, .. }, true) => {
            ("console-event-money-part-ended", written(amount))
        }
        (MoneyReport::Part { amount, .. }, false) => {
            ("console-event-money-part-open", written(amount))
        }
        (MoneyReport::TakenBack { .. }, true) => ("console-event-money-back-ended", String::new()),
        (MoneyReport::TakenBack { .. }, false) => ("console-event-money-back-open", String::new()),
    };
    of("warn", "i-warning", message, detail)
}

/// Gateway of an attempt and the reason for its choice: the engine's own words in English,
/// otherwise its place among the connections. Without a decision the gateway alone.
fn choice(attempt: &Attempt, text: Text) -> String {
    let candidate = &attempt.candidate;
    let Some(decision) = &attempt.decision else {
        return candidate.gateway_title.clone();
    };
    let mut considered = decision.considered.iter();
    let place = considered.position(|one| one.connection == candidate.connection);
    let place = place.map_or(1, |place| place + 1).to_string();
    let count = decision.considered.len().max(1).to_string();
    text.with(
        "console-event-attempt-started-detail",
        &[
            ("gateway", &candidate.gateway_title),
            ("reason", &decision.chosen_because),
            ("place", &place),
            ("count", &count),
        ],
    )
}

fn call_statement(call: &ProviderCall, text: Text) -> Statement {
    let took = call.duration_ms.map_or_else(String::new, |ms| {
        text.with("console-took", &[("ms", &ms.to_string())])
    });
    let status = match (call.status, &call.error) {
        (Some(status), _) => text.with(
            "console-call-status",
            &[("status", &status.to_string()), ("took", &took)],
        ),
        (None, Some(error)) => error.clone(),
        (None, None) => text.say("console-call-open"),
    };
    let meaning = call.meaning.as_deref().unwrap_or_default();
    let detail = format!("{} {status} {meaning}", call.method);
    match call.mutates {
        true => plain("i-out", "console-call-mutates", detail),
        false => plain("i-search", "console-call-reads", detail),
    }
}

fn callback_statement(callback: &Callback) -> Statement {
    let detail = callback.note.clone().unwrap_or_default();
    match (callback.trusted, callback.state) {
        (Some(true), _) => plain("i-in", "console-callback-trusted", detail),
        (Some(false), _) => of("warn", "i-warning", "console-callback-untrusted", detail),
        (None, CallbackState::Ignored) => plain("i-in", "console-callback-ignored", detail),
        (None, _) => plain("i-in", "console-callback-received", detail),
    }
}

fn raw(call: &ProviderCall) -> String {
    let mut text = format!("{} {}\n", call.method, call.url);
    if let Some(body) = &call.request_body {
        text.push_str(body);
        text.push('\n');
    }
    if let Some(status) = call.status {
        text.push_str(&format!("\n{status}\n"));
    }
    if let Some(body) = &call.response_body {
        text.push_str(body);
    }
    text
}

fn raw_callback(callback: &Callback) -> Option<String> {
    let request = callback.request.as_ref()?;
    Some(format!(
        "{} {}\n{}",
        request.method, request.path, request.body
    ))
}

/// Seconds since the start, in the two largest units: `+31 s`, `+1 min 9 s`, `+2 h 5 min`.
fn offset(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, 0) => String::new(),
        (0, 0, seconds) => format!("+{seconds}\u{a0}s"),
        (0, minutes, seconds) => format!("+{minutes}\u{a0}min {seconds}\u{a0}s"),
        (hours, minutes, _) => format!("+{hours}\u{a0}h {minutes}\u{a0}min"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_that_cannot_be_opened_is_on_the_timeline_with_its_reason() {
        let event: Event = serde_json::from_value(json!({
            "type": "attempt_pending", "attempt": "atm_01jd2nq3v4k5m6n7p8q9r0s1t2",
            "provider_id": null, "provider_status": "open",
            "next_query_at": "2026-11-20T10:00:00.000000Z",
            "payer_action": { "kind": "unusable_page", "why": "Its address has no host." },
        }))
        .unwrap();
        for (language, title) in [
            (Language::En, "The provider’s page cannot be opened"),
            (
                Language::Fr,
                "La page du prestataire ne peut pas être ouverte",
            ),
        ] {
            let text = Text(language);
            let statement = event_statement(&event, text);
            assert_eq!(text.say(statement.message), title);
            assert_eq!(statement.detail, "Its address has no host.");
        }
    }

    fn event(value: serde_json::Value) -> TimelineEntry {
        serde_json::from_value(json!({
            "at": "2026-11-20T10:00:00.000000Z", "version": 1, "event": value,
        }))
        .unwrap()
    }

    #[test]
    fn a_report_of_money_says_what_was_reported_and_for_which_attempt() {
        let (one, two) = (
            "atm_01jd2nq3v4k5m6n7p8q9r0s1t2",
            "atm_01jd2nq3v4k5m6n7p8q9r0s1t3",
        );
        let amount = json!({ "minor": 5_000, "currency": "XOF" });
        let moved = |attempt: &str, amount: serde_json::Value| {
            let report = json!({ "type": "moved", "provider_id": null, "amount": amount });
            event(json!({ "type": "money_reported", "attempt": attempt, "report": report }))
        };
        let back = json!({ "type": "taken_back", "provider_id": null });
        let decline = json!({ "reason": "other", "retryable": false, "provider_message": null });
        let timeline = [
            moved(one, serde_json::Value::Null),
            event(json!({ "type": "attempt_declined", "attempt": one, "decline": decline })),
            moved(two, amount.clone()),
            moved(one, amount),
            event(json!({ "type": "money_reported", "attempt": one, "report": back })),
        ];
        let text = Text(Language::En);
        let said: Vec<_> = timeline
            .iter()
            .zip(ended_attempts(&timeline))
            .filter_map(|(entry, is_ended)| {
                let TimelineEntry::Event {
                    event: Event::MoneyReported { report, .. },
                    ..
                } = entry
                else {
                    return None;
                };
                let statement = money_statement(report, is_ended, text);
                Some((text.say(statement.message), statement.detail))
            })
            .collect();
        let expected = [
            (
                "The provider reported money for the open attempt",
                "The amount cannot be read.",
            ),
            (
                "The provider reported money for the open attempt",
                "XOF\u{a0}5\u{a0}000",
            ),
            (
                "The provider reported money for an ended attempt",
                "XOF\u{a0}5\u{a0}000",
            ),
            (
                "The provider reported a decline after money, for an ended attempt",
                "",
            ),
        ];
        let expected = expected.map(|(title, detail)| (title.to_owned(), detail.to_owned()));
        assert_eq!(said, expected);
    }

    #[test]
    fn an_offset_has_its_two_largest_units() {
        for (seconds, written) in [
            (0, ""),
            (31, "+31\u{a0}s"),
            (69, "+1\u{a0}min 9\u{a0}s"),
            (7_500, "+2\u{a0}h 5\u{a0}min"),
        ] {
            assert_eq!(offset(seconds), written);
        }
    }
}
