//! Everything around the core: the providers, the calls in flight, the journal, and the statements
//! that the engine has received.

use crate::base::{ENDS, Sum, created, past_its_end};
use switchyard_core::transaction::{Kind, Transaction};

/// One wrong statement that a provider may make, about one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// All providers tell the truth.
    Honest,
    /// "I do not know this reference" counts as final, and then the request is paid.
    NotFoundThenPaid,
    /// The same, and then paid in part.
    NotFoundThenLess,
    /// The same, and then paid, with a report that names no readable amount.
    NotFoundThenUnreadable,
    /// Declined, and then paid.
    DeclinedThenPaid,
    /// The ids of two attempts are the same. Their statements are true.
    SharedId,
    /// A statement about one attempt carries the id of another one.
    IdOfAnother,
    /// A callback names one attempt by reference and another one by id.
    ReferenceAndIdDisagree,
    /// Paid, and later taken back.
    SuccessThenReversal,
    LessMoney,
    /// Paid, and the report names no readable amount.
    UnreadableAmount,
    /// Paid in part, and later taken back.
    LessThenReversal,
    MoreMoney,
    OtherCurrency,
    /// Reports several amounts for one charge.
    AmountChanges,
    /// A success that never happened.
    SuccessOfNothing,
    /// Two charges for one request, under two ids.
    TwoCharges,
    /// Paid after the time at which the attempt expires.
    PaidAfterItsEnd,
    /// Paid in part, and pending until the rest comes.
    PartWhilePending,
    /// A person calls an attempt failed or never sent that its provider has, or will have.
    MistakenPerson,
}

impl Lie {
    pub const ALL: [Self; 20] = [
        Self::Honest,
        Self::NotFoundThenPaid,
        Self::NotFoundThenLess,
        Self::NotFoundThenUnreadable,
        Self::DeclinedThenPaid,
        Self::SharedId,
        Self::IdOfAnother,
        Self::ReferenceAndIdDisagree,
        Self::SuccessThenReversal,
        Self::LessMoney,
        Self::UnreadableAmount,
        Self::LessThenReversal,
        Self::MoreMoney,
        Self::OtherCurrency,
        Self::AmountChanges,
        Self::SuccessOfNothing,
        Self::TwoCharges,
        Self::PaidAfterItsEnd,
        Self::PartWhilePending,
        Self::MistakenPerson,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Honest => "honest",
            Self::NotFoundThenPaid => "not-found-then-paid",
            Self::NotFoundThenLess => "not-found-then-less-money",
            Self::NotFoundThenUnreadable => "not-found-then-unreadable-amount",
            Self::DeclinedThenPaid => "declined-then-paid",
            Self::SharedId => "shared-id",
            Self::IdOfAnother => "id-of-another",
            Self::ReferenceAndIdDisagree => "reference-and-id-disagree",
            Self::SuccessThenReversal => "success-then-reversal",
            Self::LessMoney => "less-money",
            Self::UnreadableAmount => "unreadable-amount",
            Self::LessThenReversal => "less-money-then-reversal",
            Self::MoreMoney => "more-money",
            Self::OtherCurrency => "other-currency",
            Self::AmountChanges => "amount-changes",
            Self::SuccessOfNothing => "success-of-nothing",
            Self::TwoCharges => "two-charges",
            Self::PaidAfterItsEnd => "paid-after-its-end",
            Self::PartWhilePending => "part-while-pending",
            Self::MistakenPerson => "mistaken-person",
        }
    }

    /// Whether every statement is true. Then the promises hold in the provider's records as well.
    pub const fn is_honest(self) -> bool {
        matches!(self, Self::Honest | Self::SharedId)
    }

    /// Whether it shows at attempts that end by themselves.
    pub const fn needs_ends(self) -> bool {
        matches!(self, Self::PaidAfterItsEnd | Self::PartWhilePending)
    }

    /// Whether the provider gives one id to two attempts, or names an attempt by another one's id.
    pub const fn mixes_ids(self) -> bool {
        matches!(
            self,
            Self::SharedId | Self::IdOfAnother | Self::ReferenceAndIdDisagree
        )
    }

    /// The amount that the provider moves.
    pub const fn sum(self) -> Sum {
        match self {
            Self::LessMoney
            | Self::LessThenReversal
            | Self::NotFoundThenLess
            | Self::PartWhilePending => Sum::Less,
            Self::UnreadableAmount | Self::NotFoundThenUnreadable => Sum::Unreadable,
            Self::MoreMoney => Sum::More,
            Self::OtherCurrency => Sum::Foreign,
            Self::Honest
            | Self::NotFoundThenPaid
            | Self::DeclinedThenPaid
            | Self::SharedId
            | Self::IdOfAnother
            | Self::ReferenceAndIdDisagree
            | Self::SuccessThenReversal
            | Self::AmountChanges
            | Self::SuccessOfNothing
            | Self::TwoCharges
            | Self::PaidAfterItsEnd
            | Self::MistakenPerson => Sum::Asked,
        }
    }
}

/// Which part of all histories is explored.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    pub kind: Kind,
    pub lie: Lie,
    /// Histories end where another attempt begins.
    pub attempts: usize,
    pub connections: usize,
    /// How often the process may die.
    pub deaths: u8,
    /// Whether a person settles attempts and closes cases.
    pub operator: bool,
    /// Whether providers ask for codes.
    pub codes: bool,
    /// Whether providers name pages that cannot be opened.
    pub pages: bool,
    /// Whether gateways can cancel an attempt.
    pub call_off: bool,
    /// Whether attempts end by themselves.
    pub ends: bool,
    /// Whether three days may pass without an answer.
    pub ages: bool,
    /// Whether facts that can never matter again are left out: see [`crate::reduce`].
    pub reduced: bool,
}

impl Scope {
    pub fn name(&self) -> String {
        let mut name = format!("{} {}", self.kind.as_str(), self.lie.name());
        for (part, is_in) in [
            ("operator", self.operator),
            ("codes", self.codes),
            ("pages", self.pages),
            ("call-off", self.call_off),
            ("ends", self.ends),
            ("ages", self.ages),
        ] {
            if is_in {
                name.push_str(" +");
                name.push_str(part);
            }
        }
        name
    }
}

/// Progress of the submission of an attempt, in this process and in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Submission {
    /// Committed; its call has not begun to send.
    Announced,
    /// The journal says that something may have left. The call is in flight.
    Sending,
    /// The process died before anything was sent.
    DiedUnsent,
    /// The process died after the journal's entry, with or without an answer in it.
    DiedSent,
    /// The call came back.
    Returned,
}

impl Submission {
    pub const fn is_in_flight(self) -> bool {
        matches!(self, Self::Announced | Self::Sending)
    }
}

/// State of the request at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// No byte has left for it.
    NothingSent,
    /// The request is in the network.
    OnTheWay,
    /// The request will never arrive.
    Lost,
    Received,
    Paid,
    /// `true`: another gateway may try.
    Declined(bool),
    /// Paid twice for one request.
    PaidTwice,
    /// Paid and given back.
    Reversed,
}

impl Truth {
    pub const fn holds_money(self) -> bool {
        matches!(self, Self::Paid | Self::PaidTwice)
    }

    /// Whether money has moved or may yet move.
    pub const fn may_hold_money(self) -> bool {
        match self {
            Self::OnTheWay | Self::Received | Self::Paid | Self::PaidTwice => true,
            Self::NothingSent | Self::Lost | Self::Declined(_) | Self::Reversed => false,
        }
    }
}

/// One attempt, outside the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    pub submission: Submission,
    pub truth: Truth,
    /// Reports of money that reached the engine: a bit for each pair of amount and id.
    pub successes: u32,
    /// A report that a part has been received reached the engine.
    pub part: bool,
    /// A decline that reached the engine.
    pub declined: bool,
    /// The engine has learned from a provider, the journal or a person that this attempt moves no
    /// money.
    pub closed: bool,
}

impl Side {
    pub const NEW: Self = Self {
        submission: Submission::Announced,
        truth: Truth::NothingSent,
        successes: 0,
        part: false,
        declined: false,
        closed: false,
    };
}

/// A transaction and everything around it.
#[derive(Clone, Debug)]
pub struct World {
    pub tx: Transaction,
    pub sides: Vec<Side>,
    /// The attempt about which the one wrong statement was made.
    pub liar: Option<u8>,
    pub deaths: u8,
    /// The attempts that each id of [`crate::base::IDS`] finds: a bit for each.
    pub named: [u8; 4],
}

impl World {
    pub fn new(scope: &Scope) -> Self {
        let allowed = u8::try_from(scope.attempts).unwrap_or(u8::MAX).max(2);
        Self {
            tx: created(scope.kind, allowed),
            sides: Vec::new(),
            liar: None,
            deaths: 0,
            named: [0; 4],
        }
    }

    /// Whether `attempt` has expired, so that no money can move for it.
    pub fn is_past_its_end(&self, attempt: usize) -> bool {
        let attempt = &self.tx.attempts[attempt];
        let ends = crate::base::connection_code(attempt.candidate.connection) & ENDS != 0;
        ends && attempt.resumed_at.unwrap_or(attempt.started_at) <= past_its_end()
    }

    /// Whether money has moved for `attempt` or may yet move.
    pub fn may_move(&self, attempt: usize) -> bool {
        let truth = self.sides[attempt].truth;
        match self.is_past_its_end(attempt) {
            true => truth.holds_money(),
            false => truth.may_hold_money(),
        }
    }

    /// Whether a person who calls `attempt` failed or never sent is right and stays right.
    pub fn is_over(&self, scope: &Scope, attempt: usize) -> bool {
        let Side {
            submission, truth, ..
        } = self.sides[attempt];
        let moves_on = match truth {
            Truth::NothingSent => submission.is_in_flight(),
            Truth::OnTheWay | Truth::Received => !self.is_past_its_end(attempt),
            Truth::Lost | Truth::Paid | Truth::Declined(_) | Truth::PaidTwice | Truth::Reversed => {
                false
            }
        };
        let may_err = scope.lie == Lie::MistakenPerson && self.may_lie(attempt);
        !(moves_on || may_err)
    }

    /// Whether the lie may concern `attempt`: it concerns one attempt only.
    pub fn may_lie(&self, attempt: usize) -> bool {
        self.liar.is_none_or(|liar| usize::from(liar) == attempt)
    }
}
