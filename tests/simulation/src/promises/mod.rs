//! The promises, each as one pure function of the evidence. Whatever kills, delays or lies, and however the engine was run (simulated, or
//! a real process that is killed from outside), its evidence is held against these and no others.
//!
//! | | |
//! |---|---|
//! | P1 | at most one successful charge for a payment, one successful payout for a payout |
//! | P2 | nothing that was accepted is lost; one key makes one transaction |
//! | P3 | what is final never changes, and what contradicts it opens a case: money after another end, and a success that is taken back |
//! | P4 | what nobody knows the end of is never shown as failed, nor what did not happen as done |
//! | P5 | whatever is not final has a time at which it is looked at again, and comes to an end or to a person |
//! | P6 | a gateway that hangs, panics or faults delays no call and no news of another one |
//! | P7 | webhooks: at least once or visibly given up, one id and one body, in order, of what happened only |
//! | P8 | every request that can have moved money is in the journal, and every answer; an operator's order is on the timeline, signed |
//! | P9 | sandbox never touches live |
//! | P10 | a change of a gateway holds once it was told of, turns nobody away, and an attempt ends on the version that it began on |
//! | price | a provider is asked for what the payer agreed to, at the rate that was fixed then |
//! | mail | one mail about each end to whom it concerns, twice only where the first one's acknowledgment was lost |
//! | total | a list tells of exactly as many transactions as there are |
//! | secret | a code that a payer typed, and the secret of a connection, is on no disk in clear |

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

/// A promise that was broken, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its number: `P7`.
    pub promise: &'static str,
    /// Which part of it: `deliveries::in_order`.
    pub rule: &'static str,
    pub why: String,
}

struct Promise {
    number: &'static str,
    rule: &'static str,
    holds: fn(&Evidence, &mut Vec<String>),
}

/// Each with the function that holds evidence against it, and that function's name.
macro_rules! promises {
    ($($number:literal: $home:ident::$rule:ident,)*) => {
        &[$(Promise {
            number: $number,
            rule: concat!(stringify!($home), "::", stringify!($rule)),
            holds: $home::$rule,
        }),*]
    };
}

/// Every promise and the functions that hold evidence against it.
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

/// The rules that there are.
pub fn rules() -> impl Iterator<Item = &'static str> {
    PROMISES.iter().map(|promise| promise.rule)
}

/// Everything that `evidence` breaks.
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
