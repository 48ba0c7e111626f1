//! Instructions for a payment in coins: address, amount with its unit, remaining time, and a QR
//! code of each form that wallets read.

use switchyard_core::language::Language as Written;
use switchyard_core::money::Amount;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::PayerAction;

use super::action::{Link, Qr, drawn, is_late, is_wallet_address, sends_until};
use super::page_context::{PageContext, TimeLeft};

pub struct CryptoView {
    pub address: String,
    /// The network, as the gateway names it.
    pub chain: String,
    /// Words above the amount.
    pub label: String,
    /// A decimal with a point, without its unit: wallets take no other form, so every language has
    /// the same. Sentences have it as their language writes it.
    pub amount: String,
    /// The coin's symbol; empty when the gateway names none.
    pub unit: String,
    /// Contract of the token, as evidence for those who look it up.
    pub contract: Option<String>,
    pub left: Option<TimeLeft>,
    /// Until when, in the gateway's words, where it cannot be counted down.
    pub until: Option<String>,
    /// The time to send is over.
    pub is_late: bool,
    pub qrs: Vec<Captioned>,
    pub link: Option<Link>,
    pub warnings: Vec<String>,
}

/// A QR code with the words under it.
pub struct Captioned {
    pub svg: String,
    pub caption: String,
}

/// `None` for every other action.
pub fn view(context: &PageContext, action: &PayerAction) -> Option<CryptoView> {
    let PayerAction::SendCrypto {
        address,
        chain,
        token,
        amount,
        uri,
        expires,
        worth,
    } = action
    else {
        return None;
    };
    let (unit, contract) = coin(token.as_deref().unwrap_or_default());
    let ends_at = sends_until(action);
    let is_late = is_late(context, action);
    let whole = coins(context, amount, unit);
    let worth = worth.written(context.visitor.language);
    let values = [
        ("amount", whole.as_str()),
        ("chain", chain.as_str()),
        ("worth", worth.as_str()),
    ];
    let codes = [("crypto-qr-address", address), ("crypto-qr-link", uri)];
    let qrs = codes.into_iter().filter(|(name, text)| {
        let is_address = *name == "crypto-qr-address";
        (is_address || (*text != address && is_wallet_address(text))) && !is_late
    });
    Some(CryptoView {
        qrs: qrs
            .filter_map(|(name, text)| {
                let caption = context.say(name);
                let Qr { svg, .. } = drawn(text, &caption)?;
                Some(Captioned { svg, caption })
            })
            .collect(),
        link: (is_wallet_address(uri) && !is_late).then(|| Link {
            url: uri.clone(),
            label: context.say("wait-crypto-link"),
        }),
        warnings: ["crypto-exact", "crypto-exchange", "crypto-asked"]
            .map(|warning| context.say_with(warning, &values))
            .into(),
        left: ends_at
            .filter(|_| !is_late)
            .map(|at| context.countdown("crypto-left", at, "wait-late-title")),
        until: expires.clone().filter(|_| ends_at.is_none()),
        is_late,
        address: address.clone(),
        chain: chain.clone(),
        label: context.say(match context.asks_for_rest() {
            true => "crypto-amount-rest",
            false => "crypto-amount",
        }),
        amount: amount.clone(),
        unit: unit.to_owned(),
        contract: contract.map(str::to_owned),
    })
}

/// Coins that were seen on the chain for the open attempt, and of which not all are confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Worth of all coins that were seen, in the currency of the attempt.
    pub worth: Amount,
    /// Amount that remains to be sent, with its unit.
    pub rest: String,
    /// Whether the provider reported a part of them as received.
    pub is_partly_received: bool,
}

/// The coins that the order in force does not ask for any more and that are not confirmed. `None`:
/// there are none.
pub fn seen(context: &PageContext) -> Option<Seen> {
    let attempt = context.tx.current_attempt()?;
    let Some(PayerAction::SendCrypto {
        amount,
        worth,
        token,
        ..
    }) = &attempt.payer_action
    else {
        return None;
    };
    let seen = attempt.amount.checked_sub(*worth)?;
    let received = attempt.part_received();
    if seen.minor() <= received.map_or(0, |part| part.minor()) {
        return None;
    }
    let (unit, _) = coin(token.as_deref().unwrap_or_default());
    Some(Seen {
        worth: seen,
        rest: coins(context, amount, unit),
        is_partly_received: received.is_some(),
    })
}

/// An amount of a coin with its unit, in the visitor's language.
fn coins(context: &PageContext, amount: &str, unit: &str) -> String {
    let amount = written(amount, context.visitor.language);
    format!("{amount}\u{a0}{unit}").trim_end().to_owned()
}

/// The amount of a coin as `language` writes it. Text that is no decimal stays as it is.
fn written(amount: &str, language: Written) -> String {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return amount.to_owned();
    }
    let (between, point) = match language {
        Written::En => (",", "."),
        Written::Fr => ("\u{202f}", ","),
    };
    let mut text = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text += between;
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text += point;
        text += fraction;
    }
    text
}

/// Symbol and contract of `USDC (0x…)`.
fn coin(token: &str) -> (&str, Option<&str>) {
    match token.split_once(" (") {
        Some((symbol, contract)) => (symbol, contract.strip_suffix(')')),
        None => (token, None),
    }
}

/// Gateways write `2026-11-20 10:00 UTC` or a time of RFC 3339.
pub fn moment(text: &str) -> Option<Timestamp> {
    let minutes = text.strip_suffix(" UTC").map(|time| time.replace(' ', "T"));
    let seconds = minutes.map(|time| format!("{time}:00Z"));
    Timestamp::parse(seconds.as_deref().unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;
    use switchyard_core::language::Language;

    fn sent_by(expires: Option<&str>) -> CryptoView {
        let context = samples::context(samples::waiting(None), Language::En);
        view(&context, &samples::crypto(expires)).unwrap()
    }

    #[test]
    fn amount_unit_and_contract_stand_apart() {
        let view = sent_by(None);
        assert_eq!((view.amount.as_str(), view.unit.as_str()), ("12.5", "USDC"));
        let contract = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
        assert_eq!(view.contract.as_deref(), Some(contract));
        assert_eq!(coin("ETH"), ("ETH", None));
    }

    #[test]
    fn sentences_write_the_amount_as_their_language_does_and_the_field_as_wallets_do() {
        for (language, sentence) in [
            (Language::En, "12.5\u{a0}USDC"),
            (Language::Fr, "12,5\u{a0}USDC"),
        ] {
            let context = samples::context(samples::waiting(None), language);
            let view = view(&context, &samples::crypto(None)).unwrap();
            assert!(view.warnings[1].contains(sentence), "{:?}", view.warnings);
            assert_eq!(view.amount, "12.5");
        }
        for (amount, english, french) in [
            ("0.000012", "0.000012", "0,000012"),
            ("1234567.5", "1,234,567.5", "1\u{202f}234\u{202f}567,5"),
            ("123", "123", "123"),
            ("1000", "1,000", "1\u{202f}000"),
            ("12.", "12", "12"),
            ("about 3.5", "about 3.5", "about 3.5"),
            (".5", ".5", ".5"),
            ("", "", ""),
        ] {
            assert_eq!(written(amount, Written::En), english);
            assert_eq!(written(amount, Written::Fr), french);
        }
    }

    #[test]
    fn the_plain_address_has_a_code_of_its_own_beside_the_wallet_link() {
        let view = sent_by(None);
        assert_eq!(view.qrs.len(), 2);
        assert_eq!(view.qrs[0].caption, "Address only");
        let drawn = crate::pages::qr::svg(&view.address, "Address only").unwrap();
        assert_eq!(view.qrs[0].svg, drawn);
        assert!(
            view.warnings[1].contains("12.5\u{a0}USDC") && view.warnings[1].contains("Ethereum")
        );
    }

    /// The sighting while an order of a part of 12,500 XOF is in force.
    fn seen_after(worth: i64, received: i64) -> Option<Seen> {
        let mut tx = samples::waiting(Some(samples::crypto_of("8", worth, None)));
        let attempt = &mut tx.attempts[0];
        attempt.received = Some(Amount::from_minor(received, attempt.amount.currency()));
        seen(&samples::context(tx, Language::En))
    }

    #[test]
    fn coins_that_are_not_confirmed_are_neither_ordered_nor_received() {
        for (worth, received, seen) in [
            (8_000, 0, Some(4_500)),
            (2_500, 4_500, Some(10_000)),
            // All of it is confirmed.
            (8_000, 4_500, None),
            (12_500, 0, None),
        ] {
            let found = seen_after(worth, received);
            let minor = found.as_ref().map(|seen| seen.worth.minor());
            assert_eq!(minor, seen, "{worth} after {received}");
            let is_partly = found.map(|seen| seen.is_partly_received);
            assert!(is_partly.is_none_or(|is_partly| is_partly == (received > 0)));
        }
    }
}
