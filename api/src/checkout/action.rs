//! Payer's next step at the provider, rendered as text, links, copy buttons and QR codes.

use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{LocalizedText, PayerAction};
use url::Url;

use super::crypto::{self, CryptoView};
use super::leave::{shown_host, web_address};
use super::page_context::{PageContext, Row};
use crate::pages::qr;
use switchyard_core::directory::phone::masked;

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
pub fn words(context: &PageContext, action: &PayerAction) -> (String, String) {
    let word = match action {
        PayerAction::ConfirmOnPhone { auto, .. } => return phone_words(context, *auto),
        PayerAction::Redirect { .. } => "redirect",
        PayerAction::UnusablePage { .. } => "unusable",
        PayerAction::EnterCode { .. } => "code",
        PayerAction::Dial { .. } => "dial",
        PayerAction::Wait => "seen",
        _ if is_late(context, action) => "late",
        PayerAction::Transfer { .. } => "transfer",
        PayerAction::ShowQr { .. } => "qr",
        PayerAction::SendCrypto { .. } => "crypto",
    };
    let text = match (word, action) {
        // The gateway then asks for the missing amount.
        ("crypto", _) if context.asks_for_rest() => rest(context),
        ("transfer", _) if context.asks_for_rest() => context.say("wait-transfer-rest"),
        ("late", PayerAction::Transfer { .. }) => context.say("wait-late-transfer-text"),
        _ => context.say(&format!("wait-{word}-text")),
    };
    (context.say(&format!("wait-{word}-title")), text)
}

/// The order to send the rest, with its amount where a part of the coins is not confirmed.
fn rest(context: &PageContext) -> String {
    match crypto::seen(context) {
        Some(seen) => context.say_with("wait-crypto-remains", &[("rest", &seen.rest)]),
        None => context.say("wait-crypto-rest"),
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
pub fn is_late(context: &PageContext, action: &PayerAction) -> bool {
    sends_until(action).is_some_and(|until| until <= context.now)
}

fn phone_words(context: &PageContext, auto: bool) -> (String, String) {
    let attempt = context.tx.current_attempt();
    let code = attempt.map_or("", |attempt| &attempt.method);
    let method = &context.method_name(code);
    let number = attempt
        .and_then(|attempt| attempt.phone.as_deref())
        .map(masked)
        .unwrap_or_default();
    let text = if auto {
        context.say_with(
            "wait-phone-auto",
            &[("method", method), ("number", &number)],
        )
    } else {
        context.say_with("wait-phone-manual", &[("method", method)])
    };
    (context.say("wait-phone-title"), text)
}

pub fn view(context: &PageContext, action: &PayerAction) -> ActionView {
    match action {
        PayerAction::Redirect { url } => ActionView {
            link: provider_page(context, url),
            ..ActionView::default()
        },
        PayerAction::ConfirmOnPhone { steps, ussd, .. } => ActionView {
            steps: translated(context, steps),
            link: ussd.as_deref().and_then(|ussd| dial(context, ussd)),
            ..ActionView::default()
        },
        // The form for it is the waiting page's own.
        PayerAction::EnterCode { how, .. } => ActionView {
            steps: translated(context, how),
            ..ActionView::default()
        },
        PayerAction::Dial { ussd } => ActionView {
            link: dial(context, ussd),
            rows: vec![context.row("row-dial", ussd).strong()],
            ..ActionView::default()
        },
        PayerAction::ShowQr { text, image } => ActionView {
            qr: if text.is_empty() {
                shown(context, image.as_deref())
            } else {
                drawn(text, &context.say("qr-label"))
            },
            ..ActionView::default()
        },
        PayerAction::UnusablePage { .. } | PayerAction::Wait => ActionView::default(),
        PayerAction::Transfer { .. } => transfer(context, action),
        PayerAction::SendCrypto { .. } => ActionView {
            crypto: crypto::view(context, action),
            ..ActionView::default()
        },
    }
}

fn transfer(context: &PageContext, action: &PayerAction) -> ActionView {
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
    let written = context.visitor.language;
    // After its time the details are for the payer's questions, and nothing is to be copied.
    let is_late = is_late(context, action);
    let marked = |row: Row| match is_late {
        true => row,
        false => row.strong(),
    };
    let label = match is_late {
        true => "row-transfer-late",
        false if context.asks_for_rest() => "row-transfer-rest",
        false => "row-transfer",
    };
    let sum = context.row(label, amount.written(written));
    let mut rows = vec![marked(sum).copied_as(amount.decimal())];
    rows.extend(fee.map(|fee| context.row("row-fee", fee.written(written))));
    rows.extend([
        context.row("row-bank", bank),
        marked(context.row("row-account", account)),
        context.row("row-name", name),
        marked(context.row("row-transfer-reference", reference)),
    ]);
    rows.extend(expires.as_deref().map(|until| context.until(until)));
    ActionView {
        rows,
        ..ActionView::default()
    }
}

/// A gateway is trusted with money, not with the page: only a web address becomes a link.
fn provider_page(context: &PageContext, url: &str) -> Option<Link> {
    let url = web_address(url)?;
    let host = shown_host(&url)?;
    Some(Link {
        label: context.say_with("wait-redirect-link", &[("host", &host)]),
        url: url.into(),
    })
}

fn dial(context: &PageContext, ussd: &str) -> Option<Link> {
    let plain = |letter: char| letter.is_ascii_digit() || matches!(letter, '*' | '#' | '+');
    if ussd.is_empty() || !ussd.chars().all(plain) {
        return None;
    }
    Some(Link {
        url: format!("tel:{}", ussd.replace('#', "%23")),
        label: context.say_with("wait-dial-link", &[("code", ussd)]),
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

/// Image of the provider, when it gives no text for a QR code: a PNG as a data URL, which no
/// browser executes or fetches.
fn shown(context: &PageContext, image: Option<&str>) -> Option<Qr> {
    let image = image.filter(|image| is_png(image))?;
    let label = context.say("qr-label").replace('"', "");
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
fn translated(context: &PageContext, texts: &[LocalizedText]) -> Vec<String> {
    let wanted = [context.visitor.language.code(), "en"];
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
    use crate::checkout::tests::samples;
    use switchyard_core::language::Language;

    #[test]
    fn a_gateway_cannot_make_a_link_that_runs_something() {
        let context = samples::context(samples::waiting(None), Language::En);
        for hostile in [
            "javascript:alert(1)",
            "data:text/html,<script>",
            " javascript:x",
            "JaVaScRiPt:x",
        ] {
            let redirect = PayerAction::Redirect {
                url: hostile.to_owned(),
            };
            assert!(view(&context, &redirect).link.is_none(), "{hostile}");
            assert!(!is_wallet_address(hostile), "{hostile}");
            assert!(dial(&context, hostile).is_none(), "{hostile}");
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
        assert_eq!(dial(&context, "*126#").unwrap().url, "tel:*126%23");
        let redirect = PayerAction::Redirect {
            url: "https://pay.example/3ds?x=1".to_owned(),
        };
        let link = view(&context, &redirect).link.unwrap();
        assert_eq!(link.label, "Continue to pay.example");
    }

    #[test]
    fn a_code_without_text_is_shown_as_the_png_that_came_and_as_nothing_else() {
        let context = samples::context(samples::waiting(None), Language::En);
        let shown = |image: Option<&str>| {
            let action = PayerAction::ShowQr {
                text: String::new(),
                image: image.map(str::to_owned),
            };
            view(&context, &action).qr.map(|qr| qr.svg)
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
        let text = |lang: &str, text: &str| LocalizedText {
            lang: lang.into(),
            text: text.into(),
        };
        let both = [
            text("en", "Dial"),
            text("fr", "Composez"),
            text("fr", "Confirmez"),
        ];
        let french = samples::context(samples::waiting(None), Language::Fr);
        assert_eq!(translated(&french, &both), ["Composez", "Confirmez"]);
        assert_eq!(translated(&french, &both[..1]), ["Dial"]);
        assert_eq!(translated(&french, &[text("sw", "Piga")]), ["Piga"]);
        assert!(translated(&french, &[]).is_empty());
    }
}
