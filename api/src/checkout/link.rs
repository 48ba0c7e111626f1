//! Page of a payment link: the payer says who they are and, where the amount is not fixed, what
//! they pay. The form begins an ordinary payment, and leads to its checkout.

use std::net::IpAddr;
use std::sync::Arc;

use askama::Template;
use axum::RequestPartsExt;
use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;
use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::App;
use switchyard_users::{LinkAmount, LinkCode, PaymentLink, Unusable, Users};

use super::brand;
use super::error_page::{self, ErrorPage, Words};
use super::form::Form;
use super::link_form::{Draft, Errors};
use super::money::size;
use super::page_context::{Frame, Order, Support, Visitor, initials};
use super::request::visitor;
use super::state::CheckoutState;
use crate::client;
use crate::error::{ApiError, ErrorCode};
use crate::operations::note_transaction;
use crate::pages::messages;
use crate::payment_links::{self, LinkError, NotBegun};

/// A visitor of a payment link that exists.
pub struct LinkVisit {
    pub visitor: Visitor,
    pub link: PaymentLink,
    app: Arc<App>,
    users: Users,
    state: CheckoutState,
    client: ClientContext,
}

/// Reason why the page shows no form.
#[derive(Clone, Copy)]
enum Closed {
    Link(Unusable),
    App,
    /// No method takes a payment of the link.
    NoMethod,
}

#[derive(Template)]
#[template(path = "checkout/link_done.html")]
struct Done {
    frame: Frame,
    text: String,
}

impl FromRequestParts<CheckoutState> for LinkVisit {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &CheckoutState,
    ) -> Result<Self, Response> {
        let accept = parts.headers.get(ACCEPT_LANGUAGE).cloned();
        let visit = |app: Option<&App>| visitor(state, &parts.uri, accept.as_ref(), app);
        let stranger = visit(None);
        let missing = || error_page::page(&stranger, ErrorPage::Missing, None);
        let uri = parts.uri.clone();
        let client = client::context(state.api().settings(), &parts.headers, &parts.extensions);
        let path = parts.extract::<Path<Vec<(String, String)>>>().await;
        let path = path.map(|Path(pairs)| pairs).unwrap_or_default();
        let code = path.into_iter().next();
        let code = code.and_then(|(_, code)| code.parse::<LinkCode>().ok());
        let code = code.ok_or_else(missing)?;
        let users = state.api().console().ok_or_else(missing)?.users.clone();
        let link = match users.payment_link_by_code(&code).await {
            Ok(found) => found.ok_or_else(missing)?,
            Err(error) => return Err(unavailable(&stranger, &error.into())),
        };
        let app = state.api().engine().access().app(link.app);
        let app = app.ok_or_else(missing)?;
        Ok(Self {
            visitor: visitor(state, &uri, accept.as_ref(), Some(&app)),
            link,
            app,
            users,
            state: state.clone(),
            client,
        })
    }
}

/// `GET /l/{code}`
pub async fn get(visit: LinkVisit) -> Response {
    match visit.closed().await {
        Ok(None) => visit.form(&Draft::default(), &Errors::default(), None),
        Ok(Some(closed)) => visit.closed_page(closed),
        Err(error) => unavailable(&visit.visitor, &error),
    }
}

/// `POST /l/{code}`: to the checkout of the payment, or back with what is wrong beside each field.
pub async fn post(visit: LinkVisit, form: Form) -> Response {
    let (api, link) = (visit.state.api(), &visit.link);
    if let Some(seconds) = payment_links::wait_of_form(api, link, visit.address()) {
        let home = Some(visit.home());
        return error_page::page(&visit.visitor, ErrorPage::Busy(seconds), home);
    }
    let draft = Draft::of_form(&form, link);
    let errors = draft.errors(&visit);
    if !errors.is_empty() {
        return visit.form(&draft, &errors, Some(&draft.token));
    }
    if !draft.has_token() {
        return visit.again(&draft, "link-again");
    }
    let place = (api, &visit.users);
    let (payer, client) = (draft.payer(link), visit.client_context());
    match payment_links::begin(place, link, &draft.token, &payer, client).await {
        Ok(id) => {
            note_transaction(id);
            visit.visitor.go(&visit.visitor.link(id, "", &[]))
        }
        Err(NotBegun::Unusable(why)) => visit.closed_page(Closed::Link(why)),
        Err(NotBegun::AppClosed) => visit.closed_page(Closed::App),
        Err(NotBegun::FormUsed) => visit.again(&draft, "link-changed"),
        Err(NotBegun::OtherAmount) => {
            let errors = Errors::of_amount(&visit);
            visit.form(&draft, &errors, Some(&draft.token))
        }
        Err(NotBegun::Request(error)) => visit.refused(&draft, &error),
        Err(NotBegun::Failed(error)) => unavailable(&visit.visitor, &error),
    }
}

/// `GET /l/{code}/done`: where payers come back to, if the merchant gave no page of their own.
pub async fn done(visit: LinkVisit) -> Response {
    let page = Done {
        frame: visit.frame("link-done-title"),
        text: visit.say_merchant("link-done-text"),
    };
    visit.visitor.show(StatusCode::OK, &page)
}

impl LinkVisit {
    fn address(&self) -> Option<IpAddr> {
        self.client.ip.as_deref()?.parse().ok()
    }

    fn client_context(&self) -> ClientContext {
        let mut client = self.client.clone();
        // Mails follow the language that the payer chose on the page.
        if self.visitor.chose_language {
            client.locale = Some(self.visitor.language.code().to_owned());
        }
        client
    }

    pub fn say_with(&self, message: &str, values: &[(&'static str, &str)]) -> String {
        messages::say_with(self.visitor.language, message, values)
    }

    pub fn say_merchant(&self, message: &str) -> String {
        self.say_with(message, &[("merchant", &self.app.name)])
    }

    /// Address of the form.
    pub fn home(&self) -> String {
        let (prefix, code) = (&self.visitor.prefix, &self.link.code);
        match self.visitor.chose_language {
            true => format!("{prefix}/l/{code}?lang={}", self.visitor.language.code()),
            false => format!("{prefix}/l/{code}"),
        }
    }

    /// Random characters for a form.
    pub fn new_token(&self) -> String {
        let engine = self.state.api().engine();
        let token = switchyard_system::secrets::make_token("", engine.ids());
        token.expose().clone()
    }

    /// The reason why the link takes no payment now.
    async fn closed(&self) -> Result<Option<Closed>, LinkError> {
        let (api, link) = (self.state.api(), &self.link);
        if !payment_links::is_app_open(api, link) {
            return Ok(Some(Closed::App));
        }
        let now = api.engine().clock().now();
        let uses = self.users.link_uses(link.id).await?;
        let why = match link.unusable(&uses, now) {
            Some(Unusable::Held) => {
                let uses = payment_links::uses(api, &self.users, link).await?.uses;
                link.unusable(&uses, now)
            }
            why => why,
        };
        let can_be_paid = || payment_links::can_be_paid(api, link);
        Ok(match why {
            Some(why) => Some(Closed::Link(why)),
            None => (!can_be_paid()).then_some(Closed::NoMethod),
        })
    }

    fn closed_page(&self, closed: Closed) -> Response {
        let (word, status) = match closed {
            Closed::Link(Unusable::Disabled) => ("disabled", StatusCode::GONE),
            Closed::Link(Unusable::Expired) => ("expired", StatusCode::GONE),
            Closed::Link(Unusable::UsedUp) => ("used-up", StatusCode::GONE),
            Closed::Link(Unusable::Held) => ("held", StatusCode::CONFLICT),
            Closed::App => ("closed", StatusCode::GONE),
            Closed::NoMethod => ("no-method", StatusCode::NOT_FOUND),
        };
        let retry = match closed {
            Closed::Link(Unusable::Held) | Closed::NoMethod => Some(self.home()),
            Closed::Link(_) | Closed::App => None,
        };
        let title = format!("link-{word}-title");
        let words = Words {
            title: self.say_merchant(&title),
            text: self.say_merchant(&format!("link-{word}-text")),
            advice: self.say_merchant(&format!("link-{word}-advice")),
        };
        let frame = self.frame(&title);
        error_page::of_link(&self.visitor, frame, status, words, retry)
    }

    fn form(&self, draft: &Draft, errors: &Errors, token: Option<&str>) -> Response {
        let status = match errors.is_empty() {
            true => StatusCode::OK,
            false => StatusCode::UNPROCESSABLE_ENTITY,
        };
        self.visitor
            .show(status, &draft.page(self, errors, token, None))
    }

    /// The form with a new token and a notice, which is a message: nothing was begun.
    fn again(&self, draft: &Draft, notice: &str) -> Response {
        let notice = Some(self.visitor.say(notice));
        let page = draft.page(self, &Errors::default(), None, notice);
        self.visitor.show(StatusCode::CONFLICT, &page)
    }

    /// The form with the problems of its payment, or the page about why there is none.
    fn refused(&self, draft: &Draft, error: &ApiError) -> Response {
        let is_about_methods = |code: ErrorCode| {
            matches!(
                code,
                ErrorCode::NoMethodEnabled | ErrorCode::MethodUnavailable
            )
        };
        let problems = error.problems();
        if problems.iter().any(|one| is_about_methods(one.code)) {
            return self.closed_page(Closed::NoMethod);
        }
        match Errors::of(problems, self) {
            Some(errors) => self.form(draft, &errors, Some(&draft.token)),
            None => {
                let message = problems.first().map(|one| one.message.as_ref());
                let message = message.unwrap_or_default();
                tracing::warn!(message, "failed to begin a payment of a link");
                let home = Some(self.home());
                error_page::page(&self.visitor, ErrorPage::Unavailable, home)
            }
        }
    }

    /// Frame of a page of the link, titled by a message.
    fn frame(&self, title: &str) -> Frame {
        self.frame_titled(&self.say_merchant(title))
    }

    pub fn frame_titled(&self, title: &str) -> Frame {
        let contacts = brand::contacts(&self.app);
        let mut frame = self.visitor.frame("front-title");
        let values = [("page", title), ("merchant", self.app.name.as_str())];
        frame.title = self.say_with("page-title", &values);
        frame.sandbox = self.link.environment == Environment::Sandbox;
        frame.order = Some(self.order());
        frame.theme = brand::theme(&self.app);
        frame.support = (!contacts.is_empty()).then(|| Support {
            text: self.say_merchant("support"),
            contacts,
        });
        frame
    }

    fn order(&self) -> Order {
        let (app, visitor) = (&self.app, &self.visitor);
        let amount = match self.link.terms.amount {
            LinkAmount::Fixed { amount } => amount.written(visitor.language),
            LinkAmount::Between { .. } | LinkAmount::Open { .. } => String::new(),
        };
        let logo = brand::logo_path(app);
        Order {
            merchant: app.name.clone(),
            initials: initials(&app.name),
            logo: logo.map(|path| format!("{}{path}", visitor.prefix)),
            label: visitor.say("amount-due"),
            size: size(&amount),
            amount,
            below: None,
            description: self.link.terms.title.clone(),
        }
    }
}

fn unavailable(visitor: &Visitor, error: &LinkError) -> Response {
    tracing::warn!(%error, "failed to show a payment link");
    error_page::page(visitor, ErrorPage::Unavailable, None)
}
