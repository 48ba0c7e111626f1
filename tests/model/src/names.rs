//! Names of commands, events, refusals and states. Exhaustive by match: a new variant does not
//! compile until it has a name here, and an entry in the list of rules.

use switchyard_core::transaction::{
    CaseReason, Command, Event, OperatorCommand, Outcome, PayerAction, Refusal, State, Verdict,
};

pub const fn command(command: &Command) -> &'static str {
    match command {
        Command::Confirm(confirm) => match confirm.route.candidates.is_empty() {
            true => "confirm nowhere",
            false => "confirm",
        },
        Command::Dispatch(route) => match route.candidates.is_empty() {
            true => "dispatch nowhere",
            false => "dispatch",
        },
        Command::Answer { outcome, .. } => ANSWERS[outcome_number(outcome)],
        Command::CodeAnswer { outcome, .. } => CODE_ANSWERS[outcome_number(outcome)],
        Command::Recover {
            maybe_sent: true, ..
        } => "recover maybe_sent",
        Command::Recover { .. } => "recover",
        Command::Withhold { .. } => "withhold",
        Command::Wake => "wake",
        Command::Ask => "ask",
        Command::Hint => "hint",
        Command::Identify { .. } => "identify",
        Command::AmbiguousId { .. } => "ambiguous_id",
        Command::Cancel(_) => "cancel",
        Command::GiveUp => "give_up",
        Command::SubmitCode { .. } => "submit_code",
        Command::ByOperator(order) => order_name(&order.order),
        Command::MarkProcessed => "mark_processed",
    }
}

const fn order_name(order: &OperatorCommand) -> &'static str {
    match order {
        OperatorCommand::Check => "order check",
        OperatorCommand::Resolve(resolution) => match resolution.verdict {
            Verdict::Succeeded { .. } => "order resolve_succeeded",
            Verdict::Failed { .. } => "order resolve_failed",
            Verdict::NeverSent => "order resolve_never_sent",
        },
        OperatorCommand::CloseCase(_) => "order close_case",
        OperatorCommand::Cancel => "order cancel",
    }
}

/// Index of an outcome in [`ANSWERS`] and [`CODE_ANSWERS`].
const fn outcome_number(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Succeeded { .. } => 0,
        Outcome::Declined(decline) => match (decline.retryable, &decline.field) {
            (false, None) => 1,
            (true, None) => 2,
            (_, Some(_)) => 7,
        },
        Outcome::NotSent { .. } => 3,
        Outcome::Pending { payer_action, .. } => match payer_action {
            Some(PayerAction::EnterCode { .. }) => 5,
            None
            | Some(
                PayerAction::Redirect { .. }
                | PayerAction::UnusablePage { .. }
                | PayerAction::ConfirmOnPhone { .. }
                | PayerAction::Dial { .. }
                | PayerAction::Transfer { .. }
                | PayerAction::ShowQr { .. }
                | PayerAction::SendCrypto { .. }
                | PayerAction::Wait,
            ) => 4,
        },
        Outcome::Unknown { .. } => 6,
    }
}

const ANSWERS: [&str; 8] = [
    "answer succeeded",
    "answer declined",
    "answer declined retryable",
    "answer not_sent",
    "answer pending",
    "answer pending code",
    "answer unknown",
    "answer declined field",
];

const CODE_ANSWERS: [&str; 8] = [
    "code_answer succeeded",
    "code_answer declined",
    "code_answer declined retryable",
    "code_answer not_sent",
    "code_answer pending",
    "code_answer pending code",
    "code_answer unknown",
    "code_answer declined field",
];

const OTHERS: [&str; 21] = [
    "confirm",
    "confirm nowhere",
    "dispatch",
    "dispatch nowhere",
    "recover",
    "recover maybe_sent",
    "withhold",
    "wake",
    "ask",
    "hint",
    "ambiguous_id",
    "cancel",
    "give_up",
    "submit_code",
    "order check",
    "order resolve_succeeded",
    "order resolve_failed",
    "order resolve_never_sent",
    "order close_case",
    "order cancel",
    "mark_processed",
];

/// The names of all commands, as [`command`] gives them.
pub fn commands() -> impl Iterator<Item = &'static str> {
    OTHERS.into_iter().chain(ANSWERS).chain(CODE_ANSWERS)
}

pub const fn event(event: &Event) -> &'static str {
    match event {
        Event::Initiated => "initiated",
        Event::Confirmed { .. } => "confirmed",
        Event::AttemptStarted { .. } => "attempt_started",
        Event::AttemptPending { .. } => "attempt_pending",
        Event::AttemptInDoubt { .. } => "attempt_in_doubt",
        Event::AttemptNotSent { .. } => "attempt_not_sent",
        Event::AttemptDeclined { .. } => "attempt_declined",
        Event::AttemptSucceeded { .. } => "attempt_succeeded",
        Event::MoneyReported { .. } => "money_reported",
        Event::QueryStarted { .. } => "query_started",
        Event::QueryPlanned { .. } => "query_planned",
        Event::SubmissionResumed { .. } => "submission_resumed",
        Event::AttemptIdentified { .. } => "attempt_identified",
        Event::CodeSubmitted { .. } => "code_submitted",
        Event::CodeAnswered { .. } => "code_answered",
        Event::CallOffStarted { .. } => "call_off_started",
        Event::OperatorActed { .. } => "operator_acted",
        Event::SteppedOver { .. } => "stepped_over",
        Event::AttemptAllowed => "attempt_allowed",
        Event::Held => "held",
        Event::CaseAmended { .. } => "case_amended",
        Event::Succeeded => "succeeded",
        Event::Failed { .. } => "failed",
        Event::Cancelled { .. } => "cancelled",
        Event::Processed => "processed",
        Event::CaseOpened { case } => case_opened(case.reason),
        Event::CaseClosed { .. } => "case_closed",
    }
}

const fn case_opened(reason: CaseReason) -> &'static str {
    match reason {
        CaseReason::MoneyAfterTheEnd => "case_opened money_after_the_end",
        CaseReason::FoundAfterNotSent => "case_opened found_after_not_sent",
        CaseReason::LateSuccess => "case_opened late_success",
        CaseReason::PaidTwice => "case_opened paid_twice",
        CaseReason::Surplus => "case_opened surplus",
        CaseReason::ContradictingSuccess => "case_opened contradicting_success",
        CaseReason::AmbiguousProviderId => "case_opened ambiguous_provider_id",
        CaseReason::SuccessContradicted => "case_opened success_contradicted",
        CaseReason::AmountDiffers => "case_opened amount_differs",
        CaseReason::NoFinalAnswer => "case_opened no_final_answer",
        CaseReason::UnknownAfterRestore => "case_opened unknown_after_restore",
    }
}

pub const fn refusal(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::NotAPayment => "not_a_payment",
        Refusal::NotAPayout => "not_a_payout",
        Refusal::AlreadyEnded(_) => "already_ended",
        Refusal::AttemptUnderWay => "attempt_under_way",
        Refusal::Held => "held",
        Refusal::Paused => "paused",
        Refusal::TooEarly => "too_early",
        Refusal::CannotCallOff => "cannot_call_off",
        Refusal::CaseHolds => "case_holds",
        Refusal::Expired => "expired",
        Refusal::MethodNotOffered(_) => "method_not_offered",
        Refusal::CountryRestricted(_) => "country_restricted",
        Refusal::PhoneRestricted => "phone_restricted",
        Refusal::NoCandidate => "no_candidate",
        Refusal::UnknownAttempt(_) => "unknown_attempt",
        Refusal::NotSuccessful(_) => "not_successful",
        Refusal::NoCodeAsked => "no_code_asked",
        Refusal::NoMoreCodes => "no_more_codes",
        Refusal::NothingOpen => "nothing_open",
        Refusal::AttemptClosed(_) => "attempt_closed",
        Refusal::ProviderHasIt => "provider_has_it",
        Refusal::WhichAttempt { .. } => "which_attempt",
        Refusal::AmountNeeded => "amount_needed",
        Refusal::AmountTooLow(_) => "amount_too_low",
        Refusal::ProviderIdNeeded => "provider_id_needed",
        Refusal::UnknownCase(_) => "unknown_case",
        Refusal::CaseClosed => "case_closed",
        Refusal::CaseAboutOpenAttempt => "case_about_open_attempt",
    }
}

/// The names of all refusals.
pub const REFUSALS: [&str; 28] = [
    "not_a_payment",
    "not_a_payout",
    "already_ended",
    "attempt_under_way",
    "held",
    "paused",
    "too_early",
    "cannot_call_off",
    "case_holds",
    "expired",
    "method_not_offered",
    "country_restricted",
    "phone_restricted",
    "no_candidate",
    "unknown_attempt",
    "not_successful",
    "no_code_asked",
    "no_more_codes",
    "nothing_open",
    "attempt_closed",
    "provider_has_it",
    "amount_needed",
    "which_attempt",
    "amount_too_low",
    "provider_id_needed",
    "unknown_case",
    "case_closed",
    "case_about_open_attempt",
];

/// The names of all states.
pub const STATES: [&str; 9] = [
    "awaiting_customer",
    "awaiting_dispatch",
    "awaiting_gateway",
    "awaiting_provider",
    "in_doubt",
    "on_hold",
    "succeeded",
    "failed",
    "cancelled",
];

pub const fn state(state: &State) -> &'static str {
    match state {
        State::AwaitingCustomer => "awaiting_customer",
        State::AwaitingDispatch => "awaiting_dispatch",
        State::AwaitingGateway => "awaiting_gateway",
        State::AwaitingProvider => "awaiting_provider",
        State::InDoubt => "in_doubt",
        State::OnHold => "on_hold",
        State::Succeeded => "succeeded",
        State::Failed(_) => "failed",
        State::Cancelled => "cancelled",
    }
}
