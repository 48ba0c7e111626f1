//! API tokens of the reader: list, creation for those who confirmed their password recently, end.

use std::collections::BTreeSet;
use std::time::Duration;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::ids::{AccountId, UserTokenId};
use switchyard_core::secret::Secret;
use switchyard_users::{Action, TokenRequest, UserToken, UsersError, allows};

use crate::console::answer;
use crate::console::form::{FieldError, Fields, Sent};
use crate::console::frame::Frame;
use crate::console::installation::view::{Choice, Fact, Form, Input, InputKind};
use crate::console::installation::view::{Section, Target, View};
use crate::console::page::{Failed, Page, SignedIn};

#[derive(Template)]
#[template(path = "console/token_made.html")]
struct MadeToken {
    frame: Frame,
    list: String,
    token: Secret<String>,
}

/// `GET /console/account/tokens`
pub async fn list(SignedIn(page): SignedIn) -> Response {
    answer(&page, list_view(&page).map(|view| view.show(&page)))
}

fn list_view(page: &Page) -> Result<View, Failed> {
    let who = page.identity().ok_or(Failed::NotFound)?;
    let tokens = page.state.users().tokens(who.user.id);
    let mut view = View::new(page, "console-tokens", "account-page");
    view.list = Some(Target::new(page, "account", "console-account-page"));
    view.lead = Some(page.text().say("console-tokens-text"));
    view.links = vec![Target::new(page, "account/tokens/new", "console-token-new")];
    view.sections = tokens.iter().map(|token| section(page, token)).collect();
    if view.sections.is_empty() {
        view.sections.push(Section {
            text: Some(page.text().say("console-tokens-empty")),
            ..Section::default()
        });
    }
    Ok(view)
}

fn section(page: &Page, token: &UserToken) -> Section {
    let (text, language) = (page.text(), page.text().language());
    let names: Vec<_> = token.actions.iter().map(|action| action.name()).collect();
    let used = token.last_used_at.map(|at| language.date(at));
    let used = used.unwrap_or_else(|| text.say("console-never"));
    let shape = format!("{}…{}", token.prefix, token.last_four);
    Section {
        title: Some(token.name.clone()),
        facts: vec![
            Fact::new(page, "console-token", shape),
            Fact::new(page, "console-account", account_name(page, token.account)),
            Fact::new(page, "console-token-actions", names.join(", ")),
            Fact::new(
                page,
                "console-token-expires",
                language.date(token.expires_at),
            ),
            Fact::new(page, "console-last-seen", used),
        ],
        forms: vec![Form {
            name: "delete",
            id: token.id.to_string(),
            hidden: vec![("token", token.id.to_string())],
            label: text.say("console-token-delete"),
            is_danger: true,
            ..Form::default()
        }],
        ..Section::default()
    }
}

fn account_name(page: &Page, account: Option<AccountId>) -> String {
    let Some(id) = account else {
        return page.text().say("console-token-all-accounts");
    };
    let found = page.state.engine().access().account(id);
    found.map_or_else(|| id.to_string(), |account| account.name.clone())
}

/// `POST /console/account/tokens`
///
/// Ends the token that the field `token` names.
pub async fn delete(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let Some(who) = page.identity() else {
        return page.to_sign_in();
    };
    let Ok(id) = fields.text("token").parse::<UserTokenId>() else {
        return page.failed(Failed::NotFound);
    };
    match page.state.users().delete_token(who, id).await {
        Ok(()) => {
            fields.took_effect();
            page.go(&page.link("account/tokens?done=token-deleted"))
        }
        Err(error) => page.failed(error.into()),
    }
}

/// `GET /console/account/tokens/new`
///
/// `?account=` chooses the account, on which the actions depend.
pub async fn new(SignedIn(page): SignedIn) -> Response {
    let form = || {
        let who = page.identity().ok_or(Failed::NotFound)?;
        let users = page.state.users();
        users.check_recently_authenticated(who)?;
        let chosen = page.query("account").unwrap_or_default();
        let account = account_of(&page, &chosen)?;
        Ok(form(&page, account, &Typed::default(), None)?.show(&page))
    };
    answer(&page, form())
}

/// Values of a form that had no effect.
#[derive(Default)]
struct Typed {
    name: String,
    days: String,
    actions: BTreeSet<Action>,
}

/// `POST /console/account/tokens/new`
pub async fn create(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let made = make(&page, &mut fields).await;
    answer(&page, made)
}

async fn make(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let who = page.identity().ok_or(Failed::NotFound)?;
    let account = account_of(page, fields.text("account"))?;
    let typed = Typed {
        name: fields.text("name").to_owned(),
        days: fields.text("days").to_owned(),
        actions: fields.all("action").filter_map(Action::of).collect(),
    };
    // Of no days, which is refused beside the field.
    let days: u64 = typed.days.trim().parse().unwrap_or_default();
    let request = TokenRequest {
        name: typed.name.clone(),
        account,
        actions: typed.actions.clone(),
        expires_at: page
            .state
            .now()
            .plus(Duration::from_secs(days.saturating_mul(DAY))),
    };
    match page.state.users().create_token(who, request).await {
        Ok(made) => {
            fields.took_effect();
            let shown_once = MadeToken {
                frame: page.frame("console-token-made", "account-page"),
                list: page.link("account/tokens"),
                token: made.secret,
            };
            Ok(page.show(StatusCode::CREATED, &shown_once))
        }
        Err(UsersError::Invalid { field, .. }) => {
            let (field, message) = match field {
                "name" => ("name", "console-name-invalid"),
                "actions" => ("action", "console-token-no-action"),
                "expires_at" => ("days", "console-token-days-invalid"),
                _ => ("", "console-token-too-many"),
            };
            let error = FieldError::new(field, page.text().say(message));
            Ok(form(page, account, &typed, Some(error))?.show(page))
        }
        Err(error) => Err(error.into()),
    }
}

/// Account of a new token: the chosen one, or the only one. `None`: the reader is of the
/// installation, or chooses first.
fn account_of(page: &Page, chosen: &str) -> Result<Option<AccountId>, Failed> {
    let who = page.identity().ok_or(Failed::NotFound)?;
    let own = who.user.accounts();
    if chosen.is_empty() {
        return Ok(own.first().copied().filter(|_| own.len() == 1));
    }
    let id: AccountId = chosen.parse().map_err(|_| Failed::NotFound)?;
    match own.contains(&id) {
        true => Ok(Some(id)),
        false => Err(Failed::NotFound),
    }
}

fn form(
    page: &Page,
    account: Option<AccountId>,
    typed: &Typed,
    error: Option<FieldError>,
) -> Result<View, Failed> {
    let who = page.identity().ok_or(Failed::NotFound)?;
    let (text, accounts) = (page.text(), who.user.accounts());
    let mut view = View::new(page, "console-token-new", "account-page");
    view.list = Some(Target::new(page, "account/tokens", "console-tokens"));
    view.lead = Some(text.say("console-token-new-text"));
    view.error = error.as_ref().map(|error| match error.field {
        "" => error.text.clone(),
        _ => text.say("console-marked-fields"),
    });
    if accounts.len() > 1 {
        let choice = |id: &AccountId| Choice {
            value: id.to_string(),
            name: account_name(page, Some(*id)),
            is_chosen: account == Some(*id),
        };
        let options = accounts.iter().map(choice).collect();
        view.filter = vec![Input::select(page, "account", "console-account", options)];
    }
    let Some(role) = who.user.role_in(account) else {
        return Ok(view);
    };
    let beside = |input: Input| {
        let error = error.as_ref().filter(|error| error.field == input.name);
        input.with_error(error.map(|error| error.text.clone()))
    };
    let allowed = Action::ALL
        .iter()
        .filter(|it| allows(role, **it) && !it.needs_person());
    let boxes = allowed.map(|action| Choice {
        value: action.name().to_owned(),
        name: action.name().to_owned(),
        is_chosen: typed.actions.contains(action),
    });
    let days = DAYS.map(|days| Choice {
        value: days.to_string(),
        name: text.count("console-days", "days", days),
        is_chosen: typed.days == days.to_string(),
    });
    let hint = Some(text.say("console-token-name-hint"));
    let name = Input::line(page, "name", "console-token-name", &typed.name);
    let actions = Input {
        kind: InputKind::Boxes,
        options: boxes.collect(),
        ..Input::line(page, "action", "console-token-actions", "")
    };
    let account = account.map(|id| ("account", id.to_string()));
    view.sections = vec![Section {
        forms: vec![Form {
            name: "create",
            hidden: account.into_iter().collect(),
            inputs: vec![
                beside(name.required().with_hint(hint)),
                beside(Input::select(
                    page,
                    "days",
                    "console-token-lifetime",
                    days.into(),
                )),
                beside(actions.with_hint(Some(text.say("console-token-actions-hint")))),
            ],
            label: text.say("console-token-create"),
            is_primary: true,
            ..Form::default()
        }],
        ..Section::default()
    }];
    Ok(view)
}

const DAY: u64 = 24 * 60 * 60;
/// Lifetimes that the form offers, in days.
const DAYS: [u64; 4] = [30, 7, 90, 366];
