//! Step 1: the country and the method.

use askama::Template;
use axum::response::Response;
use switchyard_core::directory::{Category, Country};

use super::again;
use super::menu::{Menu, PaymentOption, country_name};
use super::page_context::{Frame, PageContext};
use super::request::CheckoutRequest;
use super::step::{Step, current_step};

#[derive(Template)]
#[template(path = "checkout/choose.html")]
struct Page {
    frame: Frame,
    countries: Vec<CountryRow>,
    country: Option<CountryRow>,
    methods: Vec<MethodRow>,
    home: String,
    /// Sealed answers of an earlier attempt, for the forms of other methods.
    answers: Option<String>,
    again: String,
    empty: String,
    /// Whether the app takes no payments: then there is nothing to choose.
    is_closed: bool,
    /// Sentence about the last attempt, on the page of such an app.
    outcome: Option<String>,
}

pub(super) struct CountryRow {
    code: &'static str,
    name: &'static str,
    selected: bool,
}

struct MethodRow {
    href: String,
    icon: String,
    name: String,
    /// Kind of the method, unless its name contains it.
    kind: Option<String>,
}

/// `GET /checkout/{id}`: the first view. A payment that is beyond it is shown where it stands.
pub async fn get(request: CheckoutRequest) -> Response {
    match current_step(&request.context) {
        Step::Choosing => {
            let asks = ["country", "other", "notice"].map(|name| request.query(name));
            if asks == [None; 3]
                && request.context.app.is_enabled
                && let Some(after) = again::after(&request).await
            {
                return after;
            }
            let menu = request.menu();
            page(
                &request.context,
                &menu,
                request.query("country"),
                request.from().as_deref(),
                request.query("notice"),
            )
        }
        elsewhere => request.context.go(elsewhere.path(), &[]),
    }
}

pub(super) fn page(
    context: &PageContext,
    menu: &Menu,
    asked: Option<&str>,
    from: Option<&str>,
    notice: Option<&str>,
) -> Response {
    let language = context.visitor.language;
    let country = menu.begin_with(&context.tx, asked, from);
    let row = |row: &'static Country| CountryRow {
        code: row.alpha2,
        name: country_name(row, language),
        selected: Some(row) == country,
    };
    let ways = country
        .map(|country| menu.in_country(country.alpha2))
        .unwrap_or_default();
    let methods = ways
        .iter()
        .map(|way| {
            method_row(
                context,
                way,
                &ways,
                country.map_or("", |country| country.alpha2),
            )
        })
        .collect();
    let countries: Vec<_> = menu.countries(language).into_iter().map(row).collect();
    let empty = match country {
        _ if !context.app.is_enabled => context.say_merchant("choose-closed"),
        Some(country) if countries.len() > 1 => context.say_with(
            "choose-empty-country",
            &[("country", country_name(country, language))],
        ),
        _ => context.say_merchant("choose-empty-text"),
    };
    let is_closed = !context.app.is_enabled;
    let notice = match notice {
        _ if is_closed => None,
        Some("method") => Some(context.say("notice-method")),
        Some("stale") => Some(context.say("notice-stale")),
        _ => None,
    };
    context.show(&Page {
        frame: match is_closed {
            true => context
                .frame("closed-title")
                .without_countdown()
                .with_cancel(Some(context.link("cancel", &[]))),
            false => context.frame_of_step("choose-title", 1).with_notice(notice),
        },
        is_closed,
        outcome: again::outcome(context).filter(|_| is_closed),
        countries,
        country: country.map(row),
        methods,
        home: context
            .link("", &[])
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned(),
        answers: earlier_answers(context).map(str::to_owned),
        again: context.link("", &[]),
        empty,
    })
}

/// The sealed answers that *Another method* takes along.
fn earlier_answers(context: &PageContext) -> Option<&str> {
    let mut query = context.visitor.query.iter();
    let sealed = query.find(|(name, _)| name == "a");
    sealed.map(|(_, sealed)| sealed.as_str())
}

/// A method of the list `all`. The currency tells methods of one name apart.
fn method_row(
    context: &PageContext,
    way: &PaymentOption,
    all: &[&PaymentOption],
    country: &str,
) -> MethodRow {
    let method = &way.method;
    let name = context.method_name(&method.code);
    let same = all
        .iter()
        .filter(|other| context.method_name(&other.method.code) == name);
    let currency = (same.count() > 1).then(|| method.currency.code());
    let kind = Some(context.say(kind(method.category))).filter(|kind| *kind != name);
    let kind: Vec<_> = kind
        .into_iter()
        .chain(currency.map(str::to_owned))
        .collect();
    let chosen = [("country", country), ("method", &method.code)];
    let answers = earlier_answers(context).map(|sealed| ("a", sealed));
    let query: Vec<_> = chosen.into_iter().chain(answers).collect();
    MethodRow {
        href: context.link("details", &query),
        icon: context.icon(method),
        kind: (!kind.is_empty()).then(|| kind.join(" · ")),
        name,
    }
}

const fn kind(category: Category) -> &'static str {
    match category {
        Category::MobileMoney => "kind-mobile-money",
        Category::Card => "kind-card",
        Category::BankTransfer => "kind-bank-transfer",
        Category::Qr => "kind-qr",
        Category::Ussd => "kind-ussd",
        Category::Crypto => "kind-crypto",
        Category::Wallet => "kind-wallet",
        Category::Test => "kind-test",
    }
}
