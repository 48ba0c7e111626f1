//! Gateways of this installation: those of its last run, and the files of the operator's folder.

use anyhow::Context as _;
use switchyard_gateway_host::{
    FileStatus, FolderWatch, GatewaySettings, Gateways, WALLS, WorkerSettings,
};
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

use crate::config::Settings;

/// Brings back every gateway at its version, takes in what is new in the folder, and keeps watching
/// it.
pub async fn load(
    settings: &Settings,
    store: &Store,
    clock: &Clock,
    ids: &Ids,
) -> anyhow::Result<(Gateways, FolderWatch)> {
    let gateways = Gateways::new(
        GatewaySettings {
            dir: settings.gateway_copies(),
            development: settings.development,
            private_hosts: settings.gateways.private_hosts.clone(),
            service_code: settings.service.code.clone(),
            pinned: settings.gateways.pinned.iter().cloned().collect(),
            worker: WorkerSettings {
                memory_bytes: settings.gateways.worker_memory.0,
                accepted: accepted_walls(settings),
                ..WorkerSettings::default()
            },
        },
        clock.clone(),
        ids.clone(),
    )?;
    gateways.keep_in(store).await?;
    let folder = &settings.gateways.dir;
    let watch = gateways.watch(folder).await.with_context(|| {
        format!(
            "cannot read the gateways' folder {}: choose another with gateways.dir",
            folder.display()
        )
    })?;
    if gateways.list().is_empty() {
        let waits = |status: &FileStatus| matches!(status, FileStatus::AwaitsConsent(_));
        let files = gateways.folder_files();
        let waiting = files.iter().filter(|file| waits(&file.notice)).count();
        tracing::warn!(
            folder = %folder.display(),
            waiting,
            advice = advice(waiting),
            "no gateway is loaded, no payment can be made"
        );
    }
    Ok((gateways, watch))
}

/// Returns the sandbox restrictions that may be missing. Development mode, which has no real money
/// and no real secrets, also runs where the kernel offers none.
fn accepted_walls(settings: &Settings) -> Vec<String> {
    match settings.development {
        true => WALLS.iter().map(ToString::to_string).collect(),
        false => settings.gateways.accept_missing_walls.clone(),
    }
}

/// The advice when no gateway is loaded and so many files in the folder await consent.
fn advice(waiting: usize) -> &'static str {
    match waiting {
        0 => "put one (`*.so`) into the folder, or use `switchyard gateway add`",
        _ => {
            "files in the folder await consent: `switchyard gateway list` shows them, `switchyard \
             gateway add <SHA256>` installs one"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::advice;

    #[test]
    fn who_has_put_gateways_into_the_folder_is_told_to_consent_to_them() {
        assert!(advice(0).starts_with("put one"));
        assert!(advice(2).contains("await consent") && !advice(2).contains("put one"));
    }
}
