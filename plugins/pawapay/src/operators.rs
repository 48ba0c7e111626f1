//! The operators that pawaPay reaches and that have a method code of ours: one table, from which
//! the rows of `gateway.json` follow (a test holds the two against each other).
//!
//! pawaPay serves more operators (Congo, Ethiopia, Gabon, Lesotho, Mozambique, Sierra Leone): they
//! have no method code, so no payment could use them.

use switchyard_gateway::{Fault, Money};

/// Approval of a payment: by whom, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorisation {
    /// A prompt for the PIN comes to the phone, or the payer calls it up.
    Prompt,
    /// The payer has the operator make a code first, which goes out with the payment.
    Preauth,
    /// The payer goes on at the operator's page.
    Redirect,
}

/// One operator in one country: one method of ours.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// Our method code, in both directions.
    pub code: &'static str,
    /// pawaPay's name for it.
    pub provider: &'static str,
    pub country: &'static Country,
    pub currency: &'static str,
    pub authorisation: Authorisation,
    pub pays_out: bool,
}

#[derive(Debug)]
pub struct Country {
    pub alpha2: &'static str,
    pub alpha3: &'static str,
    pub dial_code: &'static str,
    /// Numbers are written with a leading 0 inside the country, which falls away after the dial
    /// code.
    pub has_trunk_zero: bool,
}

impl Operator {
    pub fn of(method: &str) -> Result<&'static Self, Fault> {
        let found = OPERATORS.iter().find(|operator| operator.code == method);
        found.ok_or_else(|| {
            Fault::config(format!(
                "pawaPay has no operator for the method `{method}`: remove it from the connection's methods"
            ))
        })
    }

    /// How many decimals an amount may have. The currencies without cents have none with any
    /// operator; of the others some operators take none either, and refuse them with
    /// `INVALID_AMOUNT`.
    pub fn decimals(&self) -> u8 {
        match self.currency {
            "XOF" | "XAF" | "UGX" | "RWF" => 0,
            _ => 2,
        }
    }

    /// The amount as this operator takes it: without decimals whenever it is whole, which all of
    /// them take.
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
}

impl Country {
    /// The digits of a number with the dial code, as pawaPay wants them; `None` when there are
    /// none. Whether it is a number of the operator is for pawaPay to say.
    pub fn msisdn(&self, typed: &str) -> Option<String> {
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

const fn op(
    code: &'static str,
    provider: &'static str,
    country: &'static Country,
    currency: &'static str,
    authorisation: Authorisation,
    pays_out: bool,
) -> Operator {
    Operator {
        code,
        provider,
        country,
        currency,
        authorisation,
        pays_out,
    }
}

const fn country(
    alpha2: &'static str,
    alpha3: &'static str,
    dial_code: &'static str,
    has_trunk_zero: bool,
) -> Country {
    Country {
        alpha2,
        alpha3,
        dial_code,
        has_trunk_zero,
    }
}

use Authorisation::{Preauth, Prompt, Redirect};

/// Every operator; those that pay out do so under the same code.
#[rustfmt::skip]
pub static OPERATORS: &[Operator] = &[
    op("airtel_cd", "AIRTEL_COD", &CD, "CDF", Prompt, true),
    op("airtel_mw", "AIRTEL_MWI", &MW, "MWK", Prompt, true),
    op("airtel_ng", "AIRTEL_NGA", &NG, "NGN", Prompt, true),
    op("airtel_rw", "AIRTEL_RWA", &RW, "RWF", Prompt, true),
    op("airtel_tz", "AIRTEL_TZA", &TZ, "TZS", Prompt, true),
    op("airtel_ug", "AIRTEL_OAPI_UGA", &UG, "UGX", Prompt, true),
    op("airtel_zm", "AIRTEL_OAPI_ZMB", &ZM, "ZMW", Prompt, true),
    op("freemoney_sn", "FREE_SEN", &SN, "XOF", Prompt, true),
    op("halopesa_tz", "HALOTEL_TZA", &TZ, "TZS", Prompt, true),
    op("moov_bf", "MOOV_BFA", &BF, "XOF", Prompt, false),
    op("moov_bj", "MOOV_BEN", &BJ, "XOF", Prompt, true),
    op("mpesa_ke", "MPESA_KEN", &KE, "KES", Prompt, true),
    op("mpesa_tz", "VODACOM_TZA", &TZ, "TZS", Prompt, true),
    op("mtn_bj", "MTN_MOMO_BEN", &BJ, "XOF", Prompt, true),
    op("mtn_ci", "MTN_MOMO_CIV", &CI, "XOF", Prompt, true),
    op("mtn_cm", "MTN_MOMO_CMR", &CM, "XAF", Prompt, true),
    op("mtn_gh", "MTN_MOMO_GHA", &GH, "GHS", Prompt, true),
    op("mtn_ng", "MTN_MOMO_NGA", &NG, "NGN", Prompt, true),
    op("mtn_rw", "MTN_MOMO_RWA", &RW, "RWF", Prompt, true),
    op("mtn_ug", "MTN_MOMO_UGA", &UG, "UGX", Prompt, true),
    op("mtn_zm", "MTN_MOMO_ZMB", &ZM, "ZMW", Prompt, true),
    op("orange_bf", "ORANGE_BFA", &BF, "XOF", Preauth, false),
    op("orange_cd", "ORANGE_COD", &CD, "CDF", Prompt, true),
    op("orange_ci", "ORANGE_CIV", &CI, "XOF", Prompt, true),
    op("orange_cm", "ORANGE_CMR", &CM, "XAF", Prompt, true),
    op("orange_sn", "ORANGE_SEN", &SN, "XOF", Prompt, true),
    op("tigo_gh", "AIRTELTIGO_GHA", &GH, "GHS", Prompt, true),
    op("tigo_tz", "TIGO_TZA", &TZ, "TZS", Prompt, true),
    op("tnm_mw", "TNM_MWI", &MW, "MWK", Prompt, true),
    op("vodacom_cd", "VODACOM_MPESA_COD", &CD, "CDF", Prompt, true),
    op("vodafone_gh", "VODAFONE_GHA", &GH, "GHS", Prompt, true),
    op("wave_ci", "WAVE_CIV", &CI, "XOF", Redirect, true),
    op("wave_sn", "WAVE_SEN", &SN, "XOF", Redirect, true),
    op("zamtel_zm", "ZAMTEL_ZMB", &ZM, "ZMW", Prompt, true),];

static BF: Country = country("BF", "BFA", "226", false);
static BJ: Country = country("BJ", "BEN", "229", false);
static CD: Country = country("CD", "COD", "243", true);
static CI: Country = country("CI", "CIV", "225", false);
static CM: Country = country("CM", "CMR", "237", false);
static GH: Country = country("GH", "GHA", "233", true);
static KE: Country = country("KE", "KEN", "254", true);
static MW: Country = country("MW", "MWI", "265", true);
static NG: Country = country("NG", "NGA", "234", true);
static RW: Country = country("RW", "RWA", "250", true);
static SN: Country = country("SN", "SEN", "221", false);
static TZ: Country = country("TZ", "TZA", "255", true);
static UG: Country = country("UG", "UGA", "256", true);
static ZM: Country = country("ZM", "ZMB", "260", true);

/// No number in these countries has fewer digits behind the dial code.
const NATIONAL_DIGITS: usize = 8;
