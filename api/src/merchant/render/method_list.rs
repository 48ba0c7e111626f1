//! A method in the lists of `GET /utils/payment/methods` and `/utils/payout/methods`
//! (docs/contract/responses.md).

use serde::Serialize;
use switchyard_core::directory::{FieldType, Method};
use utoipa::ToSchema;

use super::context::CountryObject;
use super::currency::CurrencyInList;

#[derive(Serialize, ToSchema)]
pub struct MethodInList<'a> {
    name: &'a str,
    #[schema(example = "mtn_bj")]
    code: &'a str,
    /// The same as `code`.
    short_code: &'a str,
    description: &'a str,
    icon_url: String,
    /// Whether any gateway that is loaded now serves it.
    is_enabled: bool,
    currency: CurrencyInList,
    countries: Vec<CountryObject>,
    /// The gateways that serve it now.
    gateways: Vec<GatewayInList>,
    /// Fields of the payer or recipient.
    fields: Vec<FieldInList<'a>>,
}

#[derive(Clone, Serialize, ToSchema)]
pub struct GatewayInList {
    pub name: String,
    pub short_code: String,
    pub description: String,
    pub icon_url: String,
}

#[derive(Serialize, ToSchema)]
pub struct FieldInList<'a> {
    #[schema(example = "msisdn")]
    name: &'a str,
    label: &'a str,
    #[serde(rename = "type")]
    #[schema(value_type = FieldWord)]
    field_type: FieldType,
    required: bool,
    /// Digits, calling code included; null where several lengths occur.
    length: Option<u8>,
}

/// Type of a field.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum FieldWord {
    Integer,
    String,
}

impl<'a> MethodInList<'a> {
    pub fn new(public_url: &str, method: &'a Method, gateways: Vec<GatewayInList>) -> Self {
        let fields = method.fields.iter().map(|field| FieldInList {
            name: &field.name,
            label: field.label,
            field_type: field.field_type,
            required: field.required,
            length: field.length,
        });
        Self {
            name: &method.name,
            code: &method.code,
            short_code: &method.code,
            description: &method.description,
            icon_url: format!("{public_url}{}", method.icon_path()),
            is_enabled: !gateways.is_empty(),
            currency: CurrencyInList::new(public_url, method.currency),
            countries: method
                .countries
                .iter()
                .map(|country| CountryObject::new(country))
                .collect(),
            gateways,
            fields: fields.collect(),
        }
    }
}
