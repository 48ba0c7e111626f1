//! Search of an app's payments and payouts by a text.

use axum::extract::State;
use switchyard_core::ids::AppId;
use switchyard_records::{SearchQuery, SearchText};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::search::{FoundTransactions, SearchFilter};
use super::contract::transactions::TransactionSummary;
use super::error::{Answer, invalid};
use super::input::{Id, QueryParams, ok};
use super::transactions::{in_use, kind_of, must_exist};
use crate::openapi::Success;
use crate::state::ApiState;

/// The route of the search.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(search))
}

/// Search the transactions of an app
///
/// Payments and payouts that the text names, newest first. `more` is the start of the next page:
/// `?before=`.
#[utoipa::path(
    get,
    path = "/apps/{app}/search",
    operation_id = "searchTransactions",
    tag = "Transactions",
    params(SearchFilter),
    responses((
        status = 200,
        description = "A page of matches.",
        body = Success<FoundTransactions>
    )),
)]
async fn search(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    QueryParams(filter): QueryParams<SearchFilter>,
) -> Answer {
    must_exist(&state, app)?;
    let kind = kind_of(filter.kind.as_deref())?;
    let text = SearchText::parse(&filter.text);
    let text = text.map_err(|error| invalid("text", error.to_string()))?;
    let environment = match filter.environment {
        Some(environment) => environment,
        None => in_use(&state, app).await?,
    };
    let query = SearchQuery {
        app,
        environment,
        kind,
        text,
        before: filter.before,
        limit: filter.limit.unwrap_or(PER_PAGE).clamp(1, MOST),
    };
    let found = state.engine().search(&query).await?;
    let views = found.items.iter();
    let page = FoundTransactions {
        transactions: views.map(|tx| TransactionSummary::from(&**tx)).collect(),
        more: found.more,
        environment,
    };
    ok("Transactions fetched successfully", &page)
}

const PER_PAGE: usize = 20;
const MOST: usize = 100;

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use switchyard_core::environment::Environment;
    use switchyard_core::testing::amount;
    use switchyard_engine::engine::NewPayment;
    use switchyard_records::NewCustomer;

    use crate::operator::tests::World;

    async fn pay(world: &World, first_name: &str) -> String {
        let key = world.keys.sandbox_secret_key.expose();
        let caller = world.engine.access().authenticate(key).unwrap();
        let customer = NewCustomer {
            first_name: first_name.to_owned(),
            last_name: "Diop".to_owned(),
            email: format!("{first_name}@example.com"),
            phone: Some("+2290197000000".to_owned()),
            ..NewCustomer::default()
        };
        let new = NewPayment {
            amount: amount(2_500, "USD"),
            description: "Order 1042".to_owned(),
            return_url: "https://shop.example/return".to_owned(),
            customer,
            metadata: [("order".to_owned(), "A-1042".to_owned())].into(),
            methods: Vec::new(),
            restriction: None,
            expires_in: None,
            context: switchyard_core::transaction::ClientContext::default(),
        };
        let payment = world.engine.initialize_payment(&caller, new, None).await;
        payment.unwrap().id.to_string()
    }

    fn ids(page: &Value) -> Vec<&str> {
        let found = page["transactions"].as_array().unwrap();
        found.iter().map(|tx| tx["id"].as_str().unwrap()).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_text_finds_an_apps_transactions_page_by_page() {
        let world = World::new().await;
        let search = format!("/apps/{}/search", world.app());
        let awa = pay(&world, "Awa").await;
        // Ids of one millisecond are in no order of time.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        let zoe = pay(&world, "Zoe").await;
        for (query, expected) in [
            ("text=diop", vec![&zoe, &awa]),
            ("text=Awa%20Diop", vec![&awa]),
            ("text=AWA@example.com&kind=payment", vec![&awa]),
            ("text=%2B229%2001%2097%2000%2000%2000", vec![&zoe, &awa]),
            ("text=25,00&environment=sandbox", vec![&zoe, &awa]),
            ("text=order:a-1042&limit=1", vec![&zoe]),
            ("text=diop&kind=payout", vec![]),
            ("text=diop&environment=live", vec![]),
        ] {
            let page = world.get(&format!("{search}?{query}")).await;
            assert_eq!(ids(&page), expected, "{query}");
        }
        let first = world.get(&format!("{search}?text=diop&limit=1")).await;
        assert_eq!(first["environment"], Environment::Sandbox.as_str());
        let more = first["more"].as_str().unwrap();
        let next = format!("{search}?text=diop&limit=1&before={more}");
        let second = world.get(&next).await;
        assert_eq!((ids(&second), &second["more"]), (vec![&*awa], &Value::Null));
    }

    #[tokio::test]
    async fn a_text_that_cannot_be_searched_is_refused_by_name() {
        let world = World::new().await;
        let search = format!("/apps/{}/search", world.app());
        let long = "x".repeat(255);
        for (query, code) in [
            ("text=", "field_invalid"),
            ("text=%20", "field_invalid"),
            (&format!("text={long}"), "field_invalid"),
            ("text=a&kind=refund", "field_invalid"),
            ("", "parameter_invalid"),
            ("text=a&before=py_x", "parameter_invalid"),
            ("text=a&page=2", "parameter_invalid"),
        ] {
            let path = format!("{search}?{query}");
            let refused = world.refused("GET", &path, Value::Null).await;
            assert_eq!(refused, (422, code.to_owned()), "{query}");
        }
        let nobody = "/apps/app_01k00000000000000000000000/search?text=a";
        let refused = world.refused("GET", nobody, Value::Null).await;
        assert_eq!(refused, (404, "resource_not_found".to_owned()));
    }
}
