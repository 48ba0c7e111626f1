//! The provider: its metadata and keys, which are fetched when they are needed, and the steps of a
//! sign-in.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use openidconnect::core::{
    CoreAuthPrompt, CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken,
    CoreJsonWebKeySet, CoreProviderMetadata, CoreTokenResponse, CoreUserInfoClaims,
};
use openidconnect::{
    AccessToken, AuthType, AuthenticationContextClass, AuthorizationCode, ClientId, ClientSecret,
    CsrfToken, EndpointMaybeSet, EndpointNotSet, EndpointSet, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError,
    Scope, SubjectIdentifier, TokenResponse as _,
};
use parking_lot::Mutex;
use switchyard_core::limits::{
    OPENID_EXCHANGES, OPENID_KEYS_INTERVAL, OPENID_METADATA_AGE, OPENID_TIMEOUT,
};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;
use switchyard_system::egress::ClientError;
use switchyard_system::ids::Ids;
use switchyard_system::secrets::{Fingerprint, random_secret};
use switchyard_users::ProviderIdentity;
use tokio::sync::Semaphore;
use url::Url;

use super::http::{Http, HttpError};
use super::pending::{PendingReturn, PendingReturns, Purpose, StateFault};
use super::verify::{Claims, Email, Expected, TokenFault, verify};

/// Provider and this installation at it.
#[derive(Clone, Debug)]
pub struct ProviderOptions {
    pub issuer: String,
    pub client_id: String,
    pub client_secret: Option<Secret<String>>,
    /// Name on pages.
    pub name: String,
    pub scopes: Vec<String>,
    /// Values of `amr` and `acr` with which a second factor of the provider counts.
    pub second_factor_amr: Vec<String>,
    pub second_factor_acr: Vec<String>,
    /// Whether an e-mail address counts as verified when the provider does not say.
    pub trusts_email: bool,
    /// Address to which the provider leads a browser back.
    pub return_url: String,
    /// Whether the provider is refused without TLS.
    pub https_only: bool,
}

/// Handle of the provider. Clones share it.
#[derive(Clone)]
pub struct Provider(Arc<Inner>);

struct Inner {
    options: ProviderOptions,
    http: Http,
    clock: Clock,
    ids: Ids,
    known: tokio::sync::Mutex<Option<CachedMetadata>>,
    pending: PendingReturns,
    exchanges: Semaphore,
    /// Time of the last fetch because a token named an unknown key.
    keys_fetched: Mutex<Option<Timestamp>>,
    /// Time of the last entry in the log about a provider that cannot be reached.
    logged: Mutex<Option<Timestamp>>,
}

/// Metadata of the provider with its keys.
#[derive(Clone)]
struct CachedMetadata {
    metadata: Arc<CoreProviderMetadata>,
    at: Timestamp,
}

/// A sign-in that begins: the browser goes to the URL, and keeps the token in a cookie.
#[derive(Debug)]
pub struct Departure {
    pub url: Url,
    pub browser: Secret<String>,
}

/// Query of the return from the provider.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub struct Answer {
    state: String,
    code: Option<Secret<String>>,
    error: String,
    /// Issuer of the answer (RFC 9207).
    iss: Option<String>,
}

/// Reason why a sign-in by the provider fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The return belongs to no sign-in that this browser has begun: it was used, is too old, or
    /// comes from elsewhere.
    State,
    /// The person has cancelled, or the provider does not let them in.
    Denied,
    /// The provider answered with an error, or with a token that proves nothing.
    Unusable,
    /// The person did not sign in at the provider again.
    NotRecent,
    /// The provider does not answer in time.
    Unreachable,
}

type DiscoveryError = openidconnect::DiscoveryError<HttpError>;

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

impl Provider {
    pub fn new(options: ProviderOptions, clock: Clock, ids: Ids) -> Result<Self, ClientError> {
        let http = Http::new(options.https_only)?;
        Ok(Self(Arc::new(Inner {
            options,
            http,
            clock,
            ids,
            known: tokio::sync::Mutex::default(),
            pending: PendingReturns::default(),
            exchanges: Semaphore::new(OPENID_EXCHANGES),
            keys_fetched: Mutex::default(),
            logged: Mutex::default(),
        })))
    }

    /// Name of the provider on pages.
    pub fn name(&self) -> &str {
        &self.0.options.name
    }

    /// Begins a sign-in, or a new authentication. `next`: address of the page to show afterwards.
    pub async fn begin(
        &self,
        purpose: Purpose,
        next: String,
        client: Option<IpAddr>,
    ) -> Result<Departure, Fault> {
        let known = self.within_time(self.known(OPENID_METADATA_AGE)).await?;
        let secret = || random_secret(&self.0.ids);
        let (state, browser, nonce, verifier) = (secret(), secret(), secret(), secret());
        let url = self.authorization_url(&known, purpose, (&state, &nonce, &verifier))?;
        let pending = PendingReturn {
            browser: Fingerprint::of(browser.expose()),
            client,
            nonce,
            verifier,
            since: self.0.clock.now(),
            purpose,
            next,
        };
        self.0.pending.add(state.expose(), pending);
        Ok(Departure { url, browser })
    }

    /// The sign-in of a return, which is used up. `browser`: token in the cookie of the browser.
    pub fn take(&self, answer: &Answer, browser: Option<&str>) -> Result<PendingReturn, Fault> {
        let (state, browser) = (&answer.state, browser.unwrap_or_default());
        let pending = self.0.pending.take(state, browser, self.0.clock.now());
        pending.map_err(|fault| {
            if fault == StateFault::OtherBrowser {
                tracing::warn!("sign-in by the identity provider returned in another browser");
            }
            Fault::State
        })
    }

    /// The identity that the provider proves to a sign-in.
    pub async fn identity(
        &self,
        pending: &PendingReturn,
        answer: &Answer,
    ) -> Result<ProviderIdentity, Fault> {
        let issuer = &self.0.options.issuer;
        if answer.iss.as_ref().is_some_and(|named| named != issuer) {
            return Err(self.unusable("the answer is of another issuer"));
        }
        match answer.error.as_str() {
            "" => {}
            "access_denied" | "login_required" | "consent_required" | "interaction_required" => {
                return Err(Fault::Denied);
            }
            error => {
                let error: String = error.chars().take(ERROR_CHARACTERS).collect();
                return Err(self.unusable(&format!("the provider answered {error:?}")));
            }
        }
        let permit = self.0.exchanges.try_acquire();
        let _permit = permit.map_err(|_| self.unreachable("too many sign-ins at once"))?;
        self.within_time(self.exchange(pending, answer)).await
    }

    /// Fetches metadata and keys, for `switchyard doctor`.
    ///
    /// # Errors
    /// One sentence about the cause.
    pub async fn check(&self) -> Result<(), String> {
        let fetched = tokio::time::timeout(OPENID_TIMEOUT, self.fetch()).await;
        let fetched = fetched.map_err(|_| "it does not answer in time".to_owned())?;
        fetched.map(drop).map_err(|error| chain(&error))
    }

    async fn within_time<T>(
        &self,
        step: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let done = tokio::time::timeout(OPENID_TIMEOUT, step).await;
        done.unwrap_or_else(|_| Err(self.unreachable("it does not answer in time")))
    }

    /// Metadata and keys, fetched again if they are older than `age`. When that fails the earlier
    /// ones are used.
    async fn known(&self, age: Duration) -> Result<CachedMetadata, Fault> {
        let mut known = self.0.known.lock().await;
        let now = self.0.clock.now();
        if let Some(known) = known.as_ref().filter(|it| now.since(it.at) < age) {
            return Ok(known.clone());
        }
        match self.fetch().await {
            Ok(fetched) => Ok(known.insert(fetched).clone()),
            Err(error) => {
                let fault = self.unreachable(&chain(&error));
                known.clone().ok_or(fault)
            }
        }
    }

    async fn fetch(&self) -> Result<CachedMetadata, DiscoveryError> {
        let issuer = IssuerUrl::new(self.0.options.issuer.clone());
        let issuer = issuer.map_err(DiscoveryError::UrlParse)?;
        let metadata = CoreProviderMetadata::discover_async(issuer, &self.0.http).await?;
        let is_open = metadata.authorization_endpoint().url().scheme() != "https";
        if is_open && self.0.options.https_only {
            let why = "the authorization endpoint has no TLS".to_owned();
            return Err(DiscoveryError::Validation(why));
        }
        Ok(CachedMetadata {
            metadata: Arc::new(metadata),
            at: self.0.clock.now(),
        })
    }

    fn authorization_url(
        &self,
        known: &CachedMetadata,
        purpose: Purpose,
        (state, nonce, verifier): (&Secret<String>, &Secret<String>, &Secret<String>),
    ) -> Result<Url, Fault> {
        let client = self.client(known)?;
        let state = CsrfToken::new(state.expose().clone());
        let nonce = Nonce::new(nonce.expose().clone());
        let verifier = PkceCodeVerifier::new(verifier.expose().clone());
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let mut request = client
            .authorize_url(flow, move || state, move || nonce)
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
        // The library adds the scope `openid`.
        for scope in self.0.options.scopes.iter().filter(|it| *it != "openid") {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        for class in &self.0.options.second_factor_acr {
            let class = AuthenticationContextClass::new(class.clone());
            request = request.add_auth_context_value(class);
        }
        if matches!(purpose, Purpose::Confirm(_)) {
            request = request
                .add_prompt(CoreAuthPrompt::Login)
                .set_max_age(Duration::ZERO);
        }
        Ok(request.url().0)
    }

    /// This installation as a client of the provider.
    fn client(&self, known: &CachedMetadata) -> Result<Client, Fault> {
        let options = &self.0.options;
        let secret = options.client_secret.as_ref();
        let secret = secret.map(|secret| ClientSecret::new(secret.expose().clone()));
        let metadata = CoreProviderMetadata::clone(&known.metadata);
        let methods = metadata.token_endpoint_auth_methods_supported();
        let takes = |method| methods.is_none_or(|methods| methods.contains(&method));
        let auth_type = match takes(CoreClientAuthMethod::ClientSecretBasic) {
            false if takes(CoreClientAuthMethod::ClientSecretPost) => AuthType::RequestBody,
            _ => AuthType::BasicAuth,
        };
        let return_url = RedirectUrl::new(options.return_url.clone());
        let return_url = return_url.map_err(|error| self.unusable(&error.to_string()))?;
        let id = ClientId::new(options.client_id.clone());
        let client = CoreClient::from_provider_metadata(metadata, id, secret);
        Ok(client.set_auth_type(auth_type).set_redirect_uri(return_url))
    }

    async fn exchange(
        &self,
        pending: &PendingReturn,
        answer: &Answer,
    ) -> Result<ProviderIdentity, Fault> {
        let known = self.known(OPENID_METADATA_AGE).await?;
        let client = self.client(&known)?;
        let tokens = self.tokens(&client, pending, answer).await?;
        let token = tokens.id_token();
        let token = token.ok_or_else(|| self.unusable("the response has no ID token"))?;
        let verified = self.verified(token, known.metadata.jwks(), pending);
        let mut claims = match verified {
            Err(TokenFault::UnknownKey) if self.may_fetch_keys() => {
                let known = self.known(Duration::ZERO).await?;
                self.verified(token, known.metadata.jwks(), pending)
            }
            verified => verified,
        }
        .map_err(|fault| match fault {
            TokenFault::NotRecent => Fault::NotRecent,
            fault => self.unusable(&fault.to_string()),
        })?;
        let is_judged = claims
            .email
            .as_ref()
            .is_some_and(|it| it.is_verified.is_some());
        if !is_judged && client.user_info_url().is_some() {
            let token = tokens.access_token().clone();
            let named = self.email(&client, token, &claims.subject).await?;
            claims.email = named.or(claims.email);
        }
        Ok(self.identity_of(claims))
    }

    /// Whether the keys may be fetched again now because a token names an unknown one.
    fn may_fetch_keys(&self) -> bool {
        let now = self.0.clock.now();
        let mut fetched = self.0.keys_fetched.lock();
        let is_due = fetched.is_none_or(|at| now.since(at) >= OPENID_KEYS_INTERVAL);
        if is_due {
            *fetched = Some(now);
        }
        is_due
    }

    async fn tokens(
        &self,
        client: &Client,
        pending: &PendingReturn,
        answer: &Answer,
    ) -> Result<CoreTokenResponse, Fault> {
        let code = answer.code.as_ref();
        let code = code.ok_or_else(|| self.unusable("the answer has no code"))?;
        let code = AuthorizationCode::new(code.expose().clone());
        let request = client.exchange_code(code);
        let request = request.map_err(|error| self.unusable(&error.to_string()))?;
        let verifier = PkceCodeVerifier::new(pending.verifier.expose().clone());
        let request = request.set_pkce_verifier(verifier);
        let response = request.request_async(&self.0.http).await;
        response.map_err(|error| match &error {
            RequestTokenError::Request(why) => self.unreachable(&chain(why)),
            // Its source may quote the response, which has tokens.
            RequestTokenError::Parse(..) => self.unusable("the token response is unreadable"),
            // The description of an error may repeat the request, which has secrets.
            RequestTokenError::ServerResponse(refused) => {
                let code: String = refused
                    .error()
                    .as_ref()
                    .chars()
                    .take(ERROR_CHARACTERS)
                    .collect();
                self.unusable(&format!("the provider refused the code: {code:?}"))
            }
            RequestTokenError::Other(_) => self.unusable("the token response cannot be used"),
        })
    }

    fn verified(
        &self,
        token: &CoreIdToken,
        keys: &CoreJsonWebKeySet,
        pending: &PendingReturn,
    ) -> Result<Claims, TokenFault> {
        let issuer = IssuerUrl::new(self.0.options.issuer.clone());
        let issuer = issuer.map_err(|error| TokenFault::Invalid(error.to_string()))?;
        // Tokens have the time of day.
        let now = self.0.clock.shown();
        let expected = Expected {
            issuer: &issuer,
            client_id: &ClientId::new(self.0.options.client_id.clone()),
            nonce: pending.nonce.expose(),
            now,
            authenticated_since: match pending.purpose {
                Purpose::SignIn => None,
                Purpose::Confirm(_) => {
                    let age = self.0.clock.now().since(pending.since);
                    Some(now.minus(age))
                }
            },
        };
        verify(token, keys, &expected)
    }

    /// The e-mail address that the provider names beside the ID token.
    async fn email(
        &self,
        client: &Client,
        token: AccessToken,
        subject: &str,
    ) -> Result<Option<Email>, Fault> {
        let subject = SubjectIdentifier::new(subject.to_owned());
        let request = client.user_info(token, Some(subject));
        let request = request.map_err(|error| self.unusable(&error.to_string()))?;
        let answer = request.request_async(&self.0.http).await;
        let claims: CoreUserInfoClaims = answer.map_err(|error| match &error {
            openidconnect::UserInfoError::Request(why) => self.unreachable(&chain(why)),
            other => self.unusable(&other.to_string()),
        })?;
        Ok(claims.email().map(|address| Email {
            address: address.to_string(),
            is_verified: claims.email_verified(),
        }))
    }

    fn identity_of(&self, claims: Claims) -> ProviderIdentity {
        let options = &self.0.options;
        let (amr, acr) = (&options.second_factor_amr, &options.second_factor_acr);
        let has_class = claims.acr.is_some_and(|class| acr.contains(&class));
        let is_verified = |email: &Email| email.is_verified.unwrap_or(options.trusts_email);
        let verified = claims.email.filter(is_verified);
        ProviderIdentity {
            issuer: options.issuer.clone(),
            subject: claims.subject,
            verified_email: verified.map(|email| email.address),
            has_second_factor: has_class || claims.amr.iter().any(|it| amr.contains(it)),
        }
    }

    fn unusable(&self, why: &str) -> Fault {
        tracing::warn!(
            openid.issuer = self.0.options.issuer,
            error = why,
            "identity provider sent an unusable answer"
        );
        Fault::Unusable
    }

    /// Logs at most once a minute: each visitor of the sign-in page can ask for the provider.
    fn unreachable(&self, why: &str) -> Fault {
        let now = self.0.clock.now();
        let mut logged = self.0.logged.lock();
        if logged.is_none_or(|at| now.since(at) >= LOG_INTERVAL) {
            *logged = Some(now);
            tracing::warn!(
                openid.issuer = self.0.options.issuer,
                error = why,
                "failed to reach the identity provider"
            );
        }
        Fault::Unreachable
    }
}

/// The error with its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    text
}

/// Characters of an error of the provider that are logged.
const ERROR_CHARACTERS: usize = 100;
const LOG_INTERVAL: Duration = Duration::from_secs(60);
