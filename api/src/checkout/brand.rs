//! The merchant's own look: logo, colour and support contact, from the settings of the app.

use switchyard_core::colour::Colour;
use switchyard_engine::access::App;

use crate::pages::theme;

/// A way to reach the merchant.
pub struct Contact {
    pub href: String,
    pub text: String,
}

/// Path of the logo, which changes with the picture.
pub fn logo_path(app: &App) -> Option<String> {
    let logo = app.settings.logo.as_ref();
    logo.map(|logo| logo.path(app.id))
}

/// Rules that put the app's colour in place of the accent of the style sheet.
pub fn theme(app: &App) -> Option<String> {
    let own = Colour::parse(app.settings.accent_colour.as_deref()?)?;
    Some(theme::rules(":root", own))
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
    fn an_app_without_a_colour_has_the_colours_of_the_style_sheet() {
        assert!(theme(&app(|_| ())).is_none());
        let own = app(|app| app.settings.accent_colour = Some("#001f5b".to_owned()));
        assert!(theme(&own).unwrap().contains("--accent:#001f5b;"));
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
