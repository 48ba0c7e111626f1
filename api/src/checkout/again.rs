//! Page after a failed attempt, while the payer has attempts left: the reason, *Try again* and
//! *Another method*. Both keep what the payer typed. The page never leaves automatically.

use askama::Template;
use axum::response::Response;
use switchyard_core::transaction::{
    AfterCallOff, Attempt, AttemptState, CancelRequest, DeclineReason,
};

use super::answers::FormState;
use super::form_fields::{given_by_merchant, needs};
use super::leave::way_back;
use super::menu::PHONE;
use super::page_context::{Frame, PageContext, Row};
use super::request::CheckoutRequest;
use super::result::{fact, paid_with, reason};
use crate::pages::messages;

#[derive(Template)]
#[template(path = "checkout/again.html")]
struct Page {
    frame: Frame,
    /// `failed`, or `ended` for an attempt that the payer ended for another way to pay.
    kind: &'static str,
    role: &'static str,
    title: String,
    text: String,
    detail: Option<String>,
    left: String,
    rows: Vec<Row>,
    /// The same method once more, with what was typed.
    same: String,
    other: String,
    /// Address and words of the way back to the merchant.
    back: Option<(String, String)>,
}

/// The last attempt, when it did not work and the payer may try again.
pub(super) fn failed(context: &PageContext) -> Option<&Attempt> {
    let ended = |state| matches!(state, AttemptState::Declined | AttemptState::NotSent);
    let last = context.tx.current_attempt();
    last.filter(|attempt| ended(attempt.state))
}

/// Response after a failed attempt: the form with the field that the provider refused, otherwise
/// the page with the two choices. `None`: the last attempt has not failed.
pub(super) async fn after(request: &CheckoutRequest) -> Option<Response> {
    let attempt = failed(&request.context)?;
    let answers = answers(&request.context, attempt);
    if asks_again(request).await {
        return Some(request.go_with(&corrected(request, answers), "details"));
    }
    let Some(sealed) = request.seal(&answers) else {
        return Some(request.unavailable());
    };
    Some(page(&request.context, attempt, &sealed))
}

/// The same answers, for a form that shows the refused field with its message.
pub(super) fn corrected(request: &CheckoutRequest, answers: FormState) -> FormState {
    FormState {
        attempts: request.context.tx.attempts.len(),
        sent: true,
        agreed: None,
        ..answers
    }
}

/// Whether the last attempt's refused field is on the form of its method.
pub(super) async fn asks_again(request: &CheckoutRequest) -> bool {
    let Some(attempt) = failed(&request.context) else {
        return false;
    };
    let Some(field) = attempt.refused_field() else {
        return false;
    };
    let country = attempt.country.as_deref().unwrap_or_default();
    let chosen = request.chosen(&attempt.method, country).await;
    chosen.is_some_and(|chosen| {
        let needs = needs(&request.context, &chosen.way, chosen.country);
        needs.iter().any(|need| need.name == field && !need.fixed)
    })
}

/// The payer's answers, as the attempt keeps them. A number that the merchant gave is left out: an
/// empty field means it, and the form would show it.
fn answers(context: &PageContext, attempt: &Attempt) -> FormState {
    let mut given = attempt.fields.clone();
    given.remove(PHONE);
    let typed = |phone: &&String| !given_by_merchant(&context.tx, phone);
    if let Some(phone) = attempt.phone.as_ref().filter(typed) {
        given.insert(PHONE.to_owned(), phone.clone());
    }
    FormState {
        payment: context.tx.id,
        method: attempt.method.clone(),
        country: attempt.country.clone().unwrap_or_default(),
        given,
        attempts: context.tx.attempts.len(),
        sent: false,
        agreed: None,
    }
}

pub(super) fn page(context: &PageContext, attempt: &Attempt, sealed: &str) -> Response {
    let (language, decline) = (context.visitor.language, attempt.decline.as_ref());
    let unsent = attempt.state == AttemptState::NotSent;
    let has_failed = unsent || !is_given_up(attempt);
    let why = decline.map(|decline| decline.reason);
    let message = decline.and_then(|decline| decline.provider_message.as_deref());
    let message = message.filter(|_| attempt.settled.is_none());
    let (title, text) = heading(context, attempt);
    let left = context.tx.attempts_left() as u64;
    // A number without an account is corrected first; all else can be confirmed again as it is.
    let step = match why {
        Some(DeclineReason::InvalidAccount) => "details",
        _ => "confirm",
    };
    let country = attempt.country.as_deref().unwrap_or_default();
    context.show(&Page {
        frame: context
            .frame_titled(&title)
            .with_cancel(Some(context.link("cancel", &[]))),
        kind: if has_failed { "failed" } else { "ended" },
        role: if has_failed { "alert" } else { "status" },
        title,
        text,
        // In sandbox the reader is a developer: the provider's own words say what to change.
        detail: message
            .filter(|_| context.is_sandbox() && has_failed)
            .map(|message| context.say_with("result-provider-says", &[("message", message)])),
        left: if unsent {
            context.say("choose-unsent-next")
        } else {
            messages::say_count(language, "choose-attempts-left", "left", left)
        },
        rows: paid_with(context),
        same: context.link(step, &[("a", sealed)]),
        other: context.link("", &[("country", country), ("other", "1"), ("a", sealed)]),
        back: way_back(&context.tx).map(|back| (back.url, context.say_merchant("leave-button"))),
    })
}

/// Sentence about the failed attempt, without an offer to try again: for an app that is closed.
/// `None`: no attempt failed.
pub(super) fn outcome(context: &PageContext) -> Option<String> {
    let attempt = failed(context)?;
    let why = attempt.decline.as_ref().map(|decline| decline.reason);
    let text = match why {
        _ if attempt.state == AttemptState::NotSent => context.say("choose-unsent-text"),
        _ if is_given_up(attempt) => context.say("choose-given-up"),
        _ if attempt.settled.is_some() => context.say("result-settled-text"),
        why => fact(
            context.visitor.language,
            why.unwrap_or(DeclineReason::ProviderUnavailable),
        ),
    };
    let stop = if text.ends_with('.') { "" } else { "." };
    Some(format!("{text}{stop} {}", context.about_money()))
}

/// Whether the attempt was called off for another way to pay: it has ended then, and not failed.
pub(super) fn is_given_up(attempt: &Attempt) -> bool {
    let is_for_another = |asked: CancelRequest| asked.then == AfterCallOff::ChooseAgain;
    attempt.call_off.is_some_and(is_for_another)
}

/// Title of the page, and a text on the end of the attempt and on what is certain about money.
fn heading(context: &PageContext, attempt: &Attempt) -> (String, String) {
    let (title, text) = if attempt.state == AttemptState::NotSent {
        let method = &context.method_name(&attempt.method);
        (
            context.say_with("choose-unsent", &[("method", method)]),
            context.say("choose-unsent-text"),
        )
    } else if is_given_up(attempt) {
        (
            context.say("choose-given-up"),
            context.say("choose-given-up-text"),
        )
    } else {
        let why = attempt.decline.as_ref().map(|decline| decline.reason);
        let text = match attempt.settled {
            // The message of the decline is the statement of a person.
            Some(_) => context.say("result-settled-text"),
            None => reason(context.visitor.language, why),
        };
        (context.say("result-failed-title"), text)
    };
    (title, format!("{text} {}", context.about_money()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::form_fields::check;
    use crate::checkout::tests::samples;
    use switchyard_core::directory::country;
    use switchyard_core::language::Language;

    #[test]
    fn an_attempt_that_was_given_up_has_ended_and_did_not_fail() {
        let title = |tx| {
            let context = samples::context(tx, Language::En);
            heading(&context, failed(&context).unwrap())
        };
        let mut tx = samples::declined_once();
        assert_eq!(title(tx.clone()).0, "The payment did not work");
        tx.attempts[0].call_off = samples::given_up().attempts[0].call_off;
        let (title, text) = title(tx);
        assert_eq!(title, "The earlier attempt has ended");
        assert!(text.contains("choose another method"), "{text}");
    }

    #[test]
    fn answers_after_an_attempt_hold_no_number_of_the_merchant_and_pay_with_it() {
        let merchants = "+2290197000000";
        for (number, sealed) in [
            (merchants, None),
            ("+2290196111111", Some("+2290196111111")),
        ] {
            let mut tx = samples::declined_once();
            tx.customer.phone = Some(merchants.to_owned());
            tx.attempts[0].phone = Some(number.to_owned());
            tx.attempts[0].fields = [(PHONE.to_owned(), number.to_owned())].into();
            let context = samples::context(tx, Language::En);
            let answers = answers(&context, failed(&context).unwrap());
            assert_eq!(answers.given.get(PHONE).map(String::as_str), sealed);
            let way = samples::way("mtn_bj", false);
            let benin = country("BJ").unwrap();
            let needs = needs(&context, &way, benin);
            let checked = check(&context, &way, benin, &needs, &answers.given);
            assert_eq!(checked.values.get(PHONE).map(String::as_str), Some(number));
        }
    }
}
