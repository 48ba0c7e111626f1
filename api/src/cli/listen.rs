//! `switchyard listen`: prints an app's events as they happen, and forwards them to a URL of your
//! machine, signed like webhooks.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use futures_util::StreamExt as _;
use reqwest::Response;
use switchyard_core::environment::Environment;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{checked_webhook_secret, new_webhook_secret};
use switchyard_engine::webhook::{service_signature, standard_signature};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use url::Url;

use super::client::Client;
use super::output::{Output, print};
use crate::operator::contract::transactions::StreamEvent;

#[derive(Args)]
pub struct Listen {
    /// The app's id [default: of the development server]
    #[arg(long)]
    app: Option<String>,
    /// sandbox or live; without it: both
    #[arg(long)]
    environment: Option<Environment>,
    /// Send each event there, signed, as a webhook would be
    #[arg(long, value_name = "URL")]
    forward_to: Option<Url>,
    /// Signing secret [default: a generated one, which is printed]
    #[arg(long, env = "SWITCHYARD_WEBHOOK_SECRET", hide_env_values = true)]
    secret: Option<String>,
}

impl Listen {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let app = client.app(self.app.as_deref())?;
        let environment = self.environment.map_or_else(String::new, |environment| {
            format!("?environment={environment}")
        });
        let path = format!("/apps/{app}/events{environment}");
        let is_chosen = self.secret.is_some();
        let forward = self
            .forward_to
            .map(|url| Forward::new(url, self.secret))
            .transpose()?;
        let mut stream = client.stream(&path).await?;
        client
            .output
            .note(&format!("Listening to {app}; stop with Ctrl+C."));
        if let Some(forward) = &forward {
            client
                .output
                .note(&format!("Forwarding to {}", forward.url));
            // A secret given by the user stays off the screen.
            if !is_chosen {
                let secret = forward.secret.expose();
                client.output.note(&format!("Signing with {secret}"));
            }
        }
        loop {
            follow(stream, forward.as_ref(), client.output).await?;
            client.output.note("The server ended the stream; connecting again. What happens meanwhile is not shown.");
            stream = loop {
                tokio::time::sleep(AGAIN).await;
                if let Ok(stream) = client.stream(&path).await {
                    break stream;
                }
            };
            client.output.note("Listening again.");
        }
    }
}

/// Prints and forwards events until the stream ends.
async fn follow(stream: Response, forward: Option<&Forward>, output: Output) -> anyhow::Result<()> {
    let mut parts = stream.bytes_stream();
    let mut events = Events::default();
    while let Some(Ok(part)) = parts.next().await {
        events.buffer.extend_from_slice(&part);
        while let Some((name, data)) = events.next() {
            match name.as_str() {
                "announcement" => {
                    let announced: StreamEvent = serde_json::from_str(&data).context(
                        "the server's stream is not readable: is it of another version?",
                    )?;
                    print_event(&announced, forward, output, &data).await?;
                }
                "missed" => output.note(&format!("{data} events came too fast and are not shown.")),
                _ => {}
            }
        }
    }
    Ok(())
}

async fn print_event(
    announced: &StreamEvent,
    forward: Option<&Forward>,
    output: Output,
    data: &str,
) -> anyhow::Result<()> {
    let answer = match forward {
        Some(forward) => format!("  {}", forward.send(announced).await),
        None => String::new(),
    };
    let line = if output.json {
        format!("{data}\n")
    } else {
        let StreamEvent {
            at,
            event,
            transaction,
            environment,
            ..
        } = announced;
        let event = event.as_str();
        format!("{at}  {event:17}  {transaction}  {environment}{answer}\n")
    };
    Ok(print(&line)?)
}

/// Destination of forwarded events, and the signing secret.
struct Forward {
    http: reqwest::Client,
    url: Url,
    secret: Secret<String>,
    clock: Clock,
}

impl Forward {
    fn new(url: Url, secret: Option<String>) -> anyhow::Result<Self> {
        ensure!(
            matches!(url.scheme(), "http" | "https"),
            "--forward-to begins with http:// or https://"
        );
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(switchyard_core::limits::WEBHOOK_DEADLINE)
            .build()?;
        let secret = match secret {
            Some(chosen) => checked_webhook_secret(Secret::new(chosen))?,
            None => new_webhook_secret(&Ids::system()),
        };
        Ok(Self {
            http,
            url,
            secret,
            clock: Clock::wall(),
        })
    }

    /// Sends one event, once, and returns a description of the response.
    async fn send(&self, announced: &StreamEvent) -> String {
        let now = self.clock.now();
        let body = announced.body.clone();
        let secret = self.secret.expose();
        let request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json")
            .header(
                "user-agent",
                concat!("Switchyard/", env!("CARGO_PKG_VERSION")),
            )
            .header(
                "x-service-signature",
                service_signature(secret, body.as_bytes()),
            )
            .header("webhook-id", &announced.id)
            .header("webhook-timestamp", now.as_seconds())
            .header(
                "webhook-signature",
                standard_signature(secret, &announced.id, now, body.as_bytes()),
            );
        match request.body(body).send().await {
            Ok(answer) if answer.status() == 200 => "→ 200".to_owned(),
            Ok(answer) => format!("→ {} (only 200 acknowledges)", answer.status().as_u16()),
            Err(why) if why.is_timeout() => "→ no answer within 3 s".to_owned(),
            Err(why) if why.is_connect() => "→ nobody listens there".to_owned(),
            Err(why) => format!("→ {}", why.without_url()),
        }
    }
}

/// Parser of server-sent events that arrive in parts.
#[derive(Default)]
struct Events {
    buffer: Vec<u8>,
}

impl Events {
    /// Returns the name and data of the next complete event.
    fn next(&mut self) -> Option<(String, String)> {
        let end = self.buffer.windows(2).position(|two| two == b"\n\n")?;
        let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
        let block = String::from_utf8_lossy(&block);
        let (mut name, mut data) = (String::new(), String::new());
        for line in block.lines() {
            match line.split_once(':') {
                Some(("event", value)) => value.trim_start().clone_into(&mut name),
                Some(("data", value)) => data.push_str(value.strip_prefix(' ').unwrap_or(value)),
                _ => {}
            }
        }
        Some((name, data))
    }
}

/// Delay before reconnecting.
const AGAIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_the_stream_is_cut() {
        let stream = b":\n\nevent: announcement\ndata: {\"a\":1}\n\nevent: missed\ndata: 5\n\n";
        for size in 1..stream.len() {
            let mut events = Events::default();
            let mut seen = Vec::new();
            for part in stream.chunks(size) {
                events.buffer.extend_from_slice(part);
                while let Some(event) = events.next() {
                    seen.push(event);
                }
            }
            let event = |name: &str, data: &str| (name.to_owned(), data.to_owned());
            assert_eq!(
                seen,
                [
                    event("", ""),
                    event("announcement", "{\"a\":1}"),
                    event("missed", "5")
                ]
            );
        }
    }
}
