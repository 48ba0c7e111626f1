//! HTTP client for the provider: no redirects, bounded responses.

use std::future::Future;
use std::pin::Pin;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};
use switchyard_core::limits::OPENID_RESPONSE_BYTES;
use switchyard_system::egress::{Client, ClientError, Forbidden, Policy, Resolver};
use url::Url;

/// Client for the requests of the library. The provider is the operator's choice, so it may be at a
/// private address.
pub(super) struct Http(Client);

#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("the provider names an address that is no URL")]
    Url(#[source] url::ParseError),
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error(transparent)]
    Send(reqwest::Error),
    #[error("the response is larger than {OPENID_RESPONSE_BYTES} bytes")]
    TooLarge,
    #[error("the response cannot be represented")]
    Response(#[source] openidconnect::http::Error),
}

impl Http {
    /// `https_only`: whether requests without TLS are refused.
    pub fn new(https_only: bool) -> Result<Self, ClientError> {
        let policy = Policy {
            allow_private: true,
            https_only,
            ..Policy::default()
        };
        Ok(Self(Client::new(policy, Resolver::system())?))
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let url = Url::parse(&parts.uri.to_string()).map_err(HttpError::Url)?;
        let request = self.0.request(parts.method, &url)?.headers(parts.headers);
        let sent = request.body(body).send().await;
        let mut answer = sent.map_err(|error| HttpError::Send(error.without_url()))?;
        let mut response = openidconnect::http::Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            headers.extend(answer.headers().clone());
        }
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(HttpError::Send)? {
            body.extend_from_slice(&part);
            if body.len() > OPENID_RESPONSE_BYTES {
                return Err(HttpError::TooLarge);
            }
        }
        response.body(body).map_err(HttpError::Response)
    }
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}
