//! The receipt of a payment that succeeded: the page to which mails link. It stays until the reader
//! leaves it.

use askama::Template;
use axum::response::Response;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::State;

use super::page_context::{Frame, PageContext, Row};
use super::request::CheckoutRequest;
use super::result::{is_taken_back, open_cases, paid_with};
use super::step::current_step;

#[derive(Template)]
#[template(path = "checkout/receipt.html")]
struct Page {
    frame: Frame,
    title: String,
    /// `None`: the provider took the success back.
    note: Option<String>,
    rows: Vec<Row>,
}

/// `GET /checkout/{id}/receipt`: leads to where the payment stands when it did not succeed.
pub async fn get(request: CheckoutRequest) -> Response {
    match request.context.tx.state {
        State::Succeeded => page(&request.context),
        _ => request
            .context
            .go(current_step(&request.context).path(), &[]),
    }
}

pub(super) fn page(context: &PageContext) -> Response {
    let mut rows = context.money_rows();
    rows.push(context.row("row-merchant", &context.app.name));
    rows.push(context.row("row-for", &context.tx.description).prose());
    rows.extend(paid_with(context));
    if let Some(at) = context.tx.success_at {
        let date = context.visitor.language.date(at);
        rows.push(context.row("row-date", date));
    }
    rows.push(
        context
            .row("row-reference", context.tx.id.to_string())
            .fine(),
    );
    let review = Some(open_cases(context)).filter(|text| !text.is_empty());
    let is_taken_back = is_taken_back(&context.tx);
    // A payment that was reported as failed has no receipt.
    let title = context.say(match is_taken_back {
        true => "result-review-title",
        false => "receipt-title",
    });
    let note = match context.tx.environment {
        Environment::Live => "receipt-note",
        Environment::Sandbox => "receipt-note-test",
    };
    context.show(&Page {
        frame: context.frame_titled(&title).with_notice(review),
        title,
        note: (!is_taken_back).then(|| context.say_merchant(note)),
        rows,
    })
}
