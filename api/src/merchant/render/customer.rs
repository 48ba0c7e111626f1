//! The customer of a transaction (docs/contract/resources.md).

use serde::Serialize;
use switchyard_core::directory::country;
use switchyard_core::environment::Environment;
use switchyard_core::ids::CustomerId;
use switchyard_core::transaction::Customer;
use utoipa::ToSchema;

use super::RenderContext;
use crate::iso_timestamp::IsoTimestamp;

/// Fields of both forms.
#[derive(Serialize, ToSchema)]
pub struct CustomerFields<'a> {
    #[schema(value_type = String)]
    id: CustomerId,
    first_name: &'a str,
    last_name: &'a str,
    email: &'a str,
    /// In E.164 when it parses, as given when not.
    phone: Option<&'a str>,
    address: Option<&'a str>,
    city: Option<&'a str>,
    state: Option<&'a str>,
    /// ISO 3166-1 alpha-2.
    country_code: Option<&'a str>,
    /// The country's name in English.
    country: Option<&'static str>,
    zip_code: Option<&'a str>,
    #[schema(value_type = String, format = DateTime)]
    created_at: IsoTimestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: IsoTimestamp,
}

/// The verify form.
#[derive(Serialize, ToSchema)]
pub struct CustomerVerified<'a> {
    #[serde(flatten)]
    fields: CustomerFields<'a>,
    /// An avatar.
    profile_url: String,
}

/// The retrieve form.
#[derive(Serialize, ToSchema)]
pub struct CustomerRetrieved<'a> {
    #[serde(flatten)]
    fields: CustomerFields<'a>,
    #[schema(value_type = super::payment::EnvironmentWord)]
    environment: Environment,
}

impl<'a> CustomerFields<'a> {
    fn new(customer: &'a Customer) -> Self {
        Self {
            id: customer.id,
            first_name: &customer.first_name,
            last_name: &customer.last_name,
            email: &customer.email,
            phone: customer.phone.as_deref(),
            address: customer.address.as_deref(),
            city: customer.city.as_deref(),
            state: customer.state.as_deref(),
            country_code: customer.country_code.as_deref(),
            country: customer
                .country_code
                .as_deref()
                .and_then(country)
                .map(|country| country.name),
            zip_code: customer.zip_code.as_deref(),
            created_at: IsoTimestamp(customer.created_at),
            updated_at: IsoTimestamp(customer.updated_at),
        }
    }
}

impl<'a> CustomerVerified<'a> {
    pub fn new(context: &RenderContext<'_>, customer: &'a Customer) -> Self {
        let initials = initials(customer);
        Self {
            fields: CustomerFields::new(customer),
            profile_url: context.url(&format!("/icons/avatars/{initials}.svg")),
        }
    }
}

impl<'a> CustomerRetrieved<'a> {
    pub fn new(customer: &'a Customer, environment: Environment) -> Self {
        Self {
            fields: CustomerFields::new(customer),
            environment,
        }
    }
}

/// Initials for an avatar: Latin letters, which a URL needs not escape.
fn initials(customer: &Customer) -> String {
    let first = |name: &str| {
        name.chars()
            .find(char::is_ascii_alphabetic)
            .map(|c| c.to_ascii_uppercase())
    };
    let names = [&customer.first_name, &customer.last_name];
    let letters: String = names.into_iter().filter_map(|name| first(name)).collect();
    if letters.is_empty() {
        "X".to_owned()
    } else {
        letters
    }
}
