//! `switchyard gateway`: manages gateways, from the inspection of a file to a removal.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Subcommand;
use reqwest::Method;
use serde::Serialize;
use switchyard_progress::{Progress, Unit};

use super::client::{Answer, Client, Target, query};
use super::gateway_text as text;
use super::output::{Column, cell, print};
use crate::operator::contract::gateways::{
    Approval, CandidateFile, ChangeReason, Gateway, GatewayState, GatewaySummary, InstallOptions,
    NewPin, Pin, Proposal, VersionChange,
};

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
    pub async fn run(self, target: &Target) -> anyhow::Result<()> {
        let client = &Client::new(target)?;
        match self {
            Self::Inspect { file } => {
                let seen = inspected(client, &file).await?;
                Ok(client.output.text(&seen, text::proposal)?)
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
                Ok(client.output.text(&shown, text::gateway)?)
            }
            Self::Approve { name, sha256, why } => {
                let body = Approval { sha256, why };
                change(client, &name, "approve", body).await
            }
            Self::Reject { name, sha256, why } => {
                let body = Approval { sha256, why };
                change(client, &name, "reject", body).await
            }
            Self::Rollback { name, to, why } => {
                let body = VersionChange { why, version: to };
                change(client, &name, "rollback", body).await
            }
            Self::Drain { name, wait, why } => drain(client, &name, wait, why).await,
            Self::Remove { name, why } => {
                change(client, &name, "remove", ChangeReason { why }).await
            }
            Self::Quarantine { name, of, why } => {
                let body = VersionChange { why, version: of };
                change(client, &name, "quarantine", body).await
            }
            Self::Restore { name, of, why } => {
                let body = VersionChange { why, version: of };
                change(client, &name, "restore", body).await
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
                out.table(&client.get("/gateway-pins").await?, PINS)?;
            }
            Self::Add { sha256 } => {
                let pinned = client
                    .post::<Pin>("/gateway-pins", &NewPin { sha256 })
                    .await?;
                out.done(&pinned)?;
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
            let reason = ChangeReason { why: self.why };
            let added = client.post(&path, &reason).await?;
            client.output.text(&added, text::gateway)?;
            return in_use(&added.data, file);
        }
        let path = PathBuf::from(file);
        let proposal = inspected(client, &path).await?.data;
        let is_narrowed = self.live_hosts.is_some() || self.sandbox_hosts.is_some();
        let consent = match &self.consent {
            Some(sha256) => Some(sha256.clone()),
            None if !proposal.needs_consent && !is_narrowed => None,
            None => Some(self.consent(client, &proposal)?),
        };
        let options = InstallOptions {
            consent,
            sandbox_hosts: self.sandbox_hosts,
            live_hosts: self.live_hosts,
            why: self.why,
        };
        let added = client
            .upload(
                Method::POST,
                &format!("/gateways?{}", query(&options)),
                read(&path)?,
            )
            .await?;
        client.output.text(&added, text::gateway)?;
        in_use(&added.data, &proposal.sha256)
    }

    /// Shows the proposal and asks for consent. Returns the hash that was consented to.
    fn consent(&self, client: &Client, proposal: &Proposal) -> anyhow::Result<String> {
        let sha256 = proposal.sha256.clone();
        if self.yes {
            return Ok(sha256);
        }
        ensure!(
            !client.output.json,
            "it needs consent: look at it with `switchyard gateway inspect`, then add --consent {sha256}"
        );
        print(&text::proposal(proposal))?;
        eprint!("\nInstall it? Write yes: ");
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
fn in_use(gateway: &Gateway, sha256: &str) -> anyhow::Result<()> {
    let waiting = gateway.summary.awaiting_approval.as_ref();
    if waiting.is_some_and(|waiting| waiting.sha256.eq_ignore_ascii_case(sha256)) {
        let name = gateway.summary.name.clone();
        return Err(AwaitsApproval { name }.into());
    }
    Ok(())
}

async fn inspected(client: &Client, file: &PathBuf) -> anyhow::Result<Answer<Proposal>> {
    client
        .upload(Method::POST, "/gateway-inspections", read(file)?)
        .await
}

fn read(file: &PathBuf) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

async fn list(client: &Client) -> anyhow::Result<()> {
    let gateways = client.get::<Vec<GatewaySummary>>("/gateways").await?;
    let files = match client.output.json {
        true => Vec::new(),
        false => {
            let files = client.get::<Vec<CandidateFile>>("/gateway-candidates");
            files.await?.data
        }
    };
    Ok(client.output.text(&gateways, |gateways| {
        text::gateways(gateways) + &text::files(&files)
    })?)
}

async fn change(
    client: &Client,
    name: &str,
    what: &str,
    body: impl Serialize,
) -> anyhow::Result<()> {
    let path = format!("/gateways/{name}/{what}");
    let changed = client.post(&path, &body).await?;
    Ok(client.output.text(&changed, text::gateway)?)
}

async fn drain(client: &Client, name: &str, wait: bool, why: Option<String>) -> anyhow::Result<()> {
    let path = format!("/gateways/{name}/drain");
    let mut drained = client.post::<Gateway>(&path, &ChangeReason { why }).await?;
    if wait {
        let open = |gateway: &Answer<Gateway>| gateway.data.summary.open_attempts.count as u64;
        let total = open(&drained);
        let progress = Progress::begin("drain", Some(total), Unit::Things("attempts"));
        let mut shown = String::new();
        while drained.data.summary.state == GatewayState::Draining {
            progress.at(total.saturating_sub(open(&drained)));
            let left = text::left(&drained.data.summary);
            if left != shown && !client.output.json {
                progress.line(&left);
                shown = left;
            }
            tokio::time::sleep(DRAIN_LOOK).await;
            drained = client.get(&format!("/gateways/{name}")).await?;
        }
    }
    Ok(client.output.text(&drained, text::gateway)?)
}

const PINS: &[Column<Pin>] = &[
    ("sha256", |one| cell(&one.sha256)),
    ("by", |one| cell(&one.by)),
    ("at", |one| cell(&one.at)),
];
/// Poll interval of `drain --wait`.
const DRAIN_LOOK: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_that_was_added_is_said_to_await_approval() {
        let mut gateway = text::tests::gateway();
        gateway.summary.awaiting_approval = Some(text::tests::awaiting("ab"));
        let why = in_use(&gateway, "AB").unwrap_err();
        assert!(why.is::<AwaitsApproval>());
        assert!(in_use(&gateway, "cd").is_ok());
        gateway.summary.awaiting_approval = None;
        assert!(in_use(&gateway, "ab").is_ok());
    }
}
