//! Change of the rules: a form for one more rule, the removal of a rule, and all rules as JSON. Each
//! leads to a preview, from where the rules are saved.

use axum::response::Response;
use serde_json::Value;
use switchyard_core::ids::ConnectionId;
use switchyard_core::routing::RuleSet;
use switchyard_core::transaction::Kind;
use switchyard_engine::engine::{Replay, Share, Traffic};
use switchyard_store::Batch;
use switchyard_users::{Action, Permit};

use super::super::answer;
use super::super::approvals;
use super::super::form::{Fields, Sent};
use super::super::installation::refused;
use super::super::installation::view::{
    Choice, Form, Input, InputKind, Row, Section, Table, Target, View,
};
use super::super::page::{Failed, Page, Scope, Scoped};
use super::super::problems::Problems;
use super::messages::connection_name;
use super::{active, draft, messages, versions};
use crate::operator::{check_rules, replace_rules};

/// Forms of the page.
const RULE: &str = "rule";
const REMOVE: &str = "remove";
const JSON: &str = "json";
const SAVE: &str = "save";

/// `GET /console/apps/{app}/{environment}/routing/edit`
pub async fn edit(Scoped(page): Scoped) -> Response {
    let view = show_edit(&page);
    answer(&page, view.map(|view| view.show(&page)))
}

fn show_edit(page: &Page) -> Result<View, Failed> {
    page.permit(Action::ManageRouting)?;
    let (mut set, _) = active(page)?;
    if let Some(version) = page.query("version") {
        let versions = versions(page)?;
        let mut versions = versions.iter();
        let wanted = versions.find(|rules| rules.version.to_string() == version);
        set = wanted.ok_or(Failed::NotFound)?.set.clone();
    }
    edit_view(page, &json(&set), None, &Problems::default())
}

/// Rules as JSON, as the API has them.
fn json(set: &RuleSet) -> String {
    serde_json::to_string_pretty(set).unwrap_or_default()
}

fn edit_view(
    page: &Page,
    json: &str,
    typed: Option<&Fields>,
    problems: &Problems,
) -> Result<View, Failed> {
    let text = page.text();
    let sent = typed.map_or("", |typed| typed.text("do"));
    let none = Problems::default();
    let of = |form: &str| if sent == form { problems } else { &none };
    let of_json = if matches!(sent, JSON | SAVE) {
        problems
    } else {
        &none
    };
    let of_rule = typed.filter(|_| sent == RULE);
    let rule = draft::form(page, of_rule, of(RULE))?;
    let rules = Input {
        kind: InputKind::Code,
        ..Input::line(page, "set", "console-routing-json", json)
    };
    let rules = rules.with_hint(Some(text.say("console-routing-json-hint")));
    let (set, _) = active(page)?;
    let mut view = View::new(page, "console-routing-edit", "routing");
    view.list = Some(Target {
        href: page.in_scope("routing"),
        name: text.say("console-routing"),
    });
    view.lead = Some(text.say("console-routing-edit-text"));
    view.error = of(RULE).elsewhere(&rule.inputs);
    view.sections = vec![Section {
        title: Some(text.say("console-rule-new")),
        text: Some(text.say("console-rule-new-text")),
        forms: vec![rule],
        ..Section::default()
    }];
    if !set.rules.is_empty() {
        view.sections.push(Section {
            title: Some(text.say("console-rule-remove")),
            forms: vec![removal(page, &set)],
            ..Section::default()
        });
    }
    view.sections.push(Section {
        title: Some(text.say("console-routing-all")),
        forms: vec![Form {
            name: JSON,
            inputs: vec![rules.with_error(of_json.elsewhere(&[]))],
            label: text.say("console-rule-preview"),
            ..Form::default()
        }],
        ..Section::default()
    });
    Ok(view)
}

fn removal(page: &Page, set: &RuleSet) -> Form {
    let text = page.text();
    let options = set.rules.iter().enumerate().map(|(at, rule)| {
        let unnamed = || text.say("console-unnamed");
        let name = rule.name.clone().unwrap_or_else(unnamed);
        Choice {
            value: at.to_string(),
            name: format!("{}. {name}", at + 1),
            is_chosen: false,
        }
    });
    Form {
        name: REMOVE,
        inputs: vec![Input::select(
            page,
            "rule",
            "console-rule",
            options.collect(),
        )],
        label: text.say("console-rule-preview"),
        ..Form::default()
    }
}

/// `POST /console/apps/{app}/{environment}/routing/edit`
///
/// The field `do` names the change. All but `save` lead to the preview.
pub async fn post(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let done = step(&page, &mut fields).await;
    answer(&page, done)
}

async fn step(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageRouting)?;
    let (current, version) = active(page)?;
    let entered = match fields.text("do") {
        RULE => with_rule(page, fields, &current)?,
        REMOVE => Ok(without_rule(fields, &current)?),
        _ => read(page, fields.text("set")),
    };
    let set = match entered {
        Ok(set) => set,
        Err(problems) => return unsaved(page, fields, &current, &problems),
    };
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    if fields.text("do") == SAVE {
        return save(page, &permit, set, fields).await;
    }
    let checked = check_rules(page.state.api(), scope.app.id, scope.environment, &set);
    if let Err(error) = checked {
        let mut problems = Problems::of(&error.0, page.text());
        if fields.text("do") == RULE {
            let at = place(fields, &current);
            problems = problems.below(&format!("rules.{at}."));
        }
        let app = scope.app.id.to_string();
        refused(page, &permit, &app, error).await?;
        return unsaved(page, fields, &current, &problems);
    }
    Ok(preview_view(page, &set, version, "").await?.show(page))
}

fn unsaved(
    page: &Page,
    fields: &Fields,
    current: &RuleSet,
    problems: &Problems,
) -> Result<Response, Failed> {
    let kept = match fields.text("do") {
        JSON | SAVE => fields.text("set").to_owned(),
        _ => json(current),
    };
    let view = edit_view(page, &kept, Some(fields), problems)?;
    Ok(view.unsaved(page))
}

/// Place of a new rule.
fn place(fields: &Fields, current: &RuleSet) -> usize {
    match fields.text("place") {
        "last" => current.rules.len(),
        _ => 0,
    }
}

fn with_rule(
    page: &Page,
    fields: &Fields,
    current: &RuleSet,
) -> Result<Result<RuleSet, Problems>, Failed> {
    let rule = draft::rule(page, fields)?;
    Ok(rule.map(|rule| {
        let mut set = current.clone();
        set.rules.insert(place(fields, current), rule);
        set
    }))
}

fn without_rule(fields: &Fields, current: &RuleSet) -> Result<RuleSet, Failed> {
    let at: usize = fields.text("rule").parse().map_err(|_| Failed::NotFound)?;
    let mut set = current.clone();
    if at >= set.rules.len() {
        return Err(Failed::NotFound);
    }
    set.rules.remove(at);
    Ok(set)
}

/// Reads the rules from JSON. The error names the line and the column.
fn read(page: &Page, text: &str) -> Result<RuleSet, Problems> {
    serde_json::from_str(text).map_err(|why| {
        let why = why.to_string();
        let unreadable = page
            .text()
            .with("console-json-unreadable", &[("why", &why)]);
        Problems::one("set", unreadable)
    })
}

/// The rules in words, the traffic of the last day under them, and the button that saves them.
async fn preview_view(
    page: &Page,
    set: &RuleSet,
    version: u64,
    reason: &str,
) -> Result<View, Failed> {
    let text = page.text();
    let mut view = View::new(page, "console-routing-preview", "routing");
    view.list = Some(Target {
        href: page.in_scope("routing"),
        name: text.say("console-routing"),
    });
    view.lead = Some(text.say("console-routing-preview-text"));
    view.sections = replaced(page, set, true).await?;
    let (label, hint, inputs) = match needs_second_person(page)? {
        true => {
            let reason = Input::text(page, "reason", "console-reason", reason);
            (
                "console-propose",
                "console-routing-propose-text",
                vec![reason],
            )
        }
        false => (
            "console-routing-save",
            "console-routing-save-text",
            Vec::new(),
        ),
    };
    view.sections.push(Section {
        forms: vec![Form {
            name: SAVE,
            hidden: vec![("set", json(set)), ("replaces", version.to_string())],
            inputs,
            label: text.say(label),
            hint: Some(text.say(hint)),
            is_primary: true,
            ..Form::default()
        }],
        links: vec![Target {
            href: page.in_scope("routing"),
            name: text.say("console-routing-discard"),
        }],
        ..Section::default()
    });
    Ok(view)
}

fn needs_second_person(page: &Page) -> Result<bool, Failed> {
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let settings = &scope.app.settings.second_person;
    Ok(settings.is_needed_for_routing(scope.environment))
}

/// Rules in words. `with_traffic`: with the traffic of the last day under them.
pub async fn replaced(
    page: &Page,
    set: &RuleSet,
    with_traffic: bool,
) -> Result<Vec<Section>, Failed> {
    let mut sections = messages::sections(page, set);
    if with_traffic {
        for kind in [Kind::Payment, Kind::Payout] {
            sections.push(traffic(page, set, kind).await?);
        }
    }
    Ok(sections)
}

/// Transactions of the last day by connection, under the active rules and under the new ones.
async fn traffic(page: &Page, set: &RuleSet, kind: Kind) -> Result<Section, Failed> {
    let text = page.text();
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let now = page.state.now();
    let replay = Replay {
        app: scope.app.id,
        environment: scope.environment,
        kind,
        from: now.minus(DAY),
        to: now,
        rules: Some(set.clone()),
    };
    let replayed = page.state.engine().replay(&replay).await?;
    let title = match kind {
        Kind::Payment => "console-payments",
        Kind::Payout => "console-payouts",
    };
    let moved: u64 = replayed.moved.values().sum();
    let values = [
        ("read", &*replayed.read.to_string()),
        ("total", &*replayed.total.to_string()),
        ("unrouted", &*replayed.without_method.to_string()),
        ("moved", &*moved.to_string()),
    ];
    let columns = [
        "console-connection",
        "console-traffic-active",
        "console-traffic-new",
        "console-traffic-fees-active",
        "console-traffic-fees-new",
    ];
    let rows = rows(page, &replayed.in_force, &replayed.tried);
    Ok(Section {
        title: Some(format!(
            "{}: {}",
            text.say("console-traffic"),
            text.say(title)
        )),
        text: Some(text.with("console-traffic-text", &values)),
        table: Some(Table::new(page, &columns, rows, "console-traffic-none")),
        ..Section::default()
    })
}

fn rows(page: &Page, active: &Traffic, new: &Traffic) -> Vec<Row> {
    let text = page.text();
    let ids: std::collections::BTreeSet<_> = active.keys().chain(new.keys()).copied().collect();
    let count = |traffic: &Traffic, id: &Option<ConnectionId>| {
        traffic.get(id).map_or(0, |share| share.count)
    };
    let row = |id: &Option<ConnectionId>| {
        let name = match id {
            Some(id) => connection_name(page, *id),
            None => text.say("console-traffic-nobody"),
        };
        Row::plain(vec![
            name,
            count(active, id).to_string(),
            count(new, id).to_string(),
            fees(page, active.get(id)),
            fees(page, new.get(id)),
        ])
    };
    ids.iter().map(row).collect()
}

/// Fees by currency, and the number of transactions for which the table has none.
fn fees(page: &Page, share: Option<&Share>) -> String {
    let Some(share) = share else {
        return "–".to_owned();
    };
    let text = page.text();
    let sums = share.fees.iter().map(|(currency, minor)| {
        let sum = switchyard_core::money::Amount::from_minor(*minor, *currency);
        sum.with_code(text.language())
    });
    let unknown = (share.without_fee > 0).then(|| {
        let count = share.without_fee.to_string();
        text.with("console-traffic-no-fee", &[("count", &count)])
    });
    let parts: Vec<_> = sums.chain(unknown).collect();
    match parts.is_empty() {
        true => "–".to_owned(),
        false => parts.join("; "),
    }
}

async fn save(
    page: &Page,
    permit: &Permit,
    set: RuleSet,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let (app, environment) = (scope.app.id, scope.environment);
    let (before, _) = active(page)?;
    let replaces = fields
        .text("replaces")
        .parse()
        .map_err(|_| Failed::NotFound)?;
    if needs_second_person(page)? {
        return propose(page, permit, set, replaces, fields).await;
    }
    let after = as_value(&set);
    let (api, replaces) = (page.state.api(), Some(replaces));
    let saved = replace_rules(api, app, environment, set, replaces, Batch::new()).await;
    if let Err(error) = saved {
        let problems = Problems::of(&error.0, page.text());
        refused(page, permit, &app.to_string(), error).await?;
        return unsaved(page, fields, &before, &problems);
    }
    let object = format!("{app} {environment}");
    let entry = permit.entry(object);
    page.audit(entry.changing(as_value(&before), after)).await?;
    fields.took_effect();
    Ok(page.go(&page.in_scope("routing?done=routing-saved")))
}

/// Stores the rules as a proposal, after the checks of their replacement.
async fn propose(
    page: &Page,
    permit: &Permit,
    set: RuleSet,
    replaces: u64,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let scope: &Scope = page.scope().ok_or(Failed::NotFound)?;
    let (app, environment) = (scope.app.id, scope.environment);
    let (current, version) = active(page)?;
    if let Err(error) = check_rules(page.state.api(), app, environment, &set) {
        let problems = Problems::of(&error.0, page.text());
        refused(page, permit, &app.to_string(), error).await?;
        return unsaved(page, fields, &current, &problems);
    }
    if version != replaces {
        let text = page.text().say("console-routing-replaced");
        return unsaved(page, fields, &current, &Problems::one("set", text));
    }
    let reason = fields.text("reason").to_owned();
    let proposed = approvals::routing::Proposed {
        app,
        environment,
        set,
        replaces,
    };
    let kind = approvals::routing::KIND;
    match approvals::propose(page, permit, kind, &proposed, reason.clone()).await? {
        Some(response) => {
            fields.took_effect();
            Ok(response)
        }
        None => {
            let view = preview_view(page, &proposed.set, replaces, &reason).await?;
            Ok(view.refused(page, page.text().say("console-proposal-unsaved")))
        }
    }
}

fn as_value(set: &RuleSet) -> Value {
    serde_json::to_value(set).unwrap_or_default()
}

const DAY: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);
