//! Payments in every state, and the page context around them.

use std::sync::Arc;

use switchyard_core::directory::Directory;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{
    AccountId, AppId, AttemptId, CaseId, ConnectionId, CustomerId, PaymentId, TransactionId,
};
use switchyard_core::money::{Amount, Correction, Currency, Rate};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    AfterCallOff, Attempt, AttemptState, CancelRequest, CancelledBy, Candidate, Case, CaseReason,
    Charge, ClientContext, Conversion, Customer, Decision, Decline, DeclineReason, Details,
    Failure, PayerAction, PaymentDetails, Price, State, Transaction,
};
use switchyard_engine::access::{App, AppSettings};
use switchyard_gateway_host::manifest::FieldOption;
use switchyard_system::ids::Ids;

use crate::checkout::menu::{GatewayField, PaymentOption};
use crate::checkout::page_context::{PageContext, Visitor};
use crate::pages::headers::Nonce;
use switchyard_core::language::Language;

pub const NOW: Timestamp = Timestamp::from_seconds(1_795_168_800);

pub fn payment() -> Transaction {
    payment_in("USD")
}

pub fn payment_in(currency: &str) -> Transaction {
    let ids = Ids::seeded(7);
    let ulid = || ids.ulid(NOW);
    let currency = Currency::from_code(currency).unwrap();
    Transaction {
        id: TransactionId::Payment(PaymentId::new(ulid())),
        version: 1,
        app: AppId::new(ulid()),
        environment: Environment::Sandbox,
        amount: Amount::from_minor(12_500, currency),
        description: "Order 1047: two blue teapots".to_owned(),
        customer: Customer {
            id: CustomerId::new(ulid()),
            first_name: "Ada".to_owned(),
            last_name: "Lovelace".to_owned(),
            email: "ada@example.com".to_owned(),
            phone: None,
            address: None,
            city: None,
            state: None,
            country_code: None,
            zip_code: None,
            created_at: NOW,
            updated_at: NOW,
        },
        metadata: [].into(),
        details: Details::Payment(PaymentDetails {
            return_url: "https://shop.example/done".to_owned(),
            methods: Vec::new(),
            restriction: None,
            attempts_allowed: 1,
            expires_at: NOW.plus(std::time::Duration::from_secs(1790)),
        }),
        context: ClientContext::default(),
        state: State::AwaitingCustomer,
        attempts: Vec::new(),
        cases: Vec::new(),
        created_at: NOW,
        updated_at: NOW,
        pending_at: None,
        success_at: None,
        failed_at: None,
        cancelled_at: None,
        processed_at: None,
    }
}

fn attempt(tx: &Transaction, action: Option<PayerAction>) -> Attempt {
    let ids = Ids::seeded(9);
    Attempt {
        resumed_at: None,
        id: AttemptId::new(ids.ulid(NOW)),
        reference: ids.uuid(),
        candidate: Candidate {
            connection: ConnectionId::new(ids.ulid(NOW)),
            gateway: "switchyard_demo".to_owned(),
            gateway_title: "Test".to_owned(),
            gateway_hash: String::new(),
            account_name: "Test".to_owned(),
            ends_after_s: None,
            usual_s: None,
            can_cancel: false,
        },
        follows: None,
        presumed: false,
        method: "mtn_bj".to_owned(),
        country: Some("BJ".to_owned()),
        phone: Some("+2290197001234".to_owned()),
        fields: [].into(),
        amount: tx.amount,
        conversion: None,
        state: AttemptState::Pending,
        decision: Decision::default(),
        started_at: NOW,
        ended_at: None,
        provider_id: None,
        provider_status: None,
        payer_action: action,
        payer_fee: None,
        decline: None,
        why: None,
        captured: None,
        money_reported_at: None,
        charges: Vec::new(),
        further_ids: Vec::new(),
        received: None,
        fees: None,
        queries: 0,
        last_query_at: None,
        next_query_at: None,
        gateway_state: serde_json::Value::Null,
        resumed: 0,
        cut_off: false,
        codes: 0,
        code_away_since: None,
        settled: None,
        call_off: None,
        remaining: Vec::new(),
    }
}

/// A payment whose provider has it.
pub fn waiting(action: Option<PayerAction>) -> Transaction {
    let mut tx = payment_in("XOF");
    tx.attempts.push(attempt(&tx, action));
    tx.state = State::AwaitingProvider;
    tx.pending_at = Some(NOW);
    tx
}

/// A field with values to choose from.
pub fn bank() -> GatewayField {
    let option = |value: &str, label: &str| FieldOption {
        value: value.to_owned(),
        label: [("en".to_owned(), label.to_owned())].into(),
    };
    GatewayField {
        name: "account_bank".to_owned(),
        label_en: Some("Your bank".to_owned()),
        label_fr: Some("Votre banque".to_owned()),
        required: true,
        options: vec![option("044", "Access Bank"), option("058", "GTBank")],
        pattern: None,
    }
}

/// A token to send; `expires` as a gateway writes it.
pub fn crypto(expires: Option<&str>) -> PayerAction {
    crypto_of("12.5", 12_500, expires)
}

/// The same for another amount of the token, worth `worth` XOF.
pub fn crypto_of(amount: &str, worth: i64, expires: Option<&str>) -> PayerAction {
    let address = "0x71C7656EC7ab88b098defB751B7401B5f6d8976F";
    let contract = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
    PayerAction::SendCrypto {
        address: address.to_owned(),
        chain: "Ethereum".to_owned(),
        token: Some(format!("USDC ({contract})")),
        amount: amount.to_owned(),
        worth: Amount::from_minor(worth, Currency::from_code("XOF").unwrap()),
        uri: format!("ethereum:{contract}@1/transfer?address={address}&uint256=12500000"),
        expires: expires.map(str::to_owned),
    }
}

/// A bank transfer of 12,500 XOF and a fee of 100 XOF until `expires`.
pub fn transfer(expires: &str) -> PayerAction {
    transfer_of(12_600, Some(100), expires)
}

/// A bank transfer of so many XOF, with the fee in it.
pub fn transfer_of(minor: i64, fee: Option<i64>, expires: &str) -> PayerAction {
    let xof = |minor| Amount::from_minor(minor, Currency::from_code("XOF").unwrap());
    PayerAction::Transfer {
        bank: "Wema Bank".to_owned(),
        account: "7821 0045 19".to_owned(),
        name: "Café Zola / Switchyard".to_owned(),
        amount: xof(minor),
        fee: fee.map(xof),
        reference: "SWY-8F2K-11".to_owned(),
        expires: Some(expires.to_owned()),
    }
}

/// A payment of 12,500 XOF whose open attempt has `received` money and gives the payer `action`.
pub fn received(action: PayerAction, received: Amount) -> Transaction {
    let mut tx = waiting(Some(action));
    tx.attempts[0].received = Some(received);
    tx.attempts[0].charges = vec![reported(received)];
    tx
}

/// A payment of 12,500 XOF for which `captured` came, after a transfer with a fee of 100 XOF.
pub fn with_payer_fee(captured: i64) -> Transaction {
    let mut tx = ended(State::Succeeded);
    let currency = tx.amount.currency();
    let captured = Amount::from_minor(captured, currency);
    let attempt = &mut tx.attempts[0];
    attempt.payer_fee = Some(Amount::from_minor(100, currency));
    attempt.captured = Some(captured);
    attempt.charges = vec![Charge {
        is_part: false,
        is_recorded: true,
        ..reported(captured)
    }];
    tx
}

fn reported(amount: Amount) -> Charge {
    Charge {
        id: Some("P1".to_owned()),
        amount: Some(amount),
        is_part: true,
        is_recorded: false,
        is_unclear: false,
        contradicting: Vec::new(),
        decided: Vec::new(),
        replaced: Vec::new(),
        replaced_parts: Vec::new(),
        is_taken_back: false,
    }
}

/// A prompt that came so many seconds ago.
pub fn waited(seconds: u64, change: impl FnOnce(&mut Attempt)) -> Transaction {
    let mut tx = waiting(Some(PayerAction::ConfirmOnPhone {
        auto: true,
        steps: Vec::new(),
        ussd: None,
    }));
    let attempt = &mut tx.attempts[0];
    attempt.started_at = NOW.minus(std::time::Duration::from_secs(seconds));
    change(attempt);
    tx
}

pub fn given_up() -> Transaction {
    waited(150, |attempt| {
        attempt.candidate.can_cancel = true;
        attempt.call_off = Some(CancelRequest {
            by: CancelledBy::Customer,
            asked_at: NOW,
            then: AfterCallOff::ChooseAgain,
        });
    })
}

/// An attempt that ended after its payer gave it up, with attempts left.
pub fn gave_up() -> Transaction {
    let mut tx = declined_once();
    tx.attempts[0].call_off = given_up().attempts[0].call_off;
    tx.attempts[0].decline = Some(Decline {
        provider_message: Some("Cancelled by the merchant.".to_owned()),
        ..tx.attempts[0].decline.clone().unwrap()
    });
    tx
}

/// A payment that failed because its payer gave up the last attempt that it can have.
pub fn gave_up_the_last() -> Transaction {
    let mut tx = failed(DeclineReason::Other);
    tx.attempts[0].call_off = given_up().attempts[0].call_off;
    tx
}

pub fn ended(state: State) -> Transaction {
    let mut tx = waiting(None);
    tx.attempts[0].state = match state {
        State::Succeeded => AttemptState::Succeeded,
        State::Failed(_) | State::Cancelled => AttemptState::Declined,
        State::InDoubt => AttemptState::InDoubt,
        _ => AttemptState::Pending,
    };
    tx.state = state;
    tx
}

/// The same after the provider reported 5,000 XOF, with the case that this opened.
pub fn partly_paid(state: State) -> Transaction {
    let mut tx = ended(state);
    let attempt = &mut tx.attempts[0];
    let received = Amount::from_minor(5_000, attempt.amount.currency());
    attempt.captured = Some(received);
    attempt.payer_action = Some(PayerAction::Dial {
        ussd: "*126#".to_owned(),
    });
    tx.cases.push(Case {
        id: CaseId::new(Ids::seeded(11).ulid(NOW)),
        opened_at: NOW,
        reason: CaseReason::AmountDiffers,
        reference: attempt.reference,
        detail: "5,000 of 12,500".to_owned(),
        amount: Some(received),
        provider_id: None,
        closed: None,
    });
    tx
}

/// The same with an open case about its attempt.
pub fn with_case(mut tx: Transaction, reason: CaseReason) -> Transaction {
    let (reference, amount) = (tx.attempts[0].reference, tx.attempts[0].amount);
    let more = match reason {
        CaseReason::Surplus => amount.checked_add(amount),
        _ => None,
    };
    tx.attempts[0].captured = Some(more.unwrap_or(amount));
    tx.cases.push(Case {
        id: CaseId::new(Ids::seeded(12).ulid(NOW)),
        opened_at: NOW,
        reason,
        reference,
        detail: String::new(),
        amount: None,
        provider_id: None,
        closed: None,
    });
    tx
}

/// A payment of which a part came, after a person has closed its case.
pub fn returned() -> Transaction {
    let mut tx = partly_paid(failed(DeclineReason::Other).state);
    tx.cases.clear();
    tx
}

/// A payment of two attempts, by the gateways `first` and `second`: the first one is `state`, the
/// second one declined. An open case is about the first one.
pub fn twice_tried(state: AttemptState, reason: CaseReason) -> Transaction {
    let mut tx = with_case(waiting(None), reason);
    tx.attempts.push(attempt(&tx, None));
    tx.attempts[1].id = AttemptId::new(Ids::seeded(10).ulid(NOW));
    tx.attempts[1].reference = Ids::seeded(10).uuid();
    tx.attempts[0].candidate.gateway = "first".to_owned();
    tx.attempts[0].state = state;
    tx.attempts[0].method = "moov_bj".to_owned();
    tx.attempts[1].candidate.gateway = "second".to_owned();
    tx.attempts[1].state = AttemptState::Declined;
    tx
}

/// A payment that its customer cancelled while the provider had it.
pub fn called_off(action: PayerAction, change: impl FnOnce(&mut Attempt)) -> Transaction {
    let mut tx = waiting(Some(action));
    let attempt = &mut tx.attempts[0];
    attempt.call_off = Some(CancelRequest {
        by: CancelledBy::Customer,
        asked_at: NOW,
        then: AfterCallOff::Cancel,
    });
    change(attempt);
    tx
}

/// A payment of 125.00 EUR that is paid in XOF, at a rate with the merchant's mark-up.
pub fn converted(state: State) -> Transaction {
    let mut tx = ended(state);
    let from = Currency::from_code("EUR").unwrap();
    let to = Currency::from_code("XOF").unwrap();
    tx.amount = Amount::from_minor(12_500, from);
    tx.success_at = Some(NOW);
    let attempt = &mut tx.attempts[0];
    attempt.state = match tx.state {
        State::Succeeded => AttemptState::Succeeded,
        _ => AttemptState::Pending,
    };
    attempt.amount = Amount::from_minor(84_045, to);
    attempt.captured = Some(attempt.amount);
    attempt.conversion = Some(Conversion {
        rate: Rate::parse("672.355925").unwrap(),
        correction: Some(Correction::parse("2.5").unwrap()),
        way: vec![from, to],
        as_of: None,
    });
    tx
}

pub fn failed(reason: DeclineReason) -> Transaction {
    ended(State::Failed(Failure {
        reason,
        message: "The payer declined, as this test number always does.".to_owned(),
    }))
}

/// A payment that ended while an attempt's outcome was not known.
pub fn unknown_end() -> Transaction {
    let mut tx = ended(State::Cancelled);
    tx.attempts[0].state = AttemptState::InDoubt;
    tx
}

pub fn expired() -> Transaction {
    let mut tx = payment();
    tx.state = State::Cancelled;
    tx.cancelled_at = Some(NOW.plus(std::time::Duration::from_secs(1790)));
    tx
}

/// Declined once, with attempts left.
pub fn declined_once() -> Transaction {
    let mut tx = waiting(None);
    tx.state = State::AwaitingCustomer;
    tx.attempts[0].state = AttemptState::Declined;
    tx.attempts[0].decline = Some(Decline {
        reason: DeclineReason::InsufficientFunds,
        retryable: false,
        provider_id: None,
        provider_code: None,
        provider_message: None,
        field: None,
    });
    if let Details::Payment(payment) = &mut tx.details {
        payment.attempts_allowed = 3;
    }
    tx
}

/// The transaction with the charges that its attempts and cases are about.
pub fn charged(mut tx: Transaction) -> Transaction {
    // One attempt alone is not paid twice: such a sample has only the words of its case.
    let is_twice = |case: &Case| case.reason == CaseReason::PaidTwice;
    if tx.attempts.len() == 1 && tx.cases.iter().any(is_twice) {
        return tx;
    }
    for attempt in &mut tx.attempts {
        let known = attempt.captured.or(attempt.part_received());
        let charge = |amount, is_recorded, is_part| Charge {
            id: None,
            amount,
            is_part,
            is_recorded,
            is_unclear: false,
            contradicting: Vec::new(),
            decided: Vec::new(),
            replaced: Vec::new(),
            replaced_parts: Vec::new(),
            is_taken_back: false,
        };
        let is_recorded = attempt.captured.is_some();
        let mut charges: Vec<_> = known
            .map(|amount| charge(Some(amount), is_recorded, !is_recorded))
            .into_iter()
            .collect();
        let reference = attempt.reference;
        let about = |case: &&Case| case.reference == reference && case.reason.reports_money();
        for case in tx.cases.iter().filter(about) {
            let is_reversal = case.reason == CaseReason::SuccessContradicted;
            match charges.last_mut() {
                Some(last) => last.is_taken_back = is_reversal,
                None => charges.push(charge(case.amount, false, false)),
            }
        }
        attempt.charges = charges;
    }
    tx
}

pub fn context(tx: Transaction, language: Language) -> PageContext {
    let tx = charged(tx);
    let app = App {
        id: tx.app,
        account: AccountId::new(Ids::seeded(3).ulid(NOW)),
        name: "Café Zola".to_owned(),
        icon_url: None,
        website_url: None,
        created_at: NOW,
        updated_at: NOW,
        is_enabled: true,
        settings: AppSettings::default(),
    };
    PageContext {
        visitor: Visitor {
            language,
            chose_language: true,
            nonce: Nonce::new(&Ids::seeded(1)),
            service: "Switchyard".to_owned(),
            prefix: String::new(),
            https: false,
            path: format!("/checkout/{}", tx.id),
            query: Vec::new(),
        },
        tx: Arc::new(tx),
        app: Arc::new(app),
        directory: Directory::new("switchyard"),
        icons: Arc::default(),
        now: NOW,
        is_answer_lost: false,
    }
}

pub fn way(code: &str, is_test: bool) -> PaymentOption {
    let method = Directory::new("switchyard")
        .payment_method(code)
        .unwrap()
        .clone();
    let price = Price::plain(Amount::from_minor(12_500, method.currency));
    PaymentOption {
        price,
        method,
        asks: Vec::new(),
        is_test,
    }
}

/// Every method of the catalogue, as if each had a gateway.
pub fn all_ways() -> Vec<PaymentOption> {
    let directory = Directory::new("switchyard");
    directory
        .payment_methods()
        .iter()
        .map(|method| way(&method.code, false))
        .collect()
}
