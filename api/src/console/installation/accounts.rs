//! Accounts with their apps, and forms for a new account and a new app.

use axum::response::Response;
use switchyard_core::ids::AccountId;
use switchyard_engine::access::{AccessError, App, AppSettings, NewApp};
use switchyard_users::Action;

use super::super::answer;
use super::super::form::{Fields, Sent};
use super::super::page::{Failed, Page, SignedIn};
use super::refused;
use super::view::{Choice, Form, Input, Row, Section, Table, View};

/// `GET /console/installation/accounts`
pub async fn list(SignedIn(page): SignedIn) -> Response {
    let list = list_view(&page, None);
    answer(&page, list.map(|view| view.show(&page)))
}

/// The page, with the fields of a form that had no effect.
fn list_view(page: &Page, typed: Option<&Fields>) -> Result<View, Failed> {
    page.permit(Action::ViewAccounts)?;
    let access = page.state.engine().access();
    let text = page.text();
    let mut view = View::new(page, "console-accounts", "accounts");
    for account in access.accounts() {
        let apps = access.apps(Some(account.id));
        let rows = apps.iter().map(|app| row(page, app)).collect();
        let columns = ["console-app", "console-state", "console-created"];
        view.sections.push(Section {
            title: Some(account.name.clone()),
            table: Some(Table::new(page, &columns, rows, "console-accounts-no-apps")),
            ..Section::default()
        });
    }
    if view.sections.is_empty() {
        view.lead = Some(text.say("console-accounts-empty"));
    }
    if page.may(Action::ManageAccounts) {
        view.sections.extend(forms(page, typed));
    }
    Ok(view)
}

fn row(page: &Page, app: &App) -> Row {
    let state = match app.is_enabled {
        true => "console-app-on",
        false => "console-app-off",
    };
    Row::linked(
        page.link(&format!("apps/{}/live/payments", app.id)),
        vec![
            app.name.clone(),
            page.text().say(state),
            page.text().language().date(app.created_at),
        ],
    )
}

fn forms(page: &Page, typed: Option<&Fields>) -> Vec<Section> {
    let text = page.text();
    let kept = |form: &str, field: &str| {
        let sent = typed.filter(|fields| fields.text("do") == form);
        sent.map_or("", |fields| fields.text(field))
    };
    let accounts = page.state.engine().access().accounts();
    let account = Form {
        name: "account",
        inputs: vec![
            Input::line(page, "name", "console-name-of-key", kept("account", "name")).required(),
        ],
        label: text.say("console-account-new"),
        ..Form::default()
    };
    let mut sections = vec![Section {
        title: Some(text.say("console-account-new")),
        forms: vec![account],
        ..Section::default()
    }];
    if accounts.is_empty() {
        return sections;
    }
    let chosen = kept("app", "account");
    let options = accounts.iter().map(|account| Choice {
        value: account.id.to_string(),
        name: account.name.clone(),
        is_chosen: account.id.to_string() == chosen,
    });
    let website = Input::line(
        page,
        "website_url",
        "console-website",
        kept("app", "website_url"),
    );
    let app = Form {
        name: "app",
        inputs: vec![
            Input::select(page, "account", "console-account", options.collect()),
            Input::line(page, "name", "console-name-of-key", kept("app", "name")).required(),
            website,
        ],
        label: text.say("console-app-new"),
        ..Form::default()
    };
    sections.push(Section {
        title: Some(text.say("console-app-new")),
        forms: vec![app],
        ..Section::default()
    });
    sections
}

/// `POST /console/installation/accounts`
///
/// Creates an account or an app, as the field `do` says.
pub async fn create(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let created = create_one(&page, &mut fields).await;
    answer(&page, created)
}

async fn create_one(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageAccounts)?;
    let name = fields.text("name").to_owned();
    let (created, notice) = match fields.text("do") {
        "app" => (create_app(page, fields).await, "app-made"),
        _ => (create_account(page, &name).await, "account-made"),
    };
    let id = match created {
        Ok(id) => id,
        Err(error) => {
            let error = refused(page, &permit, &name, error.into()).await?;
            let view = list_view(page, Some(fields))?;
            return Ok(view.refused(page, error));
        }
    };
    let after = serde_json::json!({ "name": name });
    let entry = permit.entry(id);
    page.audit(entry.changing(serde_json::Value::Null, after))
        .await?;
    fields.took_effect();
    Ok(page.go(&page.link(&format!("installation/accounts?done={notice}"))))
}

async fn create_account(page: &Page, name: &str) -> Result<String, AccessError> {
    let access = page.state.engine().access();
    Ok(access.create_account(name).await?.id.to_string())
}

async fn create_app(page: &Page, fields: &Fields) -> Result<String, AccessError> {
    let account = fields.text("account").parse::<AccountId>();
    let account = account.map_err(|_| AccessError::Invalid {
        field: "account",
        problem: "is not the id of an account".to_owned(),
    })?;
    let website = fields.text("website_url");
    let new = NewApp {
        account,
        name: fields.text("name").to_owned(),
        icon_url: None,
        website_url: (!website.is_empty()).then(|| website.to_owned()),
        settings: AppSettings::default(),
    };
    let access = page.state.engine().access();
    Ok(access.create_app(new).await?.id.to_string())
}
