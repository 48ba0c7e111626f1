//! A request as it was understood, field by field, so that two can be compared: the wire's `25`,
//! `"25.00"` and `2.5e1` are one amount.

use std::collections::BTreeMap;

use switchyard_core::money::Amount;
use switchyard_core::transaction::Restriction;
use switchyard_engine::engine::{NewPayment, NewPayout};
use switchyard_records::NewCustomer;

/// The fields of a payment, in their documented order. Where the request came from is none
/// of them.
pub fn of_payment(new: &NewPayment) -> Vec<(String, String)> {
    let mut fields = Fields::default();
    fields.amount(new.amount);
    fields.put("description", &new.description);
    fields.put("return_url", &new.return_url);
    fields.customer(&new.customer);
    fields.members("metadata", &new.metadata);
    fields.put("methods", &new.methods.join(" "));
    match &new.restriction {
        None => {}
        Some(Restriction::Country { country_code }) => {
            fields.put("restrict_country_code", country_code)
        }
        Some(Restriction::Phone {
            number,
            country_code,
        }) => {
            fields.put("restricted_phone.number", number);
            fields.put("restricted_phone.country_code", country_code);
        }
    }
    if let Some(wait) = new.expires_in {
        fields.put("expires_in", &wait.as_secs().to_string());
    }
    fields.0
}

/// The fields of a payout, in their documented order.
pub fn of_payout(new: &NewPayout) -> Vec<(String, String)> {
    let mut fields = Fields::default();
    fields.amount(new.amount);
    fields.put("description", &new.description);
    fields.put("method", &new.method);
    fields.customer(&new.customer);
    fields.members("metadata", &new.metadata);
    fields.members("recipient", &new.recipient);
    fields.0
}

#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Fields {
    fn put(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    fn amount(&mut self, amount: Amount) {
        self.put("amount", &amount.decimal());
        self.put("currency", amount.currency().code());
    }

    fn members(&mut self, name: &str, map: &BTreeMap<String, String>) {
        for (key, value) in map {
            self.put(&format!("{name}.{key}"), value);
        }
    }

    fn customer(&mut self, customer: &NewCustomer) {
        let fields = [
            ("customer.email", Some(&customer.email)),
            ("customer.first_name", Some(&customer.first_name)),
            ("customer.last_name", Some(&customer.last_name)),
            ("customer.phone", customer.phone.as_ref()),
            ("customer.address", customer.address.as_ref()),
            ("customer.city", customer.city.as_ref()),
            ("customer.state", customer.state.as_ref()),
            ("customer.country", customer.country_code.as_ref()),
            ("customer.zip", customer.zip_code.as_ref()),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                self.put(name, value);
            }
        }
    }
}
