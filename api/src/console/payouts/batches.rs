//! Batches of payouts: upload of a CSV file, its dry run with every problem by line, confirmation,
//! and progress. Nothing is ordered before the confirmation.

use std::collections::BTreeMap;

use axum::extract::Path;
use axum::extract::multipart::{Field, Multipart, MultipartRejection};
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::language::Language;
use switchyard_core::money::{Amount, Currency};
use switchyard_users::{
    Action, BATCH_LINES, BatchId, BatchState, NewBatch, PayoutBatch, Permit, UsersError,
};

use super::super::form::{Fields, Sent};
use super::super::installation::view::{Alert, Fact, Form, Input, InputKind};
use super::super::installation::view::{Row, Section, Table, Target, View};
use super::super::page::{Failed, Page, Scoped};
use super::super::{answer, labels, refusals};
use super::caller;
use crate::error::ApiError;
use crate::operator::Refused;
use crate::payout_batches::{
    self, COLUMNS, Confirmed, Examined, FILE_BYTES, LineProblem, LineProgress, LineState,
};

/// Batches on the list.
const LISTED: usize = 50;

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Self {
        match error.status() {
            StatusCode::NOT_FOUND => Self::NotFound,
            _ => Self::Unavailable,
        }
    }
}

/// `GET /console/apps/{app}/{environment}/payouts/batches`
pub async fn list(Scoped(page): Scoped) -> Response {
    let shown = list_view(&page, &[]).await;
    answer(&page, shown.map(|view| view.show(&page)))
}

async fn list_view(page: &Page, problems: &[LineProblem]) -> Result<View, Failed> {
    page.permit(Action::ViewPayments)?;
    let (text, scope) = (page.text(), page.scope().ok_or(Failed::NotFound)?);
    let users = page.state.users();
    let batches = users
        .batches(scope.app.id, scope.environment, LISTED)
        .await?;
    let mut view = View::new(page, "console-batches", "payouts");
    view.list = Some(Target {
        href: page.in_scope("payouts"),
        name: text.say("console-payouts"),
    });
    view.lead = Some(text.say("console-batches-text"));
    if !problems.is_empty() {
        view.error = Some(text.say("console-batch-refused"));
        view.sections.push(problem_section(page, problems));
    }
    if page.may(Action::CreatePayout) {
        view.sections.push(upload_section(page));
    }
    let columns = [
        "console-batch-file",
        "console-batch-lines",
        "console-state",
        "console-by",
        "console-time",
    ];
    let rows = batches.iter().map(|head| row(page, head)).collect();
    view.sections.push(Section {
        title: Some(text.say("console-batches-earlier")),
        table: Some(Table::new(page, &columns, rows, "console-batches-empty")),
        ..Section::default()
    });
    Ok(view)
}

fn row(page: &Page, head: &PayoutBatch) -> Row {
    let text = page.text();
    Row::linked(
        page.in_scope(&format!("payouts/batches/{}", head.id)),
        vec![
            head.name.clone(),
            text.number(head.count.into()),
            text.say(state_name(head)),
            crate::proposals::name_of(page.state.users(), head.uploaded_by),
            text.language().date(head.uploaded_at),
        ],
    )
}

const fn state_name(head: &PayoutBatch) -> &'static str {
    match head.state {
        BatchState::Draft => "console-batch-draft",
        BatchState::Confirmed { .. } => "console-batch-running",
        BatchState::Done { .. } => "console-batch-done",
    }
}

fn upload_section(page: &Page) -> Section {
    let text = page.text();
    let values = [
        ("columns", &*COLUMNS.join(", ")),
        ("lines", &text.number(BATCH_LINES as u64)),
        ("kilobytes", &(FILE_BYTES / 1_024).to_string()),
    ];
    let file = Input {
        kind: InputKind::File,
        accept: Some("text/csv,.csv"),
        ..Input::line(page, "file", "console-batch-file", "")
    };
    let hint = Some(text.with("console-batch-hint", &values));
    Section {
        title: Some(text.say("console-batch-upload")),
        forms: vec![Form {
            name: "upload",
            inputs: vec![file.required().with_hint(hint)],
            label: text.say("console-batch-examine"),
            hint: Some(text.say("console-batch-examine-hint")),
            is_primary: true,
            is_multipart: true,
            ..Form::default()
        }],
        ..Section::default()
    }
}

fn problem_section(page: &Page, problems: &[LineProblem]) -> Section {
    let text = page.text();
    let columns = [
        "console-batch-line",
        "console-batch-field",
        "console-batch-problem",
    ];
    let rows = problems.iter().map(|one| {
        let field = one.problem.field.as_deref().unwrap_or("–");
        Row::plain(vec![
            text.number(one.line.into()),
            field.to_owned(),
            refusals::sentence(&one.problem, text),
        ])
    });
    let count = u64::try_from(problems.len()).unwrap_or_default();
    Section {
        title: Some(text.count("console-batch-problems", "count", count)),
        table: Some(Table::new(
            page,
            &columns,
            rows.collect(),
            "console-batches-empty",
        )),
        ..Section::default()
    }
}

/// `POST /console/apps/{app}/{environment}/payouts/batches`
pub async fn upload(Scoped(page): Scoped, sent: Result<Multipart, MultipartRejection>) -> Response {
    let uploaded = take(&page, sent).await;
    answer(&page, uploaded)
}

async fn take(
    page: &Page,
    sent: Result<Multipart, MultipartRejection>,
) -> Result<Response, Failed> {
    let permit = page.permit(Action::CreatePayout)?;
    let take = async |fields: &mut Fields, file: Option<Field<'_>>| {
        store(page, &permit, fields, file).await
    };
    Fields::with_file(page, sent, take).await
}

async fn store(
    page: &Page,
    permit: &Permit,
    fields: &mut Fields,
    file: Option<Field<'_>>,
) -> Result<Response, Failed> {
    let name = file.as_ref().and_then(|file| file.file_name());
    let name = name.map_or_else(|| "payouts.csv".to_owned(), short_name);
    let Some(bytes) = received(file).await else {
        let large = page.text().with(
            "console-batch-large",
            &[("kilobytes", &(FILE_BYTES / 1_024).to_string())],
        );
        return Ok(list_view(page, &[]).await?.refused(page, large));
    };
    let caller = caller(page)?;
    let examined = payout_batches::examine(page.state.api(), &caller, &bytes).await?;
    if !examined.problems.is_empty() {
        return Ok(list_view(page, &examined.problems).await?.show(page));
    }
    let new = NewBatch {
        app: caller.app.id,
        environment: caller.environment,
        name,
        lines: examined.lines,
    };
    let head = page.state.users().upload_batch(permit, new).await?;
    fields.took_effect();
    Ok(page.go(&page.in_scope(&format!("payouts/batches/{}", head.id))))
}

/// A file name without a path, of at most 100 characters.
fn short_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let letters = last.chars().filter(|letter| !letter.is_control());
    let short: String = letters.take(100).collect();
    match short.trim().is_empty() {
        true => "payouts.csv".to_owned(),
        false => short,
    }
}

/// The bytes of a file. `None`: it is too large, or was not received whole.
async fn received(file: Option<Field<'_>>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(mut file) = file else {
        return Some(bytes);
    };
    while let Some(part) = file.chunk().await.ok()? {
        bytes.extend_from_slice(&part);
        if bytes.len() > FILE_BYTES {
            return None;
        }
    }
    Some(bytes)
}

/// App, environment and batch in the address of a batch's page.
type BatchPath = Path<(String, String, String)>;

/// `GET /console/apps/{app}/{environment}/payouts/batches/{batch}`
pub async fn get(Scoped(page): Scoped, Path((.., id)): BatchPath) -> Response {
    let one = async {
        page.permit(Action::ViewPayments)?;
        let head = one_of_scope(&page, &id).await?;
        batch_view(&page, &head).await
    };
    answer(&page, one.await.map(|view| view.show(&page)))
}

/// The batch, if it is one of the page's app and environment.
async fn one_of_scope(page: &Page, id: &str) -> Result<PayoutBatch, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let id: BatchId = id.parse().map_err(|_| Failed::NotFound)?;
    let head = page.state.users().batch(scope.app.account, id).await?;
    match (head.app, head.environment) == (scope.app.id, scope.environment) {
        true => Ok(head),
        false => Err(Failed::NotFound),
    }
}

async fn batch_view(page: &Page, head: &PayoutBatch) -> Result<View, Failed> {
    let text = page.text();
    let lines = page.state.users().batch_lines(head.id).await?;
    let progress = payout_batches::progress(page.state.api(), head, lines).await?;
    let mut view = View::new(page, "console-batch", "payouts");
    view.heading = head.name.clone();
    view.list = Some(Target {
        href: page.in_scope("payouts/batches"),
        name: text.say("console-batches"),
    });
    view.lead = Some(text.say(match head.state {
        BatchState::Draft => "console-batch-review-text",
        BatchState::Confirmed { .. } => "console-batch-running-text",
        BatchState::Done { .. } => "console-batch-done-text",
    }));
    view.figures = match head.state {
        BatchState::Draft => sums(page, &progress.0),
        _ => LineState::ALL
            .into_iter()
            .map(|state| {
                let name = text.say(&format!("console-line-{}", state.name()));
                let value = text.number(progress.count(state) as u64);
                Fact { name, value }
            })
            .collect(),
    };
    if head.state == BatchState::Draft {
        view.sections.push(decision(page, head, &mut view.alerts)?);
    }
    let may_see = page.may(Action::ViewPersonalData);
    let columns = [
        "console-batch-line",
        "console-state",
        "console-amount",
        "console-recipient",
        "console-method",
        "console-batch-about",
    ];
    let rows = progress.0.iter().map(|line| line_row(page, line, may_see));
    view.sections.push(Section {
        title: Some(text.say("console-batch-lines")),
        table: Some(Table::new(
            page,
            &columns,
            rows.collect(),
            "console-batches-empty",
        )),
        ..Section::default()
    });
    Ok(view)
}

/// Sums of a draft by currency, and the number of its lines.
fn sums(page: &Page, lines: &[LineProgress]) -> Vec<Fact> {
    let (text, mut sums) = (page.text(), BTreeMap::<&str, Option<Amount>>::new());
    for amount in lines.iter().filter_map(amount_of) {
        let code = amount.currency().code();
        let sum = sums
            .entry(code)
            .or_insert(Some(Amount::from_minor(0, amount.currency())));
        *sum = sum.and_then(|sum| sum.checked_add(amount));
    }
    let count = text.number(lines.len() as u64);
    let mut facts = vec![Fact::new(page, "console-batch-lines", count)];
    facts.extend(sums.into_values().flatten().map(|sum| {
        let value = sum.with_code(text.language());
        Fact::new(page, "console-batch-sum", value)
    }));
    facts
}

fn amount_of(line: &LineProgress) -> Option<Amount> {
    let request = &line.line.request;
    let currency = Currency::from_code(request["currency"].as_str()?)?;
    Amount::parse_major(request["amount"].as_str()?, currency).ok()
}

fn line_row(page: &Page, line: &LineProgress, may_see: bool) -> Row {
    let (text, request) = (page.text(), &line.line.request);
    let names = line.names().map(|name| match may_see {
        true => name,
        false => labels::masked(&name),
    });
    let cell = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let amount = amount_of(line).map(|amount| amount.with_code(text.language()));
    let refused = line.refused.as_ref();
    let about = refused.map_or_else(
        || cell(&request["metadata"]["reference"]),
        |why| match text.language() {
            Language::En => why.message.clone(),
            Language::Fr => text.say(&format!("console-error-{}", why.code.replace('_', "-"))),
        },
    );
    let cells = vec![
        text.number(line.line.number.into()),
        text.say(&format!("console-line-{}", line.state.name())),
        amount.unwrap_or_default(),
        names.join(" "),
        cell(&request["method"]),
        about,
    ];
    match &line.payout {
        Some(tx) => Row::linked(page.in_scope(&format!("payouts/{}", tx.id)), cells),
        None => Row::plain(cells),
    }
}

/// Forms of a draft. A batch that waits for a second person has a link to its proposal, and only
/// the person who made the proposal can discard the batch.
fn decision(page: &Page, head: &PayoutBatch, alerts: &mut Vec<Alert>) -> Result<Section, Failed> {
    let text = page.text();
    let discard = Form {
        name: "discard",
        label: text.say("console-batch-discard"),
        is_danger: true,
        ..Form::default()
    };
    let proposed = page.state.users().proposal_of_batch(head.account, head.id);
    if let Some(open) = &proposed {
        alerts.push(Alert {
            text: text.say("console-batch-proposed"),
            target: Some(Target {
                href: page.in_scope(&format!("approvals/{}", open.id)),
                name: text.say("console-proposal"),
            }),
        });
    }
    let reader = page.identity().map(|who| who.user.id);
    let is_own = proposed.map(|open| Some(open.proposed_by) == reader);
    if !page.may(Action::CreatePayout) || is_own == Some(false) {
        return Ok(Section::default());
    }
    let (about, forms) = match is_own {
        Some(_) => ("console-batch-discard-text", vec![discard]),
        None => {
            let confirm = Form {
                name: "confirm",
                label: text.say("console-batch-confirm"),
                is_primary: true,
                ..Form::default()
            };
            ("console-batch-confirm-text", vec![confirm, discard])
        }
    };
    Ok(Section {
        title: Some(text.say("console-decision")),
        text: Some(text.say(about)),
        forms,
        ..Section::default()
    })
}

/// `POST /console/apps/{app}/{environment}/payouts/batches/{batch}`
///
/// The field `do` is `confirm` or `discard`.
pub async fn change(
    Path((.., id)): BatchPath,
    Sent(Scoped(page), mut fields): Sent<Scoped>,
) -> Response {
    let changed = match fields.text("do") {
        "discard" => discard(&page, &id, &mut fields).await,
        _ => confirm(&page, &id, &mut fields).await,
    };
    answer(&page, changed)
}

async fn discard(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::CreatePayout)?;
    let head = one_of_scope(page, id).await?;
    match page.state.users().delete_batch(&permit, head.id).await {
        Ok(()) => {
            fields.took_effect();
            Ok(page.go(&page.in_scope("payouts/batches?done=batch-discarded")))
        }
        // It was confirmed in the meantime.
        Err(UsersError::Conflict | UsersError::NotPossible(_)) => {
            Ok(page.go(&page.in_scope(&format!("payouts/batches/{id}"))))
        }
        Err(error) => Err(error.into()),
    }
}

async fn confirm(page: &Page, id: &str, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::CreatePayout)?;
    let head = one_of_scope(page, id).await?;
    let here = page.in_scope(&format!("payouts/batches/{id}"));
    let (api, caller) = (page.state.api(), caller(page)?);
    if head.state != BatchState::Draft {
        payout_batches::start(api, page.state.users(), head.id);
        return Ok(page.go(&here));
    }
    let lines = page.state.users().batch_lines(head.id).await?;
    let examined: Examined = payout_batches::examine_lines(api, &caller, lines).await?;
    if !examined.problems.is_empty() {
        let mut view = batch_view(page, &head).await?;
        view.error = Some(page.text().say("console-batch-refused"));
        view.sections
            .insert(0, problem_section(page, &examined.problems));
        return Ok(view.show(page));
    }
    let access = page.state.access();
    let confirmed = payout_batches::confirm(api, access, &permit, &caller, &head, &examined);
    match confirmed.await {
        Ok(Confirmed::Started) => {
            fields.took_effect();
            Ok(page.go(&format!("{here}?done=batch-confirmed")))
        }
        Ok(Confirmed::Proposed(approval)) => {
            fields.took_effect();
            let to = format!("approvals/{approval}?done=proposed");
            Ok(page.go(&page.in_scope(&to)))
        }
        Err(Refused(error)) => Err(error.into()),
    }
}
