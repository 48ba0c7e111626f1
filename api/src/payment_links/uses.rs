//! Results of the payments of a link.

use std::sync::Arc;

use switchyard_core::ids::{PaymentId, TransactionId};
use switchyard_core::transaction::{State, Transaction};
use switchyard_users::{EndedPayment, LinkUses, PaymentLink, Users};

use super::LinkError;
use crate::state::ApiState;

/// Uses of a link by the transactions that are stored now.
pub struct UsesNow {
    pub uses: LinkUses,
    /// Payments that have not ended.
    pub open: u64,
}

/// Adds the results of the payments that have ended to the uses of their link. Returns the uses.
pub async fn uses(
    state: &ApiState,
    users: &Users,
    link: &PaymentLink,
) -> Result<UsesNow, LinkError> {
    let (mut open, mut behind) = (0, None);
    loop {
        let page = users.open_payments_of_link(link.id, behind, PAGE).await?;
        let mut ended = Vec::new();
        for payment in &page {
            match result(state, *payment).await? {
                Some(received) => ended.push(received),
                None => open += 1,
            }
        }
        let uses = users.settle_uses(link, &ended).await?;
        behind = page.last().copied();
        if page.len() < PAGE {
            return Ok(UsesNow { uses, open });
        }
    }
}

/// The result of a payment. `None`: it has not ended.
async fn result(state: &ApiState, payment: PaymentId) -> Result<Option<EndedPayment>, LinkError> {
    let id = TransactionId::Payment(payment);
    let Some(tx) = state.engine().transaction(id).await? else {
        // Only old sandbox payments are deleted.
        return Ok(Some(EndedPayment {
            payment,
            received: None,
        }));
    };
    let is_paid = tx.state == State::Succeeded;
    Ok(tx.state.is_final().then(|| EndedPayment {
        payment,
        received: is_paid.then_some(tx.amount),
    }))
}

/// Payments of a link, newest first, at most `limit`, and the start of the next page. `before`:
/// only older ones than this.
pub async fn transactions(
    state: &ApiState,
    users: &Users,
    link: &PaymentLink,
    before: Option<PaymentId>,
    limit: usize,
) -> Result<(Vec<Arc<Transaction>>, Option<PaymentId>), LinkError> {
    let ids = users.payments_of_link(link.id, before, limit).await?;
    let more = ids.last().copied().filter(|_| ids.len() == limit);
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let id = TransactionId::Payment(id);
        found.extend(state.engine().transaction(id).await?);
    }
    Ok((found, more))
}

/// Payments read at a time.
const PAGE: usize = 500;
