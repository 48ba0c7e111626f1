//! Manual resolution of a transaction: the form, a confirmation that states the effects, and the
//! resolution itself. Where a second person has to approve it, it becomes a proposal instead.

use std::sync::Arc;

use axum::extract::Path;
use axum::response::Response;
use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::Transaction;
use switchyard_users::{Action, Permit};

use super::super::actions::author;
use super::super::answer;
use super::super::approvals;
use super::super::form::{Fields, Sent};
use super::super::list::segment;
use super::super::page::{Failed, Page, SignedIn};
use super::super::problems::Problems;
use super::dashboard::environment;
use super::refused;
use super::resolution::{
    self, asked, can_resolve, effects, effects_number, entered, evidence, hidden, preview, warnings,
};
use super::view::{Alert, Form, Section, Target, View};
use crate::operations::note_transaction;
use crate::operator::Refused;
use crate::operator::contract::transactions::Resolve;
use crate::operator::manual_resolution::checked;

/// `GET /console/installation/transactions/{transaction}/resolve`
pub async fn form(SignedIn(page): SignedIn, Path(id): Path<String>) -> Response {
    let shown = show_form(&page, &id).await;
    answer(&page, shown.map(|view| view.show(&page)))
}

async fn show_form(page: &Page, id: &str) -> Result<View, Failed> {
    page.permit(Action::ResolveManually)?;
    let tx = found(page, id).await?;
    Ok(form_view(page, &tx, None, &Problems::default()))
}

/// The transaction of that id.
pub async fn found(page: &Page, id: &str) -> Result<Arc<Transaction>, Failed> {
    let id: TransactionId = id.parse().map_err(|_| Failed::NotFound)?;
    let found = page.state.engine().transaction(id).await?;
    let found = found.ok_or(Failed::NotFound)?;
    note_transaction(id);
    Ok(found)
}

/// Link to the page of a transaction.
pub fn to_transaction(page: &Page, tx: &Transaction) -> Target {
    let path = path_of(tx);
    Target::new(page, &path, "console-to-transaction")
}

fn path_of(tx: &Transaction) -> String {
    let name = segment(tx.kind());
    format!("apps/{}/{}/{name}/{}", tx.app, tx.environment, tx.id)
}

fn new_view(page: &Page, tx: &Transaction) -> View {
    let mut view = View::new(page, "console-resolve", "cases");
    view.list = Some(to_transaction(page, tx));
    view
}

fn form_view(page: &Page, tx: &Transaction, typed: Option<&Fields>, problems: &Problems) -> View {
    let text = page.text();
    let mut view = new_view(page, tx);
    view.sections = vec![evidence(page, tx)];
    if !can_resolve(tx) {
        view.lead = Some(text.say("console-resolve-impossible"));
        return view;
    }
    view.lead = Some(text.say("console-resolve-text"));
    if needs_second_person(page) {
        let text = text.say("console-resolve-second-person");
        view.alerts.push(Alert { text, target: None });
    }
    let form = resolution::form(page, tx, typed, problems);
    view.error = problems.elsewhere(&form.inputs);
    view.sections.push(Section {
        title: Some(text.say("console-outcome")),
        forms: vec![form],
        ..Section::default()
    });
    view
}

fn needs_second_person(page: &Page) -> bool {
    page.state.api().settings().second_person
}

/// `POST /console/installation/transactions/{transaction}/resolve`
///
/// The field `do` names the step: `check` shows the effects, `edit` the form again, and `resolve`
/// takes effect.
pub async fn post(
    Path(id): Path<String>,
    Sent(SignedIn(page), mut fields): Sent<SignedIn>,
) -> Response {
    let done = step(&page, &id, &mut fields).await;
    answer(&page, done)
}

async fn step(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ResolveManually)?;
    let tx = found(page, id).await?;
    if fields.text("do") == "edit" {
        let view = form_view(page, &tx, Some(fields), &Problems::default());
        return Ok(view.show(page));
    }
    let unsaved = |problems: Problems| {
        let view = form_view(page, &tx, Some(fields), &problems);
        Ok(view.unsaved(page))
    };
    let mut asked = match asked(page, fields) {
        Ok(asked) => asked,
        Err(problems) => return unsaved(problems),
    };
    let preview = match preview(page, &tx, author(&permit), &asked) {
        Ok(preview) => preview,
        Err(Refused(error)) => {
            let problems = Problems::of(&error, page.text());
            refused(page, &permit, id, Refused(error)).await?;
            return unsaved(problems);
        }
    };
    asked.attempt = Some(preview.attempt);
    let is_confirmed = fields.text("do") == "resolve";
    // The person confirmed these effects.
    let number = effects_number(page, &tx, &preview);
    let is_seen = fields.text("effects") == number.to_string();
    if !is_confirmed || !is_seen {
        let mut view = confirmation(page, &tx, &asked, number);
        view.sections.insert(1, effects(page, &tx, &preview));
        view.alerts = warnings(page, &preview);
        return Ok(match is_confirmed {
            true => view.refused(page, page.text().say("console-resolve-changed")),
            false => view.show(page),
        });
    }
    match needs_second_person(page) {
        true => propose(page, &permit, &tx, asked, fields).await,
        false => carry_out(page, &permit, &tx, asked, fields).await,
    }
}

/// The page that states the entered outcome, with the button that takes effect. `number`: of the
/// effects that the page states.
fn confirmation(page: &Page, tx: &Transaction, asked: &Resolve, number: u64) -> View {
    let text = page.text();
    let mut view = new_view(page, tx);
    let has_second = needs_second_person(page);
    let (heading, about, label) = match has_second {
        true => (
            "console-resolve-confirm-proposal",
            "console-resolve-final-proposal",
            "console-resolve-propose",
        ),
        false => (
            "console-resolve-confirm",
            "console-resolve-final",
            "console-resolve-do",
        ),
    };
    view.heading = text.say(heading);
    view.lead = Some(text.say(about));
    let environment = environment(tx.environment, text);
    let mut confirmed = hidden(asked);
    confirmed.push(("effects", number.to_string()));
    view.sections = vec![
        entered(page, tx, asked),
        Section {
            forms: vec![
                Form {
                    name: "resolve",
                    hidden: confirmed,
                    label: text.with(label, &[("environment", &environment)]),
                    is_danger: !has_second,
                    is_primary: has_second,
                    ..Form::default()
                },
                Form {
                    name: "edit",
                    hidden: hidden(asked),
                    label: text.say("console-resolve-edit"),
                    ..Form::default()
                },
            ],
            ..Section::default()
        },
    ];
    view
}

async fn carry_out(
    page: &Page,
    permit: &Permit,
    tx: &Transaction,
    asked: Resolve,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let after = serde_json::to_value(&asked).unwrap_or_default();
    let resolved = async {
        let (note, resolution) = checked(asked, tx)?;
        let engine = page.state.engine();
        engine
            .resolve(tx.id, author(permit), note, resolution)
            .await?;
        Ok::<_, Refused>(())
    };
    if let Err(Refused(error)) = resolved.await {
        let problems = Problems::of(&error, page.text());
        let id = tx.id.to_string();
        refused(page, permit, &id, Refused(error)).await?;
        let view = form_view(page, tx, Some(fields), &problems);
        return Ok(view.unsaved(page));
    }
    let entry = permit.entry(tx.id);
    page.audit(entry.changing(serde_json::Value::Null, after))
        .await?;
    fields.took_effect();
    let to = format!("{}?done=resolved", path_of(tx));
    Ok(page.go(&page.link(&to)))
}

async fn propose(
    page: &Page,
    permit: &Permit,
    tx: &Transaction,
    asked: Resolve,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let reason = asked.note.clone();
    let proposed = approvals::resolution::Proposed {
        transaction: tx.id,
        resolve: asked,
    };
    let kind = approvals::resolution::KIND;
    match approvals::propose(page, permit, kind, &proposed, reason).await? {
        Some(response) => {
            fields.took_effect();
            Ok(response)
        }
        None => {
            let text = page.text().say("console-proposal-invalid");
            let problems = Problems::one("note", text);
            let view = form_view(page, tx, Some(fields), &problems);
            Ok(view.unsaved(page))
        }
    }
}
