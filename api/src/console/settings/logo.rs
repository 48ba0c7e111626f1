//! Upload and removal of an app's logo, each a form of its own on the page of the settings.

use axum::extract::Multipart;
use axum::extract::multipart::{Field, MultipartRejection};
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::limits::{LOGO_FILE_BYTES, LOGO_HEIGHT, LOGO_SIDE, LOGO_WIDTH};
use switchyard_engine::access::{AccessError, Logo, LogoError};
use switchyard_users::{Action, Permit};

use super::super::answer;
use super::super::form::{FieldError, Fields};
use super::super::installation::view::{Input, InputKind};
use super::super::page::{Failed, Page, Scoped};
use super::super::text::Text;
use super::draft::Draft;
use super::view;
use crate::app_facts;
use crate::operator::logo::received;

/// Name of the field with the file.
const FILE: &str = "file";

/// `POST /console/apps/{app}/{environment}/settings/logo`
///
/// The field `do` is `upload`, with a file, or `remove`.
pub async fn post(Scoped(page): Scoped, sent: Result<Multipart, MultipartRejection>) -> Response {
    let changed = change(&page, sent).await;
    answer(&page, changed)
}

async fn change(
    page: &Page,
    sent: Result<Multipart, MultipartRejection>,
) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageAppSettings)?;
    let take = async |fields: &mut Fields, file: Option<Field<'_>>| match fields.text("do") {
        "remove" => store(page, &permit, fields, None).await,
        _ => upload(page, &permit, fields, file).await,
    };
    Fields::with_file(page, sent, take).await
}

async fn upload(
    page: &Page,
    permit: &Permit,
    fields: &mut Fields,
    file: Option<Field<'_>>,
) -> Result<Response, Failed> {
    let Some(file) = file else {
        return refused(page, LogoError::Empty);
    };
    match received(file).await {
        Ok(Ok(logo)) => store(page, permit, fields, Some(logo)).await,
        Ok(Err(error)) => refused(page, error),
        Err(_) => Ok(page.message(StatusCode::BAD_REQUEST, "console-form-unreadable")),
    }
}

fn refused(page: &Page, error: LogoError) -> Result<Response, Failed> {
    let app = &page.scope().ok_or(Failed::NotFound)?.app;
    let error = FieldError::new(FILE, sentence(error, page.text()));
    let view = view(page, app, Draft::of_app(app), Some(error));
    Ok(page.show(StatusCode::UNPROCESSABLE_ENTITY, &view))
}

async fn store(
    page: &Page,
    permit: &Permit,
    fields: &mut Fields,
    logo: Option<Logo>,
) -> Result<Response, Failed> {
    let app = &page.scope().ok_or(Failed::NotFound)?.app;
    let done = match &logo {
        Some(_) => "logo-saved",
        None => "logo-removed",
    };
    let access = page.state.engine().access();
    let after = access
        .change_logo(app.id, logo)
        .await
        .map_err(|error| match error {
            AccessError::NotFound { .. } => Failed::NotFound,
            error => {
                tracing::warn!(%error, "failed to change a logo in the console");
                Failed::Unavailable
            }
        })?;
    fields.took_effect();
    let entry = permit.entry(app.id);
    page.audit(entry.changing(app_facts::logo(app), app_facts::logo(&after)))
        .await?;
    Ok(page.go(&page.in_scope(&format!("settings?done={done}"))))
}

/// The field for the file, with the error in it.
pub fn input(page: &Page, error: Option<&FieldError>) -> Input {
    let text = page.text();
    let error = error.filter(|error| error.field == FILE);
    let values = [
        ("kilobytes", &*(LOGO_FILE_BYTES / 1024).to_string()),
        ("side", &text.number(LOGO_SIDE.into())),
        ("width", &LOGO_WIDTH.to_string()),
        ("height", &LOGO_HEIGHT.to_string()),
    ];
    let input = Input {
        kind: InputKind::File,
        accept: Some("image/png,image/jpeg,image/webp"),
        ..Input::line(page, FILE, "console-logo-file", "")
    };
    input
        .with_hint(Some(text.with("console-logo-hint", &values)))
        .with_error(error.map(|error| error.text.clone()))
}

fn sentence(error: LogoError, text: Text) -> String {
    match error {
        LogoError::Empty => text.say("console-logo-empty"),
        LogoError::FileTooLarge => {
            let most = (LOGO_FILE_BYTES / 1024).to_string();
            text.with("console-logo-large", &[("kilobytes", &most)])
        }
        LogoError::Format => text.say("console-logo-format"),
        LogoError::TooManyPixels => {
            let most = text.number(LOGO_SIDE.into());
            text.with("console-logo-pixels", &[("side", &most)])
        }
        LogoError::Damaged => text.say("console-logo-damaged"),
    }
}
