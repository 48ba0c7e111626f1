//! Payment links: creation, list, disabling, and their payments.

use axum::extract::State;
use switchyard_core::ids::PaymentLinkId;
use switchyard_users::{Action, NewPaymentLink, PaymentLink};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::payment_links::{
    LinkPage, LinkPaymentPage, LinkPayments, LinkRequest, PaymentLinkView, PaymentLinks,
};
use super::place::InScope;
use crate::openapi::Success;
use crate::operator::contract::transactions::TransactionSummary;
use crate::operator::error::{Answer, Refused, not_found};
use crate::operator::input::{Body, QueryParams, created, ok};
use crate::payment_links;
use crate::privacy;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(show))
        .routes(routes!(disable))
        .routes(routes!(enable))
        .routes(routes!(payments))
}

/// List payment links
///
/// Newest first. `more` is the start of the next page: `?before=`. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/payment-links",
    operation_id = "listPaymentLinks",
    tag = "Payment links",
    params(LinkPage),
    responses((status = 200, description = "A page of links.", body = Success<PaymentLinks>)),
)]
async fn list(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(page): QueryParams<LinkPage>,
) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let limit = page.limit.unwrap_or(PER_PAGE).clamp(1, MOST);
    let users = scope.place.users();
    let links = users.payment_links(scope.app.id, scope.environment, page.before, limit);
    let links = links.await?;
    let more = links.last().map(|link| link.id);
    let more = more.filter(|_| links.len() == limit);
    let mut views = Vec::with_capacity(links.len());
    for link in &links {
        views.push(view(&state, &scope, link).await?);
    }
    let page = PaymentLinks { links: views, more };
    ok("Payment links fetched successfully", &page)
}

/// Create a payment link
///
/// Payers open its `url`, give their names and e-mail address, and the amount where it is not
/// fixed, and pay on the checkout page. Amounts, methods, metadata and the return URL are checked
/// as those of `POST /v1/payments/initialize`. Payments of the link have its id under the key
/// `payment_link` of their metadata. A limited number of uses counts successful payments; a payment
/// that may still succeed holds a use for 30 minutes, and until the result of an attempt at a
/// provider. A repeated request creates another link.
/// Action: `manage_payment_links`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/payment-links",
    operation_id = "createPaymentLink",
    tag = "Payment links",
    request_body = LinkRequest,
    responses((status = 201, description = "The link.", body = Success<PaymentLinkView>)),
)]
async fn create(
    State(state): State<ApiState>,
    scope: InScope,
    Body(request): Body<LinkRequest>,
) -> Answer {
    let permit = scope.place.permit(Action::ManagePaymentLinks)?;
    let caller = scope.caller(&state)?;
    let new = NewPaymentLink {
        app: scope.app.id,
        environment: scope.environment,
        terms: payment_links::terms(state.engine(), &caller, &request)?,
    };
    let link = scope.place.users().create_payment_link(&permit, new);
    let view = view(&state, &scope, &link.await?).await?;
    created("Payment link created successfully", &view)
}

/// Retrieve a payment link
///
/// With the number and the sums of its payments. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/payment-links/{link}",
    operation_id = "retrievePaymentLink",
    tag = "Payment links",
    responses((status = 200, description = "The link.", body = Success<PaymentLinkView>)),
)]
async fn show(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let link = one_of_scope(&scope).await?;
    let view = view(&state, &scope, &link).await?;
    ok("Payment link fetched successfully", &view)
}

/// Disable a payment link
///
/// It takes no new payment. Payments that were begun go on. Action: `manage_payment_links`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/payment-links/{link}/disable",
    operation_id = "disablePaymentLink",
    tag = "Payment links",
    responses((status = 200, description = "The link.", body = Success<PaymentLinkView>)),
)]
async fn disable(State(state): State<ApiState>, scope: InScope) -> Answer {
    let permit = scope.place.permit(Action::ManagePaymentLinks)?;
    let link = one_of_scope(&scope).await?;
    let users = scope.place.users();
    let link = users.disable_payment_link(&permit, link.id).await?;
    let view = view(&state, &scope, &link).await?;
    ok("Payment link disabled successfully", &view)
}

/// Enable a payment link
///
/// Action: `manage_payment_links`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/payment-links/{link}/enable",
    operation_id = "enablePaymentLink",
    tag = "Payment links",
    responses((status = 200, description = "The link.", body = Success<PaymentLinkView>)),
)]
async fn enable(State(state): State<ApiState>, scope: InScope) -> Answer {
    let permit = scope.place.permit(Action::ManagePaymentLinks)?;
    let link = one_of_scope(&scope).await?;
    let users = scope.place.users();
    let link = users.enable_payment_link(&permit, link.id).await?;
    let view = view(&state, &scope, &link).await?;
    ok("Payment link enabled successfully", &view)
}

/// List the payments of a link
///
/// Newest first, also those that were begun and not paid. Without the action `view_personal_data`
/// addresses of customers are masked. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/payment-links/{link}/payments",
    operation_id = "listPaymentsOfLink",
    tag = "Payment links",
    params(LinkPaymentPage),
    responses((status = 200, description = "A page of payments.", body = Success<LinkPayments>)),
)]
async fn payments(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(page): QueryParams<LinkPaymentPage>,
) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let link = one_of_scope(&scope).await?;
    let limit = page.limit.unwrap_or(PER_PAGE).clamp(1, MOST);
    let users = scope.place.users();
    let found = payment_links::transactions(&state, users, &link, page.before, limit);
    let (found, more) = found.await?;
    let views = found.iter().map(|tx| TransactionSummary::from(&**tx));
    let mut page = LinkPayments {
        transactions: views.collect(),
        more,
        environment: scope.environment,
    };
    if !scope.place.may(Action::ViewPersonalData) {
        page.transactions.iter_mut().for_each(privacy::mask_summary);
    }
    ok("Payments fetched successfully", &page)
}

/// The link of the path, if it is one of the app and environment.
async fn one_of_scope(scope: &InScope) -> Result<PaymentLink, Refused> {
    let id: PaymentLinkId = scope.place.sender.id("link")?;
    let users = scope.place.users();
    let link = users.payment_link(scope.place.account, id).await?;
    match (link.app, link.environment) == (scope.app.id, scope.environment) {
        true => Ok(link),
        false => Err(not_found("payment link").into()),
    }
}

async fn view(
    state: &ApiState,
    scope: &InScope,
    link: &PaymentLink,
) -> Result<PaymentLinkView, Refused> {
    let users = scope.place.users();
    let now = payment_links::uses(state, users, link).await?;
    Ok(PaymentLinkView::new(state.engine(), users, link, &now))
}

const PER_PAGE: usize = 20;
const MOST: usize = 100;
