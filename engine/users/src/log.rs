//! Reading and verification of the audit log.

use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::limits::{AUDIT_PAGE, AUDIT_SCANNED};
use switchyard_core::time::Timestamp;
use switchyard_store::{Direction, Table};

use crate::audit::{self, ChainHead, ChainReport, Entry};
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
#[derive(Clone, Debug)]
pub struct AuditPage {
    pub entries: Vec<Entry>,
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
        let mut entries = Vec::new();
        let mut left = AUDIT_SCANNED;
        while left > 0 {
            let page = self.entries_before(end, left.min(READ)).await?;
            if page.is_empty() {
                return Ok(AuditPage {
                    entries,
                    next: None,
                });
            }
            left -= page.len();
            for entry in page {
                if query.since.is_some_and(|since| entry.at < since) {
                    return Ok(AuditPage {
                        entries,
                        next: None,
                    });
                }
                end = entry.number;
                if query.matches(&entry) {
                    entries.push(entry);
                }
                if entries.len() == limit {
                    let next = Some(end);
                    return Ok(AuditPage { entries, next });
                }
            }
        }
        let next = Some(end);
        Ok(AuditPage { entries, next })
    }

    /// Reads the whole log and names the first broken entry. Takes as long as reading all entries.
    pub async fn verify_chain(&self) -> Result<ChainReport, UsersError> {
        Ok(audit::verify(&self.0.store).await?)
    }

    /// Number and hash of the last entry, to record elsewhere: removal of the last entries shows
    /// only in a comparison with it.
    pub async fn chain_head(&self) -> Result<ChainHead, UsersError> {
        ChainHead::load(&self.0.store).await
    }

    /// Entries with lower numbers than `end`, newest first.
    async fn entries_before(&self, end: u64, limit: usize) -> Result<Vec<Entry>, UsersError> {
        let (from, to) = (audit::key(0), audit::key(end));
        let rows = self
            .0
            .store
            .scan(Table::Audit, &from, &to, Direction::Backward, limit);
        let rows = rows.await?;
        let entries = rows.iter().map(|(key, value)| audit::parse(key, value));
        entries.collect()
    }

    /// Number of the first entry after a moment, by bisection: times never decrease.
    async fn first_after(&self, until: Timestamp) -> Result<u64, UsersError> {
        let (mut low, mut high) = (1, self.chain_head().await?.number + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.entries_before(middle + 1, 1).await?.pop();
            match entry.is_some_and(|entry| entry.at <= until) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }
}

/// Entries read at a time.
const READ: usize = 250;
