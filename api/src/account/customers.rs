//! Customers: list, one, their personal data and its erasure.

use axum::extract::State;
use axum::response::Response;
use serde_json::Value;
use switchyard_core::ids::CustomerId;
use switchyard_engine::engine::ErasedCustomer;
use switchyard_records::{CustomerQuery, StoredCustomer};
use switchyard_users::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::customers::CustomerFilter;
use super::place::{InScope, author};
use crate::customers;
use crate::error::{ErrorCode, Problem};
use crate::openapi::Success;
use crate::operator::contract::customers::{
    CustomerErasure, CustomerExport, CustomerPage, KnownCustomer,
};
use crate::operator::error::{Answer, Refused, not_found};
use crate::operator::input::{QueryParams, ok};
use crate::privacy;
use crate::state::ApiState;

pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(export))
        .routes(routes!(erase))
}

/// List customers
///
/// Newest first. Without the action `view_personal_data` names, addresses and numbers are masked.
/// Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/customers",
    operation_id = "listCustomers",
    tag = "Customers",
    params(CustomerFilter),
    responses((status = 200, description = "A page of customers.", body = Success<CustomerPage>)),
)]
async fn list(
    State(state): State<ApiState>,
    scope: InScope,
    QueryParams(filter): QueryParams<CustomerFilter>,
) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let (engine, limit) = (
        state.engine(),
        filter.limit.unwrap_or(PER_PAGE).clamp(1, MOST),
    );
    let (found, more) = match &filter.email {
        Some(email) => {
            let owner = (scope.app.id, scope.environment);
            let found = engine.customer_with_email(owner, email).await?;
            (found.into_iter().collect(), None)
        }
        None => {
            let query = CustomerQuery {
                app: scope.app.id,
                environment: scope.environment,
                before: filter.before,
                limit: limit + 1,
            };
            let mut found = engine.customers(&query).await?;
            let has_more = found.len() > limit;
            found.truncate(limit);
            let last = found.last().map(|last| last.customer.id);
            (found, last.filter(|_| has_more))
        }
    };
    let page = CustomerPage {
        customers: found.iter().map(|one| view(&scope, one)).collect(),
        more,
        environment: scope.environment,
    };
    ok("Customers fetched successfully", &page)
}

/// Retrieve a customer
///
/// Search for the id to find the payments and payouts, see `searchTransactions`. Without the action
/// `view_personal_data` names, addresses and numbers are masked. Action: `view_payments`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/customers/{customer}",
    operation_id = "retrieveCustomer",
    tag = "Customers",
    responses((status = 200, description = "The customer.", body = Success<KnownCustomer>)),
)]
async fn show(State(state): State<ApiState>, scope: InScope) -> Answer {
    scope.place.permit(Action::ViewPayments)?;
    let stored = one_of_scope(&state, &scope).await?;
    ok("Customer fetched successfully", &view(&scope, &stored))
}

/// Export the personal data of a customer
///
/// A JSON file with the customer, all their payments and payouts and the timelines of these,
/// streamed. A stream that ends with an error is incomplete. Each export has an entry in the audit
/// log. It needs the action `view_personal_data`, too. Action: `export_data`.
#[utoipa::path(
    get,
    path = "/apps/{app}/{environment}/customers/{customer}/export",
    operation_id = "exportCustomer",
    tag = "Customers",
    responses((status = 200, description = "The file.", body = CustomerExport)),
)]
async fn export(State(state): State<ApiState>, scope: InScope) -> Result<Response, Refused> {
    let permit = scope.place.permit(Action::ExportData)?;
    scope.place.permit(Action::ViewPersonalData)?;
    let stored = one_of_scope(&state, &scope).await?;
    let entry = permit.entry(stored.customer.id);
    scope.place.audit(entry).await?;
    let owner = (scope.app.id, scope.environment);
    let with_routing = scope.place.may(Action::ViewRouting);
    Ok(customers::export(
        state.engine(),
        owner,
        &stored,
        with_routing,
    ))
}

/// Erase the personal data of a customer
///
/// The ended payments and payouts of the customer lose names, e-mail address, phone numbers, postal
/// addresses, recipients, and the address and browser of the client. So do calls to providers,
/// webhooks and mails about them; callbacks are deleted. Ids, amounts, times,
/// methods, countries and outcomes stay, and so do descriptions and metadata. The customer is
/// deleted when no transaction needs the data any more. This cannot be undone, except by the
/// restore of a backup. Action: `erase_personal_data`.
#[utoipa::path(
    post,
    path = "/apps/{app}/{environment}/customers/{customer}/erase",
    operation_id = "eraseCustomer",
    tag = "Customers",
    responses((
        status = 200,
        description = "The number of erased transactions, and those that keep the data for now.",
        body = Success<CustomerErasure>,
    )),
)]
async fn erase(State(state): State<ApiState>, scope: InScope) -> Answer {
    let permit = scope.place.permit(Action::ErasePersonalData)?;
    let id: CustomerId = scope.place.sender.id("customer")?;
    let owner = (scope.app.id, scope.environment);
    let engine = state.engine();
    let erased = match engine.erase_customer(owner, id, &author(&permit)).await? {
        ErasedCustomer::Unknown => return Err(not_found("customer").into()),
        ErasedCustomer::Held => return Err(held()),
        ErasedCustomer::Erased(erasure) => CustomerErasure::from(erasure),
    };
    let entry = permit
        .entry(id)
        .changing(Value::Null, customers::facts(&erased));
    scope.place.audit(entry).await?;
    let message = match erased.is_deleted {
        true => "Personal data erased successfully",
        false => "Personal data erased where it is not needed any more",
    };
    ok(message, &erased)
}

fn held() -> Refused {
    let problem = Problem::new(
        ErrorCode::ResourceChanged,
        "The installation is held after a restore, and providers are asked about transactions: \
         nothing was erased.",
    );
    Refused(problem.hint("Erase again after the release.").into())
}

async fn one_of_scope(state: &ApiState, scope: &InScope) -> Result<StoredCustomer, Refused> {
    let id: CustomerId = scope.place.sender.id("customer")?;
    let owner = (scope.app.id, scope.environment);
    let found = state.engine().customer(owner, id).await?;
    found.ok_or_else(|| not_found("customer").into())
}

fn view(scope: &InScope, stored: &StoredCustomer) -> KnownCustomer {
    let mut view = KnownCustomer::from(stored);
    if !scope.place.may(Action::ViewPersonalData) {
        privacy::mask_customer(&mut view.customer);
    }
    view
}

const PER_PAGE: usize = 20;
const MOST: usize = 100;
