//! Gateways: the list with files that wait for consent, and one gateway with its versions, its
//! changes and the actions of operators.

use axum::extract::Path;
use axum::response::Response;
use switchyard_gateway_host::{ChangeAuthor, LifeError};
use switchyard_users::{Action, Permit};

use super::super::answer;
use super::super::form::{Fields, Sent};
use super::super::page::{Failed, Page, SignedIn};
use super::refused;
use super::view::{Fact, Form, Input, Row, Section, Table, Target, View};
use crate::operator::Refused;
use crate::operator::contract::gateways::{
    Awaiting, CandidateStatus, Count, Gateway, GatewayChange, GatewayState, GatewaySummary,
    GatewayVersion, Hosts, Proposal,
};
use crate::operator::gateways::view as gateway_view;

/// Gateways for a page, by the same view as in the operator API.
pub async fn overviews(page: &Page) -> Result<Vec<GatewaySummary>, Failed> {
    let overviews = page.state.engine().gateways().overviews().await;
    let overviews = overviews.map_err(unavailable)?;
    Ok(overviews.iter().map(gateway_view::listed).collect())
}

/// Number of files in the gateways' folder that wait for consent.
pub fn waiting_files(page: &Page) -> usize {
    let files = page.state.engine().gateways().folder_files();
    let files = files.iter().map(gateway_view::file);
    files
        .filter(|file| file.status == CandidateStatus::AwaitingConsent)
        .count()
}

fn unavailable(error: LifeError) -> Failed {
    match Refused::from(error).0.status().as_u16() {
        404 => Failed::NotFound,
        _ => Failed::Unavailable,
    }
}

/// `GET /console/installation/gateways`
pub async fn list(SignedIn(page): SignedIn) -> Response {
    let list = list_view(&page).await;
    answer(&page, list.map(|view| view.show(&page)))
}

async fn list_view(page: &Page) -> Result<View, Failed> {
    page.permit(Action::ViewGateways)?;
    let rows = overviews(page).await?;
    let rows = rows.iter().map(|one| list_row(page, one)).collect();
    let columns = [
        "console-gateway",
        "console-state",
        "console-version",
        "console-running-calls",
        "console-open-attempts",
    ];
    let mut view = View::new(page, "console-gateways", "gateways");
    view.lead = Some(page.text().say("console-gateways-text"));
    if page.may(Action::ManageGateways) {
        view.links = vec![Target::new(
            page,
            "installation/gateway-upload",
            "console-gateway-upload",
        )];
    }
    view.sections = vec![Section {
        table: Some(Table::new(page, &columns, rows, "console-gateways-empty")),
        ..Section::default()
    }];
    let files = page.state.engine().gateways().folder_files();
    let files = files.iter().map(gateway_view::file);
    for file in files.filter(|file| file.status != CandidateStatus::Taken) {
        let mut section = Section {
            title: Some(file.file),
            text: Some(page.text().say(candidate_message(file.status))),
            ..Section::default()
        };
        if let Some(why) = file.why {
            section.facts.push(Fact::new(page, "console-reason", why));
        }
        if let Some(proposal) = file.proposal {
            section.facts = proposal_facts(page, &proposal);
            let may = page.may(Action::ManageGateways);
            section.forms = may
                .then(|| consent_form(page, &proposal))
                .into_iter()
                .collect();
        }
        view.sections.push(section);
    }
    Ok(view)
}

const fn candidate_message(status: CandidateStatus) -> &'static str {
    match status {
        CandidateStatus::Settling => "console-candidate-settling",
        CandidateStatus::Taken => "console-candidate-taken",
        CandidateStatus::Gone => "console-candidate-gone",
        CandidateStatus::Refused => "console-candidate-refused",
        CandidateStatus::AwaitingConsent => "console-candidate-awaiting",
    }
}

fn list_row(page: &Page, one: &GatewaySummary) -> Row {
    let title = one.title.clone().unwrap_or_else(|| one.name.clone());
    let href = page.link(&format!("installation/gateways/{}", one.name));
    Row::linked(
        href,
        vec![
            title,
            state(page, one.state),
            one.version.clone().unwrap_or_else(|| "–".to_owned()),
            one.running_calls.to_string(),
            count(one.open_attempts),
        ],
    )
}

fn state(page: &Page, state: GatewayState) -> String {
    page.text().say(match state {
        GatewayState::Serving => "console-gateway-serving",
        GatewayState::Draining => "console-gateway-draining",
        GatewayState::Drained => "console-gateway-drained",
        GatewayState::Quarantined => "console-gateway-quarantined",
        GatewayState::Removed => "console-gateway-removed",
    })
}

fn count(count: Count) -> String {
    let more = if count.is_at_least { "+" } else { "" };
    format!("{}{more}", count.count)
}

pub fn proposal_facts(page: &Page, proposal: &Proposal) -> Vec<Fact> {
    let mut facts = vec![
        Fact::new(page, "console-gateway", &proposal.title),
        Fact::new(page, "console-version", &proposal.version),
        Fact::new(page, "console-sha256", &proposal.sha256),
        Fact::new(
            page,
            "console-hosts-sandbox",
            hosts(&proposal.hosts.sandbox),
        ),
        Fact::new(page, "console-hosts-live", hosts(&proposal.hosts.live)),
        Fact::new(page, "console-payment-methods", proposal.payment_methods),
        Fact::new(page, "console-payout-methods", proposal.payout_methods),
    ];
    if let Some(replaced) = &proposal.replaces {
        facts.push(Fact::new(page, "console-replaces", &replaced.version));
        let new = [
            &replaced.new_hosts.sandbox[..],
            &replaced.new_hosts.live[..],
        ]
        .concat();
        facts.push(Fact::new(page, "console-new-hosts", hosts(&new)));
    }
    facts
}

pub fn hosts(hosts: &[String]) -> String {
    match hosts {
        [] => "–".to_owned(),
        hosts => hosts.join(", "),
    }
}

pub fn consent_form(page: &Page, proposal: &Proposal) -> Form {
    let text = page.text();
    let hint = match proposal.needs_approval {
        Some(_) => "console-consent-approval",
        None => "console-consent-text",
    };
    Form {
        name: "accept",
        id: proposal.sha256.chars().take(12).collect(),
        hidden: vec![("sha256", proposal.sha256.clone())],
        inputs: vec![Input::line(page, "why", "console-why", "")],
        label: text.say("console-consent"),
        hint: Some(text.say(hint)),
        ..Form::default()
    }
}

/// `POST /console/installation/gateways`
///
/// Consents to a file of the gateways' folder.
pub async fn accept(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let accepted = accept_file(&page, &mut fields).await;
    answer(&page, accepted)
}

async fn accept_file(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageGateways)?;
    let (sha256, why) = (fields.text("sha256"), fields.text("why"));
    let gateways = page.state.engine().gateways();
    let accepted = gateways.accept(sha256, &by(&permit, why)).await;
    let notice = match accepted {
        Ok(_) => "gateway-added",
        Err(LifeError::AwaitsApproval { .. }) => "gateway-awaits",
        Err(error) => {
            let error = refused(page, &permit, sha256, error.into()).await?;
            let view = list_view(page).await?;
            return Ok(view.refused(page, error));
        }
    };
    let after = serde_json::json!({ "sha256": sha256, "do": "accept", "why": why });
    let entry = permit.entry(sha256);
    page.audit(entry.changing(serde_json::Value::Null, after))
        .await?;
    fields.took_effect();
    Ok(page.go(&page.link(&format!("installation/gateways?done={notice}"))))
}

/// Author of a change, with the empty origin: any operator token may have invited this user, or
/// reset the password. A user therefore cannot approve an upgrade that widens the rights of a
/// gateway, nor can a token approve the upload of a user.
pub const fn by<'a>(permit: &'a Permit, why: &'a str) -> ChangeAuthor<'a> {
    ChangeAuthor {
        who: permit.name.as_str(),
        why: if why.is_empty() { None } else { Some(why) },
        origin: Some(""),
    }
}

/// `GET /console/installation/gateways/{gateway}`
pub async fn get(SignedIn(page): SignedIn, Path(name): Path<String>) -> Response {
    let one = one_view(&page, &name).await;
    answer(&page, one.map(|view| view.show(&page)))
}

async fn one_view(page: &Page, name: &str) -> Result<View, Failed> {
    page.permit(Action::ViewGateways)?;
    let overview = page.state.engine().gateways().overview(name).await;
    let gateway = gateway_view::shown(&overview.map_err(unavailable)?);
    let summary = &gateway.summary;
    let mut view = View::new(page, "console-gateway", "gateways");
    view.list = Some(Target::new(
        page,
        "installation/gateways",
        "console-gateways",
    ));
    if let Some(title) = &summary.title {
        view.heading.clone_from(title);
    }
    view.lead.clone_from(&summary.description);
    view.figures = vec![
        Fact::new(page, "console-state", state(page, summary.state)),
        Fact::new(page, "console-running-calls", summary.running_calls),
        Fact::new(page, "console-open-attempts", count(summary.open_attempts)),
    ];
    view.links = vec![Target::new(
        page,
        &format!("installation/gateways/{name}"),
        "console-refresh",
    )];
    view.sections.push(about(page, summary));
    let may = page.may(Action::ManageGateways);
    if let Some(awaiting) = &summary.awaiting_approval {
        view.sections.push(approval(page, awaiting, may));
    }
    view.sections.push(versions(page, &gateway.versions));
    if may {
        view.sections.push(actions(page, &gateway));
    }
    view.sections.push(changes(page, &gateway.changes));
    Ok(view)
}

fn about(page: &Page, summary: &GatewaySummary) -> Section {
    let none = Hosts::default();
    let allowed = summary.hosts.as_ref().unwrap_or(&none);
    let operations = summary.operations.iter().flatten();
    let operations: Vec<_> = operations.map(|one| one.as_str().to_owned()).collect();
    let methods = summary.methods.iter().flatten();
    let methods: Vec<_> = methods.map(|one| one.code.clone()).collect();
    let mut facts = vec![
        Fact::new(page, "console-name-of-key", &summary.name),
        Fact::new(page, "console-capabilities", hosts(&operations)),
        Fact::new(page, "console-hosts-sandbox", hosts(&allowed.sandbox)),
        Fact::new(page, "console-hosts-live", hosts(&allowed.live)),
        Fact::new(page, "console-methods", hosts(&methods)),
    ];
    if let Some(quarantine) = &summary.quarantine {
        let text = format!("{} ({})", quarantine.reason, quarantine.by);
        facts.push(Fact::new(page, "console-quarantine", text));
    }
    Section {
        facts,
        ..Section::default()
    }
}

fn approval(page: &Page, awaiting: &Awaiting, may: bool) -> Section {
    let text = page.text();
    let widened = [
        &awaiting.widens.hosts.sandbox[..],
        &awaiting.widens.hosts.live[..],
    ];
    let form = |name: &'static str, label: &str| Form {
        name,
        hidden: vec![("sha256", awaiting.sha256.clone())],
        inputs: vec![Input::line(page, "why", "console-why", "")],
        label: text.say(label),
        is_danger: name == "reject",
        ..Form::default()
    };
    Section {
        title: Some(text.say("console-awaits-approval")),
        text: Some(text.say("console-awaits-approval-text")),
        facts: vec![
            Fact::new(page, "console-version", &awaiting.version),
            Fact::new(page, "console-sha256", &awaiting.sha256),
            Fact::new(page, "console-new-hosts", hosts(&widened.concat())),
            Fact::new(page, "console-consent-by", &awaiting.consent.by),
        ],
        forms: match may {
            true => vec![form("reject", "console-reject")],
            false => Vec::new(),
        },
        ..Section::default()
    }
}

fn versions(page: &Page, versions: &[GatewayVersion]) -> Section {
    let rows = versions.iter().map(|one| version_row(page, one)).collect();
    let columns = [
        "console-version",
        "console-sha256",
        "console-state",
        "console-running-calls",
        "console-open-attempts",
        "console-consent-by",
    ];
    Section {
        title: Some(page.text().say("console-versions")),
        table: Some(Table::new(page, &columns, rows, "console-versions-empty")),
        ..Section::default()
    }
}

fn version_row(page: &Page, one: &GatewayVersion) -> Row {
    let text = page.text();
    let state = match (&one.quarantine, one.is_current) {
        (Some(_), _) => "console-gateway-quarantined",
        (None, true) => "console-version-current",
        (None, false) => "console-version-earlier",
    };
    let consent = &one.consent;
    let approved = consent.approved_by.as_deref();
    let by = [Some(consent.consent.by.as_str()), approved];
    let by: Vec<_> = by.into_iter().flatten().collect();
    Row::plain(vec![
        one.version.clone(),
        one.sha256.chars().take(12).collect(),
        text.say(state),
        one.running_calls.to_string(),
        count(one.open_attempts),
        by.join(", "),
    ])
}

/// The changes that the gateway's state allows, each with its reason.
fn actions(page: &Page, gateway: &Gateway) -> Section {
    let text = page.text();
    let state = gateway.summary.state;
    let form = |name: &'static str, label: &str, hint: &str, is_danger: bool| Form {
        name,
        inputs: vec![Input::line(page, "why", "console-why", "")],
        label: text.say(label),
        hint: Some(text.say(hint)),
        is_danger,
        ..Form::default()
    };
    let mut forms = Vec::new();
    if state == GatewayState::Serving {
        let hint = "console-gateway-drain-text";
        forms.push(form("drain", "console-gateway-drain", hint, false));
        if gateway.versions.len() > 1 {
            let hint = "console-gateway-rollback-text";
            forms.push(form("rollback", "console-gateway-rollback", hint, false));
        }
        let hint = "console-gateway-quarantine-text";
        let mut quarantine = form("quarantine", "console-gateway-quarantine", hint, true);
        quarantine.inputs = vec![Input::line(page, "why", "console-why", "").required()];
        forms.push(quarantine);
    } else {
        let hint = "console-gateway-restore-text";
        forms.push(form("restore", "console-gateway-restore", hint, false));
    }
    if state != GatewayState::Removed {
        let hint = "console-gateway-remove-text";
        forms.push(form("remove", "console-gateway-remove", hint, true));
    }
    Section {
        title: Some(text.say("console-actions")),
        forms,
        ..Section::default()
    }
}

fn changes(page: &Page, changes: &[GatewayChange]) -> Section {
    let row = |change: &GatewayChange| {
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
        Row::plain(vec![
            page.text().language().date(change.at.0),
            change.what.as_str().to_owned(),
            or_dash(&change.version),
            change.by.clone(),
            or_dash(&change.why),
        ])
    };
    let columns = [
        "console-time",
        "console-change",
        "console-version",
        "console-by",
        "console-reason",
    ];
    let rows = changes.iter().map(row).collect();
    Section {
        title: Some(page.text().say("console-changes")),
        table: Some(Table::new(page, &columns, rows, "console-changes-empty")),
        ..Section::default()
    }
}

/// `POST /console/installation/gateways/{gateway}`
///
/// The field `do` names the change.
pub async fn change(
    Path(name): Path<String>,
    Sent(SignedIn(page), mut fields): Sent<SignedIn>,
) -> Response {
    let changed = change_gateway(&page, &name, &mut fields).await;
    answer(&page, changed)
}

async fn change_gateway(page: &Page, name: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageGateways)?;
    let gateways = page.state.engine().gateways();
    gateways.overview(name).await.map_err(unavailable)?;
    let (what, why) = (fields.text("do").to_owned(), fields.text("why").to_owned());
    let by = by(&permit, &why);
    let sha256 = fields.text("sha256");
    let changed = match what.as_str() {
        "drain" => gateways.drain(name, &by).await,
        "rollback" => gateways.roll_back(name, None, &by).await,
        "quarantine" => gateways.quarantine(name, None, &by).await,
        "restore" => gateways.restore(name, None, &by).await,
        "remove" => gateways.remove(name, &by).await,
        "reject" => gateways.reject(name, sha256, &by).await,
        _ => return Err(Failed::NotFound),
    };
    if let Err(error) = changed {
        let error = refused(page, &permit, name, error.into()).await?;
        let view = one_view(page, name).await?;
        return Ok(view.refused(page, error));
    }
    let after = serde_json::json!({ "do": what, "why": why });
    let entry = permit.entry(name);
    page.audit(entry.changing(serde_json::Value::Null, after))
        .await?;
    fields.took_effect();
    let to = format!("installation/gateways/{name}?done=gateway-changed");
    Ok(page.go(&page.link(&to)))
}
