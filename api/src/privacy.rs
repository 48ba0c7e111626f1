//! Masks of personal data for readers whose role does not include the action `view_personal_data`,
//! and of routing for those without `view_routing`.

use switchyard_gateway_host::origin_of;

use crate::operator::contract::attempts::Attempt;
use crate::operator::contract::timeline::{Event, TimelineEntry};
use crate::operator::contract::transactions::{
    ClientContext, Customer, Details, Restriction, Transaction, TransactionSummary,
};

/// The first and the last two characters, with dots between.
pub fn masked(value: &str) -> String {
    let letters: Vec<char> = value.chars().collect();
    match letters.as_slice() {
        [first, .., before, last] if letters.len() > 5 => format!("{first}•••{before}{last}"),
        _ => "•••".to_owned(),
    }
}

/// Masks a transaction in a list.
pub fn mask_summary(summary: &mut TransactionSummary) {
    mask_text(&mut summary.customer);
}

/// Leaves out the reasons for the choice of connections, and the connections that were not chosen.
pub fn hide_routing(view: &mut Transaction) {
    let attempts = view.known.attempts.iter_mut();
    attempts.for_each(|attempt| attempt.decision = None);
    for entry in &mut view.timeline {
        if let TimelineEntry::Event { event, .. } = entry {
            hide_routing_of(event);
        }
    }
}

fn hide_routing_of(event: &mut Event) {
    match event {
        Event::AttemptStarted { attempt } => attempt.decision = None,
        Event::SteppedOver { skipped } => skipped.clear(),
        Event::Initiated {}
        | Event::Confirmed { .. }
        | Event::AttemptPending { .. }
        | Event::AttemptInDoubt { .. }
        | Event::AttemptNotSent { .. }
        | Event::AttemptDeclined { .. }
        | Event::AttemptSucceeded { .. }
        | Event::MoneyReported { .. }
        | Event::AttemptIdentified { .. }
        | Event::QueryStarted { .. }
        | Event::QueryPlanned { .. }
        | Event::SubmissionResumed { .. }
        | Event::CodeSubmitted { .. }
        | Event::CodeAnswered { .. }
        | Event::CallOffStarted { .. }
        | Event::OperatorActed { .. }
        | Event::AttemptAllowed {}
        | Event::Held {}
        | Event::Succeeded {}
        | Event::Failed { .. }
        | Event::Cancelled { .. }
        | Event::Processed {}
        | Event::CaseOpened { .. }
        | Event::CaseAmended { .. }
        | Event::CaseClosed { .. } => {}
    }
}

/// Masks a transaction with its attempts and its timeline.
pub fn mask(view: &mut Transaction) {
    let known = &mut view.known;
    mask_customer(&mut known.customer);
    mask_context(&mut known.context);
    match &mut known.details {
        Details::Payment { restriction, .. } => match restriction {
            Some(Restriction::Phone { number, .. }) => mask_text(number),
            Some(Restriction::Country { .. }) | None => {}
        },
        Details::Payout { recipient, .. } => recipient.values_mut().for_each(mask_text),
    }
    known.attempts.iter_mut().for_each(mask_attempt);
    view.timeline.iter_mut().for_each(mask_entry);
}

fn mask_text(text: &mut String) {
    *text = masked(text);
}

pub fn mask_customer(customer: &mut Customer) {
    for name in [&mut customer.first_name, &mut customer.last_name] {
        let initial = name.chars().next().map(|first| format!("{first}."));
        *name = initial.unwrap_or_default();
    }
    mask_text(&mut customer.email);
    customer.phone.iter_mut().for_each(mask_text);
    customer.address = None;
    customer.city = None;
    customer.state = None;
    customer.zip_code = None;
}

fn mask_context(context: &mut ClientContext) {
    context.ip = None;
    context.user_agent = None;
}

fn mask_attempt(attempt: &mut Attempt) {
    attempt.phone.iter_mut().for_each(mask_text);
    attempt.fields.values_mut().for_each(mask_text);
    // A page of the provider, or a code, for the payer alone.
    attempt.payer_action = None;
}

fn mask_entry(entry: &mut TimelineEntry) {
    match entry {
        TimelineEntry::Event { event, .. } => match event {
            Event::Confirmed { customer, context } => {
                mask_customer(customer);
                mask_context(context);
            }
            Event::AttemptStarted { attempt } => mask_attempt(attempt),
            Event::AttemptPending { payer_action, .. } => *payer_action = None,
            Event::Initiated {}
            | Event::AttemptInDoubt { .. }
            | Event::AttemptNotSent { .. }
            | Event::AttemptDeclined { .. }
            | Event::AttemptSucceeded { .. }
            | Event::MoneyReported { .. }
            | Event::AttemptIdentified { .. }
            | Event::QueryStarted { .. }
            | Event::QueryPlanned { .. }
            | Event::SubmissionResumed { .. }
            | Event::CodeSubmitted { .. }
            | Event::CodeAnswered { .. }
            | Event::CallOffStarted { .. }
            | Event::OperatorActed { .. }
            | Event::SteppedOver { .. }
            | Event::AttemptAllowed {}
            | Event::Held {}
            | Event::Succeeded {}
            | Event::Failed { .. }
            | Event::Cancelled { .. }
            | Event::Processed {}
            | Event::CaseOpened { .. }
            | Event::CaseAmended { .. }
            | Event::CaseClosed { .. } => {}
        },
        TimelineEntry::Exchange { exchange, .. } => {
            exchange.url = origin_of(&exchange.url);
            exchange.request_headers.clear();
            exchange.request_body = None;
            exchange.response_headers.clear();
            exchange.response_body = None;
        }
        TimelineEntry::Callback { callback, .. } => {
            callback.from = None;
            callback.request = None;
        }
    }
}

#[cfg(test)]
pub mod tests {
    use switchyard_core::ids::{ConnectionId, TransactionId};
    use switchyard_core::transaction::{Event as Stored, PayerAction, Recorded, Skipped};
    use switchyard_engine::testing::TestEngine;
    use switchyard_store::Batch;

    use super::*;
    use crate::checkout::tests::samples;

    /// Reasons for the choice of connections of [`routed`].
    pub const REASONS: [&str; 2] = ["because it is the cheapest", "because it is drained"];

    /// Stores a payment whose connection was chosen for a reason, and another one skipped.
    pub async fn routed(test: &TestEngine) -> TransactionId {
        let mut tx = samples::waiting(None);
        tx.app = test.keys.app;
        let [chosen, skipped] = REASONS;
        let skipped = Skipped {
            connection: ConnectionId::new(tx.app.ulid()),
            because: skipped.to_owned(),
        };
        let decision = &mut tx.attempts[0].decision;
        decision.chosen_because = chosen.to_owned();
        decision.skipped = vec![skipped.clone()];
        let started = Stored::AttemptStarted {
            attempt: Box::new(tx.attempts[0].clone()),
        };
        let stepped = Stored::SteppedOver {
            skipped: vec![skipped],
        };
        let recorded = |version, event| Recorded {
            version,
            at: tx.created_at,
            event,
        };
        tx.version = 2;
        let step = switchyard_records::Step {
            before: None,
            after: &tx,
            events: &[recorded(1, started), recorded(2, stepped)],
        };
        let mut batch = Batch::new();
        switchyard_records::write(&mut batch, &step).unwrap();
        test.engine.store().commit(batch).await.unwrap();
        tx.id
    }

    #[test]
    fn a_masked_transaction_names_nobody() {
        let action = PayerAction::Redirect {
            url: "https://provider.example/pay/secret-path".to_owned(),
        };
        let stored = samples::called_off(action, |_| ());
        let mut attempt = stored.attempts[0].clone();
        attempt.phone = Some("+2290197000042".to_owned());
        let started = Stored::AttemptStarted {
            attempt: Box::new(attempt),
        };
        let confirmed = Stored::Confirmed {
            customer: Box::new(stored.customer.clone()),
            context: stored.context.clone(),
        };
        let entry = |event| {
            TimelineEntry::from(Recorded {
                version: 2,
                at: stored.created_at,
                event,
            })
        };
        let mut view = Transaction::new(&stored, vec![entry(confirmed), entry(started)]);
        let customer = &stored.customer;
        let private = [
            customer.email.as_str(),
            customer.last_name.as_str(),
            "secret-path",
            "2290197000042",
        ];
        let text = serde_json::to_string(&view).unwrap();
        assert!(private.iter().all(|word| text.contains(word)), "{text}");
        mask(&mut view);
        let text = serde_json::to_string(&view).unwrap();
        for word in private {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert!(text.contains(&stored.id.to_string()));
    }

    #[test]
    fn a_call_to_a_provider_keeps_its_host_only() {
        let url = "https://api.provider.example/v1/2290197000042?msisdn=2290197000042";
        assert_eq!(origin_of(url), "https://api.provider.example");
        assert_eq!(origin_of("no address"), "");
    }

    #[test]
    fn a_short_value_shows_nothing_of_itself() {
        assert_eq!(masked("a@b.c"), "•••");
        assert_eq!(masked("ada@example.com"), "a•••om");
    }
}
