//! Filter of the customers of an app.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::CustomerId;
use utoipa::IntoParams;

/// Customers to list.
#[derive(Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CustomerFilter {
    /// Only the customer with this e-mail address.
    #[param(min_length = 1, max_length = 254)]
    pub email: Option<String>,
    /// `more` of the last page.
    #[param(value_type = Option<String>)]
    pub before: Option<CustomerId>,
    /// Page size, at most 100. Default: 20.
    pub limit: Option<usize>,
}
