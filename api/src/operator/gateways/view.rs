//! Responses about gateways.

use switchyard_gateway_host::{
    self as gateway, Change, Direction, FileStatus, FolderFile, Manifest, Overview, StoredVersion,
    VersionView, manifest,
};

use super::super::contract::gateways::{
    Awaiting, CandidateFile, CandidateStatus, Consent, Count, Gateway, GatewayChange, GatewayState,
    GatewaySummary, GatewayVersion, Hosts, Pin, Proposal, Quarantine, Replaced, VersionConsent,
    Widening,
};

/// Returns a gateway for the list.
pub fn listed(overview: &Overview) -> GatewaySummary {
    let record = &overview.record;
    let current = overview.current();
    // A removed gateway is still known by its last version.
    let known = current.or(overview.versions.first());
    let loaded = current.and_then(|version| version.loaded.as_ref());
    let manifest = loaded.map(|version| &*version.manifest);
    let operations = |manifest: &Manifest| manifest.operations.iter().copied().collect();
    GatewaySummary {
        name: record.name.clone(),
        title: known.map(|version| version.kept.title.clone()),
        description: manifest.map(|manifest| manifest.description.clone()),
        state: state(overview.state),
        version: current.map(|version| version.kept.version.clone()),
        sha256: current.map(|version| version.kept.sha256.clone()),
        quarantine: current.and_then(quarantine),
        awaiting_approval: record.awaiting.as_ref().map(awaiting),
        running_calls: overview.running_calls(),
        open_attempts: count(overview.open_attempts()),
        version_count: overview.versions.len(),
        serves_any_method: manifest.is_some_and(|manifest| manifest.any_method),
        methods: manifest.map(|manifest| manifest.methods.clone()),
        operations: manifest.map(operations),
        hosts: loaded.map(|version| hosts(&version.hosts())),
        config: manifest.map(|manifest| manifest.config.clone()),
    }
}

/// Returns a gateway with its versions and its changes, the latest first.
pub fn shown(overview: &Overview) -> Gateway {
    Gateway {
        summary: listed(overview),
        versions: overview.versions.iter().map(version).collect(),
        changes: overview.record.changes.iter().rev().map(change).collect(),
    }
}

fn version(version: &VersionView) -> GatewayVersion {
    let (kept, loaded) = (&version.kept, version.loaded.as_ref());
    GatewayVersion {
        sha256: kept.sha256.clone(),
        version: kept.version.clone(),
        bytes: kept.bytes,
        is_current: version.is_current,
        is_loaded: loaded.is_some(),
        last_worker_death: loaded.and_then(|loaded| loaded.last_worker_death()),
        running_calls: version.running_calls,
        open_attempts: count(version.open_attempts),
        hosts: hosts(&kept.hosts),
        consent: VersionConsent {
            consent: consent(kept),
            approved_by: kept.approved_by.clone(),
        },
        quarantine: quarantine(version),
    }
}

fn change(change: &Change) -> GatewayChange {
    GatewayChange {
        at: change.at.into(),
        by: change.by.clone(),
        what: change.what,
        sha256: change.sha256.clone(),
        version: change.version.clone(),
        why: change.why.clone(),
    }
}

fn consent(version: &StoredVersion) -> Consent {
    Consent {
        how: version.consent.clone(),
        by: version.consented_by.clone(),
        at: version.consented_at.into(),
        source: version.source,
    }
}

/// Returns an upgrade that a second operator has to approve.
fn awaiting(awaiting: &gateway::Awaiting) -> Awaiting {
    let version = &awaiting.version;
    Awaiting {
        sha256: version.sha256.clone(),
        version: version.version.clone(),
        title: version.title.clone(),
        consent: consent(version),
        widens: widening(&awaiting.widens),
    }
}

fn widening(widens: &gateway::Widening) -> Widening {
    Widening {
        hosts: hosts(&widens.hosts),
        source_in_use: widens.source,
    }
}

fn hosts(hosts: &manifest::Hosts) -> Hosts {
    Hosts {
        sandbox: hosts.sandbox.clone(),
        live: hosts.live.clone(),
    }
}

const fn state(state: gateway::State) -> GatewayState {
    match state {
        gateway::State::Serving => GatewayState::Serving,
        gateway::State::Draining => GatewayState::Draining,
        gateway::State::Drained => GatewayState::Drained,
        gateway::State::Quarantined => GatewayState::Quarantined,
        gateway::State::Removed => GatewayState::Removed,
    }
}

const fn count(count: gateway::Count) -> Count {
    Count {
        count: count.count,
        is_at_least: count.is_at_least,
    }
}

fn quarantine(version: &VersionView) -> Option<Quarantine> {
    let loaded = version.loaded.as_ref();
    let live = loaded.and_then(|loaded| loaded.quarantine());
    let quarantine = live.as_deref().or(version.kept.quarantine.as_ref())?;
    Some(Quarantine {
        reason: quarantine.reason.clone(),
        at: quarantine.at.into(),
        by: quarantine.by.clone(),
    })
}

/// Returns the manifest of a file, and the changes of its installation.
pub fn proposal(proposal: &gateway::Proposal) -> Proposal {
    let inspection = &proposal.inspection;
    let manifest = &inspection.manifest;
    Proposal {
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        title: manifest.title.clone(),
        description: manifest.description.clone(),
        sha256: inspection.sha256.clone(),
        bytes: inspection.bytes,
        hosts: hosts(&manifest.hosts),
        operations: manifest.operations.iter().copied().collect(),
        payment_methods: methods(manifest, Direction::Collect),
        payout_methods: methods(manifest, Direction::Payout),
        serves_any_method: manifest.any_method,
        imports: inspection.imports.len(),
        replaces: proposal.replaces.as_ref().map(|replaced| Replaced {
            version: replaced.version.clone(),
            sha256: replaced.sha256.clone(),
            new_hosts: hosts(&replaced.new_hosts),
        }),
        is_known: proposal.is_known,
        needs_consent: !proposal.needs_no_consent,
        needs_approval: proposal.needs_approval.as_ref().map(widening),
    }
}

/// Returns the number of methods in a direction.
fn methods(manifest: &Manifest, direction: Direction) -> usize {
    let rows = manifest.methods.iter();
    rows.filter(|method| method.direction == direction).count()
}

/// Returns a file of the folder.
pub fn file(file: &FolderFile) -> CandidateFile {
    let (status, sha256, why, waiting) = match &file.notice {
        FileStatus::Settling => (CandidateStatus::Settling, None, None, None),
        FileStatus::Taken { sha256 } => (CandidateStatus::Taken, Some(sha256), None, None),
        FileStatus::Gone { sha256 } => (CandidateStatus::Gone, Some(sha256), None, None),
        FileStatus::Refused { why } => (CandidateStatus::Refused, None, Some(why), None),
        FileStatus::AwaitsConsent(waiting) => {
            let sha256 = &waiting.inspection.sha256;
            let status = CandidateStatus::AwaitingConsent;
            (status, Some(sha256), None, Some(waiting))
        }
    };
    CandidateFile {
        file: file.file.clone(),
        status,
        sha256: sha256.cloned(),
        why: why.cloned(),
        proposal: waiting.map(|waiting| proposal(waiting)),
    }
}

pub fn pin(pin: gateway::Pin) -> Pin {
    Pin {
        sha256: pin.sha256,
        by: pin.by,
        at: pin.at.into(),
        origin: pin.origin,
    }
}
