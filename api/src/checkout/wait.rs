//! Waiting page: the payer's next step until the payment ends. It updates automatically: with
//! script by events, without by a reload every 20 seconds, until the payer stops that.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use switchyard_core::transaction::{CaseReason, PayerAction, State, TakenBack};

use super::action::{self, ActionView};
use super::code::{self, CodeForm};
use super::leave::way_back;
use super::page_context::{Frame, PageContext, Row};
use super::request::CheckoutRequest;
use super::result::paid_with;
use super::step::{Step, current_step, mark};
use super::wait_progress::{self, WaitProgress};

#[derive(Template)]
#[template(path = "checkout/wait.html")]
struct Page {
    frame: Frame,
    token: String,
    events: String,
    status: String,
    refresh: String,
    /// Whether the page reloads without script, `every` so many seconds: not above a form, and not
    /// after the payer stopped it.
    updates: bool,
    every: u64,
    still: String,
    title: String,
    text: String,
    action: Option<ActionView>,
    code: Option<CodeForm>,
    wait_progress: Option<WaitProgress>,
    /// Words of an attempt that can neither be cancelled nor ends by its own.
    stuck: String,
    /// Seconds until script loads the page again for its next words.
    changes_in: Option<u64>,
    rows: Vec<Row>,
    exit: Option<ReturnLink>,
}

struct ReturnLink {
    url: String,
    label: String,
    explain: String,
}

/// Time that a page waits for the query of the provider. The query continues without the page.
const MAX_QUERY_WAIT: Duration = Duration::from_millis(800);

/// Seconds between reloads without script (WCAG 2.2.1: at least 20 s).
const UPDATES_EVERY_S: u64 = 20;

/// `GET /checkout/{id}/wait`
pub async fn get(mut request: CheckoutRequest) -> Response {
    if current_step(&request.context) == Step::Waiting {
        // Whoever looks wants to know: the provider is asked, as often as the engine allows.
        request.ask_provider(MAX_QUERY_WAIT).await;
        request.read_timeline().await;
    }
    match current_step(&request.context) {
        Step::Waiting => {
            let wake = wait_progress::wake(&request);
            page(&request.context, request.query("notice"), wake)
        }
        elsewhere => request.context.go(elsewhere.path(), &[]),
    }
}

/// `wake`: the manifest's text on how to call the prompt up again.
pub(super) fn page(context: &PageContext, notice: Option<&str>, wake: Option<String>) -> Response {
    let called_off = wait_progress::called_off(&context.tx).is_some();
    let action = shown_action(context);
    // The action names the amount of a transfer, which may contain a fee.
    let mut rows = match action {
        Some(PayerAction::Transfer { .. }) if !context.asks_for_rest() => {
            context.conversion_rows(&context.charge())
        }
        _ => context.money_rows(),
    };
    rows.extend(paid_with(context));
    let reference = match action {
        Some(PayerAction::Transfer { .. }) => "row-payment",
        _ => "row-reference",
    };
    rows.push(context.row(reference, context.tx.id.to_string()).fine());
    let takes_codes = !called_off && !context.is_in_question();
    let code = code::form(context, notice).filter(|_| takes_codes);
    let still = context
        .visitor
        .query
        .iter()
        .any(|(name, _)| name == "still");
    let is_used_up = takes_codes && code::are_used_up(context);
    let (title, text) = match is_used_up {
        true => (context.say("wait-doubt-title"), context.say("code-used-up")),
        false => headline(context, action),
    };
    let notice = (notice == Some("under-way")).then(|| context.say("notice-under-way"));
    let explain = match code {
        Some(_) => "code-leave",
        None => what_goes_on(context, action, called_off),
    };
    let can_call_off = may_cancel(context) && !context.is_in_question() && !called_off;
    let updates = code.is_none() && !still;
    let wait_progress = wait_progress::view(context, wake);
    let words_change = wait_progress
        .as_ref()
        .and_then(|wait_progress| wait_progress.changes_in);
    let minutes_change = wait_progress::minutes_change_in(context);
    let changes = [words_change, late_in(context), minutes_change];
    let changes_in = changes.into_iter().flatten().min();
    context.show(&Page {
        frame: context
            .frame_titled(&title)
            .with_notice(notice)
            .with_cancel(can_call_off.then(|| context.link("cancel", &[]))),
        changes_in: changes_in.filter(|_| updates),
        wait_progress,
        stuck: wait_progress::stuck(context),
        token: mark(&context.tx),
        events: context.link("events", &[]),
        status: context.link("status", &[]),
        refresh: context.link("wait", &[]),
        updates,
        every: UPDATES_EVERY_S,
        still: context.link("wait", &[("still", "1")]),
        title,
        text,
        action: action.map(|action| action::view(context, action)),
        code,
        rows,
        exit: way_back(&context.tx).map(|back| ReturnLink {
            url: back.url,
            label: context.say_merchant("wait-leave"),
            explain: context.say(explain),
        }),
    })
}

/// The payer's action as long as the page shows it.
pub(super) fn shown_action(context: &PageContext) -> Option<&PayerAction> {
    let is_open = context.tx.state == State::AwaitingProvider && !context.is_in_question();
    let attempt = context.tx.current_attempt().filter(|_| is_open)?;
    let is_away =
        attempt.code_away_since.is_some() || wait_progress::called_off(&context.tx).is_some();
    attempt.payer_action.as_ref().filter(|_| !is_away)
}

/// Whether the page offers to cancel the open attempt.
pub(super) fn may_cancel(context: &PageContext) -> bool {
    context.tx.can_call_off() && !context.has_seen_coins()
}

/// The sentence on what goes on when the payer leaves the page.
fn what_goes_on(
    context: &PageContext,
    action: Option<&PayerAction>,
    called_off: bool,
) -> &'static str {
    match action {
        _ if context.is_in_question() => "wait-leave-back",
        _ if called_off => "wait-leave-ending",
        // Nothing is left to do here.
        None if wait_progress::is_answer_lost(context) => "wait-leave-back",
        None | Some(PayerAction::ConfirmOnPhone { .. } | PayerAction::Wait) => "wait-leave-text",
        Some(_) => "wait-leave-back",
    }
}

/// Whether the payer may still pay. Not so once all of it was seen, money holds the payment, the
/// outcome is uncertain, the attempt was called off, the time to send is over or the payment has
/// ended.
pub(super) fn asks_for_payment(context: &PageContext) -> bool {
    let attempt = context.tx.current_attempt();
    let action = attempt.and_then(|attempt| attempt.payer_action.as_ref());
    let is_uncertain = context.tx.state == State::InDoubt || wait_progress::is_answer_lost(context);
    !context.tx.state.is_final()
        && !is_uncertain
        && !context.is_in_question()
        && wait_progress::called_off(&context.tx).is_none()
        && action != Some(&PayerAction::Wait)
        && !action.is_some_and(|action| action::is_late(context, action))
}

/// Seconds until the time to send is over, rounded up so that the page then shows that.
fn late_in(context: &PageContext) -> Option<u64> {
    let action = context.tx.current_attempt()?.payer_action.as_ref()?;
    let until = action::sends_until(action).filter(|until| *until > context.now)?;
    Some(until.since(context.now).as_secs() + 1)
}

/// Title and text by the state of the payment.
fn headline(context: &PageContext, action: Option<&PayerAction>) -> (String, String) {
    let attempt = context.tx.current_attempt();
    let code_is_away = attempt.is_some_and(|attempt| attempt.code_away_since.is_some());
    let called_off = wait_progress::called_off(&context.tx).filter(|_| !context.is_in_question());
    if let Some(then) = called_off {
        return wait_progress::ending(context, then);
    }
    match (&context.tx.state, action) {
        // Money was reported or may be moving: nothing more is to be paid, whatever the open
        // attempt asks for.
        _ if context.is_in_question() => {
            let is_there = context.tx.taken_back() != TakenBack::All;
            let received = context.tx.received();
            let is_seen = action_of(context) == Some(&PayerAction::Wait);
            match received.filter(|_| is_there) {
                Some(_) => (context.say("wait-held-title"), context.about_money()),
                None if is_seen && context.tx.taken_back() == TakenBack::Nothing => (
                    context.say("wait-seen-title"),
                    context.say_merchant("wait-seen-long"),
                ),
                None => (context.say("wait-doubt-title"), long_doubt(context)),
            }
        }
        (State::AwaitingProvider, _) if code_is_away => (
            context.say("wait-code-away-title"),
            context.say("wait-code-away-text"),
        ),
        (State::AwaitingGateway, _) => (
            context.say("wait-starting-title"),
            context.say("wait-starting-text"),
        ),
        (State::InDoubt, _) => (
            context.say("wait-doubt-title"),
            context.say("wait-doubt-text"),
        ),
        (_, Some(PayerAction::Wait)) => action::words(context, &PayerAction::Wait),
        (_, Some(action)) => after_part(context, action::words(context, action)),
        (_, None) if wait_progress::is_answer_lost(context) => {
            after_part(context, wait_progress::lost(context))
        }
        (_, None) => after_part(
            context,
            (context.say("wait-title"), context.say("wait-text")),
        ),
    }
}

/// The payer's action of the attempt that counts.
fn action_of(context: &PageContext) -> Option<&PayerAction> {
    context.tx.current_attempt()?.payer_action.as_ref()
}

/// Sentences about the money, and the contact once the provider has reported nothing for days.
fn long_doubt(context: &PageContext) -> String {
    let about = context.about_money();
    let mut open = context.tx.cases.iter().filter(|case| case.closed.is_none());
    let has_no_answer = open.any(|case| case.reason == CaseReason::NoFinalAnswer);
    let has_report = context.tx.received().is_some() || context.tx.has_unreadable_money();
    match has_no_answer && !has_report {
        true => format!("{about} {}", context.say_merchant("wait-no-answer")),
        false => about,
    }
}

/// The text after the sentences about the part that came or was seen, if one was.
fn after_part(context: &PageContext, (title, text): (String, String)) -> (String, String) {
    let parts = [context.part_so_far(), context.seen_so_far()];
    let sentences: Vec<_> = parts.into_iter().flatten().chain([text]).collect();
    (title, sentences.join(" "))
}

/// The first letter of an e-mail address and its domain.
pub(super) fn masked_email(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((name, domain)) => {
            let first: String = name.chars().take(1).collect();
            format!("{first}•••@{domain}")
        }
        None => "•••".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::masked_email;

    #[test]
    fn an_email_address_is_shown_by_its_first_letter_and_its_domain() {
        assert_eq!(masked_email("awa.diop@example.com"), "a•••@example.com");
        assert_eq!(masked_email("é@b@example.com"), "é•••@example.com");
        assert_eq!(masked_email("nobody"), "•••");
    }
}
