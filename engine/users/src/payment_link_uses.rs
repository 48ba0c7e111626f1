//! Payments of a payment link: their beginning, their list, and the sums of those that succeeded.
//!
//! The rows of a payment are written in the commit that stores it, see [`NewUse`]. A link with a
//! limited number of uses counts payments that succeeded and payments that may still succeed: its
//! row of uses changes with each beginning, so that of two payers who want the last use at once one
//! is refused before anything is charged. A payment that ends otherwise gives its use back. A form
//! begins one payment, whatever is sent again.
//!
//! The caller knows the transactions and names those that have ended. Left out: limits of requests.

use serde::{Deserialize, Serialize};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{PaymentId, PaymentLinkId};
use switchyard_core::money::Amount;
use switchyard_store::{Batch, CommitError, Direction, Key, Table};
use switchyard_system::secrets::Fingerprint;
use tokio::sync::MutexGuard;
use ulid::Ulid;

use crate::error::UsersError;
use crate::payment_link::{LinkUses, PaymentLink, Unusable};
use crate::payment_links::link_not_found;
use crate::rows::{self, Kind};
use crate::users::Users;

/// Payment that a form began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormPayment {
    pub payment: PaymentId,
    /// Hash of what the form said.
    pub content: Fingerprint,
}

/// Payment of a link that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedPayment {
    pub payment: PaymentId,
    /// Amount of a success. `None`: it did not succeed.
    pub received: Option<Amount>,
}

/// Use of a link, before its payment is stored.
pub struct NewUse {
    link: PaymentLinkId,
    form: String,
    content: Fingerprint,
    /// Row of the link as it was read: a link that is disabled in the meantime takes no payment.
    link_row: Vec<u8>,
    /// Uses before and after, of a link with a limited number of them.
    uses: Option<(Option<Vec<u8>>, Vec<u8>)>,
}

impl NewUse {
    /// Adds the rows of the use to the commit that stores its payment. The commit conflicts if the
    /// link, its uses or the payment of the form have changed.
    pub fn add_to(&self, batch: &mut Batch, payment: PaymentId) {
        let link = Kind::PaymentLink.key(self.link);
        batch.require_value(Table::User, link, &self.link_row);
        if let Some((before, after)) = &self.uses {
            let key = Kind::PaymentLinkUses.key(self.link);
            require(batch, &key, before.as_deref());
            batch.put(Table::User, key, after);
        }
        let began = FormPayment {
            payment,
            content: self.content,
        };
        // An id and a hash are JSON always.
        let began = serde_json::to_vec(&began).unwrap_or_default();
        let form = key_of_form(self.link, &self.form);
        batch.require_absent(Table::User, &form);
        batch.put(Table::User, form, began);
        let of_link = of_link(Kind::PaymentOfLink, self.link, payment);
        batch.put(Table::User, of_link, &self.form);
        batch.put(Table::User, of_link_open(self.link, payment), OPEN);
    }
}

impl Users {
    /// Exclusive right to use a link with a limited number of uses in this process. Payers of one
    /// link wait for each other, instead of repeating their commits.
    pub async fn lock_payment_link(&self, id: PaymentLinkId) -> MutexGuard<'_, ()> {
        let locks = &self.0.link_locks;
        let place = id.ulid().random() % locks.len() as u128;
        locks[place as usize].lock().await
    }

    /// A use of the link for this form, or the reason why it takes no payment now.
    ///
    /// `content`: hash of what the form says.
    pub async fn new_use(
        &self,
        id: PaymentLinkId,
        form: &str,
        content: Fingerprint,
    ) -> Result<Result<NewUse, Unusable>, UsersError> {
        let stored = self.stored_link(id).await?;
        let stored = stored.ok_or_else(|| link_not_found(id))?;
        let (row, mut uses) = self.stored_uses(id).await?;
        if let Some(why) = stored.link.unusable(&uses, self.0.clock.now()) {
            return Ok(Err(why));
        }
        let uses = match stored.link.terms.max_uses {
            None => None,
            Some(_) => {
                uses.held = uses.held.saturating_add(1);
                let after = rows::encode(&Kind::PaymentLinkUses.key(id), &uses)?;
                Some((row, after))
            }
        };
        Ok(Ok(NewUse {
            link: id,
            form: form.to_owned(),
            content,
            link_row: stored.row,
            uses,
        }))
    }

    /// The payment that a form of the link began.
    pub async fn payment_of_form(
        &self,
        link: PaymentLinkId,
        form: &str,
    ) -> Result<Option<FormPayment>, UsersError> {
        let key = key_of_form(link, form);
        let row = self.0.store.get(Table::User, &key).await?;
        row.map(|row| rows::decode(&key, &row)).transpose()
    }

    /// Uses of a link. The results of open payments are added by [`Self::settle_uses`].
    pub async fn link_uses(&self, id: PaymentLinkId) -> Result<LinkUses, UsersError> {
        Ok(self.stored_uses(id).await?.1)
    }

    /// Payments of a link, newest first, at most `limit`. `before`: only older ones than this.
    pub async fn payments_of_link(
        &self,
        link: PaymentLinkId,
        before: Option<PaymentId>,
        limit: usize,
    ) -> Result<Vec<PaymentId>, UsersError> {
        let above = Kind::PaymentOfLink.key(link);
        let range = match before {
            Some(id) => above.children().ending_at(above.clone().child(id)),
            None => above.children(),
        };
        let store = &self.0.store;
        let (from, to) = (range.from(), range.to());
        let rows = store.scan(Table::User, from, to, Direction::Backward, limit);
        Ok(payments(
            &above,
            rows.await?.iter().map(|(key, _)| key.as_slice()),
        ))
    }

    /// Payments of a link whose result is not in its uses yet, oldest first, at most `limit`.
    /// `behind`: only younger ones than this.
    pub async fn open_payments_of_link(
        &self,
        link: PaymentLinkId,
        behind: Option<PaymentId>,
        limit: usize,
    ) -> Result<Vec<PaymentId>, UsersError> {
        let above = Kind::OpenPaymentOfLink.key(link);
        let range = match behind {
            Some(id) => above.children().behind_row(&of_link_open(link, id)),
            None => above.children(),
        };
        let store = &self.0.store;
        let (from, to) = (range.from(), range.to());
        let rows = store.scan(Table::User, from, to, Direction::Forward, limit);
        Ok(payments(
            &above,
            rows.await?.iter().map(|(key, _)| key.as_slice()),
        ))
    }

    /// Adds the results of payments to the uses of their link, each once.
    pub async fn settle_uses(
        &self,
        link: &PaymentLink,
        ended: &[EndedPayment],
    ) -> Result<LinkUses, UsersError> {
        for _ in 0..TRIES {
            let (row, mut uses) = self.stored_uses(link.id).await?;
            let mut batch = Batch::new();
            let mut count = 0;
            for one in ended {
                let key = of_link_open(link.id, one.payment);
                if self.0.store.get(Table::User, &key).await?.is_none() {
                    continue;
                }
                batch.require_value(Table::User, &key, OPEN);
                batch.delete(Table::User, &key);
                uses.held = uses.held.saturating_sub(1);
                if let Some(amount) = one.received {
                    uses.add_paid(amount);
                }
                count += 1;
            }
            if count == 0 {
                return Ok(uses);
            }
            require(
                &mut batch,
                &Kind::PaymentLinkUses.key(link.id),
                row.as_deref(),
            );
            rows::put(&mut batch, Kind::PaymentLinkUses, link.id, &uses)?;
            match self.0.store.commit(batch).await {
                Ok(()) => return Ok(uses),
                // Another process was faster, or a payment was begun.
                Err(CommitError::Conflict) => {}
                Err(error) => return Err(UsersError::Write(error)),
            }
        }
        Err(UsersError::Conflict)
    }

    /// Deletes the rows of sandbox payments of links after the retention of the payments. Each
    /// commit is complete, so that a later call continues after a crash.
    pub(crate) async fn purge_link_payments(&self) -> Result<(), UsersError> {
        let links = Kind::PaymentLinkOfApp.key(Environment::Sandbox);
        let store = &self.0.store;
        let mut pages = store.pages(Table::User, links.children(), AT_ONCE);
        while let Some(page) = pages.next().await? {
            for (key, value) in page {
                let link = rows::decode(&key, &value)?;
                while self.purge_payments_of(link).await? {}
            }
        }
        Ok(())
    }

    /// Deletes the oldest payments of a sandbox link. `false`: none is left to delete.
    async fn purge_payments_of(&self, link: PaymentLinkId) -> Result<bool, UsersError> {
        let retention = self.0.options.sandbox_retention;
        let last = self.0.clock.now().minus(retention).as_millis();
        let last = Ulid::from_parts(u64::try_from(last).unwrap_or_default(), 0);
        let above = Kind::PaymentOfLink.key(link);
        let end = above.clone().child(PaymentId::new(last));
        let range = above.children().ending_at(end);
        let store = &self.0.store;
        let (from, to) = (range.from(), range.to());
        let rows = store.scan(Table::User, from, to, Direction::Forward, AT_ONCE);
        let rows = rows.await?;
        let mut batch = Batch::new();
        for (key, value) in &rows {
            let form = String::from_utf8_lossy(value);
            batch.delete(Table::User, key);
            batch.delete(Table::User, key_of_form(link, &form));
        }
        let is_any = !rows.is_empty();
        if is_any {
            store.commit(batch).await.map_err(UsersError::Write)?;
        }
        Ok(is_any)
    }

    /// Uses of a link with their row.
    async fn stored_uses(
        &self,
        id: PaymentLinkId,
    ) -> Result<(Option<Vec<u8>>, LinkUses), UsersError> {
        let key = Kind::PaymentLinkUses.key(id);
        let row = self.0.store.get(Table::User, &key).await?;
        let uses = row.as_ref().map(|row| rows::decode(&key, row));
        Ok((row, uses.transpose()?.unwrap_or_default()))
    }
}

/// Makes `batch` conflict if the row has another value, or if there is one where there was none.
fn require(batch: &mut Batch, key: &Key, row: Option<&[u8]>) {
    match row {
        Some(row) => batch.require_value(Table::User, key, row),
        None => batch.require_absent(Table::User, key),
    }
}

/// Ids of the payments in the keys of rows below a link.
fn payments<'k>(above: &Key, keys: impl Iterator<Item = &'k [u8]>) -> Vec<PaymentId> {
    let ids = keys.filter_map(|key| above.child_in(key)?.parse().ok());
    ids.collect()
}

fn of_link(kind: Kind, link: PaymentLinkId, payment: PaymentId) -> Key {
    kind.key(link).child(payment)
}

fn of_link_open(link: PaymentLinkId, payment: PaymentId) -> Key {
    of_link(Kind::OpenPaymentOfLink, link, payment)
}

fn key_of_form(link: PaymentLinkId, form: &str) -> Key {
    Kind::PaymentLinkForm.key(link).child(form)
}

/// Value of the row of an open payment.
const OPEN: &[u8] = b"{}";
/// Attempts to commit results. One conflicts if a payment of the link is begun at the same moment.
const TRIES: usize = 10;
/// Rows that are purged in one commit.
const AT_ONCE: usize = 500;
