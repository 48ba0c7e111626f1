//! Routing of an app: the rules in words with their versions, and the change of the rules with a
//! preview on the traffic of the last day.

mod draft;
mod edit;
mod messages;

use axum::response::Response;
use switchyard_core::routing::RuleSet;
use switchyard_engine::access::RoutingRules;
use switchyard_users::Action;

pub use self::edit::{edit, post, replaced};
use super::answer;
use super::installation::view::{Row, Section, Table, Target, View};
use super::page::{Failed, Page, Scope, Scoped};

/// `GET /console/apps/{app}/{environment}/routing`
pub async fn show(Scoped(page): Scoped) -> Response {
    let view = rules_view(&page);
    answer(&page, view.map(|view| view.show(&page)))
}

fn rules_view(page: &Page) -> Result<View, Failed> {
    page.permit(Action::ViewRouting)?;
    let text = page.text();
    let versions = versions(page)?;
    let active = versions.first();
    let mut view = View::new(page, "console-routing", "routing");
    view.lead = Some(text.say("console-routing-text"));
    if page.may(Action::ManageRouting) {
        view.links.push(Target {
            href: page.in_scope("routing/edit"),
            name: text.say("console-routing-edit"),
        });
    }
    let set = active.map(|active| active.set.clone()).unwrap_or_default();
    view.sections = messages::sections(page, &set);
    view.sections.push(versions_section(page, &versions));
    Ok(view)
}

/// The stored versions of the rules, the latest first.
fn versions(page: &Page) -> Result<Vec<std::sync::Arc<RoutingRules>>, Failed> {
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let access = page.state.engine().access();
    Ok(access.routing_versions(scope.app.id, scope.environment))
}

fn versions_section(page: &Page, versions: &[std::sync::Arc<RoutingRules>]) -> Section {
    let text = page.text();
    let may = page.may(Action::ManageRouting);
    let row = |(at, rules): (usize, &std::sync::Arc<RoutingRules>)| {
        let state = match at {
            0 => "console-version-current",
            _ => "console-version-earlier",
        };
        let cells = vec![
            rules.version.to_string(),
            text.say(state),
            text.language().date(rules.made_at),
            rules.set.rules.len().to_string(),
        ];
        // An earlier version opens in the form, from where it is saved as the next one.
        let path = format!("routing/edit?version={}", rules.version);
        match may && at > 0 {
            true => Row::linked(page.in_scope(&path), cells),
            false => Row::plain(cells),
        }
    };
    let rows = versions.iter().enumerate().map(row).collect();
    let columns = [
        "console-version",
        "console-state",
        "console-created",
        "console-rules",
    ];
    Section {
        title: Some(text.say("console-versions")),
        text: may.then(|| text.say("console-routing-versions-text")),
        table: Some(Table::new(
            page,
            &columns,
            rows,
            "console-routing-no-versions",
        )),
        ..Section::default()
    }
}

/// The rules of the active version, with its number; 0: there is none.
pub fn active(page: &Page) -> Result<(RuleSet, u64), Failed> {
    let versions = versions(page)?;
    let active = versions.first();
    Ok(active.map_or_else(
        || (RuleSet::default(), 0),
        |active| (active.set.clone(), active.version),
    ))
}
