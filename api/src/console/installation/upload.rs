//! Upload of a gateway's file: inspection, consent, installation.
//!
//! An uploaded file waits in the data folder until its operator consents to its hash, discards it,
//! or an hour has passed. No code of it runs before. The functions are those of the operator API.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::multipart::{Field, MultipartRejection};
use axum::extract::{Multipart, Path};
use axum::response::Response;
use parking_lot::Mutex;
use switchyard_core::ids::UserId;
use switchyard_core::time::Timestamp;
use switchyard_gateway_host::{Consent, Incoming, LifeError, Version};
use switchyard_users::{Action, Permit};
use tokio::sync::Mutex as AsyncMutex;

use super::super::answer;
use super::super::form::{Fields, Sent};
use super::super::page::{Failed, Page, SignedIn};
use super::gateways::{by, consent_form, hosts, proposal_facts};
use super::refused;
use super::view::{Fact, Form, Input, InputKind, Row, Section, Table, Target, View};
use crate::operator::Refused;
use crate::operator::contract::gateways::Proposal;
use crate::operator::gateways::upload::{received, without_path};
use crate::operator::gateways::view as gateway_view;

/// Files that await consent at once. Each may have 256 MiB.
const WAITING_FILES: usize = 4;
/// Time until a file without consent is deleted.
const WAITING_TIME: Duration = Duration::from_secs(60 * 60);

/// Uploaded files that await consent.
#[derive(Clone, Default)]
pub struct Uploads(Arc<Mutex<VecDeque<Upload>>>);

/// Uploaded file. Dropping it deletes the file.
#[derive(Clone)]
struct Upload {
    /// The operator who uploaded it. To others it does not exist.
    user: UserId,
    sha256: String,
    at: Timestamp,
    file: Arc<AsyncMutex<Incoming>>,
}

impl Uploads {
    fn add(&self, upload: Upload) {
        let mut waiting = self.0.lock();
        let is_same = |one: &Upload| (one.user, &one.sha256) == (upload.user, &upload.sha256);
        waiting.retain(|one| !is_same(one) && !is_expired(one, upload.at));
        if waiting.len() >= WAITING_FILES {
            waiting.pop_front();
        }
        waiting.push_back(upload);
    }

    fn get(&self, user: UserId, sha256: &str, now: Timestamp) -> Option<Upload> {
        let mut waiting = self.0.lock();
        waiting.retain(|one| !is_expired(one, now));
        let mut all = waiting.iter();
        let found = all.find(|one| one.user == user && one.sha256 == sha256);
        found.cloned()
    }

    fn remove(&self, user: UserId, sha256: &str) {
        let mut waiting = self.0.lock();
        waiting.retain(|one| one.user != user || one.sha256 != sha256);
    }
}

fn is_expired(upload: &Upload, now: Timestamp) -> bool {
    now >= upload.at.plus(WAITING_TIME)
}

/// `GET /console/installation/gateway-upload`
pub async fn form(SignedIn(page): SignedIn) -> Response {
    let permitted = page.permit(Action::ManageGateways);
    let shown = permitted.map(|_| form_view(&page, None).show(&page));
    answer(&page, shown)
}

fn form_view(page: &Page, error: Option<String>) -> View {
    let text = page.text();
    let file = Input {
        kind: InputKind::File,
        ..Input::line(page, "file", "console-gateway-file", "")
    };
    let file = file.required();
    let hint = Some(text.say("console-gateway-file-hint"));
    let mut view = View::new(page, "console-gateway-upload", "gateways");
    view.list = Some(list(page));
    view.lead = Some(text.say("console-gateway-upload-text"));
    view.sections = vec![Section {
        forms: vec![Form {
            name: "inspect",
            inputs: vec![file.with_hint(hint).with_error(error)],
            label: text.say("console-gateway-inspect"),
            is_primary: true,
            is_multipart: true,
            ..Form::default()
        }],
        ..Section::default()
    }];
    view
}

fn list(page: &Page) -> Target {
    Target::new(page, "installation/gateways", "console-gateways")
}

/// `POST /console/installation/gateway-upload`
///
/// Stores the file and leads to its inspection.
pub async fn inspect(
    SignedIn(page): SignedIn,
    sent: Result<Multipart, MultipartRejection>,
) -> Response {
    let inspected = stored(&page, sent).await;
    answer(&page, inspected)
}

async fn stored(
    page: &Page,
    sent: Result<Multipart, MultipartRejection>,
) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageGateways)?;
    let take = async |fields: &mut Fields, file: Option<Field<'_>>| {
        store(page, &permit, file, fields).await
    };
    Fields::with_file(page, sent, take).await
}

async fn store(
    page: &Page,
    permit: &Permit,
    file: Option<Field<'_>>,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let named = file.filter(|file| !file.file_name().unwrap_or_default().is_empty());
    let Some(file) = named else {
        let error = page.text().say("console-gateway-file-none");
        return Ok(form_view(page, Some(error)).unsaved(page));
    };
    let gateways = page.state.engine().gateways();
    let inspected = async {
        let mut incoming = received(gateways, file).await?;
        let path = incoming.whole().await?;
        let proposal = gateways.propose(path).await.map_err(without_path)?;
        Ok::<_, Refused>((incoming, proposal.inspection.sha256))
    };
    match inspected.await {
        Ok((incoming, sha256)) => {
            let to = format!("installation/gateway-upload/{sha256}");
            page.state.uploads().add(Upload {
                user: permit.user,
                sha256,
                at: page.state.now(),
                file: Arc::new(AsyncMutex::new(incoming)),
            });
            fields.took_effect();
            Ok(page.go(&page.link(&to)))
        }
        Err(error) => {
            let error = refused(page, permit, "upload", error).await?;
            Ok(form_view(page, Some(error)).unsaved(page))
        }
    }
}

/// `GET /console/installation/gateway-upload/{sha256}`
pub async fn get(SignedIn(page): SignedIn, Path(sha256): Path<String>) -> Response {
    let shown = inspection(&page, &sha256).await;
    answer(&page, shown.map(|view| view.show(&page)))
}

async fn inspection(page: &Page, sha256: &str) -> Result<View, Failed> {
    let permit = page.permit(Action::ManageGateways)?;
    let (upload, now) = (page.state.uploads(), page.state.now());
    let upload = upload.get(permit.user, sha256, now);
    let upload = upload.ok_or(Failed::NotFound)?;
    let gateways = page.state.engine().gateways();
    let proposal = {
        let mut file = upload.file.lock().await;
        let path = file.whole().await.map_err(|_| Failed::Unavailable)?;
        gateways.propose(path).await
    };
    let proposal = proposal.map_err(|error| {
        tracing::warn!(%error, "failed to inspect an uploaded gateway again");
        Failed::Unavailable
    })?;
    let current = gateways.current(&proposal.inspection.manifest.name);
    Ok(inspection_view(
        page,
        &gateway_view::proposal(&proposal),
        current.as_deref(),
    ))
}

fn inspection_view(page: &Page, proposal: &Proposal, current: Option<&Version>) -> View {
    let text = page.text();
    let mut view = View::new(page, "console-gateway-upload", "gateways");
    view.list = Some(list(page));
    view.heading = format!("{} {}", proposal.title, proposal.version);
    view.lead = Some(proposal.description.clone());
    let mut facts = proposal_facts(page, proposal);
    let operations = names(proposal.operations.iter().map(|one| one.as_str()));
    facts.push(Fact::new(page, "console-capabilities", operations));
    facts.push(Fact::new(page, "console-imports", proposal.imports));
    view.sections.push(Section {
        title: Some(text.say("console-inspection")),
        text: Some(text.say("console-inspection-text")),
        facts,
        ..Section::default()
    });
    if let Some(current) = current {
        view.sections.push(differences(page, proposal, current));
    }
    view.sections.push(decision(page, proposal, current));
    view
}

fn names<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(str::to_owned).collect();
    hosts(&names)
}

/// The rights and functions of both versions, side by side.
fn differences(page: &Page, proposal: &Proposal, current: &Version) -> Section {
    let text = page.text();
    let manifest = &current.manifest;
    let allowed = current.hosts();
    let of = |direction| {
        let methods = manifest.methods.iter();
        methods
            .filter(|one| one.direction == direction)
            .count()
            .to_string()
    };
    use switchyard_gateway_host::Direction;
    let rows = [
        (
            "console-hosts-sandbox",
            hosts(&allowed.sandbox),
            hosts(&proposal.hosts.sandbox),
        ),
        (
            "console-hosts-live",
            hosts(&allowed.live),
            hosts(&proposal.hosts.live),
        ),
        (
            "console-capabilities",
            names(manifest.operations.iter().map(|one| one.as_str())),
            names(proposal.operations.iter().map(|one| one.as_str())),
        ),
        (
            "console-payment-methods",
            of(Direction::Collect),
            proposal.payment_methods.to_string(),
        ),
        (
            "console-payout-methods",
            of(Direction::Payout),
            proposal.payout_methods.to_string(),
        ),
    ];
    let differing = rows.into_iter().filter(|(_, now, then)| now != then);
    let rows = differing.map(|(name, now, then)| Row::plain(vec![text.say(name), now, then]));
    let columns = [
        "console-change",
        "console-version-now",
        "console-version-new",
    ];
    let mut table = Table::new(page, &columns, rows.collect(), "console-differences-none");
    let versions = [&manifest.version, &proposal.version];
    for (column, version) in table.columns.iter_mut().skip(1).zip(versions) {
        *column = format!("{column} ({version})");
    }
    Section {
        title: Some(text.say("console-differences")),
        table: Some(table),
        ..Section::default()
    }
}

/// The form for the consent. A version that is in use already needs none.
fn decision(page: &Page, proposal: &Proposal, current: Option<&Version>) -> Section {
    let text = page.text();
    let is_current = current.is_some_and(|current| current.sha256 == proposal.sha256);
    if is_current {
        return Section {
            text: Some(text.say("console-gateway-same")),
            ..Section::default()
        };
    }
    let discard = Form {
        name: "discard",
        label: text.say("console-gateway-discard"),
        ..Form::default()
    };
    Section {
        title: Some(text.say("console-consent")),
        text: proposal.is_known.then(|| text.say("console-gateway-known")),
        forms: vec![consent_form(page, proposal), discard],
        ..Section::default()
    }
}

/// `POST /console/installation/gateway-upload/{sha256}`
///
/// Installs the file, or discards it.
pub async fn decide(
    Path(sha256): Path<String>,
    Sent(SignedIn(page), mut fields): Sent<SignedIn>,
) -> Response {
    let decided = decide_upload(&page, &sha256, &mut fields).await;
    answer(&page, decided)
}

async fn decide_upload(page: &Page, sha256: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageGateways)?;
    let uploads = page.state.uploads();
    let upload = uploads.get(permit.user, sha256, page.state.now());
    let upload = upload.ok_or(Failed::NotFound)?;
    if fields.text("do") == "discard" {
        uploads.remove(permit.user, sha256);
        fields.took_effect();
        return Ok(page.go(&page.link("installation/gateways?done=gateway-discarded")));
    }
    let why = fields.text("why");
    let installed = install(page, &permit, &upload, why).await;
    let (name, notice) = match installed {
        Ok(version) => (version.name().to_owned(), "gateway-added"),
        Err(LifeError::AwaitsApproval { name, .. }) => (name, "gateway-awaits"),
        Err(error) => {
            let error = refused(page, &permit, sha256, without_path(error)).await?;
            let view = inspection(page, sha256).await?;
            return Ok(view.refused(page, error));
        }
    };
    uploads.remove(permit.user, sha256);
    let after = serde_json::json!({
        "gateway": name, "sha256": sha256, "do": "upload", "why": why,
    });
    let entry = permit.entry(&name);
    page.audit(entry.changing(serde_json::Value::Null, after))
        .await?;
    fields.took_effect();
    let to = format!("installation/gateways/{name}?done={notice}");
    Ok(page.go(&page.link(&to)))
}

async fn install(
    page: &Page,
    permit: &Permit,
    upload: &Upload,
    why: &str,
) -> Result<Arc<Version>, LifeError> {
    let consent = Consent::Given {
        sha256: upload.sha256.clone(),
        hosts: None,
    };
    let mut file = upload.file.lock().await;
    let path = file.whole().await?;
    let gateways = page.state.engine().gateways();
    let by = by(permit, why);
    gateways.install(path, consent, &by).await
}
