//! Translates the outcome of a gateway into the engine's own, by the money rule: a fault never
//! means declined, and an outcome that cannot be understood is unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use switchyard_gateway::manifest::Manifest;
use switchyard_gateway::{
    Amount as WireAmount, DeclineReason as WireReason, Operation, Outcome as WireOutcome,
    PayerAction as WireAction, Prompt,
};

use super::redact::Redactor;
use super::{amounts, redirect};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::journal as rules;
use switchyard_core::limits::{MAX_GATEWAY_POLL, MIN_GATEWAY_POLL};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::transaction::{
    Captured, Decline, DeclineReason, LocalizedText, Outcome, PayerAction,
};

/// Outcome of a call that failed without one. Only an operation that submits something can be "not
/// sent". A query, for instance, is about an attempt that was sent already, and its own failure
/// proves nothing about that.
pub(super) fn without_outcome(operation: Operation, maybe_sent: bool, why: String) -> Outcome {
    match rules::is_not_sent(operation.submits(), maybe_sent) {
        true => Outcome::NotSent { why },
        false => Outcome::unknown(why),
    }
}

/// The attempt that an outcome is about, as far as the outcome is checked against it.
#[derive(Clone, Copy)]
pub(super) struct Subject<'s> {
    pub manifest: &'s Manifest,
    pub transaction: TransactionId,
    pub environment: Environment,
    /// The attempt's amount.
    pub asked: Option<Amount>,
    pub redactor: &'s Redactor,
}

impl Subject<'_> {
    fn is_in_its_currency(&self, amount: Amount) -> bool {
        self.asked
            .is_none_or(|asked| asked.currency() == amount.currency())
    }
}

/// Translates an outcome. A `NotFound` is [`Outcome::Unknown`] here; the caller decides what it
/// proves. A success in another currency than the requested one is a success here; the transaction
/// decides that it does not cover the requested amount.
pub(super) fn translate(outcome: WireOutcome, subject: &Subject<'_>) -> Outcome {
    let redactor = subject.redactor;
    let sentence = |text: Option<String>| text.map(|text| redactor.sentence(&text));
    let id = |text: Option<String>| text.map(|text| redactor.id(&text));
    match outcome {
        WireOutcome::Succeeded {
            provider_id,
            amount,
            fees,
            provider_status,
        } => {
            let amount = captured(amount.as_ref(), subject);
            let of = match amount {
                Captured::Named(amount) => Some(amount),
                Captured::AsAsked => subject.asked,
                Captured::Unreadable => None,
            };
            Outcome::Succeeded {
                provider_id: id(provider_id),
                amount,
                fees: fees.and_then(|fees| fees_of(&fees, of, subject)),
                provider_status: sentence(provider_status),
            }
        }
        WireOutcome::Declined {
            reason,
            retryable,
            provider_code,
            provider_message,
            provider_id,
            field,
        } => Outcome::Declined(Decline {
            reason: decline_reason(reason),
            retryable,
            provider_id: id(provider_id),
            provider_code: sentence(provider_code),
            provider_message: sentence(provider_message),
            field,
        }),
        WireOutcome::Pending {
            provider_id,
            payer_action,
            poll_after,
            received,
        } => {
            let received = match received.map(|reported| received_so_far(&reported, subject)) {
                None => None,
                Some(None) => return unreadable_part(id(provider_id)),
                Some(Some(amount)) if subject.is_in_its_currency(amount) => Some(amount),
                Some(Some(amount)) if amount.minor() == 0 => None,
                Some(Some(_)) => return unreadable_part(id(provider_id)),
            };
            Outcome::Pending {
                provider_id: id(provider_id),
                payer_action: payer_action
                    .and_then(|action| shown_action(action, received, subject)),
                poll_after: poll_after.map(|seconds| {
                    Duration::from_secs(seconds.into()).clamp(MIN_GATEWAY_POLL, MAX_GATEWAY_POLL)
                }),
                provider_status: None,
                received,
            }
        }
        WireOutcome::Unknown { why } | WireOutcome::NotFound { why } => {
            Outcome::unknown(redactor.sentence(&why))
        }
    }
}

/// The amount in the input of an operation.
pub(super) fn requested_amount(input: &Value) -> Option<Amount> {
    let asked = input.get("amount")?;
    let currency = Currency::from_code(asked.get("currency")?.as_str()?)?;
    Some(Amount::from_minor(asked.get("minor")?.as_i64()?, currency))
}

/// The captured amount. A missing or implausible amount is a fault of the gateway: money moved, and
/// the amount is unknown.
fn captured(reported: Option<&WireAmount>, subject: &Subject<'_>) -> Captured {
    let Some(reported) = reported else {
        let reason = &subject.manifest.capabilities.success_without_amount;
        if reason.is_some() {
            return Captured::AsAsked;
        }
        log_fault(subject, "gateway reported success without an amount", "");
        return Captured::Unreadable;
    };
    if let Some(amount) = amounts::captured(reported, subject.asked) {
        return Captured::Named(amount);
    }
    log_fault(
        subject,
        "gateway reported success of an implausible amount",
        &format!("{reported:?}"),
    );
    Captured::Unreadable
}

/// Success of an amount that cannot be read, for a pending attempt that received an implausible
/// amount so far, or one in another currency, which adds to no sum. Money moved, so the payer is
/// not asked to pay, and a person looks at it.
fn unreadable_part(provider_id: Option<String>) -> Outcome {
    Outcome::Succeeded {
        provider_id,
        amount: Captured::Unreadable,
        fees: None,
        provider_status: None,
    }
}

/// Amount received so far, which may be zero. `None`: it is implausible.
fn received_so_far(reported: &WireAmount, subject: &Subject<'_>) -> Option<Amount> {
    let received = amounts::received(reported, subject.asked);
    if received.is_none() {
        log_fault(
            subject,
            "gateway reported an implausible amount received so far",
            &format!("{reported:?}"),
        );
    }
    received
}

/// Implausible fees are left out: no decision about money depends on them.
fn fees_of(reported: &WireAmount, of: Option<Amount>, subject: &Subject<'_>) -> Option<Amount> {
    let fees = amounts::fees(reported, of);
    if fees.is_none() {
        log_fault(
            subject,
            "gateway reported implausible fees",
            &format!("{reported:?}"),
        );
    }
    fees
}

/// Whether the engine shows this action to a payer of an attempt of `asked`.
pub fn is_shown(action: WireAction, asked: Amount) -> bool {
    self::action(action, Some(asked), Environment::Live).is_some()
}

/// An action that asks the payer for another amount than the attempt's, or than its rest after the
/// part that was `received`, is not shown. The attempt stays pending and is polled.
fn shown_action(
    action: WireAction,
    received: Option<Amount>,
    subject: &Subject<'_>,
) -> Option<PayerAction> {
    let (is_transfer, named) = match &action {
        WireAction::Transfer { amount, fees, .. } => (true, format!("{amount:?} {fees:?}")),
        WireAction::SendCrypto { amount, worth, .. } => (true, format!("{amount} {worth:?}")),
        _ => (false, String::new()),
    };
    let rest = subject.asked.and_then(|asked| asked.rest_after(received));
    let shown = self::action(action, rest, subject.environment);
    if shown.is_none() && is_transfer {
        log_fault(
            subject,
            "gateway asked the payer for an implausible amount",
            &named,
        );
    }
    if let Some(PayerAction::UnusablePage { why }) = &shown {
        log_fault(subject, "gateway sent the payer to an unusable page", why);
    }
    shown
}

fn log_fault(subject: &Subject<'_>, fault: &'static str, named: &str) {
    let name = subject.manifest.name.clone();
    metrics::counter!("switchyard_gateway_faults_total", "gateway" => name).increment(1);
    tracing::error!(
        gateway.name = subject.manifest.name,
        gateway.version = subject.manifest.version,
        transaction.id = %subject.transaction,
        fault,
        amount = subject.redactor.sentence(named),
        "gateway reported an implausible outcome"
    );
}

fn decline_reason(reason: WireReason) -> DeclineReason {
    match reason {
        WireReason::InsufficientFunds => DeclineReason::InsufficientFunds,
        WireReason::PayerDeclined => DeclineReason::PayerDeclined,
        WireReason::PayerTimeout => DeclineReason::PayerTimeout,
        WireReason::PayerBusy => DeclineReason::PayerBusy,
        WireReason::InvalidAccount => DeclineReason::InvalidAccount,
        WireReason::LimitExceeded => DeclineReason::LimitExceeded,
        WireReason::AmountOutOfRange => DeclineReason::AmountOutOfRange,
        WireReason::Expired => DeclineReason::Expired,
        WireReason::NotPermitted => DeclineReason::NotPermitted,
        WireReason::MerchantFunds => DeclineReason::MerchantFunds,
        WireReason::ProviderUnavailable => DeclineReason::ProviderUnavailable,
        WireReason::Misconfigured => DeclineReason::Misconfigured,
        _ => DeclineReason::Other,
    }
}

/// The payer's action. `None`: it asks for another amount than the `rest` to be paid.
fn action(
    action: WireAction,
    rest: Option<Amount>,
    environment: Environment,
) -> Option<PayerAction> {
    Some(match action {
        WireAction::Redirect { url } => match redirect::unusable(&url, environment) {
            Some(why) => PayerAction::UnusablePage { why },
            None => PayerAction::Redirect { url },
        },
        WireAction::ConfirmOnPhone {
            prompt,
            steps,
            ussd,
        } => PayerAction::ConfirmOnPhone {
            auto: prompt == Prompt::Auto,
            steps: steps
                .into_iter()
                .flat_map(|(lang, texts)| texts.into_iter().map(move |text| (lang.clone(), text)))
                .map(|(lang, text)| LocalizedText { lang, text })
                .collect(),
            ussd,
        },
        WireAction::EnterCode { label, length, how } => PayerAction::EnterCode {
            label,
            length,
            how: translated(how),
        },
        WireAction::Dial { ussd } => PayerAction::Dial { ussd },
        transfer @ WireAction::Transfer { .. } => return transfer_action(transfer, rest?),
        WireAction::ShowQr { text, image } => PayerAction::ShowQr { text, image },
        WireAction::SendCrypto {
            address,
            chain,
            token,
            amount,
            worth,
            uri,
            expires,
        } => {
            let worth = amounts::crypto(worth.as_deref(), &amount, &address, &uri, rest?)?;
            PayerAction::SendCrypto {
                address,
                chain,
                token,
                amount,
                worth,
                uri,
                expires,
            }
        }
        WireAction::Wait {} => PayerAction::Wait,
    })
}

/// The transfer of the `rest` and the provider's fee. `None`: it is of another amount.
fn transfer_action(action: WireAction, rest: Amount) -> Option<PayerAction> {
    let WireAction::Transfer {
        bank,
        account,
        name,
        amount,
        fees,
        reference,
        expires,
    } = action
    else {
        return None;
    };
    let (amount, fee) = amounts::transfer(&amount, fees.as_deref(), rest)?;
    Some(PayerAction::Transfer {
        bank,
        account,
        name,
        amount,
        fee,
        reference: reference.unwrap_or_default(),
        expires,
    })
}

fn translated(texts: BTreeMap<String, String>) -> Vec<LocalizedText> {
    texts
        .into_iter()
        .map(|(lang, text)| LocalizedText { lang, text })
        .collect()
}

#[cfg(test)]
mod tests {

    use super::*;
    use switchyard_core::ids::PaymentId;

    fn manifest() -> Manifest {
        Manifest::parse(include_bytes!("../../../plugins/demo/gateway.json")).unwrap()
    }

    fn translated(outcome: WireOutcome) -> Outcome {
        translated_by(&manifest(), outcome)
    }

    /// Translates an outcome of an attempt of 25.00 USD.
    fn translated_by(manifest: &Manifest, outcome: WireOutcome) -> Outcome {
        let asked = Currency::from_code("USD").map(|usd| Amount::from_minor(2_500, usd));
        let subject = Subject {
            manifest,
            transaction: TransactionId::Payment(PaymentId::new(ulid::Ulid::from_parts(1, 1))),
            environment: Environment::Live,
            asked,
            redactor: &Redactor::new(manifest, &Value::Null),
        };
        translate(outcome, &subject)
    }

    fn success(amount: Option<WireAmount>, fees: Option<WireAmount>) -> WireOutcome {
        WireOutcome::Succeeded {
            provider_id: Some("ch_1".into()),
            amount,
            fees,
            provider_status: None,
        }
    }

    fn captured_in(outcome: &Outcome) -> Captured {
        match outcome {
            Outcome::Succeeded { amount, .. } => *amount,
            other => panic!("no success: {other:?}"),
        }
    }

    #[test]
    fn a_success_without_an_amount_is_all_of_it_only_if_the_manifest_says_why() {
        let outcome = translated(success(None, None));
        assert_eq!(captured_in(&outcome), Captured::Unreadable);
        let mut declared = manifest();
        declared.capabilities.success_without_amount = Some("No amount in its answers.".into());
        let outcome = translated_by(&declared, success(None, None));
        assert_eq!(captured_in(&outcome), Captured::AsAsked);
        // The reason covers a missing amount, not an implausible one.
        let outcome = translated_by(&declared, success(Some(WireAmount::minor(-1, "USD")), None));
        assert_eq!(captured_in(&outcome), Captured::Unreadable);
    }

    #[test]
    fn implausible_fees_are_not_passed_on_and_leave_the_success_a_success() {
        let fees_of = |minor| {
            let paid = WireAmount::minor(2_500, "USD");
            let fees = WireAmount::minor(minor, "USD");
            match translated(success(Some(paid), Some(fees))) {
                Outcome::Succeeded { fees, .. } => fees.map(Amount::minor),
                other => panic!("{other:?}"),
            }
        };
        let all = [50, 2_501, -1, i64::MAX].map(fees_of);
        assert_eq!(all, [Some(50), None, None, None]);
    }

    #[test]
    fn an_implausible_amount_received_so_far_is_money_of_an_unreadable_amount() {
        for (reported, minor) in [
            (Some(WireAmount::minor(1_000, "USD")), Some(1_000)),
            (Some(WireAmount::decimal("10.00", "USD")), Some(1_000)),
            (Some(WireAmount::minor(0, "USD")), Some(0)),
            (Some(WireAmount::minor(249_999, "USD")), Some(249_999)),
            (None, None),
        ] {
            let Outcome::Pending { received, .. } = translated(pending(reported.clone())) else {
                panic!("not pending: {reported:?}");
            };
            assert_eq!(received.map(Amount::minor), minor, "{reported:?}");
        }
        for reported in [
            WireAmount::minor(250_000, "USD"),
            WireAmount::minor(i64::MAX, "USD"),
            WireAmount::minor(-1, "USD"),
            WireAmount::decimal("10.001", "USD"),
            WireAmount::minor(1_000, "???"),
        ] {
            let outcome = translated(pending(Some(reported.clone())));
            assert_eq!(captured_in(&outcome), Captured::Unreadable, "{reported:?}");
        }
    }

    /// Such money would replace the sum that the attempt received in its own currency.
    #[test]
    fn money_received_in_another_currency_is_no_part_of_the_attempt() {
        let outcome = translated(pending(Some(WireAmount::minor(1_000, "EUR"))));
        assert_eq!(captured_in(&outcome), Captured::Unreadable);
        let nothing = translated(pending(Some(WireAmount::minor(0, "EUR"))));
        let Outcome::Pending { received, .. } = nothing else {
            panic!("not pending: {nothing:?}");
        };
        assert_eq!(received, None);
    }

    fn pending(received: Option<WireAmount>) -> WireOutcome {
        WireOutcome::Pending {
            provider_id: None,
            payer_action: None,
            poll_after: None,
            received,
        }
    }

    #[test]
    fn an_action_that_asks_for_another_amount_is_not_shown_and_the_attempt_stays_pending() {
        let transfer = |minor| WireAction::Transfer {
            bank: "Acme Bank".into(),
            account: "1".into(),
            name: "Acme".into(),
            amount: WireAmount::minor(minor, "USD"),
            fees: None,
            reference: None,
            expires: None,
        };
        let crypto = |worth| WireAction::SendCrypto {
            address: "0xab".into(),
            chain: "Ethereum".into(),
            token: None,
            amount: "12.5".into(),
            worth: Some(Box::new(WireAmount::minor(worth, "USD"))),
            uri: "ethereum:0xab?value=125e17".into(),
            expires: None,
        };
        for (action, is_shown) in [
            (transfer(2_500), true),
            (transfer(2_600), false),
            (transfer(i64::MAX), false),
            (crypto(2_500), true),
            (crypto(2_600), false),
        ] {
            let named = format!("{action:?}");
            let Outcome::Pending { payer_action, .. } = translated(WireOutcome::awaiting(action))
            else {
                panic!("not pending: {named}");
            };
            assert_eq!(payer_action.is_some(), is_shown, "{named}");
        }
    }

    #[test]
    fn the_amount_of_a_success_is_read_only_if_it_adds_up_in_whichever_currency() {
        let named = |minor, currency| {
            let currency = Currency::from_code(currency).unwrap();
            Captured::Named(Amount::from_minor(minor, currency))
        };
        let both = |minor, decimal: &str| WireAmount {
            minor: Some(minor),
            ..WireAmount::decimal(decimal, "USD")
        };
        for good in [
            WireAmount::decimal("25.00", "USD"),
            WireAmount::decimal("25", "usd"),
            WireAmount::minor(2_500, "USD"),
            both(2_500, "25.0"),
        ] {
            let outcome = translated(WireOutcome::succeeded(good));
            assert_eq!(captured_in(&outcome), named(2_500, "USD"));
        }
        let other = WireOutcome::succeeded(WireAmount::decimal("25", "XOF"));
        assert_eq!(captured_in(&translated(other)), named(25, "XOF"));
        for bad in [
            WireAmount::decimal("25.00", "XXX"),
            WireAmount::decimal("25.001", "USD"),
            WireAmount::decimal("25,00", "USD"),
            WireAmount::decimal("-25", "USD"),
            WireAmount::decimal("", "USD"),
            WireAmount::minor(0, "USD"),
            WireAmount::minor(-1, "USD"),
            both(2_500, "2500"),
            WireAmount {
                currency: "USD".into(),
                minor: None,
                decimal: None,
            },
        ] {
            let outcome = translated(WireOutcome::succeeded(bad.clone()));
            assert_eq!(captured_in(&outcome), Captured::Unreadable, "{bad:?}");
        }
    }

    #[test]
    fn a_gateway_has_its_attempt_asked_about_neither_at_once_nor_in_a_year() {
        for (asked, given) in [(0, 5), (4, 5), (30, 30), (3_601, 3_600), (u32::MAX, 3_600)] {
            let Outcome::Pending { poll_after, .. } = translated(WireOutcome::Pending {
                provider_id: None,
                payer_action: None,
                poll_after: Some(asked),
                received: None,
            }) else {
                panic!("not pending");
            };
            assert_eq!(poll_after, Some(Duration::from_secs(given)), "{asked}");
        }
    }

    #[test]
    fn a_failure_is_not_sent_only_of_an_operation_that_submits_and_before_the_first_write() {
        for operation in Operation::ALL {
            let why = || "x".to_owned();
            let before = without_outcome(operation, false, why());
            let may_be_not_sent = matches!(
                operation,
                Operation::Collect | Operation::Payout | Operation::Refund
            );
            assert_eq!(
                matches!(before, Outcome::NotSent { .. }),
                may_be_not_sent,
                "{operation:?}"
            );
            let after = without_outcome(operation, true, why());
            assert!(matches!(after, Outcome::Unknown { .. }), "{operation:?}");
        }
    }

    #[test]
    fn a_redirect_that_cannot_be_opened_names_the_reason_and_the_attempt_stays_pending() {
        for (url, is_kept) in [
            ("https://a.example/x", true),
            ("http://a.example/x", false),
            ("javascript:alert(1)", false),
            ("/x", false),
        ] {
            let action = WireAction::Redirect { url: url.into() };
            let Outcome::Pending { payer_action, .. } = translated(WireOutcome::awaiting(action))
            else {
                panic!("not pending");
            };
            let is_kept_now = matches!(payer_action, Some(PayerAction::Redirect { .. }));
            assert_eq!(is_kept_now, is_kept, "{url}");
            let is_named = |why: &str| why.contains("cannot be opened");
            match payer_action {
                Some(PayerAction::UnusablePage { why }) => assert!(is_named(&why), "{why}"),
                other => assert!(is_kept, "{other:?}"),
            }
        }
    }
}
