//! Names of cases, which say how a reported amount differs, and the payments that are to be
//! returned.

use switchyard_core::directory::{Directory, phone};
use switchyard_core::ids::CaseId;
use switchyard_core::transaction::{Case, CaseReason, Difference, Transaction};

use super::labels::method_name;
use super::text::Text;

/// Name of a case of `tx`. It says so when a later report says the contrary.
pub fn case_name(tx: &Transaction, case: &Case, text: Text) -> String {
    let name = own_name(tx, case, text);
    match case.closed.is_none() && tx.is_superseded(case) {
        true => text.with("console-case-superseded", &[("name", &name)]),
        false => name,
    }
}

fn own_name(tx: &Transaction, case: &Case, text: Text) -> String {
    match Difference::of(tx, case) {
        Some(difference) => text.with(
            "console-case-difference",
            &[("difference", difference.word())],
        ),
        None if is_second_reversal(tx, case) => text.say("console-case-second-taken-back"),
        None => reason_name(case.reason, text),
    }
}

/// Whether a charge was taken back beside the success, which stands.
fn is_second_reversal(tx: &Transaction, case: &Case) -> bool {
    let is_reversal = case.reason == CaseReason::SuccessContradicted;
    is_reversal && tx.success_stands() && !tx.is_of_success(case)
}

/// Name of the case with this id, by its reason if the transaction has it no longer.
pub fn case_name_by_id(tx: &Transaction, id: CaseId, reason: CaseReason, text: Text) -> String {
    let case = tx.cases.iter().find(|case| case.id == id);
    case.map_or_else(
        || reason_name(reason, text),
        |case| case_name(tx, case, text),
    )
}

/// Name of the open case that matters most. `None`: no case is open.
pub fn attention_name(tx: &Transaction, text: Text) -> Option<String> {
    let reason = tx.attention()?;
    let mut open = tx.cases.iter().filter(|case| case.closed.is_none());
    let case = open.find(|case| case.reason == reason)?;
    Some(case_name(tx, case, text))
}

/// Name of a reason.
pub fn reason_name(reason: CaseReason, text: Text) -> String {
    text.say(&format!("console-case-{}", reason.as_str()))
}

/// The second payments of `tx`, which did not settle it: method, amount and masked number.
pub fn second_payments(tx: &Transaction, directory: &Directory, text: Text) -> Vec<String> {
    let payments = tx.second_payments().map(|(case, attempt)| {
        let method = Some(method_name(directory, tx.kind(), &attempt.method, text));
        let amount = Some(case.amount.map_or_else(
            || text.say("console-money-unreadable"),
            |amount| amount.with_code(text.language()),
        ));
        let number = attempt.phone.as_deref().map(phone::masked);
        let parts: Vec<_> = [method, amount, number].into_iter().flatten().collect();
        let what = parts.join(", ");
        let kind = tx.kind().as_str();
        text.with("console-second-payment", &[("kind", kind), ("what", &what)])
    });
    payments.collect()
}

#[cfg(test)]
mod tests {
    use switchyard_core::language::Language;

    use super::*;

    #[test]
    fn each_difference_of_an_amount_has_words_of_its_own() {
        for language in Language::ALL {
            let text = Text(language);
            let words = [
                "less",
                "same",
                "more",
                "currency",
                "contradicting",
                "unreadable",
            ];
            let names =
                words.map(|word| text.with("console-case-difference", &[("difference", word)]));
            let distinct: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), words.len(), "{names:?}");
        }
    }
}
