//! Fields of the form of an app's settings.

use switchyard_core::colour::{Colour, LEAST_CONTRAST};
use switchyard_core::money::Correction;
use switchyard_engine::access::{App, AppChange, AppSettings};

use super::super::form::{FieldError, Fields};
use super::super::text::Text;

/// Settings as they are typed.
pub struct Draft {
    pub name: String,
    pub website_url: String,
    pub merchant_email: String,
    pub notify_merchant: bool,
    pub notify_customer: bool,
    pub checkout_attempts: String,
    /// Empty: the payer's browser decides.
    pub locale: String,
    /// Percent. Empty: payers pay in the currency of the payment only.
    pub conversion: String,
    pub accent_colour: String,
    pub support_email: String,
    pub support_phone: String,
    pub support_url: String,
}

/// Fields in which an error can be, with the message about it.
const FIELDS: &[(&str, &str)] = &[
    ("name", "console-name-invalid"),
    ("website_url", "console-website-invalid"),
    ("merchant_email", "console-email-invalid"),
    ("checkout_attempts", "console-attempts-invalid"),
    ("locale", "console-locale-invalid"),
    ("conversion", "console-conversion-invalid"),
    ("accent_colour", "console-colour-invalid"),
    ("support_email", "console-email-invalid"),
    ("support_phone", "console-phone-invalid"),
    ("support_url", "console-support-url-invalid"),
];

impl Draft {
    pub fn of_app(app: &App) -> Self {
        let settings = &app.settings;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let conversion = settings.conversion.map(|percent| percent.to_string());
        Self {
            name: app.name.clone(),
            website_url: text(&app.website_url),
            merchant_email: text(&settings.merchant_email),
            notify_merchant: settings.notify_merchant,
            notify_customer: settings.notify_customer,
            checkout_attempts: settings.checkout_attempts.to_string(),
            locale: text(&settings.locale),
            conversion: conversion.unwrap_or_default(),
            accent_colour: text(&settings.accent_colour),
            support_email: text(&settings.support_email),
            support_phone: text(&settings.support_phone),
            support_url: text(&settings.support_url),
        }
    }

    pub fn of_form(fields: &Fields) -> Self {
        let text = |name: &str| fields.text(name).to_owned();
        let is_on = |name: &str| fields.text(name) == "on";
        Self {
            name: text("name"),
            website_url: text("website_url"),
            merchant_email: text("merchant_email"),
            notify_merchant: is_on("notify_merchant"),
            notify_customer: is_on("notify_customer"),
            checkout_attempts: text("checkout_attempts"),
            locale: text("locale"),
            conversion: fields.text("conversion").replace(',', "."),
            accent_colour: text("accent_colour").to_lowercase(),
            support_email: text("support_email"),
            support_phone: text("support_phone"),
            support_url: text("support_url"),
        }
    }

    /// The change that the form asks for, or its first error.
    pub fn change(&self, app: &App, text: Text) -> Result<AppChange, FieldError> {
        let say = |field| FieldError::new(field, text.say(message(field)));
        let attempts = self.checkout_attempts.parse();
        let checkout_attempts = attempts.map_err(|_| say("checkout_attempts"))?;
        let conversion = match self.conversion.as_str() {
            "" => None,
            percent => Some(Correction::parse(percent).map_err(|_| say("conversion"))?),
        };
        if let Some(colour) = Colour::parse(&self.accent_colour)
            && colour.contrast(Colour::WHITE) < LEAST_CONTRAST
        {
            let darker = colour.readable_on(Colour::WHITE, Colour::BLACK, LEAST_CONTRAST);
            let values = [("colour", &*darker.to_string())];
            let text = text.with("console-colour-pale", &values);
            return Err(FieldError::new("accent_colour", text));
        }
        let given = |value: &str| Some(value.to_owned()).filter(|value| !value.is_empty());
        let settings = AppSettings {
            merchant_email: given(&self.merchant_email),
            notify_merchant: self.notify_merchant,
            notify_customer: self.notify_customer,
            checkout_attempts,
            locale: given(&self.locale),
            conversion,
            accent_colour: given(&self.accent_colour),
            support_email: given(&self.support_email),
            support_phone: given(&self.support_phone),
            support_url: given(&self.support_url),
            ..app.settings.clone()
        };
        Ok(AppChange {
            name: Some(self.name.clone()),
            website_url: Some(given(&self.website_url)),
            settings: Some(settings),
            ..AppChange::default()
        })
    }

    /// The field of the form for a field of the app, with the message about an error in it.
    pub fn error(field: &str, text: Text) -> Option<FieldError> {
        let name = field.strip_prefix("settings.").unwrap_or(field);
        let (field, message) = FIELDS.iter().find(|(field, _)| *field == name)?;
        Some(FieldError::new(field, text.say(message)))
    }
}

fn message(field: &str) -> &'static str {
    let found = FIELDS.iter().find(|(name, _)| *name == field);
    found.map_or("console-form-unreadable", |(_, message)| message)
}
