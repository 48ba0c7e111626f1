//! State that all requests of the console share.

use std::sync::Arc;

use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_engine::engine::Engine;
use switchyard_users::{NewLink, Users};
use url::Url;

use super::form::SentForms;
use super::installation::upload::Uploads;
use crate::state::{ApiState, ConsoleAccess};
use crate::user_mail;

/// A handle, cloned with every route and layer for every request.
#[derive(Clone)]
pub struct ConsoleState(Arc<Inner>);

struct Inner {
    api: ApiState,
    access: ConsoleAccess,
    sent_forms: SentForms,
    uploads: Uploads,
    /// Path of the console's URL, without a slash at its end: most often empty.
    base: String,
    host: String,
    /// Users reach the console by https.
    https: bool,
}

impl ConsoleState {
    pub fn new(api: ApiState, access: &ConsoleAccess) -> Self {
        let public = Url::parse(&access.url).ok();
        let path = public.as_ref().map_or("", Url::path);
        let host = public.as_ref().and_then(Url::host_str);
        Self(Arc::new(Inner {
            base: path.trim_end_matches('/').to_owned(),
            host: host.unwrap_or_default().to_owned(),
            https: public.as_ref().is_some_and(|url| url.scheme() == "https"),
            api,
            access: access.clone(),
            sent_forms: SentForms::default(),
            uploads: Uploads::default(),
        }))
    }

    pub fn api(&self) -> &ApiState {
        &self.0.api
    }

    pub fn now(&self) -> Timestamp {
        self.0.api.engine().clock().now()
    }

    pub fn engine(&self) -> &Engine {
        self.0.api.engine()
    }

    pub fn users(&self) -> &Users {
        &self.0.access.users
    }

    pub fn sent_forms(&self) -> &SentForms {
        &self.0.sent_forms
    }

    pub fn uploads(&self) -> &Uploads {
        &self.0.uploads
    }

    /// Mails a single-use link to its user. Returns whether it was queued.
    pub async fn mail(&self, made: &NewLink) -> bool {
        user_mail::send(self.engine(), &self.0.access, made).await
    }

    /// The users of the console, with its address.
    pub fn access(&self) -> &ConsoleAccess {
        &self.0.access
    }

    /// Address of a single-use link for a user.
    pub fn link_url(&self, token: &str) -> String {
        self.0.access.link_url(token)
    }

    /// Path before all addresses, without a slash at its end: most often empty.
    pub fn base(&self) -> &str {
        &self.0.base
    }

    pub fn host(&self) -> &str {
        &self.0.host
    }

    pub fn is_https(&self) -> bool {
        self.0.https
    }

    /// Path of the console, without a slash at its end.
    pub fn prefix(&self) -> String {
        format!("{}{}", self.0.base, super::PREFIX)
    }

    /// Address of the checkout page of a payment.
    pub fn checkout_url(&self, id: TransactionId) -> String {
        format!("{}/checkout/{id}", self.engine().settings().public_url)
    }
}
