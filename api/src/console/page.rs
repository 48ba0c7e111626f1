//! Request for a page of the console: its reader, their language and session, and the app that the
//! page is about.

use std::sync::Arc;

use askama::Template;
use axum::Extension;
use axum::RequestPartsExt;
use axum::extract::{FromRequestParts, Path};
use axum::http::header::{ACCEPT_LANGUAGE, COOKIE, LOCATION, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;
use switchyard_core::language::{Language, without_embeddings};
use switchyard_core::secret::Secret;
use switchyard_engine::access::App;
use switchyard_engine::engine::EngineError;
use switchyard_store::Batch;
use switchyard_users::{
    Action, Channel, Identity, NewEntry, Origin, Permit, Refusal, UsersError, csrf_token,
};

use super::cookies;
use super::frame::{Frame, LanguageLink, Link, ScopeView, StatusMessage};
use super::installation;
use super::messages_of::{role_name, role_names};
use super::notices;
use super::state::ConsoleState;
use super::text::Text;
use crate::client;
use crate::frame::RequestId;
use crate::pages::headers::{self, Nonce};
use crate::pages::messages;

/// A request of anybody.
pub struct Page {
    pub state: ConsoleState,
    pub origin: Origin,
    language: Language,
    nonce: Nonce,
    /// Path and query of the request.
    address: String,
    request_id: String,
    /// Header `Cookie`.
    cookies: String,
    session: Option<SignedInSession>,
    scope: Option<Scope>,
}

/// Signed-in user, with the token of their session.
struct SignedInSession {
    identity: Identity,
    token: Secret<String>,
}

/// App and environment that a page is about.
#[derive(Clone)]
pub struct Scope {
    pub app: Arc<App>,
    pub environment: Environment,
}

/// A request of a signed-in user. Others are led to the sign-in.
pub struct SignedIn(pub Page);

/// A request about an app in an environment, of a user who has a role in its account. To others the
/// app does not exist.
pub struct Scoped(pub Page);

/// Reason why a page cannot be shown.
#[derive(Debug)]
pub enum Failed {
    NotFound,
    Refused(Refusal),
    Unavailable,
}

#[derive(Template)]
#[template(path = "console/message.html")]
struct Message {
    frame: Frame,
    title: String,
    text: String,
    link: Option<Link>,
    request_id: String,
}

#[derive(Template)]
#[template(path = "console/refused.html")]
struct NotAllowed {
    frame: Frame,
    title: String,
    text: String,
    roles: Option<String>,
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        tracing::warn!(%error, "failed to render a page of the console");
        Self::Unavailable
    }
}

impl From<Refusal> for Failed {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NotFound => Self::NotFound,
            refusal => Self::Refused(refusal),
        }
    }
}

impl From<UsersError> for Failed {
    fn from(error: UsersError) -> Self {
        match error {
            UsersError::Refused(refusal) => refusal.into(),
            UsersError::NotFound { .. } => Self::NotFound,
            error => {
                tracing::warn!(%error, "failed to render a page of the console");
                Self::Unavailable
            }
        }
    }
}

impl FromRequestParts<ConsoleState> for Page {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ConsoleState,
    ) -> Result<Self, Self::Rejection> {
        let id = parts.extract::<Extension<RequestId>>().await.ok();
        let id = id.and_then(|Extension(RequestId(id))| id.to_str().ok().map(str::to_owned));
        Ok(Self::new(
            state,
            &parts.uri,
            &parts.headers,
            &parts.extensions,
            id,
        ))
    }
}

impl FromRequestParts<ConsoleState> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ConsoleState) -> Result<Self, Response> {
        let Ok(page) = Page::from_request_parts(parts, state).await;
        match page.session {
            Some(_) => Ok(Self(page)),
            None => Err(page.to_sign_in()),
        }
    }
}

impl FromRequestParts<ConsoleState> for Scoped {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ConsoleState) -> Result<Self, Response> {
        let SignedIn(page) = SignedIn::from_request_parts(parts, state).await?;
        let path = parts.extract::<Path<Vec<(String, String)>>>().await;
        let path = path.map(|Path(pairs)| pairs).unwrap_or_default();
        let part = |name: &str| {
            let found = path.iter().find(|(given, _)| given == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        let app = part("app").parse::<AppId>().ok();
        let app = app.and_then(|app| state.engine().access().app(app));
        let environment = part("environment").parse::<Environment>().ok();
        let (Some(app), Some(environment)) = (app, environment) else {
            return Err(page.failed(Failed::NotFound));
        };
        let role = page
            .identity()
            .and_then(|who| who.user.role_in(Some(app.account)));
        if role.is_none() {
            return Err(page.failed(Failed::NotFound));
        }
        let scope = Some(Scope { app, environment });
        Ok(Self(Page { scope, ..page }))
    }
}

impl Page {
    pub fn new(
        state: &ConsoleState,
        uri: &Uri,
        headers: &HeaderMap,
        extensions: &axum::http::Extensions,
        request_id: Option<String>,
    ) -> Self {
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let settings = state.api().settings();
        let origin = Origin {
            channel: Channel::Console,
            address: client::address(settings, headers, extensions),
            user_agent: text(USER_AGENT).unwrap_or_default().to_owned(),
        };
        let cookies = text(COOKIE).unwrap_or_default();
        let token = cookies::session(cookies, state.is_https());
        let session = token.and_then(|token| {
            let identity = state.users().authenticate_session(token.expose(), &origin);
            let identity = identity.ok()?;
            Some(SignedInSession { identity, token })
        });
        let chosen = cookies::language(cookies);
        let own = session
            .as_ref()
            .map(|session| session.identity.user.language);
        let accepted = || text(ACCEPT_LANGUAGE).and_then(messages::accepted);
        let path = uri.path_and_query().map_or("/", |address| address.as_str());
        Self {
            language: chosen.or(own).or_else(accepted).unwrap_or(Language::En),
            nonce: Nonce::new(state.engine().ids()),
            address: format!("{}{path}", state.base()),
            request_id: request_id.unwrap_or_default(),
            cookies: cookies.to_owned(),
            state: state.clone(),
            origin,
            session,
            scope: None,
        }
    }

    /// Header `Cookie`.
    pub fn cookies(&self) -> &str {
        &self.cookies
    }

    pub const fn text(&self) -> Text {
        Text(self.language)
    }

    pub fn identity(&self) -> Option<&Identity> {
        self.session.as_ref().map(|session| &session.identity)
    }

    /// Token of the session, for its forms.
    pub fn session_token(&self) -> Option<&str> {
        self.session
            .as_ref()
            .map(|session| session.token.expose().as_str())
    }

    pub const fn scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// Proof that the reader may do this in the account of the page's app.
    pub fn permit(&self, action: Action) -> Result<Permit, Failed> {
        let who = self.identity().ok_or(Refusal::NotSignedIn)?;
        let account = self.scope.as_ref().map(|scope| scope.app.account);
        Ok(self.state.users().authorize(who, action, account)?)
    }

    /// Whether the reader's role allows an action, perhaps after they confirm their password. A
    /// refusal is not recorded, unlike that of [`Self::permit`].
    pub fn may(&self, action: Action) -> bool {
        let account = self.scope.as_ref().map(|scope| scope.app.account);
        let users = self.state.users();
        self.identity()
            .is_some_and(|who| users.may(who, action, account))
    }

    /// Writes an entry of the audit log about an action that was carried out.
    pub async fn audit(&self, entry: NewEntry) -> Result<(), Failed> {
        let users = self.state.users();
        Ok(users.commit_audited(Batch::new(), vec![entry]).await?)
    }

    /// Value of a parameter in the page's address.
    pub fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.address.split_once('?')?;
        let mut pairs = url::form_urlencoded::parse(query.as_bytes());
        let (_, value) = pairs.find(|(given, _)| given == name)?;
        Some(value.into_owned())
    }

    /// Values of a parameter that occurs several times in the page's address.
    pub fn queries(&self, name: &str) -> Vec<String> {
        let (_, query) = self.address.split_once('?').unwrap_or_default();
        let pairs = url::form_urlencoded::parse(query.as_bytes());
        let named = pairs.filter(|(given, _)| given == name);
        named.map(|(_, value)| value.into_owned()).collect()
    }

    /// Address of a page of the console.
    pub fn link(&self, path: &str) -> String {
        format!("{}/{path}", self.state.prefix())
    }

    /// Address of a page about the same app and environment.
    pub fn in_scope(&self, path: &str) -> String {
        self.scope.as_ref().map_or_else(
            || self.link(path),
            |scope| {
                self.link(&format!(
                    "apps/{}/{}/{path}",
                    scope.app.id, scope.environment
                ))
            },
        )
    }

    /// Path of the request.
    fn path(&self) -> &str {
        self.address.split('?').next().unwrap_or_default()
    }

    /// Path and query of the request.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Shows a page.
    pub fn show(&self, status: StatusCode, template: &impl Template) -> Response {
        let Ok(html) = template.render() else {
            tracing::error!("failed to render a template of the console");
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let headers = headers::of_page(&self.nonce, self.state.is_https());
        let html = without_embeddings(&html).into_owned();
        (status, headers, Html(html)).into_response()
    }

    /// Leads to another page.
    pub fn go(&self, to: &str) -> Response {
        let mut headers = headers::of_anything(self.state.is_https());
        if let Ok(to) = HeaderValue::from_str(to) {
            headers.insert(LOCATION, to);
        }
        (StatusCode::SEE_OTHER, headers).into_response()
    }

    /// Leads to the sign-in, and after it back to this page.
    pub fn to_sign_in(&self) -> Response {
        match self.path() == self.link("") {
            true => self.go(&self.link("sign-in")),
            false => self.to_and_back("sign-in", None),
        }
    }

    /// Leads to the sign-in with a notice, and after it back to this page.
    pub fn to_sign_in_with(&self, notice: &str) -> Response {
        self.to_and_back("sign-in", Some(notice))
    }

    /// Leads to the confirmation of the password, and after it back to this page.
    fn to_confirmation(&self) -> Response {
        self.to_and_back("confirm", None)
    }

    fn to_and_back(&self, to: &str, notice: Option<&str>) -> Response {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("next", self.path());
        if let Some(notice) = notice {
            query.append_pair("notice", notice);
        }
        self.go(&self.link(&format!("{to}?{}", query.finish())))
    }

    /// Error page.
    pub fn failed(&self, failed: Failed) -> Response {
        match failed {
            Failed::Refused(Refusal::NotSignedIn) => self.to_sign_in(),
            Failed::Refused(Refusal::NeedsRecentAuthentication) => self.to_confirmation(),
            Failed::Refused(Refusal::Forbidden { roles, .. }) => {
                self.not_allowed(&role_names(&roles, self.text()))
            }
            Failed::NotFound | Failed::Refused(Refusal::NotFound) => {
                self.message(StatusCode::NOT_FOUND, "console-missing")
            }
            Failed::Refused(_) => self.not_allowed(""),
            Failed::Unavailable => {
                self.message(StatusCode::SERVICE_UNAVAILABLE, "console-unavailable")
            }
        }
    }

    fn not_allowed(&self, roles: &str) -> Response {
        let text = self.text();
        let role = self.role();
        let page = NotAllowed {
            frame: self.frame("console-refused-title", ""),
            title: text.say("console-refused-title"),
            text: text.with("console-refused-text", &[("role", &role)]),
            roles: (!roles.is_empty())
                .then(|| text.with("console-refused-roles", &[("roles", roles)])),
        };
        self.show(StatusCode::FORBIDDEN, &page)
    }

    /// A page with the messages `<name>-title` and `<name>-text`.
    pub fn message(&self, status: StatusCode, name: &str) -> Response {
        let text = self.text();
        let title = format!("{name}-title");
        let page = Message {
            frame: self.frame(&title, ""),
            title: text.say(&title),
            text: text.say(&format!("{name}-text")),
            link: Some(Link {
                href: self.link(""),
                name: text.say("console-to-start"),
                icon: "",
                current: false,
                is_wide_only: false,
            }),
            request_id: self.request_id.clone(),
        };
        self.show(status, &page)
    }

    /// Role of the reader in the page's account, in words.
    fn role(&self) -> String {
        let account = self.scope.as_ref().map(|scope| scope.app.account);
        let user = self.identity().map(|who| &who.user);
        let role = user.and_then(|user| {
            let of_account = user.role_in(account);
            of_account.or_else(|| user.roles().first().copied())
        });
        role.map_or_else(String::new, |role| role_name(role, self.text()))
    }

    /// Frame of a page. `current`: the page of the navigation to which it belongs.
    pub fn frame(&self, title: &str, current: &str) -> Frame {
        let text = self.text();
        let title = text.say(title);
        let scope = self
            .scope
            .as_ref()
            .map(|scope| self.scope_view(scope, current));
        let title = match &scope {
            Some(scope) if scope.environment == Environment::Sandbox => {
                text.with("console-sandbox-title", &[("title", &title)])
            }
            _ => title,
        };
        let service = self.state.engine().settings().service_name.clone();
        let user_name = self.identity().map_or("", |who| who.user.name.as_str());
        Frame {
            lang: self.language,
            nonce: self.nonce.as_str().to_owned(),
            title: format!("{title} · {service}"),
            host: self.state.host().to_owned(),
            prefix: self.state.prefix(),
            action: self.path().to_owned(),
            csrf: self.csrf(),
            form: self.state.engine().ids().ulid(self.state.now()).to_string(),
            notice: self.notice(),
            languages: self.languages(),
            links: self.links(current),
            apps_href: self.link(""),
            user_initials: initials(user_name),
            user_name: user_name.to_owned(),
            role: self.role(),
            service,
            scope,
        }
    }

    fn csrf(&self) -> String {
        let token = self.session_token().map(csrf_token);
        token.map_or_else(String::new, |token| token.expose().clone())
    }

    /// The notice that `?done=` names.
    fn notice(&self) -> Option<StatusMessage> {
        notices::of(&self.query("done")?, self.text())
    }

    fn scope_view(&self, scope: &Scope, current: &str) -> ScopeView {
        let account = self.state.engine().access().account(scope.app.account);
        let account = account.map_or_else(String::new, |account| account.name.clone());
        let environments = Environment::ALL.map(|environment| {
            let (name, icon) = match environment {
                Environment::Sandbox => ("console-sandbox", "i-flask"),
                Environment::Live => ("console-live", "i-bolt"),
            };
            let path = format!("apps/{}/{environment}/{current}", scope.app.id);
            Link {
                href: self.link(&path),
                name: self.text().say(name),
                icon,
                current: environment == scope.environment,
                is_wide_only: false,
            }
        });
        ScopeView {
            initials: initials(&account),
            app: scope.app.name.clone(),
            account,
            environment: scope.environment,
            environments: environments.into(),
        }
    }

    fn links(&self, current: &str) -> Vec<Link> {
        let link = |href: String, name: &'static str, icon: &'static str| Link {
            href,
            name: self.text().say(&format!("console-{name}")),
            icon,
            current: name == current,
            is_wide_only: false,
        };
        if self.session.is_none() {
            return Vec::new();
        }
        let is_of_installation = self.is_of_installation();
        let start = match is_of_installation {
            true => link(self.link("installation"), "installation", "i-home"),
            false => link(self.link(""), "apps", "i-apps"),
        };
        let mut links = vec![Link {
            is_wide_only: self.scope.is_some(),
            ..start
        }];
        if is_of_installation && self.scope.is_none() {
            links.extend(
                installation::LINKS.map(|(name, path, icon, is_wide_only)| Link {
                    is_wide_only,
                    ..link(self.link(path), name, icon)
                }),
            );
        }
        if self.scope.is_some() {
            links.extend([
                link(self.in_scope("home"), "home", "i-home"),
                link(self.in_scope("payments"), "payments", "i-payments"),
                link(self.in_scope("payouts"), "payouts", "i-payouts"),
                Link {
                    current: matches!(current, "keys" | "webhooks"),
                    ..link(self.in_scope("keys"), "developers", "i-key")
                },
            ]);
            let more = [
                (Action::ViewPayments, "customers", "i-person"),
                (Action::ViewPayments, "payment-links", "i-link"),
                (Action::ViewConnections, "connections", "i-bolt"),
                (Action::ViewRouting, "routing", "i-payouts"),
                (Action::ViewAppSettings, "settings", "i-settings"),
                (Action::ViewTeam, "team", "i-person"),
                (Action::ViewAudit, "audit", "i-search"),
            ];
            let more = more.into_iter().filter(|(action, ..)| self.may(*action));
            if self.may(Action::ApprovePayout) || self.may(Action::ApproveRouting) {
                links.push(Link {
                    is_wide_only: true,
                    ..link(self.in_scope("approvals"), "approvals", "i-paid")
                });
            }
            links.extend(more.map(|(_, name, icon)| Link {
                is_wide_only: true,
                ..link(self.in_scope(name), name, icon)
            }));
        }
        links.push(link(self.link("account"), "account-page", "i-account"));
        links
    }

    /// Whether the reader has a role for the whole installation.
    pub fn is_of_installation(&self) -> bool {
        self.identity()
            .is_some_and(|who| who.user.role_in(None).is_some())
    }

    fn languages(&self) -> Vec<LanguageLink> {
        // The query of a stranger is not repeated.
        let address = match self.session {
            Some(_) => &self.address,
            None => self.path(),
        };
        let mark = if address.contains('?') { '&' } else { '?' };
        let link = |language: Language| LanguageLink {
            href: format!("{address}{mark}lang={}", language.code()),
            code: language.code(),
            name: language.name(),
            short: language.code().to_uppercase(),
            current: language == self.language,
        };
        Language::ALL.map(link).into()
    }
}

/// Two letters that stand for a name.
pub fn initials(name: &str) -> String {
    let words = name
        .split(|letter: char| !letter.is_alphanumeric())
        .filter_map(|word| word.chars().next());
    words.take(2).flat_map(char::to_uppercase).collect()
}
