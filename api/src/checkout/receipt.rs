//! The receipt of a payment that succeeded: the page to which mails link. It stays until the reader leaves it.

use askama::Template;
use axum::response::Response;
use switchyard_engine::transaction::State;

use super::result::{is_taken_back, open_cases, paid_with};
use super::scene::{Frame, Row, Scene};
use super::stand::stand;
use super::visit::Visit;

#[derive(Template)]
#[template(path = "checkout/receipt.html")]
struct Page {
    frame: Frame,
    /// `None`: the provider took the success back.
    note: Option<String>,
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
    let review = Some(open_cases(scene)).filter(|text| !text.is_empty());
    scene.show(&Page {
        frame: scene.frame("receipt-title").with_notice(review),
        note: (!is_taken_back(&scene.tx)).then(|| scene.say_merchant("receipt-note")),
        rows,
    })
}
