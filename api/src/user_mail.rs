//! Mails to users of the console: single-use links, and proposals that wait for their decision.

use switchyard_engine::engine::Engine;
use switchyard_engine::mail::{AccountMailReason, NewAccountMail};
use switchyard_users::{Approval, NewLink, Purpose, User, Users};

use crate::state::ConsoleAccess;

/// Mails a link to its user. Returns whether it was queued. If not, mails are off or the store
/// refuses it, and the caller shows the link instead.
pub async fn send(engine: &Engine, console: &ConsoleAccess, made: &NewLink) -> bool {
    let reason = match made.link.purpose {
        Purpose::Invitation { account, role } => AccountMailReason::Invitation {
            account: account
                .and_then(|account| engine.access().account(account))
                .map(|account| account.name.clone()),
            role: role.name().to_owned(),
        },
        Purpose::Reset => AccountMailReason::Reset,
        Purpose::SignIn => return false,
    };
    let mail = NewAccountMail {
        user: made.user.id,
        address: made.user.email.clone(),
        name: made.user.name.clone(),
        language: made.user.language,
        reason,
        link: console.link_url(made.token.expose()).into(),
        expires_at: made.link.expires_at,
    };
    queue(engine, mail).await
}

/// Mails a proposal to all users who may decide about it. `path`: of its page in the console.
pub async fn send_proposal(
    engine: &Engine,
    console: &ConsoleAccess,
    approval: &Approval,
    path: &str,
) {
    let account = approval.account.and_then(|id| engine.access().account(id));
    let proposer = console.users.user(approval.proposed_by);
    let by = proposer.map_or_else(String::new, |user| user.name.clone());
    for user in console.users.all_users() {
        if !may_decide(&user, approval) {
            continue;
        }
        let mail = NewAccountMail {
            user: user.id,
            address: user.email.clone(),
            name: user.name.clone(),
            language: user.language,
            reason: AccountMailReason::Proposal {
                account: account.as_ref().map(|account| account.name.clone()),
                by: by.clone(),
            },
            link: console.page_url(path).into(),
            expires_at: approval.expires_at,
        };
        queue(engine, mail).await;
    }
}

fn may_decide(user: &User, approval: &Approval) -> bool {
    let role = user.role_in(approval.account);
    let may = role.is_some_and(|role| Users::approving_roles(approval).contains(&role));
    may && user.is_active() && user.id != approval.proposed_by
}

async fn queue(engine: &Engine, mail: NewAccountMail) -> bool {
    let user = mail.user;
    match engine.mails().send_to_user(mail, engine.ids()).await {
        Ok(is_queued) => is_queued,
        Err(error) => {
            tracing::warn!(%error, user.id = %user, "failed to queue a mail to a user");
            false
        }
    }
}
