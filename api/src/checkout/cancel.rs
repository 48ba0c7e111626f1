//! Cancelling: asked first, since it cannot be taken back.

use askama::Template;
use axum::response::Response;
use switchyard_core::transaction::Refusal;
use switchyard_engine::engine::EngineError;

use super::page_context::{Frame, PageContext};
use super::request::CheckoutRequest;
use super::step::{Step, current_step};
use super::wait::may_cancel;

#[derive(Template)]
#[template(path = "checkout/cancel.html")]
struct Page {
    frame: Frame,
    text: String,
    action: String,
    hidden: Vec<(&'static str, String)>,
    back: String,
}

/// `GET /checkout/{id}/cancel`
pub async fn get(mut request: CheckoutRequest) -> Response {
    request.read_timeline().await;
    question(&request.context)
}

/// The question, where the payment can be cancelled; otherwise the page that fits.
pub(super) fn question(context: &PageContext) -> Response {
    match current_step(context) {
        Step::Choosing => page(context),
        // Money that came is not cancelled: the page says what is known about it.
        Step::Waiting if context.is_in_question() => context.go("wait", &[]),
        Step::Waiting if may_cancel(context) => page(context),
        Step::Waiting => under_way(context),
        Step::Ended => context.go("result", &[]),
    }
}

/// `POST /checkout/{id}/cancel`: twice is as good as once.
pub async fn post(mut request: CheckoutRequest) -> Response {
    request.read_timeline().await;
    if request.context.has_seen_coins() {
        return under_way(&request.context);
    }
    match request.engine().cancel(request.context.tx.id).await {
        // The page says what is awaited before it is cancelled.
        Ok(tx) if !tx.state.is_final() => request.context.go("wait", &[]),
        Ok(_) => request.context.go("result", &[]),
        Err(EngineError::Refused(refusal)) if refusal != Refusal::Paused => {
            refused(&request.context, &refusal)
        }
        Err(error) => request.error_page(&error),
    }
}

/// To the page that says why the payment is not cancelled.
pub(super) fn refused(context: &PageContext, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::AlreadyEnded(_) => context.go("result", &[]),
        Refusal::AttemptUnderWay => under_way(context),
        // Money may have come since the question was shown: the page says what can be done.
        _ => context.go("wait", &[]),
    }
}

/// Money that may be moving cannot be called back.
fn under_way(context: &PageContext) -> Response {
    context.go("wait", &[("notice", "under-way")])
}

pub(super) fn page(context: &PageContext) -> Response {
    context.show(&Page {
        frame: context.frame("cancel-title"),
        text: match context.tx.has_open_attempt() {
            true => format!(
                "{} {}",
                context.say_merchant("cancel-text"),
                context.say("cancel-under-way")
            ),
            false => context.say_merchant("cancel-text"),
        },
        action: context.link("cancel", &[]),
        hidden: context.hidden(&[]),
        back: context.link("", &[]),
    })
}
