//! Commands about the team of an account and its audit log.

use clap::{Args, Subcommand};
use switchyard_core::ids::UserId;

use super::Session;
use crate::account::contract::audit::{AuditEntries, AuditEntry, AuditFilter};
use crate::account::contract::team::{Invitation, Member, NewMember, RoleChange, Team as Page};
use crate::cli::client::query;
use crate::cli::output::{Column, aligned, cell};
use crate::operator::contract::users::UserLink;

#[derive(Subcommand)]
pub enum Team {
    /// List members and invitations
    List,
    /// Invite a member, and show the link, this once
    Invite {
        email: String,
        #[arg(long)]
        name: String,
        /// owner, admin, developer, finance, support or viewer
        #[arg(long)]
        role: String,
        /// Language of the invitation: en or fr
        #[arg(long)]
        language: Option<String>,
    },
    /// Give a member another role
    Role {
        /// The user's id, as `team list` shows it
        user: String,
        /// owner, admin, developer, finance, support or viewer
        role: String,
    },
    /// Remove a member
    Remove {
        /// The user's id, as `team list` shows it
        user: String,
    },
    /// Withdraw an invitation
    Withdraw {
        /// The invitation's id, as `team list` shows it
        invitation: String,
    },
}

#[derive(Args)]
pub struct Audit {
    /// Only entries with this action
    #[arg(long)]
    action: Option<String>,
    /// Only entries of this user
    #[arg(long)]
    user: Option<UserId>,
    /// Since this day (2026-11-20) or time
    #[arg(long)]
    from: Option<String>,
    /// Until this day or time
    #[arg(long)]
    to: Option<String>,
    /// Continue where the last page ended
    #[arg(long)]
    before: Option<u64>,
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

impl Team {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        let team = session.in_account("team").await?;
        match self {
            Self::List => {
                let answer = client.get::<Page>(&team).await?;
                out.text(&answer, |page| {
                    let members = aligned(&page.members, MEMBERS);
                    match page.invitations.is_empty() {
                        true => members,
                        false => format!("{members}\n{}", aligned(&page.invitations, INVITED)),
                    }
                })?;
            }
            Self::Invite {
                email,
                name,
                role,
                language,
            } => {
                let new = NewMember {
                    email,
                    name,
                    role,
                    language,
                };
                out.fields::<UserLink>(&client.post(&team, &new).await?)?;
            }
            Self::Role { user, role } => {
                let path = format!("{team}/{user}");
                out.fields::<Member>(&client.patch(&path, &RoleChange { role }).await?)?;
            }
            Self::Remove { user } => {
                out.done(&client.delete(&format!("{team}/{user}")).await?)?;
            }
            Self::Withdraw { invitation } => {
                let path = format!("invitations/{invitation}");
                let path = session.in_account(&path).await?;
                out.done(&client.delete(&path).await?)?;
            }
        }
        Ok(())
    }
}

impl Audit {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let client = &session.client;
        let filter = AuditFilter {
            action: self.action,
            user: self.user,
            from: self.from,
            to: self.to,
            before: self.before,
            limit: Some(self.limit),
        };
        let path = format!("audit?{}", query(&filter));
        let path = session.in_account(&path).await?;
        let answer = client.get::<AuditEntries>(&path).await?;
        let page = &answer.data;
        let more = page
            .more
            .as_ref()
            .map(|more| more as &dyn std::fmt::Display);
        client
            .output
            .page(&answer, (&page.entries, "--before", more), ENTRIES)?;
        Ok(())
    }
}

const MEMBERS: &[Column<Member>] = &[
    ("user", |one| cell(&one.user)),
    ("name", |one| cell(&one.name)),
    ("e-mail", |one| cell(&one.email)),
    ("role", |one| cell(&one.role)),
    ("last sign-in", |one| cell(&one.last_sign_in_at)),
];
const INVITED: &[Column<Invitation>] = &[
    ("invitation", |one| cell(&one.id)),
    ("e-mail", |one| cell(&one.email)),
    ("role", |one| cell(&one.role)),
    ("ends", |one| cell(&one.expires_at)),
];
const ENTRIES: &[Column<AuditEntry>] = &[
    ("number", |one| cell(&one.number)),
    ("at", |one| cell(&one.at)),
    ("by", |one| cell(&one.actor)),
    ("action", |one| cell(&one.action)),
    ("object", |one| cell(&one.object)),
    ("result", |one| cell(&one.result)),
];
