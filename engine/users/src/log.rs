//! Reading and verification of the audit log.

use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::limits::{AUDIT_PAGE, AUDIT_SCANNED};
use switchyard_core::time::Timestamp;
use switchyard_store::Direction;

use crate::audit::{self, ChainHead, ChainReport, Entry, Row};
use crate::error::UsersError;
use crate::users::Users;

/// Filter of the audit log; fields that are `None` match every entry.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// Entries about this account only.
    pub account: Option<AccountId>,
    /// Entries by this user, in a session or with a token.
    pub user: Option<UserId>,
    pub action: Option<String>,
    /// Times of the oldest and of the newest entry, both included.
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Entries before this number: [`AuditPage::next`] of the page before.
    pub before: Option<u64>,
    /// Entries on the page, at most 200.
    pub limit: usize,
}

/// Entries of the audit log, newest first.
#[derive(Clone, Debug, Default)]
pub struct AuditPage {
    pub entries: Vec<Entry>,
    /// Numbers of unreadable entries that were passed, whatever the filter.
    pub unreadable: Vec<u64>,
    /// Start of the next page; `None`: there are no more entries. A page with few matches may be
    /// short although there are more.
    pub next: Option<u64>,
}

impl AuditQuery {
    fn matches(&self, entry: &Entry) -> bool {
        let account = self.account.is_none_or(|it| entry.account == Some(it));
        let user = self.user.is_none_or(|it| entry.actor.user() == Some(it));
        let action = self.action.as_ref().is_none_or(|it| *it == entry.action);
        account && user && action
    }
}

impl Users {
    /// Reads a page of the audit log, newest first. Reads at most 5,000 entries.
    pub async fn audit(&self, query: &AuditQuery) -> Result<AuditPage, UsersError> {
        let limit = query.limit.clamp(1, AUDIT_PAGE);
        let mut end = query.before.unwrap_or(u64::MAX);
        if let Some(until) = query.until {
            end = end.min(self.first_after(until).await?);
        }
        let mut page = AuditPage::default();
        let mut left = AUDIT_SCANNED;
        while left > 0 {
            let rows = self.rows_before(end, left.min(READ)).await?;
            if rows.is_empty() {
                return Ok(page);
            }
            left -= rows.len();
            for (number, row) in rows {
                let Some(entry) = audit::readable(number, row.as_deref()) else {
                    page.unreadable.push(number);
                    end = number;
                    continue;
                };
                if query.since.is_some_and(|since| entry.at < since) {
                    return Ok(page);
                }
                end = number;
                if query.matches(&entry) {
                    page.entries.push(entry);
                }
                if page.entries.len() == limit {
                    page.next = Some(end);
                    return Ok(page);
                }
            }
        }
        page.next = Some(end);
        Ok(page)
    }

    /// Reads the whole log and names the broken entries. Takes as long as reading all entries.
    pub async fn verify_chain(&self) -> Result<ChainReport, UsersError> {
        Ok(audit::verify(&self.0.store).await?)
    }

    /// Number and hash of the last entry, to record elsewhere: removal of the last entries shows
    /// only in a comparison with it.
    pub async fn chain_head(&self) -> Result<ChainHead, UsersError> {
        let (head, _) = ChainHead::load(&self.0.store).await?;
        Ok(head)
    }

    /// Rows with lower numbers than `end`, newest first.
    async fn rows_before(&self, end: u64, limit: usize) -> Result<Vec<Row>, UsersError> {
        let rows = audit::rows(&self.0.store, 0, end, Direction::Backward, limit);
        Ok(rows.await?)
    }

    /// Time of the entry with this number, or of the nearest readable one before it.
    async fn time_of(&self, number: u64) -> Result<Option<Timestamp>, UsersError> {
        for limit in [1, READ] {
            let rows = self.rows_before(number + 1, limit).await?;
            let mut rows = rows.iter();
            let entry = rows.find_map(|(number, row)| audit::readable(*number, row.as_deref()));
            if let Some(entry) = entry {
                return Ok(Some(entry.at));
            }
        }
        Ok(None)
    }

    /// Number of the first entry after a moment, by bisection: times never decrease.
    async fn first_after(&self, until: Timestamp) -> Result<u64, UsersError> {
        let (mut low, mut high) = (1, self.chain_head().await?.number + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let at = self.time_of(middle).await?;
            match at.is_some_and(|at| at <= until) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }
}

/// Entries read at a time.
const READ: usize = 250;
