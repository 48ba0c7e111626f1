//! Steps of the world: what each party can do next.

use crate::base::{SECOND, Sum, earlier, long_ago, past_its_end};
use crate::world::{Lie, Scope, Submission, Truth, World};
use switchyard_core::transaction::{Attempt, AttemptState, CancelledBy, Kind, State};

/// A statement of a gateway about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    pub what: What,
    /// Index of the provider's id.
    pub id: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Pending(Shown),
    /// Pending, and a part has been received.
    Part,
    Succeeded(Sum),
    /// `true`: another gateway may try.
    Declined(bool),
    /// The gateway refuses a field of the payer before anything is sent.
    Refused,
    NotSent,
    Unknown,
}

/// Action shown to the payer. The numbers are those of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Nothing = 0,
    Code = 1,
    /// Open a page that cannot be opened.
    UnusablePage = 3,
}

/// A change at the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Receives,
    Loses,
    Pays,
    /// `true`: another gateway may try.
    Declines(bool),
    PaysAgain,
    TakesBack,
}

/// An order of a person, who reads the provider's records and tells the truth. A mistaken person
/// ([`Lie::MistakenPerson`]) is wrong about one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    Check,
    Succeeded,
    /// The person names the attempt whose money settles a held transaction.
    SucceededFor(u8),
    Failed,
    NeverSent,
    CloseCase(u8),
    Cancel,
}

/// Standing of the connections of the plan when an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Able,
    /// All of them have been switched off.
    Off,
}

/// The names in a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The reference, or an answer to a query.
    Reference,
    /// A response to a query that began after the attempt had expired.
    QueryAfterItsEnd,
    /// The provider's id only.
    Id,
    /// The reference of one attempt and the id of this one, which may be another.
    ReferenceAndIdOf(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// With so many connections in the plan.
    Confirm(u8),
    SubmitCode,
    Cancel,
    GiveUp,
    Verify,
    Process,
    OperatorCommand(Ordered),
    /// The time to pay has run out.
    Expire,
    /// A payout has waited for half an hour.
    WaitLong,
    /// The attempt expires, or it is three days old.
    Age(u8),
    /// The time of `wake_at` has come. `0`: a payout's plan has so many connections.
    Wake(u8, Standing),
    /// The process dies and starts again.
    Die,
    /// The call writes its journal entry and sends.
    Send(u8),
    Withhold(u8, Standing),
    /// The submission comes back.
    Return(u8, Said, Standing),
    /// A query or callback brings a statement about an attempt.
    Says(u8, Names, Said, Standing),
    /// The gateway comes back from passing a code on.
    CodeBack(u8, Said, Standing),
    Provider(u8, Turn),
}

impl Step {
    /// Whether it happens without a decision of the payer, the merchant or the operator, and is no
    /// fault of the process. Progress may only rely on these.
    pub const fn is_by_itself(self) -> bool {
        match self {
            Self::Expire
            | Self::WaitLong
            | Self::Age(_)
            | Self::Wake(..)
            | Self::Send(_)
            | Self::Return(..)
            | Self::Says(..)
            | Self::CodeBack(..)
            | Self::Provider(..) => true,
            Self::Confirm(_)
            | Self::SubmitCode
            | Self::Cancel
            | Self::GiveUp
            | Self::Verify
            | Self::Process
            | Self::OperatorCommand(_)
            | Self::Die
            | Self::Withhold(..) => false,
        }
    }
}

/// All steps that `world` can take, in a fixed order.
pub fn steps(world: &World, scope: &Scope, steps: &mut Vec<Step>) {
    steps.clear();
    people(world, scope, steps);
    time(world, scope, steps);
    for number in 0..world.sides.len() {
        gateway(world, scope, number, steps);
        provider(world, scope, number, steps);
    }
}

fn people(world: &World, scope: &Scope, steps: &mut Vec<Step>) {
    let tx = &world.tx;
    match scope.kind {
        Kind::Payment => payer_and_shop(world, scope, steps),
        Kind::Payout => {}
    }
    steps.push(Step::Verify);
    if !scope.operator {
        return;
    }
    steps.extend([Ordered::Check, Ordered::Cancel].map(Step::OperatorCommand));
    if let Some(side) = world.sides.last() {
        let truth = side.truth;
        let on_hold = tx.state == State::OnHold;
        if truth.holds_money() || on_hold {
            steps.push(Step::OperatorCommand(Ordered::Succeeded));
        }
        if on_hold {
            let named = (0..).zip(&world.sides).map(|(number, _)| number);
            steps.extend(named.map(|number| Step::OperatorCommand(Ordered::SucceededFor(number))));
        }
        let number = world.sides.len() - 1;
        let errs =
            scope.lie == Lie::MistakenPerson && world.may_lie(number) && world.may_move(number);
        let gives_back = truth.holds_money() && scope.lie.sum() != Sum::Asked;
        if !world.may_move(number) || gives_back || on_hold || errs {
            steps.push(Step::OperatorCommand(Ordered::Failed));
        }
        if matches!(truth, Truth::NothingSent | Truth::Lost) || errs {
            steps.push(Step::OperatorCommand(Ordered::NeverSent));
        }
    }
    for (number, case) in (0..).zip(&tx.cases) {
        if case.closed.is_none() {
            steps.push(Step::OperatorCommand(Ordered::CloseCase(number)));
        }
    }
}

fn payer_and_shop(world: &World, scope: &Scope, steps: &mut Vec<Step>) {
    let state = &world.tx.state;
    let routes = u8::try_from(scope.connections).unwrap_or(u8::MAX);
    if !state.is_final() {
        steps.extend((1..=routes).map(Step::Confirm));
    }
    steps.push(Step::Cancel);
    steps.push(Step::GiveUp);
    steps.push(Step::Process);
    if scope.codes && *state == State::AwaitingProvider {
        steps.push(Step::SubmitCode);
    }
}

fn time(world: &World, scope: &Scope, steps: &mut Vec<Step>) {
    let tx = &world.tx;
    match &tx.details {
        switchyard_core::transaction::Details::Payment(payment) => {
            if payment.expires_at > crate::base::NOW {
                steps.push(Step::Expire);
            }
        }
        switchyard_core::transaction::Details::Payout(_) => {
            if tx.created_at > earlier() {
                steps.push(Step::WaitLong);
            }
        }
    }
    let waits = matches!(tx.state, State::AwaitingProvider | State::InDoubt);
    let oldest = match (scope.ages, scope.ends) {
        (true, _) => long_ago(),
        (false, true) => past_its_end(),
        (false, false) => earlier(),
    };
    let is_young = |attempt: &Attempt| attempt.resumed_at.unwrap_or(attempt.started_at) > oldest;
    if waits && tx.attempts.last().is_some_and(is_young) {
        steps.push(Step::Age(last(world)));
    }
    match tx.state {
        State::AwaitingDispatch => {
            let routes = u8::try_from(scope.connections).unwrap_or(u8::MAX);
            steps.extend((0..=routes).map(|route| Step::Wake(route, Standing::Able)));
        }
        State::AwaitingGateway => {
            steps.extend([Standing::Able, Standing::Off].map(|standing| Step::Wake(0, standing)));
        }
        State::AwaitingCustomer
        | State::AwaitingProvider
        | State::InDoubt
        | State::OnHold
        | State::Succeeded
        | State::Failed(_)
        | State::Cancelled => steps.push(Step::Wake(0, Standing::Able)),
    }
    let in_flight = world
        .sides
        .iter()
        .any(|side| side.submission.is_in_flight());
    if in_flight && world.deaths < scope.deaths {
        steps.push(Step::Die);
    }
}

fn last(world: &World) -> u8 {
    u8::try_from(world.sides.len())
        .unwrap_or(u8::MAX)
        .wrapping_sub(1)
}

fn gateway(world: &World, scope: &Scope, number: usize, steps: &mut Vec<Step>) {
    let side = &world.sides[number];
    let attempt = &world.tx.attempts[number];
    let at = u8::try_from(number).unwrap_or(u8::MAX);
    let mut said = Vec::new();
    match side.submission {
        Submission::Announced => {
            steps.push(Step::Send(at));
            both(steps, |standing| Step::Withhold(at, standing));
            both(steps, |standing| Step::Return(at, NOT_SENT, standing));
            let refused = Said {
                what: What::Declined(false),
                id: None,
            };
            steps.push(Step::Return(at, refused, Standing::Able));
            let refused = Said {
                what: What::Refused,
                id: None,
            };
            steps.push(Step::Return(at, refused, Standing::Able));
        }
        Submission::Sending => {
            statements(world, scope, number, &mut said);
            said.push(UNKNOWN);
            if side.truth == Truth::Lost {
                said.push(NOT_SENT);
            }
            for said in said.drain(..) {
                with_standing(said, steps, |standing| Step::Return(at, said, standing));
            }
        }
        Submission::DiedUnsent | Submission::DiedSent | Submission::Returned => {}
    }
    statements(world, scope, number, &mut said);
    // An attempt that got this far can be queried at any time.
    if attempt.state != AttemptState::Started {
        said.push(UNKNOWN);
        if side.truth == Truth::Lost || not_found_lie(world, scope, number) {
            said.push(NOT_SENT);
        }
    }
    for said in said {
        each_name(world, scope, number, said, steps);
    }
    if attempt.codes > 0 {
        let mut said = Vec::new();
        statements(world, scope, number, &mut said);
        said.extend([UNKNOWN, NOT_SENT]);
        for said in said {
            with_standing(said, steps, |standing| Step::CodeBack(at, said, standing));
        }
    }
}

/// A statement arrives by a query or a callback, under the names that the scope allows.
fn each_name(world: &World, scope: &Scope, number: usize, said: Said, steps: &mut Vec<Step>) {
    let at = u8::try_from(number).unwrap_or(u8::MAX);
    let mut say = |names| {
        with_standing(said, steps, |standing| {
            Step::Says(at, names, said, standing)
        });
    };
    say(Names::Reference);
    let is_true = world.sides[number].truth == Truth::Received;
    if said.what == What::Pending(Shown::Nothing) && is_true && world.is_past_its_end(number) {
        say(Names::QueryAfterItsEnd);
    }
    if said.what == What::Part && world.is_past_its_end(number) {
        say(Names::QueryAfterItsEnd);
    }
    let by_callback = !matches!(said.what, What::Unknown | What::NotSent);
    match scope.lie {
        Lie::SharedId | Lie::IdOfAnother if by_callback => {
            if let Some(id) = said.id
                && world.named[usize::from(id)] != 0
            {
                say(Names::Id);
            }
        }
        Lie::ReferenceAndIdDisagree if by_callback => {
            for other in (0..).zip(&world.sides).map(|(other, _)| other) {
                if world.named[usize::from(other)] != 0 {
                    say(Names::ReferenceAndIdOf(other));
                }
            }
        }
        _ => {}
    }
}

const NOT_SENT: Said = Said {
    what: What::NotSent,
    id: None,
};
const UNKNOWN: Said = Said {
    what: What::Unknown,
    id: None,
};

fn both(steps: &mut Vec<Step>, step: impl Fn(Standing) -> Step) {
    steps.extend([Standing::Able, Standing::Off].map(step));
}

/// The connections of the plan matter where the next one may take over.
fn with_standing(said: Said, steps: &mut Vec<Step>, step: impl Fn(Standing) -> Step) {
    match said.what {
        What::Declined(true) | What::NotSent => both(steps, step),
        What::Declined(false)
        | What::Refused
        | What::Pending(_)
        | What::Part
        | What::Succeeded(_)
        | What::Unknown => {
            steps.push(step(Standing::Able));
        }
    }
}

fn not_found_lie(world: &World, scope: &Scope, number: usize) -> bool {
    let side = &world.sides[number];
    let is_it = matches!(
        scope.lie,
        Lie::NotFoundThenPaid | Lie::NotFoundThenLess | Lie::NotFoundThenUnreadable
    );
    is_it && world.may_lie(number) && side.truth.may_hold_money()
}

/// The provider's own id of an attempt.
pub fn own_id(scope: &Scope, number: usize) -> u8 {
    match scope.lie {
        Lie::SharedId => 0,
        _ => u8::try_from(number).unwrap_or(u8::MAX),
    }
}

/// Statements about the attempt that the provider has made or can make by now, the lie included.
/// Any of them may arrive at any time, and repeatedly.
fn statements(world: &World, scope: &Scope, number: usize, said: &mut Vec<Said>) {
    said.clear();
    let side = &world.sides[number];
    let own = own_id(scope, number);
    let mut say = |what, id| said.push(Said { what, id: Some(id) });
    let sum = if world.may_lie(number) {
        scope.lie.sum()
    } else {
        Sum::Asked
    };
    // A person has read the provider's records, which are newer.
    let is_settled = world.tx.attempts[number].settled.is_some();
    let is_overtaken = is_settled && world.is_over(scope, number);
    match side.truth {
        Truth::NothingSent | Truth::OnTheWay | Truth::Lost => {}
        Truth::Received if is_overtaken => {}
        Truth::Received => {
            say(What::Pending(Shown::Nothing), own);
            if scope.codes {
                say(What::Pending(Shown::Code), own);
            }
            if scope.pages {
                say(What::Pending(Shown::UnusablePage), own);
            }
        }
        Truth::Paid => {
            if !is_overtaken {
                say(What::Pending(Shown::Nothing), own);
            }
            say(What::Succeeded(sum), own);
        }
        Truth::Declined(soft) => {
            if !is_overtaken {
                say(What::Pending(Shown::Nothing), own);
            }
            say(What::Declined(soft), own);
        }
        Truth::PaidTwice => {
            say(What::Succeeded(sum), own);
            say(What::Succeeded(sum), SECOND);
        }
        Truth::Reversed => {
            say(What::Succeeded(sum), own);
            say(What::Declined(false), own);
        }
    }
    if world.may_lie(number) {
        lies(world, scope, number, said);
    }
}

fn lies(world: &World, scope: &Scope, number: usize, said: &mut Vec<Said>) {
    let truth = world.sides[number].truth;
    let own = own_id(scope, number);
    let id = Some(own);
    match scope.lie {
        Lie::DeclinedThenPaid if truth.may_hold_money() && truth != Truth::OnTheWay => {
            let what = [true, false].map(What::Declined);
            said.extend(what.map(|what| Said { what, id }));
        }
        Lie::AmountChanges if truth == Truth::Paid => {
            let what = [Sum::Less, Sum::More].map(What::Succeeded);
            said.extend(what.map(|what| Said { what, id }));
        }
        Lie::PartWhilePending if truth == Truth::Paid => {
            let what = What::Part;
            said.push(Said { what, id });
        }
        Lie::SuccessOfNothing if truth != Truth::NothingSent && !truth.holds_money() => {
            let what = What::Succeeded(Sum::Asked);
            said.push(Said { what, id });
        }
        Lie::IdOfAnother => {
            let others = (0..world.sides.len()).filter(|other| *other != number);
            let honest = said.clone();
            for other in others {
                let id = Some(own_id(scope, other));
                said.extend(honest.iter().map(|said| Said { id, ..*said }));
            }
        }
        _ => {}
    }
}

fn provider(world: &World, scope: &Scope, number: usize, steps: &mut Vec<Step>) {
    let at = u8::try_from(number).unwrap_or(u8::MAX);
    let told_of_nothing = scope.lie == Lie::SuccessOfNothing
        && world.liar.is_some_and(|liar| usize::from(liar) == number);
    let mut turn = |turn| steps.push(Step::Provider(at, turn));
    match world.sides[number].truth {
        Truth::OnTheWay => {
            turn(Turn::Receives);
            turn(Turn::Loses);
        }
        Truth::Received => {
            let has_ended = world.is_past_its_end(number);
            let pays_late = scope.lie == Lie::PaidAfterItsEnd && world.may_lie(number);
            if !told_of_nothing && (!has_ended || pays_late) {
                turn(Turn::Pays);
            }
            turn(Turn::Declines(false));
            turn(Turn::Declines(true));
        }
        Truth::Paid if world.may_lie(number) => match scope.lie {
            Lie::TwoCharges => turn(Turn::PaysAgain),
            Lie::SuccessThenReversal | Lie::LessThenReversal => turn(Turn::TakesBack),
            _ => {}
        },
        Truth::NothingSent
        | Truth::Lost
        | Truth::Paid
        | Truth::Declined(_)
        | Truth::PaidTwice
        | Truth::Reversed => {}
    }
}

/// Whether the statement is the lie of the scope. After it, only this attempt is lied about.
pub fn is_lie(world: &World, scope: &Scope, number: usize, said: Said) -> bool {
    let truth = world.sides[number].truth;
    let is_false = match said.what {
        What::NotSent => truth.may_hold_money(),
        What::Declined(_) => truth.may_hold_money(),
        What::Succeeded(sum) => {
            !matches!(truth, Truth::Paid | Truth::PaidTwice | Truth::Reversed) || sum != Sum::Asked
        }
        What::Pending(_) | What::Part | What::Refused | What::Unknown => false,
    };
    let foreign_id = said.id.is_some_and(|id| id != own_id(scope, number));
    is_false || (foreign_id && scope.lie == Lie::IdOfAnother)
}

/// Whether the attempt ended before it reached its provider.
pub fn is_unsent(world: &World, number: usize) -> bool {
    let attempt = &world.tx.attempts[number];
    matches!(attempt.state, AttemptState::Started | AttemptState::InDoubt)
}

/// The payer cancels; the operator does it by an order.
pub const PAYER: CancelledBy = CancelledBy::Customer;
