//! Payer's next step at the provider, rendered as text, links, copy buttons and QR codes.

use switchyard_engine::clock::Timestamp;
use switchyard_engine::transaction::{PayerAction, Translated};
use url::Url;

use super::crypto::{self, CryptoView};
use super::leave::{shown_host, web_address};
use super::qr;
use super::scene::{Row, Scene};
use super::wait::masked;

#[derive(Default)]
pub struct ActionView {
    pub link: Option<Link>,
    pub qr: Option<Qr>,
    pub steps: Vec<String>,
    pub rows: Vec<Row>,
    pub crypto: Option<CryptoView>,
}

pub struct Link {
    pub url: String,
    pub label: String,
}

pub struct Qr {
    pub svg: String,
    pub text: String,
}

/// Title and sentence of the waiting page for this action.
pub fn words(scene: &Scene, action: &PayerAction) -> (String, String) {
    let word = match action {
        PayerAction::ConfirmOnPhone { auto, .. } => return phone_words(scene, *auto),
        PayerAction::Redirect { .. } => "redirect",
        PayerAction::UnusablePage { .. } => "unusable",
        PayerAction::EnterCode { .. } => "code",
        PayerAction::Dial { .. } => "dial",
        PayerAction::Wait => "seen",
        _ if is_late(scene, action) => "late",
        PayerAction::Transfer { .. } => "transfer",
        PayerAction::ShowQr { .. } => "qr",
        PayerAction::SendCrypto { .. } => "crypto",
    };
    let text = match (word, action) {
        // The gateway then asks for the missing amount.
        ("crypto", _) if scene.asks_for_rest() => rest(scene),
        ("late", PayerAction::Transfer { .. }) => scene.say("wait-late-transfer-text"),
        _ => scene.say(&format!("wait-{word}-text")),
    };
    (scene.say(&format!("wait-{word}-title")), text)
}

/// The order to send the rest, with its amount where a part of the coins is not confirmed.
fn rest(scene: &Scene) -> String {
    match crypto::seen(scene) {
        Some(seen) => scene.say_with("wait-crypto-remains", &[("rest", &seen.rest)]),
        None => scene.say("wait-crypto-rest"),
    }
}

/// When the payer may send no more money. `None`: the action states no such moment.
pub fn sends_until(action: &PayerAction) -> Option<Timestamp> {
    match action {
        PayerAction::Transfer { expires, .. } | PayerAction::SendCrypto { expires, .. } => {
            crypto::moment(expires.as_deref()?)
        }
        _ => None,
    }
}

/// Whether the time to send is over.
pub fn is_late(scene: &Scene, action: &PayerAction) -> bool {
    sends_until(action).is_some_and(|until| until <= scene.now)
}

fn phone_words(scene: &Scene, auto: bool) -> (String, String) {
    let attempt = scene.tx.current_attempt();
    let code = attempt.map_or("", |attempt| &attempt.method);
    let method = &scene.method_name(code);
    let number = attempt
        .and_then(|attempt| attempt.phone.as_deref())
        .map(masked)
        .unwrap_or_default();
    let text = if auto {
        scene.say_with(
            "wait-phone-auto",
            &[("method", method), ("number", &number)],
        )
    } else {
        scene.say_with("wait-phone-manual", &[("method", method)])
    };
    (scene.say("wait-phone-title"), text)
}

pub fn view(scene: &Scene, action: &PayerAction) -> ActionView {
    match action {
        PayerAction::Redirect { url } => ActionView {
            link: provider_page(scene, url),
            ..ActionView::default()
        },
        PayerAction::ConfirmOnPhone { steps, ussd, .. } => ActionView {
            steps: translated(scene, steps),
            link: ussd.as_deref().and_then(|ussd| dial(scene, ussd)),
            ..ActionView::default()
        },
        // The form for it is the waiting page's own.
        PayerAction::EnterCode { how, .. } => ActionView {
            steps: translated(scene, how),
            ..ActionView::default()
        },
        PayerAction::Dial { ussd } => ActionView {
            link: dial(scene, ussd),
            rows: vec![scene.row("row-dial", ussd).strong()],
            ..ActionView::default()
        },
        PayerAction::ShowQr { text, image } => ActionView {
            qr: if text.is_empty() {
                shown(scene, image.as_deref())
            } else {
                drawn(text, &scene.say("qr-label"))
            },
            ..ActionView::default()
        },
        PayerAction::UnusablePage { .. } | PayerAction::Wait => ActionView::default(),
        PayerAction::Transfer { .. } => transfer(scene, action),
        PayerAction::SendCrypto { .. } => ActionView {
            crypto: crypto::view(scene, action),
            ..ActionView::default()
        },
    }
}

fn transfer(scene: &Scene, action: &PayerAction) -> ActionView {
    let PayerAction::Transfer {
        bank,
        account,
        name,
        amount,
        fee,
        reference,
        expires,
    } = action
    else {
        return ActionView::default();
    };
    let written = scene.visitor.language.written();
    // After its time the details are for the payer's questions, and nothing is to be copied.
    let is_late = is_late(scene, action);
    let marked = |row: Row| match is_late {
        true => row,
        false => row.strong(),
    };
    let label = match is_late {
        true => "row-transfer-late",
        false if scene.asks_for_rest() => "row-transfer-rest",
        false => "row-transfer",
    };
    let sum = scene.row(label, amount.written(written));
    let mut rows = vec![marked(sum).copied_as(amount.decimal())];
    rows.extend(fee.map(|fee| scene.row("row-fee", fee.written(written))));
    rows.extend([
        scene.row("row-bank", bank),
        marked(scene.row("row-account", account)),
        scene.row("row-name", name),
        marked(scene.row("row-transfer-reference", reference)),
    ]);
    rows.extend(expires.as_deref().map(|until| scene.until(until)));
    ActionView {
        rows,
        ..ActionView::default()
    }
}

/// A gateway is trusted with money, not with the page: only a web address becomes a link.
fn provider_page(scene: &Scene, url: &str) -> Option<Link> {
    let url = web_address(url)?;
    let host = shown_host(&url)?;
    Some(Link {
        label: scene.say_with("wait-redirect-link", &[("host", &host)]),
        url: url.into(),
    })
}

fn dial(scene: &Scene, ussd: &str) -> Option<Link> {
    let plain = |letter: char| letter.is_ascii_digit() || matches!(letter, '*' | '#' | '+');
    if ussd.is_empty() || !ussd.chars().all(plain) {
        return None;
    }
    Some(Link {
        url: format!("tel:{}", ussd.replace('#', "%23")),
        label: scene.say_with("wait-dial-link", &[("code", ussd)]),
    })
}

/// Whether this is a payment link of a wallet. Other schemes could open anything on the payer's
/// device.
pub(super) fn is_wallet_address(uri: &str) -> bool {
    Url::parse(uri).is_ok_and(|url| WALLET_SCHEMES.contains(&url.scheme()))
}

/// Schemes that wallets register for payment links.
const WALLET_SCHEMES: [&str; 12] = [
    "bitcoin",
    "bitcoincash",
    "dogecoin",
    "ethereum",
    "lightning",
    "litecoin",
    "monero",
    "ripple",
    "solana",
    "stellar",
    "ton",
    "tron",
];

pub(super) fn drawn(text: &str, label: &str) -> Option<Qr> {
    Some(Qr {
        svg: qr::svg(text, label)?,
        text: text.to_owned(),
    })
}

/// Image of the provider, when it gives no text for a QR code: a PNG as a data URL, which no browser
/// executes or fetches.
fn shown(scene: &Scene, image: Option<&str>) -> Option<Qr> {
    let image = image.filter(|image| is_png(image))?;
    let label = scene.say("qr-label").replace('"', "");
    Some(Qr {
        svg: format!(r#"<img src="{image}" alt="{label}">"#),
        text: String::new(),
    })
}

fn is_png(image: &str) -> bool {
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    image
        .strip_prefix("data:image/png;base64,")
        .is_some_and(|data| data.bytes().all(base64))
}

/// The sentences in the visitor's language, else in English, else in whichever the gateway has.
fn translated(scene: &Scene, texts: &[Translated]) -> Vec<String> {
    let wanted = [scene.visitor.language.code(), "en"];
    let has = |lang: &&str| texts.iter().any(|text| text.lang == **lang);
    let lang = wanted
        .iter()
        .find(|lang| has(lang))
        .copied()
        .or_else(|| texts.first().map(|text| text.lang.as_str()));
    let chosen = texts.iter().filter(|text| Some(text.lang.as_str()) == lang);
    chosen.map(|text| text.text.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::language::Language;
    use crate::checkout::tests::samples;

    #[test]
    fn a_gateway_cannot_make_a_link_that_runs_something() {
        let scene = samples::scene(samples::waiting(None), Language::English);
        for hostile in [
            "javascript:alert(1)",
            "data:text/html,<script>",
            " javascript:x",
            "JaVaScRiPt:x",
        ] {
            let redirect = PayerAction::Redirect {
                url: hostile.to_owned(),
            };
            assert!(view(&scene, &redirect).link.is_none(), "{hostile}");
            assert!(!is_wallet_address(hostile), "{hostile}");
            assert!(dial(&scene, hostile).is_none(), "{hostile}");
        }
        assert!(is_wallet_address("bitcoin:bc1qxyz?amount=0.01"));
        assert!(is_wallet_address("ethereum:0xabc@137?value=1"));
        for other in [
            "https://wallet.example/pay",
            "intent://x",
            "tel:112",
            "ms-settings:x",
        ] {
            assert!(!is_wallet_address(other), "{other}");
        }
        assert_eq!(dial(&scene, "*126#").unwrap().url, "tel:*126%23");
        let redirect = PayerAction::Redirect {
            url: "https://pay.example/3ds?x=1".to_owned(),
        };
        let link = view(&scene, &redirect).link.unwrap();
        assert_eq!(link.label, "Continue to pay.example");
    }

    #[test]
    fn a_code_without_text_is_shown_as_the_png_that_came_and_as_nothing_else() {
        let scene = samples::scene(samples::waiting(None), Language::English);
        let shown = |image: Option<&str>| {
            let action = PayerAction::ShowQr {
                text: String::new(),
                image: image.map(str::to_owned),
            };
            view(&scene, &action).qr.map(|qr| qr.svg)
        };
        let png = "data:image/png;base64,iVBORw0KGgo=";
        let tag = shown(Some(png)).unwrap();
        assert!(
            tag.starts_with(&format!(r#"<img src="{png}" alt=""#)),
            "{tag}"
        );
        for hostile in [
            r#"data:image/png;base64,"><script>"#,
            "data:image/svg+xml;base64,PHN2Zz4=",
            "https://tracker.example/qr.png",
        ] {
            assert!(shown(Some(hostile)).is_none(), "{hostile}");
        }
        assert!(shown(None).is_none());
    }

    #[test]
    fn steps_come_in_the_visitors_language_or_in_english() {
        let text = |lang: &str, text: &str| Translated {
            lang: lang.into(),
            text: text.into(),
        };
        let both = [
            text("en", "Dial"),
            text("fr", "Composez"),
            text("fr", "Confirmez"),
        ];
        let french = samples::scene(samples::waiting(None), Language::French);
        assert_eq!(translated(&french, &both), ["Composez", "Confirmez"]);
        assert_eq!(translated(&french, &both[..1]), ["Dial"]);
        assert_eq!(translated(&french, &[text("sw", "Piga")]), ["Piga"]);
        assert!(translated(&french, &[]).is_empty());
    }
}
