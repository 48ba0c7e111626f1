//! Export of an app's payments or payouts as CSV.

use axum::extract::State;
use axum::response::Response;
use switchyard_core::ids::AppId;
use switchyard_records::{ListQuery, SearchQuery, SearchText};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::contract::transactions::{ExportFilter, TransactionSelection};
use super::error::{Refused, invalid};
use super::input::{Id, QueryParams};
use super::transactions::{must_exist, selected};
use crate::export::{self, Column, ROWS_AT_ONCE, Selection};
use crate::state::ApiState;

/// The route of the export.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(export))
}

/// Export the transactions of an app
///
/// CSV (RFC 4180) with a line of names, newest first, streamed: the file may have any number of
/// rows. Amounts are decimal texts beside their currencies, times are in UTC. A text that a
/// spreadsheet would read as a formula has an apostrophe before it. A stream that ends with an
/// error is incomplete. Each export has a line in the log of changes.
#[utoipa::path(
    get,
    path = "/apps/{app}/transactions.csv",
    operation_id = "exportTransactions",
    tag = "Transactions",
    params(TransactionSelection, ExportFilter),
    responses((
        status = 200,
        description = "The file.",
        content_type = "text/csv",
        body = String,
    )),
)]
async fn export(
    State(state): State<ApiState>,
    Id(app): Id<AppId>,
    QueryParams(filter): QueryParams<ExportFilter>,
) -> Result<Response, Refused> {
    must_exist(&state, app)?;
    let columns = columns(filter.columns.as_deref())?;
    let list = selected(&state, app, &filter.selection).await?;
    let selection = selection(list, filter.text)?;
    Ok(export::response(
        state.engine(),
        selection,
        columns.unwrap_or_else(|| Column::ALL.into()),
    ))
}

/// The transactions of a list, or those that a text finds in its app and environment.
pub fn selection(mut list: ListQuery, text: Option<String>) -> Result<Selection, Refused> {
    list.limit = ROWS_AT_ONCE;
    let Some(text) = text else {
        return Ok(Selection::List(list));
    };
    if list.status.is_some() || list.from.is_some() || list.to.is_some() {
        let message = "a text is not combined with a status or dates";
        return Err(invalid("text", message).into());
    }
    let parsed = SearchText::parse(&text);
    Ok(Selection::Search(SearchQuery {
        app: list.app,
        environment: list.environment,
        kind: Some(list.kind),
        text: parsed.map_err(|error| invalid("text", error.to_string()))?,
        before: None,
        limit: list.limit,
    }))
}

/// Columns that a list of names chooses. `None`: there is no list.
pub fn columns(names: Option<&str>) -> Result<Option<Vec<Column>>, Refused> {
    let Some(names) = names else {
        return Ok(None);
    };
    let parsed = names.split(',').map(|name| {
        Column::parse(name.trim()).ok_or_else(|| {
            let known = Column::ALL.map(Column::name).join(", ");
            let message = format!("there is no column {name:?}: the columns are {known}");
            invalid("columns", message).into()
        })
    });
    parsed.collect::<Result<_, _>>().map(Some)
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use serde_json::Value;
    use switchyard_core::environment::Environment;
    use switchyard_core::ids::{PaymentId, TransactionId};
    use switchyard_core::testing::fixtures;
    use switchyard_core::time::Timestamp;
    use switchyard_records::Step;
    use switchyard_store::Batch;

    use crate::operator::tests::World;

    /// Stores so many payments in sandbox.
    async fn pay(world: &World, count: u32) {
        let mut batch = Batch::new();
        for number in 0..count {
            let mut tx = fixtures::World::payment().tx;
            tx.created_at = Timestamp::from_seconds(1_700_000_000 + i64::from(number));
            let ulid = world.engine.ids().ulid(tx.created_at);
            tx.id = TransactionId::Payment(PaymentId::new(ulid));
            tx.app = world.keys.app;
            tx.environment = Environment::Sandbox;
            tx.description = format!("=order {number}");
            let step = Step {
                before: None,
                after: &tx,
                events: &[],
            };
            switchyard_records::write(&mut batch, &step).unwrap();
        }
        world.engine.store().commit(batch).await.unwrap();
    }

    async fn file(world: &World, path: &str) -> String {
        let token = world.keys.operator_token.expose();
        let answer = world.ask("GET", path, token, None).await;
        assert_eq!(answer.status().as_u16(), 200, "{path}");
        let kind = answer.headers()["content-type"].to_str().unwrap();
        assert_eq!(kind, "text/csv; charset=utf-8; header=present");
        let bytes = to_bytes(answer.into_body(), 1 << 24).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_export_of_thousands_has_each_transaction_once_newest_first() {
        let world = World::new().await;
        pay(&world, 4_321).await;
        let path = format!("/apps/{}/transactions.csv", world.app());
        let all = file(
            &world,
            &format!("{path}?columns=id,description,amount,currency"),
        )
        .await;
        let lines: Vec<_> = all.lines().collect();
        assert_eq!(lines.len(), 1 + 4_321);
        assert_eq!(lines[0], "id,description,amount,currency");
        assert!(
            lines[1].ends_with(",'=order 4320,25.00,USD"),
            "{}",
            lines[1]
        );
        assert!(
            lines[4_321].ends_with(",'=order 0,25.00,USD"),
            "{}",
            lines[4_321]
        );
        let ids: std::collections::BTreeSet<_> = lines[1..].iter().collect();
        assert_eq!(ids.len(), 4_321);

        let some = format!(
            "{path}?columns=description&from_date=2023-11-14T22:13:20Z&to_date=2023-11-14T22:13:29Z"
        );
        let some = file(&world, &some).await;
        assert_eq!(some.lines().count(), 1 + 10);
        let none = file(&world, &format!("{path}?status=failed")).await;
        assert_eq!(none.lines().count(), 1);
        let found = file(&world, &format!("{path}?text=USD%2025&columns=id")).await;
        assert_eq!(found.lines().count(), 1 + 4_321);
    }

    #[tokio::test]
    async fn an_unknown_column_or_filter_is_refused_by_name() {
        let world = World::new().await;
        let path = format!("/apps/{}/transactions.csv", world.app());
        for (query, code) in [
            ("columns=id,secret", "field_invalid"),
            ("status=paid", "field_invalid"),
            ("text=a&status=failed", "field_invalid"),
            ("from_date=yesterday", "field_invalid"),
            ("page=2", "parameter_invalid"),
        ] {
            let path = format!("{path}?{query}");
            let refused = world.refused("GET", &path, Value::Null).await;
            assert_eq!(refused, (422, code.to_owned()), "{query}");
        }
    }
}
