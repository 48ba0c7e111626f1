//! Makes an event happen: a real sandbox payment or payout, driven to its end through the test
//! gateway.
//!
//! Everything that a real one brings comes with it: webhooks, mails, the timeline. So a merchant
//! can try a receiver without a browser.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, TransactionId};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{
    ClientContext, EventName, State as TransactionState, Status, Transaction,
};
use switchyard_engine::engine::{ConfirmRequest, Engine, EngineError, NewPayment, NewPayout};
use switchyard_records::NewCustomer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::transactions::{TransactionSummary, Trigger, Triggered};
use super::error::{Answer, Refused, invalid, not_found};
use super::input::{Body, Id, created};
use crate::openapi::Success;
use crate::operations::note_transaction;
use crate::state::ApiState;

/// The events that can be made.
pub const TRIGGERS: [EventName; 7] = EventName::ALL;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(trigger))
}

/// Create a sandbox transaction that ends with an event
///
/// `reached` is `false` if the transaction has not come to that end within 10 seconds; `message`
/// has the reason.
#[utoipa::path(
    post,
    path = "/apps/{app}/trigger",
    operation_id = "triggerEvent",
    tag = "Transactions",
    request_body = Trigger,
    responses((status = 201, description = "The transaction.", body = Success<Triggered>)),
)]
async fn trigger(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    Body(wanted): Body<Trigger>,
) -> Answer {
    let event = event_of(&wanted.event)?;
    let (view, message) = triggered(&state, app, event).await?;
    created(&message, &view)
}

/// The event with this name.
pub fn event_of(name: &str) -> Result<EventName, Refused> {
    let found = TRIGGERS.into_iter().find(|event| event.as_str() == name);
    let found = found.ok_or_else(|| {
        let names: Vec<&str> = TRIGGERS.iter().map(|event| event.as_str()).collect();
        invalid("event", format!("event is one of {}", names.join(", ")))
    });
    Ok(found?)
}

/// Creates a sandbox transaction that ends with the event. The text says whether it did.
pub async fn triggered(
    state: &ApiState,
    app: AppId,
    event: EventName,
) -> Result<(Triggered, String), Refused> {
    let (transaction, missed) = trigger_event(state.engine(), app, event).await?;
    let view = Triggered {
        transaction: TransactionSummary::from(&*transaction),
        reached: missed.is_some().then_some(false),
    };
    let message = missed.unwrap_or_else(|| format!("{} triggered successfully", event.as_str()));
    Ok((view, message))
}

/// Creates a sandbox transaction of the app, and drives it to the end that the event names. The
/// text is the reason why that end was not reached in 10 seconds.
pub async fn trigger_event(
    engine: &Engine,
    app: AppId,
    event: EventName,
) -> Result<(Arc<Transaction>, Option<String>), Refused> {
    let caller = engine
        .access()
        .on_behalf_of(app, Environment::Sandbox)
        .ok_or_else(|| not_found("app"))?;
    let transaction = match event {
        EventName::PayoutInitiated | EventName::PayoutSuccess | EventName::PayoutFailed => {
            engine
                .initialize_payout(&caller, payout(engine, event), None)
                .await?
        }
        _ => {
            engine
                .initialize_payment(&caller, payment(engine), None)
                .await?
        }
    };
    note_transaction(transaction.id);
    let transaction = drive(engine, transaction, event).await?;
    let is_held = engine.hold().state().is_some_and(|held| held.is_held(app));
    let missed = missed(event, &transaction, is_held);
    Ok((transaction, missed))
}

/// The reason why the transaction did not come to the end that the event names; `None` when it did.
fn missed(event: EventName, transaction: &Transaction, is_held: bool) -> Option<String> {
    let status = transaction.status();
    if end(event).is_none_or(|end| end == status) {
        return None;
    }
    let why = match is_held {
        true => ", because the app is held (see `switchyard release --report`)",
        false => "",
    };
    let (event, status) = (event.as_str(), status.as_str());
    Some(format!(
        "{event} was not reached: the transaction is {status}{why}"
    ))
}

/// The status that the event names; `None` when the transaction only has to be made.
const fn end(event: EventName) -> Option<Status> {
    match event {
        EventName::PaymentInitiated | EventName::PayoutInitiated => None,
        EventName::PaymentCancelled => Some(Status::Cancelled),
        EventName::PaymentSuccess | EventName::PayoutSuccess => Some(Status::Success),
        EventName::PaymentFailed | EventName::PayoutFailed => Some(Status::Failed),
    }
}

/// Does what the payer would do, then waits for the end that was asked for.
async fn drive(
    engine: &Engine,
    transaction: Arc<Transaction>,
    event: EventName,
) -> Result<Arc<Transaction>, Refused> {
    let id = transaction.id;
    match event {
        EventName::PaymentInitiated | EventName::PayoutInitiated => return Ok(transaction),
        EventName::PaymentCancelled => return Ok(engine.cancel(id).await?),
        EventName::PaymentSuccess => drop(engine.confirm(id, choice(engine, SUCCEEDS)).await?),
        EventName::PaymentFailed => fail(engine, id).await?,
        EventName::PayoutSuccess | EventName::PayoutFailed => {}
    }
    Ok(settled(engine, id).await?)
}

/// The transaction once it is final, or as it is after 10 seconds.
pub async fn settled(engine: &Engine, id: TransactionId) -> Result<Arc<Transaction>, EngineError> {
    let now = async || {
        let now = engine.transaction(id).await?;
        now.ok_or(EngineError::NotFound)
    };
    let mut live = engine.watch(id);
    let reached = async {
        loop {
            live.borrow_and_update();
            let now = now().await?;
            if now.status().is_final() || live.changed().await.is_err() {
                return Ok::<_, EngineError>(now);
            }
        }
    };
    match tokio::time::timeout(WAIT, reached).await {
        Ok(now) => now,
        Err(_) => now().await,
    }
}

/// Has the payment declined as often as the app allows attempts.
async fn fail(engine: &Engine, id: TransactionId) -> Result<(), Refused> {
    loop {
        let declined = engine.confirm(id, choice(engine, PAYMENT_FAILS)).await?;
        // A final payment has failed; one whose gateway has not answered yet is waited for later.
        if declined.state != TransactionState::AwaitingCustomer {
            return Ok(());
        }
    }
}

fn payment(engine: &Engine) -> NewPayment {
    NewPayment {
        amount: amount(),
        description: DESCRIPTION.to_owned(),
        return_url: format!("{}/healthz", engine.settings().public_url),
        customer: customer(),
        metadata: metadata(),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    }
}

fn payout(engine: &Engine, event: EventName) -> NewPayout {
    let number = match event {
        EventName::PayoutFailed => PAYOUT_FAILS,
        _ => SUCCEEDS,
    };
    NewPayout {
        amount: amount(),
        description: DESCRIPTION.to_owned(),
        method: format!("{}_payout_demo", engine.settings().service_code),
        recipient: BTreeMap::from([("account_number".to_owned(), number.to_owned())]),
        customer: customer(),
        metadata: metadata(),
        context: ClientContext::default(),
    }
}

fn choice(engine: &Engine, number: &str) -> ConfirmRequest {
    ConfirmRequest {
        method: format!("{}_payment_demo", engine.settings().service_code),
        country: Some("US".to_owned()),
        phone: Some(format!("+1{number}")),
        fields: BTreeMap::from([("msisdn".to_owned(), number.to_owned())]),
        missing: NewCustomer::default(),
        context: ClientContext::default(),
        agreed: None,
    }
}

fn customer() -> NewCustomer {
    NewCustomer {
        first_name: "Test".to_owned(),
        last_name: "Customer".to_owned(),
        // A reserved name: no mail leaves the machine for a real address.
        email: "customer@switchyard.example".to_owned(),
        ..NewCustomer::default()
    }
}

fn metadata() -> BTreeMap<String, String> {
    BTreeMap::from([("triggered_by".to_owned(), "operator".to_owned())])
}

fn amount() -> Amount {
    let dollars = Currency::from_code("USD").expect("USD is in the table of currencies");
    Amount::from_minor(2_500, dollars)
}

const DESCRIPTION: &str = "Made by switchyard trigger";
/// The test gateway's numbers (docs/contract/test-gateway.md).
pub const SUCCEEDS: &str = "4149518161";
pub const PAYMENT_FAILS: &str = "4149518163";
pub const PAYMENT_PENDING: &str = "4149518162";
pub const PAYOUT_FAILS: &str = "4149518162";
/// The test gateway answers at once; a busy machine may take a moment.
const WAIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use switchyard_core::transaction::{EventName, State};

    use super::missed;
    use crate::checkout::tests::samples;

    #[test]
    fn an_event_whose_status_was_not_reached_is_said_to_be_missed() {
        let pending = samples::ended(State::InDoubt);
        assert_eq!(missed(EventName::PaymentInitiated, &pending, true), None);
        let succeeded = samples::ended(State::Succeeded);
        assert_eq!(missed(EventName::PaymentSuccess, &succeeded, false), None);
        let told = missed(EventName::PaymentSuccess, &pending, false).unwrap();
        assert_eq!(
            told,
            "payment.success was not reached: the transaction is pending"
        );
        let held = missed(EventName::PaymentSuccess, &pending, true).unwrap();
        assert!(held.contains("the app is held"), "{held}");
    }
}
