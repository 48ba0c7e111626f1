//! Client of the operator API and of the account API of a running server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use reqwest::{Method, Response};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::secret::Secret;
use switchyard_progress::{Progress, Unit};

use super::output::Output;
use crate::error::ErrorCode;
use crate::operator::contract::Nothing;
use crate::{account, operator};

/// Address and token of the server.
#[derive(Args)]
pub struct Target {
    /// Address of the server's operator API (server.admin_listen) [default: of the development
    /// server]
    #[arg(long, global = true, env = "SWITCHYARD_URL")]
    url: Option<String>,
    /// Operator token [default: of the development server]
    #[arg(long, global = true, env = "SWITCHYARD_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// File in which the development server wrote its address and keys
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        default_value = "data/dev.json"
    )]
    dev_file: PathBuf,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub json: bool,
}

impl Target {
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref().map(|url| url.trim_end_matches('/'))
    }

    pub fn token(&self) -> Option<Secret<String>> {
        self.token.clone().map(Secret::new)
    }
}

/// Fields of `dev.json` that the command line needs.
#[derive(Deserialize)]
pub struct Development {
    base_url: String,
    app_id: String,
    pub operator_token: Secret<String>,
}

/// Client of one server.
pub struct Client {
    http: reqwest::Client,
    base: String,
    api: Api,
    token: Secret<String>,
    app: Option<String>,
    pub output: Output,
}

/// API that a client uses.
#[derive(Clone, Copy)]
enum Api {
    Operator,
    Account,
}

impl Api {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Operator => operator::PREFIX,
            Self::Account => account::PREFIX,
        }
    }

    /// Message about a server that does not serve the API.
    const fn elsewhere(self) -> &'static str {
        match self {
            Self::Operator => {
                "does not serve the operator API: give the address of the server's setting \
                 server.admin_listen (http://127.0.0.1:8081 by default) with --url or \
                 SWITCHYARD_URL"
            }
            Self::Account => {
                "does not serve the account API: give the address of the console (the server's \
                 setting console.public_url) with --url or SWITCHYARD_URL"
            }
        }
    }
}

impl Client {
    /// Client of the account API, with the token of a user or of a session.
    pub fn of_account(target: &Target, token: Secret<String>) -> anyhow::Result<Self> {
        let url = match target.url() {
            Some(url) => url.to_owned(),
            None => development(target)?.base_url,
        };
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Ok(Self {
            api: Api::Account,
            output: Output { json: target.json },
            ..Self::at(http.build()?, &url, token)
        })
    }

    pub fn new(target: &Target) -> anyhow::Result<Self> {
        let development = match (&target.url, &target.token) {
            (Some(_), Some(_)) => None,
            _ => Some(development(target)?),
        };
        let base = target
            .url
            .clone()
            .or_else(|| development.as_ref().map(|known| known.base_url.clone()));
        let token = target.token.clone().map(Secret::new).or_else(|| {
            development
                .as_ref()
                .map(|known| known.operator_token.clone())
        });
        Ok(Self {
            http: reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .build()?,
            base: base
                .context("say which server with --url")?
                .trim_end_matches('/')
                .to_owned(),
            api: Api::Operator,
            token: token.context("give an operator token with --token")?,
            app: development.map(|known| known.app_id),
            output: Output { json: target.json },
        })
    }

    /// Client of a server at `url`, without an app.
    pub fn at(http: reqwest::Client, url: &str, token: Secret<String>) -> Self {
        Self {
            http,
            base: url.trim_end_matches('/').to_owned(),
            api: Api::Operator,
            token,
            app: None,
            output: Output { json: false },
        }
    }

    /// Returns the given app, or that of the development server.
    pub fn app<'a>(&'a self, named: Option<&'a str>) -> anyhow::Result<&'a str> {
        let app = named.or(self.app.as_deref());
        app.context("say which app with --app; `switchyard apps list` shows them")
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Answer<T>> {
        self.call(Method::GET, path, None::<&()>).await
    }

    /// Gets a list with its place in the whole list.
    pub async fn get_page<T: DeserializeOwned, M: DeserializeOwned>(
        &self,
        path: &str,
    ) -> anyhow::Result<Answer<T, M>> {
        self.call(Method::GET, path, None::<&()>).await
    }

    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<Answer<T>> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Uploads a file.
    pub async fn upload<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        file: Vec<u8>,
    ) -> anyhow::Result<Answer<T>> {
        let url = self.url(path);
        let request = self.http.request(method, &url);
        let request = request.bearer_auth(self.token.expose());
        let request = request.header("content-type", "application/octet-stream");
        let request = request.header("content-length", file.len());
        let progress = Arc::new(Progress::begin(
            "upload",
            Some(file.len() as u64),
            Unit::Bytes,
        ));
        let sent = request.body(reported(file, progress.clone())).send().await;
        drop(progress);
        self.answer(self.reached(sent)?).await
    }

    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<Answer<T>> {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<Answer<T>> {
        self.call(Method::PUT, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> anyhow::Result<Answer<Nothing>> {
        self.delete_with(path).await
    }

    /// Deletes things, where the response has data about them.
    pub async fn delete_with<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Answer<T>> {
        self.call(Method::DELETE, path, None::<&()>).await
    }

    /// Posts an order that is carried out once for each key.
    pub async fn post_with_key<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        key: &str,
    ) -> anyhow::Result<Answer<T>> {
        let request = self.http.post(self.url(path)).json(body);
        let request = request.bearer_auth(self.token.expose());
        let request = request.header("idempotency-key", key);
        self.answer(self.sent(request).await?).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}{}{path}", self.base, self.api.prefix())
    }

    /// Opens a stream that lasts until one of the two sides closes it.
    pub async fn stream(&self, path: &str) -> anyhow::Result<Response> {
        let answer = self.send(Method::GET, path, None::<&()>).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(refusal(answer.json().await.unwrap_or_default()))
    }

    /// Returns a successful response, or an error with the messages of any other.
    async fn call<T: DeserializeOwned, M: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> anyhow::Result<Answer<T, M>> {
        self.answer(self.send(method, path, body).await?).await
    }

    async fn answer<T: DeserializeOwned, M: DeserializeOwned>(
        &self,
        answer: Response,
    ) -> anyhow::Result<Answer<T, M>> {
        let status = answer.status();
        let json: Value = answer.json().await.with_context(|| {
            format!(
                "{} does not answer as a Switchyard server does (status {status}): is --url right?",
                self.base
            )
        })?;
        if !status.is_success() {
            let failure = Failure::deserialize(&json).unwrap_or_default();
            if failure.is_elsewhere() {
                bail!("{} {}", self.base, self.api.elsewhere());
            }
            return Err(refusal(failure));
        }
        Answer::read(json)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> anyhow::Result<Response> {
        let url = self.url(path);
        let request = self
            .http
            .request(method, &url)
            .bearer_auth(self.token.expose());
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        self.sent(request).await
    }

    async fn sent(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Response> {
        self.reached(waited_for(request.send()).await)
    }

    /// Names the server in the error of a request that it did not answer.
    fn reached(&self, sent: reqwest::Result<Response>) -> anyhow::Result<Response> {
        match sent {
            Ok(answer) => Ok(answer),
            Err(why) if why.is_connect() => bail!(
                "no server answers at {}: start it with `switchyard serve`, or say where it is with --url",
                self.base
            ),
            Err(why) => {
                Err(anyhow!(why.without_url()).context(format!("{} could not be asked", self.base)))
            }
        }
    }
}

/// Request body from a file, in parts, whose transfer is shown.
fn reported(file: Vec<u8>, progress: Arc<Progress>) -> reqwest::Body {
    let file = bytes::Bytes::from(file);
    let parts = (0..file.len()).step_by(UPLOAD_PART).map(move |at| {
        let end = file.len().min(at + UPLOAD_PART);
        progress.at(end as u64);
        if end == file.len() {
            progress.stage("wait for the server's examination", None, Unit::Time);
        }
        Ok::<_, std::io::Error>(file.slice(at..end))
    });
    reqwest::Body::wrap_stream(futures_util::stream::iter(parts))
}

/// Waits for a response, and shows the time once it is a long one.
async fn waited_for<T>(answer: impl Future<Output = T>) -> T {
    tokio::pin!(answer);
    if let Ok(answer) = tokio::time::timeout(LONG_WAIT, &mut answer).await {
        return answer;
    }
    let _progress = Progress::waiting("wait for the server");
    answer.await
}

/// Bytes of an upload that are sent at a time.
const UPLOAD_PART: usize = 64 * 1024;
/// Time of a request after which it is shown that the command waits.
const LONG_WAIT: Duration = Duration::from_secs(1);

/// Successful response.
pub struct Answer<T, M = IgnoredAny> {
    /// The response as the server sent it, for `--json`.
    pub json: Value,
    pub message: String,
    pub data: T,
    /// Place in the whole list, if the response is a page.
    pub meta: Option<M>,
}

impl<T: DeserializeOwned, M: DeserializeOwned> Answer<T, M> {
    fn read(json: Value) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Envelope<T, M> {
            message: String,
            data: T,
            #[serde(default = "Option::default")]
            meta: Option<M>,
        }
        let read: Result<Envelope<T, M>, _> = serde_json::from_value(json.clone());
        let Envelope {
            message,
            data,
            meta,
        } = read.context("the response of the server is unreadable: is it of another version?")?;
        Ok(Self {
            json,
            message,
            data,
            meta,
        })
    }
}

/// Errors of a response.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    errors: Vec<FailureError>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FailureError {
    code: String,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// Whether the server has no such route, as the public listener of a production server has none
    /// for operators.
    fn is_elsewhere(&self) -> bool {
        let first = self.errors.first();
        first.is_some_and(|error| error.code == ErrorCode::RouteNotFound.as_str())
    }
}

/// Builds a query string from the fields that have a value.
pub fn query(fields: &impl Serialize) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Ok(Value::Object(fields)) = serde_json::to_value(fields) {
        for (name, value) in &fields {
            match value {
                Value::Null => {}
                Value::String(text) => drop(query.append_pair(name, text)),
                other => drop(query.append_pair(name, &other.to_string())),
            }
        }
    }
    query.finish()
}

fn development(target: &Target) -> anyhow::Result<Development> {
    let file = target.dev_file.display();
    let text = std::fs::read(&target.dev_file).map_err(|why| {
        let missing = match why.kind() {
            std::io::ErrorKind::NotFound => {
                format!("there is no development server's {file} to take them from")
            }
            _ => format!("{file} of the development server cannot be read ({why})"),
        };
        anyhow!(
            "say which server with --url and --token (or SWITCHYARD_URL and SWITCHYARD_TOKEN): {missing}"
        )
    })?;
    serde_json::from_slice(&text).with_context(|| {
        format!(
            "{file} is not what a development server writes: delete it and start the server again"
        )
    })
}

/// Formats every problem of an error response with its hint.
fn refusal(failure: Failure) -> anyhow::Error {
    let sentences = failure.errors.into_iter().map(|error| match error.hint {
        Some(hint) => format!("{} ({hint})", error.message),
        None => error.message,
    });
    let sentences: Vec<String> = sentences.collect();
    if sentences.is_empty() {
        return anyhow!("the server refused, and did not say why");
    }
    anyhow!(sentences.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_is_told_with_its_hint() {
        let body =
            json!({"errors": [{"message": "No.", "hint": "Try yes"}, {"message": "Never."}]});
        let failure = Failure::deserialize(&body).unwrap();
        assert_eq!(refusal(failure).to_string(), "No. (Try yes); Never.");
        assert!(!refusal(Failure::default()).to_string().is_empty());
        let elsewhere = json!({ "errors": [{ "code": "route_not_found", "message": "" }] });
        assert!(Failure::deserialize(&elsewhere).unwrap().is_elsewhere());
    }

    #[test]
    fn a_query_has_the_fields_with_a_value() {
        let fields = json!({ "before": null, "limit": 20, "state": "a b" });
        assert_eq!(query(&fields), "limit=20&state=a+b");
    }

    #[test]
    fn a_response_of_another_form_is_refused() {
        let body = json!({ "message": "Done", "data": { "other": 1 } });
        let read = Answer::<Nothing>::read(body.clone()).unwrap();
        assert_eq!((read.message.as_str(), &read.json), ("Done", &body));
        let wrong = Answer::<Vec<u8>>::read(body).err().unwrap().to_string();
        assert!(wrong.contains("another version"), "{wrong}");
    }
}
