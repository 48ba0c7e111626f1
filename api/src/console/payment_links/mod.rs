//! Payment links: list, a new one, one with its address, QR code and payments.

mod draft;
pub mod new;

use axum::extract::Path;
use axum::response::Response;
use switchyard_core::ids::{PaymentId, PaymentLinkId};
use switchyard_core::transaction::Transaction;
use switchyard_users::{Action, LinkAmount, PaymentLink, Unusable};

use super::form::{Fields, Sent};
use super::installation::view::{Alert, Fact, Form, Input, Row, Section, Table, Target, View};
use super::page::{Failed, Page, Scoped};
use super::{answer, labels};
use crate::pages::qr;
use crate::payment_links::{self, LinkError, UsesNow};
use crate::proposals::name_of;

/// Links, and payments of a link, on a page.
const PER_PAGE: usize = 50;
/// Page of the navigation.
const CURRENT: &str = "payment-links";

impl From<LinkError> for Failed {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Users(error) => error.into(),
            LinkError::Engine(error) => error.into(),
        }
    }
}

/// `GET /console/apps/{app}/{environment}/payment-links`
///
/// `?before=` is the oldest link of the page before.
pub async fn list(Scoped(page): Scoped) -> Response {
    let shown = list_view(&page).await;
    answer(&page, shown.map(|view| view.show(&page)))
}

async fn list_view(page: &Page) -> Result<View, Failed> {
    page.permit(Action::ViewPayments)?;
    let (text, scope) = (page.text(), page.scope().ok_or(Failed::NotFound)?);
    let before = page.query("before");
    let before = before.and_then(|id| id.parse::<PaymentLinkId>().ok());
    let users = page.state.users();
    let links = users.payment_links(scope.app.id, scope.environment, before, PER_PAGE);
    let links = links.await?;
    let mut view = View::new(page, "console-payment-links", CURRENT);
    view.lead = Some(text.say("console-payment-links-text"));
    if page.may(Action::ManagePaymentLinks) {
        view.links.push(Target {
            href: page.in_scope("payment-links/new"),
            name: text.say("console-payment-link-new"),
        });
    }
    let columns = [
        "console-payment-link-title",
        "console-amount",
        "console-state",
        "console-payment-link-paid",
        "console-created",
    ];
    let mut rows = Vec::with_capacity(links.len());
    for link in &links {
        rows.push(row(page, link).await?);
    }
    let older = links.last().filter(|_| links.len() == PER_PAGE);
    view.older = older.map(|last| page.in_scope(&format!("payment-links?before={}", last.id)));
    view.sections.push(Section {
        table: Some(Table::new(
            page,
            &columns,
            rows,
            "console-payment-links-empty",
        )),
        ..Section::default()
    });
    Ok(view)
}

async fn row(page: &Page, link: &PaymentLink) -> Result<Row, Failed> {
    let (text, now) = (page.text(), uses(page, link).await?);
    Ok(Row::linked(
        page.in_scope(&format!("payment-links/{}", link.id)),
        vec![
            link.terms.title.clone(),
            amount(page, link),
            text.say(state(page, link, &now)),
            text.number(now.uses.paid),
            text.language().date(link.created_at),
        ],
    ))
}

async fn uses(page: &Page, link: &PaymentLink) -> Result<UsesNow, LinkError> {
    payment_links::uses(page.state.api(), page.state.users(), link).await
}

/// The amount of a link in words.
fn amount(page: &Page, link: &PaymentLink) -> String {
    let (text, language) = (page.text(), page.text().language());
    match link.terms.amount {
        LinkAmount::Fixed { amount } => amount.with_code(language),
        LinkAmount::Between { least, most } => {
            let (least, most) = (least.with_code(language), most.with_code(language));
            let values = [("least", least.as_str()), ("most", most.as_str())];
            text.with("console-payment-link-between", &values)
        }
        LinkAmount::Open { currency } => text.with(
            "console-payment-link-open",
            &[("currency", currency.code())],
        ),
    }
}

/// Name of the message about the state of a link.
fn state(page: &Page, link: &PaymentLink, now: &UsesNow) -> &'static str {
    match link.unusable(&now.uses, page.state.now()) {
        None => "console-payment-link-active",
        Some(Unusable::Disabled) => "console-payment-link-disabled",
        Some(Unusable::Expired) => "console-payment-link-expired",
        Some(Unusable::UsedUp) => "console-payment-link-used-up",
        Some(Unusable::Held) => "console-payment-link-held",
    }
}

/// App, environment and link in the address of a link's page.
type LinkPath = Path<(String, String, String)>;

/// `GET /console/apps/{app}/{environment}/payment-links/{link}`
///
/// `?before=` is the oldest payment of the page before.
pub async fn get(Scoped(page): Scoped, Path((.., id)): LinkPath) -> Response {
    let one = async {
        page.permit(Action::ViewPayments)?;
        let link = one_of_scope(&page, &id).await?;
        link_view(&page, &link).await
    };
    answer(&page, one.await.map(|view| view.show(&page)))
}

/// The link, if it is one of the page's app and environment.
async fn one_of_scope(page: &Page, id: &str) -> Result<PaymentLink, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let id: PaymentLinkId = id.parse().map_err(|_| Failed::NotFound)?;
    let users = page.state.users();
    let link = users.payment_link(scope.app.account, id).await?;
    match (link.app, link.environment) == (scope.app.id, scope.environment) {
        true => Ok(link),
        false => Err(Failed::NotFound),
    }
}

async fn link_view(page: &Page, link: &PaymentLink) -> Result<View, Failed> {
    let (text, now) = (page.text(), uses(page, link).await?);
    let mut view = View::new(page, "console-payment-link", CURRENT);
    view.heading.clone_from(&link.terms.title);
    view.list = Some(Target {
        href: page.in_scope("payment-links"),
        name: text.say("console-payment-links"),
    });
    let unusable = link.unusable(&now.uses, page.state.now());
    view.lead = Some(text.say(match unusable {
        None => "console-payment-link-active-text",
        Some(Unusable::Disabled) => "console-payment-link-disabled-text",
        Some(Unusable::Expired) => "console-payment-link-expired-text",
        Some(Unusable::UsedUp) => "console-payment-link-used-up-text",
        Some(Unusable::Held) => "console-payment-link-held-text",
    }));
    if unusable.is_none() && !payment_links::can_be_paid(page.state.api(), link) {
        view.alerts.push(Alert {
            text: text.say("console-payment-link-no-method"),
            target: None,
        });
    }
    view.figures = figures(page, &now);
    view.sections.push(address(page, link));
    view.sections.push(Section {
        title: Some(text.say("console-payment-link-terms")),
        facts: facts(page, link),
        ..Section::default()
    });
    if page.may(Action::ManagePaymentLinks) {
        view.sections.push(decision(page, link));
    }
    let (section, more) = payments(page, link).await?;
    view.sections.push(section);
    let here = format!("payment-links/{}", link.id);
    view.older = more.map(|last| page.in_scope(&format!("{here}?before={last}")));
    Ok(view)
}

fn figures(page: &Page, now: &UsesNow) -> Vec<Fact> {
    let (text, uses) = (page.text(), &now.uses);
    let mut figures = vec![
        Fact::new(page, "console-payment-link-paid", text.number(uses.paid)),
        Fact::new(
            page,
            "console-payment-link-under-way",
            text.number(now.open),
        ),
    ];
    figures.extend(uses.received.iter().map(|sum| {
        let sum = sum.with_code(text.language());
        Fact::new(page, "console-payment-link-received", sum)
    }));
    figures
}

/// Address of a link, as a field from which it is copied and as a QR code.
fn address(page: &Page, link: &PaymentLink) -> Section {
    let url = payment_links::url(page.state.engine(), link);
    let label = page.text().say("console-payment-link-qr");
    Section {
        title: Some(page.text().say("console-payment-link-address")),
        copied: vec![Input {
            is_read_only: true,
            ..Input::line(page, "address", "console-payment-link-copy", &url)
        }],
        picture: qr::svg(&url, &label),
        ..Section::default()
    }
}

fn facts(page: &Page, link: &PaymentLink) -> Vec<Fact> {
    let (text, terms) = (page.text(), &link.terms);
    let language = text.language();
    let yes_or_no = |is: bool| text.say(if is { "console-yes" } else { "console-no" });
    let directory = page.state.engine().directory();
    let methods = terms.methods.iter().map(|code| {
        let known = directory.payment_method(code);
        known.map_or_else(|| code.clone(), |method| method.name_with_country(language))
    });
    let methods: Vec<_> = methods.collect();
    let mut facts = vec![
        Fact::new(page, "console-amount", amount(page, link)),
        Fact::new(
            page,
            "console-payment-link-description",
            terms.description(),
        ),
        Fact::new(
            page,
            "console-payment-link-phone",
            yes_or_no(terms.asks_phone),
        ),
        Fact::new(
            page,
            "console-payment-link-methods",
            match methods.is_empty() {
                true => text.say("console-payment-link-all-methods"),
                false => methods.join(", "),
            },
        ),
    ];
    let uses = terms.max_uses.map(|most| text.number(most.into()));
    let end = terms.expires_at.map(|end| language.date(end));
    for (name, value) in [
        ("console-payment-link-uses", uses),
        ("console-payment-link-expires", end),
        ("console-payment-link-return", terms.return_url.clone()),
    ] {
        facts.extend(value.map(|value| Fact::new(page, name, value)));
    }
    let (users, by) = (page.state.users(), link.created_by);
    facts.push(Fact::new(page, "console-by", name_of(users, by)));
    let created = language.date(link.created_at);
    facts.push(Fact::new(page, "console-created", created));
    facts
}

fn decision(page: &Page, link: &PaymentLink) -> Section {
    let text = page.text();
    let form = match link.disabled {
        None => Form {
            name: "disable",
            label: text.say("console-payment-link-disable"),
            hint: Some(text.say("console-payment-link-disable-hint")),
            is_danger: true,
            ..Form::default()
        },
        Some(_) => Form {
            name: "enable",
            label: text.say("console-payment-link-enable"),
            hint: Some(text.say("console-payment-link-enable-hint")),
            ..Form::default()
        },
    };
    Section {
        title: Some(text.say("console-payment-link-state")),
        forms: vec![form],
        ..Section::default()
    }
}

/// Payments of the link, and the start of the next page.
async fn payments(page: &Page, link: &PaymentLink) -> Result<(Section, Option<PaymentId>), Failed> {
    let before = page.query("before");
    let before = before.and_then(|id| id.parse::<PaymentId>().ok());
    let (api, users) = (page.state.api(), page.state.users());
    let found = payment_links::transactions(api, users, link, before, PER_PAGE);
    let (found, more) = found.await?;
    let columns = [
        "console-amount",
        "console-state",
        "console-payment-link-customer",
        "console-created",
    ];
    let rows = found.iter().map(|tx| payment_row(page, tx)).collect();
    let section = Section {
        title: Some(page.text().say("console-payments")),
        table: Some(Table::new(
            page,
            &columns,
            rows,
            "console-payment-link-no-payments",
        )),
        ..Section::default()
    };
    Ok((section, more))
}

fn payment_row(page: &Page, tx: &Transaction) -> Row {
    let text = page.text();
    Row::linked(
        page.in_scope(&format!("payments/{}", tx.id)),
        vec![
            tx.amount.with_code(text.language()),
            labels::badge(tx, text).word,
            labels::customer_name(&tx.customer, page.may(Action::ViewPersonalData), text),
            text.language().date(tx.created_at),
        ],
    )
}

/// `POST /console/apps/{app}/{environment}/payment-links/{link}`
///
/// The field `do` is `disable` or `enable`.
pub async fn change(
    Path((.., id)): LinkPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let changed = set(&page, &id, &mut fields).await;
    answer(&page, changed)
}

async fn set(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManagePaymentLinks)?;
    let link = one_of_scope(page, id).await?;
    let users = page.state.users();
    let done = match fields.text("do") {
        "enable" => {
            users.enable_payment_link(&permit, link.id).await?;
            "link-enabled"
        }
        _ => {
            users.disable_payment_link(&permit, link.id).await?;
            "link-disabled"
        }
    };
    fields.took_effect();
    Ok(page.go(&page.in_scope(&format!("payment-links/{id}?done={done}"))))
}
