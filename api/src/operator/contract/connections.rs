//! Connections: a gateway with the credentials of one app. Credentials are never part of a
//! response.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, AttemptId, ConnectionId, TransactionId};
use switchyard_core::transaction::{AttemptState, Status};
use switchyard_engine::access;
use utoipa::{IntoParams, ToSchema};

use super::{nullable, schemas};
use crate::iso_timestamp::IsoTimestamp;

/// Connection of an app to a gateway.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct Connection {
    #[schema(value_type = String)]
    pub id: ConnectionId,
    #[schema(value_type = String)]
    pub app: AppId,
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    /// Name of the gateway.
    pub gateway: String,
    /// Name of the account at the provider.
    pub account_name: String,
    /// Codes of the methods; null: all of the gateway.
    pub methods: Option<Vec<String>>,
    pub limits: ConnectionLimits,
    /// Address for callbacks, to be entered at the provider.
    pub callback_url: String,
    pub is_enabled: bool,
    pub created_at: IsoTimestamp,
    /// Check of the credentials, only in the response to the request that set them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<ConfigCheck>,
}

/// Check of credentials at the provider.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum ConfigCheck {
    /// The provider accepted the credentials.
    Works {
        /// The account that they belong to, if the provider names it.
        account: Option<String>,
        message: String,
    },
    /// The credentials are untested.
    NotChecked {
        why: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

/// Limits of a connection. Routing applies them, and a decision names them when it skips the
/// connection.
#[derive(Default, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionLimits {
    /// By currency. A currency that is not listed has no limit.
    pub amounts: BTreeMap<String, AmountLimit>,
    /// ISO 3166-1 alpha-2; empty: all countries.
    pub countries: Vec<String>,
}

/// Smallest and largest amount in major units, both included.
#[derive(Default, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AmountLimit {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "100")]
    pub min: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "500000")]
    pub max: Option<String>,
}

/// New connection.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConnection {
    #[schema(value_type = schemas::Environment)]
    pub environment: Environment,
    pub gateway: String,
    pub account_name: String,
    /// Default: all methods of the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// Credentials. `/gateways/{gateway}/form` lists the fields.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    #[serde(default)]
    pub limits: ConnectionLimits,
    /// Stores the credentials without a check at the provider.
    #[serde(default)]
    pub skip_check: bool,
    /// Enables the connection although the check at the provider failed to run.
    #[serde(default)]
    pub enable_unchecked: bool,
}

/// Change of a connection. Omitted fields are unchanged.
#[derive(Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectionChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_name: Option<String>,
    /// `null`: all methods of the gateway.
    #[serde(default, deserialize_with = "nullable")]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub methods: Option<Option<Vec<String>>>,
    /// Replaces all credentials.
    #[schema(value_type = Option<Object>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ConnectionLimits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_enabled: Option<bool>,
    #[serde(default)]
    pub skip_check: bool,
    #[serde(default)]
    pub enable_unchecked: bool,
}

/// Fields for the credentials of a gateway.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ConfigForm {
    pub gateway: String,
    pub title: String,
    /// Required fields first, each group by name.
    pub fields: Vec<FormField>,
    /// Whether the gateway can check credentials at the provider.
    pub can_be_checked: bool,
    /// Methods as in the manifest of the gateway.
    #[schema(value_type = Vec<Object>)]
    pub methods: Vec<switchyard_gateway_host::manifest::Method>,
}

/// Field of a connection's credentials, with the keywords of its JSON schema.
#[derive(Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FormField {
    pub name: String,
    pub title: String,
    /// `string`, `integer` or `boolean`.
    pub r#type: Option<String>,
    pub is_required: bool,
    pub is_secret: bool,
    /// Further keywords of the schema: `description`, `default`, `enum`, `pattern`, `format`,
    /// `minLength`, `maxLength`, `minimum`, `maximum`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub keywords: serde_json::Map<String, Value>,
}

/// Page of the provider's ids.
#[derive(Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProviderIdFilter {
    /// Ids after this one: `more` of the last page.
    pub after: Option<String>,
    /// Page size, at most 1000. Default: 100.
    pub limit: Option<usize>,
}

/// Ids of the provider, in their order.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ProviderIds {
    pub provider_ids: Vec<ProviderId>,
    /// Start of the next page.
    pub more: Option<String>,
}

/// Id of the provider for an attempt. At a gateway for coins it is the address.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct ProviderId {
    pub provider_id: String,
    /// Number from which the gateway derived an address.
    pub index: Option<u64>,
    #[schema(value_type = String)]
    pub transaction: TransactionId,
    #[schema(value_type = schemas::Status)]
    pub status: Status,
    #[schema(value_type = Option<String>)]
    pub attempt: Option<AttemptId>,
    #[schema(value_type = Option<schemas::AttemptState>)]
    pub attempt_state: Option<AttemptState>,
    pub amount: Option<String>,
    pub captured: Option<String>,
    pub started_at: Option<IsoTimestamp>,
}

impl Connection {
    pub fn new(connection: &access::Connection, public_url: &str) -> Self {
        Self {
            id: connection.id,
            app: connection.app,
            environment: connection.environment,
            gateway: connection.gateway.clone(),
            account_name: connection.account_name.clone(),
            methods: connection.methods.clone(),
            limits: (&connection.limits).into(),
            callback_url: format!("{public_url}/callbacks/{}", connection.id),
            is_enabled: connection.is_enabled,
            created_at: connection.created_at.into(),
            check: None,
        }
    }
}

impl From<&access::ConnectionLimits> for ConnectionLimits {
    fn from(limits: &access::ConnectionLimits) -> Self {
        let amounts = limits.amounts.iter().map(|(currency, limit)| {
            let limit = AmountLimit {
                min: limit.min.clone(),
                max: limit.max.clone(),
            };
            (currency.clone(), limit)
        });
        Self {
            amounts: amounts.collect(),
            countries: limits.countries.clone(),
        }
    }
}

impl From<ConnectionLimits> for access::ConnectionLimits {
    fn from(limits: ConnectionLimits) -> Self {
        let amounts = limits.amounts.into_iter().map(|(currency, limit)| {
            let AmountLimit { min, max } = limit;
            (currency, access::AmountLimit { min, max })
        });
        Self {
            amounts: amounts.collect(),
            countries: limits.countries,
        }
    }
}
