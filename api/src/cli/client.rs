//! Client of the operator API of a running server.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::Value;
use switchyard_engine::secret::Secret;

use super::output::Output;

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
struct Development {
    base_url: String,
    app_id: String,
    operator_token: Secret<String>,
}

/// Client of one server.
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Secret<String>,
    app: Option<String>,
    pub output: Output,
}

impl Client {
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

    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Uploads a file.
    pub async fn upload(&self, path: &str, file: Vec<u8>) -> anyhow::Result<Value> {
        let url = format!("{}/operator/v1{path}", self.base);
        let request = self.http.post(&url).bearer_auth(self.token.expose());
        let request = request.header("content-type", "application/octet-stream");
        self.answer(self.sent(request.body(file)).await?).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.call(Method::PATCH, path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.call(Method::PUT, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.call(Method::DELETE, path, None).await
    }

    /// Opens a stream that lasts until one of the two sides closes it.
    pub async fn stream(&self, path: &str) -> anyhow::Result<Response> {
        let answer = self.send(Method::GET, path, None).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        Err(refusal(&answer.json().await.unwrap_or_default()))
    }

    /// Returns the whole envelope of a successful response, or an error with the messages of any
    /// other.
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        self.answer(self.send(method, path, body).await?).await
    }

    async fn answer(&self, answer: Response) -> anyhow::Result<Value> {
        let status = answer.status();
        let envelope: Value = answer.json().await.with_context(|| {
            format!(
                "{} does not answer as a Switchyard server does (status {status}): is --url right?",
                self.base
            )
        })?;
        if is_elsewhere(&envelope) {
            bail!(
                "{} does not serve the operator API: give the address of the server's setting server.admin_listen \
                 (http://127.0.0.1:8081 by default) with --url or SWITCHYARD_URL",
                self.base
            );
        }
        if !status.is_success() {
            return Err(refusal(&envelope));
        }
        Ok(envelope)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Response> {
        let url = format!("{}/operator/v1{path}", self.base);
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
        match request.send().await {
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

/// Builds a query string from the arguments that were given.
pub fn query(given: &[(&str, &Option<String>)]) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in given {
        if let Some(value) = value {
            query.append_pair(name, value);
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

/// Whether the server has no such route, as the public listener of a production server has none for
/// operators.
fn is_elsewhere(envelope: &Value) -> bool {
    envelope["errors"][0]["code"] == "route_not_found"
}

/// Formats every problem of an error response with its hint.
fn refusal(envelope: &Value) -> anyhow::Error {
    let problems = envelope["errors"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let sentence = |problem: &Value| {
        let text = |name: &str| problem[name].as_str().map(str::to_owned);
        let message = text("message").unwrap_or_default();
        text("hint").map_or(message.clone(), |hint| format!("{message} ({hint})"))
    };
    let sentences: Vec<String> = problems.iter().map(sentence).collect();
    if sentences.is_empty() {
        return anyhow!("the server refused, and did not say why");
    }
    anyhow!(sentences.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_with_its_hint() {
        let envelope = serde_json::json!({"errors": [{"message": "No.", "hint": "Try yes"}, {"message": "Never."}]});
        assert_eq!(refusal(&envelope).to_string(), "No. (Try yes); Never.");
        assert!(!refusal(&Value::Null).to_string().is_empty());
    }
}
