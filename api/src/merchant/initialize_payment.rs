//! `POST /v1/payments/initialize` (docs/contract/requests.md).

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Serialize;
use switchyard_core::directory::Method;
use switchyard_core::ids::TransactionId;
use switchyard_core::money::Currency;
use switchyard_core::transaction::{ClientContext, Kind, Restriction};
use switchyard_engine::access::Caller;
use switchyard_engine::engine::{Engine, EngineError, NewPayment};
use switchyard_engine::idempotency::{KeyedResponse, Route};
use utoipa::ToSchema;

use super::guard::AnyKey;
use super::initialize::{Initialization, initialize};
use super::missing::{self, Missing};
use super::render::payment::checkout_url;
use super::schema::{InitializePayment, InitializePaymentRefusals};
use super::{fields, request};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::openapi::Success;
use crate::state::ApiState;

/// Checkout page of a payment.
#[derive(Serialize, ToSchema)]
pub struct PaymentInitialized {
    #[schema(value_type = String, example = "py_01k0000000000000000000000")]
    id: TransactionId,
    /// The hosted payment page; send the customer there.
    checkout_url: String,
}

/// Initialize a payment
///
/// Makes a payment and answers the address of its hosted page. Amounts are in major units.
#[utoipa::path(
    post,
    path = "/v1/payments/initialize",
    operation_id = "initializePayment",
    tag = "Payments",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key and body are answered the same, once.",
        min_length = 1, max_length = 255, pattern = "^[!-~]+$")),
    request_body = InitializePayment,
    responses((status = 201, description = "The payment was made.", body = Success<PaymentInitialized>, links(
            ("retrievePayment" = (operation_id = "retrievePayment", parameters(("paymentId" = "$response.body#/data/id")))),
            ("verifyPayment" = (operation_id = "verifyPayment", parameters(("paymentId" = "$response.body#/data/id")))),
            ("processPayment" = (operation_id = "processPayment", parameters(("paymentId" = "$response.body#/data/id")))),
        )), InitializePaymentRefusals),
    security(("secret_key" = []), ("public_key" = [])),
)]
pub async fn initialize_payment(
    State(state): State<ApiState>,
    AnyKey(key): AnyKey,
    request: Request,
) -> Response {
    let result = initialize::<NewPayment>(&state, &key.caller, request).await;
    key.answer(result)
}

impl Initialization for NewPayment {
    const ROUTE: Route = Route::InitializePayment;
    const MESSAGE: &'static str = "Transaction initialized successfully";
    type Made = PaymentInitialized;

    fn read(
        body: &[u8],
        engine: &Engine,
        caller: &Caller,
        context: ClientContext,
    ) -> Result<Self, ApiError> {
        let converts = caller.app.settings.conversion.is_some();
        let environment = caller.environment;
        request::payment::read(body, engine.directory(), environment, converts, context)
    }

    fn check(&self, state: &ApiState, caller: &Caller) -> Result<(), ApiError> {
        let engine = state.engine();
        let can_serve = |method: &&Method| {
            let price = engine.price_of(caller.app.id, self.amount, method);
            price.is_some_and(|price| {
                engine.can_serve(
                    caller.app.id,
                    caller.environment,
                    Kind::Payment,
                    &method.code,
                    Some(price.amount),
                )
            })
        };
        let bound_to = self
            .restriction
            .as_ref()
            .map(|restriction| match restriction {
                Restriction::Country { country_code } => ("restrict_country_code", country_code),
                Restriction::Phone { country_code, .. } => {
                    ("restricted_phone.country_code", country_code)
                }
            });
        let mut possible = offered(self, engine, caller).filter(can_serve).peekable();
        if possible.peek().is_none() {
            return Err(no_method(self, engine, caller));
        }
        let excluded = &state.settings().excluded_countries;
        let Some((field, country)) = bound_to else {
            let can_be_used = possible.any(|method| is_used_outside_of(excluded, method));
            return can_be_used
                .then_some(())
                .ok_or_else(|| only_excluded_countries(self));
        };
        if excluded.contains(country) {
            let message =
                format!("{field} is {country}, where this installation takes no payments");
            return Err(unservable(field, message));
        }
        let mut there = possible.filter(|method| method.serves(country)).peekable();
        if there.peek().is_none() {
            if is_held_back(self, engine, caller, Some(country)) {
                return Err(held_back(self));
            }
            let message =
                format!("{field} is {country}, where no enabled method for this currency exists");
            return Err(unservable(field, message));
        }
        let by_phone = matches!(self.restriction, Some(Restriction::Phone { .. }));
        if !by_phone || there.any(|method| can_be_tied(self, engine, caller, method)) {
            return Ok(());
        }
        let message = format!(
            "restricted_phone is a number, and no method that is offered in {country} is tied to one"
        );
        Err(unservable("restricted_phone", message))
    }

    fn fields(&self) -> Vec<(String, String)> {
        fields::of_payment(self)
    }

    async fn carry_out(
        self,
        engine: &Engine,
        caller: &Caller,
        keyed: Option<&KeyedResponse<'_>>,
    ) -> Result<TransactionId, EngineError> {
        let payment = engine.initialize_payment(caller, self, keyed).await?;
        Ok(payment.id)
    }

    fn made(public_url: &str, id: TransactionId) -> PaymentInitialized {
        PaymentInitialized {
            id,
            checkout_url: checkout_url(public_url, id),
        }
    }
}

/// The methods that the payment names, or all, as far as the payer could pay it in their currency.
fn offered<'e>(
    new: &'e NewPayment,
    engine: &'e Engine,
    caller: &Caller,
) -> impl Iterator<Item = &'e Method> {
    // Looked at first: most methods are of another currency, and most apps do not convert.
    let converts = caller.app.settings.conversion.is_some();
    let methods = engine.directory().payment_methods().iter();
    methods.map(AsRef::as_ref).filter(move |method: &&Method| {
        let is_bound = converts || method.currency == new.amount.currency();
        is_bound && (new.methods.is_empty() || new.methods.contains(&method.code))
    })
}

/// Whether one of the offered methods, in this country if one is given, only waits for the end of a
/// drain or of a quarantine.
fn is_held_back(new: &NewPayment, engine: &Engine, caller: &Caller, country: Option<&str>) -> bool {
    let (app, environment) = (caller.app.id, caller.environment);
    offered(new, engine, caller)
        .filter(|method| country.is_none_or(|country| method.serves(country)))
        .any(|method| {
            let price = engine.price_of(app, new.amount, method);
            price.is_some_and(|price| {
                let amount = Some(price.amount);
                engine.is_held_back(app, environment, Kind::Payment, &method.code, amount)
            })
        })
}

fn held_back(new: &NewPayment) -> ApiError {
    let currency = new.amount.currency();
    method_unavailable(format!(
        "No payment method for {currency} takes new payments at the moment"
    ))
}

/// Error for methods that a drain or a quarantine blocks.
pub fn method_unavailable(message: String) -> ApiError {
    let problem = Problem::new(ErrorCode::MethodUnavailable, message);
    ApiError::new(problem.hint("Nothing was made. Send the same request again later."))
        .retry_after(HELD_BACK_RETRY_SECONDS)
}

/// Operators end drains and quarantines, and people take minutes.
const HELD_BACK_RETRY_SECONDS: u32 = 60;

/// Whether a payer who uses `method` says from which number, so that they can be held to one.
fn can_be_tied(new: &NewPayment, engine: &Engine, caller: &Caller, method: &Method) -> bool {
    let price = engine.price_of(caller.app.id, new.amount, method);
    price.is_some_and(|price| {
        engine.can_be_tied_to_a_phone(caller.app.id, caller.environment, method, price.amount)
    })
}

/// Whether the method is used in a country that is not excluded.
fn is_used_outside_of(excluded: &[String], method: &Method) -> bool {
    let is_excluded = |alpha2: &str| excluded.iter().any(|code| code == alpha2);
    let mut countries = method.countries.iter();
    countries.any(|country| !is_excluded(country.alpha2))
}

/// Error for methods that are used in excluded countries only.
fn only_excluded_countries(new: &NewPayment) -> ApiError {
    let message = format!(
        "The enabled payment methods for this currency ({}) are used only in countries where this \
         installation takes no payments",
        new.amount.currency()
    );
    Problem::new(ErrorCode::NoMethodEnabled, message)
        .at("currency")
        .into()
}

fn unservable(field: &'static str, message: String) -> ApiError {
    Problem::new(ErrorCode::RestrictionUnservable, message)
        .at(field)
        .into()
}

/// Error without a usable method: none accepts this amount, or none is enabled.
fn no_method(new: &NewPayment, engine: &Engine, caller: &Caller) -> ApiError {
    if is_held_back(new, engine, caller, None) {
        return held_back(new);
    }
    let (app, environment) = (caller.app.id, caller.environment);
    let mut methods = engine.directory().payment_methods().iter();
    let takes_others = methods.any(|method| {
        method.currency == new.amount.currency()
            && (new.methods.is_empty() || new.methods.contains(&method.code))
            && engine.can_serve(app, environment, Kind::Payment, &method.code, None)
    });
    if takes_others {
        let message = format!("No enabled payment method takes {}", new.amount);
        return Problem::new(ErrorCode::AmountNotServed, message)
            .at("amount")
            .into();
    }
    let currency = new.amount.currency();
    let message = format!("No payment methods enabled for this currency ({currency})");
    let problem = match missing::find(engine, caller, Kind::Payment) {
        Some(Missing { reason, hint }) => {
            Problem::new(ErrorCode::NoMethodEnabled, format!("{message}: {reason}")).hint(hint)
        }
        None => {
            let enabled = engine.enabled_currencies(app, environment, Kind::Payment);
            let codes: Vec<&str> = enabled.into_iter().map(Currency::code).collect();
            let problem = Problem::new(ErrorCode::NoMethodEnabled, message);
            match codes.is_empty() {
                true => problem,
                false => problem.hint(format!("Enabled currencies: {}.", codes.join(", "))),
            }
        }
    };
    problem.at("currency").into()
}
