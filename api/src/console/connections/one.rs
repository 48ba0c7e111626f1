//! One connection: facts, health, settings, new credentials, deletion.

use axum::extract::Path;
use axum::response::Response;
use switchyard_engine::access::Connection;
use switchyard_users::{Action, Permit};

use super::super::answer;
use super::super::form::{Fields, Sent};
use super::super::installation::dashboard::health_facts;
use super::super::installation::view::{Alert, Fact, Form, Input, Row, Section, Table, View};
use super::super::page::{Failed, Page, Scoped};
use super::super::problems::Problems;
use super::draft;
use super::new::{callback_url, problems, unchecked_input};
use super::{check_result, facts, gateway_title, in_scope, methods, named, one_of_scope, state};
use crate::operator::connection_health;
use crate::operator::connections::{Saved, change_checked};
use crate::operator::contract::connections::{ConfigForm, ConnectionChange};
use crate::operator::contract::routing::HealthFilter;
use crate::operator::form::config_form;

/// App, environment and connection in the address of a connection's page.
type ConnectionPath = Path<(String, String, String)>;

/// Forms of the page.
const SAVE: &str = "save";
const CREDENTIALS: &str = "credentials";
const DELETE: &str = "delete";

/// `GET /console/apps/{app}/{environment}/connections/{connection}`
pub async fn get(Scoped(page): Scoped, Path((.., id)): ConnectionPath) -> Response {
    let permitted = page.permit(Action::ViewConnections);
    let found = permitted.and_then(|_| one_of_scope(&page, &id));
    let view = found.map(|one| one_view(&page, &one, None, &Problems::default()));
    answer(&page, view.map(|view| view.show(&page)))
}

/// The page, with the fields of a form that had no effect.
fn one_view(
    page: &Page,
    connection: &Connection,
    typed: Option<&Fields>,
    problems: &Problems,
) -> View {
    let text = page.text();
    let mut view = View::new(page, "console-connection", "connections");
    view.list = Some(in_scope(page, "connections", "console-connections"));
    view.heading.clone_from(&connection.account_name);
    view.sections = vec![about(page, connection), health(page, connection)];
    if !page.may(Action::ManageConnections) {
        return view;
    }
    let current = page.state.engine().gateways().current(&connection.gateway);
    let form = current.map(|version| config_form(&version));
    let (settings, credentials) = match &form {
        Some(form) => (
            settings_form(page, connection, form, typed, problems),
            Some(credentials_form(page, form, typed, problems)),
        ),
        None => (switch_form(page, connection), None),
    };
    let section = |title: &str, about: Option<&str>, form: Form| Section {
        title: Some(text.say(title)),
        text: about.map(|about| text.say(about)),
        forms: vec![form],
        ..Section::default()
    };
    let deletion = deletion_form(page, connection, typed, problems);
    let sent = typed.map_or("", |typed| typed.text("do"));
    let sent = std::iter::once(&settings)
        .chain(credentials.as_ref())
        .chain([&deletion])
        .find(|form| form.name == sent);
    view.error = sent.and_then(|form| problems.elsewhere(&form.inputs));
    view.sections
        .push(section("console-settings", None, settings));
    if let Some(credentials) = credentials {
        let about = Some("console-credentials-text");
        view.sections
            .push(section("console-credentials-new", about, credentials));
    }
    let about = Some("console-connection-delete-text");
    view.sections
        .push(section("console-connection-delete", about, deletion));
    view
}

fn about(page: &Page, connection: &Connection) -> Section {
    let text = page.text();
    let changed = match connection.reconfigured_at() {
        Some(at) => at,
        None => connection.created_at,
    };
    let changed = [("at", &*text.language().date(changed))];
    let countries = match connection.limits.countries.is_empty() {
        true => text.say("console-connection-all-countries"),
        false => connection.limits.countries.join(", "),
    };
    let mut facts = vec![
        Fact::new(page, "console-state", text.say(state(connection))),
        Fact::new(
            page,
            "console-gateway",
            gateway_title(page, &connection.gateway),
        ),
        Fact::new(page, "console-methods", methods(page, connection)),
        Fact::new(page, "console-countries", countries),
        Fact::new(page, "console-limits", limits(page, connection)),
        Fact::new(
            page,
            "console-credentials",
            text.with("console-credentials-stored", &changed),
        ),
        Fact::new(
            page,
            "console-created",
            text.language().date(connection.created_at),
        ),
        Fact::new(page, "console-id", connection.id),
    ];
    if page.may(Action::ManageConnections) {
        let url = callback_url(page, connection);
        facts.push(Fact::new(page, "console-callback-url", url));
    }
    Section {
        facts,
        ..Section::default()
    }
}

/// Smallest and largest amount by currency, in major units.
fn limits(page: &Page, connection: &Connection) -> String {
    let text = page.text();
    let limits = connection.limits.amounts.iter().map(|(currency, limit)| {
        let (least, most) = (limit.min.as_deref(), limit.max.as_deref());
        let values = [
            ("currency", currency.as_str()),
            ("least", least.unwrap_or_default()),
            ("most", most.unwrap_or_default()),
        ];
        match (least, most) {
            (Some(_), Some(_)) => text.with("console-limit-between", &values),
            (Some(_), None) => text.with("console-limit-least", &values),
            (None, Some(_)) => text.with("console-limit-most", &values),
            (None, None) => String::new(),
        }
    });
    let limits: Vec<_> = limits.filter(|limit| !limit.is_empty()).collect();
    match limits.is_empty() {
        true => text.say("console-limit-none"),
        false => limits.join("; "),
    }
}

fn health(page: &Page, connection: &Connection) -> Section {
    let filter = HealthFilter {
        app: Some(connection.app),
        environment: Some(connection.environment),
    };
    let mut rows = connection_health(page.state.api(), &filter);
    rows.retain(|row| row.connection.connection == Some(connection.id));
    let rows = rows.iter().map(|row| {
        let [breaker, succeeded, faults] = health_facts(&row.health, page.text());
        Row::plain(vec![named(page, &row.method), breaker, succeeded, faults])
    });
    let columns = [
        "console-method",
        "console-breaker",
        "console-success-rate",
        "console-faults",
    ];
    let table = Table::new(page, &columns, rows.collect(), "console-health-empty");
    Section {
        title: Some(page.text().say("console-health")),
        text: Some(page.text().say("console-health-text")),
        table: Some(table),
        ..Section::default()
    }
}

/// Fields of the form of that name, if it was sent.
fn sent<'f>(typed: Option<&'f Fields>, form: &str) -> Option<&'f Fields> {
    typed.filter(|fields| fields.text("do") == form)
}

fn settings_form(
    page: &Page,
    connection: &Connection,
    form: &ConfigForm,
    typed: Option<&Fields>,
    problems: &Problems,
) -> Form {
    let text = page.text();
    let typed = sent(typed, SAVE);
    let none = Problems::default();
    let problems = typed.map_or(&none, |_| problems);
    let name = match typed {
        Some(typed) => typed.text("account_name"),
        None => &connection.account_name,
    };
    let account = Input::line(page, "account_name", "console-account-name", name).required();
    let is_chosen = |code: &str| match (typed, &connection.methods) {
        (Some(typed), _) => typed.all("methods").any(|chosen| chosen == code),
        (None, Some(methods)) => methods.iter().any(|chosen| chosen == code),
        (None, None) => true,
    };
    let mut inputs = vec![problems.beside(account)];
    inputs.extend(draft::methods_input(page, form, is_chosen, problems));
    inputs.push(enabled_input(page, connection, typed));
    Form {
        name: SAVE,
        inputs,
        label: text.say("console-save"),
        ..Form::default()
    }
}

/// Form of a connection without its gateway: it can be disabled only.
fn switch_form(page: &Page, connection: &Connection) -> Form {
    Form {
        name: SAVE,
        inputs: vec![enabled_input(page, connection, None)],
        label: page.text().say("console-save"),
        hint: Some(page.text().say("console-connection-no-gateway")),
        ..Form::default()
    }
}

fn enabled_input(page: &Page, connection: &Connection, typed: Option<&Fields>) -> Input {
    let is_enabled = match typed {
        Some(typed) => !typed.text("enabled").is_empty(),
        None => connection.is_enabled,
    };
    Input::checkbox(
        page,
        "enabled",
        "console-connection-on",
        "console-connection-on-hint",
        is_enabled,
    )
}

fn credentials_form(
    page: &Page,
    form: &ConfigForm,
    typed: Option<&Fields>,
    problems: &Problems,
) -> Form {
    let typed = sent(typed, CREDENTIALS);
    let none = Problems::default();
    let problems = typed.map_or(&none, |_| problems);
    let mut inputs = draft::config_inputs(page, form, typed, problems);
    if form.can_be_checked {
        inputs.push(unchecked_input(page, typed));
    }
    Form {
        name: CREDENTIALS,
        inputs,
        label: page.text().say("console-credentials-save"),
        ..Form::default()
    }
}

fn deletion_form(
    page: &Page,
    connection: &Connection,
    typed: Option<&Fields>,
    problems: &Problems,
) -> Form {
    let text = page.text();
    let typed = sent(typed, DELETE).map_or("", |typed| typed.text("last_four"));
    let mut input = Input::line(page, "last_four", "console-connection-last-four", typed);
    let values = [("last", &*last_four(connection))];
    input.label = text.with("console-connection-last-four", &values);
    Form {
        name: DELETE,
        inputs: vec![problems.beside(input.required())],
        label: text.say("console-connection-delete"),
        is_danger: true,
        ..Form::default()
    }
}

fn last_four(connection: &Connection) -> String {
    let id = connection.id.to_string();
    let start = id.len().saturating_sub(4);
    id.get(start..).unwrap_or_default().to_owned()
}

/// `POST /console/apps/{app}/{environment}/connections/{connection}`
///
/// The field `do` names the change.
pub async fn change(
    Path((.., id)): ConnectionPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let changed = change_one(&page, &id, &mut fields).await;
    answer(&page, changed)
}

async fn change_one(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageConnections)?;
    let connection = one_of_scope(page, id)?;
    let changed = match fields.text("do") {
        SAVE => save(page, &permit, &connection, fields).await,
        CREDENTIALS => new_credentials(page, &permit, &connection, fields).await,
        DELETE => delete(page, &permit, &connection, fields).await,
        _ => return Err(Failed::NotFound),
    }?;
    match changed {
        Ok(response) => {
            fields.took_effect();
            Ok(response)
        }
        Err(problems) => {
            let view = one_view(page, &connection, Some(fields), &problems);
            Ok(view.unsaved(page))
        }
    }
}

/// A response, or errors that the reader can correct.
type Changed = Result<Result<Response, Problems>, Failed>;

async fn save(page: &Page, permit: &Permit, connection: &Connection, fields: &Fields) -> Changed {
    let current = page.state.engine().gateways().current(&connection.gateway);
    let is_enabled = Some(!fields.text("enabled").is_empty());
    let change = match current {
        Some(version) => {
            let form = config_form(&version);
            let methods = match draft::chosen_methods(page, &form, fields) {
                Ok(methods) => methods,
                Err(problems) => return Ok(Err(problems)),
            };
            ConnectionChange {
                account_name: Some(fields.text("account_name").to_owned()),
                methods: Some(methods).filter(|methods| *methods != connection.methods),
                is_enabled,
                ..ConnectionChange::default()
            }
        }
        None => ConnectionChange {
            is_enabled,
            ..ConnectionChange::default()
        },
    };
    let saved = stored(page, permit, connection, change).await?;
    let to = format!("connections/{}?done=connection-saved", connection.id);
    Ok(saved.map(|_| page.go(&page.in_scope(&to))))
}

async fn new_credentials(
    page: &Page,
    permit: &Permit,
    connection: &Connection,
    fields: &Fields,
) -> Changed {
    let current = page.state.engine().gateways().current(&connection.gateway);
    let version = current.ok_or(Failed::NotFound)?;
    let form = config_form(&version);
    let change = ConnectionChange {
        config: Some(draft::config(&form, fields)),
        enable_unchecked: !fields.text("enable_unchecked").is_empty(),
        ..ConnectionChange::default()
    };
    let saved = stored(page, permit, connection, change).await?;
    Ok(saved.map(|saved| {
        let mut view = one_view(page, &saved.connection, None, &Problems::default());
        let is_enabled = saved.connection.is_enabled;
        let check = saved.check.as_ref();
        let text = check.map(|check| check_result(page, check, is_enabled));
        view.alerts
            .extend(text.map(|text| Alert { text, target: None }));
        view.show(page)
    }))
}

/// Makes a change by the function of the operator API, with its entry in the audit log.
async fn stored(
    page: &Page,
    permit: &Permit,
    connection: &Connection,
    change: ConnectionChange,
) -> Result<Result<Saved, Problems>, Failed> {
    let has_credentials = change.config.is_some();
    match change_checked(page.state.api(), connection.id, change).await {
        Ok(saved) => {
            let (before, after) = (facts(connection, false), has_credentials);
            let entry = permit.entry(connection.id);
            page.audit(entry.changing(before, facts(&saved.connection, after)))
                .await?;
            Ok(Ok(saved))
        }
        Err(error) => {
            let id = connection.id.to_string();
            Ok(Err(problems(page, permit, &id, error).await?))
        }
    }
}

async fn delete(page: &Page, permit: &Permit, connection: &Connection, fields: &Fields) -> Changed {
    if fields.text("last_four") != last_four(connection) {
        let text = page.text().say("console-connection-last-four-wrong");
        return Ok(Err(Problems::one("last_four", text)));
    }
    let deleted = page.state.engine().delete_connection(connection.id).await;
    if let Err(error) = deleted {
        let id = connection.id.to_string();
        return Ok(Err(problems(page, permit, &id, error.into()).await?));
    }
    let entry = permit.entry(connection.id);
    page.audit(entry.changing(facts(connection, false), serde_json::Value::Null))
        .await?;
    Ok(Ok(
        page.go(&page.in_scope("connections?done=connection-deleted"))
    ))
}
