//! Request for a new link. Its amounts, methods, metadata and return URL are checked as those of a
//! payment, by the parser of the merchant API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchyard_core::limits::{PAYMENT_LINK_TITLE, PAYMENT_LINK_USES};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::Caller;
use switchyard_engine::engine::{Engine, NewPayment};
use switchyard_users::{LinkAmount, LinkTerms, PaymentLink};
use utoipa::ToSchema;

use super::{LINK, end_url};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::iso_timestamp::IsoTimestamp;
use crate::merchant::initialize::Initialization as _;
use crate::operator::contract::{NumberOrText, schemas};
use crate::reason::Reason;

/// New payment link. Its amount is fixed (`amount`), between two limits (`min_amount` and
/// `max_amount`), or open: the payer chooses. Amounts are in major units.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// Goods or purpose, on one line.
    #[schema(min_length = 1, max_length = 100)]
    pub title: String,
    #[serde(default)]
    pub amount: Option<NumberOrText>,
    #[serde(default)]
    pub min_amount: Option<NumberOrText>,
    #[serde(default)]
    pub max_amount: Option<NumberOrText>,
    #[schema(value_type = schemas::Currency)]
    pub currency: String,
    /// Description of the payments. Default: the title.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub description: Option<String>,
    /// Whether payers give their phone number. They always give their names and e-mail address.
    #[serde(default)]
    pub asks_phone: bool,
    /// Codes of the offered methods. Default: all that take the amount.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Largest number of successful payments, at most 10,000. Default: any number.
    #[serde(default)]
    pub max_uses: Option<u32>,
    /// Time from which it takes no payment. Default: none.
    #[serde(default)]
    pub expires_at: Option<IsoTimestamp>,
    /// Address to which payers return. Default: a page of the link.
    #[serde(default)]
    pub return_url: Option<String>,
    /// Metadata of the payments, at most 49 keys. The key `payment_link` is that of the service.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

/// Request of the merchant API for a payment of a link.
#[derive(Serialize)]
pub struct PaymentRequest<'a> {
    amount: &'a NumberOrText,
    currency: &'a str,
    description: &'a str,
    return_url: &'a str,
    customer: CustomerRequest<'a>,
    methods: &'a [String],
    metadata: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
pub struct CustomerRequest<'a> {
    pub email: &'a str,
    pub first_name: &'a str,
    pub last_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<&'a str>,
}

impl PaymentRequest<'_> {
    /// The payment, read by the rules of the merchant API.
    pub fn read(
        &self,
        engine: &Engine,
        caller: &Caller,
        context: ClientContext,
    ) -> Result<NewPayment, ApiError> {
        let body = serde_json::to_vec(self).map_err(|_| ApiError::internal())?;
        NewPayment::read(&body, engine, caller, context)
    }
}

/// Reads a payment of a stored link.
pub fn payment(
    (engine, caller): (&Engine, &Caller),
    link: &PaymentLink,
    amount: &NumberOrText,
    customer: CustomerRequest<'_>,
    context: ClientContext,
) -> Result<NewPayment, ApiError> {
    let (terms, id, end) = (&link.terms, link.id.to_string(), end_url(engine, link));
    let request = PaymentRequest {
        amount,
        currency: terms.amount.currency().code(),
        description: terms.description(),
        return_url: terms.return_url.as_deref().unwrap_or(&end),
        customer,
        methods: &terms.methods,
        metadata: with_link(&terms.metadata, &id),
    };
    request.read(engine, caller, context)
}

fn with_link<'a>(own: &'a BTreeMap<String, String>, id: &'a str) -> BTreeMap<&'a str, &'a str> {
    let own = own.iter().map(|(key, value)| (&**key, &**value));
    own.chain([(LINK, id)]).collect()
}

/// The terms of a new link, or all problems of the request.
pub fn terms(
    engine: &Engine,
    caller: &Caller,
    request: &LinkRequest,
) -> Result<LinkTerms, ApiError> {
    let mut problems = own_problems(engine, request);
    let one = NumberOrText::Text("1".to_owned());
    let fields = [
        ("amount", &request.amount),
        ("min_amount", &request.min_amount),
        ("max_amount", &request.max_amount),
    ];
    let given = fields.into_iter();
    let given = given.filter_map(|(name, amount)| Some((name, amount.as_ref()?)));
    let mut given: Vec<_> = given.collect();
    if given.is_empty() {
        given.push(("amount", &one));
    }
    let mut payments = Vec::new();
    for (at, (name, amount)) in given.into_iter().enumerate() {
        match sample(request, amount).read(engine, caller, ClientContext::default()) {
            Ok(payment) => payments.push(payment),
            Err(error) => add(&mut problems, name, at == 0, error.problems()),
        }
    }
    if let Some(error) = ApiError::of(problems) {
        return Err(error);
    }
    let amounts: Vec<_> = payments.iter().map(|payment| payment.amount).collect();
    let amount = match (request.amount.is_some(), &*amounts) {
        (true, [amount]) => LinkAmount::Fixed { amount: *amount },
        (false, [least, most]) if least > most => {
            let says = "max_amount is at least min_amount.";
            let problem = Problem::new(ErrorCode::FieldInvalid, says).at("max_amount");
            return Err(problem.because(Reason::LinkAmountOrder).into());
        }
        (false, [least, most]) => LinkAmount::Between {
            least: *least,
            most: *most,
        },
        (false, [any]) => LinkAmount::Open {
            currency: any.currency(),
        },
        _ => return Err(ApiError::internal()),
    };
    let payment = payments.pop().ok_or_else(ApiError::internal)?;
    Ok(of_payment(request, payment, amount))
}

fn of_payment(request: &LinkRequest, new: NewPayment, amount: LinkAmount) -> LinkTerms {
    LinkTerms {
        title: request.title.trim().to_owned(),
        amount,
        description: given(request.description.as_ref()).map(|_| new.description),
        asks_phone: request.asks_phone,
        methods: new.methods,
        max_uses: request.max_uses,
        expires_at: request.expires_at.map(|end| end.0),
        return_url: given(request.return_url.as_ref()).map(|_| new.return_url),
        metadata: request.metadata.clone(),
    }
}

/// A text that says something.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str)
        .filter(|text| !text.trim().is_empty())
}

/// A payment of this amount, as a payer of the link would begin it.
fn sample<'a>(request: &'a LinkRequest, amount: &'a NumberOrText) -> PaymentRequest<'a> {
    PaymentRequest {
        amount,
        currency: &request.currency,
        description: given(request.description.as_ref()).unwrap_or("Payment"),
        return_url: given(request.return_url.as_ref()).unwrap_or("https://example.com/"),
        customer: CustomerRequest {
            email: "payer@example.com",
            first_name: "First",
            last_name: "Last",
            phone: None,
        },
        methods: &request.methods,
        metadata: with_link(&request.metadata, LINK),
    }
}

/// Adds the problems of a sample, those about its amount under the name of the field. The first
/// sample has named the problems of all other fields.
fn add(problems: &mut Vec<Problem>, name: &'static str, is_first: bool, found: &[Problem]) {
    for problem in found {
        match problem.field.as_deref() {
            Some("amount") => problems.push(problem.clone().at(name)),
            _ if is_first => problems.push(problem.clone()),
            _ => {}
        }
    }
}

/// Problems of the fields that only a link has.
fn own_problems(engine: &Engine, request: &LinkRequest) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |field: &'static str, says: String, reason: crate::reason::Because| {
        let problem = Problem::new(ErrorCode::FieldInvalid, says).at(field);
        problems.push(problem.because(reason));
    };
    let characters = request.title.trim().chars().count();
    if !(1..=PAYMENT_LINK_TITLE).contains(&characters) || request.title.contains(char::is_control) {
        let says = format!("title is a text of 1 to {PAYMENT_LINK_TITLE} characters on one line.");
        let most = Reason::LinkTitle.with("most", PAYMENT_LINK_TITLE);
        refuse("title", says, most);
    }
    let (least, most) = (&request.min_amount, &request.max_amount);
    if request.amount.is_some() && (least.is_some() || most.is_some()) {
        let says = "amount is fixed, or between min_amount and max_amount: send one of them.";
        refuse("amount", says.to_owned(), Reason::LinkAmountTwice.into());
    } else if least.is_some() != most.is_some() {
        let missing = match least {
            None => "min_amount",
            Some(_) => "max_amount",
        };
        let says = "min_amount and max_amount are sent together, or neither.";
        refuse(missing, says.to_owned(), Reason::LinkAmountLimit.into());
    }
    let uses = request.max_uses;
    if uses.is_some_and(|uses| !(1..=PAYMENT_LINK_USES).contains(&uses)) {
        let says = format!("max_uses is a number from 1 to {PAYMENT_LINK_USES}.");
        let most = Reason::LinkUses.with("most", PAYMENT_LINK_USES);
        refuse("max_uses", says, most);
    }
    let now = engine.clock().now();
    if request.expires_at.is_some_and(|end| end.0 <= now) {
        let says = "expires_at is in the future.".to_owned();
        refuse("expires_at", says, Reason::LinkExpiry.into());
    }
    if request.metadata.contains_key(LINK) {
        let says = format!("metadata.{LINK} is set by the service: leave it out.");
        refuse("metadata", says, Reason::LinkMetadata.into());
    }
    problems
}
