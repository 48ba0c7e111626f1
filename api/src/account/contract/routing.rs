//! Query for routing rules.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

/// Version of routing rules.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionQuery {
    /// Earlier version. Default: the active one.
    pub version: Option<u64>,
}
