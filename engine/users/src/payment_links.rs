//! Creation, look-up, disabling and enabling of payment links.
//!
//! A link and its entry of the audit log are one commit. The terms of a link never change: payers
//! have its address. Left out: its payments, see `payment_link_uses`.

use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, PaymentLinkId};
use switchyard_core::limits::{PAYMENT_LINK_TITLE, PAYMENT_LINK_USES};
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, Direction, Key, Table};

use crate::authorize::Permit;
use crate::error::UsersError;
use crate::payment_link::{Disabled, LinkAmount, LinkCode, LinkTerms, NewPaymentLink, PaymentLink};
use crate::rows::{self, Kind};
use crate::users::Users;

/// Link as it is stored. A commit that depends on it requires these bytes.
pub(crate) struct StoredLink {
    pub link: PaymentLink,
    pub row: Vec<u8>,
}

impl Users {
    /// Stores a link of the permit's user.
    pub async fn create_payment_link(
        &self,
        permit: &Permit,
        new: NewPaymentLink,
    ) -> Result<PaymentLink, UsersError> {
        let account = permit.account.ok_or_else(|| link_not_found(""))?;
        let gate = self.gate().await;
        let permit = &self.renew(permit)?;
        let now = gate.now();
        check(&new.terms, now)?;
        let link = PaymentLink {
            id: PaymentLinkId::new(self.0.ids.ulid(now)),
            code: LinkCode::of(self.0.ids.ulid(now)),
            account,
            app: new.app,
            environment: new.environment,
            terms: new.terms,
            created_by: permit.user,
            created_at: now,
            disabled: None,
        };
        let mut batch = Batch::new();
        let (code, of_app) = (Kind::PaymentLinkCode.key(&link.code), key_of_app(&link));
        batch.require_absent(Table::User, &code);
        batch.put(Table::User, &code, rows::encode(&code, &link.id)?);
        batch.put(Table::User, &of_app, rows::encode(&of_app, &link.id)?);
        rows::put(&mut batch, Kind::PaymentLink, link.id, &link)?;
        let mut entry = permit.entry(link.id).changing(Value::Null, facts(&link));
        entry.action = "create_payment_link".to_owned();
        gate.commit(batch, vec![entry], |_| {}).await?;
        Ok(link)
    }

    /// A link of an account.
    pub async fn payment_link(
        &self,
        account: AccountId,
        id: PaymentLinkId,
    ) -> Result<PaymentLink, UsersError> {
        let stored = self.stored_link(id).await?;
        let own = stored.filter(|stored| stored.link.account == account);
        own.map(|stored| stored.link)
            .ok_or_else(|| link_not_found(id))
    }

    /// The link with this code in its address.
    pub async fn payment_link_by_code(
        &self,
        code: &LinkCode,
    ) -> Result<Option<PaymentLink>, UsersError> {
        let key = Kind::PaymentLinkCode.key(code);
        let Some(row) = self.0.store.get(Table::User, &key).await? else {
            return Ok(None);
        };
        let stored = self.stored_link(rows::decode(&key, &row)?).await?;
        Ok(stored.map(|stored| stored.link))
    }

    /// Links of an app in an environment, newest first, at most `limit`. `before`: only older ones
    /// than this.
    pub async fn payment_links(
        &self,
        app: AppId,
        environment: Environment,
        before: Option<PaymentLinkId>,
        limit: usize,
    ) -> Result<Vec<PaymentLink>, UsersError> {
        let all = of_app(app, environment);
        let range = match before {
            Some(id) => all.children().ending_at(all.clone().child(id)),
            None => all.children(),
        };
        let (store, from, to) = (&self.0.store, range.from(), range.to());
        let ids = store.scan(Table::User, from, to, Direction::Backward, limit);
        let mut found = Vec::new();
        for (key, value) in ids.await? {
            let stored = self.stored_link(rows::decode(&key, &value)?).await?;
            found.extend(stored.map(|stored| stored.link));
        }
        Ok(found)
    }

    /// Disables a link: it takes no new payment. Payments that were begun go on. A disabled link
    /// stays as it is.
    pub async fn disable_payment_link(
        &self,
        permit: &Permit,
        id: PaymentLinkId,
    ) -> Result<PaymentLink, UsersError> {
        self.set_disabled(permit, id, true).await
    }

    /// Enables a disabled link. An enabled link stays as it is.
    pub async fn enable_payment_link(
        &self,
        permit: &Permit,
        id: PaymentLinkId,
    ) -> Result<PaymentLink, UsersError> {
        self.set_disabled(permit, id, false).await
    }

    async fn set_disabled(
        &self,
        permit: &Permit,
        id: PaymentLinkId,
        is_disabled: bool,
    ) -> Result<PaymentLink, UsersError> {
        let account = permit.account.ok_or_else(|| link_not_found(id))?;
        let gate = self.gate().await;
        let permit = &self.renew(permit)?;
        let stored = self.stored_link(id).await?;
        let own = stored.filter(|stored| stored.link.account == account);
        let StoredLink { link, row } = own.ok_or_else(|| link_not_found(id))?;
        if link.disabled.is_some() == is_disabled {
            return Ok(link);
        }
        let disabled = is_disabled.then(|| Disabled {
            by: permit.user,
            at: gate.now(),
        });
        let changed = PaymentLink { disabled, ..link };
        let mut batch = Batch::new();
        batch.require_value(Table::User, Kind::PaymentLink.key(id), row);
        rows::put(&mut batch, Kind::PaymentLink, id, &changed)?;
        let mut entry = permit.entry(id);
        entry.action = match is_disabled {
            true => "disable_payment_link".to_owned(),
            false => "enable_payment_link".to_owned(),
        };
        gate.commit(batch, vec![entry], |_| {}).await?;
        Ok(changed)
    }

    /// A link of any account.
    pub(crate) async fn stored_link(
        &self,
        id: PaymentLinkId,
    ) -> Result<Option<StoredLink>, UsersError> {
        let key = Kind::PaymentLink.key(id);
        let Some(row) = self.0.store.get(Table::User, &key).await? else {
            return Ok(None);
        };
        let link = rows::decode(&key, &row)?;
        Ok(Some(StoredLink { link, row }))
    }
}

/// Checks what holds for a link whatever the merchant API says about its payments.
fn check(terms: &LinkTerms, now: Timestamp) -> Result<(), UsersError> {
    let title = terms.title.trim();
    let characters = title.chars().count();
    let is_one_line = !terms.title.chars().any(char::is_control);
    if characters == 0 || characters > PAYMENT_LINK_TITLE || !is_one_line {
        let problem = format!("is a text of 1 to {PAYMENT_LINK_TITLE} characters on one line");
        return Err(UsersError::invalid("title", problem));
    }
    let is_ordered = match terms.amount {
        LinkAmount::Between { least, most } => least <= most,
        LinkAmount::Fixed { .. } | LinkAmount::Open { .. } => true,
    };
    if !is_ordered {
        return Err(UsersError::invalid("max_amount", "is at least min_amount"));
    }
    let uses = terms.max_uses;
    if uses.is_some_and(|uses| !(1..=PAYMENT_LINK_USES).contains(&uses)) {
        let problem = format!("is a number from 1 to {PAYMENT_LINK_USES}");
        return Err(UsersError::invalid("max_uses", problem));
    }
    if terms.expires_at.is_some_and(|end| end <= now) {
        return Err(UsersError::invalid("expires_at", "is in the future"));
    }
    Ok(())
}

/// A link for the audit log.
fn facts(link: &PaymentLink) -> Value {
    let terms = &link.terms;
    json!({
        "title": terms.title,
        "environment": link.environment,
        "amount": terms.amount,
        "max_uses": terms.max_uses,
        "expires_at": terms.expires_at,
    })
}

/// Key above the ids of the links of an app in an environment.
fn of_app(app: AppId, environment: Environment) -> Key {
    Kind::PaymentLinkOfApp.key(environment).child(app)
}

fn key_of_app(link: &PaymentLink) -> Key {
    of_app(link.app, link.environment).child(link.id)
}

pub(crate) fn link_not_found(id: impl ToString) -> UsersError {
    UsersError::not_found("payment link", id)
}
