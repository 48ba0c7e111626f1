//! The receipt of a payment that succeeded: the page to which mails link. It stays until the reader leaves it.

use askama::Template;
use axum::response::Response;
use switchyard_engine::transaction::State;

use super::result::paid_with;
use super::scene::{Frame, Row, Scene};
use super::stand::stand;
use super::visit::Visit;

#[derive(Template)]
#[template(path = "checkout/receipt.html")]
struct Page {
    frame: Frame,
    note: String,
    rows: Vec<Row>,
}

/// `GET /checkout/{id}/receipt`: leads to where the payment stands when it did not succeed.
pub async fn get(visit: Visit) -> Response {
    match visit.scene.tx.state {
        State::Succeeded => page(&visit.scene),
        _ => visit.scene.go(stand(&visit.scene).step(), &[]),
    }
}

pub(super) fn page(scene: &Scene) -> Response {
    let mut rows = scene.money_rows();
    rows.push(scene.row("row-merchant", &scene.app.name));
    rows.push(scene.row("row-for", &scene.tx.description));
    rows.extend(paid_with(scene));
    if let Some(at) = scene.tx.success_at {
        let date = scene.visitor.language.written().date(at);
        rows.push(scene.row("row-date", date));
    }
    rows.push(scene.row("row-reference", scene.tx.id.to_string()).fine());
    scene.show(&Page {
        frame: scene.frame("receipt-title"),
        note: scene.say_merchant("receipt-note"),
        rows,
    })
}
