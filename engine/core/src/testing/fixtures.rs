//! A transaction to start from, commands by name, and a world that steps through them.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeMap;
use std::time::Duration;

use ulid::Ulid;
use uuid::Uuid;

use crate::environment::Environment;
use crate::ids::{
    AppId, AttemptId, CaseId, ConnectionId, CustomerId, PaymentId, PayoutId, TransactionId,
};
use crate::money::{Amount, Currency};
use crate::time::Timestamp;
use crate::transaction::*;

pub const START: Timestamp = Timestamp::from_seconds(1_700_000_000);

/// A transaction, the time, and its history.
pub struct World {
    pub tx: Transaction,
    pub now: Timestamp,
    pub events: Vec<Event>,
    pub actions: Vec<Action>,
    /// Current state of connections that were planned for later.
    pub onward: Vec<Onward>,
    pub permit: Permit,
    /// References of the connections at which an attempt may start.
    pub references: Vec<(ConnectionId, Uuid)>,
    /// Number of ids drawn so far.
    drawn: u128,
}

impl World {
    pub fn payment() -> Self {
        Self::payment_with(1)
    }

    pub fn payment_with(attempts_allowed: u8) -> Self {
        let details = Details::Payment(PaymentDetails {
            return_url: "https://shop.example/return".to_owned(),
            methods: Vec::new(),
            restriction: None,
            attempts_allowed,
            expires_at: START.plus(Duration::from_secs(1800)),
        });
        Self::new(
            TransactionId::Payment(PaymentId::new(ulid::Ulid::from_parts(1, 1))),
            details,
        )
    }

    pub fn payout() -> Self {
        let recipient = BTreeMap::from([("msisdn".to_owned(), "+22990000001".to_owned())]);
        let details = Details::Payout(PayoutDetails {
            method: "mtn_bj".to_owned(),
            recipient,
        });
        Self::new(
            TransactionId::Payout(PayoutId::new(ulid::Ulid::from_parts(1, 1))),
            details,
        )
    }

    fn new(id: TransactionId, details: Details) -> Self {
        let new = NewTransaction {
            id,
            app: AppId::new(ulid::Ulid::from_parts(1, 2)),
            environment: Environment::Live,
            amount: amount(2_500),
            description: "Two coffees".to_owned(),
            customer: customer(),
            metadata: BTreeMap::new(),
            details,
            context: ClientContext::default(),
        };
        let (tx, event) = initiate(new, START);
        let actions = actions(&tx, &event);
        Self {
            tx,
            now: START,
            events: vec![event],
            actions,
            onward: Vec::new(),
            permit: Permit::default(),
            references: Vec::new(),
            drawn: 0,
        }
    }

    /// Decides and applies. The events and actions of this command are appended to the world's.
    pub fn apply(&mut self, command: Command) -> Result<usize, Refusal> {
        let context = Context {
            now: self.now,
            attempt: AttemptId::new(self.draw()),
            reference: Uuid::from_u128(self.draw().0),
            case: CaseId::new(self.draw()),
            references: self.references.clone(),
            onward: self.onward.clone(),
            permit: self.permit.clone(),
        };
        let events = decide(&self.tx, command, &context)?;
        let count = events.len();
        for event in events {
            self.tx = evolve(self.tx.clone(), &event, self.now);
            self.actions.extend(actions(&self.tx, &event));
            self.events.push(event);
        }
        Ok(count)
    }

    fn draw(&mut self) -> Ulid {
        self.drawn += 1;
        Ulid::from_parts(self.now.as_millis().unsigned_abs(), self.drawn)
    }

    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus(Duration::from_secs(seconds));
    }

    pub fn current(&self) -> AttemptId {
        self.tx
            .current_attempt()
            .map_or_else(|| AttemptId::new(Ulid::nil()), |attempt| attempt.id)
    }

    pub fn answer(&mut self, outcome: Outcome) -> Result<usize, Refusal> {
        self.apply(Command::Answer {
            attempt: self.current(),
            outcome,
            gateway_state: None,
            asked_at: Some(self.now),
        })
    }

    /// Answer about any attempt, as a callback brings it.
    pub fn answer_about(&mut self, attempt: AttemptId, outcome: Outcome) -> Result<usize, Refusal> {
        self.apply(Command::Answer {
            attempt,
            outcome,
            gateway_state: None,
            asked_at: None,
        })
    }

    pub fn announced(&self) -> Vec<&'static str> {
        let names = self.actions.iter().filter_map(|action| match action {
            Action::Announce(name) => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }
}

pub fn amount(minor: i64) -> Amount {
    Amount::from_minor(minor, Currency::from_code("USD").unwrap())
}

pub fn customer() -> Customer {
    Customer {
        id: CustomerId::new(ulid::Ulid::from_parts(1, 3)),
        first_name: "Awa".to_owned(),
        last_name: "Diop".to_owned(),
        email: "awa@example.com".to_owned(),
        phone: None,
        address: None,
        city: None,
        state: None,
        country_code: None,
        zip_code: None,
        created_at: START,
        updated_at: START,
    }
}

pub fn candidate(number: u128) -> Candidate {
    Candidate {
        connection: ConnectionId::new(ulid::Ulid::from_parts(2, number)),
        gateway: format!("gateway_{number}"),
        gateway_title: format!("Gateway {number}"),
        gateway_hash: "00".repeat(32),
        account_name: "Main".to_owned(),
        ends_after_s: None,
        usual_s: None,
        can_cancel: false,
    }
}

pub fn route(candidates: u128) -> Route {
    Route {
        candidates: (0..candidates).map(candidate).collect(),
        ..Route::default()
    }
}

/// Candidates whose gateways can cancel an attempt.
pub fn can_cancel(candidates: u128) -> Route {
    let mut route = route(candidates);
    for candidate in &mut route.candidates {
        candidate.can_cancel = true;
    }
    route
}

/// The same candidates, with attempts that end by themselves after so many seconds.
pub fn ending(mut route: Route, seconds: u64) -> Route {
    for candidate in &mut route.candidates {
        candidate.ends_after_s = Some(seconds);
    }
    route
}

pub fn confirm(candidates: u128) -> Command {
    confirm_at(route(candidates))
}

pub fn confirm_at(route: Route) -> Command {
    Command::Confirm(Box::new(Confirm {
        price: Price::plain(amount(2_500)),
        method: "mtn_bj".to_owned(),
        country: Some("BJ".to_owned()),
        phone: Some("+22990000001".to_owned()),
        fields: BTreeMap::new(),
        customer: customer(),
        context: ClientContext::default(),
        route,
    }))
}

pub fn succeeded() -> Outcome {
    Outcome::Succeeded {
        provider_id: Some("P1".to_owned()),
        amount: Captured::AsAsked,
        fees: None,
        provider_status: None,
    }
}

pub fn succeeded_with(minor: i64) -> Outcome {
    Outcome::Succeeded {
        provider_id: Some("P1".to_owned()),
        amount: Captured::Named(amount(minor)),
        fees: None,
        provider_status: None,
    }
}

/// A success whose amount cannot be read.
pub fn succeeded_unreadably() -> Outcome {
    Outcome::Succeeded {
        provider_id: Some("P1".to_owned()),
        amount: Captured::Unreadable,
        fees: None,
        provider_status: None,
    }
}

pub fn declined(retryable: bool) -> Outcome {
    Outcome::Declined(Decline {
        reason: DeclineReason::InsufficientFunds,
        retryable,
        provider_id: None,
        provider_code: Some("51".to_owned()),
        provider_message: Some("Not enough money".to_owned()),
        field: None,
    })
}

pub fn not_sent() -> Outcome {
    Outcome::NotSent {
        why: "connection refused".to_owned(),
    }
}

pub fn pending() -> Outcome {
    Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: None,
    }
}

/// Pending, and to be asked about again after so many seconds.
pub fn pending_for(seconds: u64) -> Outcome {
    Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: None,
        poll_after: Some(Duration::from_secs(seconds)),
        provider_status: None,
        received: None,
    }
}

pub fn unknown() -> Outcome {
    Outcome::unknown("time-out after the request was written")
}

pub fn by_operator(order: OperatorCommand) -> Command {
    Command::ByOperator(Box::new(ByOperator {
        operator: operator(),
        note: Some("seen in the provider's books".to_owned()),
        order,
    }))
}

pub fn operator() -> Operator {
    Operator {
        name: "Ada".to_owned(),
        token: None,
    }
}

pub fn resolve(attempt: Option<AttemptId>, verdict: Verdict) -> Command {
    by_operator(OperatorCommand::Resolve(Resolution { attempt, verdict }))
}

pub fn verdict(minor: Option<i64>, provider_id: Option<&str>) -> Verdict {
    Verdict::Succeeded {
        amount: minor.map(amount),
        provider_id: provider_id.map(str::to_owned),
    }
}

/// A decline of the money that was reported under `id`.
pub fn reversed(id: &str) -> Outcome {
    match declined(false) {
        Outcome::Declined(decline) => Outcome::Declined(Decline {
            provider_id: Some(id.to_owned()),
            ..decline
        }),
        other => other,
    }
}

/// A success of which the provider names the sum and no id.
pub fn without_id(minor: i64) -> Outcome {
    Outcome::Succeeded {
        provider_id: None,
        amount: Captured::Named(amount(minor)),
        fees: None,
        provider_status: None,
    }
}

/// Reason and sum of each open case.
pub fn open_cases(world: &World) -> Vec<(CaseReason, Option<i64>)> {
    let open = world.tx.cases.iter().filter(|case| case.closed.is_none());
    open.map(|case| (case.reason, case.amount.map(|amount| amount.minor())))
        .collect()
}

/// A payment whose first attempt was declined and whose second one was answered.
pub fn second_attempt(outcome: Outcome) -> (World, [AttemptId; 2]) {
    let mut world = World::payment_with(3);
    world.apply(confirm(1)).unwrap();
    let first = world.current();
    world.answer(declined(false)).unwrap();
    world.wait(1);
    world.apply(confirm(1)).unwrap();
    world.answer(outcome).unwrap();
    let second = world.current();
    world.wait(1);
    (world, [first, second])
}

/// Reports about an attempt, a second after each other.
pub fn tell(world: &mut World, attempt: AttemptId, reports: impl IntoIterator<Item = Outcome>) {
    for report in reports {
        world.answer_about(attempt, report).unwrap();
        world.wait(1);
    }
}

/// The provider has it, and its page cannot be opened.
pub fn unusable_page() -> Outcome {
    Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: Some(PayerAction::UnusablePage {
            why: "its address begins with http://".to_owned(),
        }),
        poll_after: None,
        provider_status: None,
        received: None,
    }
}

/// The provider wants a code; `how` tells what it thinks of the last one.
pub fn enter_code(how: &str) -> Outcome {
    Outcome::Pending {
        provider_id: Some("P1".to_owned()),
        payer_action: Some(PayerAction::EnterCode {
            label: "Code".to_owned(),
            length: Some(4),
            how: vec![LocalizedText {
                lang: "en".to_owned(),
                text: how.to_owned(),
            }],
        }),
        poll_after: None,
        provider_status: None,
        received: None,
    }
}

/// Money of any currency, reported under an id.
pub fn reported(id: &str, amount: Amount) -> Outcome {
    Outcome::Succeeded {
        provider_id: Some(id.to_owned()),
        amount: Captured::Named(amount),
        fees: None,
        provider_status: None,
    }
}

/// Dollars, reported under an id.
pub fn usd(id: &str, minor: i64) -> Outcome {
    reported(id, amount(minor))
}

/// The provider has it, and has received `minor` of it.
pub fn part(minor: i64) -> Outcome {
    part_under("P1", minor)
}

/// The same under another id.
pub fn part_under(id: &str, minor: i64) -> Outcome {
    Outcome::Pending {
        provider_id: Some(id.to_owned()),
        payer_action: None,
        poll_after: None,
        provider_status: None,
        received: Some(amount(minor)),
    }
}

/// Pending without an id, with an action of the payer.
pub fn pending_with(action: Option<PayerAction>) -> Outcome {
    pending_in_words(None, action)
}

/// Pending without an id, with the provider's status.
pub fn pending_in_words(status: Option<&str>, action: Option<PayerAction>) -> Outcome {
    Outcome::Pending {
        provider_id: None,
        payer_action: action,
        poll_after: None,
        provider_status: status.map(str::to_owned),
        received: None,
    }
}

/// The order of an operator that ends the open attempt as failed.
pub fn resolve_failed() -> Command {
    resolve(None, Verdict::Failed { message: None })
}

/// Message of the failure of a transaction.
pub fn failure_message(world: &World) -> &str {
    match &world.tx.state {
        State::Failed(failure) => &failure.message,
        state => panic!("{state:?}"),
    }
}

pub fn current_attempt(world: &World) -> &Attempt {
    world.tx.current_attempt().unwrap()
}

pub fn count_events(world: &World, is_one: impl Fn(&Event) -> bool) -> usize {
    world.events.iter().filter(|event| is_one(event)).count()
}

/// A connection that may have an unknown attempt.
pub fn unasked(number: u128) -> Unasked {
    Unasked {
        candidate: candidate(number),
        reference: Uuid::from_u128(100 + number),
        method: "mtn_bj".to_owned(),
        can_be_asked: true,
    }
}

pub fn ask_first(numbers: impl IntoIterator<Item = u128>) -> Permit {
    Permit {
        unasked: numbers.into_iter().map(unasked).collect(),
        ..Permit::default()
    }
}

pub fn reasons(world: &World) -> Vec<CaseReason> {
    world.tx.cases.iter().map(|case| case.reason).collect()
}

pub fn call_offs(world: &World) -> usize {
    let is_call_off = |action: &&Action| matches!(action, Action::CancelRequest { .. });
    world.actions.iter().filter(is_call_off).count()
}
