//! New connection: the choice of a gateway, then the form that its manifest describes.

use std::sync::Arc;

use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_gateway_host::Version;
use switchyard_users::{Action, Permit};

use super::super::answer;
use super::super::form::{Fields, Sent};
use super::super::installation::refused;
use super::super::installation::view::{Fact, Form, Input, Row, Section, Table, Target, View};
use super::super::page::{Failed, Page, Scoped};
use super::super::problems::Problems;
use super::draft;
use super::{check_result, facts, gateway_title, in_scope, state};
use crate::operator::Refused;
use crate::operator::connections::{Saved, create_checked};
use crate::operator::contract::connections::{ConnectionLimits, NewConnection};
use crate::operator::form::config_form;

/// `GET /console/apps/{app}/{environment}/connections/new`
pub async fn new(Scoped(page): Scoped) -> Response {
    answer(&page, show_new(&page))
}

fn show_new(page: &Page) -> Result<Response, Failed> {
    page.permit(Action::ManageConnections)?;
    let Some(name) = page.query("gateway") else {
        return Ok(choice_view(page).show(page));
    };
    let version = version(page, &name)?;
    let view = form_view(page, &version, None, &Problems::default());
    Ok(view.show(page))
}

/// The current version of a gateway that can have connections in the page's environment.
fn version(page: &Page, name: &str) -> Result<Arc<Version>, Failed> {
    let mut versions = versions(page).into_iter();
    let found = versions.find(|version| version.name() == name);
    found.ok_or(Failed::NotFound)
}

fn versions(page: &Page) -> Vec<Arc<Version>> {
    let is_live = page
        .scope()
        .is_some_and(|scope| scope.environment == Environment::Live);
    let hides_tests = is_live && !page.state.api().settings().development;
    let mut versions = page.state.engine().gateways().list();
    versions.retain(|version| !(hides_tests && version.manifest.any_method));
    versions
}

fn choice_view(page: &Page) -> View {
    let text = page.text();
    let rows = versions(page).into_iter().map(|version| {
        let path = format!("connections/new?gateway={}", version.name());
        let manifest = &version.manifest;
        Row::linked(
            page.in_scope(&path),
            vec![manifest.title.clone(), manifest.description.clone()],
        )
    });
    let columns = ["console-gateway", "console-description"];
    let table = Table::new(page, &columns, rows.collect(), "console-gateways-empty");
    let mut view = View::new(page, "console-connection-new", "connections");
    view.list = Some(in_scope(page, "connections", "console-connections"));
    view.lead = Some(text.say("console-connection-choose"));
    view.sections = vec![Section {
        table: Some(table),
        ..Section::default()
    }];
    view
}

fn form_view(page: &Page, version: &Version, typed: Option<&Fields>, problems: &Problems) -> View {
    let text = page.text();
    let form = config_form(version);
    let mut inputs = vec![account_input(page, typed, problems)];
    inputs.extend(draft::config_inputs(page, &form, typed, problems));
    let is_chosen =
        |code: &str| typed.is_none_or(|typed| typed.all("methods").any(|chosen| chosen == code));
    inputs.extend(draft::methods_input(page, &form, is_chosen, problems));
    let check = match form.can_be_checked {
        true => {
            inputs.push(unchecked_input(page, typed));
            "console-connection-checked"
        }
        false => "console-connection-uncheckable",
    };
    let mut view = View::new(page, "console-connection-new", "connections");
    view.list = Some(in_scope(page, "connections", "console-connections"));
    view.lead = Some(text.say(check));
    view.error = problems.elsewhere(&inputs);
    view.sections = vec![Section {
        title: Some(form.title.clone()),
        text: Some(version.manifest.description.clone()),
        forms: vec![Form {
            name: "create",
            hidden: vec![("gateway", form.gateway)],
            inputs,
            label: text.say("console-connection-create"),
            is_primary: true,
            ..Form::default()
        }],
        ..Section::default()
    }];
    view
}

fn account_input(page: &Page, typed: Option<&Fields>, problems: &Problems) -> Input {
    let value = typed.map_or("", |typed| typed.text("account_name"));
    let input = Input::line(page, "account_name", "console-account-name", value).required();
    problems.beside(input.with_hint(Some(page.text().say("console-account-name-hint"))))
}

/// Check box to enable a connection whose credentials could not be checked.
pub fn unchecked_input(page: &Page, typed: Option<&Fields>) -> Input {
    let is_checked = typed.is_some_and(|typed| !typed.text("enable_unchecked").is_empty());
    Input::checkbox(
        page,
        "enable_unchecked",
        "console-enable-unchecked",
        "console-enable-unchecked-hint",
        is_checked,
    )
}

/// `POST /console/apps/{app}/{environment}/connections/new`
pub async fn create(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let created = create_connection(&page, &mut fields).await;
    answer(&page, created)
}

async fn create_connection(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageConnections)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let version = version(page, fields.text("gateway"))?;
    let form = config_form(&version);
    let methods = match draft::chosen_methods(page, &form, fields) {
        Ok(methods) => methods,
        Err(problems) => return Ok(unsaved(page, &version, fields, &problems)),
    };
    let new = NewConnection {
        environment: scope.environment,
        gateway: form.gateway.clone(),
        account_name: fields.text("account_name").to_owned(),
        methods,
        config: Some(draft::config(&form, fields)),
        limits: ConnectionLimits::default(),
        skip_check: false,
        enable_unchecked: !fields.text("enable_unchecked").is_empty(),
    };
    match create_checked(page.state.api(), scope.app.id, new).await {
        Ok(saved) => {
            fields.took_effect();
            let after = facts(&saved.connection, true);
            let entry = permit.entry(saved.connection.id);
            page.audit(entry.changing(serde_json::Value::Null, after))
                .await?;
            Ok(made_view(page, &saved).show(page))
        }
        Err(error) => {
            let problems = problems(page, &permit, &form.gateway, error).await?;
            Ok(unsaved(page, &version, fields, &problems))
        }
    }
}

/// Errors of a refusal, which is recorded in the audit log.
pub async fn problems(
    page: &Page,
    permit: &Permit,
    object: &str,
    error: Refused,
) -> Result<Problems, Failed> {
    let problems = Problems::of(&error.0, page.text());
    refused(page, permit, object, error).await?;
    Ok(problems)
}

fn unsaved(page: &Page, version: &Version, fields: &Fields, problems: &Problems) -> Response {
    let view = form_view(page, version, Some(fields), problems);
    view.unsaved(page)
}

/// The result of a creation: the check, and the address for callbacks.
fn made_view(page: &Page, saved: &Saved) -> View {
    let (text, connection) = (page.text(), &saved.connection);
    let is_enabled = connection.is_enabled;
    let mut view = View::new(page, "console-connection-made", "connections");
    view.list = Some(in_scope(page, "connections", "console-connections"));
    view.links = vec![Target {
        href: page.in_scope(&format!("connections/{}", connection.id)),
        name: text.say("console-to-connection"),
    }];
    let check = saved.check.as_ref();
    let check = check.map(|check| check_result(page, check, is_enabled));
    view.lead = check;
    view.sections = vec![Section {
        text: Some(text.say("console-callback-url-text")),
        facts: vec![
            Fact::new(
                page,
                "console-gateway",
                gateway_title(page, &connection.gateway),
            ),
            Fact::new(page, "console-account-name", &connection.account_name),
            Fact::new(page, "console-state", text.say(state(connection))),
            Fact::new(page, "console-callback-url", callback_url(page, connection)),
        ],
        ..Section::default()
    }];
    view
}

/// Address for callbacks, to be entered at the provider.
pub fn callback_url(page: &Page, connection: &switchyard_engine::access::Connection) -> String {
    let public = &page.state.engine().settings().public_url;
    format!("{public}/callbacks/{}", connection.id)
}
