//! Export of a list as CSV: the list's filters, a choice of columns.

use axum::extract::Query;
use axum::response::Response;
use serde_json::Value;
use switchyard_core::transaction::Kind;
use switchyard_records::{SearchQuery, SearchText};
use switchyard_users::Action;

use super::answer;
use super::list::{self, Filter, segment};
use super::page::{Failed, Page, Scoped};
use crate::export::{self, Column, ROWS_AT_ONCE, Selection};

/// Check box of a column.
pub struct ColumnChoice {
    pub name: &'static str,
    pub is_chosen: bool,
}

/// `GET /console/apps/{app}/{environment}/payments.csv`
pub async fn payments(Scoped(page): Scoped, Query(filter): Query<Filter>) -> Response {
    let exported = export(&page, Kind::Payment, &filter).await;
    answer(&page, exported)
}

/// `GET /console/apps/{app}/{environment}/payouts.csv`
pub async fn payouts(Scoped(page): Scoped, Query(filter): Query<Filter>) -> Response {
    let exported = export(&page, Kind::Payout, &filter).await;
    answer(&page, exported)
}

/// Columns that the reader may export. Texts with personal data need a permission of their own.
pub fn choices(page: &Page) -> Vec<ColumnChoice> {
    let may_see = page.may(Action::ViewPersonalData);
    let columns = Column::ALL.into_iter();
    let allowed = columns.filter(|column| may_see || !column.is_personal());
    let choice = |column: Column| ColumnChoice {
        name: column.name(),
        is_chosen: !matches!(
            column,
            Column::Kind | Column::Connection | Column::UpdatedAt
        ),
    };
    allowed.map(choice).collect()
}

async fn export(page: &Page, kind: Kind, filter: &Filter) -> Result<Response, Failed> {
    let permit = page.permit(Action::ExportData)?;
    let columns = columns(page)?;
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let selection = match filter.text() {
        None => {
            let (mut query, problem) = list::query(scope, kind, filter, page.text());
            if problem.is_some() {
                // The list says what is wrong with the dates.
                return Ok(page.go(&page.in_scope(&list::with_query(segment(kind), filter))));
            }
            query.limit = ROWS_AT_ONCE;
            Selection::List(query)
        }
        Some(text) => Selection::Search(SearchQuery {
            app: scope.app.id,
            environment: scope.environment,
            kind: Some(kind),
            text: SearchText::parse(text).map_err(|_| Failed::NotFound)?,
            before: None,
            limit: ROWS_AT_ONCE,
        }),
    };
    let (status, from, to) = filter.parts();
    let facts = export::facts(&selection, [Some(status), Some(from), Some(to)], &columns);
    let entry = permit.entry(scope.app.id);
    page.audit(entry.changing(Value::Null, facts)).await?;
    Ok(export::response(page.state.engine(), selection, columns))
}

/// The chosen columns; without a choice all that the reader may see.
fn columns(page: &Page) -> Result<Vec<Column>, Failed> {
    let named = page.queries("column");
    let chosen: Vec<_> = named
        .iter()
        .filter_map(|name| Column::parse(name))
        .collect();
    if chosen.iter().any(|column| column.is_personal()) {
        page.permit(Action::ViewPersonalData)?;
    }
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let may_see = page.may(Action::ViewPersonalData);
    let all = Column::ALL.into_iter();
    Ok(all
        .filter(|column| may_see || !column.is_personal())
        .collect())
}
