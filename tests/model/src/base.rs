//! Fixed parts of a modelled transaction: ids, amounts, times, names.
//!
//! Time is coarse. The present is always [`NOW`]; a deadline has passed or has not. A time that no
//! rule compares with the present is a constant.

use std::collections::BTreeMap;
use std::time::Duration;

use ulid::Ulid;
use uuid::Uuid;

use switchyard_core::environment::Environment;
use switchyard_core::ids::{
    AppId, AttemptId, CaseId, ConnectionId, CustomerId, PaymentId, PayoutId, TransactionId,
};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    Candidate, Captured, ClientContext, Customer, Details, Kind, NewTransaction, PaymentDetails,
    PayoutDetails, Transaction, initiate,
};

pub const NOW: Timestamp = Timestamp::from_seconds(1_700_000_000);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Later than any query interval, and younger than a case about a missing answer.
pub fn earlier() -> Timestamp {
    NOW.minus(2 * HOUR)
}

/// Older than the three days after which a person has to look.
pub fn long_ago() -> Timestamp {
    NOW.minus(4 * DAY)
}

/// Past the end of an attempt that expires.
pub fn past_its_end() -> Timestamp {
    NOW.minus(2 * DAY)
}

pub fn just_now() -> Timestamp {
    NOW.minus(Duration::from_secs(60))
}

pub fn soon() -> Timestamp {
    NOW.plus(HOUR)
}

/// The id of attempt number `number`, counted from 0.
pub fn attempt_id(number: usize) -> AttemptId {
    AttemptId::new(Ulid::from_parts(3, number as u128))
}

pub fn reference(number: usize) -> Uuid {
    Uuid::from_u128(number as u128 + 1)
}

/// The number of the attempt with this reference.
pub fn attempt_of(reference: Uuid) -> usize {
    usize::try_from(reference.as_u128())
        .unwrap_or(usize::MAX)
        .wrapping_sub(1)
}

pub fn case_id(number: usize) -> CaseId {
    CaseId::new(Ulid::from_parts(4, number as u128))
}

pub fn connection(number: usize) -> ConnectionId {
    ConnectionId::new(Ulid::from_parts(2, number as u128))
}

/// The number of a connection and what its gateway can do: the lowest two bits are the number.
pub fn connection_code(id: ConnectionId) -> u8 {
    u8::try_from(id.ulid().random()).unwrap_or(u8::MAX)
}

/// Bit of a connection whose gateway can cancel an attempt.
pub const CANCELS: u8 = 4;
/// Bit of a connection whose attempts end by themselves.
pub const ENDS: u8 = 8;

pub fn candidate(code: u8) -> Candidate {
    Candidate {
        connection: connection(code.into()),
        ends_after_s: (code & ENDS != 0).then_some(24 * 60 * 60),
        usual_s: None,
        can_cancel: code & CANCELS != 0,
        gateway: String::new(),
        gateway_title: String::new(),
        gateway_hash: String::new(),
        account_name: String::new(),
    }
}

/// An amount that a provider reports, compared with the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sum {
    Asked,
    Less,
    More,
    /// As many units of another currency.
    Foreign,
    /// All of it moves, and the report names no readable amount.
    Unreadable,
}

impl Sum {
    pub const NAMED: [Self; 4] = [Self::Asked, Self::Less, Self::More, Self::Foreign];
    pub const ALL: [Self; 5] = [
        Self::Asked,
        Self::Less,
        Self::More,
        Self::Foreign,
        Self::Unreadable,
    ];

    /// The amount that moves.
    pub fn amount(self) -> Amount {
        let of = |minor, code| {
            Currency::from_code(code).map(|currency| Amount::from_minor(minor, currency))
        };
        let amount = match self {
            Self::Asked | Self::Unreadable => of(2_500, "USD"),
            Self::Less => of(1_000, "USD"),
            Self::More => of(3_000, "USD"),
            Self::Foreign => of(2_500, "EUR"),
        };
        amount.expect("the currency is in the list")
    }

    /// The amount as the report names it.
    pub fn captured(self) -> Captured {
        match self {
            Self::Unreadable => Captured::Unreadable,
            named => Captured::Named(named.amount()),
        }
    }

    pub fn of(amount: Amount) -> Self {
        Self::NAMED
            .into_iter()
            .find(|sum| sum.amount() == amount)
            .expect("a modelled amount")
    }

    /// Whether the report proves that the transaction is paid for.
    pub const fn is_enough(self) -> bool {
        matches!(self, Self::Asked | Self::More)
    }
}

/// The provider's ids: one for each attempt, and one more for a second charge.
pub const IDS: [&str; 4] = ["P0", "P1", "P2", "Q"];
/// Index of the id of a second charge.
pub const SECOND: u8 = 3;

pub fn id_number(id: &str) -> u8 {
    let place = IDS
        .iter()
        .position(|known| *known == id)
        .expect("a modelled id");
    u8::try_from(place).unwrap_or(u8::MAX)
}

pub fn customer() -> Customer {
    Customer {
        id: CustomerId::new(Ulid::from_parts(1, 3)),
        first_name: String::new(),
        last_name: String::new(),
        email: String::new(),
        phone: None,
        address: None,
        city: None,
        state: None,
        country_code: None,
        zip_code: None,
        created_at: earlier(),
        updated_at: earlier(),
    }
}

/// A transaction that was just created. `attempts_allowed` counts for payments.
pub fn created(kind: Kind, attempts_allowed: u8) -> Transaction {
    let ulid = Ulid::from_parts(1, 1);
    let (id, details) = match kind {
        Kind::Payment => (
            TransactionId::Payment(PaymentId::new(ulid)),
            Details::Payment(PaymentDetails {
                return_url: String::new(),
                methods: Vec::new(),
                restriction: None,
                attempts_allowed,
                expires_at: soon(),
            }),
        ),
        Kind::Payout => (
            TransactionId::Payout(PayoutId::new(ulid)),
            Details::Payout(PayoutDetails {
                method: String::new(),
                recipient: BTreeMap::new(),
            }),
        ),
    };
    let new = NewTransaction {
        id,
        app: AppId::new(Ulid::from_parts(1, 2)),
        environment: Environment::Live,
        amount: Sum::Asked.amount(),
        description: String::new(),
        customer: customer(),
        metadata: BTreeMap::new(),
        details,
        context: ClientContext::default(),
    };
    initiate(new, just_now()).0
}

/// Code of the connection of a candidate. Its other fields follow from it.
pub fn connection_of(candidate: &Candidate) -> u8 {
    let Candidate {
        connection,
        gateway: _,
        gateway_title: _,
        gateway_hash: _,
        account_name: _,
        ends_after_s: _,
        usual_s: _,
        can_cancel: _,
    } = candidate;
    connection_code(*connection)
}
