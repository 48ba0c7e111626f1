//! Step 1: the country and the method.

use askama::Template;
use axum::response::Response;
use switchyard_engine::directory::{Category, Country, Icon, icon_svg};
use switchyard_engine::transaction::AttemptState;

use super::menu::{Menu, Way, country_name};
use super::result::reason;
use super::scene::{Frame, Scene};
use super::stand::{Stand, stand};
use super::visit::Visit;

#[derive(Template)]
#[template(path = "checkout/choose.html")]
struct Page {
    frame: Frame,
    declined: Option<Declined>,
    countries: Vec<CountryRow>,
    country: Option<CountryRow>,
    methods: Vec<MethodRow>,
    home: String,
    again: String,
    empty: String,
}

/// The last attempt did not work, and there are more.
struct Declined {
    title: String,
    reason: String,
    left: String,
}

pub(super) struct CountryRow {
    code: &'static str,
    name: &'static str,
    flag: &'static str,
    selected: bool,
}

struct MethodRow {
    href: String,
    icon: String,
    name: String,
    kind: String,
}

/// `GET /checkout/{id}`: the first view. A payment that is beyond it is shown where it stands.
pub async fn get(visit: Visit) -> Response {
    match stand(&visit.scene) {
        Stand::Choosing => {
            let menu = visit.menu();
            page(
                &visit.scene,
                &menu,
                visit.query("country"),
                visit.from().as_deref(),
                visit.query("notice"),
            )
        }
        elsewhere => visit.scene.go(elsewhere.step(), &[]),
    }
}

pub(super) fn page(
    scene: &Scene,
    menu: &Menu,
    asked: Option<&str>,
    from: Option<&str>,
    notice: Option<&str>,
) -> Response {
    let language = scene.visitor.language;
    let country = menu.begin_with(&scene.tx, asked, from);
    let row = |row: &'static Country| CountryRow {
        code: row.alpha2,
        name: country_name(row, language),
        flag: row.flag,
        selected: Some(row) == country,
    };
    let ways = country
        .map(|country| menu.in_country(country.alpha2))
        .unwrap_or_default();
    let methods = ways
        .iter()
        .map(|way| method_row(scene, way, country.map_or("", |country| country.alpha2)))
        .collect();
    let countries: Vec<_> = menu.countries(language).into_iter().map(row).collect();
    let empty = match country {
        Some(country) if countries.len() > 1 => scene.say_with(
            "choose-empty-country",
            &[("country", country_name(country, language))],
        ),
        _ => scene.say_merchant("choose-empty-text"),
    };
    let notice = match notice {
        Some("method") => Some(scene.say("notice-method")),
        Some("stale") => Some(scene.say("notice-stale")),
        _ => None,
    };
    scene.show(&Page {
        frame: scene.frame_of_step("choose-title", 1).with_notice(notice),
        declined: declined(scene),
        countries,
        country: country.map(row),
        methods,
        home: scene
            .link("", &[])
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned(),
        again: scene.link("", &[]),
        empty,
    })
}

fn method_row(scene: &Scene, way: &Way, country: &str) -> MethodRow {
    let method = &way.method;
    MethodRow {
        href: scene.link("details", &[("country", country), ("method", &method.code)]),
        icon: icon_svg(&method.name, Icon::Method(method.category)),
        name: method.name.clone(),
        kind: scene.say(kind(method.category)),
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

/// Attempts inside one confirmation, at one gateway after another, are one to the payer.
fn declined(scene: &Scene) -> Option<Declined> {
    let last = scene.tx.current_attempt()?;
    let language = scene.visitor.language;
    if last.state == AttemptState::NotSent {
        let method = scene.directory.payment_method(&last.method);
        let method = method.map_or(last.method.as_str(), |method| method.name.as_str());
        return Some(Declined {
            title: scene.say_with("choose-unsent", &[("method", method)]),
            reason: scene.say("choose-unsent-text"),
            left: scene.say("choose-unsent-next"),
        });
    }
    let left = scene.tx.attempts_left();
    Some(Declined {
        title: scene.say("choose-declined"),
        reason: reason(
            language,
            last.decline.as_ref().map(|decline| decline.reason),
        ),
        left: language.say_count("choose-attempts-left", "left", left as u64),
    })
}
