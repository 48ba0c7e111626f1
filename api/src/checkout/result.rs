//! Result page: outcome, reason of a failure, and the link back to the merchant.

use std::collections::BTreeSet;
use std::time::Duration;

use askama::Template;
use axum::response::Response;
use switchyard_engine::transaction::{
    AttemptState, Case, CaseReason, DeclineReason, State, TakenBack, Transaction,
};

use super::again;
use super::language::Language;
use super::leave::way_back;
use super::scene::{Frame, Row, Scene};
use super::stand::{Stand, is_expired, stand};
use super::visit::Visit;
use super::wait::masked;

#[derive(Template)]
#[template(path = "checkout/result.html")]
struct Page {
    frame: Frame,
    kind: &'static str,
    role: &'static str,
    title: String,
    text: String,
    detail: Option<String>,
    rows: Vec<Row>,
    exit: Option<Exit>,
}

struct Exit {
    url: String,
    label: String,
    explain: String,
    /// Automatic return to the merchant, by script, unless the payer stays: only after a success
    /// without an open case.
    leaves: Option<Leaves>,
}

/// The return and its announcement; `after` in seconds.
struct Leaves {
    after: u64,
    text: String,
}

/// Seconds before script leaves the page, which a button stops (WCAG 2.2.1: at least 20 s).
const LEAVES_AFTER_S: u64 = 20;

/// The engine looks at what has expired about once a second.
const EXPIRY_WAIT: Duration = Duration::from_millis(1_500);

/// `GET /checkout/{id}/result`
pub async fn get(mut visit: Visit) -> Response {
    if visit.scene.tx.state == State::AwaitingCustomer && is_expired(&visit.scene) {
        visit.wait_for_expiry(EXPIRY_WAIT).await;
    }
    match stand(&visit.scene) {
        Stand::Ended => page(&visit.scene),
        elsewhere => visit.scene.go(elsewhere.step(), &[]),
    }
}

pub(super) fn page(scene: &Scene) -> Response {
    let language = scene.visitor.language;
    let mut detail = None;
    let (kind, text) = match &scene.tx.state {
        State::Succeeded if is_taken_back(&scene.tx) => ("review", open_cases(scene)),
        State::Succeeded => {
            let text = scene.say_merchant("result-success-text");
            ("success", format!("{text} {}", open_cases(scene)))
        }
        // A person closed every case. The received money is returned outside, unless the provider
        // took its report back.
        _ if scene.tx.attention().is_none() && scene.tx.received().is_some() => {
            let text = match scene.tx.taken_back() {
                TakenBack::Nothing => "result-returned-text",
                TakenBack::Part | TakenBack::All => "result-taken-back-text",
            };
            ("returned", scene.say_merchant(text))
        }
        // Money came, or may have come: the provider's reason of the failure is no longer true.
        State::Failed(_) if !scene.tx.surely_moved_no_money() => {
            ("review", scene.say("result-expired-held"))
        }
        State::Failed(_) if scene.tx.current_attempt().is_some_and(again::is_given_up) => {
            let [ended, advice] = ["result-ended-text", "result-expired-text"];
            (
                "ended",
                format!("{} {}", scene.say(ended), scene.say_merchant(advice)),
            )
        }
        State::Failed(failure) => {
            // In sandbox the reader is a developer: the provider's own words say what to change.
            detail = scene
                .is_sandbox()
                .then(|| scene.say_with("result-provider-says", &[("message", &failure.message)]));
            let advice = scene.say_merchant("result-expired-text");
            (
                "failed",
                format!("{} {advice}", fact(language, failure.reason)),
            )
        }
        _ if is_expired(scene) => ("expired", expired(scene)),
        _ => ("cancelled", scene.say("result-cancelled-text")),
    };
    let text = match &scene.tx.state {
        State::Succeeded => text.trim_end().to_owned(),
        _ if kind == "returned" => text,
        _ => format!("{text} {}", scene.about_money()),
    };
    let title = scene.say(&format!("result-{kind}-title"));
    let leaves = kind == "success" && scene.tx.attention().is_none();
    scene.show(&Page {
        frame: scene.frame_titled(&title),
        kind,
        role: if kind == "failed" { "alert" } else { "status" },
        title,
        text,
        detail,
        rows: rows(scene),
        exit: way_back(&scene.tx).map(|back| Exit {
            label: scene.say_merchant("leave-button"),
            explain: scene.say_with("leave-stays", &[("host", &back.host)]),
            leaves: leaves.then(|| Leaves {
                after: LEAVES_AFTER_S,
                // Script puts the seconds in.
                text: scene.say_with("leave-explain", &[("host", &back.host), ("seconds", "%s")]),
            }),
            url: back.url,
        }),
    })
}

/// Sentences for the payer about the open cases of a payment that succeeded. Empty: no case is open.
pub(super) fn open_cases(scene: &Scene) -> String {
    let tx = &scene.tx;
    let open = tx.cases.iter().filter(|case| case.closed.is_none());
    // A later report may say the contrary: money that was taken back is not received.
    let facts: BTreeSet<_> = open
        .filter(|case| !tx.is_superseded(case))
        .map(|case| {
            let is_only = is_of_success(tx, case) || !tx.has_money_beside(case);
            case_message(case.reason, is_of_success(tx, case), is_only)
        })
        .collect();
    let ask = match (facts.first(), facts.len()) {
        (None, _) => return String::new(),
        (Some((_, ask)), 1) => *ask,
        _ => "case-contradicted-ask",
    };
    let facts = facts.into_iter().map(|(fact, _)| scene.say(fact));
    let mut sentences: Vec<_> = facts.collect();
    sentences.push(scene.say("case-not-again"));
    sentences.push(scene.say_merchant(ask));
    sentences.join(" ")
}

/// Names of the sentences about a case: the fact, and the request to the payer. `of_success`: the
/// case is about the charge that paid. `is_only`: the sum that it names may be the only payment.
const fn case_message(
    reason: CaseReason,
    of_success: bool,
    is_only: bool,
) -> (&'static str, &'static str) {
    let review = ("case-review", "case-review-ask");
    match reason {
        CaseReason::MoneyAfterTheEnd | CaseReason::AmountDiffers if is_only => review,
        CaseReason::PaidTwice | CaseReason::MoneyAfterTheEnd | CaseReason::AmountDiffers => {
            ("case-paid-twice", "case-paid-twice-ask")
        }
        CaseReason::Surplus => ("case-surplus", "case-surplus-ask"),
        CaseReason::SuccessContradicted if !of_success => {
            ("case-extra-taken-back", "case-contradicted-ask")
        }
        CaseReason::SuccessContradicted => ("case-taken-back", "case-contradicted-ask"),
        CaseReason::ContradictingSuccess => ("case-contradicted", "case-contradicted-ask"),
        CaseReason::LateSuccess
        | CaseReason::FoundAfterNotSent
        | CaseReason::AmbiguousProviderId
        | CaseReason::NoFinalAnswer
        | CaseReason::UnknownAfterRestore => review,
    }
}

/// Whether the provider took the success back, and the case about that is open.
pub(super) fn is_taken_back(tx: &Transaction) -> bool {
    let mut open = tx.cases.iter().filter(|case| case.closed.is_none());
    let is_reversal = |case: &Case| case.reason == CaseReason::SuccessContradicted;
    open.any(|case| is_reversal(case) && is_of_success(tx, case) && !tx.is_superseded(case))
}

/// Whether the case is about the attempt that succeeded, and not about another charge of it.
fn is_of_success(tx: &Transaction, case: &Case) -> bool {
    let mut attempts = tx.attempts.iter();
    let succeeded = attempts.rfind(|attempt| attempt.state == AttemptState::Succeeded);
    succeeded.is_some_and(|attempt| {
        let other = attempt.charges.iter().filter(|charge| !charge.is_recorded);
        let mut ids = other.filter_map(|charge| charge.id.as_ref());
        let is_other = ids.any(|id| Some(id) == case.provider_id.as_ref());
        attempt.reference == case.reference && !is_other
    })
}

/// A new link is proposed only where nothing has been paid.
fn expired(scene: &Scene) -> String {
    if scene.tx.surely_moved_no_money() {
        scene.say_merchant("result-expired-text")
    } else {
        scene.say("result-expired-held")
    }
}

/// Reason of a decline in words, with what the payer can do next.
pub(super) fn reason(language: Language, reason: Option<DeclineReason>) -> String {
    let reason = reason.unwrap_or(DeclineReason::ProviderUnavailable);
    let advice = language.say(&format!("reason-{}-advice", reason.as_str()));
    format!("{} {advice}", fact(language, reason))
}

fn fact(language: Language, reason: DeclineReason) -> String {
    language.say(&format!("reason-{}", reason.as_str()))
}

fn rows(scene: &Scene) -> Vec<Row> {
    let mut rows = scene.money_rows();
    rows.push(scene.row("row-merchant", &scene.app.name));
    rows.extend(paid_with(scene));
    rows.push(scene.row("row-reference", scene.tx.id.to_string()).fine());
    rows
}

/// The method and the number of the attempt that counts.
pub(super) fn paid_with(scene: &Scene) -> Vec<Row> {
    let Some(attempt) = scene.tx.telling_attempt() else {
        return Vec::new();
    };
    let mut rows = vec![scene.row("row-method", scene.method_name(&attempt.method))];
    if let Some(phone) = &attempt.phone {
        rows.push(scene.row("row-number", masked(phone)));
    }
    rows
}
