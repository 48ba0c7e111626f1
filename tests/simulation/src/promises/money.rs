//! Promises about money: the engine's statements compared with the providers' ledgers.

use std::collections::{BTreeMap, BTreeSet};

use super::{Charge, Evidence, Stored, StoredAttempt};

/// Counts only charges without a lie: a charge that the provider lied about is the provider's
/// responsibility.
pub fn charged_once(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut charges: BTreeMap<&str, Vec<&Charge>> = BTreeMap::new();
    for charge in evidence.charges.iter().filter(|charge| !charge.lied) {
        charges.entry(&charge.transaction).or_default().push(charge);
    }
    for (transaction, charges) in charges {
        // A reversed charge does not count, since another one may replace it.
        let kept: Vec<_> = charges.iter().filter(|charge| !charge.taken_back).collect();
        if kept.len() > 1 {
            let references: Vec<_> = kept.iter().map(|charge| &charge.reference).collect();
            broken.push(format!(
                "{transaction} is charged {} times: {references:?}",
                kept.len()
            ));
        }
    }
}

/// No attempt begins once the engine has recorded money for another one, regardless of earlier
/// statements of the provider.
pub fn nothing_begins_after_known_money(evidence: &Evidence, broken: &mut Vec<String>) {
    for stored in &evidence.stored {
        for reference in &stored.begun_after_money {
            broken.push(format!(
                "{reference} of {} began after money was recorded for another attempt",
                stored.id
            ));
        }
    }
}

/// A second charge under another id, an amount above the ordered one, and money for a second
/// attempt each open a case. Only messages that the engine certainly received count.
pub fn surplus_money_opens_a_case(evidence: &Evidence, broken: &mut Vec<String>) {
    for told in evidence.callings.iter().filter(|told| told.was_taken()) {
        let Some((stored, attempt)) = about(evidence, &told.reference) else {
            continue;
        };
        // An id that another attempt has proves nothing; the engine then only queries.
        let own = told.body.contains(&format!("-{}", told.reference));
        let known = attempt.provider_id.as_deref();
        let another =
            own && attempt.state == "succeeded" && known.is_some_and(|id| !told.names_id(id));
        let more = stored.status == "success"
            && evidence.charges.iter().any(|charge| {
                charge.reference == attempt.reference && charge.minor > attempt.minor
            });
        let wants = told.status == "paid" && stored.is_final && (another || more);
        if wants && !stored.has_case(&attempt.reference) {
            broken.push(format!(
                "{} was told of more money for {} than it has a use for, and there is no case",
                stored.id, attempt.reference
            ));
        }
    }
}

/// A reference is submitted once. Only a request that did not leave may be submitted again under
/// it.
pub fn submitted_once(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for sent in evidence
        .sent
        .iter()
        .filter(|sent| sent.submits && sent.left)
    {
        *left.entry(&sent.reference).or_default() += 1;
    }
    for (reference, times) in left.into_iter().filter(|(_, times)| *times > 1) {
        broken.push(format!("{reference} is submitted {times} times"));
    }
}

/// Money that contradicts an end opens a case. Only messages that the engine received count.
pub fn contradictions_open_cases(evidence: &Evidence, broken: &mut Vec<String>) {
    for told in &evidence.callings {
        if !told.was_taken() {
            continue;
        }
        let Some((stored, attempt)) = about(evidence, &told.reference) else {
            continue;
        };
        let contradicts = told.status == "paid" && stored.is_final && attempt.state != "succeeded";
        if contradicts && !stored.has_case(&attempt.reference) {
            broken.push(format!(
                "{} is {}, the provider told that {} was paid, and there is no case",
                stored.id, stored.status, attempt.reference
            ));
        }
    }
}

/// A provider that reports the reversal of an attempt recorded as succeeded opens a case.
///
/// The time of the message does not matter. Only certain messages count: an acknowledged callback,
/// or the response to a query that its gateway can process.
pub fn a_success_that_is_taken_back_opens_a_case(evidence: &Evidence, broken: &mut Vec<String>) {
    for taken_back in evidence.charges.iter().filter(|charge| charge.taken_back) {
        let reference = &taken_back.reference;
        let mut callings = evidence.callings.iter();
        let called = callings.any(|told| {
            told.reference == *reference && told.status == "declined" && told.was_taken()
        });
        let mut answers = evidence.answered.iter();
        let answered = answers.any(|answer| {
            answer.reference == *reference
                && answer.method == "GET"
                && answer.word.as_deref() == Some("declined")
                && evidence.was_dealt_with(answer.at)
        });
        let Some((stored, attempt)) = about(evidence, reference) else {
            continue;
        };
        // Callbacks arrive in any order: after a decline, the late success has a case.
        let place = |event: &str| stored.history.iter().position(|line| line.ends_with(event));
        let declined_first = place("AttemptDeclined")
            .is_some_and(|declined| Some(declined) < place("AttemptSucceeded"));
        let has = |reason: &str| {
            let case = (reference.clone(), reason.to_owned());
            stored.cases.contains(&case)
        };
        let has_case = has("success_contradicted") || (declined_first && has("late_success"));
        let wants = attempt.state == "succeeded" && (called || answered);
        if wants && !has_case {
            broken.push(format!(
                "{reference} of {} succeeded, its provider told that it took the money back, and there is no case",
                stored.id
            ));
        }
    }
}

/// Money of an amount that cannot be read opens a case, whatever the provider says later. Only
/// certain messages count: an acknowledged callback, or the response to a query that its gateway
/// can process.
pub fn an_unreadable_amount_opens_a_case(evidence: &Evidence, broken: &mut Vec<String>) {
    let callings = evidence.callings.iter();
    let called = callings.filter(|told| told.status == "part" && told.was_taken());
    let answers = evidence.answered.iter().filter(|answer| {
        answer.method == "GET"
            && answer.word.as_deref() == Some("part")
            && evidence.was_dealt_with(answer.at)
    });
    let told = called.map(|told| &told.reference);
    let told: BTreeSet<_> = told
        .chain(answers.map(|answer| &answer.reference))
        .collect();
    for reference in told {
        if let Some((stored, _)) = about(evidence, reference)
            && !stored.has_case(reference)
        {
            broken.push(format!(
                "{} was told of an unreadable amount for {reference}, and there is no case",
                stored.id
            ));
        }
    }
}

/// Attempts that succeeded under one id of their provider have a case about it each.
pub fn attempts_of_one_id_have_cases(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut of_id: BTreeMap<&str, Vec<(&Stored, &StoredAttempt)>> = BTreeMap::new();
    for stored in &evidence.stored {
        let succeeded = stored
            .attempts
            .iter()
            .filter(|one| one.state == "succeeded");
        for attempt in succeeded {
            if let Some(id) = &attempt.provider_id {
                of_id.entry(id).or_default().push((stored, attempt));
            }
        }
    }
    for (id, attempts) in of_id.into_iter().filter(|(_, attempts)| attempts.len() > 1) {
        for (stored, attempt) in attempts {
            let case = (
                attempt.reference.clone(),
                "ambiguous_provider_id".to_owned(),
            );
            if !stored.cases.contains(&case) {
                broken.push(format!(
                    "{} of {} shares its id {id}, and there is no case",
                    attempt.reference, stored.id
                ));
            }
        }
    }
}

/// An attempt ends as declined only if its provider said so, and as not sent only if nothing left
/// or the provider certainly never received it. A transaction that failed or was cancelled has
/// moved no money, unless its provider lied.
pub fn unknown_is_never_shown_as_failed(evidence: &Evidence, broken: &mut Vec<String>) {
    for stored in &evidence.stored {
        for attempt in &stored.attempts {
            let said = |word: &str| {
                evidence
                    .said
                    .iter()
                    .any(|said| said.reference == attempt.reference && said.status == word)
            };
            let told = |word: &str| {
                evidence.callings.iter().any(|told| {
                    told.signed && told.reference == attempt.reference && told.status == word
                })
            };
            let declined = said("declined") || said("busy") || told("declined") || told("busy");
            if attempt.state == "declined" && !declined {
                broken.push(format!(
                    "{} of {} is declined, and its provider never said so",
                    attempt.reference, stored.id
                ));
            }
            let left = evidence
                .sent
                .iter()
                .any(|sent| sent.reference == attempt.reference && sent.submits && sent.left);
            // A reference that never left is reused by the next attempt at the connection.
            let mut later = stored.attempts.iter().rev();
            let last = later.find(|later| later.reference == attempt.reference);
            let is_lent = last.is_some_and(|last| !std::ptr::eq(last, attempt));
            if attempt.state == "not_sent" && left && !said("unknown") && !is_lent {
                broken.push(format!(
                    "{} of {} left, and counts as not sent",
                    attempt.reference, stored.id
                ));
            }
        }
        if stored.status != "failed" && stored.status != "cancelled" {
            continue;
        }
        for charge in charges_of(evidence, stored) {
            if !charge.lied && !charge.taken_back {
                broken.push(format!(
                    "{} is {}, and {} was charged for it",
                    stored.id, stored.status, charge.reference
                ));
            }
        }
    }
}

/// A success is in the provider's ledger, in full. A provider that uses one id for several attempts
/// may vouch for the money of another one by it: a case says so.
pub fn success_is_in_the_books(evidence: &Evidence, broken: &mut Vec<String>) {
    for stored in evidence
        .stored
        .iter()
        .filter(|stored| stored.status == "success")
    {
        let succeeded = stored
            .attempts
            .iter()
            .find(|attempt| attempt.state == "succeeded");
        let Some(attempt) = succeeded else {
            broken.push(format!(
                "{} is a success without an attempt that succeeded",
                stored.id
            ));
            continue;
        };
        let covers = |charge: &&Charge| {
            charge.reference == attempt.reference
                && charge.currency == attempt.currency
                && charge.minor >= attempt.minor
        };
        let case = (
            attempt.reference.clone(),
            "ambiguous_provider_id".to_owned(),
        );
        let is_in_question = stored.cases.contains(&case);
        if !is_in_question && charges_of(evidence, stored).find(covers).is_none() {
            broken.push(format!(
                "{} is a success, and the books have no charge that covers it",
                stored.id
            ));
        }
    }
}

/// A payment is charged exactly the amount that the payer confirmed, whatever the rates do in the
/// meantime.
pub fn asked_as_agreed(evidence: &Evidence, broken: &mut Vec<String>) {
    for sent in evidence.sent.iter().filter(|sent| sent.submits) {
        let Some((stored, _)) = about(evidence, &sent.reference) else {
            continue;
        };
        let mut agreed = evidence.agreed.iter();
        let fits = match stored.id.starts_with("po_") {
            true => sent.minor == stored.minor,
            false => agreed.any(|agreed| {
                agreed.transaction == stored.id
                    && agreed.minor == sent.minor
                    && agreed.currency == sent.currency
            }),
        };
        if !fits {
            broken.push(format!(
                "{} of {} asks for {} {}, which nobody agreed to",
                sent.reference, stored.id, sent.minor, sent.currency
            ));
        }
    }
}

/// An attempt in another currency has the transaction's amount at the attempt's own rate, rounded
/// up by less than a unit. An attempt in the same currency has the transaction's amount.
pub fn the_rate_is_the_one_that_was_fixed(evidence: &Evidence, broken: &mut Vec<String>) {
    for stored in &evidence.stored {
        for attempt in &stored.attempts {
            let fits = match &attempt.rate {
                None => attempt.minor == stored.minor,
                Some(rate) => in_francs(stored.minor, rate)
                    .is_some_and(|(least, most)| (least..=most).contains(&attempt.minor)),
            };
            if !fits {
                broken.push(format!(
                    "{} of {} is {} {} for {} cents at {:?}",
                    attempt.reference,
                    stored.id,
                    attempt.minor,
                    attempt.currency,
                    stored.minor,
                    attempt.rate
                ));
            }
        }
    }
}

/// Converts cents to francs at `rate` (`601.25`), as a minimum and a maximum. Computed in integers,
/// independently of the engine.
fn in_francs(cents: i64, rate: &str) -> Option<(i64, i64)> {
    let (whole, part) = rate.split_once('.').unwrap_or((rate, ""));
    let digits: i128 = format!("{whole}{part}").parse().ok()?;
    let unit = 100 * 10_i128.checked_pow(u32::try_from(part.len()).ok()?)?;
    let product = i128::from(cents).checked_mul(digits)?;
    let least = i64::try_from(product / unit).ok()?;
    let is_whole = product % unit == 0;
    Some((least, if is_whole { least } else { least + 1 }))
}

/// A request that can move money is in the journal before it leaves.
pub fn everything_sent_is_in_the_journal(evidence: &Evidence, broken: &mut Vec<String>) {
    let submissions = evidence
        .sent
        .iter()
        .filter(|sent| sent.submits && sent.left);
    for sent in submissions {
        match about(evidence, &sent.reference) {
            Some((_, attempt)) if attempt.journaled > 0 => {}
            Some((stored, _)) => {
                broken.push(format!(
                    "{} of {} left without a row in the journal",
                    sent.reference, stored.id
                ));
            }
            None => broken.push(format!(
                "{} left, and no attempt has this reference",
                sent.reference
            )),
        }
    }
}

/// A provider's response to any request is on the timeline with its status. Only responses that
/// were certainly written count.
pub fn everything_answered_is_in_the_journal(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut read: BTreeMap<(&str, (String, u16)), usize> = BTreeMap::new();
    let answers = evidence.answered.iter();
    for answer in answers.filter(|answer| evidence.was_dealt_with(answer.at)) {
        let kind = (answer.method.clone(), answer.status);
        *read.entry((&answer.reference, kind)).or_default() += 1;
    }
    for ((reference, kind), times) in read {
        let rows = about(evidence, reference).map_or(0, |(_, attempt)| {
            attempt.answers.iter().filter(|row| **row == kind).count()
        });
        if rows < times {
            let (method, status) = kind;
            broken.push(format!(
                "{times} answers {status} to {method} about {reference} were read, and the journal has {rows}"
            ));
        }
    }
}

/// Every request about a transaction goes to its environment. No connection's access token goes to
/// another provider, or to the other environment.
pub fn sandbox_never_touches_live(evidence: &Evidence, broken: &mut Vec<String>) {
    broken.extend(evidence.foreign_tokens.iter().cloned());
    for sent in &evidence.sent {
        if let Some((stored, _)) = about(evidence, &sent.reference)
            && stored.is_live != sent.is_live
        {
            broken.push(format!(
                "{} is asked about in the other environment ({})",
                stored.id, sent.reference
            ));
        }
    }
    for accepted in &evidence.accepted {
        if let Some(stored) = evidence.stored(&accepted.transaction)
            && stored.is_live != accepted.is_live
        {
            broken.push(format!("{} is stored in the other environment", stored.id));
        }
    }
}

fn charges_of<'e>(evidence: &'e Evidence, stored: &'e Stored) -> impl Iterator<Item = &'e Charge> {
    let of = |charge: &&Charge| charge.transaction == stored.id;
    evidence.charges.iter().filter(of)
}

fn about<'e>(evidence: &'e Evidence, reference: &str) -> Option<(&'e Stored, &'e StoredAttempt)> {
    evidence.stored.iter().find_map(|stored| {
        // An attempt that never left passes its reference to a later attempt.
        let mut latest = stored.attempts.iter().rev();
        let attempt = latest.find(|attempt| attempt.reference == reference)?;
        Some((stored, attempt))
    })
}
