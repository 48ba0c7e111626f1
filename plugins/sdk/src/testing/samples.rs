//! Sample inputs of operations, and answers of a provider.

use serde_json::Value;

use crate::input::{
    Callback, Collect, Direction, Environment, Fields, Money, Options, Payer, Payout, Query,
};
use crate::list::List;
use crate::wire::{Body, EffectError, EffectErrorKind, HttpRequest, HttpResponse, Sent};

/// A provider that must not be asked anything.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/acme.rs"));
/// # fn main() -> Result<(), switchyard_gateway::Fault> {
/// use switchyard_gateway::Operation;
/// use switchyard_gateway::testing::{self, Call};
///
/// // A wrong phone number is refused before anything is sent.
/// let mut ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
/// ask.fields = [("msisdn", "2299700")].into();
/// let end = Call::new(Operation::Collect).input(&ask).run::<Acme>(testing::no_provider)?;
/// assert!(end.requests.is_empty());
/// # Ok(())
/// # }
/// ```
pub fn no_provider(request: &HttpRequest) -> Result<HttpResponse, EffectError> {
    panic!(
        "no request was expected, and one came: {} {}",
        request.method, request.url
    )
}

/// A provider's answer in JSON.
///
/// ```
/// use serde_json::json;
/// use switchyard_gateway::testing;
///
/// let created = testing::answer(201, json!({ "id": "ch_1" }));
/// assert_eq!(created.unwrap().status, 201);
/// ```
pub fn answer(status: u16, body: Value) -> Result<HttpResponse, EffectError> {
    Ok(HttpResponse {
        status,
        headers: vec![("content-type".into(), "application/json".into())],
        body: Body::Text(body.to_string()),
    })
}

/// A provider's answer in any text: half a page of HTML, say.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let page = testing::text_answer(502, "<html>Bad gateway");
/// assert_eq!(page.unwrap().status, 502);
/// ```
pub fn text_answer(status: u16, body: &str) -> Result<HttpResponse, EffectError> {
    Ok(HttpResponse {
        status,
        headers: Vec::new(),
        body: Body::Text(body.into()),
    })
}

/// No answer in time; the request may have arrived.
///
/// ```
/// use switchyard_gateway::testing;
/// use switchyard_gateway::wire::Sent;
///
/// assert_eq!(testing::timeout().unwrap_err().sent, Sent::Maybe);
/// ```
pub fn timeout() -> Result<HttpResponse, EffectError> {
    Err(EffectError {
        sent: Sent::Maybe,
        kind: EffectErrorKind::Timeout,
        message: "the provider did not answer in time".into(),
    })
}

/// No connection: the request surely did not leave.
///
/// ```
/// use switchyard_gateway::testing;
/// use switchyard_gateway::wire::Sent;
///
/// assert_eq!(testing::unreachable().unwrap_err().sent, Sent::No);
/// ```
pub fn unreachable() -> Result<HttpResponse, EffectError> {
    Err(EffectError {
        sent: Sent::No,
        kind: EffectErrorKind::Connect,
        message: "the provider could not be reached".into(),
    })
}

/// A collection of `minor` units with sample values for the rest.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let ask = testing::collect("acme_xof", 1_000, "XOF", 0);
/// assert_eq!((ask.amount.decimal.as_str(), ask.reference.as_str()), ("1000", testing::REFERENCE));
/// ```
pub fn collect(method: &str, minor: i64, currency: &str, decimals: u8) -> Collect {
    Collect {
        reference: REFERENCE.into(),
        transaction: "py_01jd4v3z6q8k9m2n5p7r1s3t4v".into(),
        method: method.into(),
        country: None,
        amount: Money::from_minor(minor, currency, decimals),
        payer: payer(),
        fields: Fields::default(),
        description: "A sample".into(),
        return_url: Some("https://pay.example.com/checkout/py_01jd4v3z6q8k9m2n5p7r1s3t4v".into()),
        callback_url: Some(
            "https://pay.example.com/callbacks/con_01jd4v3z6q8k9m2n5p7r1s3t4v".into(),
        ),
        environment: Environment::Sandbox,
    }
}

/// A payout of `minor` units with sample values for the rest.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let mut ask = testing::payout("acme_xof", 1_000, "XOF", 0);
/// ask.recipient = [("msisdn", "22997000000")].into();
/// assert_eq!(ask.amount.minor, 1_000);
/// ```
pub fn payout(method: &str, minor: i64, currency: &str, decimals: u8) -> Payout {
    Payout {
        reference: REFERENCE.into(),
        transaction: "po_01jd4v3z6q8k9m2n5p7r1s3t4v".into(),
        method: method.into(),
        country: None,
        amount: Money::from_minor(minor, currency, decimals),
        payer: payer(),
        recipient: Fields::default(),
        description: "A sample".into(),
        callback_url: None,
        environment: Environment::Sandbox,
    }
}

/// A callback by POST with this body, byte for byte, to the address of a connection.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let news = testing::callback(r#"{"id":"ch_1"}"#, &[("X-Signature", "5f2b")]);
/// assert_eq!(news.header("x-signature"), Some("5f2b"));
/// ```
pub fn callback(body: &str, headers: &[(&str, &str)]) -> Callback {
    let headers = headers.iter();
    Callback {
        method: "POST".into(),
        path: "/callbacks/con_1".into(),
        query: String::new(),
        url: Some("https://pay.example/callbacks/con_1".into()),
        headers: headers
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        body: Body::Text(body.into()),
    }
}

/// The query of what [`collect`] or [`payout`] began.
///
/// ```
/// use switchyard_gateway::{Direction, testing};
///
/// let mut ask = testing::query("acme_xof", Direction::Collect, 1_000, "XOF", 0);
/// ask.provider_id = Some("ch_1".into());
/// assert_eq!(ask.reference, testing::REFERENCE);
/// ```
pub fn query(
    method: &str,
    direction: Direction,
    minor: i64,
    currency: &str,
    decimals: u8,
) -> Query {
    Query {
        reference: REFERENCE.into(),
        provider_id: None,
        direction,
        method: method.into(),
        amount: Money::from_minor(minor, currency, decimals),
        payer: payer(),
        fields: Fields::default(),
        recipient: Fields::default(),
        environment: Environment::Sandbox,
    }
}

/// The question for the options of a field.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let ask = testing::options("banks", "bank_ng", "NGN", 2);
/// assert_eq!(ask.unit.minor, 100);
/// ```
pub fn options(source: &str, method: &str, currency: &str, decimals: u8) -> Options {
    let minor = 10_i64.saturating_pow(u32::from(decimals));
    Options {
        source: source.into(),
        method: method.into(),
        direction: Direction::Collect,
        unit: Money::from_minor(minor, currency, decimals),
    }
}

/// The question for the first page of the payments, or of the payouts, of the hour before the time
/// of [`Call::new`](super::Call::new).
///
/// ```
/// use switchyard_gateway::{Direction, testing};
///
/// let mut second = testing::list(Direction::Payout);
/// second.cursor = Some("page_2".into());
/// assert_eq!(second.direction, Direction::Payout);
/// ```
pub fn list(direction: Direction) -> List {
    List {
        direction,
        from: "2026-11-20T09:00:00Z".into(),
        until: "2026-11-20T10:00:00Z".into(),
        cursor: None,
    }
}

fn payer() -> Payer {
    Payer {
        first_name: Some("Ada".into()),
        last_name: Some("Lovelace".into()),
        email: Some("ada@example.com".into()),
        msisdn: None,
    }
}

/// The reference that the samples carry.
///
/// ```
/// use switchyard_gateway::testing;
///
/// let ask = testing::collect("mtn_bj", 1_000, "XOF", 0);
/// assert_eq!(ask.reference, testing::REFERENCE);
/// // For a provider that takes 32 letters and digits.
/// assert_eq!(testing::REFERENCE.replace('-', "").len(), 32);
/// ```
pub const REFERENCE: &str = "7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d";
