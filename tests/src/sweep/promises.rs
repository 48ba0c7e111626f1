//! Conditions that must hold when the kills are over, as a pure function of the evidence. The
//! evidence is gathered after everything has come to rest, so no check has to allow for "not yet".

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::callbacks::{self, StoredCallbacks};
use super::inbox::DeliveriesByEvent;
use super::load::{Fate, Promise};
use crate::provider::{Books, Calls};

/// Evidence from outside the program: from the clients, the provider and the merchant's inbox.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Promises of 201 responses, by id.
    pub made: BTreeMap<String, Promise>,
    /// Public status by id; `None` for an unknown id.
    pub statuses: BTreeMap<String, Option<String>>,
    /// Number of payments and of payouts in the merchant's lists.
    pub listed: (u64, u64),
    pub books: Books,
    /// Callbacks as the provider recorded them.
    pub calls: Calls,
    /// Callbacks as the program stored them.
    pub callbacks: StoredCallbacks,
    pub letters: DeliveriesByEvent,
    /// Webhooks without a valid signature.
    pub unsigned: usize,
    /// Transactions that, by the program's record, failed because nothing was sent.
    pub never_sent: BTreeSet<String>,
    /// Timelines of the transactions that ended otherwise than without faults, by id.
    pub stories: BTreeMap<String, String>,
    /// Transactions whose first event was attempted without success, and whose end waited for it as
    /// long as required.
    pub end_may_come_first: BTreeSet<String>,
    /// Responses that no client should get.
    pub wrong_answers: Vec<String>,
    /// Transactions that were open at a kill and did not resume in time after the start.
    pub late: Vec<String>,
    /// Transactions that were due and were not processed.
    pub stuck: Vec<String>,
    /// Panic output of the program.
    pub panics: Vec<String>,
}

/// A broken promise and the observation that broke it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    pub rule: Rule,
    pub what: String,
}

/// Promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Everything that a 201 promised exists.
    NothingLost,
    /// Money moves at most once, and every record belongs to an order.
    NothingDoubled,
    /// The end matches the provider's ledger.
    EndAsInTheBooks,
    /// The end is the one of the history without faults.
    EndAsWithoutFaults,
    /// Every transaction ends that the engine or a payer continues.
    NothingStuck,
    /// No submission between a restore and its release.
    HeldSendsNothing,
    /// The report after a restore names the period of every lost transaction.
    LostSpanIsNamed,
    /// The report after a restore lists the transactions that the provider took and the store does
    /// not have, and no others.
    UnknownIsListed,
    /// An idempotency key from before a backup is known after its restore.
    KeyIsKnown,
    /// During a backup, responses take at most a few times as long.
    BackupIsQuiet,
    /// Open transactions resume soon after a start.
    ResumedInTime,
    /// No event is missing.
    WebhookCame,
    /// An event has one id, and an id one event.
    WebhookOnce,
    /// No event contradicts the transaction.
    WebhookTrue,
    /// Events of one transaction arrive in their order.
    WebhookInOrder,
    WebhookSigned,
    /// Each acknowledged callback is stored, and each stored callback was sent.
    CallbackKept,
    /// Each stored callback was processed for its own transaction, and trusted if and only if it
    /// was signed.
    CallbackDealtWith,
    /// The transaction of an acknowledged callback has ended as the callback says.
    CallbackCounts,
    /// Clients get no response outside the contract.
    AnswersRight,
    NoPanic,
}

/// Broken promises, returned by a judge instead of figures. Any other error of a judge means that
/// the check could not be completed.
#[derive(Debug)]
pub struct Broken(pub Vec<Break>);

impl Broken {
    pub fn rules(&self) -> BTreeSet<Rule> {
        self.0.iter().map(|broken| broken.rule).collect()
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} breaks of {:?}", self.0.len(), self.rules())?;
        for rule in self.rules() {
            let of_it = self.0.iter().filter(|broken| broken.rule == rule);
            for broken in of_it.take(SHOWN) {
                write!(f, "\n{rule:?}: {}", broken.what)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Broken {}

/// Returns every broken promise that the evidence shows.
pub fn broken(evidence: &Evidence) -> Vec<Break> {
    let mut breaks = Vec::new();
    listed_breaks(evidence, &mut breaks);
    submitted_once(evidence, &mut breaks);
    ordered(evidence, &mut breaks);
    lists(evidence, &mut breaks);
    let moved = moved(&evidence.books);
    for (id, promise) in &evidence.made {
        match evidence.statuses.get(id).and_then(Option::as_deref) {
            None => breaks.push(found_broken(
                Rule::NothingLost,
                format!("a 201 named {id}, and nobody knows it"),
            )),
            Some(status) => {
                let times = moved.get(id.as_str()).copied().unwrap_or(0);
                end(evidence, (id, *promise), (status, times), &mut breaks);
                webhooks(evidence, id, status, &mut breaks);
            }
        }
    }
    names_of_events(evidence, &mut breaks);
    callbacks::hold(evidence, &mut breaks);
    if evidence.unsigned > 0 {
        let what = format!("{} webhooks are not signed", evidence.unsigned);
        breaks.push(found_broken(Rule::WebhookSigned, what));
    }
    breaks
}

pub(super) fn found_broken(rule: Rule, what: String) -> Break {
    Break { rule, what }
}

/// Returns the number of money movements by transaction.
pub(super) fn moved(books: &Books) -> BTreeMap<&str, u32> {
    let mut moved = BTreeMap::new();
    for entry in books.values() {
        *moved.entry(entry.transaction.as_str()).or_default() += entry.charges;
    }
    moved
}

/// Adds the breaks that were recorded when they were observed.
pub(super) fn listed_breaks(evidence: &Evidence, breaks: &mut Vec<Break>) {
    for (rule, found) in [
        (Rule::AnswersRight, &evidence.wrong_answers),
        (Rule::ResumedInTime, &evidence.late),
        (Rule::NothingStuck, &evidence.stuck),
        (Rule::NoPanic, &evidence.panics),
    ] {
        breaks.extend(found.iter().map(|what| found_broken(rule, what.clone())));
    }
}

pub(super) fn submitted_once(evidence: &Evidence, breaks: &mut Vec<Break>) {
    for (reference, entry) in &evidence.books {
        if entry.requests > 1 {
            let what = format!("{reference} was submitted more than once: {entry:?}");
            breaks.push(found_broken(Rule::NothingDoubled, what));
        }
    }
}

fn ordered(evidence: &Evidence, breaks: &mut Vec<Break>) {
    for (reference, entry) in &evidence.books {
        if !evidence.made.contains_key(&entry.transaction) {
            let what = format!("nobody ordered what {reference} is about: {entry:?}");
            breaks.push(found_broken(Rule::NothingDoubled, what));
        }
    }
}

fn lists(evidence: &Evidence, breaks: &mut Vec<Break>) {
    let (payments, payouts) = evidence.listed;
    for (prefix, listed) in [("py_", payments), ("po_", payouts)] {
        let promised = evidence.made.keys().filter(|id| id.starts_with(prefix));
        let promised = promised.count() as u64;
        let rule = match listed < promised {
            true => Rule::NothingLost,
            false => Rule::NothingDoubled,
        };
        if listed != promised {
            let what = format!("of {prefix} {promised} were promised, and {listed} are listed");
            breaks.push(found_broken(rule, what));
        }
    }
}

pub(super) fn end(
    evidence: &Evidence,
    (id, promise): (&String, Promise),
    (status, moved): (&str, u32),
    breaks: &mut Vec<Break>,
) {
    let mut found = |rule, what| breaks.push(found_broken(rule, what));
    let wanted = promise.fate.status();
    let is_rest = matches!(status, "success" | "failed" | "cancelled") || status == wanted;
    if !is_rest {
        found(Rule::NothingStuck, format!("{id} is still {status}"));
    } else if status != wanted && !(status == "failed" && evidence.never_sent.contains(id)) {
        let story = evidence.stories.get(id).map_or("", String::as_str);
        let what = format!("{id} is {status}, and without faults it were {wanted}: {story}");
        found(Rule::EndAsWithoutFaults, what);
    }
    if moved > 1 {
        found(
            Rule::NothingDoubled,
            format!("{id} moved money {moved} times"),
        );
    }
    if is_rest && (moved > 0) != (status == "success") {
        let what = format!("{id} is {status}, and the books have {moved} movements");
        found(Rule::EndAsInTheBooks, what);
    }
}

/// Checks that the first event and the end arrived, each under one id, in this order, and no other
/// event.
pub(super) fn webhooks(evidence: &Evidence, id: &str, status: &str, breaks: &mut Vec<Break>) {
    let mut found = |rule, what| breaks.push(found_broken(rule, what));
    let kind = kind(id);
    let letter = |end: &str| {
        let key = (id.to_owned(), format!("{kind}.{end}"));
        evidence.letters.get(&key)
    };
    for end in ENDS {
        let wanted = end == "initiated" || end == status;
        let ids = letter(end).map_or(0, |letter| letter.ids.len());
        let event = format!("{kind}.{end} of {id}");
        match (wanted, ids) {
            (true, 0) => found(Rule::WebhookCame, format!("{event} never came")),
            (false, 1..) => found(
                Rule::WebhookTrue,
                format!("{event} came, and it is {status}"),
            ),
            (true, 2..) => found(
                Rule::WebhookOnce,
                format!("{event} came under {ids} ids: {:?}", letter(end)),
            ),
            _ => {}
        }
        if letter(end).is_some_and(|letter| letter.contradicts_itself) {
            found(
                Rule::WebhookTrue,
                format!("the body of {event} has another status"),
            );
        }
    }
    if let (Some(first), Some(last)) = (letter("initiated"), letter(status))
        && last.first < first.first
        && !evidence.end_may_come_first.contains(id)
    {
        let what = format!("{kind}.{status} of {id} came before its first event");
        found(Rule::WebhookInOrder, what);
    }
}

fn names_of_events(evidence: &Evidence, breaks: &mut Vec<Break>) {
    let mut names = BTreeMap::new();
    for (event, letter) in &evidence.letters {
        for id in &letter.ids {
            if let Some(other) = names.insert(id, event) {
                let what = format!("{id} names {event:?} and {other:?}");
                breaks.push(found_broken(Rule::WebhookOnce, what));
            }
        }
    }
}

/// Returns the prefix of this transaction's events.
pub(super) fn kind(id: &str) -> &'static str {
    match id.starts_with("po_") {
        true => "payout",
        false => "payment",
    }
}

impl Fate {
    /// Public status that fulfills it.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Initiated => "initiated",
        }
    }
}

/// Suffixes of all events, the first event first.
const ENDS: [&str; 4] = ["initiated", "success", "failed", "cancelled"];
/// Maximum number of breaks printed for one rule.
const SHOWN: usize = 5;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::provider::{Entry, Order};
    use crate::sweep::inbox::EventDeliveries;

    pub(in crate::sweep) const PAID: &str = "py_paid";
    const DECLINED: &str = "po_declined";
    pub(in crate::sweep) const UNPAID: &str = "py_unpaid";

    /// Evidence of three transactions: one paid, one declined at both connections, one unpaid.
    pub(in crate::sweep) fn sound() -> Evidence {
        let mut evidence = Evidence {
            listed: (2, 1),
            ..Evidence::default()
        };
        let ends = [
            (PAID, Fate::Success),
            (DECLINED, Fate::Failed),
            (UNPAID, Fate::Initiated),
        ];
        for (order, (id, fate)) in ends.into_iter().enumerate() {
            let promise = Promise {
                order: order as u64,
                fate,
                under_way: fate != Fate::Initiated,
            };
            evidence.made.insert(id.to_owned(), promise);
            let status = fate.status().to_owned();
            for event in ["initiated", &status] {
                let letters = evidence.letters.len() + 1;
                let letter = EventDeliveries {
                    first: letters,
                    ids: BTreeSet::from([format!("evt_{letters}")]),
                    contradicts_itself: false,
                };
                let key = (id.to_owned(), format!("{}.{event}", kind(id)));
                evidence.letters.entry(key).or_insert(letter);
            }
            evidence.statuses.insert(id.to_owned(), Some(status));
        }
        for (reference, transaction, charges) in
            [("a", PAID, 1), ("b", DECLINED, 0), ("c", DECLINED, 0)]
        {
            let entry = Entry {
                transaction: transaction.to_owned(),
                requests: 1,
                charges,
                queries: 0,
                slot: 0,
                order: Order::default(),
            };
            evidence.books.insert(reference.to_owned(), entry);
        }
        evidence
    }

    /// Returns the promises that are broken after this change to the evidence.
    fn planted(plant: impl FnOnce(&mut Evidence)) -> Vec<Rule> {
        let mut evidence = sound();
        plant(&mut evidence);
        let rules = Broken(broken(&evidence)).rules();
        rules.into_iter().collect()
    }

    fn letter<'e>(evidence: &'e mut Evidence, id: &str, event: &str) -> &'e mut EventDeliveries {
        let key = (id.to_owned(), format!("{}.{event}", kind(id)));
        evidence.letters.entry(key).or_default()
    }

    fn status(evidence: &mut Evidence, id: &str, status: Option<&str>) {
        let status = status.map(str::to_owned);
        evidence.statuses.insert(id.to_owned(), status);
    }

    #[test]
    fn a_sound_sweep_breaks_nothing() {
        assert_eq!(planted(|_| ()), []);
    }

    #[test]
    fn a_loss_is_seen() {
        let lost = planted(|evidence| status(evidence, UNPAID, None));
        assert_eq!(lost, [Rule::NothingLost]);
        let unlisted = planted(|evidence| evidence.listed.0 -= 1);
        assert_eq!(unlisted, [Rule::NothingLost]);
    }

    #[test]
    fn a_double_is_seen() {
        let doubled = [Rule::NothingDoubled];
        let charge = |evidence: &mut Evidence, reference: &str| {
            let entry = evidence.books.get_mut(reference).unwrap();
            entry.charges += 1;
        };
        assert_eq!(planted(|evidence| charge(evidence, "a")), doubled);
        // Under another reference the charge is a duplicate as well.
        let again = planted(|evidence| {
            let mut entry = evidence.books["a"].clone();
            entry.charges = 1;
            evidence.books.insert("d".to_owned(), entry);
        });
        assert_eq!(again, doubled);
        let submitted = planted(|evidence| evidence.books.get_mut("b").unwrap().requests = 2);
        assert_eq!(submitted, doubled);
        let unordered = planted(|evidence| {
            let entry = evidence.books.get_mut("b").unwrap();
            entry.transaction = "po_of_nobody".to_owned();
        });
        assert_eq!(unordered, doubled);
        assert_eq!(planted(|evidence| evidence.listed.1 += 1), doubled);
    }

    #[test]
    fn an_end_that_the_books_contradict_is_seen() {
        let unpaid = planted(|evidence| evidence.books.get_mut("a").unwrap().charges = 0);
        assert_eq!(unpaid, [Rule::EndAsInTheBooks]);
        let paid = planted(|evidence| evidence.books.get_mut("c").unwrap().charges = 1);
        assert_eq!(paid, [Rule::EndAsInTheBooks]);
    }

    #[test]
    fn an_end_that_only_faults_brought_about_is_seen() {
        let failed = |evidence: &mut Evidence| {
            status(evidence, PAID, Some("failed"));
            evidence.books.get_mut("a").unwrap().charges = 0;
            let key = |event: &str| (PAID.to_owned(), format!("payment.{event}"));
            let end = evidence.letters.remove(&key("success")).unwrap();
            evidence.letters.insert(key("failed"), end);
        };
        assert_eq!(planted(failed), [Rule::EndAsWithoutFaults]);
        let never_sent = planted(|evidence| {
            failed(evidence);
            evidence.never_sent.insert(PAID.to_owned());
        });
        assert_eq!(never_sent, []);
    }

    #[test]
    fn what_never_ends_is_seen() {
        let rules = planted(|evidence| {
            status(evidence, DECLINED, Some("pending"));
            let key = (DECLINED.to_owned(), "payout.failed".to_owned());
            evidence.letters.remove(&key);
        });
        assert_eq!(rules, [Rule::NothingStuck]);
        let stuck = planted(|evidence| evidence.stuck.push("po_x is due".to_owned()));
        assert_eq!(stuck, [Rule::NothingStuck]);
        let late = planted(|evidence| evidence.late.push("po_x".to_owned()));
        assert_eq!(late, [Rule::ResumedInTime]);
    }

    #[test]
    fn a_webhook_that_is_missing_is_seen() {
        for (id, event) in [
            (PAID, "initiated"),
            (PAID, "success"),
            (UNPAID, "initiated"),
        ] {
            let missing = planted(|evidence| letter(evidence, id, event).ids.clear());
            assert_eq!(missing, [Rule::WebhookCame], "{event} of {id}");
        }
    }

    #[test]
    fn a_webhook_under_two_names_and_a_name_of_two_webhooks_are_seen() {
        let twice = planted(|evidence| {
            let letter = letter(evidence, PAID, "success");
            letter.ids.insert("evt_once_more".to_owned());
        });
        assert_eq!(twice, [Rule::WebhookOnce]);
        let shared = planted(|evidence| {
            let ids = letter(evidence, PAID, "success").ids.clone();
            letter(evidence, DECLINED, "failed").ids = ids;
        });
        assert_eq!(shared, [Rule::WebhookOnce]);
    }

    #[test]
    fn a_webhook_that_says_what_is_not_so_is_seen() {
        let other = planted(|evidence| {
            let letter = letter(evidence, PAID, "failed");
            letter.ids.insert("evt_of_a_lie".to_owned());
        });
        assert_eq!(other, [Rule::WebhookTrue]);
        let body = planted(|evidence| {
            letter(evidence, PAID, "success").contradicts_itself = true;
        });
        assert_eq!(body, [Rule::WebhookTrue]);
    }

    #[test]
    fn a_webhook_out_of_order_is_seen_unless_it_waited_as_long_as_it_has_to() {
        let first = |evidence: &mut Evidence| letter(evidence, PAID, "initiated").first = 100;
        assert_eq!(planted(first), [Rule::WebhookInOrder]);
        let waited = planted(|evidence| {
            first(evidence);
            evidence.end_may_come_first.insert(PAID.to_owned());
        });
        assert_eq!(waited, []);
    }

    #[test]
    fn a_wrong_answer_a_panic_and_a_webhook_without_a_signature_are_seen() {
        let wrong = planted(|evidence| evidence.wrong_answers.push("500".to_owned()));
        assert_eq!(wrong, [Rule::AnswersRight]);
        let panicked = planted(|evidence| evidence.panics.push("panicked at".to_owned()));
        assert_eq!(panicked, [Rule::NoPanic]);
        assert_eq!(
            planted(|evidence| evidence.unsigned = 1),
            [Rule::WebhookSigned]
        );
    }
}
