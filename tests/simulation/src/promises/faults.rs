//! The rule that each planted fault breaks, and the search for a history that shows it.

use std::ops::Range;

use super::Broken;
use crate::faults::Fault;
use crate::plan::Plan;
use crate::{Options, run};

/// Returns the rule that a fault breaks.
pub const fn breaks(fault: Fault) -> &'static str {
    match fault {
        Fault::JournalSkipped => "money::everything_sent_is_in_the_journal",
        Fault::AnswerUnwritten => "money::everything_answered_is_in_the_journal",
        Fault::AnsweredEarly => "states::nothing_accepted_is_lost",
        Fault::CommitTorn => "states::everything_comes_to_an_end",
        Fault::UnknownRetried => "money::unknown_is_never_shown_as_failed",
        Fault::OutboxDropped => "deliveries::at_least_once",
        Fault::DeliveryForgotten => "deliveries::at_least_once",
        Fault::TimerForgotten => "states::everything_comes_to_an_end",
        Fault::EndChanged => "states::final_states_never_change",
        Fault::ContradictionIgnored => "money::contradictions_open_cases",
        Fault::ReversalIgnored => "money::a_success_that_is_taken_back_opens_a_case",
        Fault::OrderForgotten => "deliveries::in_order",
        Fault::EventRenamed => "deliveries::one_id_and_one_body",
        Fault::AnnouncedEarly => "deliveries::of_what_happened_only",
        Fault::LessIsEnough => "money::success_is_in_the_books",
        Fault::ConfirmedInDoubt => "money::charged_once",
        Fault::TimeoutDeclined => "money::unknown_is_never_shown_as_failed",
        Fault::KeyForgotten => "states::one_key_makes_one_transaction",
        Fault::ForgeryBelieved => "money::success_is_in_the_books",
        Fault::NotFoundBelieved => "money::charged_once",
        Fault::FirstRequestCounts => "money::charged_once",
        Fault::CallbackDropped => "money::contradictions_open_cases",
        Fault::RecoveryBlind => "money::submitted_once",
        Fault::EnvironmentMixed => "money::sandbox_never_touches_live",
        Fault::TurnsShared => "gateways::a_sick_one_delays_no_other",
        Fault::GapAtSwap => "gateways::a_change_turns_nobody_away",
        Fault::ChangeNotKept => "gateways::a_change_that_was_told_of_holds",
        Fault::VersionForgotten => "gateways::an_attempt_ends_on_the_version_it_began_on",
        Fault::OrderUnsigned => "states::orders_are_signed",
        Fault::WordAgainstProvider => "money::unknown_is_never_shown_as_failed",
        Fault::RateMoved => "money::asked_as_agreed",
        Fault::RateReadAnew => "money::the_rate_is_the_one_that_was_fixed",
        Fault::MailForgotten => "mails::one_about_each_end",
        Fault::MailRepeated => "mails::once_acknowledged_never_again",
        Fault::AcknowledgmentForgotten => "deliveries::once_acknowledged_never_again",
        Fault::CodeKept => "states::secrets_are_on_no_disk",
        Fault::SecretKept => "states::secrets_are_on_no_disk",
        Fault::GoneForgotten => "deliveries::at_least_once",
        Fault::LateMoneyIgnored => "money::nothing_begins_after_known_money",
        Fault::UnreadableIgnored => "money::an_unreadable_amount_opens_a_case",
        Fault::SharedIdIgnored => "money::attempts_of_one_id_have_cases",
        Fault::SurplusIgnored => "money::surplus_money_opens_a_case",
        Fault::CountForgotten => "states::totals_are_exact",
    }
}

/// Plants a fault in each of these histories until one breaks the expected rule. Returns its seed
/// and the broken promise.
pub fn found(fault: Fault, mut seeds: Range<u64>) -> Option<(u64, Broken)> {
    let (rule, options) = (
        breaks(fault),
        Options {
            fault: Some(fault),
            keeps_log: false,
        },
    );
    seeds.find_map(|seed| {
        let mut broken = run(Plan::of(seed), options).broken.into_iter();
        Some((seed, broken.find(|broken| broken.rule == rule)?))
    })
}
