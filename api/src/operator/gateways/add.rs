//! Installation of a file: the first version of a gateway, or an upgrade.

use axum::body::Body;
use axum::extract::State;
use switchyard_gateway_host::Consent;
use switchyard_gateway_host::manifest::Hosts;

use super::super::contract::gateways::{Gateway, InstallOptions};
use super::super::error::Answer;
use super::super::input::QueryParams;
use super::{Asking, by, taken, upload};
use crate::openapi::Success;
use crate::state::ApiState;

/// Install or upgrade a gateway
///
/// The body is the file, at most 256 MiB. An upgrade that widens the hosts or comes from another
/// source is stored and waits in `awaiting_approval` for a second operator (202); the current
/// version stays active, and no code of the new file runs.
#[utoipa::path(
    post,
    path = "/gateways",
    operation_id = "addGateway",
    tag = "Gateways",
    params(InstallOptions),
    request_body(content = [u8], content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "The gateway.", body = Success<Gateway>),
        (
            status = 202,
            description = "The gateway, with the upgrade that awaits approval.",
            body = Success<Gateway>,
        ),
    ),
)]
pub async fn add(
    State(state): State<ApiState>,
    asking: Asking,
    QueryParams(terms): QueryParams<InstallOptions>,
    body: Body,
) -> Answer {
    let gateways = state.engine().gateways();
    let mut file = upload::received(gateways, body.into_data_stream()).await?;
    let path = file.whole().await?;
    let hosts = hosts(&terms);
    let consent = match terms.consent {
        Some(sha256) => Consent::Given { sha256, hosts },
        None => Consent::Standing,
    };
    let by = by(&asking, terms.why.as_deref());
    let added = gateways.install(path, consent, &by).await;
    taken(&state, added).await
}

/// Returns the only hosts that the gateway may contact; `None`: those of its manifest.
fn hosts(options: &InstallOptions) -> Option<Hosts> {
    let listed = |hosts: &Option<String>| {
        let hosts = hosts.as_deref().unwrap_or_default().split(',');
        let named = hosts.map(str::trim).filter(|host| !host.is_empty());
        named.map(str::to_owned).collect()
    };
    let is_narrowed = options.sandbox_hosts.is_some() || options.live_hosts.is_some();
    is_narrowed.then(|| Hosts {
        sandbox: listed(&options.sandbox_hosts),
        live: listed(&options.live_hosts),
    })
}
