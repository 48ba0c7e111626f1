//! The promises, each as a pure function of the evidence. They apply to any faults and to any way
//! of running the engine: simulated, or as a real process that is killed from outside.
//!
//! - P1: at most one successful charge for a payment, one successful payout for a payout
//! - P2: nothing that was accepted is lost; one key makes one transaction
//! - P3: a final state never changes, and a contradiction opens a case: money after another end,
//!   and the reversal of a success
//! - P4: a transaction with an unknown outcome is never shown as failed, and nothing is shown as
//!   done that did not happen
//! - P5: every transaction that is not final has a wake-up time, and reaches an end or manual
//!   review
//! - P6: a gateway that hangs, panics or faults delays no call and no callback of another one
//! - P7: webhooks are delivered at least once or visibly marked as failed, with one id and one
//!   body, in order, and only about events that happened
//! - P8: every request that can have moved money is in the journal, and every response; an
//!   operator's command is on the timeline, signed
//! - P9: sandbox never touches live
//! - P10: an acknowledged change of a gateway is durable, refuses no one, and an attempt ends on
//!   the version that it began on
//! - price: a provider is asked for the amount that the payer agreed to, at the rate that was fixed
//!   then
//! - mail: one mail about each end to each recipient that it concerns, twice only if the
//!   acknowledgment of the first was lost
//! - total: the total of a list is exactly the number of transactions, a search finds all, and the
//!   statistics are the sum over all
//! - secret: no code that a payer typed and no secret of a connection is on a disk in the clear

mod deliveries;
mod evidence;
mod faults;
mod gateways;
mod mails;
mod money;
mod states;

pub use self::evidence::{
    Accepted, Agreed, Answered, Calling, Changed, Charge, Delivery, Evidence, GivenUp, Mail,
    OrderedByHand, Peace, Posted, Said, Sent, Sighting, Stored, StoredAttempt, Total,
};
pub use self::faults::{breaks, found};

/// A broken promise, with a sentence that says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Number of the promise: `P7`.
    pub promise: &'static str,
    /// Rule within the promise: `deliveries::in_order`.
    pub rule: &'static str,
    pub why: String,
}

struct Promise {
    number: &'static str,
    rule: &'static str,
    holds: fn(&Evidence, &mut Vec<String>),
}

/// Each promise with the function that checks it, and the name of that function.
macro_rules! promises {
    ($($number:literal: $home:ident::$rule:ident,)*) => {
        &[$(Promise {
            number: $number,
            rule: concat!(stringify!($home), "::", stringify!($rule)),
            holds: $home::$rule,
        }),*]
    };
}

/// Every promise and the functions that check it.
const PROMISES: &[Promise] = promises![
    "P1": money::charged_once,
    "P1": money::submitted_once,
    "P1": money::nothing_begins_after_known_money,
    "P2": states::nothing_accepted_is_lost,
    "P2": states::one_key_makes_one_transaction,
    "P3": states::final_states_never_change,
    "P3": money::contradictions_open_cases,
    "P3": money::a_success_that_is_taken_back_opens_a_case,
    "P3": money::surplus_money_opens_a_case,
    "P3": money::an_unreadable_amount_opens_a_case,
    "P3": money::attempts_of_one_id_have_cases,
    "P4": money::unknown_is_never_shown_as_failed,
    "P4": money::success_is_in_the_books,
    "P5": states::everything_comes_to_an_end,
    "P6": gateways::a_sick_one_delays_no_other,
    "P7": deliveries::at_least_once,
    "P7": deliveries::one_id_and_one_body,
    "P7": deliveries::in_order,
    "P7": deliveries::of_what_happened_only,
    "P7": deliveries::once_acknowledged_never_again,
    "P8": money::everything_sent_is_in_the_journal,
    "P8": money::everything_answered_is_in_the_journal,
    "P8": states::orders_are_signed,
    "P9": money::sandbox_never_touches_live,
    "P10": gateways::a_change_that_was_told_of_holds,
    "P10": gateways::a_change_turns_nobody_away,
    "P10": gateways::an_attempt_ends_on_the_version_it_began_on,
    "price": money::asked_as_agreed,
    "price": money::the_rate_is_the_one_that_was_fixed,
    "mail": mails::one_about_each_end,
    "mail": mails::once_acknowledged_never_again,
    "total": states::totals_are_exact,
    "secret": states::secrets_are_on_no_disk,
];

/// Returns the names of all rules.
pub fn rules() -> impl Iterator<Item = &'static str> {
    PROMISES.iter().map(|promise| promise.rule)
}

/// Returns every promise that `evidence` breaks.
pub fn broken(evidence: &Evidence) -> Vec<Broken> {
    let mut broken = Vec::new();
    for Promise {
        number,
        rule,
        holds,
    } in PROMISES
    {
        let mut sentences = Vec::new();
        holds(evidence, &mut sentences);
        broken.extend(sentences.into_iter().map(|why| Broken {
            promise: number,
            rule,
            why,
        }));
    }
    broken
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.promise, self.why)
    }
}
