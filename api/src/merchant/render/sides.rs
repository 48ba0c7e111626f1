//! The two sides of an attempt: the method that the customer used, and the gateway that served it.

use serde::Serialize;
use switchyard_core::directory::Method;
use switchyard_core::environment::Environment;
use switchyard_core::ids::ConnectionId;
use switchyard_core::transaction::{Attempt, AttemptState, Kind};
use utoipa::ToSchema;

use super::RenderContext;
use super::payment::EnvironmentWord;

/// A method inside a capture or a disburse.
#[derive(Serialize, ToSchema)]
pub struct MethodVerified {
    id: String,
    name: String,
    #[schema(example = "mtn_bj")]
    short_code: String,
    icon_url: String,
}

/// A method in the retrieve form.
#[derive(Serialize, ToSchema)]
pub struct MethodRetrieved {
    name: String,
    #[schema(example = "mtn_bj")]
    code: String,
    icon_url: String,
    #[schema(value_type = EnvironmentWord)]
    environment: Environment,
}

/// A gateway inside a capture or a disburse.
#[derive(Serialize, ToSchema)]
pub struct GatewayVerified<'a> {
    #[schema(value_type = String)]
    id: ConnectionId,
    account_name: &'a str,
    name: &'a str,
    short_code: &'a str,
    icon_url: String,
    /// The provider's own id for it; empty until the provider gave one.
    transaction_id: &'a str,
    /// The provider's own word for its status.
    transaction_status: &'a str,
    transaction_failure_message: Option<&'a str>,
}

/// A gateway in the retrieve form.
#[derive(Serialize, ToSchema)]
pub struct GatewayRetrieved<'a> {
    name: &'a str,
    account_name: &'a str,
    code: &'a str,
    icon_url: String,
    #[schema(value_type = EnvironmentWord)]
    environment: Environment,
}

impl MethodVerified {
    pub fn new(context: &RenderContext<'_>, kind: Kind, code: &str) -> Self {
        Self {
            id: code.to_owned(),
            name: name(context, kind, code),
            short_code: code.to_owned(),
            icon_url: icon_url(context, code),
        }
    }
}

impl MethodRetrieved {
    pub fn new(
        context: &RenderContext<'_>,
        kind: Kind,
        code: &str,
        environment: Environment,
    ) -> Self {
        Self {
            name: name(context, kind, code),
            code: code.to_owned(),
            icon_url: icon_url(context, code),
            environment,
        }
    }
}

impl<'a> GatewayVerified<'a> {
    pub fn new(context: &RenderContext<'_>, attempt: &'a Attempt) -> Self {
        let candidate = &attempt.candidate;
        let decline = attempt.decline.as_ref();
        Self {
            id: candidate.connection,
            account_name: &candidate.account_name,
            name: &candidate.gateway_title,
            short_code: &candidate.gateway,
            icon_url: gateway_icon(context, &candidate.gateway),
            transaction_id: attempt.provider_id.as_deref().unwrap_or_default(),
            transaction_status: status(attempt),
            // A person's statement is not the provider's.
            transaction_failure_message: decline
                .filter(|_| attempt.settled.is_none() && attempt.standing_charge().is_none())
                .and_then(|decline| decline.provider_message.as_deref()),
        }
    }
}

impl<'a> GatewayRetrieved<'a> {
    pub fn new(
        context: &RenderContext<'_>,
        attempt: &'a Attempt,
        environment: Environment,
    ) -> Self {
        let candidate = &attempt.candidate;
        Self {
            name: &candidate.gateway_title,
            account_name: &candidate.account_name,
            code: &candidate.gateway,
            icon_url: gateway_icon(context, &candidate.gateway),
            environment,
        }
    }
}

/// Our word for an attempt whose provider has not said one of its own.
/// The provider's status of an attempt. A status from before a report about money is left out.
fn status(attempt: &Attempt) -> &str {
    let is_closed = matches!(
        attempt.state,
        AttemptState::Declined | AttemptState::NotSent
    );
    if is_closed && attempt.standing_charge().is_some() {
        let is_whole = attempt.charges.iter().any(|charge| !charge.is_part);
        return if is_whole { "success" } else { "pending" };
    }
    let given = attempt.provider_status.as_deref();
    given.unwrap_or_else(|| word(attempt.state))
}

const fn word(state: AttemptState) -> &'static str {
    match state {
        AttemptState::Started | AttemptState::Pending | AttemptState::InDoubt => "pending",
        AttemptState::Succeeded => "success",
        AttemptState::Declined | AttemptState::NotSent => "failed",
    }
}

fn name(context: &RenderContext<'_>, kind: Kind, code: &str) -> String {
    let method = context.directory.method(kind, code);
    method.map_or_else(|| code.to_owned(), |method| method.name.clone())
}

/// By code alone: payments and payouts of one operator share its icon.
fn icon_url(context: &RenderContext<'_>, code: &str) -> String {
    let path = |method: &std::sync::Arc<Method>| method.icon_path();
    let known = context
        .directory
        .payment_method(code)
        .or_else(|| context.directory.payout_method(code));
    context.url(&known.map_or_else(|| format!("/icons/methods/{code}.svg"), path))
}

fn gateway_icon(context: &RenderContext<'_>, code: &str) -> String {
    context.url(&format!("/icons/gateways/{code}.svg"))
}
