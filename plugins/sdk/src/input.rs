//! Inputs of the operations.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::fault::Fault;

/// Environment of a connection: test money or real money.
///
/// ```
/// use switchyard_gateway::Environment;
///
/// let host = |environment| match environment {
///     Environment::Sandbox => "sandbox.acme.example",
///     Environment::Live => "api.acme.example",
/// };
/// assert_eq!(host(Environment::default()), "sandbox.acme.example");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    #[default]
    Sandbox,
    Live,
}

/// Which way the money goes.
///
/// ```
/// use switchyard_gateway::{Direction, testing};
///
/// let ask = testing::query("mtn_bj", Direction::Payout, 1_000, "XOF", 0);
/// let path = match ask.direction {
///     Direction::Collect => "charges",
///     Direction::Payout => "transfers",
/// };
/// assert_eq!(path, "transfers");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Collect,
    Payout,
}

/// The list that `options` is asked for.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let ask = testing::options("banks", "bank_ng", "NGN", 2);
/// assert_eq!(ask.source, "banks");
/// assert_eq!(ask.unit.decimal, "1.00");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// `options_from` of the field.
    pub source: String,
    pub method: String,
    pub direction: Direction,
    /// One unit of the method's currency: lists may depend on the currency, never on an amount.
    pub unit: Money,
}

/// An amount to move, in every notation that providers ask for, so that no gateway computes with
/// it.
///
/// ```
/// use switchyard_gateway::Money;
///
/// let money = Money::from_minor(25_00, "USD", 2);
/// assert_eq!(money.decimal, "25.00");
/// assert_eq!(money.whole()?, 25);
/// assert_eq!(money.with_decimals(3)?, "25.000");
/// assert!(Money::from_minor(25_50, "USD", 2).whole().is_err());
/// # Ok::<(), switchyard_gateway::Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// In the currency's smallest unit: 2500 for 25.00 USD, 200 for 200 XOF.
    pub minor: i64,
    /// ISO 4217.
    pub currency: String,
    /// How many decimals the currency has.
    pub decimals: u8,
    /// In major units with all decimals: `"25.00"`, `"200"`.
    pub decimal: String,
}

impl Money {
    /// From minor units.
    ///
    /// ```
    /// use switchyard_gateway::Money;
    ///
    /// assert_eq!(Money::from_minor(25_00, "USD", 2).decimal, "25.00");
    /// assert_eq!(Money::from_minor(200, "XOF", 0).decimal, "200");
    /// ```
    pub fn from_minor(minor: i64, currency: impl Into<String>, decimals: u8) -> Self {
        Self {
            minor,
            currency: currency.into(),
            decimals,
            decimal: written(minor, decimals),
        }
    }

    /// In major units without decimals, for providers that know none. A fraction is refused, never
    /// rounded.
    ///
    /// ```
    /// use switchyard_gateway::Money;
    ///
    /// assert_eq!(Money::from_minor(25_00, "USD", 2).whole()?, 25);
    /// assert!(Money::from_minor(25_50, "USD", 2).whole().is_err());
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn whole(&self) -> Result<i64, Fault> {
        let unit = 10_i64
            .checked_pow(u32::from(self.decimals))
            .ok_or_else(|| Fault::message(format!("{} decimals are too many", self.decimals)))?;
        if self.minor % unit != 0 {
            return Err(Fault::config(format!(
                "{} {} has a fraction, and this provider takes whole amounts only",
                self.decimal, self.currency
            )));
        }
        Ok(self.minor / unit)
    }

    /// In major units with at most `decimals` decimals, for providers whose operators differ.
    /// Digits are never rounded away.
    ///
    /// ```
    /// use switchyard_gateway::Money;
    ///
    /// let money = Money::from_minor(25_50, "USD", 2);
    /// assert_eq!(money.with_decimals(1)?, "25.5");
    /// assert_eq!(money.with_decimals(3)?, "25.500");
    /// assert!(money.with_decimals(0).is_err());
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn with_decimals(&self, decimals: u8) -> Result<String, Fault> {
        if decimals == 0 {
            return self.whole().map(|whole| whole.to_string());
        }
        let mut text = self.decimal.clone();
        if self.decimals < decimals {
            if self.decimals == 0 {
                text.push('.');
            }
            text.extend(std::iter::repeat_n(
                '0',
                usize::from(decimals - self.decimals),
            ));
            return Ok(text);
        }
        for _ in decimals..self.decimals {
            if text.pop() != Some('0') {
                return Err(Fault::config(format!(
                    "{} {} has more decimals than the {decimals} that this provider takes",
                    self.decimal, self.currency
                )));
            }
        }
        Ok(text)
    }
}

fn written(minor: i64, decimals: u8) -> String {
    if decimals == 0 {
        return minor.to_string();
    }
    let digits = format!(
        "{:0>width$}",
        minor.unsigned_abs(),
        width = usize::from(decimals) + 1
    );
    let (major, fraction) = digits.split_at(digits.len() - usize::from(decimals));
    let sign = if minor < 0 { "-" } else { "" };
    format!("{sign}{major}.{fraction}")
}

/// Values that the payer or recipient entered, by the field names of the method. Numbers are texts.
///
/// ```
/// use switchyard_gateway::Fields;
///
/// let fields = Fields::from([("msisdn", "22997000000")]);
/// assert_eq!(fields.get("msisdn"), Some("22997000000"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Fields(pub BTreeMap<String, String>);

impl Fields {
    /// The value of a field, if the payer or recipient gave one.
    ///
    /// ```
    /// use switchyard_gateway::Fields;
    ///
    /// let fields = Fields::from([("bank", "058"), ("account", "0123456789")]);
    /// let account = fields.get("iban").or(fields.get("account"));
    /// assert_eq!(account, Some("0123456789"));
    /// ```
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Fields {
    fn from(fields: [(&str, &str); N]) -> Self {
        Self(
            fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        )
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Option::<BTreeMap<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
        Ok(Self(
            raw.into_iter()
                .filter_map(|(name, value)| Some((name, text_of(value)?)))
                .collect(),
        ))
    }
}

fn text_of(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

/// Customer of the transaction. Values that the merchant omitted are absent or empty.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let payer = testing::collect("acme_xof", 1_000, "XOF", 0).payer;
/// let name = [payer.first_name, payer.last_name].into_iter().flatten();
/// assert_eq!(name.collect::<Vec<_>>().join(" "), "Ada Lovelace");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Payer {
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub email: Option<String>,
    /// The phone number, digits with the country's dial code.
    pub msisdn: Option<String>,
}

/// Take money from a payer.
///
/// ```
/// use switchyard_gateway::{Fault, testing};
///
/// let mut ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
/// ask.fields = [("msisdn", "22997000000")].into();
/// let phone = ask.fields.get("msisdn").ok_or_else(|| Fault::config("no phone number"))?;
/// let body = serde_json::json!({
///     "id": ask.reference, "phone": phone, "amount": ask.amount.decimal, "currency": ask.amount.currency,
/// });
/// assert_eq!(body["amount"], "1000");
/// # Ok::<(), Fault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collect {
    /// Our reference of this attempt, a UUID. It belongs into every request that moves money.
    pub reference: String,
    pub transaction: String,
    pub method: String,
    #[serde(default)]
    pub country: Option<String>,
    pub amount: Money,
    #[serde(default)]
    pub payer: Payer,
    #[serde(default)]
    pub fields: Fields,
    #[serde(default)]
    pub description: String,
    /// URL of our checkout page, to which the provider returns the payer.
    #[serde(default)]
    pub return_url: Option<String>,
    /// URL for the provider's callbacks.
    #[serde(default)]
    pub callback_url: Option<String>,
    #[serde(default)]
    pub environment: Environment,
}

/// Send money to a recipient.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let mut ask = testing::payout("mtn_bj", 1_000, "XOF", 0);
/// ask.recipient = [("msisdn", "22997000000")].into();
/// let body = serde_json::json!({ "id": ask.reference, "to": ask.recipient.get("msisdn") });
/// assert_eq!(body["to"], "22997000000");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payout {
    pub reference: String,
    pub transaction: String,
    pub method: String,
    #[serde(default)]
    pub country: Option<String>,
    pub amount: Money,
    #[serde(default)]
    pub payer: Payer,
    #[serde(default)]
    pub recipient: Fields,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub callback_url: Option<String>,
    #[serde(default)]
    pub environment: Environment,
}

/// Query of an attempt's outcome.
///
/// ```
/// use switchyard_gateway::{Direction, testing};
///
/// let ask = testing::query("mtn_bj", Direction::Collect, 1_000, "XOF", 0);
/// // By the provider's id where there is one, else by our reference.
/// let name = ask.provider_id.as_deref().unwrap_or(&ask.reference);
/// assert_eq!(name, testing::REFERENCE);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    pub reference: String,
    #[serde(default)]
    pub provider_id: Option<String>,
    pub direction: Direction,
    pub method: String,
    pub amount: Money,
    #[serde(default)]
    pub payer: Payer,
    #[serde(default)]
    pub fields: Fields,
    #[serde(default)]
    pub recipient: Fields,
    #[serde(default)]
    pub environment: Environment,
}

/// Pass on what the payer typed after the attempt began: the code of an `enter_code`, as
/// `input.code`. A wrong code is answered with another `enter_code` whose `how` says what was
/// wrong.
///
/// ```
/// use switchyard_gateway::{Fault, SubmitInput};
///
/// fn code(ask: &SubmitInput) -> Result<&str, Fault> {
///     ask.input.get("code").ok_or_else(|| Fault::provider("the page sent no code"))
/// }
/// # let _ = code;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitInput {
    pub reference: String,
    #[serde(default)]
    pub provider_id: Option<String>,
    pub method: String,
    pub amount: Money,
    #[serde(default)]
    pub input: Fields,
    #[serde(default)]
    pub environment: Environment,
}

/// Call an attempt off, where the provider can.
///
/// ```
/// use switchyard_gateway::{Cancel, Context, Fault, Outcome};
///
/// async fn cancel(cx: &Context, ask: Cancel) -> Result<Outcome, Fault> {
///     let url = format!("https://api.acme.example/charges/{}/cancel", ask.reference);
///     let answer = cx.post(url).send().await?;
///     // Whether it was called off, the provider's own state says.
///     Ok(match answer.is_success() {
///         true => Outcome::pending(),
///         false => Outcome::unknown(format!("Acme answered {}", answer.status)),
///     })
/// }
/// # let _ = cancel;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    pub reference: String,
    #[serde(default)]
    pub provider_id: Option<String>,
    pub method: String,
    pub amount: Money,
    #[serde(default)]
    pub environment: Environment,
}

/// Give money back.
///
/// ```
/// use switchyard_gateway::Refund;
///
/// fn body(ask: &Refund) -> serde_json::Value {
///     // The refund has a reference of its own; `of` is the charge.
///     serde_json::json!({ "id": ask.reference, "charge": ask.of, "amount": ask.amount.decimal })
/// }
/// # let _ = body;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refund {
    /// Our reference of this refund.
    pub reference: String,
    /// Our reference of the attempt that is refunded.
    pub of: String,
    #[serde(default)]
    pub provider_id: Option<String>,
    pub method: String,
    pub amount: Money,
    #[serde(default)]
    pub environment: Environment,
}

/// Request that a provider sent, byte for byte.
///
/// ```
/// use switchyard_gateway::{Callback, CallbackResult, testing};
///
/// fn read(news: &Callback) -> CallbackResult {
///     // Without a signature it is a hint: the engine queries.
///     match news.header("x-acme-charge") {
///         Some(id) => CallbackResult::hint().about_provider_id(id),
///         None => CallbackResult::nothing(),
///     }
/// }
/// let news = testing::callback("{}", &[("X-Acme-Charge", "ch_1")]);
/// assert_eq!(read(&news).provider_id.as_deref(), Some("ch_1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    pub method: String,
    pub path: String,
    #[serde(default)]
    pub query: String,
    /// The address that the provider was given for its callbacks. A signature that covers host and
    /// path is held against this, not against what a proxy made of them, and not against what the
    /// sender claims: the same news, signed for another's address, is not news for us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: crate::wire::Body,
}

impl Callback {
    /// The first header of this name; case does not matter.
    ///
    /// ```
    /// let callback = switchyard_gateway::testing::callback("", &[("X-Signature", "s")]);
    /// assert_eq!(callback.header("x-signature"), Some("s"));
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        crate::http::header(&self.headers, name)
    }

    /// The fields of a form body (`application/x-www-form-urlencoded`). Of a repeated field the
    /// first value counts. Verify a signature over `body` before, not over these.
    ///
    /// # Errors
    /// When the body is not UTF-8 or an escape in it is broken.
    ///
    /// ```
    /// let callback = switchyard_gateway::testing::callback("id=7&state=paid+now", &[]);
    /// assert_eq!(callback.form()?.get("state"), Some("paid now"));
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn form(&self) -> Result<Fields, Fault> {
        let bytes = self.body.bytes()?;
        let mut fields = BTreeMap::new();
        for pair in bytes.split(|byte| *byte == b'&') {
            if pair.is_empty() {
                continue;
            }
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            let name = unescaped(parts.next().unwrap_or_default())?;
            let value = unescaped(parts.next().unwrap_or_default())?;
            fields.entry(name).or_insert(value);
        }
        Ok(Fields(fields))
    }

    /// Rest of the path behind the connection: our reference with `"per": "transaction"` in the
    /// manifest, otherwise empty.
    ///
    /// ```
    /// let mut callback = switchyard_gateway::testing::callback("", &[]);
    /// assert_eq!(callback.rest(), "");
    /// callback.path = "/callbacks/con_1/7d3f0c9e".into();
    /// assert_eq!(callback.rest(), "7d3f0c9e");
    /// ```
    pub fn rest(&self) -> &str {
        let mut parts = self.path.trim_start_matches('/').splitn(3, '/');
        parts.nth(2).unwrap_or_default().trim_end_matches('/')
    }
}

/// Text of a form: `+` is a space, `%41` is `A`.
fn unescaped(text: &[u8]) -> Result<String, Fault> {
    let broken = || Fault::message("the form has a broken escape");
    let digit = |byte: Option<u8>| {
        let digit = byte.and_then(|byte| char::from(byte).to_digit(16));
        digit.and_then(|digit| u8::try_from(digit).ok())
    };
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = digit(bytes.next()).ok_or_else(broken)?;
                let low = digit(bytes.next()).ok_or_else(broken)?;
                high << 4 | low
            }
            plain => plain,
        });
    }
    String::from_utf8(out).map_err(|_| Fault::message("the form is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn a_form_is_read_field_by_field() {
        let form = |body: &str| testing::callback(body, &[]).form();
        let fields = form("status=paid&name=Ada+L%C3%B6we&empty=&status=refused&flag&").unwrap();
        assert_eq!(fields.get("status"), Some("paid"), "the first value counts");
        assert_eq!(fields.get("name"), Some("Ada Löwe"));
        assert_eq!(fields.get("empty"), Some(""));
        assert_eq!(fields.get("flag"), Some(""));
        assert_eq!(fields.get("other"), None);
        for broken in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert!(form(broken).is_err(), "{broken}");
        }
        assert!(form("").unwrap().0.is_empty());
    }
}
