//! The directory: countries, phone numbers, and the catalogue of payment and payout methods with
//! their icons.
//!
//! All of it is data that was collected once and is part of the program; nothing here is read from
//! disk or network, and nothing changes while the program runs. Which method a gateway serves now
//! is not known here.

mod brand;
mod catalogue;
mod countries;
mod country;
mod icon;
mod method;
pub mod phone;

use std::collections::HashMap;
use std::sync::Arc;

pub use brand::Tile;
pub use country::{Country, countries, country};
pub use icon::{Icon, icon_svg, method_svg};
pub use method::{Category, FieldType, Method, PHONE_FIELD, RecipientField};

use crate::transaction::Kind;

/// The catalogue of one installation. Cheap to clone.
#[derive(Clone)]
pub struct Directory {
    payments: Arc<Methods>,
    payouts: Arc<Methods>,
}

struct Methods {
    list: Vec<Arc<Method>>,
    by_code: HashMap<String, Arc<Method>>,
}

impl Directory {
    /// The catalogue, with the test methods named after `service_code`
    /// (docs/contract/identifiers.md).
    pub fn new(service_code: &str) -> Self {
        Self {
            payments: Arc::new(Methods::new(catalogue::payments(service_code))),
            payouts: Arc::new(Methods::new(catalogue::payouts(service_code))),
        }
    }

    pub fn payment_method(&self, code: &str) -> Option<&Arc<Method>> {
        self.payments.by_code.get(code)
    }

    pub fn payout_method(&self, code: &str) -> Option<&Arc<Method>> {
        self.payouts.by_code.get(code)
    }

    /// The method of that direction with this code.
    pub fn method(&self, kind: Kind, code: &str) -> Option<&Arc<Method>> {
        match kind {
            Kind::Payment => self.payment_method(code),
            Kind::Payout => self.payout_method(code),
        }
    }

    /// Every payment method, in the catalogue's order.
    pub fn payment_methods(&self) -> &[Arc<Method>] {
        &self.payments.list
    }

    /// Every payout method, in the catalogue's order.
    pub fn payout_methods(&self) -> &[Arc<Method>] {
        &self.payouts.list
    }
}

impl Methods {
    fn new(methods: Vec<Method>) -> Self {
        let list: Vec<_> = methods.into_iter().map(Arc::new).collect();
        let by_code = list
            .iter()
            .map(|method| (method.code.clone(), Arc::clone(method)))
            .collect();
        Self { list, by_code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        Directory::new("switchyard")
    }

    #[test]
    fn the_catalogue_is_whole_and_every_method_is_found_by_its_code() {
        let directory = directory();
        assert_eq!(directory.payment_methods().len(), 66);
        assert_eq!(directory.payout_methods().len(), 41);
        for method in directory.payment_methods() {
            assert_eq!(
                directory
                    .payment_method(&method.code)
                    .map(|found| &found.name),
                Some(&method.name)
            );
            assert_eq!(method.kind, Kind::Payment);
        }
        for method in directory.payout_methods() {
            assert_eq!(
                directory
                    .method(Kind::Payout, &method.code)
                    .map(|found| &found.name),
                Some(&method.name)
            );
            assert_eq!(method.kind, Kind::Payout);
        }
        // One code each: a double would have vanished from the index.
        assert_eq!(
            (
                directory.payments.by_code.len(),
                directory.payouts.by_code.len()
            ),
            (66, 41)
        );
    }

    #[test]
    fn the_test_methods_are_named_after_the_service() {
        for service in ["switchyard", "acme"] {
            let directory = Directory::new(service);
            let payment = directory
                .payment_method(&format!("{service}_payment_demo"))
                .unwrap();
            let payout = directory
                .payout_method(&format!("{service}_payout_demo"))
                .unwrap();
            for method in [payment, payout] {
                assert_eq!(
                    (method.category, method.currency.code()),
                    (Category::Test, "USD")
                );
                assert!(method.serves("US") && method.countries.len() == 1);
            }
            assert!(payment.field("msisdn").is_some());
            assert_eq!(
                payout
                    .field("account_number")
                    .and_then(|field| field.length),
                Some(10)
            );
            let mut all = directory
                .payment_methods()
                .iter()
                .chain(directory.payout_methods());
            assert!(all.all(|method| !method.code.contains('{')));
        }
        assert!(
            Directory::new("acme")
                .payment_method("switchyard_payment_demo")
                .is_none()
        );
    }

    #[test]
    fn codes_name_the_countries_they_serve() {
        let directory = directory();
        let served = |code: &str| directory.payment_method(code).unwrap().countries.len();
        assert_eq!(served("card_usd"), 249);
        assert_eq!(served("crypto_eur"), 27);
        assert_eq!(served("mtn_bj"), 1);
        let crypto = directory.payment_method("crypto_eur").unwrap();
        assert!(crypto.countries.iter().all(|country| country.eu));
        let mtn = directory.payment_method("mtn_bj").unwrap();
        assert!(mtn.serves("BJ") && !mtn.serves("CI"));
        assert_eq!(mtn.icon_path(), "/icons/methods/mtn_bj.svg");
    }

    #[test]
    fn each_code_is_of_its_category() {
        use Category::*;
        let table = [
            ("mtn_bj", MobileMoney),
            ("togocel", MobileMoney),
            ("eu_mobile_cm", MobileMoney),
            ("card_usd", Card),
            ("bank_transfer_ng", BankTransfer),
            ("qr_ngn", Qr),
            ("ussd_ngn", Ussd),
            ("crypto_xof", Crypto),
            ("barter", Wallet),
            ("switchyard_payment_demo", Test),
        ];
        let directory = directory();
        for (code, category) in table {
            assert_eq!(
                directory.payment_method(code).map(|method| method.category),
                Some(category),
                "{code}"
            );
        }
        assert_eq!(
            directory
                .payout_method("djamo_ci")
                .map(|method| method.category),
            Some(Wallet)
        );
    }

    #[test]
    fn mobile_money_asks_for_a_number_and_other_payments_for_nothing() {
        for method in directory().payment_methods() {
            let names: Vec<_> = method
                .fields
                .iter()
                .map(|field| field.name.as_str())
                .collect();
            match method.category {
                Category::MobileMoney | Category::Test => {
                    assert_eq!(names, ["msisdn"], "{}", method.code)
                }
                _ => assert!(names.is_empty(), "{}", method.code),
            }
        }
        for method in directory().payout_methods() {
            assert!(
                method.fields.len() == 1 && method.fields[0].required,
                "{}",
                method.code
            );
        }
    }

    #[test]
    fn a_fields_length_counts_the_calling_code() {
        let table = [
            ("airtel_cd", Some(12)), // two lengths of mobile numbers: the catalogue's example decides
            ("mtn_cm", Some(12)),
            ("mtn_gh", Some(12)),
            ("mpesa_ke", Some(12)),
            ("orange_sn", Some(12)),
            ("mtn_bj", Some(13)),
            ("mtn_ci", Some(13)),
            ("mtn_ng", Some(13)),
            ("moov_tg", Some(11)),
            ("orange_ml", Some(11)),
        ];
        let directory = directory();
        for (code, length) in table {
            let method = directory.payout_method(code).unwrap();
            let field = method.field("msisdn").unwrap();
            assert_eq!(field.length, length, "{code}");
            assert_eq!(Some(field.example.len() as u8), length, "{code}");
        }
    }

    #[test]
    fn a_field_is_shown_without_its_example() {
        let directory = directory();
        let field = directory
            .payout_method("mtn_bj")
            .unwrap()
            .field("msisdn")
            .unwrap();
        let shown = serde_json::to_value(field).unwrap();
        let expected = serde_json::json!({
            "name": "msisdn", "label": "Mobile money number", "type": "integer", "required": true, "length": 13,
        });
        assert_eq!(shown, expected);
    }
}
