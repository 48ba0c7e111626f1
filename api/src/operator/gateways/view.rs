//! Rendering of gateways in responses.

use serde_json::{Value, json};
use switchyard_engine::gateway::{
    Awaiting, Direction, FileStatus, FolderFile, Manifest, Overview, Proposal, VersionView,
    Widening,
};

use super::super::view::{iso, shown as plain};

/// A gateway in the list.
pub fn listed(overview: &Overview) -> Value {
    let record = &overview.record;
    let current = overview.current();
    // A removed gateway is still known by its last version.
    let known = current.or(overview.versions.first());
    let loaded = current.and_then(|version| version.loaded.as_ref());
    let manifest = loaded.map(|version| &*version.manifest);
    let quarantine = current.and_then(quarantine);
    json!({
        "name": record.name,
        "title": known.map(|version| &version.kept.title),
        "description": manifest.map(|manifest| &manifest.description),
        "state": overview.state,
        "version": current.map(|version| &version.kept.version),
        "sha256": current.map(|version| &version.kept.sha256),
        "quarantine": quarantine,
        "awaiting_approval": record.awaiting.as_ref().map(awaiting),
        "running_calls": overview.running_calls(),
        "open_attempts": overview.open_attempts(),
        "version_count": overview.versions.len(),
        "serves_any_method": manifest.is_some_and(|manifest| manifest.any_method),
        "methods": manifest.map(|manifest| &manifest.methods),
        "operations": manifest.map(|manifest| &manifest.operations),
        "hosts": loaded.map(|version| version.hosts()),
        "config": manifest.map(|manifest| &manifest.config),
    })
}

/// A gateway with its versions and its history, the latest first.
pub fn shown(overview: &Overview) -> Value {
    let mut view = listed(overview);
    let versions: Vec<Value> = overview.versions.iter().map(version).collect();
    let changes: Vec<Value> = overview.record.changes.iter().rev().map(plain).collect();
    view["versions"] = versions.into();
    view["changes"] = changes.into();
    view
}

fn version(version: &VersionView) -> Value {
    let kept = &version.kept;
    json!({
        "sha256": kept.sha256,
        "version": kept.version,
        "bytes": kept.bytes,
        "is_current": version.is_current,
        "is_loaded": version.loaded.is_some(),
        "isolation": version.loaded.as_ref().map(|loaded| isolation(loaded.is_apart())),
        "last_worker_death": version.loaded.as_ref().and_then(|loaded| loaded.last_worker_death()),
        "running_calls": version.running_calls,
        "open_attempts": version.open_attempts,
        "hosts": kept.hosts,
        "consent": {
            "how": kept.consent,
            "by": kept.consented_by,
            "at": iso(kept.consented_at),
            "source": kept.source,
            "approved_by": kept.approved_by,
        },
        "quarantine": quarantine(version),
    })
}

/// An upgrade that a second operator has to approve, with its additional hosts and its source.
fn awaiting(awaiting: &Awaiting) -> Value {
    let version = &awaiting.version;
    json!({
        "sha256": version.sha256,
        "version": version.version,
        "title": version.title,
        "consent": {
            "how": version.consent,
            "by": version.consented_by,
            "at": iso(version.consented_at),
            "source": version.source,
        },
        "widens": widening(&awaiting.widens),
    })
}

fn widening(widens: &Widening) -> Value {
    json!({
        "hosts": widens.hosts,
        "source_in_use": widens.source,
        "in_process": widens.in_process,
    })
}

fn isolation(is_apart: bool) -> &'static str {
    match is_apart {
        true => "process",
        false => "in_process",
    }
}

fn quarantine(version: &VersionView) -> Option<Value> {
    let live = version
        .loaded
        .as_ref()
        .and_then(|loaded| loaded.quarantine());
    live.as_deref()
        .or(version.kept.quarantine.as_ref())
        .map(plain)
}

/// What an operator consents to.
pub fn proposal(proposal: &Proposal) -> Value {
    let inspection = &proposal.inspection;
    let manifest = &inspection.manifest;
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "title": manifest.title,
        "description": manifest.description,
        "sha256": inspection.sha256,
        "bytes": inspection.bytes,
        "hosts": manifest.hosts,
        "operations": manifest.operations,
        "payment_methods": count(manifest, Direction::Collect),
        "payout_methods": count(manifest, Direction::Payout),
        "serves_any_method": manifest.any_method,
        "imports": inspection.imports.len(),
        "isolation": isolation(proposal.runs_apart),
        "replaces": proposal.replaces.as_ref().map(|replaced| json!({
            "version": replaced.version,
            "sha256": replaced.sha256,
            "new_hosts": replaced.new_hosts,
        })),
        "is_known": proposal.is_known,
        "needs_consent": !proposal.needs_no_consent,
        "needs_approval": proposal.needs_approval.as_ref().map(widening),
    })
}

fn count(manifest: &Manifest, direction: Direction) -> usize {
    let rows = manifest.methods.iter();
    rows.filter(|method| method.direction == direction).count()
}

/// A file of the folder.
pub fn file(file: &FolderFile) -> Value {
    let mut view = json!({ "file": file.file, "status": "settling", "sha256": null });
    match &file.notice {
        FileStatus::Settling => {}
        FileStatus::Taken { sha256 } => {
            (view["status"], view["sha256"]) = ("taken".into(), sha256.as_str().into());
        }
        FileStatus::Gone { sha256 } => {
            (view["status"], view["sha256"]) = ("gone".into(), sha256.as_str().into());
        }
        FileStatus::Refused { why } => {
            (view["status"], view["why"]) = ("refused".into(), why.as_str().into());
        }
        FileStatus::AwaitsConsent(waiting) => {
            view["status"] = "awaiting_consent".into();
            view["sha256"] = waiting.inspection.sha256.as_str().into();
            view["proposal"] = proposal(waiting);
        }
    }
    view
}
