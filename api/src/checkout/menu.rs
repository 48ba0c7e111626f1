//! The ways to pay that can work now: offered by the merchant, in the payment's currency or
//! converted from it, allowed by its restriction, and served by a gateway that is loaded.

use std::sync::Arc;

use switchyard_core::directory::{Category, Country, Method, country};
use switchyard_core::transaction::{Price, Restriction, Transaction};
use switchyard_gateway_host::manifest::FieldOption;

use switchyard_core::language::Language;

/// A way to pay.
#[derive(Clone, Debug)]
pub struct PaymentOption {
    pub method: Arc<Method>,
    /// Fields that its gateway needs beyond those of the method.
    pub asks: Vec<GatewayField>,
    /// The test gateway would take it: test numbers decide, and no money moves.
    pub is_test: bool,
    /// Price of the payment by this method.
    pub price: Price,
}

/// A field that a gateway asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayField {
    pub name: String,
    pub label_en: Option<String>,
    pub label_fr: Option<String>,
    pub required: bool,
    /// The values to choose from; empty when the payer types freely.
    pub options: Vec<FieldOption>,
    /// A regular expression that the whole value matches.
    pub pattern: Option<String>,
}

/// Methods that the payer can choose.
#[derive(Clone, Debug, Default)]
pub struct Menu {
    ways: Vec<PaymentOption>,
    /// The only country, where the payment is restricted to one.
    only: Option<&'static Country>,
    /// Excluded countries (alpha-2).
    excluded: Vec<String>,
}

impl Menu {
    /// Menu of a payment, from the served methods.
    pub fn new(tx: &Transaction, served: Vec<PaymentOption>) -> Self {
        let Some(payment) = tx.payment() else {
            return Self::default();
        };
        let only = match &payment.restriction {
            None => None,
            Some(
                Restriction::Country { country_code } | Restriction::Phone { country_code, .. },
            ) => match country(country_code) {
                Some(country) => Some(country),
                None => return Self::default(),
            },
        };
        let by_phone = matches!(payment.restriction, Some(Restriction::Phone { .. }));
        let offered = |code: &String| payment.methods.is_empty() || payment.methods.contains(code);
        let mut ways: Vec<PaymentOption> = served
            .into_iter()
            .filter(|way| {
                way.price.conversion.is_some() || way.method.currency == tx.amount.currency()
            })
            .filter(|way| offered(&way.method.code))
            .filter(|way| only.is_none_or(|only| way.method.serves(only.alpha2)))
            .filter(|way| !by_phone || way.is_tied_to_a_phone())
            .collect();
        ways.sort_by_key(|way| place(way, &payment.methods));
        Self {
            ways,
            only,
            excluded: Vec::new(),
        }
    }

    /// The same menu without some countries (alpha-2).
    pub fn without(self, excluded: &[String]) -> Self {
        let excluded = excluded.to_vec();
        Self { excluded, ..self }
    }

    fn allows(&self, alpha2: &str) -> bool {
        let is_excluded = self.excluded.iter().any(|code| code == alpha2);
        !is_excluded && self.only.is_none_or(|only| only.alpha2 == alpha2)
    }

    /// The countries from which something can be paid, in the order of their names.
    pub fn countries(&self, language: Language) -> Vec<&'static Country> {
        let mut countries: Vec<&'static Country> = Vec::new();
        for way in &self.ways {
            for row in &way.method.countries {
                if self.allows(row.alpha2) && !countries.contains(row) {
                    countries.push(row);
                }
            }
        }
        countries.sort_by_cached_key(|country| plain(country_name(country, language)));
        countries
    }

    pub fn in_country(&self, alpha2: &str) -> Vec<&PaymentOption> {
        let ways = self.ways.iter().filter(|way| way.method.serves(alpha2));
        ways.filter(|_| self.allows(alpha2)).collect()
    }

    /// The way that the payer chose, if it can work.
    pub fn find(&self, method: &str, alpha2: &str) -> Option<&PaymentOption> {
        self.in_country(alpha2)
            .into_iter()
            .find(|way| way.method.code == method)
    }

    /// The country to begin with: the only one, the one asked for, the customer's, that of their
    /// number, where the request comes from; otherwise the payer is asked. Where the payment was
    /// initialized says nothing: that is most often the merchant's server.
    pub fn begin_with(
        &self,
        tx: &Transaction,
        asked: Option<&str>,
        from: Option<&str>,
    ) -> Option<&'static Country> {
        let countries = self.countries(Language::En);
        if let [only] = countries.as_slice() {
            return Some(only);
        }
        let known = |alpha2: Option<&str>| {
            let found = country(&alpha2?.to_ascii_uppercase())?;
            countries.contains(&found).then_some(found)
        };
        let by_number = || {
            let number = tx.customer.phone.as_deref()?.strip_prefix('+')?;
            let mut fits = countries
                .iter()
                .filter(|country| number.starts_with(country.dial_code));
            // A code that several countries share tells none of them.
            fits.next().filter(|_| fits.next().is_none()).copied()
        };
        known(asked)
            .or_else(|| known(tx.customer.country_code.as_deref()))
            .or_else(by_number)
            .or_else(|| known(from))
    }
}

impl PaymentOption {
    /// Whether a phone number is the payer's account.
    pub fn is_tied_to_a_phone(&self) -> bool {
        self.is_test
            || self.method.field(PHONE).is_some()
            || self.asks.iter().any(|asked| asked.name == PHONE)
    }
}

/// The merchant's own order first; without one, what most people here pay with.
fn place(way: &PaymentOption, offered: &[String]) -> (Option<usize>, u8) {
    let own = offered.iter().position(|code| *code == way.method.code);
    let usual = match way.method.category {
        Category::MobileMoney => 0,
        Category::Wallet => 1,
        Category::Card => 2,
        Category::BankTransfer => 3,
        Category::Ussd => 4,
        Category::Qr => 5,
        Category::Crypto => 6,
        Category::Test => 7,
    };
    (own, usual)
}

/// The field that holds the number of the payer's wallet.
pub const PHONE: &str = switchyard_core::directory::PHONE_FIELD;

pub fn country_name(country: &'static Country, language: Language) -> &'static str {
    match language {
        Language::En => country.name,
        Language::Fr => country.name_fr,
    }
}

/// A name without accents and case, for an order that people expect.
fn plain(name: &str) -> String {
    let bare = |letter: char| match letter {
        'À'..='Å' | 'à'..='å' => 'a',
        'Ç' | 'ç' => 'c',
        'È'..='Ë' | 'è'..='ë' => 'e',
        'Ì'..='Ï' | 'ì'..='ï' => 'i',
        'Ò'..='Ö' | 'ò'..='ö' => 'o',
        'Ù'..='Ü' | 'ù'..='ü' => 'u',
        other => other,
    };
    name.chars().map(bare).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;
    use switchyard_core::transaction::Details;

    fn codes(menu: &Menu, alpha2: &str) -> Vec<String> {
        let ways = menu.in_country(alpha2);
        ways.iter().map(|way| way.method.code.clone()).collect()
    }

    fn with(change: impl FnOnce(&mut switchyard_core::transaction::PaymentDetails)) -> Menu {
        let mut tx = samples::payment_in("XOF");
        if let Details::Payment(payment) = &mut tx.details {
            change(payment);
        }
        Menu::new(&tx, samples::all_ways())
    }

    #[test]
    fn only_methods_of_the_payments_currency_are_there() {
        let menu = with(|_| {});
        assert!(codes(&menu, "BJ").contains(&"mtn_bj".to_owned()));
        assert!(codes(&menu, "KE").is_empty());
        let names: Vec<_> = menu
            .countries(Language::Fr)
            .iter()
            .map(|row| row.name_fr)
            .collect();
        assert!(names.contains(&"Sénégal") && !names.contains(&"Kenya"));
        assert!(names.is_sorted_by_key(|name| plain(name)));
    }

    #[test]
    fn only_what_the_merchant_offers_is_there() {
        let menu = with(|payment| {
            payment.methods = vec!["moov_bj".into(), "wave_ci".into(), "mpesa_ke".into()]
        });
        assert_eq!(codes(&menu, "BJ"), ["moov_bj"]);
        assert_eq!(menu.countries(Language::En).len(), 2);
        assert!(menu.find("mtn_bj", "BJ").is_none() && menu.find("moov_bj", "BJ").is_some());
        assert!(menu.find("moov_bj", "CI").is_none());
    }

    #[test]
    fn a_restriction_leaves_one_country() {
        let menu = with(|payment| {
            payment.restriction = Some(Restriction::Country {
                country_code: "CI".into(),
            });
        });
        assert_eq!(menu.countries(Language::En).len(), 1);
        assert!(codes(&menu, "BJ").is_empty());
        assert!(codes(&menu, "CI").contains(&"card_xof".to_owned()));
    }

    #[test]
    fn a_restriction_to_a_phone_leaves_what_is_tied_to_a_phone() {
        let menu = with(|payment| {
            let number = "+2250700000000".to_owned();
            payment.restriction = Some(Restriction::Phone {
                number,
                country_code: "CI".into(),
            });
        });
        let codes = codes(&menu, "CI");
        assert!(codes.contains(&"mtn_ci".to_owned()) && !codes.contains(&"card_xof".to_owned()));
    }

    #[test]
    fn an_excluded_country_is_neither_offered_nor_accepted() {
        let menu = with(|_| {}).without(&["BJ".to_owned()]);
        assert!(menu.find("mtn_bj", "BJ").is_none() && menu.find("mtn_ci", "CI").is_some());
        let countries = menu.countries(Language::En);
        assert!(countries.iter().all(|country| country.alpha2 != "BJ"));
        let mut tx = samples::payment_in("XOF");
        tx.customer.phone = Some("+2290197000000".into());
        assert_eq!(menu.begin_with(&tx, None, Some("BJ")), None);
    }

    #[test]
    fn what_no_gateway_serves_is_not_there() {
        let menu = Menu::new(&samples::payment_in("XOF"), Vec::new());
        assert!(menu.countries(Language::En).is_empty());
    }

    #[test]
    fn it_begins_with_the_most_certain_country() {
        let menu = with(|_| {});
        let mut tx = samples::payment_in("XOF");
        let begin =
            |tx: &Transaction, asked, from| menu.begin_with(tx, asked, from).map(|row| row.alpha2);
        assert_eq!(begin(&tx, None, None), None);
        assert_eq!(begin(&tx, None, Some("sn")), Some("SN"));
        assert_eq!(
            begin(&tx, Some("KE"), Some("SN")),
            Some("SN"),
            "one that cannot pay is no country to begin with"
        );
        tx.context.country = Some("ML".into());
        assert_eq!(
            begin(&tx, None, None),
            None,
            "where the merchant's server is"
        );
        tx.customer.phone = Some("+2290197000000".into());
        assert_eq!(begin(&tx, None, None), Some("BJ"));
        tx.customer.country_code = Some("CI".into());
        assert_eq!(begin(&tx, None, None), Some("CI"));
        assert_eq!(begin(&tx, Some("tg"), None), Some("TG"));
    }
}
