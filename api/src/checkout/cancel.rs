//! Cancelling: asked first, since it cannot be taken back.

use askama::Template;
use axum::response::Response;
use switchyard_engine::engine::EngineError;
use switchyard_engine::transaction::Refusal;

use super::scene::{Frame, Scene};
use super::stand::{Stand, stand};
use super::visit::Visit;
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
pub async fn get(mut visit: Visit) -> Response {
    visit.look_back().await;
    asked(&visit.scene)
}

/// The question, where the payment can be cancelled; otherwise the page that fits.
pub(super) fn asked(scene: &Scene) -> Response {
    match stand(scene) {
        Stand::Choosing => page(scene),
        // Money that came is not cancelled: the page says what is known about it.
        Stand::Waiting if scene.is_in_question() => scene.go("wait", &[]),
        Stand::Waiting if may_cancel(scene) => page(scene),
        Stand::Waiting => under_way(scene),
        Stand::Ended => scene.go("result", &[]),
    }
}

/// `POST /checkout/{id}/cancel`: twice is as good as once.
pub async fn post(mut visit: Visit) -> Response {
    visit.look_back().await;
    if visit.scene.has_seen_coins() {
        return under_way(&visit.scene);
    }
    match visit.engine().cancel(visit.scene.tx.id).await {
        // The page says what is awaited before it is cancelled.
        Ok(tx) if !tx.state.is_final() => visit.scene.go("wait", &[]),
        Ok(_) => visit.scene.go("result", &[]),
        Err(EngineError::Refused(refusal)) if refusal != Refusal::Paused => {
            refused(&visit.scene, &refusal)
        }
        Err(error) => visit.trouble(&error),
    }
}

/// To the page that says why the payment is not cancelled.
pub(super) fn refused(scene: &Scene, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::AlreadyEnded(_) => scene.go("result", &[]),
        Refusal::AttemptUnderWay => under_way(scene),
        // Money may have come since the question was shown: the page says what can be done.
        _ => scene.go("wait", &[]),
    }
}

/// Money that may be moving cannot be called back.
fn under_way(scene: &Scene) -> Response {
    scene.go("wait", &[("notice", "under-way")])
}

pub(super) fn page(scene: &Scene) -> Response {
    scene.show(&Page {
        frame: scene.frame("cancel-title"),
        text: match scene.tx.has_open_attempt() {
            true => format!(
                "{} {}",
                scene.say_merchant("cancel-text"),
                scene.say("cancel-under-way")
            ),
            false => scene.say_merchant("cancel-text"),
        },
        action: scene.link("cancel", &[]),
        hidden: scene.hidden(&[]),
        back: scene.link("", &[]),
    })
}
