//! Result page: outcome, reason of a failure, and the link back to the merchant.

use std::collections::BTreeSet;
use std::time::Duration;

use askama::Template;
use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{
    Case, CaseReason, DeclineReason, State, TakenBack, Transaction,
};

use super::again;
use super::leave::way_back;
use super::page_context::{Frame, PageContext, Row};
use super::request::CheckoutRequest;
use super::step::{Step, current_step, is_expired};
use crate::pages::messages;
use switchyard_core::directory::phone::masked;
use switchyard_core::language::Language;

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
    exit: Option<ReturnLink>,
}

struct ReturnLink {
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
pub async fn get(mut request: CheckoutRequest) -> Response {
    if request.context.tx.state == State::AwaitingCustomer && is_expired(&request.context) {
        request.wait_for_expiry(EXPIRY_WAIT).await;
    }
    match current_step(&request.context) {
        Step::Ended => page(&request.context),
        elsewhere => request.context.go(elsewhere.path(), &[]),
    }
}

pub(super) fn page(context: &PageContext) -> Response {
    let language = context.visitor.language;
    let mut detail = None;
    let (kind, text) = match &context.tx.state {
        State::Succeeded if is_taken_back(&context.tx) => ("review", open_cases(context)),
        State::Succeeded => ("success", succeeded(context)),
        // A person closed every case. The received money is returned outside, unless the provider
        // took its report back.
        _ if is_closed(&context.tx) => {
            let is_returned = context.tx.taken_back() == TakenBack::Nothing;
            let text = match is_returned && context.tx.received().is_some() {
                true => "result-returned-text",
                false => "result-taken-back-text",
            };
            ("returned", context.say_merchant(text))
        }
        // Money came, or may have come: the provider's reason of the failure is no longer true.
        State::Failed(_) if !context.tx.surely_moved_no_money() => {
            ("review", context.say("result-expired-held"))
        }
        State::Failed(_) if context.tx.current_attempt().is_some_and(again::is_given_up) => {
            let [ended, advice] = ["result-ended-text", "result-expired-text"];
            (
                "ended",
                format!("{} {}", context.say(ended), context.say_merchant(advice)),
            )
        }
        State::Failed(_) if is_settled(&context.tx) => {
            let advice = context.say_merchant("result-expired-text");
            let text = context.say("result-settled-text");
            ("failed", format!("{text} {advice}"))
        }
        State::Failed(failure) => {
            // In sandbox the reader is a developer: the provider's own words say what to change.
            detail = context.is_sandbox().then(|| {
                context.say_with("result-provider-says", &[("message", &failure.message)])
            });
            let advice = context.say_merchant("result-expired-text");
            (
                "failed",
                format!("{} {advice}", fact(language, failure.reason)),
            )
        }
        _ if is_expired(context) => ("expired", expired(context)),
        _ => ("cancelled", cancelled(context)),
    };
    let text = match &context.tx.state {
        State::Succeeded => text.trim_end().to_owned(),
        _ if kind == "returned" => text,
        _ => format!("{text} {}", context.about_money()),
    };
    let title = context.say(&format!("result-{kind}-title"));
    let leaves = kind == "success" && context.tx.attention().is_none();
    context.show(&Page {
        frame: context.frame_titled(&title),
        kind,
        role: if kind == "failed" { "alert" } else { "status" },
        title,
        text,
        detail,
        rows: rows(context),
        exit: way_back(&context.tx).map(|back| ReturnLink {
            label: context.say_merchant("leave-button"),
            explain: context.say_with("leave-stays", &[("host", &back.host)]),
            leaves: leaves.then(|| Leaves {
                after: LEAVES_AFTER_S,
                // Script puts the seconds in.
                text: context.say_with("leave-explain", &[("host", &back.host), ("seconds", "%s")]),
            }),
            url: back.url,
        }),
    })
}

/// Sentences for the payer about a payment that succeeded and its open cases.
fn succeeded(context: &PageContext) -> String {
    let text = context.say_merchant(match context.tx.environment {
        Environment::Live => "result-success-text",
        Environment::Sandbox => "result-success-test",
    });
    format!("{text} {}", open_cases(context))
}

/// Sentences for the payer about the open cases of a payment that succeeded. Empty: no case is
/// open.
pub(super) fn open_cases(context: &PageContext) -> String {
    let tx = &context.tx;
    let open = tx.cases.iter().filter(|case| case.closed.is_none());
    // A later report may say the contrary: money that was taken back is not received.
    let facts: BTreeSet<_> = open
        .filter(|case| !tx.is_superseded(case))
        .map(|case| {
            let is_only = tx.is_of_success(case) || !tx.has_money_beside(case);
            match case.reason {
                CaseReason::SuccessContradicted
                    if tx.is_of_success(case) && tx.taken_back() == TakenBack::Part =>
                {
                    ("case-partly-taken-back", "case-contradicted-ask")
                }
                CaseReason::ContradictingSuccess if !tx.has_several_charges() => {
                    ("case-contradicted-amount", "case-contradicted-ask")
                }
                reason => case_message(reason, tx.is_of_success(case), is_only),
            }
        })
        .collect();
    let ask = match (facts.first(), facts.len()) {
        (None, _) => return String::new(),
        (Some((_, ask)), 1) => *ask,
        _ => "case-contradicted-ask",
    };
    let facts = facts.into_iter().map(|(fact, _)| context.say(fact));
    let mut sentences: Vec<_> = facts.collect();
    sentences.push(context.say("case-not-again"));
    sentences.push(context.say_merchant(ask));
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
    open.any(|case| is_reversal(case) && tx.is_of_success(case) && !tx.is_superseded(case))
}

/// Whether a payment without success was reviewed: money was reported, or may have moved, and each
/// case is closed.
fn is_closed(tx: &Transaction) -> bool {
    let is_over = !tx.attempts.iter().any(|attempt| attempt.state.is_open());
    let may_have_moved = is_over && !tx.cases.is_empty() && !tx.surely_moved_no_money();
    tx.attention().is_none() && (tx.received().is_some() || may_have_moved)
}

/// Whether a person called the attempt failed that decided the payment.
fn is_settled(tx: &Transaction) -> bool {
    let attempt = tx.deciding_attempt();
    attempt.is_some_and(|attempt| attempt.settled.is_some())
}

/// A new link is proposed only where nothing has been paid.
fn expired(context: &PageContext) -> String {
    if context.tx.surely_moved_no_money() {
        context.say_merchant("result-expired-text")
    } else {
        context.say("result-expired-held")
    }
}

fn cancelled(context: &PageContext) -> String {
    let text = context.say("result-cancelled-text");
    match context.tx.surely_moved_no_money() {
        true => format!("{text} {}", context.say_merchant("result-expired-text")),
        false => text,
    }
}

/// Reason of a decline in words, with what the payer can do next.
pub(super) fn reason(language: Language, reason: Option<DeclineReason>) -> String {
    let reason = reason.unwrap_or(DeclineReason::ProviderUnavailable);
    let advice = messages::say(language, &format!("reason-{}-advice", reason.as_str()));
    format!("{} {advice}", fact(language, reason))
}

/// Reason of a decline in words.
pub(super) fn fact(language: Language, reason: DeclineReason) -> String {
    messages::say(language, &format!("reason-{}", reason.as_str()))
}

fn rows(context: &PageContext) -> Vec<Row> {
    let mut rows = context.money_rows();
    rows.push(context.row("row-merchant", &context.app.name));
    rows.extend(paid_with(context));
    rows.push(
        context
            .row("row-reference", context.tx.id.to_string())
            .fine(),
    );
    rows
}

/// The method and the number of the attempt that counts.
pub(super) fn paid_with(context: &PageContext) -> Vec<Row> {
    let Some(attempt) = context.tx.deciding_attempt() else {
        return Vec::new();
    };
    let mut rows = vec![context.row("row-method", context.method_name(&attempt.method))];
    if let Some(phone) = &attempt.phone {
        rows.push(context.row("row-number", masked(phone)));
    }
    rows
}
