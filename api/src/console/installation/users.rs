//! Users of the installation. The pages are those of a team, without an app.

use axum::extract::Path;
use axum::response::Response;

use super::super::form::Sent;
use super::super::page::SignedIn;
use super::super::{answer, team};

/// `GET /console/installation/users`
pub async fn list(SignedIn(page): SignedIn) -> Response {
    answer(&page, team::show_list(&page))
}

/// `POST /console/installation/users`
pub async fn change_invitation(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let changed = team::change_link(&page, &mut fields).await;
    answer(&page, changed)
}

/// `GET /console/installation/users/new`
pub async fn new(SignedIn(page): SignedIn) -> Response {
    answer(&page, team::show_new(&page))
}

/// `POST /console/installation/users/new`
pub async fn invite(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let invited = team::send_invitation(&page, &mut fields).await;
    answer(&page, invited)
}

/// `GET /console/installation/users/{user}`
pub async fn get(SignedIn(page): SignedIn, Path(id): Path<String>) -> Response {
    answer(&page, team::show_member(&page, &id))
}

/// `POST /console/installation/users/{user}`
pub async fn change(
    Path(id): Path<String>,
    Sent(SignedIn(page), mut fields): Sent<SignedIn>,
) -> Response {
    let changed = team::change_member(&page, &id, &mut fields).await;
    answer(&page, changed)
}
