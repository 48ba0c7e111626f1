//! Customers of an app: their list, one with their payments and payouts, export and erasure of
//! personal data.

use axum::extract::Path;
use axum::response::Response;
use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, CustomerId};
use switchyard_core::transaction::{Customer, Kind, Transaction};
use switchyard_engine::engine::{ErasedCustomer, Erasure};
use switchyard_records::{CustomerQuery, StoredCustomer};
use switchyard_users::Action;

use super::actions::author;
use super::form::{Fields, Sent};
use super::installation::view::{Fact, Form, Input, Row, Section, Table, Target, View};
use super::list::segment;
use super::page::{Failed, Page, Scoped};
use super::{answer, labels};
use crate::customers;
use crate::operator::contract::customers::CustomerErasure;

/// App, environment and customer in the address of a page.
type CustomerPath = Path<(String, String, String)>;

/// `GET /console/apps/{app}/{environment}/customers`
pub async fn list(Scoped(page): Scoped) -> Response {
    let listed = list_view(&page).await.map(|view| view.show(&page));
    answer(&page, listed)
}

/// `GET /console/apps/{app}/{environment}/customers/{customer}`
pub async fn get(Path((.., id)): CustomerPath, Scoped(page): Scoped) -> Response {
    let shown = show(&page, &id).await.map(|view| view.show(&page));
    answer(&page, shown)
}

/// `GET /console/apps/{app}/{environment}/customers/{customer}/export`
pub async fn export(Path((.., id)): CustomerPath, Scoped(page): Scoped) -> Response {
    let exported = export_file(&page, &id).await;
    answer(&page, exported)
}

/// `GET /console/apps/{app}/{environment}/customers/{customer}/erase`
pub async fn get_erase(Path((.., id)): CustomerPath, Scoped(page): Scoped) -> Response {
    let asked = erase_view(&page, &id, None).await;
    answer(&page, asked.map(|view| view.show(&page)))
}

/// `POST /console/apps/{app}/{environment}/customers/{customer}/erase`
pub async fn erase(
    Path((.., id)): CustomerPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let erased = erase_customer(&page, &id, &mut fields).await;
    answer(&page, erased)
}

async fn list_view(page: &Page) -> Result<View, Failed> {
    page.permit(Action::ViewPayments)?;
    let (text, (app, environment)) = (page.text(), owner(page)?);
    let email = page.query("email").unwrap_or_default();
    let email = email.trim();
    let engine = page.state.engine();
    let (mut found, mut older) = (Vec::new(), None);
    if email.is_empty() {
        let before = page.query("before");
        let query = CustomerQuery {
            app,
            environment,
            before: before.and_then(|before| before.parse().ok()),
            limit: PER_PAGE + 1,
        };
        found = engine.customers(&query).await?;
        if found.len() > PER_PAGE {
            found.truncate(PER_PAGE);
            let last = found.last().map(|last| last.customer.id);
            older = last.map(|last| page.in_scope(&format!("customers?before={last}")));
        }
    } else {
        let one = engine
            .customer_with_email((app, environment), email)
            .await?;
        found.extend(one);
    }
    let columns = [
        "console-name-of-customer",
        "console-email",
        "console-phone",
        "console-customer-seen",
        "console-created",
    ];
    let empty = match email.is_empty() {
        true => "console-customers-empty",
        false => "console-customers-none",
    };
    let rows = found.iter().map(|one| row(page, one)).collect();
    let mut view = View::new(page, "console-customers", "customers");
    view.lead = Some(text.say("console-customers-text"));
    view.filter = vec![Input::line(page, "email", "console-email", email)];
    view.sections = vec![Section {
        table: Some(Table::new(page, &columns, rows, empty)),
        ..Section::default()
    }];
    view.older = older;
    Ok(view)
}

fn row(page: &Page, stored: &StoredCustomer) -> Row {
    let (customer, language) = (&stored.customer, page.text().language());
    let phone = customer.phone.as_deref().unwrap_or_default();
    Row::linked(
        page.in_scope(&format!("customers/{}", customer.id)),
        vec![
            labels::customer_name(customer, may_see(page), page.text()),
            visible(page, &customer.email),
            visible(page, phone),
            language.date(stored.seen_at),
            language.date(customer.created_at),
        ],
    )
}

async fn show(page: &Page, id: &str) -> Result<View, Failed> {
    page.permit(Action::ViewPayments)?;
    let stored = one_of_scope(page, id).await?;
    let (text, customer) = (page.text(), &stored.customer);
    let mut view = view_of(page, customer, "customers");
    view.sections.push(Section {
        facts: facts(page, &stored),
        ..Section::default()
    });
    view.sections.push(transactions(page, customer.id).await?);
    let path = |rest: &str| page.in_scope(&format!("customers/{}/{rest}", customer.id));
    let mut links = Vec::new();
    if page.may(Action::ExportData) && may_see(page) {
        links.push(Target {
            href: path("export"),
            name: text.say("console-customer-export"),
        });
    }
    if page.may(Action::ErasePersonalData) {
        links.push(Target {
            href: path("erase"),
            name: text.say("console-customer-erase"),
        });
    }
    if !links.is_empty() {
        view.sections.push(Section {
            title: Some(text.say("console-personal-data")),
            text: Some(text.say("console-personal-data-text")),
            links,
            ..Section::default()
        });
    }
    Ok(view)
}

/// An empty page about a customer.
fn view_of(page: &Page, customer: &Customer, list: &str) -> View {
    let mut view = View::new(page, "console-customer", "customers");
    view.heading = labels::customer_name(customer, may_see(page), page.text());
    view.list = Some(Target {
        href: page.in_scope(list),
        name: page.text().say("console-customers"),
    });
    view
}

fn facts(page: &Page, stored: &StoredCustomer) -> Vec<Fact> {
    let (customer, language) = (&stored.customer, page.text().language());
    let mut facts = vec![Fact::new(
        page,
        "console-email",
        visible(page, &customer.email),
    )];
    let address = [
        &customer.address,
        &customer.zip_code,
        &customer.city,
        &customer.state,
    ];
    let address: Vec<&str> = address.into_iter().flatten().map(String::as_str).collect();
    for (name, value) in [
        (
            "console-phone",
            customer.phone.as_deref().unwrap_or_default(),
        ),
        ("console-customer-address", &*address.join(", ")),
    ] {
        if !value.is_empty() {
            facts.push(Fact::new(page, name, visible(page, value)));
        }
    }
    if let Some(country) = &customer.country_code {
        facts.push(Fact::new(page, "console-customer-country", country));
    }
    facts.extend([
        Fact::new(page, "console-created", language.date(customer.created_at)),
        Fact::new(page, "console-customer-seen", language.date(stored.seen_at)),
        Fact::new(page, "console-id", customer.id),
    ]);
    facts
}

/// The newest payments and payouts of the customer.
async fn transactions(page: &Page, id: CustomerId) -> Result<Section, Failed> {
    let (text, engine) = (page.text(), page.state.engine());
    let found = engine
        .transactions_of_customer(owner(page)?, id, None, NEWEST)
        .await?;
    let columns = [
        "console-amount",
        "console-status",
        "console-method",
        "console-created",
    ];
    let rows = found.items.iter().map(|tx| transaction_row(page, tx));
    let table = Table::new(
        page,
        &columns,
        rows.collect(),
        "console-customer-no-payments",
    );
    let all = |list: &str, message: &str| Target {
        href: page.in_scope(&format!("{list}?q={id}")),
        name: text.say(message),
    };
    let has_more = found.more.is_some();
    Ok(Section {
        title: Some(text.say("console-customer-transactions")),
        table: Some(table),
        links: match has_more {
            true => vec![
                all("payments", "console-customer-all-payments"),
                all("payouts", "console-customer-all-payouts"),
            ],
            false => Vec::new(),
        },
        ..Section::default()
    })
}

fn transaction_row(page: &Page, tx: &Transaction) -> Row {
    let (text, directory) = (page.text(), page.state.engine().directory());
    let amount = tx.amount.with_code(text.language());
    Row::linked(
        page.in_scope(&format!("{}/{}", segment(tx.kind()), tx.id)),
        vec![
            amount,
            labels::badge(tx, text).word,
            labels::method(tx, directory, text).unwrap_or_default(),
            text.language().date(tx.created_at),
        ],
    )
}

async fn export_file(page: &Page, id: &str) -> Result<Response, Failed> {
    let permit = page.permit(Action::ExportData)?;
    page.permit(Action::ViewPersonalData)?;
    let stored = one_of_scope(page, id).await?;
    page.audit(permit.entry(stored.customer.id)).await?;
    let with_routing = page.may(Action::ViewRouting);
    let engine = page.state.engine();
    Ok(customers::export(
        engine,
        owner(page)?,
        &stored,
        with_routing,
    ))
}

/// The form for the erasure. `error`: reason why the sent form had no effect.
async fn erase_view(page: &Page, id: &str, error: Option<String>) -> Result<View, Failed> {
    page.permit(Action::ErasePersonalData)?;
    let stored = one_of_scope(page, id).await?;
    let (text, customer) = (page.text(), &stored.customer);
    let mut view = view_of(page, customer, "customers");
    view.lead = Some(text.say("console-customer-erase-text"));
    let email = Input::line(page, "email", "console-customer-erase-email", "");
    let hint = text.with("console-customer-erase-hint", &[("email", &customer.email)]);
    view.sections.push(Section {
        title: Some(text.say("console-customer-erase")),
        text: Some(text.say("console-customer-erase-rules")),
        forms: vec![Form {
            name: "erase",
            inputs: vec![email.required().with_hint(Some(hint)).with_error(error)],
            label: text.say("console-customer-erase-now"),
            is_danger: true,
            ..Form::default()
        }],
        ..Section::default()
    });
    Ok(view)
}

async fn erase_customer(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ErasePersonalData)?;
    let stored = one_of_scope(page, id).await?;
    let (text, customer) = (page.text(), &stored.customer);
    if !fields
        .text("email")
        .trim()
        .eq_ignore_ascii_case(&customer.email)
    {
        let error = text.say("console-customer-erase-mismatch");
        let view = erase_view(page, id, Some(error)).await?;
        return Ok(view.unsaved(page));
    }
    let (engine, by) = (page.state.engine(), author(&permit));
    let erased = engine.erase_customer(owner(page)?, customer.id, &by);
    let erasure = match erased.await? {
        ErasedCustomer::Unknown => return Err(Failed::NotFound),
        ErasedCustomer::Held => {
            let view = erase_view(page, id, None).await?;
            return Ok(view.refused(page, text.say("console-customer-erase-held")));
        }
        ErasedCustomer::Erased(erasure) => erasure,
    };
    fields.took_effect();
    let facts = customers::facts(&CustomerErasure::from(erasure.clone()));
    page.audit(permit.entry(customer.id).changing(Value::Null, facts))
        .await?;
    match erasure.kept_count {
        0 => Ok(page.go(&page.in_scope("customers?done=erased"))),
        _ => Ok(kept_view(page, customer, &erasure).show(page)),
    }
}

/// The transactions that keep their personal data for now.
fn kept_view(page: &Page, customer: &Customer, erasure: &Erasure) -> View {
    let text = page.text();
    let rows = erasure.kept.iter().map(|id| {
        let kind = Kind::of(*id);
        let href = page.in_scope(&format!("{}/{id}", segment(kind)));
        Row::linked(href, vec![id.to_string()])
    });
    let mut view = view_of(page, customer, "customers");
    view.lead = Some(text.with(
        "console-customer-kept",
        &[
            ("erased", &text.number(erasure.erased)),
            ("kept", &text.number(erasure.kept_count)),
        ],
    ));
    let columns = ["console-id"];
    view.sections.push(Section {
        table: Some(Table::new(
            page,
            &columns,
            rows.collect(),
            "console-customer-no-payments",
        )),
        ..Section::default()
    });
    view
}

async fn one_of_scope(page: &Page, id: &str) -> Result<StoredCustomer, Failed> {
    let id: CustomerId = id.parse().map_err(|_| Failed::NotFound)?;
    let found = page.state.engine().customer(owner(page)?, id).await?;
    found.ok_or(Failed::NotFound)
}

fn owner(page: &Page) -> Result<(AppId, Environment), Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    Ok((scope.app.id, scope.environment))
}

fn may_see(page: &Page) -> bool {
    page.may(Action::ViewPersonalData)
}

/// The value, masked for readers who may not see personal data.
fn visible(page: &Page, value: &str) -> String {
    match may_see(page) || value.is_empty() {
        true => value.to_owned(),
        false => labels::masked(value),
    }
}

const PER_PAGE: usize = 25;
/// Payments and payouts on the page of a customer.
const NEWEST: usize = 10;
