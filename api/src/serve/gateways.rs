//! Loads the gateways that lie in the operator's folder. One that is refused is reported, and the engine goes on without it.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use switchyard_engine::clock::Clock;
use switchyard_engine::gateway::{GatewaySettings, Gateways};
use switchyard_engine::ids::Ids;

use crate::config::Settings;

/// All of the folder's `*.so`, in order of their names. A folder that is not there holds none.
pub async fn load(settings: &Settings, clock: &Clock, ids: &Ids) -> anyhow::Result<Gateways> {
    let gateways = Gateways::new(
        GatewaySettings {
            dir: settings.data.dir.join("gateways"),
            development: settings.development,
            service_code: settings.service.code.clone(),
        },
        clock.clone(),
        ids.clone(),
    )?;
    for path in libraries(settings)? {
        if let Err(refused) = gateways.add(&path).await {
            tracing::error!("A gateway is left out: {refused}.");
        }
    }
    if gateways.list().is_empty() {
        tracing::warn!(
            folder = %settings.gateways.dir.display(),
            "No gateway is loaded, so no payment can be made: put one (`*.so`) into the folder and start again."
        );
    }
    Ok(gateways)
}

fn libraries(settings: &Settings) -> anyhow::Result<Vec<PathBuf>> {
    let folder = &settings.gateways.dir;
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let unreadable = || {
        format!(
            "cannot read the gateways' folder {}: choose another with gateways.dir",
            folder.display()
        )
    };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "so") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
