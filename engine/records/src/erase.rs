//! Erasure of personal data from the rows of an ended transaction.
//!
//! Erased from the snapshot and from each event: names, the e-mail address, phone numbers, postal
//! addresses, the recipient, the fields of the payer, the address and browser of the client. So are
//! the provider's words about a decline, about an unknown outcome and about a failure to send. Ids,
//! amounts, times, methods, countries, outcomes, notes of operators and the state that the gateway
//! keeps stay: accounts and late reports of providers need them. So do the description, the
//! metadata and the return address, which are the merchant's.
//! Left out: calls to providers, callbacks, webhooks and mails, whose modules erase them.

use std::collections::BTreeMap;

use super::transactions::{Step, timeline, write};
use super::{RecordError, keys};
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    Attempt, ClientContext, Customer, Details, Event, Failure, Operator, OperatorEvent,
    PaymentDetails, PayoutDetails, Recorded, Restriction, State, Transaction, evolve,
};
use switchyard_store::{Batch, Store, Table};

/// Whether the transaction needs its personal data: it has not ended, a case about it is open, or
/// something is due.
pub fn needs_personal_data(tx: &Transaction) -> bool {
    !tx.state.is_final() || tx.attention().is_some() || tx.wake_at().is_some()
}

/// Adds the erasure of the personal data of `tx`, as it is stored, to `batch`. The timeline names
/// `by`. The commit conflicts when the transaction has changed.
///
/// # Errors
/// When its events cannot be read.
pub async fn erase(
    store: &Store,
    batch: &mut Batch,
    tx: &Transaction,
    by: Operator,
    now: Timestamp,
) -> Result<(), RecordError> {
    let damaged = |_| RecordError::damaged("event of transaction", tx.id);
    for Recorded { version, at, event } in timeline(store, tx.id).await? {
        let erased = without_personal_data(tx, event.clone());
        if erased != event {
            let recorded = Recorded {
                version,
                at,
                event: erased,
            };
            let key = keys::event(tx.id, version);
            batch
                .put_written(Table::Event, key, None, |row| {
                    serde_json::to_writer(row, &recorded)
                })
                .map_err(damaged)?;
        }
    }
    let event = Event::OperatorActed {
        operator: by,
        act: OperatorEvent::ErasedPersonalData,
        note: None,
        settled: None,
    };
    let mut after = evolve(tx.clone(), &event, now);
    erase_transaction(&mut after);
    let recorded = Recorded {
        version: after.version,
        at: now,
        event,
    };
    write(
        batch,
        &Step {
            before: Some(tx),
            after: &after,
            events: &[recorded],
        },
    )
}

fn erase_transaction(tx: &mut Transaction) {
    let Transaction {
        id: _,
        version: _,
        app: _,
        environment: _,
        amount: _,
        description: _,
        customer,
        metadata: _,
        details,
        context,
        state,
        attempts,
        cases: _,
        created_at: _,
        updated_at: _,
        pending_at: _,
        success_at: _,
        failed_at: _,
        cancelled_at: _,
        processed_at: _,
    } = tx;
    erase_customer(customer);
    erase_details(details);
    erase_context(context);
    if let State::Failed(failure) = state {
        erase_failure(failure, attempts);
    }
    attempts.iter_mut().for_each(erase_attempt);
}

/// The words of a provider may name the person. Those of an operator stay.
fn erase_failure(failure: &mut Failure, attempts: &[Attempt]) {
    let is_said = |attempt: &Attempt| {
        let decline = attempt
            .decline
            .as_ref()
            .filter(|_| attempt.settled.is_none());
        decline.is_some_and(|one| one.provider_message.as_ref() == Some(&failure.message))
    };
    if attempts.iter().any(is_said) {
        let reason = failure.reason.as_str().replace('_', " ");
        failure.message = format!("The provider declined: {reason}.");
    }
}

fn erase_customer(customer: &mut Customer) {
    let Customer {
        id: _,
        first_name,
        last_name,
        email,
        phone,
        address,
        city,
        state,
        country_code: _,
        zip_code,
        created_at: _,
        updated_at: _,
    } = customer;
    for text in [first_name, last_name, email] {
        text.clear();
    }
    for text in [phone, address, city, state, zip_code] {
        *text = None;
    }
}

fn erase_details(details: &mut Details) {
    match details {
        Details::Payment(PaymentDetails {
            return_url: _,
            methods: _,
            restriction,
            attempts_allowed: _,
            expires_at: _,
        }) => match restriction {
            Some(Restriction::Phone {
                number,
                country_code: _,
            }) => number.clear(),
            Some(Restriction::Country { country_code: _ }) | None => {}
        },
        Details::Payout(PayoutDetails {
            method: _,
            recipient,
        }) => recipient.clear(),
    }
}

fn erase_context(context: &mut ClientContext) {
    let ClientContext {
        ip,
        user_agent,
        country: _,
        locale: _,
    } = context;
    (*ip, *user_agent) = (None, None);
}

fn erase_attempt(attempt: &mut Attempt) {
    let Attempt {
        id: _,
        reference: _,
        candidate: _,
        follows: _,
        presumed: _,
        method: _,
        country: _,
        phone,
        fields,
        amount: _,
        conversion: _,
        state: _,
        decision: _,
        started_at: _,
        resumed_at: _,
        ended_at: _,
        provider_id: _,
        provider_status: _,
        payer_action,
        payer_fee: _,
        decline,
        why,
        captured: _,
        received: _,
        fees: _,
        money_reported_at: _,
        charges: _,
        further_ids: _,
        queries: _,
        last_query_at: _,
        next_query_at: _,
        resumed: _,
        cut_off: _,
        codes: _,
        code_away_since: _,
        call_off: _,
        settled,
        gateway_state: _,
        remaining: _,
    } = attempt;
    if let (Some(decline), None) = (decline, settled) {
        decline.provider_message = None;
    }
    if why.is_some() {
        *why = Some(ERASED.to_owned());
    }
    (*phone, *fields, *payer_action) = (None, BTreeMap::new(), None);
}

fn without_personal_data(tx: &Transaction, mut event: Event) -> Event {
    match &mut event {
        Event::Confirmed { customer, context } => {
            erase_customer(customer);
            erase_context(context);
        }
        Event::AttemptStarted { attempt } => erase_attempt(attempt),
        Event::AttemptPending { payer_action, .. } => *payer_action = None,
        Event::AttemptDeclined { attempt, decline } => {
            let declined = tx.attempt(*attempt);
            if declined.is_none_or(|attempt| attempt.settled.is_none()) {
                decline.provider_message = None;
            }
        }
        Event::Failed { failure } => erase_failure(failure, &tx.attempts),
        Event::AttemptInDoubt { why, .. } | Event::AttemptNotSent { why, .. } => {
            ERASED.clone_into(why);
        }
        Event::CodeAnswered { why, .. } => *why = None,
        Event::Initiated
        | Event::AttemptSucceeded { .. }
        | Event::MoneyReported { .. }
        | Event::AttemptIdentified { .. }
        | Event::QueryStarted { .. }
        | Event::QueryPlanned { .. }
        | Event::SubmissionResumed { .. }
        | Event::CodeSubmitted { .. }
        | Event::CallOffStarted { .. }
        | Event::OperatorActed { .. }
        | Event::SteppedOver { .. }
        | Event::AttemptAllowed
        | Event::Held
        | Event::Succeeded
        | Event::Cancelled { .. }
        | Event::Processed
        | Event::CaseOpened { .. }
        | Event::CaseAmended { .. }
        | Event::CaseClosed { .. } => {}
    }
    event
}

/// Reason of an attempt without the provider's words.
const ERASED: &str = "erased with the personal data";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::transactions::load;
    use switchyard_core::testing::fixtures::{World, confirm, operator, pending, succeeded};
    use switchyard_core::transaction::{Command, Outcome};

    const WORDS: [&str; 6] = ["awa@", "Awa", "Diop", "+2299700", "192.0.2.7", "Browser"];

    /// A payment whose payer is described by all of [`WORDS`], stored with its events.
    async fn stored(store: &Store, has_ended: bool) -> Transaction {
        let mut world = World::payment();
        let customer = Customer {
            first_name: "Awa".to_owned(),
            last_name: "Diop".to_owned(),
            email: "awa@example.com".to_owned(),
            phone: Some("+22997000001".to_owned()),
            ..world.tx.customer.clone()
        };
        let context = ClientContext {
            ip: Some("192.0.2.7".to_owned()),
            user_agent: Some("Browser".to_owned()),
            ..ClientContext::default()
        };
        world.tx.customer = customer.clone();
        let mut command = confirm(1);
        if let Command::Confirm(confirmed) = &mut command {
            (confirmed.customer, confirmed.context) = (customer, context);
            confirmed.phone = Some("+22997000002".to_owned());
            confirmed.fields = BTreeMap::from([("name".to_owned(), "Awa Diop".to_owned())]);
        }
        world.apply(command).unwrap();
        world
            .answer(Outcome::unknown("Awa Diop did not answer"))
            .unwrap();
        world.answer(pending()).unwrap();
        if has_ended {
            world.answer(succeeded()).unwrap();
        }
        let events: Vec<_> = (1..)
            .zip(&world.events)
            .map(|(version, event)| Recorded {
                version,
                at: world.now,
                event: event.clone(),
            })
            .collect();
        let mut batch = Batch::new();
        let step = Step {
            before: None,
            after: &world.tx,
            events: &events,
        };
        write(&mut batch, &step).unwrap();
        store.commit(batch).await.unwrap();
        world.tx
    }

    /// All rows of the transaction, as text.
    async fn text(store: &Store, tx: &Transaction) -> String {
        let stored = load(store, tx.id).await.unwrap().unwrap();
        let events = timeline(store, tx.id).await.unwrap();
        format!("{stored:?}{events:?}")
    }

    #[tokio::test]
    async fn nothing_names_the_person_and_the_events_still_lead_to_the_snapshot() {
        let store = Store::memory();
        let before = stored(&store, true).await;
        let named = text(&store, &before).await;
        assert!(WORDS.iter().all(|word| named.contains(word)), "{named}");
        assert!(!needs_personal_data(&before));
        let (mut batch, now) = (Batch::new(), before.updated_at);
        erase(&store, &mut batch, &before, operator(), now)
            .await
            .unwrap();
        store.commit(batch).await.unwrap();
        let erased = text(&store, &before).await;
        for word in WORDS {
            assert!(!erased.contains(word), "{word}: {erased}");
        }
        let after = load(&store, before.id).await.unwrap().unwrap();
        assert_eq!(
            (after.version, after.state),
            (before.version + 1, before.state)
        );
        assert_eq!(after.attempts[0].captured, before.attempts[0].captured);
        let events = timeline(&store, before.id).await.unwrap();
        assert_eq!(events.last().unwrap().version, after.version);
        let confirmed = events.iter().find_map(|one| match &one.event {
            Event::Confirmed { customer, .. } => Some((**customer).clone()),
            _ => None,
        });
        assert_eq!(confirmed, Some(after.customer));
    }

    #[tokio::test]
    async fn a_transaction_that_moved_meanwhile_is_not_erased() {
        let store = Store::memory();
        let before = stored(&store, true).await;
        let older = Transaction {
            version: before.version - 1,
            ..before.clone()
        };
        let mut batch = Batch::new();
        erase(&store, &mut batch, &older, operator(), before.updated_at)
            .await
            .unwrap();
        assert!(store.commit(batch).await.is_err());
        assert!(text(&store, &before).await.contains("awa@example.com"));
    }

    #[tokio::test]
    async fn a_payment_in_progress_needs_its_personal_data() {
        let tx = stored(&Store::memory(), false).await;
        assert!(needs_personal_data(&tx));
    }
}
