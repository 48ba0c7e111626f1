//! System of the installation: version, store, disk, queues, and settings without secrets.

use axum::response::Response;
use switchyard_users::Action;

use super::super::answer;
use super::super::page::{Failed, Page, SignedIn};
use super::dashboard::queues;
use super::view::{Fact, Section, View};

/// `GET /console/installation/system`
pub async fn show(SignedIn(page): SignedIn) -> Response {
    let shown = show_system(&page).await;
    answer(&page, shown)
}

async fn show_system(page: &Page) -> Result<Response, Failed> {
    page.permit(Action::ViewSystem)?;
    let (text, engine) = (page.text(), page.state.engine());
    let mut view = View::new(page, "console-system", "system");
    let section = |title: &str, facts: Vec<Fact>| Section {
        title: Some(text.say(title)),
        facts,
        ..Section::default()
    };
    let program = vec![
        Fact::new(page, "console-version", env!("CARGO_PKG_VERSION")),
        Fact::new(page, "console-live-actors", engine.live_actors()),
        Fact::new(page, "console-submissions", engine.submissions_away()),
    ];
    let queues = queues(page).await;
    view.sections = vec![
        section("console-program", program),
        section("console-store", store(page)),
        section("console-queues", queues),
        section("console-settings", settings(page)),
    ];
    Ok(view.show(page))
}

fn store(page: &Page) -> Vec<Fact> {
    let (text, store) = (page.text(), page.state.engine().store());
    let stats = store.stats();
    let state = match (stats.available, stats.damaged) {
        (false, _) => "console-store-unavailable",
        (true, true) => "console-store-damaged",
        (true, false) => "console-store-good",
    };
    let mut facts = vec![
        Fact::new(page, "console-state", text.say(state)),
        Fact::new(page, "console-store-commits", stats.commits),
        Fact::new(page, "console-store-waiting", stats.queue),
    ];
    if let Some(damage) = store.damage() {
        facts.push(Fact::new(page, "console-store-damage", damage));
    }
    if let Some(disk) = &page.state.api().settings().disk_reserve {
        let free = disk.free_bytes().map(|bytes| bytes / (1 << 20));
        let written = |free| text.with("console-mebibytes", &[("number", &text.number(free))]);
        let free = free.map_or_else(|| "–".to_owned(), written);
        facts.push(Fact::new(page, "console-disk-free", free));
    }
    facts
}

fn settings(page: &Page) -> Vec<Fact> {
    let text = page.text();
    let http = page.state.api().settings();
    let engine = page.state.engine().settings();
    let yes_or_no = |is: bool| text.say(if is { "console-yes" } else { "console-no" });
    let header = |name: &Option<String>| name.clone().unwrap_or_else(|| "–".to_owned());
    let excluded = match http.excluded_countries.is_empty() {
        true => "–".to_owned(),
        false => http.excluded_countries.join(", "),
    };
    vec![
        Fact::new(page, "console-setting-service", &engine.service_name),
        Fact::new(page, "console-setting-url", &engine.public_url),
        Fact::new(
            page,
            "console-setting-development",
            yes_or_no(http.development),
        ),
        Fact::new(
            page,
            "console-setting-address",
            header(&http.client_address_header),
        ),
        Fact::new(
            page,
            "console-setting-country",
            header(&http.client_country_header),
        ),
        Fact::new(page, "console-setting-excluded", excluded),
    ]
}
