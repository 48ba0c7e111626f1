//! Numbers of a row, as they are added up in the store and as they are read.

use std::time::Duration;

use switchyard_core::transaction::{DeclineReason, Status};
use switchyard_store::counts;

/// Sums that are kept for each currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Money {
    /// Asked for in attempts that the provider has not finished, less the parts that came.
    Pending,
    /// Recorded for successes and not taken back: collected by payments, paid out by payouts.
    Succeeded,
    /// The providers' fees of successes, as far as they named them.
    Fees,
    /// Asked for in attempts whose outcome is not known.
    Unknown,
    /// Reported and not the amount of a success: parts, second charges, money after the end.
    Unapplied,
    /// Reported, then taken back by the provider.
    TakenBack,
}

/// Inclusive upper bounds of the durations that are counted, from the start of the first attempt of
/// a confirmation to its success. Longer ones are counted after the last. Part of the store's
/// schema.
pub const DURATION_BOUNDS: [Duration; 10] = [
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(120),
    Duration::from_secs(300),
    Duration::from_secs(900),
    Duration::from_secs(3_600),
];

const STATUSES: usize = Status::ALL.len();
const DURATIONS: usize = DURATION_BOUNDS.len() + 1;
/// Reasons of failures, in the order of their numbers. Part of the store's schema: only append.
const REASONS: [DeclineReason; 13] = [
    DeclineReason::InsufficientFunds,
    DeclineReason::PayerDeclined,
    DeclineReason::PayerTimeout,
    DeclineReason::PayerBusy,
    DeclineReason::InvalidAccount,
    DeclineReason::LimitExceeded,
    DeclineReason::AmountOutOfRange,
    DeclineReason::Expired,
    DeclineReason::NotPermitted,
    DeclineReason::MerchantFunds,
    DeclineReason::ProviderUnavailable,
    DeclineReason::Misconfigured,
    DeclineReason::Other,
];

// Places of the numbers in a row, those that most transactions have first: a row is as long as its
// last number that ever changed. Part of the store's schema.
const UNKNOWN: usize = STATUSES;
const FEES_KNOWN: usize = UNKNOWN + 1;
const FIRST_SUM: usize = FEES_KNOWN + 1;
const FIRST_DURATION: usize = FIRST_SUM + 2 * Money::ALL.len();
const FIRST_REASON: usize = FIRST_DURATION + DURATIONS;
/// Numbers of a row.
const NUMBERS: usize = FIRST_REASON + REASONS.len();

/// Bits of an amount that its lower number has. An amount is kept as two numbers, so that neither
/// overflows before a row has four billion transactions.
const LOW_BITS: u32 = 32;
const LOW_MASK: i64 = (1 << LOW_BITS) - 1;

/// Numbers that a transaction has, or their change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers([i64; NUMBERS]);

/// Numbers of a row, or the sum of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figures {
    statuses: [u64; STATUSES],
    /// Transactions with money that may have moved and that no report settles: in doubt, on hold, or
    /// ended with an amount that nobody has named.
    pub unknown: u64,
    /// Successes with a known fee.
    pub fees_known: u64,
    money: [u128; Money::ALL.len()],
    /// Successes by their duration, see [`DURATION_BOUNDS`].
    pub durations: [u64; DURATIONS],
    reasons: [u64; REASONS.len()],
}

impl Money {
    /// In the order of their numbers. Part of the store's schema.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Succeeded,
        Self::Fees,
        Self::Unknown,
        Self::Unapplied,
        Self::TakenBack,
    ];

    const fn place(self) -> usize {
        match self {
            Self::Pending => 0,
            Self::Succeeded => 1,
            Self::Fees => 2,
            Self::Unknown => 3,
            Self::Unapplied => 4,
            Self::TakenBack => 5,
        }
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self([0; NUMBERS])
    }
}

impl Numbers {
    pub fn count_status(&mut self, status: Status) {
        self.0[status_place(status)] += 1;
    }

    pub const fn count_unknown(&mut self) {
        self.0[UNKNOWN] += 1;
    }

    pub const fn count_known_fee(&mut self) {
        self.0[FEES_KNOWN] += 1;
    }

    pub fn count_duration(&mut self, duration: Duration) {
        let bounds = DURATION_BOUNDS.iter();
        let place = bounds.take_while(|bound| duration > **bound).count();
        self.0[FIRST_DURATION + place] += 1;
    }

    pub fn count_reason(&mut self, reason: DeclineReason) {
        self.0[FIRST_REASON + reason_place(reason)] += 1;
    }

    /// Adds an amount in smallest units. A negative one, which no report has, counts as zero.
    pub fn add_money(&mut self, money: Money, minor: i64) {
        let minor = minor.max(0);
        let place = FIRST_SUM + 2 * money.place();
        self.0[place] += minor & LOW_MASK;
        self.0[place + 1] += minor >> LOW_BITS;
    }

    pub fn has(&self, money: Money) -> bool {
        let place = FIRST_SUM + 2 * money.place();
        self.0[place] != 0 || self.0[place + 1] != 0
    }

    pub fn subtract(&mut self, other: &Self) {
        for (number, taken) in self.0.iter_mut().zip(other.0) {
            *number -= taken;
        }
    }

    pub fn negated(&self) -> Self {
        Self(self.0.map(|number| -number))
    }

    /// The numbers without the zeros after the last that changes.
    pub fn trimmed(&self) -> &[i64] {
        let changed = self.0.iter().rposition(|number| *number != 0);
        &self.0[..changed.map_or(0, |last| last + 1)]
    }
}

impl Default for Figures {
    fn default() -> Self {
        Self::read(&[])
    }
}

impl Figures {
    pub(super) fn read(row: &[u8]) -> Self {
        let numbers: [u64; NUMBERS] = counts(Some(row));
        let sum = |money: Money| {
            let place = FIRST_SUM + 2 * money.place();
            u128::from(numbers[place]) + (u128::from(numbers[place + 1]) << LOW_BITS)
        };
        Self {
            statuses: std::array::from_fn(|place| numbers[place]),
            unknown: numbers[UNKNOWN],
            fees_known: numbers[FEES_KNOWN],
            money: Money::ALL.map(sum),
            durations: std::array::from_fn(|place| numbers[FIRST_DURATION + place]),
            reasons: std::array::from_fn(|place| numbers[FIRST_REASON + place]),
        }
    }

    /// Transactions of a status.
    pub fn count(&self, status: Status) -> u64 {
        self.statuses[status_place(status)]
    }

    /// All transactions.
    pub fn total(&self) -> u64 {
        self.statuses.iter().sum()
    }

    /// A sum in smallest units of the row's currency.
    pub const fn money(&self, money: Money) -> u128 {
        self.money[money.place()]
    }

    /// Failed transactions, and cancelled ones whose last attempt was declined, by the reason.
    pub fn reasons(&self) -> impl Iterator<Item = (DeclineReason, u64)> {
        let counted = REASONS.into_iter().zip(self.reasons);
        counted.filter(|(_, count)| *count > 0)
    }

    /// Adds the counts of another row. Sums of money are added by [`Self::add_money`].
    pub fn add_counts(&mut self, other: &Self) {
        let add = |to: &mut [u64], numbers: &[u64]| {
            for (sum, number) in to.iter_mut().zip(numbers) {
                *sum += number;
            }
        };
        add(&mut self.statuses, &other.statuses);
        add(&mut self.durations, &other.durations);
        add(&mut self.reasons, &other.reasons);
        self.unknown += other.unknown;
        self.fees_known += other.fees_known;
    }

    /// Adds the sums of a row of the same currency.
    pub fn add_money(&mut self, other: &Self) {
        for (sum, number) in self.money.iter_mut().zip(other.money) {
            *sum += number;
        }
    }
}

const fn status_place(status: Status) -> usize {
    match status {
        Status::Initiated => 0,
        Status::Pending => 1,
        Status::Success => 2,
        Status::Cancelled => 3,
        Status::Failed => 4,
    }
}

const fn reason_place(reason: DeclineReason) -> usize {
    match reason {
        DeclineReason::InsufficientFunds => 0,
        DeclineReason::PayerDeclined => 1,
        DeclineReason::PayerTimeout => 2,
        DeclineReason::PayerBusy => 3,
        DeclineReason::InvalidAccount => 4,
        DeclineReason::LimitExceeded => 5,
        DeclineReason::AmountOutOfRange => 6,
        DeclineReason::Expired => 7,
        DeclineReason::NotPermitted => 8,
        DeclineReason::MerchantFunds => 9,
        DeclineReason::ProviderUnavailable => 10,
        DeclineReason::Misconfigured => 11,
        DeclineReason::Other => 12,
    }
}
