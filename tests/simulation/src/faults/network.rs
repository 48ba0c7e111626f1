//! Faults of the network between the engine, the providers and the merchants.

use std::sync::Arc;

use switchyard_system::simulation::Request;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{Fault, is_planted};
use crate::world::Shared;

/// The permit for the only request in flight. Used by [`Fault::TurnsShared`] only.
pub type Turn = Arc<Mutex<()>>;

/// Waits until no other request to a provider is in flight.
pub async fn turn(world: &Shared) -> Option<OwnedMutexGuard<()>> {
    if !is_planted(Fault::TurnsShared) {
        return None;
    }
    let turn = world.lock().turn.clone();
    Some(turn.lock_owned().await)
}

/// Changes a request that leaves for a provider.
pub fn to_provider(request: &mut Request) {
    if is_planted(Fault::EnvironmentMixed) {
        request.url = request.url.replacen(".live.", ".sandbox.", 1);
    }
}

/// Changes a webhook that leaves for a merchant.
pub fn to_merchant(world: &Shared, request: &mut Request) {
    if !is_planted(Fault::EventRenamed) {
        return;
    }
    let world = world.lock();
    let mut sent = world.evidence.deliveries.iter();
    let id = request.header("webhook-id");
    let is_repeated =
        sent.any(|delivery| delivery.webhook == request.url && delivery.event_id == id);
    let headers = request.headers.iter_mut();
    for (_, id) in headers.filter(|(name, _)| is_repeated && name == "webhook-id") {
        id.push_str("-again");
    }
}

/// Returns the status that the engine reads when a merchant responded with `status`.
pub fn from_merchant(status: u16) -> u16 {
    match status {
        200 if is_planted(Fault::AcknowledgmentForgotten) => 500,
        410 if is_planted(Fault::GoneForgotten) => 200,
        status => status,
    }
}
