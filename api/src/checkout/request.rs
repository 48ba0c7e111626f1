//! Request for a checkout page, with its payment and language. A request without a payment ends
//! here, with an error page.

use std::net::IpAddr;
use std::time::Duration;

use axum::RequestPartsExt;
use axum::extract::{FromRequestParts, Path};
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri};
use axum::response::Response;
use switchyard_core::directory::{Country, country};
use switchyard_core::ids::{PaymentId, TransactionId};
use switchyard_core::transaction::{ClientContext, Refusal, State};
use switchyard_engine::access::App;
use switchyard_engine::engine::{Engine, EngineError};
use switchyard_system::trace::TraceContext;

use super::answers::FormState;
use super::error_page::{self, ErrorPage};
use super::lost;
use super::menu::{Menu, PaymentOption};
use super::offer;
use super::page_context::{PageContext, Visitor};
use super::state::{CheckoutState, ConfirmLock};
use crate::client;
use crate::operations::note_transaction;
use crate::pages::headers::Nonce;
use crate::pages::messages;
use switchyard_core::language::Language;

pub struct CheckoutRequest {
    pub context: PageContext,
    state: CheckoutState,
    client: ClientContext,
}

/// A way to pay that works now, in a country.
pub struct Selection {
    pub way: PaymentOption,
    pub country: &'static Country,
}

impl FromRequestParts<CheckoutState> for CheckoutRequest {
    type Rejection = Response;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &CheckoutState,
    ) -> Result<Self, Response> {
        let path = parts.extract::<Path<Vec<(String, String)>>>().await;
        let id = path
            .ok()
            .and_then(|Path(pairs)| pairs.into_iter().next())
            .map(|(_, id)| id);
        let id = id.and_then(|id| id.parse::<PaymentId>().ok());
        let id = id.map(TransactionId::Payment);
        let accept = parts.headers.get(ACCEPT_LANGUAGE);
        Ok(Self {
            context: load(state, id, &parts.uri, accept).await?,
            state: state.clone(),
            client: client::context(state.api().settings(), &parts.headers, &parts.extensions),
        })
    }
}

async fn load(
    state: &CheckoutState,
    id: Option<TransactionId>,
    uri: &Uri,
    accept: Option<&HeaderValue>,
) -> Result<PageContext, Response> {
    let engine = state.api().engine();
    let visitor = |app: Option<&App>| visitor(state, uri, accept, app);
    let missing = || error_page::page(&visitor(None), ErrorPage::Missing, None);
    let id = id.ok_or_else(missing)?;
    let tx = match engine.transaction(id).await {
        Ok(found) => found.ok_or_else(missing)?,
        Err(error) => {
            let visitor = visitor(None);
            let home = Some(visitor.link(id, "", &[]));
            return Err(error_page::page(&visitor, error_page_for(id, &error), home));
        }
    };
    note_transaction(tx.id);
    let app = engine.access().app(tx.app).ok_or_else(missing)?;
    let context = PageContext {
        visitor: visitor(Some(&app)),
        tx,
        app,
        directory: engine.directory().clone(),
        icons: state.api().settings().method_icons.clone(),
        now: engine.clock().now(),
        is_answer_lost: false,
    };
    let is_paused = context.tx.state == State::AwaitingCustomer && !engine.may_start(&context.tx);
    match is_paused {
        true => Err(error_page::paused(
            &context,
            engine.knows_all_attempts(&context.tx),
        )),
        false => Ok(context),
    }
}

/// Visitor of a request, by its address and its header `Accept-Language`. `app`: its language is
/// the default.
pub(super) fn visitor(
    state: &CheckoutState,
    uri: &Uri,
    accept: Option<&HeaderValue>,
    app: Option<&App>,
) -> Visitor {
    let settings = state.api().engine().settings();
    let query: Vec<(String, String)> =
        url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
    let named = query.iter().find(|(name, _)| name == "lang");
    let chosen = named.and_then(|(_, tag)| Language::of(tag));
    let accepted = || messages::accepted(accept?.to_str().ok()?);
    let apps = || Language::of(app?.settings.locale.as_deref()?);
    Visitor {
        language: chosen
            .or_else(accepted)
            .or_else(apps)
            .unwrap_or(Language::En),
        chose_language: chosen.is_some(),
        nonce: Nonce::new(state.api().engine().ids()),
        service: settings.service_name.clone(),
        prefix: state.prefix().to_owned(),
        https: state.is_https(),
        path: uri.path().to_owned(),
        query,
    }
}

/// The page for what the engine could not do.
fn error_page_for(id: TransactionId, error: &EngineError) -> ErrorPage {
    match error {
        EngineError::NotFound => ErrorPage::Missing,
        EngineError::Refused(Refusal::Paused) => ErrorPage::Paused,
        EngineError::AppDisabled => ErrorPage::Closed,
        EngineError::TooManyPrompts(limit) => {
            let wait = limit.retry_after.map_or(60, |wait| wait.as_secs().max(1));
            ErrorPage::TooMany(wait)
        }
        _ => {
            tracing::warn!(
                transaction.id = %id,
                error = %error,
                "failed to render a checkout page"
            );
            ErrorPage::Unavailable
        }
    }
}

impl CheckoutRequest {
    pub fn engine(&self) -> &Engine {
        self.state.api().engine()
    }

    pub fn state(&self) -> &CheckoutState {
        &self.state
    }

    /// The client's address, as far as it is known.
    pub fn address(&self) -> Option<IpAddr> {
        self.client.ip.as_deref()?.parse().ok()
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        let pairs = &self.context.visitor.query;
        pairs
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    /// The country from which the request comes, as far as is known: a trusted proxy's header, else
    /// the GeoIP file. The region of the browser's language says nothing: `en-GB` is the default of
    /// phones everywhere.
    pub fn from(&self) -> Option<String> {
        self.client.country.clone()
    }

    pub fn client_context(&self) -> ClientContext {
        let mut client = self.client.clone();
        // Mails follow the language that the payer chose on the page.
        if self.context.visitor.chose_language {
            client.locale = Some(self.context.visitor.language.code().to_owned());
        }
        client
    }

    pub fn menu(&self) -> Menu {
        let ways = offer::ways(self.engine(), &self.context.tx);
        Menu::new(&self.context.tx, ways).without(&self.state.api().settings().excluded_countries)
    }

    /// The way that was chosen, if it can work now.
    pub async fn chosen(&self, method: &str, alpha2: &str) -> Option<Selection> {
        let (engine, tx) = (self.engine(), &self.context.tx);
        let method = engine.directory().payment_method(method)?;
        let served = offer::way(engine, tx, method).into_iter().collect();
        let menu = Menu::new(tx, served).without(&self.state.api().settings().excluded_countries);
        let way = menu.find(&method.code, alpha2)?.clone();
        Some(Selection {
            way: offer::with_options(engine, tx, way).await,
            country: country(alpha2)?,
        })
    }

    /// The answers in the address.
    pub fn answers(&self) -> Option<FormState> {
        self.open(self.query("a")?)
    }

    pub fn open(&self, sealed: &str) -> Option<FormState> {
        let (vault, account) = (self.engine().access().vault(), self.context.app.account);
        FormState::open(sealed, vault, account, self.context.tx.id)
    }

    pub fn seal(&self, answers: &FormState) -> Option<String> {
        answers.seal(self.engine().access().vault(), self.context.app.account)
    }

    /// To a step, with the answers in its address.
    pub fn go_with(&self, answers: &FormState, step: &str) -> Response {
        match self.seal(answers) {
            Some(sealed) => self.context.go(step, &[("a", &sealed)]),
            None => self.unavailable(),
        }
    }

    /// The same, with something to say.
    pub fn go_with_notice(&self, answers: &FormState, step: &str, notice: &str) -> Response {
        match self.seal(answers) {
            Some(sealed) => self.context.go(step, &[("a", &sealed), ("notice", notice)]),
            None => self.unavailable(),
        }
    }

    pub fn try_lock(&self) -> Option<ConfirmLock> {
        self.state.try_lock(self.context.tx.id)
    }

    /// The same visit to the payment as it is now.
    pub async fn again(mut self) -> Result<Self, Response> {
        match self.engine().transaction_again(&self.context.tx).await {
            Ok(Some(tx)) => {
                self.context.tx = tx;
                self.context.now = self.engine().clock().now();
                Ok(self)
            }
            Ok(None) => Err(self.error_page(&EngineError::NotFound)),
            Err(error) => Err(self.error_page(&error)),
        }
    }

    /// Has the provider asked, and waits a moment for its word. The question outlives the wait.
    pub async fn ask_provider(&mut self, at_most: Duration) {
        let (engine, id) = (self.engine().clone(), self.context.tx.id);
        let asked = async move { engine.verify(id).await };
        let asked = tokio::spawn(TraceContext::current().scope(asked));
        if let Ok(Ok(Ok(Some(tx)))) = tokio::time::timeout(at_most, asked).await {
            self.context.tx = tx;
        } else if let Ok(Some(tx)) = self.engine().transaction(id).await {
            self.context.tx = tx;
        }
    }

    /// Reads the timeline where the page of the open attempt needs it. Without an answer of the
    /// store the page says less.
    pub async fn read_timeline(&mut self) {
        let tx = &self.context.tx;
        let Some(attempt) = tx.current_attempt().filter(|_| lost::is_needed(tx)) else {
            return;
        };
        if let Ok(timeline) = self.engine().timeline(tx.id).await {
            self.context.is_answer_lost = lost::is_answer_lost(attempt, &timeline);
        }
    }

    /// Waits a moment until the engine has ended an expired payment, so that the payer returns with
    /// its final status.
    pub async fn wait_for_expiry(&mut self, at_most: Duration) {
        let (engine, id) = (self.engine().clone(), self.context.tx.id);
        let mut news = engine.watch(id);
        news.mark_unchanged();
        for wait in [Duration::ZERO, at_most] {
            // Without news in time the page shows what is stored, and the engine lets go a little
            // later.
            let _ = tokio::time::timeout(wait, news.changed()).await;
            match engine.transaction(id).await {
                Ok(Some(tx)) => self.context.tx = tx,
                _ => return,
            }
            if self.context.tx.state.is_final() {
                return;
            }
        }
    }

    pub fn error_page(&self, error: &EngineError) -> Response {
        match error_page_for(self.context.tx.id, error) {
            ErrorPage::Missing => error_page::page(&self.context.visitor, ErrorPage::Missing, None),
            error_page => error_page::about(&self.context, error_page),
        }
    }

    pub fn unavailable(&self) -> Response {
        error_page::about(&self.context, ErrorPage::Unavailable)
    }
}
