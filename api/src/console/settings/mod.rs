//! Settings of an app: name, notifications, checkout and the look of its pages, with a preview.
//!
//! Left out: payouts with a public key, payout limits and changes that need a second person, which
//! protect the merchant's money from their own users. The page shows them; operators change them.

mod draft;
pub mod logo;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::colour::Colour;
use switchyard_core::money::{Amount, Currency};
use switchyard_engine::access::{AccessError, App, Logo};
use switchyard_users::Action;

use self::draft::Draft;
use super::form::{FieldError, Fields, Sent};
use super::frame::Frame;
use super::installation::view::{Input, InputKind};
use super::page::{Failed, Page, Scoped};
use super::refusals;
use super::{answer, shown};
use crate::app_facts;
use crate::pages::theme;

#[derive(Template)]
#[template(path = "console/settings.html")]
struct SettingsPage {
    frame: Frame,
    here: String,
    audit: Option<String>,
    may_change: bool,
    /// Time of the app's last change, in microseconds: a form that is older has no effect.
    seen: i64,
    draft: Draft,
    inputs: Inputs,
    /// Field of the form that uploads a logo.
    file: Input,
    /// Reason why the form had no effect.
    problem: Option<String>,
    preview: Preview,
    limits: Vec<(String, String)>,
}

/// Name of an error that is about the form as a whole.
const WHOLE: &str = "form";

/// Fields of the form by their sections.
struct Inputs {
    app: Vec<Input>,
    notifications: Vec<Input>,
    attempts: Vec<Input>,
    conversion: Vec<Input>,
    look: Vec<Input>,
}

/// Preview of the checkout with the entries of the form.
struct Preview {
    name: String,
    initials: String,
    logo: Option<String>,
    /// Style rules of the accent colour. `None`: the colours of the style sheet.
    style: Option<String>,
    support: Vec<String>,
    amount: String,
}

/// `GET /console/apps/{app}/{environment}/settings`
pub async fn get(Scoped(page): Scoped) -> Response {
    let view = || {
        page.permit(Action::ViewAppSettings)?;
        let app = &page.scope().ok_or(Failed::NotFound)?.app;
        Ok(shown(&page, &view(&page, app, Draft::of_app(app), None)))
    };
    answer(&page, view())
}

/// `POST /console/apps/{app}/{environment}/settings`
///
/// The field `do` is `preview`, which changes nothing, or `save`.
pub async fn post(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let done = match fields.text("do") {
        "preview" => preview(&page, &fields),
        _ => save(&page, &mut fields).await,
    };
    answer(&page, done)
}

fn preview(page: &Page, fields: &Fields) -> Result<Response, Failed> {
    page.permit(Action::ManageAppSettings)?;
    let app = &page.scope().ok_or(Failed::NotFound)?.app;
    let draft = Draft::of_form(fields);
    let error = draft.change(app, page.text()).err();
    Ok(shown(page, &view(page, app, draft, error)))
}

async fn save(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageAppSettings)?;
    let app = &page.scope().ok_or(Failed::NotFound)?.app;
    let draft = Draft::of_form(fields);
    if fields.text("seen") != app.updated_at.as_micros().to_string() {
        let error = FieldError::new(WHOLE, page.text().say("console-settings-changed"));
        let view = view(page, app, draft, Some(error));
        return Ok(page.show(StatusCode::CONFLICT, &view));
    }
    let refused = |draft, error| {
        let view = view(page, app, draft, Some(error));
        Ok(page.show(StatusCode::UNPROCESSABLE_ENTITY, &view))
    };
    if let Err(error) = draft.change(app, page.text()) {
        return refused(draft, error);
    }
    let access = page.state.engine().access();
    let change =
        |now: &App| Ok::<_, AccessError>(draft.change(now, page.text()).unwrap_or_default());
    match access.update_app_as(app.id, change).await {
        Ok(after) => {
            fields.took_effect();
            let entry = permit.entry(app.id);
            page.audit(entry.changing(app_facts::of(app), app_facts::of(&after)))
                .await?;
            Ok(page.go(&page.in_scope("settings?done=settings-saved")))
        }
        Err(AccessError::Invalid { field, problem }) => {
            let text = page.text();
            let error = Draft::error(field, text).unwrap_or_else(|| {
                let problem = refusals::field_sentence(field, &problem, text);
                FieldError::new(WHOLE, problem)
            });
            refused(draft, error)
        }
        Err(AccessError::NotFound { .. }) => Err(Failed::NotFound),
        Err(error) => {
            tracing::warn!(%error, "failed to change an app in the console");
            Err(Failed::Unavailable)
        }
    }
}

fn view(page: &Page, app: &App, draft: Draft, error: Option<FieldError>) -> SettingsPage {
    let may_change = page.may(Action::ManageAppSettings);
    SettingsPage {
        frame: page.frame("console-settings", "settings"),
        here: page.in_scope("settings"),
        audit: page.may(Action::ViewAudit).then(|| page.in_scope("audit")),
        may_change,
        problem: error.as_ref().map(|error| match error.field {
            WHOLE => error.text.clone(),
            _ => page.text().say("console-marked-fields"),
        }),
        file: logo::input(page, error.as_ref()),
        inputs: Inputs::of(page, &draft, error.as_ref(), !may_change),
        seen: app.updated_at.as_micros(),
        preview: Preview::of(page, app, &draft),
        limits: limits(page, app),
        draft,
    }
}

impl Inputs {
    fn of(page: &Page, draft: &Draft, error: Option<&FieldError>, is_read_only: bool) -> Self {
        let text = page.text();
        let line = |name: &str, label: &str, hint: &str, value: &str| {
            let error = error.filter(|error| error.field == name);
            let hint = (!hint.is_empty()).then(|| text.say(hint));
            let input = Input::line(page, name, label, value).with_hint(hint);
            Input {
                is_required: name == "name",
                is_read_only,
                ..input.with_error(error.map(|error| error.text.clone()))
            }
        };
        Self {
            app: vec![
                line("name", "console-name-of-app", "", &draft.name),
                line("website_url", "console-website", "", &draft.website_url),
            ],
            notifications: vec![line(
                "merchant_email",
                "console-merchant-email",
                "console-merchant-email-hint",
                &draft.merchant_email,
            )],
            attempts: vec![line(
                "checkout_attempts",
                "console-attempts-setting",
                "console-attempts-hint",
                &draft.checkout_attempts,
            )],
            conversion: vec![line(
                "conversion",
                "console-conversion",
                "console-conversion-hint",
                &draft.conversion,
            )],
            look: vec![
                line(
                    "accent_colour",
                    "console-colour",
                    "console-colour-hint",
                    &draft.accent_colour,
                ),
                line(
                    "support_email",
                    "console-support-email",
                    "console-support-hint",
                    &draft.support_email,
                ),
                line(
                    "support_phone",
                    "console-support-phone",
                    "",
                    &draft.support_phone,
                ),
                line("support_url", "console-support-url", "", &draft.support_url),
            ],
        }
    }
}

impl Preview {
    fn of(page: &Page, app: &App, draft: &Draft) -> Self {
        let colour = Colour::parse(&draft.accent_colour);
        let support = [
            &draft.support_email,
            &draft.support_phone,
            &draft.support_url,
        ];
        let given = support.into_iter().filter(|text| !text.is_empty());
        Self {
            name: draft.name.clone(),
            initials: super::page::initials(&draft.name),
            logo: app.settings.logo.as_ref().map(Logo::data_url),
            style: colour.map(|colour| theme::rules(".preview", colour)),
            support: given.cloned().collect(),
            amount: page.text().say("console-preview-amount"),
        }
    }
}

/// Settings that operators change, with their values.
fn limits(page: &Page, app: &App) -> Vec<(String, String)> {
    let text = page.text();
    let limits = &app.settings.payout_limits;
    let count = |limit: Option<u32>| match limit {
        None => text.say("console-limit-installation"),
        Some(0) => text.say("console-limit-off"),
        Some(count) => text.number(count.into()),
    };
    let with_public_key = match app.settings.unsafe_payouts_with_public_key {
        true => "console-public-payouts-on",
        false => "console-public-payouts-off",
    };
    let mut shown = vec![
        (
            text.say("console-public-payouts"),
            text.say(with_public_key),
        ),
        (
            text.say("console-limit-recipient"),
            count(limits.per_recipient),
        ),
        (text.say("console-limit-day"), count(limits.per_day)),
    ];
    let amounts = limits.amount_per_day.iter();
    shown.extend(amounts.map(|(currency, amount)| {
        let name = text.with("console-limit-amount", &[("currency", currency)]);
        (name, amount.clone())
    }));
    shown.extend(second_person(page, app));
    shown
}

/// Changes in live that need a second person.
fn second_person(page: &Page, app: &App) -> Vec<(String, String)> {
    let text = page.text();
    let settings = &app.settings.second_person;
    let payouts = settings.payouts_above.iter().map(|(code, above)| {
        let currency = Currency::from_code(code);
        let amount = currency.and_then(|currency| Amount::parse_major(above, currency).ok());
        match amount {
            Some(amount) => {
                let amount = amount.with_code(text.language());
                text.with("console-second-person-above", &[("amount", &amount)])
            }
            None => text.with("console-second-person-each", &[("currency", code)]),
        }
    });
    let mut payouts: Vec<_> = payouts.collect();
    payouts.push(text.say(match payouts.is_empty() {
        true => "console-second-person-none",
        false => "console-second-person-others",
    }));
    let routing = match settings.routing {
        true => "console-second-person-on",
        false => "console-second-person-off",
    };
    vec![
        (
            text.say("console-second-person-payouts"),
            payouts.join("; "),
        ),
        (text.say("console-second-person-routing"), text.say(routing)),
    ]
}
