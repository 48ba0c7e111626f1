//! Gateways, their versions and their files.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_gateway_host::{ChangeKind, Operation, Source, manifest};
use utoipa::{IntoParams, ToSchema};

use super::schemas;
use crate::iso_timestamp::IsoTimestamp;

/// Gateway in a list.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct GatewaySummary {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub state: GatewayState,
    /// Current version; null if the gateway was removed.
    pub version: Option<String>,
    /// SHA-256 of the current version.
    pub sha256: Option<String>,
    pub quarantine: Option<Quarantine>,
    /// Upgrade that a second operator has to approve. The current version stays active until then.
    pub awaiting_approval: Option<Awaiting>,
    pub running_calls: usize,
    pub open_attempts: Count,
    pub version_count: usize,
    /// Whether it serves methods that its manifest does not list: a test gateway.
    pub serves_any_method: bool,
    /// Methods as in the manifest.
    #[schema(value_type = Option<Vec<Object>>)]
    pub methods: Option<Vec<manifest::Method>>,
    #[schema(value_type = Option<Vec<schemas::GatewayOperation>>)]
    pub operations: Option<Vec<Operation>>,
    pub hosts: Option<Hosts>,
    /// JSON schema of a connection's `config`.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Value>,
}

/// Gateway with its versions and changes, the latest first.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Gateway {
    #[serde(flatten)]
    pub summary: GatewaySummary,
    pub versions: Vec<GatewayVersion>,
    pub changes: Vec<GatewayChange>,
}

/// State of a gateway. `draining`: no new attempts start, and some are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GatewayState {
    Serving,
    Draining,
    Drained,
    Quarantined,
    Removed,
}

/// Count, which may be a lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Count {
    pub count: usize,
    pub is_at_least: bool,
}

/// Quarantine of a version: no new attempts start until an operator ends it.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct Quarantine {
    pub reason: String,
    pub at: IsoTimestamp,
    /// Name of the operator, or `engine`.
    pub by: String,
}

/// Hosts of a gateway, in each environment.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Hosts {
    pub sandbox: Vec<String>,
    pub live: Vec<String>,
}

/// Installed version of a gateway.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct GatewayVersion {
    pub sha256: String,
    pub version: String,
    pub bytes: u64,
    pub is_current: bool,
    pub is_loaded: bool,
    /// Reason of the last unexpected end of its worker process.
    pub last_worker_death: Option<String>,
    pub running_calls: usize,
    pub open_attempts: Count,
    pub hosts: Hosts,
    pub consent: VersionConsent,
    pub quarantine: Option<Quarantine>,
}

/// Consent to a version.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Consent {
    /// `pinned`, `asked`, `development` or `trusted`.
    pub how: String,
    pub by: String,
    pub at: IsoTimestamp,
    #[schema(value_type = schemas::GatewaySource)]
    pub source: Source,
}

/// Consent to an installed version.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct VersionConsent {
    #[serde(flatten)]
    pub consent: Consent,
    /// The second operator, where one was needed.
    pub approved_by: Option<String>,
}

/// Upgrade that a second operator has to approve.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Awaiting {
    pub sha256: String,
    pub version: String,
    pub title: String,
    pub consent: Consent,
    pub widens: Widening,
}

/// Rights of an upgrade that the current version does not have.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Widening {
    /// Hosts that the current version may not call.
    pub hosts: Hosts,
    /// Source of the current version, if the upgrade has another one or is a new upload.
    #[schema(value_type = Option<schemas::GatewaySource>)]
    pub source_in_use: Option<Source>,
}

/// Change of a gateway.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct GatewayChange {
    pub at: IsoTimestamp,
    /// Name of the operator, or `engine`.
    pub by: String,
    #[schema(value_type = schemas::GatewayChangeKind)]
    pub what: ChangeKind,
    pub sha256: Option<String>,
    pub version: Option<String>,
    pub why: Option<String>,
}

/// Manifest of a file, and the changes of its installation.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Proposal {
    pub name: String,
    pub version: String,
    pub title: String,
    pub description: String,
    pub sha256: String,
    pub bytes: usize,
    pub hosts: Hosts,
    #[schema(value_type = Vec<schemas::GatewayOperation>)]
    pub operations: Vec<Operation>,
    /// Number of payment methods.
    pub payment_methods: usize,
    /// Number of payout methods.
    pub payout_methods: usize,
    pub serves_any_method: bool,
    /// Number of symbols that it imports from other libraries.
    pub imports: usize,
    pub replaces: Option<Replaced>,
    /// Whether it is a version of the gateway already.
    pub is_known: bool,
    pub needs_consent: bool,
    /// Rights that a second operator has to approve; null: none.
    pub needs_approval: Option<Widening>,
}

/// Version that a file would replace.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Replaced {
    pub version: String,
    pub sha256: String,
    /// Hosts that this version may not call.
    pub new_hosts: Hosts,
}

/// File of the gateways' folder.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct CandidateFile {
    pub file: String,
    pub status: CandidateStatus,
    pub sha256: Option<String>,
    /// Reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Only with `awaiting_consent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Proposal>,
}

/// Status of a file. `settling`: new, or still changing. `gone`: deleted after its installation;
/// the gateway runs from the engine's own copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CandidateStatus {
    Settling,
    Taken,
    Gone,
    Refused,
    AwaitingConsent,
}

/// SHA-256 of a file that needs no consent.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Pin {
    pub sha256: String,
    pub by: String,
    pub at: IsoTimestamp,
    /// Origin of the operator's token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// SHA-256 to pin.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPin {
    pub sha256: String,
}

/// Options of an installation.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InstallOptions {
    /// SHA-256 that the operator consents to. Without it the hash must be pinned, or the server in
    /// development mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consent: Option<String>,
    /// The only hosts that it may contact in sandbox, separated by commas. Default: those of the
    /// manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_hosts: Option<String>,
    /// The only hosts that it may contact in live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_hosts: Option<String>,
    /// Reason, for the history.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Reason of a change.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeReason {
    pub why: Option<String>,
}

/// Reason of a change of one version.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionChange {
    pub why: Option<String>,
    /// SHA-256 of the version, or its beginning.
    pub version: Option<String>,
}

/// Decision of a second operator about an upgrade.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The whole SHA-256 of the file.
    pub sha256: String,
    pub why: Option<String>,
}
