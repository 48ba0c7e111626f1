//! State key: the bytes that tell two worlds apart, and the world that they stand for.
//!
//! Each struct is taken apart field by field. A new field does not compile until it is decided
//! whether it counts. A field that no rule reads is left out: it is constant after decoding.

use crate::base::{
    IDS, NOW, Sum, attempt_id, attempt_of, candidate, case_id, connection_of, earlier, id_number,
    just_now, long_ago, past_its_end, reference, soon,
};
use crate::codes::{
    REASONS, SUBMISSIONS, TRUTHS, decoded_ids, decoded_resumed, decoded_sums, ids_code,
    reason_code, resumed_code, submission_code, sums_code, truth_code,
};
use crate::world::{Side, World};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    AfterCallOff, Attempt, AttemptState, CancelRequest, CancelledBy, Case, Charge, Closed,
    Decision, Decline, DeclineReason, Details, Failure, Operator, PayerAction, PaymentDetails,
    PayoutDetails, State, Transaction,
};

/// Writes the key of `world` into `key`.
pub fn encode(world: &World, key: &mut Vec<u8>) {
    key.clear();
    let World {
        tx,
        sides,
        liar,
        deaths,
        named,
    } = world;
    encode_transaction(tx, key);
    for side in sides {
        let Side {
            submission,
            truth,
            successes,
            part,
            declined,
            closed,
        } = *side;
        key.push(submission_code(submission));
        key.push(truth_code(truth));
        key.extend(successes.to_le_bytes());
        key.push(flags([declined, closed, part]));
    }
    key.extend([liar.map_or(0, |liar| liar + 1), *deaths]);
    key.extend(named);
}

/// The part of the key that is the transaction.
pub fn encode_transaction(tx: &Transaction, key: &mut Vec<u8>) {
    let Transaction {
        id: _,
        version: _,
        app: _,
        environment: _,
        amount: _,
        description: _,
        customer: _,
        metadata: _,
        details,
        context: _,
        state,
        attempts,
        cases,
        created_at,
        updated_at: _,
        pending_at,
        success_at,
        failed_at,
        cancelled_at,
        processed_at,
    } = tx;
    let expired = match details {
        Details::Payment(PaymentDetails {
            return_url: _,
            methods: _,
            restriction: _,
            attempts_allowed: _,
            expires_at,
        }) => *expires_at <= NOW,
        Details::Payout(PayoutDetails {
            method: _,
            recipient: _,
        }) => false,
    };
    key.push(state_code(state));
    key.push(flags([
        expired,
        is_old(*created_at),
        pending_at.is_some(),
        success_at.is_some(),
        failed_at.is_some(),
        cancelled_at.is_some(),
        processed_at.is_some(),
    ]));
    key.push(small(attempts.len()));
    key.push(small(cases.len()));
    for attempt in attempts {
        encode_attempt(attempt, key);
    }
    for case in cases {
        encode_case(case, key);
    }
}

fn is_old(created_at: Timestamp) -> bool {
    created_at <= earlier()
}

fn encode_attempt(attempt: &Attempt, key: &mut Vec<u8>) {
    let Attempt {
        id: _,
        reference: _,
        candidate,
        follows,
        presumed: _,
        method: _,
        country: _,
        phone: _,
        fields: _,
        amount: _,
        conversion: _,
        state,
        decision: _,
        started_at,
        resumed_at,
        ended_at,
        provider_id,
        provider_status: _,
        payer_action,
        payer_fee: _,
        decline,
        why: _,
        captured,
        received,
        fees: _,
        // Only a report of zero and an older decline read it, and no step makes either.
        money_reported_at: _,
        charges,
        further_ids,
        queries: _,
        last_query_at: _,
        next_query_at,
        resumed,
        cut_off,
        codes,
        code_away_since,
        call_off,
        settled,
        gateway_state: _,
        remaining,
    } = attempt;
    key.push(connection_of(candidate));
    key.push(attempt_code(*state));
    key.push(flags([
        follows.is_some(),
        *started_at <= past_its_end(),
        *started_at <= long_ago(),
        ended_at.is_some(),
        next_query_at.is_some(),
        *cut_off,
        code_away_since.is_some(),
        decline.as_ref().is_some_and(names_field),
    ]));
    // An order to resolve makes a decline doubtful. After *not sent* it changes no later decision,
    // and restored stores are outside this model.
    let is_doubtful = settled.is_some() && *state == AttemptState::Declined;
    key.push(u8::from(is_doubtful));
    key.push(provider_id.as_deref().map_or(0, |id| id_number(id) + 1));
    key.push(payer_action.as_ref().map_or(0, action_code));
    for amount in [captured, received] {
        key.push(amount.map_or(0, |amount| Sum::of(amount) as u8 + 1));
    }
    write_charges(key, charges);
    key.push(ids_code(further_ids));
    key.push(small(*resumed as usize));
    key.push(resumed_code(*resumed_at));
    key.push(codes_code(*codes));
    key.push(call_off.map_or(0, call_off_code));
    key.push(small(remaining.len()));
    key.extend(remaining.iter().map(connection_of));
}

/// Of a decline only this counts: it uses up none of the payer's attempts.
const fn names_field(decline: &Decline) -> bool {
    let Decline {
        reason: _,
        retryable: _,
        provider_id: _,
        provider_code: _,
        provider_message: _,
        field,
    } = decline;
    field.is_some()
}

fn encode_case(case: &Case, key: &mut Vec<u8>) {
    let Case {
        id: _,
        opened_at: _,
        reason,
        reference,
        detail: _,
        amount,
        provider_id,
        closed,
    } = case;
    key.push(amount.map_or(0, |amount| Sum::of(amount) as u8 + 1));
    key.push(provider_id.as_deref().map_or(0, |id| id_number(id) + 1));
    key.push(reason_code(*reason));
    key.push(small(attempt_of(*reference)));
    key.push(u8::from(closed.is_some()));
}

/// The world that `key` stands for. `template`: the world at the beginning.
pub fn decode(key: &[u8], template: &World) -> World {
    let mut read = Reader(key);
    let tx = decode_transaction(&mut read, &template.tx);
    let mut sides = Vec::with_capacity(tx.attempts.len() + 1);
    for _ in 0..tx.attempts.len() {
        let submission = SUBMISSIONS[usize::from(read.byte())];
        let truth = TRUTHS[usize::from(read.byte())];
        let successes = u32::from_le_bytes([read.byte(), read.byte(), read.byte(), read.byte()]);
        let [declined, closed, part, ..] = read.flags();
        sides.push(Side {
            submission,
            truth,
            successes,
            part,
            declined,
            closed,
        });
    }
    World {
        tx,
        sides,
        liar: read.byte().checked_sub(1),
        deaths: read.byte(),
        named: std::array::from_fn(|_| read.byte()),
    }
}

fn decode_transaction(read: &mut Reader<'_>, template: &Transaction) -> Transaction {
    let state = decoded_state(read.byte());
    let [
        expired,
        old,
        pending,
        success,
        failed,
        cancelled,
        processed,
        _,
    ] = read.flags();
    let (attempts, cases) = (read.byte(), read.byte());
    let mut tx = template.clone();
    tx.state = state;
    if let Details::Payment(payment) = &mut tx.details {
        payment.expires_at = if expired { earlier() } else { soon() };
    }
    tx.created_at = if old { earlier() } else { just_now() };
    tx.updated_at = earlier();
    let at = |is_set: bool| is_set.then(earlier);
    tx.pending_at = at(pending);
    tx.success_at = at(success);
    tx.failed_at = at(failed);
    tx.cancelled_at = at(cancelled);
    tx.processed_at = at(processed);
    tx.attempts = Vec::with_capacity(usize::from(attempts) + 1);
    for number in 0..usize::from(attempts) {
        tx.attempts.push(decode_attempt(read, number));
    }
    for number in 0..usize::from(cases) {
        tx.cases.push(decode_case(read, number));
    }
    tx
}

fn decode_attempt(read: &mut Reader<'_>, number: usize) -> Attempt {
    let connection = read.byte();
    let state = ATTEMPT_STATES[usize::from(read.byte())];
    let [
        follows,
        past_end,
        aged,
        ended,
        planned,
        cut_off,
        code_away,
        refused,
    ] = read.flags();
    let is_settled = read.byte() == 1;
    let provider_id = read.byte().checked_sub(1);
    let payer_action = decoded_action(read.byte());
    let mut sum = || {
        let sum = read.byte().checked_sub(1);
        sum.map(|sum| Sum::NAMED[usize::from(sum)].amount())
    };
    let (captured, received) = (sum(), sum());
    let charges: Vec<_> = (0..read.byte()).map(|_| read_charge(read)).collect();
    let further_ids = decoded_ids(read.byte());
    let [resumed, resumed_at, codes, call_off] = [(); 4].map(|()| read.byte());
    let remaining = (0..read.byte()).map(|_| candidate(read.byte()));
    let at = |is_set: bool| is_set.then(earlier);
    Attempt {
        remaining: remaining.collect(),
        id: attempt_id(number),
        reference: reference(number),
        candidate: candidate(connection),
        follows: follows.then(|| attempt_id(number.wrapping_sub(1))),
        settled: is_settled.then(String::new),
        presumed: false,
        method: String::new(),
        country: None,
        phone: None,
        fields: std::collections::BTreeMap::new(),
        amount: Sum::Asked.amount(),
        conversion: None,
        state,
        decision: Decision::default(),
        started_at: match (past_end, aged) {
            (_, true) => long_ago(),
            (true, false) => past_its_end(),
            (false, false) => earlier(),
        },
        resumed_at: decoded_resumed(resumed_at),
        ended_at: at(ended),
        provider_id: provider_id.map(|id| IDS[usize::from(id)].to_owned()),
        provider_status: None,
        payer_action,
        payer_fee: None,
        decline: refused.then(refused_field),
        why: None,
        captured,
        received,
        fees: None,
        money_reported_at: None,
        charges,
        further_ids,
        queries: 0,
        last_query_at: None,
        next_query_at: at(planned),
        resumed: u32::from(resumed),
        cut_off,
        codes: u32::from(codes),
        code_away_since: at(code_away),
        call_off: decoded_call_off(call_off),
        gateway_state: serde_json::Value::Null,
    }
}

fn write_charges(key: &mut Vec<u8>, charges: &[Charge]) {
    key.push(small(charges.len()));
    for charge in charges {
        write_charge(key, charge);
    }
}

fn write_charge(key: &mut Vec<u8>, charge: &Charge) {
    let Charge {
        id,
        amount,
        is_part,
        is_recorded,
        is_unclear,
        contradicting,
        decided,
        replaced,
        replaced_parts,
        is_taken_back,
    } = charge;
    key.push(id.as_deref().map_or(0, |id| id_number(id) + 1));
    key.push(amount.map_or(0, |sum| Sum::of(sum) as u8 + 1));
    key.extend([contradicting, decided, replaced, replaced_parts].map(|sums| sums_code(sums)));
    let facts = [is_part, is_recorded, is_unclear, is_taken_back];
    key.push(flags(facts.map(|is_so| *is_so)));
}

fn read_charge(read: &mut Reader<'_>) -> Charge {
    let [id, amount] = [0; 2].map(|_| read.byte().checked_sub(1));
    let sums = [0; 4].map(|_| decoded_sums(read.byte()));
    let [contradicting, decided, replaced, replaced_parts] = sums;
    let [is_part, is_recorded, is_unclear, is_taken_back, ..] = read.flags();
    let sum = |place: u8| Sum::NAMED[usize::from(place)].amount();
    Charge {
        id: id.map(|id| IDS[usize::from(id)].to_owned()),
        amount: amount.map(sum),
        is_part,
        is_recorded,
        is_unclear,
        contradicting,
        decided,
        replaced,
        replaced_parts,
        is_taken_back,
    }
}

/// A decline that names a field of the payer.
pub fn refused_field() -> Decline {
    Decline {
        reason: DeclineReason::Other,
        retryable: false,
        provider_id: None,
        provider_code: None,
        provider_message: None,
        field: Some(String::new()),
    }
}

fn decode_case(read: &mut Reader<'_>, number: usize) -> Case {
    let amount = read.byte().checked_sub(1);
    let provider_id = read.byte().checked_sub(1);
    let reason = REASONS[usize::from(read.byte())];
    let attempt = usize::from(read.byte());
    let is_closed = read.byte() != 0;
    Case {
        id: case_id(number),
        opened_at: earlier(),
        reason,
        reference: reference(attempt),
        detail: String::new(),
        amount: amount.map(|sum| Sum::NAMED[usize::from(sum)].amount()),
        provider_id: provider_id.map(|id| IDS[usize::from(id)].to_owned()),
        closed: is_closed.then(|| Closed {
            at: earlier(),
            by: Operator {
                name: String::new(),
                token: None,
            },
            note: None,
        }),
    }
}

struct Reader<'k>(&'k [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().expect("a whole key");
        self.0 = rest;
        *first
    }

    fn flags(&mut self) -> [bool; 8] {
        let bits = self.byte();
        std::array::from_fn(|place| bits >> place & 1 == 1)
    }
}

fn flags<const N: usize>(flags: [bool; N]) -> u8 {
    let bits = flags.iter().enumerate();
    bits.fold(0, |bits, (place, is_set)| bits | u8::from(*is_set) << place)
}

fn small(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// The first code counts as the fourth: five are allowed, and the ones between are alike.
fn codes_code(codes: u32) -> u8 {
    match codes {
        0 => 0,
        1..=4 => 4,
        _ => 5,
    }
}

const fn state_code(state: &State) -> u8 {
    match state {
        State::AwaitingCustomer => 0,
        State::AwaitingDispatch => 1,
        State::AwaitingGateway => 2,
        State::AwaitingProvider => 3,
        State::InDoubt => 4,
        State::Succeeded => 5,
        State::Failed(Failure {
            reason: _,
            message: _,
        }) => 6,
        State::Cancelled => 7,
        State::OnHold => 8,
    }
}

fn decoded_state(code: u8) -> State {
    match code {
        0 => State::AwaitingCustomer,
        1 => State::AwaitingDispatch,
        2 => State::AwaitingGateway,
        3 => State::AwaitingProvider,
        4 => State::InDoubt,
        5 => State::Succeeded,
        6 => State::Failed(Failure {
            reason: DeclineReason::Other,
            message: String::new(),
        }),
        7 => State::Cancelled,
        _ => State::OnHold,
    }
}

const fn attempt_code(state: AttemptState) -> u8 {
    match state {
        AttemptState::Started => 0,
        AttemptState::Pending => 1,
        AttemptState::InDoubt => 2,
        AttemptState::Succeeded => 3,
        AttemptState::Declined => 4,
        AttemptState::NotSent => 5,
    }
}

const ATTEMPT_STATES: [AttemptState; 6] = [
    AttemptState::Started,
    AttemptState::Pending,
    AttemptState::InDoubt,
    AttemptState::Succeeded,
    AttemptState::Declined,
    AttemptState::NotSent,
];

const fn action_code(action: &PayerAction) -> u8 {
    match action {
        PayerAction::EnterCode { .. } => 1,
        PayerAction::Redirect { .. }
        | PayerAction::ConfirmOnPhone { .. }
        | PayerAction::Dial { .. }
        | PayerAction::Transfer { .. }
        | PayerAction::ShowQr { .. }
        | PayerAction::SendCrypto { .. } => 2,
        PayerAction::UnusablePage { .. } => 3,
        PayerAction::Wait => 4,
    }
}

/// The action that a code stands for.
pub fn decoded_action(code: u8) -> Option<PayerAction> {
    match code {
        0 => None,
        1 => Some(PayerAction::EnterCode {
            label: String::new(),
            length: None,
            how: Vec::new(),
        }),
        3 => Some(PayerAction::UnusablePage { why: String::new() }),
        4 => Some(PayerAction::Wait),
        _ => Some(PayerAction::Dial {
            ussd: String::new(),
        }),
    }
}

const fn call_off_code(call_off: CancelRequest) -> u8 {
    let CancelRequest {
        by,
        asked_at: _,
        then,
    } = call_off;
    by_code(by)
        + match then {
            AfterCallOff::Cancel => 0,
            AfterCallOff::ChooseAgain => CHOOSES_AGAIN,
        }
}

const CHOOSES_AGAIN: u8 = 8;

fn decoded_call_off(code: u8) -> Option<CancelRequest> {
    let by = decoded_by(code % CHOOSES_AGAIN)?;
    Some(CancelRequest {
        by,
        asked_at: earlier(),
        then: match code < CHOOSES_AGAIN {
            true => AfterCallOff::Cancel,
            false => AfterCallOff::ChooseAgain,
        },
    })
}

const fn by_code(by: CancelledBy) -> u8 {
    match by {
        CancelledBy::Customer => 1,
        CancelledBy::Expiry => 2,
        CancelledBy::Operator => 3,
        CancelledBy::Engine => 4,
    }
}

const fn decoded_by(code: u8) -> Option<CancelledBy> {
    match code {
        1 => Some(CancelledBy::Customer),
        2 => Some(CancelledBy::Expiry),
        3 => Some(CancelledBy::Operator),
        4 => Some(CancelledBy::Engine),
        _ => None,
    }
}
