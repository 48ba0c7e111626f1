//! Manual resolution on pages: its form, the entered outcome as facts, and the effects that it would
//! have.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use switchyard_core::transaction::{Attempt, Case, Operator, State, Transaction};
use switchyard_engine::engine::ResolutionPreview;

use super::super::case_names::case_name;
use super::super::form::Fields;
use super::super::labels;
use super::super::page::Page;
use super::super::problems::Problems;
use super::super::text::Text;
use super::dashboard::environment;
use super::view::{Alert, Choice, Fact, Form, Input, Section};
use crate::operator::Refused;
use crate::operator::contract::NumberOrText;
use crate::operator::contract::transactions::{Resolve, ResolveOutcome};
use crate::operator::manual_resolution::checked;

/// Outcomes with their names in forms.
const OUTCOMES: [(ResolveOutcome, &str); 3] = [
    (ResolveOutcome::Succeeded, "succeeded"),
    (ResolveOutcome::Failed, "failed"),
    (ResolveOutcome::NeverSent, "never_sent"),
];

const fn outcome_message(outcome: ResolveOutcome) -> &'static str {
    match outcome {
        ResolveOutcome::Succeeded => "console-outcome-succeeded",
        ResolveOutcome::Failed => "console-outcome-failed",
        ResolveOutcome::NeverSent => "console-outcome-never-sent",
    }
}

/// Whether a person may enter the outcome of an attempt now.
pub const fn can_resolve(tx: &Transaction) -> bool {
    matches!(
        tx.state,
        State::AwaitingProvider | State::InDoubt | State::OnHold
    )
}

/// Reads the entered outcome. An unknown outcome or attempt is an error of its field.
pub fn asked(page: &Page, fields: &Fields) -> Result<Resolve, Problems> {
    let text = page.text();
    let chosen = fields.text("outcome");
    let outcome = OUTCOMES.iter().find(|(_, name)| *name == chosen);
    let Some((outcome, _)) = outcome else {
        let missing = text.say("console-outcome-missing");
        return Err(Problems::one("outcome", missing));
    };
    let attempt = match fields.text("attempt") {
        "" => None,
        id => match id.parse() {
            Ok(id) => Some(id),
            Err(_) => {
                let unknown = text.say("console-attempt-unknown");
                return Err(Problems::one("attempt", unknown));
            }
        },
    };
    let given = |name: &str| Some(fields.text(name).to_owned()).filter(|text| !text.is_empty());
    Ok(Resolve {
        outcome: *outcome,
        note: fields.text("note").to_owned(),
        attempt,
        amount: given("amount").map(NumberOrText::Text),
        provider_id: given("provider_id"),
        another_charge: given("another_charge").is_some(),
        surplus: given("surplus").is_some(),
        message: given("message"),
    })
}

/// The entered outcome as hidden fields of the next form.
pub fn hidden(asked: &Resolve) -> Vec<(&'static str, String)> {
    let outcome = OUTCOMES.iter().find(|(one, _)| *one == asked.outcome);
    let flag = |is_set: bool| is_set.then(|| "yes".to_owned());
    let fields = [
        ("outcome", outcome.map(|(_, name)| (*name).to_owned())),
        ("note", Some(asked.note.clone())),
        ("attempt", asked.attempt.map(|id| id.to_string())),
        ("amount", asked.amount.as_ref().map(ToString::to_string)),
        ("provider_id", asked.provider_id.clone()),
        ("another_charge", flag(asked.another_charge)),
        ("surplus", flag(asked.surplus)),
        ("message", asked.message.clone()),
    ];
    let given = fields.into_iter();
    given
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The form for an outcome.
pub fn form(page: &Page, tx: &Transaction, typed: Option<&Fields>, problems: &Problems) -> Form {
    let text = page.text();
    let kept = |name: &str| typed.map_or("", |typed| typed.text(name));
    let line = |name: &str, label: &str, hint: &str| {
        let input = Input::line(page, name, label, kept(name));
        problems.beside(input.with_hint(Some(text.say(hint))))
    };
    let flag = |name: &str, label: &str, hint: &str| {
        let input = Input::checkbox(page, name, label, hint, !kept(name).is_empty());
        problems.beside(input)
    };
    let mut inputs = vec![outcomes_input(page, kept("outcome"), problems)];
    if tx.attempts.len() > 1 {
        inputs.push(attempts_input(page, tx, kept("attempt"), problems));
    }
    let note = Input::text(page, "note", "console-evidence-note", kept("note"));
    let note = note.with_hint(Some(text.say("console-evidence-note-hint")));
    inputs.extend([
        line(
            "provider_id",
            "console-resolve-provider-id",
            "console-resolve-provider-id-hint",
        ),
        line(
            "amount",
            "console-resolve-amount",
            "console-resolve-amount-hint",
        ),
        flag(
            "surplus",
            "console-resolve-surplus",
            "console-resolve-surplus-hint",
        ),
        flag(
            "another_charge",
            "console-resolve-another",
            "console-resolve-another-hint",
        ),
        line(
            "message",
            "console-resolve-message",
            "console-resolve-message-hint",
        ),
        problems.beside(note),
    ]);
    Form {
        name: "check",
        inputs,
        label: text.say("console-continue"),
        hint: Some(text.say("console-resolve-next")),
        is_primary: true,
        ..Form::default()
    }
}

fn outcomes_input(page: &Page, chosen: &str, problems: &Problems) -> Input {
    let text = page.text();
    let none = Choice {
        value: String::new(),
        name: "–".to_owned(),
        is_chosen: chosen.is_empty(),
    };
    let outcomes = OUTCOMES.iter().map(|(outcome, name)| Choice {
        value: (*name).to_owned(),
        name: text.say(outcome_message(*outcome)),
        is_chosen: *name == chosen,
    });
    let options = std::iter::once(none).chain(outcomes).collect();
    let input = Input::select(page, "outcome", "console-outcome", options).required();
    problems.beside(input)
}

fn attempts_input(page: &Page, tx: &Transaction, chosen: &str, problems: &Problems) -> Input {
    let text = page.text();
    let open = Choice {
        value: String::new(),
        name: text.say("console-attempt-open"),
        is_chosen: chosen.is_empty(),
    };
    let attempts = tx.attempts.iter().enumerate().map(|(at, attempt)| Choice {
        value: attempt.id.to_string(),
        name: format!("{}. {}", at + 1, attempt_name(attempt)),
        is_chosen: attempt.id.to_string() == chosen,
    });
    let options = std::iter::once(open).chain(attempts).collect();
    problems.beside(Input::select(page, "attempt", "console-attempt", options))
}

fn attempt_name(attempt: &Attempt) -> String {
    format!(
        "{}, {}",
        attempt.candidate.gateway, attempt.candidate.account_name
    )
}

/// The known facts about the transaction, for the person who decides.
pub fn evidence(page: &Page, tx: &Transaction) -> Section {
    let text = page.text();
    let write = |amount: switchyard_core::money::Amount| amount.with_code(text.language());
    let app = page.state.engine().access().app(tx.app);
    let app = app.map_or_else(|| tx.app.to_string(), |app| app.name.clone());
    let mut facts = vec![
        Fact::new(page, "console-app", app),
        Fact::new(
            page,
            "console-environment",
            environment(tx.environment, text),
        ),
        Fact::new(page, "console-amount", write(tx.amount)),
        Fact::new(page, "console-status", labels::badge(tx, text).word),
        Fact::new(page, "console-money", labels::about_money(tx, text)),
    ];
    for (at, attempt) in tx.attempts.iter().enumerate() {
        let number = [("number", &*(at + 1).to_string())];
        let mut parts = vec![attempt_name(attempt), write(attempt.amount)];
        let id = attempt.provider_id.as_ref();
        parts.extend(id.map(|id| text.with("console-attempt-id", &[("id", id)])));
        parts.extend(attempt.charges.iter().filter_map(|charge| {
            let amount = write(charge.amount?);
            let id = charge.id.as_deref().unwrap_or("–");
            let others: Vec<_> = charge.contradicting.iter().copied().map(write).collect();
            let other = others.join(", ");
            let state = match (charge.is_taken_back, charge.is_disputed()) {
                (true, _) => "back",
                (false, true) => "other",
                (false, false) => "stands",
            };
            let values = [
                ("amount", amount.as_str()),
                ("id", id),
                ("state", state),
                ("other", &other),
            ];
            Some(text.with("console-attempt-reported", &values))
        }));
        facts.push(Fact {
            name: text.with("console-attempt-number", &number),
            value: parts.join("; "),
        });
    }
    Section {
        title: Some(text.say("console-evidence")),
        facts,
        ..Section::default()
    }
}

/// The entered outcome.
pub fn entered(page: &Page, tx: &Transaction, asked: &Resolve) -> Section {
    let text = page.text();
    let mut facts = vec![Fact::new(
        page,
        "console-outcome",
        text.say(outcome_message(asked.outcome)),
    )];
    let attempt = asked.attempt.and_then(|id| tx.attempt(id));
    if let Some(attempt) = attempt {
        let name = format!("{}; {}", attempt_name(attempt), attempt.reference);
        facts.push(Fact::new(page, "console-attempt", name));
    }
    if let Some(amount) = &asked.amount {
        let currency = attempt
            .map_or(tx.amount, |attempt| attempt.amount)
            .currency();
        let amount = format!("{} {amount}", currency.code());
        facts.push(Fact::new(page, "console-resolve-amount", amount));
    }
    let mut add = |name: &str, value: &Option<String>| {
        if let Some(value) = value {
            facts.push(Fact::new(page, name, value));
        }
    };
    add("console-resolve-provider-id", &asked.provider_id);
    add("console-resolve-message", &asked.message);
    let yes = || Some(text.say("console-yes"));
    let (surplus, another) = (asked.surplus, asked.another_charge);
    add("console-resolve-surplus", &surplus.then(yes).flatten());
    add("console-resolve-another", &another.then(yes).flatten());
    add("console-evidence-note", &Some(asked.note.clone()));
    Section {
        title: Some(text.say("console-resolve-entered")),
        facts,
        ..Section::default()
    }
}

/// The result that an outcome would have now, with the attempt that it settles named.
pub fn preview(
    page: &Page,
    tx: &Arc<Transaction>,
    operator: Operator,
    asked: &Resolve,
) -> Result<ResolutionPreview, Refused> {
    let (note, resolution) = checked(asked.clone(), tx)?;
    let engine = page.state.engine();
    Ok(engine.preview_resolution(tx, operator, note, resolution)?)
}

/// Effects of an outcome on the transaction, its cases and its merchant.
pub fn effects(page: &Page, tx: &Transaction, preview: &ResolutionPreview) -> Section {
    let (text, after) = (page.text(), &preview.after);
    let word = |tx: &Transaction| labels::badge(tx, text).word;
    let announced: BTreeSet<&str> = preview.announced.iter().map(|name| name.as_str()).collect();
    let announced: Vec<_> = announced.into_iter().collect();
    let webhooks = match announced.as_slice() {
        [] => text.say("console-effect-none"),
        names => names.join(", "),
    };
    let mut facts = vec![
        Fact::new(
            page,
            "console-status",
            format!("{} → {}", word(tx), word(after)),
        ),
        Fact::new(page, "console-money", labels::about_money(after, text)),
        Fact::new(page, "console-webhooks", webhooks),
    ];
    if preview.mails {
        facts.push(Fact::new(
            page,
            "console-mails",
            text.say("console-effect-mails"),
        ));
    }
    let (closed, opened) = changed_cases(tx, after, text);
    if !closed.is_empty() {
        facts.push(Fact::new(page, "console-effect-closes", closed));
    }
    if !opened.is_empty() {
        facts.push(Fact::new(page, "console-effect-opens", opened));
    }
    Section {
        title: Some(text.say("console-effects")),
        facts,
        ..Section::default()
    }
}

/// Number of the effects as the page states them. A query without news changes the version of a
/// transaction, and not this number.
pub fn effects_number(page: &Page, tx: &Transaction, preview: &ResolutionPreview) -> u64 {
    let mut hasher = DefaultHasher::new();
    for fact in effects(page, tx, preview).facts {
        (fact.name, fact.value).hash(&mut hasher);
    }
    for alert in warnings(page, preview) {
        alert.text.hash(&mut hasher);
    }
    hasher.finish()
}

/// The cases that close and those that open, in words.
fn changed_cases(before: &Transaction, after: &Transaction, text: Text) -> (String, String) {
    let is_open = |tx: &Transaction, id| {
        let mut cases = tx.cases.iter();
        cases.any(|case| case.id == id && case.closed.is_none())
    };
    let name = |case: &Case| case_name(after, case, text);
    let closed = after.cases.iter();
    let closed = closed.filter(|case| case.closed.is_some() && is_open(before, case.id));
    let opened = after.cases.iter();
    let opened = opened.filter(|case| case.closed.is_none() && !is_open(before, case.id));
    let joined = |names: Vec<String>| names.join("; ");
    (
        joined(closed.map(name).collect()),
        joined(opened.map(name).collect()),
    )
}

/// Effects that a person may not expect: another attempt, which can move money.
pub fn warnings(page: &Page, preview: &ResolutionPreview) -> Vec<Alert> {
    let text = page.text();
    let alert = |text: String| Alert { text, target: None };
    let mut warnings: Vec<_> = preview
        .starts
        .iter()
        .map(|gateway| alert(text.with("console-effect-starts", &[("gateway", gateway)])))
        .collect();
    match preview.after.state {
        State::AwaitingDispatch => warnings.push(alert(text.say("console-effect-dispatch"))),
        State::AwaitingCustomer => warnings.push(alert(text.say("console-effect-retry"))),
        _ => {}
    }
    warnings
}
