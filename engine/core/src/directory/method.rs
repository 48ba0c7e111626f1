//! Methods: how a payer can pay and a recipient can be paid, one currency each.

use serde::{Deserialize, Serialize};

use super::brand::{self, Tile};
use super::country::Country;
use crate::language::Language;
use crate::money::Currency;
use crate::transaction::Kind;

/// Kind of account of the payer or recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    MobileMoney,
    Card,
    BankTransfer,
    Qr,
    Ussd,
    Crypto,
    Wallet,
    Test,
}

/// A way to pay or to be paid, as the method lists show it.
#[derive(Clone, Debug)]
pub struct Method {
    pub code: String,
    pub name: String,
    pub description: String,
    pub kind: Kind,
    pub category: Category,
    pub currency: Currency,
    /// In the catalogue's order; all countries for a method that is available worldwide.
    pub countries: Vec<&'static Country>,
    /// Fields of the payer or recipient.
    pub fields: Vec<RecipientField>,
}

/// The field with the number of a phone.
pub const PHONE_FIELD: &str = "msisdn";

/// Something that the payer or the recipient must give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecipientField {
    pub name: String,
    /// In English; pages have their own words for the names that they know.
    pub label: &'static str,
    #[serde(rename = "type")]
    pub field_type: FieldType,
    pub required: bool,
    /// Digits, calling code included; `None` where several lengths occur. For people who fill in a
    /// form: whether a number is one is for [`super::phone::normalise`] and the provider to say.
    pub length: Option<u8>,
    #[serde(skip)]
    pub example: String,
}

/// Type of a field. An integer may be a JSON number or a string of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldType {
    Integer,
    String,
}

impl Method {
    /// Path of the method's icon below the public URL.
    pub fn icon_path(&self) -> String {
        format!("/icons/methods/{}.svg", self.code)
    }

    /// The name by which people know it, in their language: `MTN MoMo`, `Carte bancaire`. Neither
    /// country nor currency is in it.
    pub fn name_in(&self, language: Language) -> &str {
        brand::name(&self.code, self.category, language).unwrap_or(&self.name)
    }

    /// The same with the country, where the method is of one country: `MTN MoMo (Bénin)`.
    pub fn name_with_country(&self, language: Language) -> String {
        let name = self.name_in(language);
        match (self.countries.as_slice(), language) {
            ([country], Language::En) => format!("{name} ({})", country.name),
            ([country], Language::Fr) => format!("{name} ({})", country.name_fr),
            _ => name.to_owned(),
        }
    }

    /// Colours of its icon: those of its brand.
    pub fn tile(&self) -> Tile {
        brand::tile(&self.code)
    }

    /// Whether a payer or recipient in this country (alpha-2) can use the method.
    pub fn serves(&self, country: &str) -> bool {
        self.countries.iter().any(|row| row.alpha2 == country)
    }

    pub fn field(&self, name: &str) -> Option<&RecipientField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Category {
    /// The category that a code of the catalogue tells.
    pub(super) fn of(code: &str) -> Self {
        let starts = [
            ("card_", Self::Card),
            ("bank_transfer_", Self::BankTransfer),
            ("qr_", Self::Qr),
            ("ussd_", Self::Ussd),
            ("crypto_", Self::Crypto),
            ("barter", Self::Wallet),
            ("djamo_", Self::Wallet),
        ];
        if code.ends_with("_payment_demo") || code.ends_with("_payout_demo") {
            return Self::Test;
        }
        // Whatever is not generic is an operator of mobile money.
        let start = starts
            .into_iter()
            .find(|(start, _)| code.starts_with(start));
        start.map_or(Self::MobileMoney, |(_, category)| category)
    }

    /// One sentence for a method of this category.
    pub(super) fn describe(self, kind: Kind, name: &str) -> String {
        match (kind, self) {
            (Kind::Payout, Self::Test) => {
                "A payout that moves no money, for trying the integration.".to_owned()
            }
            (Kind::Payout, _) => format!("Sent to the recipient's {name} account."),
            (Kind::Payment, Self::MobileMoney) => {
                format!("Pay with {name} and confirm on your phone.")
            }
            (Kind::Payment, Self::Card) => "Pay with a credit or debit card.".to_owned(),
            (Kind::Payment, Self::BankTransfer) => {
                "Pay by transfer from your bank account.".to_owned()
            }
            (Kind::Payment, Self::Qr) => {
                "Pay by scanning a QR code with your bank's app.".to_owned()
            }
            (Kind::Payment, Self::Ussd) => "Pay by dialling a short code on your phone.".to_owned(),
            (Kind::Payment, Self::Crypto) => "Pay from a crypto wallet.".to_owned(),
            (Kind::Payment, Self::Wallet) => format!("Pay from your {name} wallet."),
            (Kind::Payment, Self::Test) => {
                "A payment that moves no money, for trying the integration.".to_owned()
            }
        }
    }
}
