//! Team of an app's account: members, invitations, roles.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::ids::{AccountId, LinkId, UserId};
use switchyard_core::secret::Secret;
use switchyard_users::{
    Action, Link, NewInvitation, NewLink, Purpose, Role, Scope as RoleScope, User, UserState,
    UsersError,
};

use super::form::{FieldError, Fields, Sent};
use super::frame::Frame;
use super::messages_of::role_name;
use super::page::{Failed, Page, Scoped};
use super::{answer, shown};

#[derive(Template)]
#[template(path = "console/team.html")]
struct TeamPage {
    frame: Frame,
    heading: String,
    here: String,
    new: Option<String>,
    members: Vec<MemberRow>,
    invitations: Vec<InvitationRow>,
}

struct MemberRow {
    href: String,
    name: String,
    email: String,
    role: String,
    has_second_factor: bool,
    seen: String,
    is_own: bool,
    is_disabled: bool,
}

struct InvitationRow {
    id: String,
    email: String,
    role: String,
    expires: String,
}

#[derive(Template)]
#[template(path = "console/team_new.html")]
struct InvitePage {
    frame: Frame,
    list: String,
    email: String,
    name: String,
    roles: Vec<RoleChoice>,
    error: Option<FieldError>,
}

/// Option of a role.
struct RoleChoice {
    value: &'static str,
    name: String,
    hint: String,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "console/team_invited.html")]
struct InvitedPage {
    frame: Frame,
    list: String,
    text: String,
    url: Secret<String>,
}

#[derive(Template)]
#[template(path = "console/team_member.html")]
struct MemberPage {
    frame: Frame,
    list: String,
    member: MemberRow,
    roles: Vec<RoleChoice>,
    /// Users of the installation are disabled, those of an account are removed from it.
    is_of_installation: bool,
    error: Option<FieldError>,
}

/// App, environment and user in the address of a member's page.
type MemberPath = Path<(String, String, String)>;

/// `GET /console/apps/{app}/{environment}/team`
pub async fn list(Scoped(page): Scoped) -> Response {
    answer(&page, show_list(&page))
}

pub fn show_list(page: &Page) -> Result<Response, Failed> {
    page.permit(view_action(page))?;
    let account = account(page);
    let users = page.state.users();
    let may_manage = page.may(manage_action(page));
    let mut invitations = users.invitations(account);
    invitations.retain(|_| may_manage);
    let members = users.members(account);
    let team = TeamPage {
        frame: page.frame(list_title(page), current(page)),
        heading: page.text().say(list_title(page)),
        here: at(page, ""),
        new: may_manage.then(|| at(page, "/new")),
        members: members
            .iter()
            .map(|(user, role)| member_row(page, user, *role))
            .collect(),
        invitations: invitations
            .iter()
            .map(|(link, user)| invitation_row(page, link, user))
            .collect(),
    };
    Ok(shown(page, &team))
}

/// `POST /console/apps/{app}/{environment}/team`
///
/// Makes a new link for an invitation, or withdraws it.
pub async fn change_invitation(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let changed = change_link(&page, &mut fields).await;
    answer(&page, changed)
}

pub async fn change_link(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(manage_action(page))?;
    let id: LinkId = fields
        .text("invitation")
        .parse()
        .map_err(|_| Failed::NotFound)?;
    let users = page.state.users();
    if fields.text("do") == "resend" {
        let made = users.resend_invitation(&permit, id).await?;
        fields.took_effect();
        return Ok(invited(page, &made).await);
    }
    users.withdraw_invitation(&permit, id).await?;
    fields.took_effect();
    Ok(page.go(&at(page, "?done=withdrawn")))
}

/// `GET /console/apps/{app}/{environment}/team/new`
pub async fn new(Scoped(page): Scoped) -> Response {
    answer(&page, show_new(&page))
}

pub fn show_new(page: &Page) -> Result<Response, Failed> {
    page.permit(manage_action(page))?;
    let role = match page.scope() {
        Some(_) => Role::Developer,
        None => Role::Auditor,
    };
    Ok(invite_page(page, StatusCode::OK, ("", "", role), None))
}

/// `POST /console/apps/{app}/{environment}/team/new`
pub async fn invite(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let invited = send_invitation(&page, &mut fields).await;
    answer(&page, invited)
}

pub async fn send_invitation(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(manage_action(page))?;
    let role = role_of(page, fields).ok_or(Failed::NotFound)?;
    let (email, name) = (fields.text("email"), fields.text("name"));
    let new = NewInvitation {
        email: email.to_owned(),
        name: name.to_owned(),
        language: page.text().language(),
        role,
    };
    match page.state.users().invite(&permit, new).await {
        Ok(made) => {
            fields.took_effect();
            Ok(invited(page, &made).await)
        }
        Err(error) => {
            let error = Some(problem(page, error)?);
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(invite_page(page, status, (email, name, role), error))
        }
    }
}

fn invite_page(
    page: &Page,
    status: StatusCode,
    (email, name, role): (&str, &str, Role),
    error: Option<FieldError>,
) -> Response {
    let form = InvitePage {
        frame: page.frame("console-team-invite", current(page)),
        list: at(page, ""),
        email: email.to_owned(),
        name: name.to_owned(),
        roles: roles(page, role),
        error,
    };
    page.show(status, &form)
}

/// Mails the link of an invitation, and shows it once.
async fn invited(page: &Page, made: &NewLink) -> Response {
    let values = [("email", made.user.email.as_str())];
    let text = match page.state.mail(made).await {
        true => "console-team-invited-mailed",
        false => "console-team-invited-text",
    };
    let shown_once = InvitedPage {
        frame: page.frame("console-team-invited", current(page)),
        list: at(page, ""),
        text: page.text().with(text, &values),
        url: Secret::new(page.state.link_url(made.token.expose())),
    };
    page.show(StatusCode::CREATED, &shown_once)
}

/// `GET /console/apps/{app}/{environment}/team/{user}`
pub async fn get(Scoped(page): Scoped, Path((.., id)): MemberPath) -> Response {
    answer(&page, show_member(&page, &id))
}

pub fn show_member(page: &Page, id: &str) -> Result<Response, Failed> {
    page.permit(manage_action(page))?;
    let (user, role) = one_of_team(page, id)?;
    Ok(member_page(page, StatusCode::OK, &user, role, None))
}

/// `POST /console/apps/{app}/{environment}/team/{user}`
///
/// The field `do` names the change.
pub async fn change(
    Path((.., id)): MemberPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let changed = change_member(&page, &id, &mut fields).await;
    answer(&page, changed)
}

pub async fn change_member(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(manage_action(page))?;
    let (user, role) = one_of_team(page, id)?;
    let users = page.state.users();
    let (changed, notice) = match fields.text("do") {
        "remove" => (users.remove_member(&permit, user.id).await, "removed"),
        "disable" => (users.disable(&permit, user.id).await, "user-disabled"),
        "enable" => (users.enable(&permit, user.id).await, "user-enabled"),
        "factor" => (
            users.remove_second_factor_of(&permit, user.id).await,
            "factor-removed",
        ),
        "sessions" => (
            users.end_sessions_of(&permit, user.id).await.map(drop),
            "sessions-ended",
        ),
        _ => {
            let role = role_of(page, fields).ok_or(Failed::NotFound)?;
            (
                users.change_role(&permit, user.id, role).await,
                "role-saved",
            )
        }
    };
    match changed {
        Ok(()) => {
            fields.took_effect();
            Ok(page.go(&at(page, &format!("?done={notice}"))))
        }
        Err(error) => {
            let error = problem(page, error)?;
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(member_page(page, status, &user, role, Some(error)))
        }
    }
}

fn member_page(
    page: &Page,
    status: StatusCode,
    user: &User,
    role: Role,
    error: Option<FieldError>,
) -> Response {
    let one = MemberPage {
        frame: page.frame("console-team-member", current(page)),
        list: at(page, ""),
        member: member_row(page, user, role),
        roles: roles(page, role),
        is_of_installation: account(page).is_none(),
        error,
    };
    page.show(status, &one)
}

/// The error of a form, or the reason why the page cannot be shown.
fn problem(page: &Page, error: UsersError) -> Result<FieldError, Failed> {
    let (field, message) = match error {
        UsersError::Invalid { field: "email", .. } => ("email", "console-email-invalid"),
        UsersError::Invalid { field, .. } => (field, "console-name-invalid"),
        UsersError::NotPossible(_) => ("", "console-team-not-possible"),
        error => return Err(error.into()),
    };
    Ok(FieldError::new(field, page.text().say(message)))
}

/// Account of the page's app. `None`: the page is about the users of the installation.
fn account(page: &Page) -> Option<AccountId> {
    page.scope().map(|scope| scope.app.account)
}

/// Address of the team, or of the users of the installation, followed by `rest`.
fn at(page: &Page, rest: &str) -> String {
    match page.scope() {
        Some(_) => page.in_scope(&format!("team{rest}")),
        None => page.link(&format!("installation/users{rest}")),
    }
}

fn view_action(page: &Page) -> Action {
    match page.scope() {
        Some(_) => Action::ViewTeam,
        None => Action::ViewInstallationUsers,
    }
}

fn manage_action(page: &Page) -> Action {
    match page.scope() {
        Some(_) => Action::ManageTeam,
        None => Action::ManageInstallationUsers,
    }
}

fn list_title(page: &Page) -> &'static str {
    match page.scope() {
        Some(_) => "console-team",
        None => "console-installation-users",
    }
}

/// Page of the navigation.
fn current(page: &Page) -> &'static str {
    match page.scope() {
        Some(_) => "team",
        None => "installation-users",
    }
}

fn role_scope(page: &Page) -> RoleScope {
    match page.scope() {
        Some(_) => RoleScope::Account,
        None => RoleScope::Installation,
    }
}

/// The member, if they belong to the team of the page.
fn one_of_team(page: &Page, id: &str) -> Result<(std::sync::Arc<User>, Role), Failed> {
    let id: UserId = id.parse().map_err(|_| Failed::NotFound)?;
    let members = page.state.users().members(account(page));
    let mut members = members.into_iter();
    members
        .find(|(user, _)| user.id == id)
        .ok_or(Failed::NotFound)
}

fn role_of(page: &Page, fields: &Fields) -> Option<Role> {
    let chosen = fields.text("role");
    let mut roles = Role::ALL.into_iter();
    roles.find(|role| role.name() == chosen && role.scope() == role_scope(page))
}

fn roles(page: &Page, chosen: Role) -> Vec<RoleChoice> {
    let text = page.text();
    let choice = |role: Role| RoleChoice {
        value: role.name(),
        name: role_name(role, text),
        hint: text.say(&format!("console-role-hint-{}", role.name())),
        is_chosen: role == chosen,
    };
    let of_account = Role::ALL
        .into_iter()
        .filter(|role| role.scope() == role_scope(page));
    of_account.map(choice).collect()
}

fn member_row(page: &Page, user: &User, role: Role) -> MemberRow {
    let text = page.text();
    MemberRow {
        href: at(page, &format!("/{}", user.id)),
        name: user.name.clone(),
        email: user.email.clone(),
        role: role_name(role, text),
        has_second_factor: user.has_totp(),
        seen: match user.last_sign_in_at {
            Some(at) => text.language().date(at),
            None => text.say("console-never"),
        },
        is_disabled: user.state == UserState::Disabled,
        is_own: page.identity().is_some_and(|who| who.user.id == user.id),
    }
}

fn invitation_row(page: &Page, link: &Link, user: &User) -> InvitationRow {
    let role = match link.purpose {
        Purpose::Invitation { role, .. } => role_name(role, page.text()),
        Purpose::Reset | Purpose::SignIn => String::new(),
    };
    InvitationRow {
        id: link.id.to_string(),
        email: user.email.clone(),
        role,
        expires: page.text().language().date(link.expires_at),
    }
}
