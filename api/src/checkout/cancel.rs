//! Cancelling: asked first, since it cannot be taken back.

use askama::Template;
use axum::response::Response;
use switchyard_engine::engine::EngineError;
use switchyard_engine::transaction::Refusal;

use super::scene::{Frame, Scene};
use super::stand::{Stand, stand};
use super::visit::Visit;

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
pub async fn get(visit: Visit) -> Response {
    match stand(&visit.scene) {
        Stand::Choosing => page(&visit.scene),
        Stand::Waiting if visit.scene.tx.can_call_off() => page(&visit.scene),
        Stand::Waiting => under_way(&visit.scene),
        Stand::Ended => visit.scene.go("result", &[]),
    }
}

/// `POST /checkout/{id}/cancel`: twice is as good as once.
pub async fn post(visit: Visit) -> Response {
    match visit.engine().cancel(visit.scene.tx.id).await {
        // The page says what is awaited before it is cancelled.
        Ok(tx) if !tx.state.is_final() => visit.scene.go("wait", &[]),
        Ok(_) | Err(EngineError::Refused(Refusal::AlreadyEnded(_))) => {
            visit.scene.go("result", &[])
        }
        Err(EngineError::Refused(Refusal::AttemptUnderWay)) => under_way(&visit.scene),
        Err(error) => visit.trouble(&error),
    }
}

/// Money that may be moving cannot be called back.
fn under_way(scene: &Scene) -> Response {
    scene.go("wait", &[("notice", "under-way")])
}

pub(super) fn page(scene: &Scene) -> Response {
    scene.show(&Page {
        frame: scene.frame("cancel-title"),
        text: scene.say_merchant("cancel-text"),
        action: scene.link("cancel", &[]),
        hidden: scene.hidden(&[]),
        back: scene.link("", &[]),
    })
}
