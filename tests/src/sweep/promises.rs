//! What has to hold when the killing is over, as a pure function of what was seen. Who gathers it waits until nothing moves any more:
//! here nothing is "not yet".

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::callbacks::{self, StoredCallbacks};
use super::inbox::Letters;
use super::load::{Fate, Promise};
use crate::provider::{Books, Calls};

/// What was seen from outside: by the clients, by the provider, by the merchant's inbox.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// By id, what a 201 has promised.
    pub made: BTreeMap<String, Promise>,
    /// By id, the status that the merchant is told; none when nobody knows the id.
    pub statuses: BTreeMap<String, Option<String>>,
    /// How many payments, and how many payouts the merchant's lists have.
    pub listed: (u64, u64),
    pub books: Books,
    /// The callbacks of the provider, as it saw them.
    pub calls: Calls,
    /// The same, as the program stored them.
    pub callbacks: StoredCallbacks,
    pub letters: Letters,
    /// Webhooks without the right signature.
    pub unsigned: usize,
    /// Failed, says the program, since nothing was sent.
    pub never_sent: BTreeSet<String>,
    /// The first event was tried in vain, and its end waited for it as long as it has to.
    pub end_may_come_first: BTreeSet<String>,
    /// What was answered and should not have been.
    pub wrong_answers: Vec<String>,
    /// Open at a kill, and not taken up in time after the start.
    pub late: Vec<String>,
    /// Due, and not looked at.
    pub stuck: Vec<String>,
    /// What the program printed when it panicked.
    pub panics: Vec<String>,
}

/// A promise, and what broke it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    pub rule: Rule,
    pub what: String,
}

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// What was answered with 201 is there.
    NothingLost,
    /// Money moves once at most, and nothing is there that nobody ordered.
    NothingDoubled,
    /// The end is the one that the provider's books have.
    EndAsInTheBooks,
    /// The end is the one of the history without faults.
    EndAsWithoutFaults,
    /// Everything ends that somebody goes on with.
    NothingStuck,
    /// No submission between a restore and its release.
    HeldSendsNothing,
    /// The report after a restore names the span of every lost transaction.
    LostSpanIsNamed,
    /// An idempotency key from before a backup is known after its restore.
    KeyIsKnown,
    /// Answers take at most a few times as long during a backup.
    BackupIsQuiet,
    /// What was open is at work again soon after a start.
    ResumedInTime,
    /// No event is missing.
    WebhookCame,
    /// An event has one id, and an id one event.
    WebhookOnce,
    /// No event says what is not so.
    WebhookTrue,
    /// Events of one transaction come in their order.
    WebhookInOrder,
    WebhookSigned,
    /// Each callback that was acknowledged is stored, and none is that was not sent.
    CallbackKept,
    /// Each that is stored was dealt with as news of its own transaction, and believed if it was signed.
    CallbackDealtWith,
    /// What an acknowledged callback was about has ended as it says.
    CallbackCounts,
    /// Clients see no answer that the contract has not.
    AnswersRight,
    NoPanic,
}

/// Promises that were broken: what a judge says instead of figures. Any other error of a judge means that it could not find out.
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

/// Every promise that this evidence shows broken.
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

/// By transaction, how often money moved.
pub(super) fn moved(books: &Books) -> BTreeMap<&str, u32> {
    let mut moved = BTreeMap::new();
    for entry in books.values() {
        *moved.entry(entry.transaction.as_str()).or_default() += entry.charges;
    }
    moved
}

/// Breaks that were noted when they were observed.
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
        let what = format!("{id} is {status}, and without faults it were {wanted}");
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

/// Of what is at rest the first event and the end came, each under one id, in this order, and no other.
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

/// What an event of this transaction begins with.
pub(super) fn kind(id: &str) -> &'static str {
    match id.starts_with("po_") {
        true => "payout",
        false => "payment",
    }
}

impl Fate {
    /// The public status of what has met it.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Initiated => "initiated",
        }
    }
}

/// All that an event can say, the first one first.
const ENDS: [&str; 4] = ["initiated", "success", "failed", "cancelled"];
/// Breaks of one rule that are printed; the first ones tell enough.
const SHOWN: usize = 5;

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::provider::Entry;
    use crate::sweep::inbox::Letter;

    pub(in crate::sweep) const PAID: &str = "py_paid";
    const DECLINED: &str = "po_declined";
    pub(in crate::sweep) const UNPAID: &str = "py_unpaid";

    /// One that was paid, one that was declined at both connections, one that nobody paid.
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
                let letter = Letter {
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
            };
            evidence.books.insert(reference.to_owned(), entry);
        }
        evidence
    }

    /// Which promises are broken once this was planted.
    fn planted(plant: impl FnOnce(&mut Evidence)) -> Vec<Rule> {
        let mut evidence = sound();
        plant(&mut evidence);
        let rules = Broken(broken(&evidence)).rules();
        rules.into_iter().collect()
    }

    fn letter<'e>(evidence: &'e mut Evidence, id: &str, event: &str) -> &'e mut Letter {
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
        // Under another reference, it is no less a double.
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
