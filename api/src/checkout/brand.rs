//! The merchant's own look: logo, colour and support contact, from the settings of the app.

use base16ct::lower::encode_string;
use sha2::{Digest as _, Sha256};
use switchyard_core::colour::{Colour, LEAST_CONTRAST};
use switchyard_engine::access::App;

/// Grounds of the style sheet's dark scheme: text in the accent colour stands on both.
const DARK_CARD: Colour = Colour::new(0x17, 0x20, 0x1d);
const DARK_GROUND: Colour = Colour::new(0x0e, 0x14, 0x12);

/// A way to reach the merchant.
pub struct Contact {
    pub href: String,
    pub text: String,
}

/// Path of the logo, which changes with the picture.
pub fn logo_path(app: &App) -> Option<String> {
    let data = app.settings.logo.as_deref()?;
    let mark = encode_string(&Sha256::digest(data.as_bytes())[..4]);
    Some(format!("/icons/logos/{}?v={mark}", app.id))
}

/// Rules that put the app's colour in place of the accent of the style sheet, in the light and the
/// dark scheme.
pub fn theme(app: &App) -> Option<String> {
    let own = Colour::parse(app.settings.accent_colour.as_deref()?)?;
    let light = [
        ("accent", own),
        ("accent-deep", own.mixed(Colour::BLACK, 28)),
        ("on-accent", Colour::WHITE),
        ("tint", tint(own)),
    ];
    let accent = own.readable_on(DARK_CARD, Colour::WHITE, LEAST_CONTRAST + 1.0);
    let dark = [
        ("accent", accent),
        ("accent-deep", accent.mixed(Colour::WHITE, 30)),
        ("on-accent", DARK_GROUND),
        ("tint", DARK_CARD.mixed(accent, 10)),
    ];
    let rules = |rules: [(&str, Colour); 4]| -> String {
        rules
            .map(|(name, value)| format!("--{name}:{value};"))
            .concat()
    };
    Some(format!(
        ":root{{{}}}@media (prefers-color-scheme:dark){{:root{{{}}}}}",
        rules(light),
        rules(dark)
    ))
}

/// A pale ground on which text in the accent colour is readable.
fn tint(own: Colour) -> Colour {
    let pale = [90, 93, 96, 98].map(|percent| own.mixed(Colour::WHITE, percent));
    pale.into_iter()
        .find(|ground| own.contrast(*ground) >= LEAST_CONTRAST)
        .unwrap_or(Colour::WHITE)
}

/// The merchant's support contact, as links.
pub fn contacts(app: &App) -> Vec<Contact> {
    let settings = &app.settings;
    let dialled = |phone: &str| -> String {
        phone
            .chars()
            .filter(|c| c.is_ascii_digit() || *c == '+')
            .collect()
    };
    let mail = settings.support_email.as_ref().map(|mail| Contact {
        href: format!("mailto:{mail}"),
        text: mail.clone(),
    });
    let phone = settings.support_phone.as_ref().map(|phone| Contact {
        href: format!("tel:{}", dialled(phone)),
        text: phone.clone(),
    });
    let page = settings.support_url.as_ref().map(|url| Contact {
        href: url.clone(),
        text: url
            .trim_start_matches("https://")
            .trim_end_matches('/')
            .to_owned(),
    });
    [mail, phone, page].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;
    use switchyard_core::language::Language;

    fn app(change: impl FnOnce(&mut App)) -> App {
        let context = samples::context(samples::payment(), Language::En);
        let mut app = (*context.app).clone();
        change(&mut app);
        app
    }

    #[test]
    fn every_allowed_colour_is_readable_in_both_schemes() {
        for colour in [
            "#095f4b", "#767676", "#000000", "#001f5b", "#d00000", "#7a4b00",
        ] {
            let app = app(|app| app.settings.accent_colour = Some(colour.to_owned()));
            assert!(app.settings.check().is_ok(), "{colour}");
            let own = Colour::parse(colour).unwrap();
            assert!(own.contrast(tint(own)) >= LEAST_CONTRAST, "{colour}");
            let accent = own.readable_on(DARK_CARD, Colour::WHITE, LEAST_CONTRAST + 1.0);
            assert!(accent.contrast(DARK_GROUND) >= LEAST_CONTRAST, "{colour}");
            let tinted = DARK_CARD.mixed(accent, 10);
            assert!(accent.contrast(tinted) >= LEAST_CONTRAST, "{colour}");
            let theme = theme(&app).unwrap();
            assert!(theme.contains(&format!("--accent:{colour};")), "{theme}");
        }
        assert!(theme(&app(|_| ())).is_none());
    }

    #[test]
    fn a_support_contact_is_a_link() {
        let app = app(|app| {
            app.settings.support_email = Some("help@shop.example".to_owned());
            app.settings.support_phone = Some("+229 01 97 80 80 80".to_owned());
            app.settings.support_url = Some("https://shop.example/help/".to_owned());
        });
        let links: Vec<_> = contacts(&app)
            .into_iter()
            .map(|contact| (contact.href, contact.text))
            .collect();
        assert_eq!(links[0].0, "mailto:help@shop.example");
        assert_eq!(links[1].0, "tel:+2290197808080");
        assert_eq!(links[2].1, "shop.example/help");
    }
}
