//! Flutterwave's counterpart of each of our method codes: one table, from which the rows of
//! `gateway.json` follow (a test holds the two against each other).
//!
//! `barter` is missing because Flutterwave has closed that product.

use switchyard_gateway::{Fault, Money};

use CollectMode::{BankTransfer, Mobile, Page, Qr, Ussd};

/// Mode in which a payment is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectMode {
    /// On Flutterwave's own page, where the payer may try several cards.
    Page,
    /// To an account that is made for this payment.
    BankTransfer,
    /// By a code that the payer dials.
    Ussd,
    /// By a QR code that the payer scans with the bank's app.
    Qr,
    /// From a wallet: the type of charge, and the network where the type has several and takes its
    /// name.
    Mobile(&'static str, Option<&'static str>),
}

/// One method of ours.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    pub code: &'static str,
    pub currency: &'static str,
    /// Of a wallet's numbers. Cards and banks need none.
    pub country: Option<&'static Country>,
    pub collect: Option<CollectMode>,
    /// The `account_bank` of a payout.
    pub payout: Option<&'static str>,
}

#[derive(Debug)]
pub struct Country {
    pub alpha2: &'static str,
    pub dial_code: &'static str,
    /// Numbers are written with a leading 0 inside the country, which falls away after the dial
    /// code.
    pub has_trunk_zero: bool,
}

impl Method {
    pub fn of(code: &str) -> Result<&'static Self, Fault> {
        let found = METHODS.iter().find(|method| method.code == code);
        found.ok_or_else(|| {
            Fault::config(format!(
                "Flutterwave does not have the method `{code}`: remove it from the connection's methods"
            ))
        })
    }

    /// How many decimals an amount may have.
    pub fn decimals(&self) -> u8 {
        match self.currency {
            "XOF" | "XAF" | "UGX" | "RWF" => 0,
            _ => 2,
        }
    }

    /// The amount in major units, digit by digit as a JSON number: without decimals when it is
    /// whole.
    pub fn amount(&self, money: &Money) -> Result<String, Fault> {
        if money.currency != self.currency {
            return Err(Fault::config(format!(
                "{} is paid in {}, and {} was asked for",
                self.code, self.currency, money.currency
            )));
        }
        match money.whole() {
            Ok(whole) => Ok(whole.to_string()),
            Err(_) if self.decimals() > 0 => money.with_decimals(self.decimals()),
            Err(fault) => Err(fault),
        }
    }

    /// The number of a wallet as Flutterwave wants it; `None` when none was given.
    pub fn msisdn(&self, typed: Option<&str>) -> Option<String> {
        self.country?.msisdn(typed?)
    }
}

impl Country {
    /// The digits of a number with the dial code. Whether it is a number of the network is for
    /// Flutterwave to say.
    fn msisdn(&self, typed: &str) -> Option<String> {
        let digits: String = typed.chars().filter(char::is_ascii_digit).collect();
        if digits.is_empty() {
            return None;
        }
        if typed.trim_start().starts_with('+') {
            return Some(digits);
        }
        if let Some(international) = digits.strip_prefix("00") {
            return Some(international.to_owned());
        }
        let has_dial_code = digits
            .strip_prefix(self.dial_code)
            .is_some_and(|rest| rest.len() >= NATIONAL_DIGITS);
        if has_dial_code {
            return Some(digits);
        }
        let national = match digits.strip_prefix('0') {
            Some(rest) if self.has_trunk_zero => rest,
            _ => &digits,
        };
        Some(format!("{}{national}", self.dial_code))
    }
}

/// The banks whose customers can pay by dialling: Flutterwave's code and what people call them.
#[rustfmt::skip]
pub static USSD_BANKS: &[(&str, &[&str])] = &[
    ("011", &["first", "firstbank", "fbn"]),
    ("032", &["union", "unionbank"]),
    ("033", &["uba", "unitedbankforafrica"]),
    ("035", &["wema", "wemabank", "alat"]),
    ("044", &["access", "accessbank"]),
    ("050", &["ecobank", "eco"]),
    ("057", &["zenith", "zenithbank"]),
    ("058", &["gtb", "gtbank", "guarantytrust", "guarantytrustbank"]),
    ("070", &["fidelity", "fidelitybank"]),
    ("082", &["keystone", "keystonebank"]),
    ("214", &["fcmb", "firstcitymonumentbank"]),
    ("215", &["unity", "unitybank"]),
    ("221", &["stanbic", "stanbicibtc"]),
    ("232", &["sterling", "sterlingbank"]),
];

/// The code of a bank by its code or its name.
pub fn ussd_bank(typed: &str) -> Option<&'static str> {
    let plain: String = typed.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let found = USSD_BANKS
        .iter()
        .find(|(code, names)| *code == plain || names.contains(&plain.as_str()));
    found.map(|(code, _)| *code)
}

const fn card(code: &'static str, currency: &'static str) -> Method {
    row(code, currency, None, Some(Page), None)
}

const fn bank(code: &'static str, way: CollectMode) -> Method {
    row(code, "NGN", None, Some(way), None)
}

const fn wallet(
    code: &'static str,
    country: &'static Country,
    currency: &'static str,
    collect: Option<CollectMode>,
    payout: Option<&'static str>,
) -> Method {
    row(code, currency, Some(country), collect, payout)
}

const fn row(
    code: &'static str,
    currency: &'static str,
    country: Option<&'static Country>,
    collect: Option<CollectMode>,
    payout: Option<&'static str>,
) -> Method {
    Method {
        code,
        currency,
        country,
        collect,
        payout,
    }
}

const fn country(alpha2: &'static str, dial_code: &'static str, has_trunk_zero: bool) -> Country {
    Country {
        alpha2,
        dial_code,
        has_trunk_zero,
    }
}

pub const FRANCO: &str = "mobile_money_franco";
pub const GHANA: &str = "mobile_money_ghana";
pub const RWANDA: &str = "mobile_money_rwanda";
pub const TANZANIA: &str = "mobile_money_tanzania";
pub const UGANDA: &str = "mobile_money_uganda";
pub const ZAMBIA: &str = "mobile_money_zambia";

#[rustfmt::skip]
pub static METHODS: &[Method] = &[
    card("card_ghs", "GHS"),
    card("card_kes", "KES"),
    card("card_ngn", "NGN"),
    card("card_tzs", "TZS"),
    card("card_ugx", "UGX"),
    card("card_usd", "USD"),
    card("card_xaf", "XAF"),
    card("card_xof", "XOF"),
    card("card_zar", "ZAR"),
    bank("bank_transfer_ng", BankTransfer),
    bank("qr_ngn", Qr),
    bank("ussd_ngn", Ussd),
    wallet("airtel_mw", &MW, "MWK", None, Some("AIRTELMW")),
    wallet("airtel_rw", &RW, "RWF", Some(Mobile(RWANDA, Some("AIRTEL"))), Some("MPS")),
    wallet("airtel_tz", &TZ, "TZS", Some(Mobile(TANZANIA, Some("AIRTEL"))), Some("AIRTEL")),
    wallet("airtel_ug", &UG, "UGX", Some(Mobile(UGANDA, Some("AIRTEL"))), Some("AIRTEL")),
    wallet("airtel_zm", &ZM, "ZMW", Some(Mobile(ZAMBIA, Some("AIRTEL"))), Some("MPS")),
    wallet("freemoney_sn", &SN, "XOF", Some(Mobile(FRANCO, None)), None),
    wallet("halopesa_tz", &TZ, "TZS", Some(Mobile(TANZANIA, Some("HALOPESA"))), Some("HALOPESA")),
    wallet("moov_bf", &BF, "XOF", Some(Mobile(FRANCO, None)), None),
    wallet("moov_ci", &CI, "XOF", Some(Mobile(FRANCO, None)), Some("MOOV")),
    wallet("mpesa_ke", &KE, "KES", Some(Mobile("mpesa", None)), Some("MPS")),
    wallet("mpesa_tz", &TZ, "TZS", Some(Mobile(TANZANIA, Some("VODACOM"))), Some("VODACOM")),
    wallet("mtn_ci", &CI, "XOF", Some(Mobile(FRANCO, Some("MTN"))), Some("MTN")),
    wallet("mtn_cm", &CM, "XAF", Some(Mobile(FRANCO, Some("MTN"))), Some("MTN")),
    wallet("mtn_gh", &GH, "GHS", Some(Mobile(GHANA, Some("MTN"))), Some("MTN")),
    wallet("mtn_rw", &RW, "RWF", Some(Mobile(RWANDA, Some("MTN"))), Some("MTN")),
    wallet("mtn_ug", &UG, "UGX", Some(Mobile(UGANDA, Some("MTN"))), Some("MTN")),
    wallet("mtn_zm", &ZM, "ZMW", Some(Mobile(ZAMBIA, Some("MTN"))), Some("MPS")),
    wallet("orange_bf", &BF, "XOF", Some(Mobile(FRANCO, Some("ORANGEMONEY"))), None),
    wallet("orange_ci", &CI, "XOF", Some(Mobile(FRANCO, Some("ORANGEMONEY"))), Some("ORANGE")),
    wallet("orange_cm", &CM, "XAF", Some(Mobile(FRANCO, Some("ORANGEMONEY"))), Some("ORANGEMONEY")),
    wallet("orange_sn", &SN, "XOF", Some(Mobile(FRANCO, Some("ORANGEMONEY"))), Some("ORANGEMONEY")),
    wallet("tigo_gh", &GH, "GHS", Some(Mobile(GHANA, Some("AIRTELTIGO"))), Some("AIRTELTIGO")),
    wallet("tigo_tz", &TZ, "TZS", Some(Mobile(TANZANIA, Some("TIGO"))), Some("TIGO")),
    wallet("vodafone_gh", &GH, "GHS", Some(Mobile(GHANA, Some("VODAFONE"))), Some("VODAFONE")),
    wallet("wave_ci", &CI, "XOF", Some(Mobile(FRANCO, Some("WAVE"))), Some("WAVE")),
    wallet("wave_sn", &SN, "XOF", Some(Mobile(FRANCO, Some("WAVE"))), Some("WAVE")),
    wallet("zamtel_zm", &ZM, "ZMW", Some(Mobile(ZAMBIA, Some("ZAMTEL"))), Some("MPS")),
];

static BF: Country = country("BF", "226", false);
static CI: Country = country("CI", "225", false);
static CM: Country = country("CM", "237", false);
static GH: Country = country("GH", "233", true);
static KE: Country = country("KE", "254", true);
static MW: Country = country("MW", "265", true);
static RW: Country = country("RW", "250", true);
static SN: Country = country("SN", "221", false);
static TZ: Country = country("TZ", "255", true);
static UG: Country = country("UG", "256", true);
static ZM: Country = country("ZM", "260", true);

/// No number in these countries has fewer digits behind the dial code.
const NATIONAL_DIGITS: usize = 8;
