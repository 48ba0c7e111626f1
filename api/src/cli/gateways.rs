//! `switchyard gateway`: manages gateways, from the inspection of a file to a removal.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Subcommand;
use serde_json::{Value, json};

use super::client::Client;
use super::gateway_text as text;
use super::output::print;

#[derive(Subcommand)]
pub enum Gateways {
    /// Show the manifest of a file and the changes of its installation; runs no code of it
    Inspect { file: PathBuf },
    /// Install or upgrade a gateway from a file, or approve a pending one by SHA-256. Exit code 3:
    /// it awaits the approval of a second operator
    #[command(visible_alias = "upgrade")]
    Add {
        /// FILE.so, or the SHA-256 of a file that awaits consent
        file: String,
        /// Approve this SHA-256 without a question
        #[arg(long, value_name = "SHA256")]
        consent: Option<String>,
        /// Approve the file with any SHA-256, without a question
        #[arg(long, conflicts_with = "consent")]
        yes: bool,
        /// Hosts that it may contact in live, separated by commas
        #[arg(long, value_name = "HOSTS")]
        live_hosts: Option<String>,
        /// Hosts that it may contact in sandbox, separated by commas
        #[arg(long, value_name = "HOSTS")]
        sandbox_hosts: Option<String>,
        /// Reason, for the history
        #[arg(long)]
        why: Option<String>,
    },
    /// List gateways and the files that await consent
    List,
    /// Show a gateway: its versions, their open attempts, its history
    Show {
        /// Name as `list` shows it
        name: String,
    },
    /// Approve, as the second operator, an upgrade that widens the hosts or the source
    Approve {
        name: String,
        /// SHA-256 of the file
        sha256: String,
        #[arg(long)]
        why: Option<String>,
    },
    /// Reject an upgrade that awaits approval
    Reject {
        name: String,
        /// SHA-256 of the file
        sha256: String,
        #[arg(long)]
        why: Option<String>,
    },
    /// Activate the previous version, or another one
    Rollback {
        name: String,
        /// SHA-256 of a version, or its beginning
        #[arg(long, value_name = "SHA256")]
        to: Option<String>,
        #[arg(long)]
        why: Option<String>,
    },
    /// Drain a gateway: start no new attempts, and count the open ones
    Drain {
        name: String,
        /// Wait until no attempt is open
        #[arg(long)]
        wait: bool,
        #[arg(long)]
        why: Option<String>,
    },
    /// Remove a gateway; its open attempts are still queried
    Remove {
        name: String,
        #[arg(long)]
        why: Option<String>,
    },
    /// Quarantine a version: start no new attempts until it is restored
    Quarantine {
        name: String,
        /// SHA-256 of a version, or its beginning [default: the current one]
        #[arg(long, value_name = "SHA256")]
        of: Option<String>,
        #[arg(long)]
        why: Option<String>,
    },
    /// End a quarantine, drain or removal
    Restore {
        name: String,
        /// SHA-256 of a version, or its beginning [default: the current or removed one]
        #[arg(long, value_name = "SHA256")]
        of: Option<String>,
        #[arg(long)]
        why: Option<String>,
    },
    /// Pin SHA-256 values that need no consent
    #[command(subcommand)]
    Pin(Pins),
}

#[derive(Subcommand)]
pub enum Pins {
    /// List the pinned values, without those of the settings file
    List,
    /// Pin a SHA-256: its file needs no consent
    Add { sha256: String },
    /// Unpin a SHA-256
    Remove { sha256: String },
}

impl Gateways {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        match self {
            Self::Inspect { file } => {
                let seen = inspected(client, &file).await?;
                tell(client, &seen, text::proposal)
            }
            Self::Add {
                file,
                consent,
                yes,
                live_hosts,
                sandbox_hosts,
                why,
            } => {
                let add = Add {
                    consent,
                    yes,
                    live_hosts,
                    sandbox_hosts,
                    why,
                };
                add.run(client, &file).await
            }
            Self::List => list(client).await,
            Self::Show { name } => {
                let shown = client.get(&format!("/gateways/{name}")).await?;
                tell(client, &shown, text::gateway)
            }
            Self::Approve { name, sha256, why } => {
                let said = json!({ "sha256": sha256, "why": why });
                change(client, &name, "approve", said).await
            }
            Self::Reject { name, sha256, why } => {
                let said = json!({ "sha256": sha256, "why": why });
                change(client, &name, "reject", said).await
            }
            Self::Rollback { name, to, why } => {
                change(
                    client,
                    &name,
                    "rollback",
                    json!({ "version": to, "why": why }),
                )
                .await
            }
            Self::Drain { name, wait, why } => drain(client, &name, wait, why).await,
            Self::Remove { name, why } => {
                change(client, &name, "remove", json!({ "why": why })).await
            }
            Self::Quarantine { name, of, why } => {
                let said = json!({ "version": of, "why": why });
                change(client, &name, "quarantine", said).await
            }
            Self::Restore { name, of, why } => {
                let said = json!({ "version": of, "why": why });
                change(client, &name, "restore", said).await
            }
            Self::Pin(pins) => pins.run(client).await,
        }
    }
}

impl Pins {
    async fn run(self, client: &Client) -> anyhow::Result<()> {
        let out = client.output;
        match self {
            Self::List => {
                let columns = &[("sha256", "sha256"), ("by", "by"), ("at", "at")];
                out.table(&client.get("/gateway-pins").await?, columns)?;
            }
            Self::Add { sha256 } => {
                let body = json!({ "sha256": sha256 });
                out.done(&client.post("/gateway-pins", &body).await?)?;
            }
            Self::Remove { sha256 } => {
                out.done(&client.delete(&format!("/gateway-pins/{sha256}")).await?)?
            }
        }
        Ok(())
    }
}

/// Options of `add` besides the file.
struct Add {
    consent: Option<String>,
    yes: bool,
    live_hosts: Option<String>,
    sandbox_hosts: Option<String>,
    why: Option<String>,
}

impl Add {
    async fn run(self, client: &Client, file: &str) -> anyhow::Result<()> {
        let is_hash = file.len() == 64 && file.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash {
            ensure!(
                self.live_hosts.is_none() && self.sandbox_hosts.is_none(),
                "hosts can be narrowed for a file that is sent: give the file itself"
            );
            let path = format!("/gateway-candidates/{}", file.to_lowercase());
            let added = client.post(&path, &json!({ "why": self.why })).await?;
            tell(client, &added, text::gateway)?;
            return in_use(&added["data"], file);
        }
        let path = PathBuf::from(file);
        let seen = inspected(client, &path).await?;
        let proposal = &seen["data"];
        let consent = match &self.consent {
            Some(sha256) => Some(sha256.clone()),
            None if proposal["needs_consent"] == json!(false) && self.hosts().is_empty() => None,
            None => Some(self.asked(client, proposal)?),
        };
        let mut query = self.hosts();
        query.extend(consent.map(|sha256| ("consent", sha256)));
        query.extend(self.why.clone().map(|why| ("why", why)));
        let query: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        let added = client
            .upload(&format!("/gateways?{}", query.join("&")), read(&path)?)
            .await?;
        tell(client, &added, text::gateway)?;
        in_use(
            &added["data"],
            proposal["sha256"].as_str().unwrap_or_default(),
        )
    }

    fn hosts(&self) -> Vec<(&'static str, String)> {
        let live = self.live_hosts.clone().map(|hosts| ("live_hosts", hosts));
        let sandbox = self.sandbox_hosts.clone();
        let sandbox = sandbox.map(|hosts| ("sandbox_hosts", hosts));
        live.into_iter().chain(sandbox).collect()
    }

    /// Shows the proposal and asks for consent. Returns the hash that was consented to.
    fn asked(&self, client: &Client, proposal: &Value) -> anyhow::Result<String> {
        let sha256 = proposal["sha256"].as_str().unwrap_or_default().to_owned();
        if self.yes {
            return Ok(sha256);
        }
        ensure!(
            !client.output.json,
            "it needs consent: look at it with `switchyard gateway inspect`, then add --consent {sha256}"
        );
        print(&text::proposal(proposal))?;
        let place = text::place(proposal);
        eprint!("\nIts code will run {place}. Take it on? Write yes: ");
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        if answer.trim() != "yes" {
            bail!("nothing was changed");
        }
        Ok(sha256)
    }
}

/// The file was added, and is unused until a second operator approves it.
#[derive(Debug, thiserror::Error)]
#[error("{name} is not changed yet: a second operator must approve the file")]
pub struct AwaitsApproval {
    pub name: String,
}

/// Returns an error if the added file awaits approval.
fn in_use(gateway: &Value, sha256: &str) -> anyhow::Result<()> {
    let waiting = gateway["awaiting_approval"]["sha256"].as_str();
    if waiting.is_some_and(|waiting| waiting.eq_ignore_ascii_case(sha256)) {
        let name = gateway["name"].as_str().unwrap_or_default().to_owned();
        return Err(AwaitsApproval { name }.into());
    }
    Ok(())
}

async fn inspected(client: &Client, file: &PathBuf) -> anyhow::Result<Value> {
    client.upload("/gateway-inspections", read(file)?).await
}

fn read(file: &PathBuf) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

async fn list(client: &Client) -> anyhow::Result<()> {
    let gateways = client.get("/gateways").await?;
    if client.output.json {
        return tell(client, &gateways, text::gateways);
    }
    let files = client.get("/gateway-candidates").await?;
    let shown = text::gateways(&gateways["data"]) + &text::files(&files["data"]);
    Ok(print(&shown)?)
}

async fn change(client: &Client, name: &str, what: &str, said: Value) -> anyhow::Result<()> {
    let path = format!("/gateways/{name}/{what}");
    tell(client, &client.post(&path, &said).await?, text::gateway)
}

async fn drain(client: &Client, name: &str, wait: bool, why: Option<String>) -> anyhow::Result<()> {
    let path = format!("/gateways/{name}/drain");
    let mut drained = client.post(&path, &json!({ "why": why })).await?;
    let mut told = String::new();
    while wait && drained["data"]["state"] == "draining" {
        let left = text::left(&drained["data"]);
        if left != told {
            client.output.note(&left);
            told = left;
        }
        tokio::time::sleep(DRAIN_LOOK).await;
        drained = client.get(&format!("/gateways/{name}")).await?;
    }
    tell(client, &drained, text::gateway)
}

/// Prints the response as text, or as JSON.
fn tell(
    client: &Client,
    envelope: &Value,
    words: impl FnOnce(&Value) -> String,
) -> anyhow::Result<()> {
    if client.output.json {
        return Ok(print(&format!("{envelope:#}\n"))?);
    }
    Ok(print(&words(&envelope["data"]))?)
}

fn escaped(value: &str) -> String {
    url::form_urlencoded::byte_serialize(value.as_bytes()).collect()
}

/// Poll interval of `drain --wait`.
const DRAIN_LOOK: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_was_added_is_said_to_await_approval() {
        let waits = json!({ "name": "acme", "awaiting_approval": { "sha256": "ab" } });
        let why = in_use(&waits, "AB").unwrap_err();
        assert!(why.is::<AwaitsApproval>());
        assert!(in_use(&waits, "cd").is_ok());
        assert!(in_use(&json!({ "name": "acme", "awaiting_approval": null }), "ab").is_ok());
    }
}
