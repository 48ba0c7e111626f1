//! Translates what a gateway said into the engine's own outcome, by the money rule: a fault never means declined, and what cannot
//! be understood is unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use switchyard_gateway::{
    Amount as WireAmount, DeclineReason as WireReason, Operation, Outcome as WireOutcome,
    PayerAction as WireAction, Prompt,
};

use super::redact::Redactor;
use crate::ids::TransactionId;
use crate::limits::{GATEWAY_POLL_LATEST, GATEWAY_POLL_SOONEST};
use crate::money::{Amount, Currency};
use crate::planted::{Fault, is_planted};
use crate::transaction::{Decline, DeclineReason, Outcome, PayerAction, Translated};

/// A call that came to no outcome. Only an operation that submits something can be "not sent"; a query, say, speaks of an attempt
/// that is out already, and its own failure proves nothing about that.
pub(super) fn without_outcome(operation: Operation, maybe_sent: bool, why: String) -> Outcome {
    if is_planted(Fault::TimeoutDeclined) && maybe_sent {
        return Outcome::Declined(Decline {
            reason: DeclineReason::PayerTimeout,
            retryable: false,
            provider_id: None,
            provider_code: None,
            provider_message: None,
            field: None,
        });
    }
    if operation.submits() && (!maybe_sent || is_planted(Fault::UnknownRetried)) {
        Outcome::NotSent { why }
    } else {
        Outcome::unknown(why)
    }
}

/// A `NotFound` is [`Outcome::Unknown`] here: what it proves is for the caller to say. A success in another currency than the one that
/// was asked for is a success here: that it does not cover what was asked is for the transaction to say.
pub(super) fn translate(
    outcome: WireOutcome,
    transaction: TransactionId,
    redactor: &Redactor,
) -> Outcome {
    let said = |text: Option<String>| text.map(|text| redactor.sentence(&text));
    let id = |text: Option<String>| text.map(|text| redactor.id(&text));
    match outcome {
        WireOutcome::Succeeded {
            provider_id,
            amount,
            fees,
            provider_status,
        } => match amount.map(|amount| captured(&amount)).transpose() {
            Ok(amount) => Outcome::Succeeded {
                provider_id: id(provider_id),
                amount,
                fees: fees.and_then(|fees| fee(&fees)),
                provider_status: said(provider_status),
            },
            Err(why) => {
                let why = redactor.sentence(&why);
                // Money has moved, and no later answer need say so better: a person has to look.
                tracing::error!(
                    transaction.id = %transaction,
                    "{why}: compare it with the provider's own records"
                );
                Outcome::unknown(why)
            }
        },
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
            provider_code: said(provider_code),
            provider_message: said(provider_message),
            field,
        }),
        WireOutcome::Pending {
            provider_id,
            payer_action,
            poll_after,
        } => Outcome::Pending {
            provider_id: id(provider_id),
            payer_action: payer_action.and_then(action),
            poll_after: poll_after.map(|seconds| {
                Duration::from_secs(seconds.into()).clamp(GATEWAY_POLL_SOONEST, GATEWAY_POLL_LATEST)
            }),
            provider_status: None,
        },
        WireOutcome::Unknown { why } | WireOutcome::NotFound { why } => {
            Outcome::unknown(redactor.sentence(&why))
        }
    }
}

/// What the provider says was captured: an amount that adds up.
fn captured(said: &WireAmount) -> Result<Amount, String> {
    let strange =
        || format!("the provider reports success of an amount that cannot be read: {said:?}");
    let currency = currency(&said.currency).ok_or_else(strange)?;
    let by_decimal = match &said.decimal {
        Some(decimal) => Some(Amount::parse_major(decimal, currency).map_err(|_| strange())?),
        None => None,
    };
    let by_minor = said.minor.map(|minor| Amount::from_minor(minor, currency));
    match (by_minor, by_decimal) {
        (Some(one), Some(other)) if one != other => Err(strange()),
        (Some(amount), _) | (None, Some(amount)) if amount.minor() > 0 => Ok(amount),
        _ => Err(strange()),
    }
}

/// A fee may be nothing. One that cannot be read is left out: no decision hangs on it.
fn fee(said: &WireAmount) -> Option<Amount> {
    let currency = currency(&said.currency)?;
    match (said.minor, &said.decimal) {
        (Some(minor), _) => (minor >= 0).then(|| Amount::from_minor(minor, currency)),
        (None, Some(decimal)) => Amount::parse_major(decimal, currency).ok(),
        (None, None) => None,
    }
}

fn currency(code: &str) -> Option<Currency> {
    Currency::from_code(&code.to_ascii_uppercase())
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

/// What the payer is to do. An address that a browser must not follow is no action: the attempt is pending, and is asked about.
fn action(action: WireAction) -> Option<PayerAction> {
    Some(match action {
        WireAction::Redirect { url } => {
            let scheme = url::Url::parse(&url).ok()?.scheme().to_owned();
            if scheme != "https" && scheme != "http" {
                return None;
            }
            PayerAction::Redirect { url }
        }
        WireAction::ConfirmOnPhone {
            prompt,
            steps,
            ussd,
        } => PayerAction::ConfirmOnPhone {
            auto: prompt == Prompt::Auto,
            steps: steps
                .into_iter()
                .flat_map(|(lang, texts)| texts.into_iter().map(move |text| (lang.clone(), text)))
                .map(|(lang, text)| Translated { lang, text })
                .collect(),
            ussd,
        },
        WireAction::EnterCode { label, length, how } => PayerAction::EnterCode {
            label,
            length,
            how: translated(how),
        },
        WireAction::Dial { ussd } => PayerAction::Dial { ussd },
        WireAction::Transfer {
            bank,
            account,
            name,
            amount,
            reference,
            expires,
        } => PayerAction::Transfer {
            bank,
            account,
            name,
            amount: captured(&amount).ok()?.format(),
            reference: reference.unwrap_or_default(),
            expires,
        },
        WireAction::ShowQr { text, image } => PayerAction::ShowQr { text, image },
        WireAction::SendCrypto {
            address,
            chain,
            token,
            amount,
            uri,
            expires,
        } => PayerAction::SendCrypto {
            address,
            chain,
            token,
            amount,
            uri,
            expires,
        },
    })
}

fn translated(texts: BTreeMap<String, String>) -> Vec<Translated> {
    texts
        .into_iter()
        .map(|(lang, text)| Translated { lang, text })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use switchyard_gateway::manifest::Manifest;

    use super::*;
    use crate::ids::PaymentId;

    fn translated(outcome: WireOutcome) -> Outcome {
        let manifest = Manifest::parse(include_bytes!("../../../plugins/demo/gateway.json"));
        let redactor = Redactor::new(&manifest.unwrap(), &Value::Null);
        let transaction = TransactionId::Payment(PaymentId::new(ulid::Ulid::from_parts(1, 1)));
        translate(outcome, transaction, &redactor)
    }

    #[test]
    fn a_success_counts_only_with_an_amount_that_adds_up_in_whichever_currency() {
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
            let Outcome::Succeeded {
                amount: Some(amount),
                ..
            } = translated(WireOutcome::succeeded(good))
            else {
                panic!("no success");
            };
            assert_eq!((amount.minor(), amount.currency().code()), (2_500, "USD"));
        }
        let other = WireOutcome::succeeded(WireAmount::decimal("25", "XOF"));
        let Outcome::Succeeded {
            amount: Some(other),
            ..
        } = translated(other)
        else {
            panic!("money came");
        };
        assert_eq!((other.minor(), other.currency().code()), (25, "XOF"));
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
            let Outcome::Unknown { why, .. } = translated(WireOutcome::succeeded(bad.clone()))
            else {
                panic!("not unknown: {bad:?}");
            };
            let reported = "reports success of an amount that cannot be read";
            assert!(why.contains(reported), "{bad:?}: {why}");
        }
    }

    #[test]
    fn a_gateway_has_its_attempt_asked_about_neither_at_once_nor_in_a_year() {
        for (asked, given) in [(0, 5), (4, 5), (30, 30), (3_601, 3_600), (u32::MAX, 3_600)] {
            let Outcome::Pending { poll_after, .. } = translated(WireOutcome::Pending {
                provider_id: None,
                payer_action: None,
                poll_after: Some(asked),
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
    fn a_redirect_that_is_no_web_address_is_no_action() {
        for (url, is_kept) in [
            ("https://a.example/x", true),
            ("javascript:alert(1)", false),
            ("/x", false),
        ] {
            let action = WireAction::Redirect { url: url.into() };
            let Outcome::Pending { payer_action, .. } = translated(WireOutcome::awaiting(action))
            else {
                panic!("not pending");
            };
            assert_eq!(payer_action.is_some(), is_kept, "{url}");
        }
    }
}
