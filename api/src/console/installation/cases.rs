//! Cases that need manual review: the inbox, and one case with its evidence.

use axum::extract::Path;
use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_core::ids::CaseId;
use switchyard_core::transaction::{Case, CaseReason};
use switchyard_records::{CaseFound, CaseQuery};
use switchyard_users::Action;

use super::super::actions::author;
use super::super::answer;
use super::super::approvals;
use super::super::case_names::{case_name, reason_name, second_payments};
use super::super::form::{Fields, Sent};
use super::super::labels;
use super::super::page::{Failed, Page, SignedIn};
use super::super::refusals::because_sentence;
use super::dashboard::{damage_alert, environment};
use super::refused;
use super::resolution::can_resolve;
use super::resolve::to_transaction;
use super::view::{Alert, Choice, Fact, Form, Input, Row, Section, Table, Target, View};
use crate::operations::note_transaction;
use crate::operator::cases::needs_second_person;
use crate::operator::manual_resolution::note;
use crate::reason::Because;

/// Cases on a page.
const PER_PAGE: usize = 50;

/// `GET /console/installation/cases`
pub async fn list(SignedIn(page): SignedIn) -> Response {
    let list = show_list(&page).await;
    answer(&page, list)
}

async fn show_list(page: &Page) -> Result<Response, Failed> {
    page.permit(Action::ViewCases)?;
    let query = query(page);
    let found = page.state.engine().cases(&query).await?;
    let rows = found.items.iter().map(|one| row(page, one)).collect();
    let columns = [
        "console-reason",
        "console-amount",
        "console-environment",
        "console-app",
        "console-gateway",
        "console-opened",
    ];
    let empty = match query.open {
        _ if found.is_incomplete => "console-cases-incomplete",
        true => "console-cases-empty",
        false => "console-cases-none-closed",
    };
    let mut view = View::new(page, "console-cases", "cases");
    view.lead = Some(page.text().say("console-cases-text"));
    view.alerts.extend(damage_alert(page));
    if found.is_incomplete && !found.items.is_empty() {
        view.alerts.push(Alert {
            text: page.text().say("console-cases-incomplete"),
            target: None,
        });
    }
    view.filter = filter(page, &query);
    view.sections = vec![Section {
        table: Some(Table::new(page, &columns, rows, empty)),
        ..Section::default()
    }];
    view.older = found.more.map(|more| older(page, &query, more));
    Ok(view.show(page))
}

/// The filter of the address. Unknown values match every case.
fn query(page: &Page) -> CaseQuery {
    let given = |name: &str| page.query(name).unwrap_or_default();
    let reason = given("reason");
    let mut reasons = CaseReason::ALL.into_iter();
    CaseQuery {
        open: given("state") != "closed",
        app: None,
        environment: given("environment").parse().ok(),
        reason: reasons.find(|one| one.as_str() == reason),
        opened_before: None,
        before: given("before").parse().ok(),
        limit: PER_PAGE,
    }
}

fn filter(page: &Page, query: &CaseQuery) -> Vec<Input> {
    let text = page.text();
    let choice = |value: &str, name: String, is_chosen: bool| Choice {
        value: value.to_owned(),
        name,
        is_chosen,
    };
    let states = vec![
        choice("open", text.say("console-cases-open"), query.open),
        choice("closed", text.say("console-cases-closed"), !query.open),
    ];
    let all = || choice("", text.say("console-tab-all"), false);
    let mut environments = vec![all()];
    environments.extend(Environment::ALL.map(|one| {
        let is_chosen = query.environment == Some(one);
        choice(&one.to_string(), environment(one, text), is_chosen)
    }));
    let mut reasons = vec![all()];
    reasons.extend(CaseReason::ALL.map(|one| {
        let name = reason_name(one, text);
        choice(one.as_str(), name, query.reason == Some(one))
    }));
    vec![
        Input::select(page, "state", "console-state", states),
        Input::select(page, "environment", "console-environment", environments),
        Input::select(page, "reason", "console-reason", reasons),
    ]
}

fn older(page: &Page, query: &CaseQuery, more: CaseId) -> String {
    let mut pairs = url::form_urlencoded::Serializer::new(String::new());
    pairs.append_pair("state", if query.open { "open" } else { "closed" });
    if let Some(environment) = query.environment {
        pairs.append_pair("environment", &environment.to_string());
    }
    if let Some(reason) = query.reason {
        pairs.append_pair("reason", reason.as_str());
    }
    pairs.append_pair("before", &more.to_string());
    page.link(&format!("installation/cases?{}", pairs.finish()))
}

fn row(page: &Page, found: &CaseFound) -> Row {
    let (text, tx) = (page.text(), &found.transaction);
    let app = page.state.engine().access().app(tx.app);
    let attempt = tx.attempt_of(&found.case);
    let gateway = attempt.map(|attempt| attempt.candidate.gateway.clone());
    Row::linked(
        page.link(&format!("installation/cases/{}", found.case.id)),
        vec![
            case_name(tx, &found.case, text),
            tx.amount.with_code(text.language()),
            environment(tx.environment, text),
            app.map_or_else(|| tx.app.to_string(), |app| app.name.clone()),
            gateway.unwrap_or_else(|| "–".to_owned()),
            text.language().date(found.case.opened_at),
        ],
    )
}

/// `GET /console/installation/cases/{case}`
pub async fn get(SignedIn(page): SignedIn, Path(id): Path<String>) -> Response {
    let one = one_view(&page, &id, "").await;
    answer(&page, one.map(|view| view.show(&page)))
}

async fn one_view(page: &Page, id: &str, typed: &str) -> Result<View, Failed> {
    page.permit(Action::ViewCases)?;
    let found = found(page, id).await?;
    let (text, case, tx) = (page.text(), &found.case, &found.transaction);
    let mut view = View::new(page, "console-one-case", "cases");
    view.list = Some(Target::new(page, "installation/cases", "console-cases"));
    view.heading = case_name(tx, case, text);
    let about = labels::about_money(tx, text);
    let payments = second_payments(tx, page.state.engine().directory(), text);
    let lead: Vec<_> = std::iter::once(about).chain(payments).collect();
    view.lead = Some(lead.join(" "));
    view.links = vec![to_transaction(page, tx)];
    if can_resolve(tx) && page.may(Action::ResolveManually) {
        let path = format!("installation/transactions/{}/resolve", tx.id);
        view.links.push(Target::new(page, &path, "console-resolve"));
    }
    view.sections = vec![Section {
        title: Some(text.say("console-evidence")),
        facts: evidence(page, &found),
        ..Section::default()
    }];
    if case.closed.is_none() && page.may(Action::HandleCases) {
        view.sections.push(match tx.require_closable(case) {
            Ok(()) => close_form(page, case, typed),
            Err(refusal) => Section {
                title: Some(text.say("console-case-close")),
                text: Some(because_sentence(&Because::from(&refusal), text)),
                ..Section::default()
            },
        });
    }
    Ok(view)
}

/// The case of that id.
pub async fn found(page: &Page, id: &str) -> Result<CaseFound, Failed> {
    let id: CaseId = id.parse().map_err(|_| Failed::NotFound)?;
    let found = page.state.engine().case(id).await?;
    let found = found.ok_or(Failed::NotFound)?;
    note_transaction(found.transaction.id);
    Ok(found)
}

/// Link to the page of a case.
pub fn to_case(page: &Page, found: &CaseFound) -> Target {
    let path = format!("installation/cases/{}", found.case.id);
    Target::new(page, &path, "console-one-case")
}

/// Facts about a case.
pub fn evidence(page: &Page, found: &CaseFound) -> Vec<Fact> {
    let (text, case, tx) = (page.text(), &found.case, &found.transaction);
    let language = text.language();
    let state = match case.closed {
        None => "console-cases-open",
        Some(_) => "console-cases-closed",
    };
    let mut facts = vec![
        Fact::new(page, "console-state", text.say(state)),
        Fact::new(page, "console-opened", language.date(case.opened_at)),
        Fact::new(page, "console-detail", &case.detail),
        Fact::new(page, "console-amount", tx.amount.with_code(language)),
        Fact::new(page, "console-status", labels::badge(tx, text).word),
        Fact::new(page, "console-reference", case.reference),
    ];
    if let Some(amount) = case.amount {
        let amount = amount.with_code(language);
        facts.push(Fact::new(page, "console-reported-amount", amount));
    }
    if let Some(id) = &case.provider_id {
        facts.push(Fact::new(page, "console-provider-id", id));
    }
    if let Some(attempt) = tx.attempt_of(case) {
        let gateway = &attempt.candidate.gateway;
        facts.push(Fact::new(page, "console-gateway", gateway));
    }
    if let Some(closed) = &case.closed {
        facts.extend([
            Fact::new(page, "console-closed", language.date(closed.at)),
            Fact::new(page, "console-by", &closed.by.name),
            Fact::new(page, "console-note", closed.note.as_deref().unwrap_or("–")),
        ]);
    }
    facts
}

/// Whether a second person approves the closing of `case`.
fn has_second_person(page: &Page, case: &Case) -> bool {
    needs_second_person(page.state.api().settings(), case.reason)
}

fn close_form(page: &Page, case: &Case, typed: &str) -> Section {
    let text = page.text();
    let (about, label) = match has_second_person(page, case) {
        true => ("console-case-close-proposal", "console-case-close-propose"),
        false => ("console-case-close-text", "console-case-close"),
    };
    Section {
        title: Some(text.say("console-case-close")),
        text: Some(text.say(about)),
        forms: vec![Form {
            name: "close",
            inputs: vec![Input::text(page, "note", "console-note", typed)],
            label: text.say(label),
            ..Form::default()
        }],
        ..Section::default()
    }
}

/// `POST /console/installation/cases/{case}`
pub async fn close(
    Path(id): Path<String>,
    Sent(SignedIn(page), mut fields): Sent<SignedIn>,
) -> Response {
    let closed = close_case(&page, &id, &mut fields).await;
    answer(&page, closed)
}

async fn close_case(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::HandleCases)?;
    let CaseFound { case, transaction } = found(page, id).await?;
    let may_propose = transaction.require_closable(&case).is_ok() && has_second_person(page, &case);
    let typed = fields.text("note").to_owned();
    let engine = page.state.engine();
    let closed = match note(typed.clone()) {
        Ok(note) if may_propose => {
            return propose(page, &case, note, fields).await;
        }
        Ok(note) => {
            let closed = engine.close_case(case.id, author(&permit), note).await;
            closed.map_err(Into::into)
        }
        Err(error) => Err(error.into()),
    };
    if let Err(error) = closed {
        let error = refused(page, &permit, id, error).await?;
        let view = one_view(page, id, &typed).await?;
        return Ok(view.refused(page, error));
    }
    let after = serde_json::json!({ "note": typed });
    let entry = permit.entry(case.id);
    page.audit(entry.changing(serde_json::Value::Null, after))
        .await?;
    fields.took_effect();
    let to = format!("installation/cases/{}?done=case-closed", case.id);
    Ok(page.go(&page.link(&to)))
}

/// Proposes to close `case`.
async fn propose(
    page: &Page,
    case: &Case,
    note: String,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let permit = page.permit(Action::ResolveManually)?;
    let proposed = approvals::closing::Proposed {
        case: case.id,
        note: note.clone(),
        seen: approvals::closing::Seen::of(case),
    };
    let kind = approvals::closing::KIND;
    match approvals::propose(page, &permit, kind, &proposed, note.clone()).await? {
        Some(response) => {
            fields.took_effect();
            Ok(response)
        }
        None => {
            let view = one_view(page, &case.id.to_string(), &note).await?;
            Ok(view.refused(page, page.text().say("console-proposal-invalid")))
        }
    }
}
