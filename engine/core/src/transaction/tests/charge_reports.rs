//! Tables of reports about money and the charges of an attempt after them.

use super::fixtures::*;
use crate::money::{Amount, Currency};
use crate::transaction::attempt::{Attempt, AttemptState};
use crate::transaction::charges::{self, Charge, MoneyReport};
use crate::transaction::outcome::{Captured, Decline, Outcome};

fn moved(id: Option<&str>, minor: i64) -> MoneyReport {
    MoneyReport::Moved {
        provider_id: id.map(str::to_owned),
        amount: (minor > 0).then(|| amount(minor)),
    }
}

fn part(id: Option<&str>, minor: i64) -> MoneyReport {
    MoneyReport::Part {
        provider_id: id.map(str::to_owned),
        amount: amount(minor),
    }
}

fn back(id: Option<&str>) -> MoneyReport {
    MoneyReport::TakenBack {
        provider_id: id.map(str::to_owned),
    }
}

fn francs(id: &str, minor: i64) -> MoneyReport {
    MoneyReport::Part {
        provider_id: Some(id.to_owned()),
        amount: Amount::from_minor(minor, Currency::from_code("XOF").unwrap()),
    }
}

/// `P1 1000 part recorded back`; `-` for an id or an amount that is not known.
fn text(charges: &[Charge]) -> String {
    let one = |charge: &Charge| {
        let id = charge.id.as_deref().unwrap_or("-");
        let amount = match charge.amount {
            Some(amount) if amount.currency().code() == "USD" => amount.minor().to_string(),
            Some(amount) => format!("{} {}", amount.currency().code(), amount.minor()),
            None => "-".to_owned(),
        };
        let mut words = vec![id.to_owned(), amount];
        let marks = [
            (charge.is_part, "part"),
            (charge.is_recorded, "recorded"),
            (charge.is_disputed(), "disputed"),
            (charge.is_taken_back, "back"),
        ];
        words.extend(marks.iter().filter(|mark| mark.0).map(|mark| mark.1.into()));
        words.join(" ")
    };
    charges.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn after(reports: &[MoneyReport]) -> Vec<Charge> {
    let mut charges = Vec::new();
    for report in reports {
        charges::apply(&mut charges, report);
    }
    charges
}

/// A pending attempt that the provider knows as `id`, after reports about its money.
fn attempt(id: Option<&str>, reports: &[MoneyReport]) -> Attempt {
    let mut world = World::payment();
    world.apply(confirm(1)).unwrap();
    world.answer(pending()).unwrap();
    let mut attempt = world.tx.attempts.remove(0);
    attempt.provider_id = id.map(str::to_owned);
    attempt.charges = after(reports);
    attempt
}

const P1: Option<&str> = Some("P1");
const P2: Option<&str> = Some("P2");

#[test]
fn the_largest_report_under_an_id_counts() {
    let table: [(&[MoneyReport], &str); 11] = [
        (&[moved(P1, 1_000)], "P1 1000"),
        (&[moved(P1, 1_000), moved(P1, 700)], "P1 1000 disputed"),
        (&[moved(P1, 700), moved(P1, 1_000)], "P1 1000"),
        (&[moved(P1, 1_000), moved(P1, 0)], "P1 1000"),
        (&[moved(P1, 0), moved(P1, 1_000)], "P1 1000"),
        (&[moved(P1, 0)], "P1 -"),
        (&[moved(P1, 1_000), moved(P2, 700)], "P1 1000, P2 700"),
        (&[moved(None, 1_000), moved(P1, 1_000)], "P1 1000"),
        (
            &[moved(None, 1_000), moved(P1, 700), moved(P2, 5)],
            "P1 1000 disputed, P2 5",
        ),
        (&[moved(P1, 1_000), moved(None, 700)], "P1 1000 disputed"),
        (
            &[moved(P1, 1_000), moved(P2, 700), moved(None, 5)],
            "P1 1000, P2 700",
        ),
    ];
    for (reports, charges) in table {
        assert_eq!(text(&after(reports)), charges, "{reports:?}");
    }
}

#[test]
fn a_part_grows_until_the_provider_has_finished() {
    let table: [(&[MoneyReport], &str); 9] = [
        (&[part(P1, 500)], "P1 500 part"),
        (&[part(P1, 500), part(P1, 400)], "P1 500 part"),
        (&[part(P1, 500), part(P1, 700)], "P1 700 part"),
        (&[part(P1, 500), moved(P1, 400)], "P1 500 disputed"),
        (&[moved(P1, 1_000), part(P1, 500)], "P1 1000"),
        (&[moved(P1, 1_000), part(P1, 1_500)], "P1 1500 disputed"),
        (
            &[part(P1, 500), francs("P1", 400)],
            "P1 XOF 400 part disputed",
        ),
        (&[moved(P1, 500), francs("P1", 400)], "P1 XOF 400 disputed"),
        (&[moved(P1, 0), part(P1, 400)], "P1 400"),
    ];
    for (reports, charges) in table {
        assert_eq!(text(&after(reports)), charges, "{reports:?}");
    }
}

#[test]
fn money_that_was_taken_back_is_there_again_only_with_another_amount() {
    let table: [(&[MoneyReport], &str); 12] = [
        (&[back(P1)], ""),
        (&[back(None)], ""),
        (&[moved(P1, 1_000), back(P1)], "P1 1000 back"),
        (&[moved(P1, 1_000), back(P2)], "P1 1000"),
        (&[moved(P1, 1_000), back(None)], "P1 1000 back"),
        (&[moved(None, 1_000), back(P1)], "P1 1000 back"),
        (
            &[moved(P1, 1_000), back(P1), moved(P1, 1_000)],
            "P1 1000 back",
        ),
        (&[moved(P1, 1_000), back(P1), moved(P1, 0)], "P1 1000 back"),
        (&[moved(P1, 1_000), back(P1), moved(P1, 700)], "P1 700"),
        (
            &[moved(P1, 1_000), moved(P2, 5), back(None)],
            "P1 1000, P2 5 back",
        ),
        (
            &[moved(P1, 1_000), moved(P2, 5), back(None), back(None)],
            "P1 1000, P2 5 back",
        ),
        (
            &[part(P1, 500), back(P1), part(P1, 400)],
            "P1 500 part back",
        ),
    ];
    for (reports, charges) in table {
        assert_eq!(text(&after(reports)), charges, "{reports:?}");
    }
}

#[test]
fn the_amount_with_which_an_attempt_succeeded_stands() {
    let table: [(Option<&str>, &[MoneyReport], &str); 7] = [
        (None, &[], "- 2500 recorded"),
        (P1, &[], "P1 2500 recorded"),
        (P1, &[part(P1, 500)], "P1 2500 recorded"),
        (P1, &[moved(None, 500)], "P1 2500 recorded"),
        (P1, &[moved(P1, 500), back(P1)], "P1 2500 recorded"),
        (P2, &[moved(P1, 500)], "P1 500, P2 2500 recorded"),
        (
            None,
            &[moved(P1, 500), moved(P2, 5), back(P2)],
            "P1 2500 recorded, P2 5 back",
        ),
    ];
    for (id, reports, charges) in table {
        let mut attempt = attempt(id, reports);
        charges::record(&mut attempt, amount(2_500), None);
        assert_eq!(text(&attempt.charges), charges, "{id:?} {reports:?}");
        let recorded = attempt.charges.len() - 1;
        let known = attempt.charges[recorded].id.clone();
        if attempt.charges[recorded].is_recorded {
            charges::apply(&mut attempt.charges, &moved(known.as_deref(), 700));
            assert_eq!(text(&attempt.charges), charges, "and 700 later");
        }
    }
}

#[test]
fn an_open_attempt_has_the_largest_sum_that_an_answer_names() {
    let table: [(Option<&str>, &[MoneyReport], i64, &str); 11] = [
        (P1, &[], 500, "P1 500 part"),
        (P1, &[], 0, ""),
        (P1, &[part(P1, 500)], 400, "P1 500 part"),
        (P1, &[part(P1, 500)], 0, ""),
        (P1, &[part(P1, 500), back(P1)], 0, "P1 500 part back"),
        (P1, &[part(P1, 500), back(P1)], 700, "P1 700 part"),
        (P1, &[moved(P1, 500)], 0, "P1 500"),
        (P1, &[moved(P1, 500)], 700, "P1 700 disputed"),
        (P2, &[moved(P1, 500)], 0, "P1 500"),
        (P2, &[moved(P1, 500)], 700, "P1 500, P2 700 part"),
        (None, &[moved(P1, 500), moved(P2, 5)], 700, "P1 500, P2 5"),
    ];
    for (id, reports, sum, charges) in table {
        let mut attempt = attempt(id, reports);
        charges::apply_pending(&mut attempt, amount(sum));
        assert_eq!(text(&attempt.charges), charges, "{id:?} {reports:?} {sum}");
    }
}

fn outcome(kind: &str, id: Option<&str>) -> Outcome {
    let id = id.map(str::to_owned);
    let mut outcome = match kind {
        "success" => succeeded(),
        "pending" => pending(),
        "decline" => declined(false),
        "not sent" => return not_sent(),
        _ => return unknown(),
    };
    match &mut outcome {
        Outcome::Succeeded { provider_id, .. }
        | Outcome::Pending { provider_id, .. }
        | Outcome::Declined(Decline { provider_id, .. }) => *provider_id = id,
        Outcome::NotSent { .. } | Outcome::Unknown { .. } => {}
    }
    outcome
}

fn id_of(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Succeeded { provider_id, .. }
        | Outcome::Pending { provider_id, .. }
        | Outcome::Declined(Decline { provider_id, .. }) => provider_id.as_deref(),
        Outcome::NotSent { .. } | Outcome::Unknown { .. } => None,
    }
}

#[test]
fn a_report_without_an_id_is_about_the_only_charge_that_it_can_be_about() {
    use AttemptState::{Declined, Pending};
    let one = &[moved(P1, 500)][..];
    let two = &[moved(P1, 500), moved(P2, 5), back(P2)][..];
    let table = [
        ("success", Pending, P2, &[][..], None, P2),
        ("success", Pending, P2, one, None, P1),
        ("success", Pending, P2, two, None, None),
        ("success", Pending, P1, one, P2, P2),
        ("success", Declined, P2, one, None, P1),
        ("pending", Pending, P2, one, None, None),
        ("pending", Declined, P2, one, None, P1),
        ("pending", Declined, P2, &[], None, P2),
        ("pending", Declined, P2, two, None, None),
        ("decline", Pending, P2, &[], None, None),
        ("decline", Pending, P2, one, None, P1),
        ("decline", Declined, P2, two, None, None),
        ("decline", Declined, P2, two, P2, P2),
        ("not sent", Pending, P2, one, None, None),
        ("unknown", Pending, P2, one, None, None),
    ];
    for (kind, state, known, reports, id, named) in table {
        let mut attempt = attempt(known, reports);
        attempt.state = state;
        let outcome = charges::named(&attempt, outcome(kind, id), Some(START));
        assert_eq!(
            id_of(&outcome),
            named,
            "{kind} {state:?} {reports:?} {id:?}"
        );
    }
}

#[test]
fn a_report_that_changes_a_charge_is_news_and_one_that_repeats_it_is_not() {
    let two_back = &[moved(P1, 500), moved(P2, 5), back(P1), back(P2)][..];
    let table: [(&[MoneyReport], MoneyReport, bool, bool); 20] = [
        (&[], moved(P1, 500), true, false),
        (&[], moved(None, 500), true, false),
        (&[moved(P1, 500)], moved(P1, 500), false, true),
        (&[moved(P1, 500)], moved(None, 500), false, true),
        (&[moved(P1, 500)], moved(P1, 700), true, false),
        (&[moved(P1, 500)], moved(P1, 400), true, false),
        (
            &[moved(P1, 500), moved(P1, 400)],
            moved(P1, 300),
            true,
            false,
        ),
        (
            &[moved(P1, 500), moved(P1, 400), moved(P1, 300)],
            moved(P1, 400),
            false,
            true,
        ),
        (&[moved(P1, 500)], moved(P2, 500), true, false),
        (
            &[moved(P1, 500), moved(P2, 5)],
            moved(None, 5),
            false,
            false,
        ),
        (&[part(P1, 500)], part(P1, 400), false, true),
        (&[part(P1, 500)], moved(P1, 500), true, false),
        (&[], back(None), false, false),
        (&[], back(P1), false, false),
        (&[moved(P1, 500)], back(None), true, false),
        (&[moved(P1, 500)], back(P1), true, false),
        (&[moved(P1, 500)], back(P2), false, false),
        (&[moved(P1, 500), back(P1)], back(P1), false, true),
        (two_back, back(None), false, true),
        (
            &[moved(P1, 500), back(P1), moved(P2, 5)],
            back(None),
            false,
            false,
        ),
    ];
    for (reports, report, is_news, is_repeated) in table {
        let attempt = attempt(P1, reports);
        assert_eq!(report.is_news(&attempt), is_news, "{reports:?} {report:?}");
        let is_same = report.is_repeated(&attempt);
        assert_eq!(is_same, is_repeated, "{reports:?} {report:?}");
    }
}

#[test]
fn a_report_may_be_about_a_charge_unless_both_name_an_id_and_the_ids_differ() {
    for (of_charge, of_report, may_be) in [
        (None, None, true),
        (P1, None, true),
        (None, P1, true),
        (P1, P1, true),
        (P1, P2, false),
    ] {
        let charge = &after(&[moved(of_charge, 500)])[0];
        assert_eq!(
            charge.is_under(of_report),
            may_be,
            "{of_charge:?} {of_report:?}"
        );
    }
}

#[test]
fn an_answer_reports_money_only_if_it_names_some() {
    let attempt = attempt(P2, &[]);
    let success = |captured| Outcome::Succeeded {
        provider_id: Some("P1".to_owned()),
        amount: captured,
        fees: None,
        provider_status: None,
    };
    let seen = |minor, id: Option<&str>| Outcome::Pending {
        provider_id: id.map(str::to_owned),
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: Some(amount(minor)),
    };
    for (outcome, report) in [
        (success(Captured::Named(amount(700))), Some(moved(P1, 700))),
        (success(Captured::AsAsked), Some(moved(P1, 2_500))),
        (success(Captured::Unreadable), Some(moved(P1, 0))),
        (seen(1, P1), Some(part(P1, 1))),
        (seen(1, None), Some(part(P2, 1))),
        (seen(0, P1), None),
        (pending(), None),
        (declined(true), Some(back(None))),
        (outcome("decline", P1), Some(back(P1))),
        (not_sent(), None),
        (unknown(), None),
    ] {
        assert_eq!(MoneyReport::of(&attempt, &outcome), report, "{outcome:?}");
    }
}

#[test]
fn the_amount_after_a_report_is_that_of_the_charge_which_it_is_about() {
    let two = &[moved(P1, 1_000), moved(P2, 700)][..];
    for (reports, report, minor) in [
        (two, part(P2, 500), Some(700)),
        (two, part(P2, 900), Some(900)),
        (two, moved(P1, 500), Some(1_000)),
        (two, moved(Some("P3"), 5), Some(5)),
        (two, moved(None, 5), None),
        (&two[..1], moved(None, 5), Some(1_000)),
        (&[], part(P1, 5), Some(5)),
        (&[], back(P1), None),
    ] {
        let after = charges::amount_after(&attempt(P1, reports), &report);
        assert_eq!(after.map(Amount::minor), minor, "{reports:?} {report:?}");
    }
}
