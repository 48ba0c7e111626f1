//! What a payer in crypto currency has to send: the address first, then the amount with its unit,
//! the time that is left, and a QR code of each form that wallets read.

use switchyard_engine::clock::Timestamp;
use switchyard_engine::language::Language as Written;
use switchyard_engine::transaction::PayerAction;

use super::action::{Link, Qr, drawn, is_late, is_wallet_address, sends_until};
use super::scene::{Scene, TimeLeft};

pub struct CryptoView {
    pub address: String,
    /// The network, as the gateway names it.
    pub chain: String,
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
pub fn view(scene: &Scene, action: &PayerAction) -> Option<CryptoView> {
    let PayerAction::SendCrypto {
        address,
        chain,
        token,
        amount,
        uri,
        expires,
    } = action
    else {
        return None;
    };
    let (unit, contract) = coin(token.as_deref().unwrap_or_default());
    let ends_at = sends_until(action);
    let is_late = is_late(scene, action);
    let language = scene.visitor.language.written();
    let whole = format!("{}\u{a0}{unit}", written(amount, language));
    let values = [("amount", whole.trim_end()), ("chain", chain.as_str())];
    let codes = [("crypto-qr-address", address), ("crypto-qr-link", uri)];
    let qrs = codes.into_iter().filter(|(name, text)| {
        let is_address = *name == "crypto-qr-address";
        (is_address || (*text != address && is_wallet_address(text))) && !is_late
    });
    Some(CryptoView {
        qrs: qrs
            .filter_map(|(name, text)| {
                let caption = scene.say(name);
                let Qr { svg, .. } = drawn(text, &caption)?;
                Some(Captioned { svg, caption })
            })
            .collect(),
        link: (is_wallet_address(uri) && !is_late).then(|| Link {
            url: uri.clone(),
            label: scene.say("wait-crypto-link"),
        }),
        warnings: ["crypto-exact", "crypto-exchange"]
            .map(|warning| scene.say_with(warning, &values))
            .into(),
        left: ends_at.filter(|_| !is_late).map(|at| {
            let seconds = at.since(scene.now).as_secs();
            scene.countdown("crypto-left", seconds)
        }),
        until: expires.clone().filter(|_| ends_at.is_none()),
        is_late,
        address: address.clone(),
        chain: chain.clone(),
        amount: amount.clone(),
        unit: unit.to_owned(),
        contract: contract.map(str::to_owned),
    })
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
    use crate::checkout::language::Language;
    use crate::checkout::tests::samples;

    fn sent_by(expires: Option<&str>) -> CryptoView {
        let scene = samples::scene(samples::waiting(None), Language::English);
        view(&scene, &samples::crypto(expires)).unwrap()
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
            (Language::English, "12.5\u{a0}USDC"),
            (Language::French, "12,5\u{a0}USDC"),
        ] {
            let scene = samples::scene(samples::waiting(None), language);
            let view = view(&scene, &samples::crypto(None)).unwrap();
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
        let drawn = crate::checkout::qr::svg(&view.address, "Address only").unwrap();
        assert_eq!(view.qrs[0].svg, drawn);
        assert!(
            view.warnings[1].contains("12.5\u{a0}USDC") && view.warnings[1].contains("Ethereum")
        );
    }

    #[test]
    fn the_time_to_send_is_counted_down_and_then_over() {
        // The scene's clock shows 10:00.
        let left = sent_by(Some("2026-11-20 10:30 UTC")).left.unwrap();
        assert_eq!(
            (left.seconds, left.text.as_str()),
            (1_800, "Time left to send: 30 min")
        );
        let late = sent_by(Some("2026-11-20 10:00 UTC"));
        assert!(late.is_late && late.left.is_none() && late.qrs.is_empty() && late.link.is_none());
        let strange = sent_by(Some("until tomorrow"));
        assert_eq!(strange.until.as_deref(), Some("until tomorrow"));
        assert!(!strange.is_late && strange.left.is_none());
    }
}
