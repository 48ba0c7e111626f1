//! Mail to a user of the console with a link: an invitation, a new password, or a proposal that
//! waits for their decision.
//!
//! The link is sealed in the outbox, so a copy of the store gives access to no account. A mail is
//! abandoned when its link ends. It leaves no record: the audit log has one.

use askama::Template;
use lettre::Message;
use serde::{Deserialize, Serialize};

use super::messages::message;
use super::queued_mail::{self, OutboxMail};
use super::render::{self, Installation, RenderError};
use super::{Mails, Shared};
use crate::access::{AccessError, UserSecret};
use switchyard_core::ids::{MailId, UserId};
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Table};
use switchyard_system::ids::Ids;

/// Content of a mail to a user.
pub struct NewAccountMail {
    pub user: UserId,
    pub address: String,
    pub name: String,
    pub language: Language,
    pub reason: AccountMailReason,
    /// Address that the user opens.
    pub link: Secret<String>,
    pub expires_at: Timestamp,
}

/// Reason of a mail to a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountMailReason {
    Invitation {
        /// Name of the account; `None`: the installation.
        account: Option<String>,
        /// Name of the role, such as `developer`.
        role: String,
    },
    Reset,
    /// Proposal of another person. Its page asks for a sign-in.
    Proposal {
        /// Name of the account; `None`: the installation.
        account: Option<String>,
        /// Name of the person who made it.
        by: String,
    },
}

/// Queued mail to a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccountMail {
    pub id: MailId,
    pub user: UserId,
    pub address: String,
    pub name: String,
    pub language: Language,
    pub reason: AccountMailReason,
    /// The link, sealed for the user.
    sealed_link: String,
    pub expires_at: Timestamp,
    pub enqueued_at: Timestamp,
    /// Attempts so far.
    pub attempts: u32,
}

/// Reason why a mail to a user was not queued.
#[derive(Debug, thiserror::Error)]
pub enum AccountMailError {
    #[error("the link could not be sealed")]
    Seal,
    #[error(transparent)]
    Vault(#[from] AccessError),
    #[error(transparent)]
    Write(#[from] CommitError),
}

impl Mails {
    /// Queues a mail to a user. Returns whether mails are enabled.
    pub async fn send_to_user(
        &self,
        new: NewAccountMail,
        ids: &Ids,
    ) -> Result<bool, AccountMailError> {
        let Some(shared) = &self.0 else {
            return Ok(false);
        };
        let vault = shared.access.installation_vault().await?;
        let link = new.link.expose().as_bytes();
        let now = shared.clock.now();
        let mail = AccountMail {
            id: MailId::new(ids.ulid(now)),
            sealed_link: vault
                .seal(new.user, UserSecret::Link, link)
                .ok_or(AccountMailError::Seal)?,
            user: new.user,
            address: new.address,
            name: new.name,
            language: new.language,
            reason: new.reason,
            expires_at: new.expires_at,
            enqueued_at: now,
            attempts: 0,
        };
        let mut batch = Batch::new();
        let key = queued_mail::key(now, mail.id);
        let row = queued_mail::json(&OutboxMail::User(mail));
        batch.put(Table::Outbox, key, row);
        shared.store.commit(batch).await?;
        self.nudge(1, now);
        Ok(true)
    }
}

/// Renders a mail. Its `Message-ID` is the same on every attempt.
///
/// # Errors
/// When its link does not open, or the address is none.
pub(super) async fn render(shared: &Shared, mail: &AccountMail) -> Result<Message, RenderError> {
    let vault = shared.access.installation_vault().await;
    let link = vault
        .ok()
        .and_then(|vault| vault.open(mail.user, UserSecret::Link, &mail.sealed_link))
        .and_then(|link| {
            Some(Secret::new(
                std::str::from_utf8(link.expose()).ok()?.to_owned(),
            ))
        });
    let link = link.ok_or(RenderError::Link)?;
    let content = Content::new(mail, &shared.installation, &link);
    let plain = Plain { content: &content }.render();
    let page = Page { content: &content }.render();
    render::Headers {
        id: mail.id,
        sender: &shared.installation.service,
        to: render::mailbox(Some(render::one_line(&mail.name)), &mail.address)?,
        reply_to: None,
        subject: content.subject.clone(),
        at: mail.enqueued_at,
    }
    .message(
        &shared.installation,
        plain.map_err(RenderError::Template)?,
        page.map_err(RenderError::Template)?,
        None,
    )
}

/// Content that both forms of a mail show.
struct Content<'a> {
    language: Language,
    service: &'a str,
    subject: String,
    text: String,
    button: String,
    link: &'a Secret<String>,
    valid: String,
    note: String,
    sender: String,
}

#[derive(Template)]
#[template(path = "mail/user.txt")]
struct Plain<'a> {
    content: &'a Content<'a>,
}

#[derive(Template)]
#[template(path = "mail/user.html")]
struct Page<'a> {
    content: &'a Content<'a>,
}

impl<'a> Content<'a> {
    fn new(mail: &AccountMail, from: &'a Installation, link: &'a Secret<String>) -> Self {
        let of = |account: &Option<String>| {
            let service = || from.service.clone();
            account.clone().unwrap_or_else(service)
        };
        let none = String::new;
        let (name, account, role, by) = match &mail.reason {
            AccountMailReason::Invitation { account, role } => {
                let role = message(mail.language, &format!("role-{role}"), &[]);
                ("invitation", of(account), role, none())
            }
            AccountMailReason::Reset => ("reset", none(), none(), none()),
            AccountMailReason::Proposal { account, by } => {
                ("proposal", of(account), none(), by.clone())
            }
        };
        let valid = match &mail.reason {
            AccountMailReason::Invitation { .. } | AccountMailReason::Reset => "link-until",
            AccountMailReason::Proposal { .. } => "proposal-until",
        };
        let until = mail.language.date(mail.expires_at);
        let values = [
            ("account", account.as_str()),
            ("role", &role),
            ("by", &by),
            ("name", &mail.name),
            ("service", &from.service),
            ("until", &until),
        ];
        let say = |part: &str| message(mail.language, &format!("{name}-{part}"), &values);
        // The account of the service itself has the service's name.
        let is_of_service = matches!(
            mail.reason,
            AccountMailReason::Invitation { account: None, .. }
        );
        Self {
            language: mail.language,
            service: &from.service,
            subject: render::one_line(&say("subject")),
            text: say(if is_of_service {
                "service-text"
            } else {
                "text"
            }),
            button: say("button"),
            link,
            valid: message(mail.language, valid, &values),
            note: say("note"),
            sender: message(mail.language, "footer-service", &values),
        }
    }
}
