//! The words of the waiting page by the time that has passed: how long it usually takes, how to
//! call the prompt up again, and the way out after twice that time.

use axum::response::Response;
use switchyard_core::directory::Category;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    AfterCallOff, Attempt, AttemptState, PayerAction, Refusal, State, Transaction,
};
use switchyard_engine::engine::EngineError;
use switchyard_gateway_host::Direction;

use super::action;
use super::code;
use super::form::Form;
use super::page_context::PageContext;
use super::request::CheckoutRequest;
use super::step::{Step, current_step};
use super::wait::may_cancel;

/// Text about the time, below the payer's action.
pub struct WaitProgress {
    pub text: Option<String>,
    /// How to call the prompt up again.
    pub wake: Option<String>,
    pub wake_title: String,
    /// Buttons that give the attempt up: their value and label.
    pub ways_out: Vec<(&'static str, String)>,
    /// Address that the buttons post to, with the fields of their forms.
    pub action: String,
    pub hidden: Vec<(&'static str, String)>,
    pub explain: Option<String>,
    /// The attempt can neither be cancelled nor ends by its own: whom to ask.
    pub is_stuck: bool,
    /// Seconds until the words change.
    pub changes_in: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Usual,
    /// The usual time has passed.
    Late,
    /// Twice the usual time has passed.
    Overdue,
}

/// A page that updates itself does so no sooner than this (WCAG 2.2.1).
const MIN_CHANGE_S: u64 = 20;

/// The attempt that the payer waits for. `None`: nothing is to be said about its time.
fn waited_for(context: &PageContext) -> Option<&Attempt> {
    let at_provider = matches!(context.tx.state, State::AwaitingProvider | State::InDoubt);
    let attempt = context.tx.current_attempt()?;
    (at_provider && !context.is_in_question()).then_some(attempt)
}

/// Next step after the open attempt, once it has ended without money. `None`: no cancellation was
/// requested.
pub fn called_off(tx: &Transaction) -> Option<AfterCallOff> {
    let attempt = tx.current_attempt().filter(|_| tx.has_open_attempt())?;
    attempt.call_off.map(|asked| asked.then)
}

/// The manifest's text on how to call the prompt up again.
pub fn wake(request: &CheckoutRequest) -> Option<String> {
    let attempt = waited_for(&request.context)?;
    let candidate = &attempt.candidate;
    let gateways = request.engine().gateways();
    let version = gateways.version(&candidate.gateway, &candidate.gateway_hash)?;
    let wake = &version.method(Direction::Collect, &attempt.method)?.wake;
    let language = request.context.visitor.language.code();
    wake.get(language).or_else(|| wake.get("en")).cloned()
}

/// Words and ways out of an open attempt. `wake`: its manifest's own text.
pub fn view(context: &PageContext, wake: Option<String>) -> Option<WaitProgress> {
    let attempt = waited_for(context).filter(|_| called_off(&context.tx).is_none())?;
    let begun = attempt.resumed_at.unwrap_or(attempt.started_at);
    let doubled = attempt.may_be_given_up_at().since(begun);
    let usual = doubled / 2;
    let elapsed = context.now.since(begun);
    let phase = match elapsed {
        _ if elapsed >= doubled => Phase::Overdue,
        _ if elapsed >= usual => Phase::Late,
        _ => Phase::Usual,
    };
    let next = match phase {
        Phase::Usual => Some(usual),
        Phase::Late => Some(doubled),
        Phase::Overdue => None,
    };
    let overdue = phase == Phase::Overdue;
    let can_end = may_cancel(context);
    let is_over = is_last(context, context.now);
    let is_lost = is_answer_lost(context);
    let asks_why = phase != Phase::Usual || is_unusable(attempt) || is_lost;
    // A payer who has paid all of it needs no prompt and no other way to pay.
    let is_seen = attempt.payer_action == Some(PayerAction::Wait);
    let is_prompt_over = is_seen || code::are_used_up(context);
    let wakes = (phase != Phase::Usual || is_lost) && !is_prompt_over;
    Some(WaitProgress {
        text: text(context, attempt, phase, usual.as_secs()),
        wake: wake
            .or_else(|| usual_wake(context, attempt))
            .filter(|_| wakes && attempt.state != AttemptState::InDoubt),
        wake_title: context.say(match attempt.payer_action {
            Some(PayerAction::Redirect { .. }) => "wake-page-title",
            // A prompt comes, or a code.
            Some(
                PayerAction::ConfirmOnPhone { auto: true, .. } | PayerAction::EnterCode { .. },
            ) => "wake-title",
            _ => "wake-plain-title",
        }),
        ways_out: if overdue && can_end && !is_over && context.app.is_enabled {
            ways_out(context, attempt)
        } else {
            Vec::new()
        },
        action: context.link("give-up", &[]),
        hidden: context.hidden(&[("attempt", &attempt.id.to_string())]),
        explain: match (overdue, can_end) {
            (true, true) => Some(explain(context, attempt)),
            (false, true) => way_out_later(context, attempt),
            (_, false) => None,
        },
        is_stuck: asks_why && !can_end && !is_seen,
        // Rounded up, so that the page then shows the next phase.
        changes_in: next.map(|next| ((next - elapsed).as_secs() + 1).max(MIN_CHANGE_S)),
    })
}

/// Whether the page has no instructions because the provider's answer was lost.
pub fn is_answer_lost(context: &PageContext) -> bool {
    let attempt = waited_for(context).filter(|attempt| attempt.state == AttemptState::Pending);
    let is_without =
        |attempt: &Attempt| attempt.payer_action.is_none() && attempt.code_away_since.is_none();
    context.is_answer_lost && attempt.is_some_and(is_without)
}

/// Whether it is not known what the provider did with the request, or asks of the payer.
fn is_uncertain(context: &PageContext, attempt: &Attempt) -> bool {
    attempt.state == AttemptState::InDoubt || is_answer_lost(context)
}

/// Title and text of a page without the instructions of a lost answer.
pub fn lost(context: &PageContext) -> (String, String) {
    let code = context.tx.method().unwrap_or_default();
    let method = context.directory.payment_method(code);
    let is_mobile = method.is_some_and(|method| method.category == Category::MobileMoney);
    let text = match is_mobile {
        true => context.say_with("wait-lost-phone", &[("method", &context.method_name(code))]),
        false => context.say("wait-lost-text"),
    };
    (context.say("wait-lost-title"), text)
}

/// The payer sends the money on their own: nothing prompts them.
fn payer_sends(attempt: &Attempt) -> bool {
    matches!(
        attempt.payer_action,
        Some(
            PayerAction::Dial { .. }
                | PayerAction::Transfer { .. }
                | PayerAction::ShowQr { .. }
                | PayerAction::SendCrypto { .. }
        )
    )
}

/// The provider's page cannot be opened: there is nothing to wait for.
fn is_unusable(attempt: &Attempt) -> bool {
    matches!(attempt.payer_action, Some(PayerAction::UnusablePage { .. }))
}

fn is_prompted(attempt: &Attempt) -> bool {
    matches!(
        attempt.payer_action,
        Some(PayerAction::ConfirmOnPhone { .. } | PayerAction::EnterCode { .. })
    )
}

fn text(context: &PageContext, attempt: &Attempt, phase: Phase, usual_s: u64) -> Option<String> {
    let minutes = usual_s.div_ceil(60);
    match phase {
        Phase::Usual if is_uncertain(context, attempt) => Some(longest(context, attempt)),
        _ if is_uncertain(context, attempt) => {
            let longer = context.say("time-longer-doubt");
            Some(match states_way_out(context, attempt) {
                true => longer,
                false => format!("{longer} {}", longest(context, attempt)),
            })
        }
        // Nothing is awaited of the payer.
        Phase::Usual if !is_awaited(context, attempt) => None,
        // Without a stated time only a prompt has a usual one.
        Phase::Usual if attempt.candidate.usual_s.is_none() && !is_prompted(attempt) => None,
        Phase::Usual if minutes <= 1 => Some(context.say("time-usual-minute")),
        Phase::Usual => {
            let minutes = minutes.to_string();
            Some(context.say_with("time-usual", &[("minutes", &minutes)]))
        }
        _ if payer_sends(attempt) && asks_for_rest(context, attempt) => {
            Some(context.say("time-rest-not-seen"))
        }
        _ if payer_sends(attempt) => Some(context.say("time-not-seen")),
        _ if matches!(attempt.payer_action, Some(PayerAction::Redirect { .. })) => {
            Some(context.say("time-page-not-seen"))
        }
        _ => Some(context.say("time-longer")),
    }
}

fn asks_for_rest(context: &PageContext, attempt: &Attempt) -> bool {
    attempt.part_received().is_some() || context.has_seen_coins()
}

/// How long the provider is asked at most: until the attempt's own end, otherwise for three days.
fn longest(context: &PageContext, attempt: &Attempt) -> String {
    match attempt.ends_at() {
        Some(end) if end <= context.now => context.say("attempt-over"),
        Some(end) => context.say_with("lost-ends", &[("minutes", &minutes_until(context, end))]),
        None => context.say_merchant("lost-longest"),
    }
}

/// Whether the words about the way out state the attempt's own end.
fn states_way_out(context: &PageContext, attempt: &Attempt) -> bool {
    let is_overdue = context.now >= attempt.may_be_given_up_at();
    is_overdue && may_cancel(context) && !attempt.candidate.can_cancel
}

/// When the payer may choose another way, for an attempt whose outcome is uncertain. `None`: the
/// time to pay with this link is over by then.
fn way_out_later(context: &PageContext, attempt: &Attempt) -> Option<String> {
    let from = attempt.may_be_given_up_at();
    let is_open = context.app.is_enabled && !is_last(context, from);
    let is_offered = is_uncertain(context, attempt) && is_open;
    is_offered.then(|| context.say_with("out-later", &[("minutes", &minutes_until(context, from))]))
}

/// Whether the payer is to act: not once the time to send is over or the provider's page cannot be
/// opened.
fn is_awaited(context: &PageContext, attempt: &Attempt) -> bool {
    let is_late = |action| action::is_late(context, action);
    !is_unusable(attempt) && !attempt.payer_action.as_ref().is_some_and(is_late)
}

fn usual_wake(context: &PageContext, attempt: &Attempt) -> Option<String> {
    let method = &context.method_name(&attempt.method);
    let values = [("method", method.as_str())];
    match &attempt.payer_action {
        Some(PayerAction::ConfirmOnPhone { .. }) => Some(context.say_with("wake-phone", &values)),
        Some(PayerAction::EnterCode { .. }) => Some(context.say("wake-code")),
        Some(PayerAction::Redirect { .. }) => Some(context.say("wake-page")),
        _ => None,
    }
}

fn ways_out(context: &PageContext, attempt: &Attempt) -> Vec<(&'static str, String)> {
    let no_message = is_prompted(attempt).then(|| (NO_MESSAGE, context.say("out-no-message")));
    let other = (OTHER_WAY, context.say("out-other-way"));
    no_message.into_iter().chain([other]).collect()
}

/// Explains what the provider does with a cancelled attempt.
fn explain(context: &PageContext, attempt: &Attempt) -> String {
    if is_last(context, context.now) {
        return context.say("out-time-over");
    }
    if !context.app.is_enabled {
        return context.say_merchant("out-closed");
    }
    match attempt.ends_at().filter(|_| !attempt.candidate.can_cancel) {
        Some(end) if end <= context.now => context.say("attempt-over"),
        Some(end) => {
            let name = match is_last(context, end) {
                true => "out-ends-last",
                false => "out-ends",
            };
            context.say_with(name, &[("minutes", &minutes_until(context, end))])
        }
        None => context.say("out-cancels"),
    }
}

/// Whether the payment's own time is over by `end`: then there is no other way to pay after it.
fn is_last(context: &PageContext, end: Timestamp) -> bool {
    let expires_at = context.tx.payment().map(|payment| payment.expires_at);
    expires_at.is_some_and(|expires_at| expires_at <= end)
}

fn minutes_until(context: &PageContext, end: Timestamp) -> String {
    let seconds = end.since(context.now).as_secs();
    seconds.div_ceil(60).max(1).to_string()
}

/// Seconds until the minutes that the page states change. `None`: it states none.
pub fn minutes_change_in(context: &PageContext) -> Option<u64> {
    let attempt = context.tx.current_attempt()?;
    let is_asked = called_off(&context.tx).is_some() && !attempt.candidate.can_cancel;
    let waited_for = waited_for(context).filter(|_| called_off(&context.tx).is_none());
    let states_both = waited_for.is_some_and(|attempt| is_uncertain(context, attempt));
    let states_end = is_asked || states_way_out(context, attempt) || states_both;
    let end = attempt.ends_at().filter(|_| states_end);
    let later = Some(attempt.may_be_given_up_at()).filter(|_| states_both);
    let stated = [end, later].into_iter().flatten();
    let change = |end: Timestamp| {
        let left = end.since(context.now).as_secs();
        (left % 60 + 1).max(MIN_CHANGE_S)
    };
    stated.filter(|end| *end > context.now).map(change).min()
}

/// Words for an attempt that can neither be cancelled nor ends by its own.
pub fn stuck(context: &PageContext) -> String {
    let reference = context.tx.id.to_string();
    let values = [
        ("merchant", context.app.name.as_str()),
        ("reference", &reference),
    ];
    let attempt = context.tx.current_attempt();
    let can_end = attempt.is_some_and(|attempt| {
        attempt.candidate.can_cancel || attempt.candidate.ends_after_s.is_some()
    });
    let name = match attempt.and_then(Attempt::part_received) {
        Some(_) if can_end => "time-stuck-part",
        None if can_end && context.has_seen_coins() => "time-stuck-seen",
        _ if is_last(context, context.now) => "time-stuck-over",
        _ => "time-stuck",
    };
    context.say_with(name, &values)
}

/// Title and text of the waiting page while a called-off attempt ends. A gateway that can cancel
/// was asked to; otherwise the attempt's own end is awaited.
pub fn ending(context: &PageContext, then: AfterCallOff) -> (String, String) {
    let (title, ends, cancels) = match then {
        AfterCallOff::ChooseAgain => ("given-up-title", "given-up-ends", "given-up-cancels"),
        AfterCallOff::Cancel => (
            "calling-off-title",
            "calling-off-ends",
            "calling-off-cancels",
        ),
    };
    let attempt = context.tx.current_attempt();
    let ends_at = attempt
        .filter(|attempt| !attempt.candidate.can_cancel)
        .and_then(Attempt::ends_at);
    let text = match ends_at {
        Some(end) if end <= context.now => context.say("attempt-over"),
        Some(end) => {
            let name = match then {
                AfterCallOff::ChooseAgain if is_last(context, end) => "given-up-ends-last",
                AfterCallOff::ChooseAgain | AfterCallOff::Cancel => ends,
            };
            context.say_with(name, &[("minutes", &minutes_until(context, end))])
        }
        None => context.say(cancels),
    };
    let text = match attempt.is_some_and(is_unusable) {
        true => format!("{} {text}", context.say("unusable-page")),
        false => text,
    };
    (context.say(title), text)
}

const NO_MESSAGE: &str = "no_message";
const OTHER_WAY: &str = "other_way";

/// `POST /checkout/{id}/give-up`: once, for the attempt that the page showed.
pub async fn post(mut request: CheckoutRequest, form: Form) -> Response {
    request.read_timeline().await;
    let context = &request.context;
    let shown = context.tx.current_attempt();
    let shown = shown.filter(|attempt| form.get("attempt") == attempt.id.to_string());
    let Some(attempt) = shown.filter(|_| !context.has_seen_coins()) else {
        return context.go(current_step(context).path(), &[]);
    };
    let country = attempt.country.clone().unwrap_or_default();
    match request.engine().give_up(context.tx.id).await {
        Ok(tx) => {
            let context = PageContext {
                tx,
                ..request.context
            };
            let current_step = current_step(&context);
            if current_step == Step::Choosing && form.get("why") == OTHER_WAY {
                return context.go("", &[("country", &country), ("other", "1")]);
            }
            context.go(current_step.path(), &[])
        }
        Err(EngineError::Refused(Refusal::AlreadyEnded(_))) => context.go("result", &[]),
        // The page says what can be done.
        Err(EngineError::Refused(_)) => context.go("wait", &[]),
        Err(error) => request.error_page(&error),
    }
}

#[cfg(test)]
mod tests {
    use switchyard_core::money::{Amount, Currency};

    use super::*;
    use crate::checkout::tests::samples;
    use switchyard_core::language::Language;

    fn shown(seconds: u64, change: impl FnOnce(&mut Attempt)) -> (PageContext, WaitProgress) {
        let context = samples::context(samples::waited(seconds, change), Language::En);
        let wait_progress = view(&context, None).unwrap();
        (context, wait_progress)
    }

    fn dial(attempt: &mut Attempt) {
        attempt.payer_action = Some(PayerAction::Dial {
            ussd: "*1#".to_owned(),
        });
    }

    #[test]
    fn after_a_part_only_the_rest_was_not_seen_and_nothing_is_cancelled() {
        let (_, none) = shown(1_000, dial);
        assert!(none.text.unwrap().contains("not seen your payment"));
        let (context, part) = shown(1_000, |attempt| {
            attempt.payer_action = Some(samples::crypto_of("6.25", 6_250, None));
            attempt.candidate.can_cancel = true;
            let currency = Currency::from_code("XOF").unwrap();
            attempt.received = Some(Amount::from_minor(6_250, currency));
        });
        assert!(part.text.unwrap().contains("not seen the rest"));
        assert!(part.is_stuck && part.ways_out.is_empty());
        assert!(stuck(&context).starts_with("Part of the money has arrived"));
    }

    #[test]
    fn a_payer_is_told_of_no_usual_time_and_no_prompt_when_nothing_is_awaited_of_them() {
        let (_, prompted) = shown(10, |_| ());
        assert!(prompted.text.is_some());
        for seconds in [10, 1_000] {
            let in_doubt = |attempt: &mut Attempt| attempt.state = AttemptState::InDoubt;
            let (_, wait_progress) = shown(seconds, in_doubt);
            let text = wait_progress.text.unwrap();
            assert!(!text.contains("usually") && text.contains("for up to three days"));
            assert_eq!(
                text.contains("longer than usual"),
                seconds == 1_000,
                "{text}"
            );
            assert_eq!(wait_progress.wake, None);
        }
        let (_, unusable) = shown(10, |attempt| {
            attempt.candidate.usual_s = Some(60);
            attempt.payer_action = Some(PayerAction::UnusablePage {
                why: "its address begins with http://".to_owned(),
            });
        });
        assert_eq!(unusable.text, None);
    }

    #[test]
    fn another_way_to_pay_is_promised_only_within_the_time_of_the_payment() {
        for (ends_after_s, promised) in [(1_100, true), (24 * 3_600, false)] {
            let (_, wait_progress) = shown(1_000, |attempt| {
                attempt.candidate.ends_after_s = Some(ends_after_s);
            });
            let explain = wait_progress.explain.unwrap();
            assert_eq!(explain.contains("pay another way"), promised, "{explain}");
            assert_eq!(
                explain.contains("will be over by then"),
                !promised,
                "{explain}"
            );
        }
    }

    #[test]
    fn the_usual_time_begins_when_the_request_was_really_sent() {
        let resumed = |after: u64| {
            move |attempt: &mut Attempt| {
                let since = std::time::Duration::from_secs(after);
                attempt.resumed_at = Some(samples::NOW.minus(since));
                attempt.candidate.usual_s = Some(300);
                attempt.candidate.can_cancel = true;
            }
        };
        for (since_resumed, text, changes_in, is_out) in [
            (10, "It usually takes about 5 minutes.", Some(291), false),
            (310, "longer than usual", Some(291), false),
            (600, "longer than usual", None, true),
        ] {
            let (_, wait_progress) = shown(3_600, resumed(since_resumed));
            let said = wait_progress.text.unwrap();
            assert!(said.contains(text), "{since_resumed}: {said}");
            assert_eq!(wait_progress.changes_in, changes_in, "{since_resumed}");
            assert_eq!(
                !wait_progress.ways_out.is_empty(),
                is_out,
                "{since_resumed}"
            );
        }
    }

    #[test]
    fn the_minutes_to_the_end_of_an_attempt_count_down_with_the_page() {
        let (mut context, _) = shown(150, |attempt| attempt.candidate.ends_after_s = Some(900));
        let minutes = |context: &PageContext| {
            let explain = view(context, None).unwrap().explain.unwrap();
            let (_, rest) = explain.split_once("ends in about ").unwrap();
            rest.split_once(" min").unwrap().0.parse::<u64>().unwrap()
        };
        let mut said = vec![minutes(&context)];
        for _ in 0..4 {
            let seconds = minutes_change_in(&context).unwrap();
            assert!((MIN_CHANGE_S..=79).contains(&seconds), "{seconds}");
            context.now = context.now.plus(std::time::Duration::from_secs(seconds));
            said.push(minutes(&context));
        }
        let first = said[0];
        let one_less: Vec<u64> = (0..5).map(|less| first - less).collect();
        assert_eq!(said, one_less);
        let end = context.tx.attempts[0].ends_at().unwrap();
        assert_eq!(
            minutes_change_in(&PageContext {
                now: end,
                ..context
            }),
            None
        );
    }

    #[test]
    fn after_the_time_of_the_link_the_way_out_is_to_cancel_and_no_other_method() {
        let tx = samples::waited(150, |attempt| attempt.candidate.can_cancel = true);
        let mut context = samples::context(tx, Language::En);
        assert!(!view(&context, None).unwrap().ways_out.is_empty());
        let expires_at = context.tx.payment().unwrap().expires_at;
        let since = context.now.since(context.tx.attempts[0].started_at);
        let tx = std::sync::Arc::make_mut(&mut context.tx);
        tx.attempts[0].started_at = expires_at.minus(since);
        context.now = expires_at;
        let wait_progress = view(&context, None).unwrap();
        assert!(wait_progress.ways_out.is_empty() && !wait_progress.is_stuck);
        let explain = wait_progress.explain.unwrap();
        assert!(
            explain.contains("The time to choose another way to pay is over"),
            "{explain}"
        );
        assert!(explain.contains("cancel the payment below"), "{explain}");
        assert!(context.tx.can_call_off(), "the page offers that");
    }
}
