//! The tables of the store: what kinds of rows there are, and their names and numbers on disk.

/// A set of ordered rows, key bytes to value bytes. Rows of one table never mix with those of
/// another.
///
/// The number and the name of a table are its identity on disk: never change one, only append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Table {
    /// Snapshots of transactions.
    Transaction = 1,
    /// Events of transactions.
    Event = 2,
    /// Exchanges with providers, as a gateway's call made them.
    Journal = 3,
    /// Timers by due time.
    Timer = 4,
    /// Actions that are stored and not yet done.
    Outbox = 5,
    /// Attempts to deliver webhooks and mails.
    Delivery = 6,
    /// Secondary keys: by app, by reference, by time.
    Index = 7,
    /// Answers kept for idempotency keys.
    Idempotency = 8,
    Customer = 9,
    /// Accounts, apps, keys, webhooks, connections.
    Access = 10,
    /// Cases for manual review.
    Case = 11,
    /// Raw requests that providers sent us.
    Callback = 12,
    /// Facts about the store itself.
    Meta = 13,
    /// How many transactions there are, and their statistics, see `records`.
    Count = 14,
    /// Users, sessions, links, tokens, approvals, see `switchyard-users`.
    User = 15,
    /// Entries of the audit log, by number.
    Audit = 16,
}

impl Table {
    pub const ALL: [Self; 16] = [
        Self::Transaction,
        Self::Event,
        Self::Journal,
        Self::Timer,
        Self::Outbox,
        Self::Delivery,
        Self::Index,
        Self::Idempotency,
        Self::Customer,
        Self::Access,
        Self::Case,
        Self::Callback,
        Self::Meta,
        Self::Count,
        Self::User,
        Self::Audit,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Event => "event",
            Self::Journal => "journal",
            Self::Timer => "timer",
            Self::Outbox => "outbox",
            Self::Delivery => "delivery",
            Self::Index => "index",
            Self::Idempotency => "idempotency",
            Self::Customer => "customer",
            Self::Access => "access",
            Self::Case => "case",
            Self::Callback => "callback",
            Self::Meta => "meta",
            Self::Count => "count",
            Self::User => "user",
            Self::Audit => "audit",
        }
    }

    pub(super) const fn number(self) -> u8 {
        self as u8
    }

    /// Index in [`Table::ALL`], for arrays with one entry per table.
    pub(super) const fn position(self) -> usize {
        self as usize - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_stands_where_its_number_says_under_a_name_of_its_own() {
        for (position, table) in Table::ALL.into_iter().enumerate() {
            assert_eq!(table.position(), position);
            let same_name = Table::ALL
                .iter()
                .filter(|other| other.name() == table.name());
            assert_eq!(same_name.count(), 1, "{table:?}");
        }
    }
}
