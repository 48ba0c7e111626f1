//! Takes a file on: the first version of a gateway, or the next one of a gateway that is there.

use axum::body::Body;
use axum::extract::State;
use serde::Deserialize;
use switchyard_engine::gateway::Consent;
use switchyard_engine::gateway::manifest::Hosts;

use super::super::error::Answer;
use super::super::input::Asked;
use super::{Asking, by, taken, upload};
use crate::state::ApiState;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallOptions {
    /// SHA-256 that the operator approves. Without it the hash must be pinned, or the server in
    /// development mode.
    consent: Option<String>,
    /// The only hosts that it may talk to, separated by commas. Without either: all that its manifest lists.
    sandbox_hosts: Option<String>,
    live_hosts: Option<String>,
    why: Option<String>,
}

pub async fn add(
    State(state): State<ApiState>,
    asking: Asking,
    Asked(terms): Asked<InstallOptions>,
    body: Body,
) -> Answer {
    let gateways = &state.engine.gateways;
    let mut file = upload::received(gateways, body).await?;
    let path = file.whole().await?;
    let hosts = terms.hosts();
    let consent = match terms.consent {
        Some(sha256) => Consent::Given { sha256, hosts },
        None => Consent::Standing,
    };
    let by = by(&asking, terms.why.as_deref());
    let added = gateways.install(path, consent, &by).await;
    taken(&state, added).await
}

impl InstallOptions {
    fn hosts(&self) -> Option<Hosts> {
        let listed = |hosts: &Option<String>| {
            let hosts = hosts.as_deref().unwrap_or_default().split(',');
            let named = hosts.map(str::trim).filter(|host| !host.is_empty());
            named.map(str::to_owned).collect()
        };
        let is_narrowed = self.sandbox_hosts.is_some() || self.live_hosts.is_some();
        is_narrowed.then(|| Hosts {
            sandbox: listed(&self.sandbox_hosts),
            live: listed(&self.live_hosts),
        })
    }
}
