//! Second factor of the reader, who confirmed their password recently: set-up of an authenticator
//! app in place of an earlier one, new recovery codes, and removal.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_users::{RecoveryCodes, UsersError};

use crate::console::form::{Fields, Sent};
use crate::console::frame::Frame;
use crate::console::page::{Failed, Page, SignedIn};
use crate::console::{answer, shown};
use crate::pages::qr;

#[derive(Template)]
#[template(path = "console/second_factor.html")]
struct SecondFactorPage {
    frame: Frame,
    error: Option<String>,
    qr: String,
    key: String,
    has_totp: bool,
}

#[derive(Template)]
#[template(path = "console/new_codes.html")]
struct NewCodesPage {
    frame: Frame,
    codes: Vec<String>,
}

/// `GET /console/account/second-factor`
pub async fn get(SignedIn(page): SignedIn) -> Response {
    let form = show(&page, StatusCode::OK, None);
    answer(&page, form)
}

/// `POST /console/account/second-factor`
///
/// The field `do` names the change: `set-up` with a code of the app, `codes` or `remove`.
pub async fn post(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let changed = change(&page, &mut fields).await;
    answer(&page, changed)
}

async fn change(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let Some(who) = page.identity() else {
        return Ok(page.to_sign_in());
    };
    let users = page.state.users();
    let codes = match fields.text("do") {
        "remove" => match users.remove_second_factor(who).await {
            Ok(()) => {
                fields.took_effect();
                return Ok(page.go(&page.link("account?done=own-factor-removed")));
            }
            Err(error) => Err(error),
        },
        "codes" => users.renew_recovery_codes(who).await,
        _ => users.confirm_setup(who, fields.text("code")).await,
    };
    let (status, message) = match codes {
        Ok(codes) => {
            fields.took_effect();
            return Ok(show_codes(page, &codes));
        }
        Err(UsersError::WrongFactor) => (StatusCode::UNPROCESSABLE_ENTITY, "console-code-refused"),
        Err(UsersError::SignInExpired) => (StatusCode::CONFLICT, "console-totp-expired"),
        Err(UsersError::NotPossible(_)) => (StatusCode::CONFLICT, "console-factor-required"),
        Err(error) => return Err(error.into()),
    };
    show(page, status, Some(message))
}

/// Shows the secret of an authenticator. After a wrong code it is the same secret.
fn show(page: &Page, status: StatusCode, error: Option<&str>) -> Result<Response, Failed> {
    let Some(who) = page.identity() else {
        return Ok(page.to_sign_in());
    };
    let setup = page.state.users().begin_setup(who)?;
    let label = page.text().say("console-totp-qr");
    let form = SecondFactorPage {
        frame: page.frame("console-second-factor", "account-page"),
        error: error.map(|message| page.text().say(message)),
        qr: qr::svg(setup.uri.expose(), &label).unwrap_or_default(),
        key: setup.secret.expose().clone(),
        has_totp: who.user.has_totp(),
    };
    Ok(page.show(status, &form))
}

fn show_codes(page: &Page, codes: &RecoveryCodes) -> Response {
    let made = NewCodesPage {
        frame: page.frame("console-recovery-title", "account-page"),
        codes: codes.0.iter().map(|code| code.expose().clone()).collect(),
    };
    shown(page, &made)
}
