//! Audit log: of the installation, and of one account for its managers.

use axum::response::Response;
use switchyard_core::ids::AccountId;
use switchyard_core::time::Timestamp;
use switchyard_users::{Action, Actor, AuditQuery, AuditResult, Entry};

use super::super::answer;
use super::super::page::{Failed, Page, Scoped, SignedIn};
use super::super::text::Text;
use super::view::{Alert, Input, Row, Section, Table, View};

/// Entries on a page.
const PER_PAGE: usize = 50;

/// `GET /console/installation/audit`
pub async fn of_installation(SignedIn(page): SignedIn) -> Response {
    let shown = show(&page, None).await;
    answer(&page, shown)
}

/// `GET /console/apps/{app}/{environment}/audit`
pub async fn of_account(Scoped(page): Scoped) -> Response {
    let account = page.scope().map(|scope| scope.app.account);
    let shown = show(&page, account).await;
    answer(&page, shown)
}

async fn show(page: &Page, account: Option<AccountId>) -> Result<Response, Failed> {
    page.permit(Action::ViewAudit)?;
    let text = page.text();
    let given = |name: &str| page.query(name).unwrap_or_default();
    let (action, from, to) = (given("action"), given("from"), given("to"));
    let (since, until) = (Timestamp::parse(&from), Timestamp::parse_end(&to));
    let query = AuditQuery {
        account,
        user: None,
        action: (!action.is_empty()).then(|| action.clone()),
        since,
        until,
        before: given("before").parse().ok(),
        limit: PER_PAGE,
    };
    let found = page.state.users().audit(&query).await?;
    let rows = found.entries.iter().map(|one| row(page, one)).collect();
    let mut view = View::new(page, "console-audit", "audit");
    view.lead = Some(text.say("console-audit-text"));
    view.filter = vec![
        Input::line(page, "action", "console-audit-action", &action),
        Input::day(page, "from", "console-from", &from),
        Input::day(page, "to", "console-to", &to),
    ];
    let is_unreadable = |typed: &str, read: Option<Timestamp>| !typed.is_empty() && read.is_none();
    if is_unreadable(&from, since) || is_unreadable(&to, until) {
        view.error = Some(text.say("console-dates-unreadable"));
    }
    if !found.unreadable.is_empty() {
        let numbers: Vec<_> = found.unreadable.iter().map(u64::to_string).collect();
        let values = [("numbers", &*numbers.join(", "))];
        view.alerts.push(Alert {
            text: text.with("console-audit-unreadable", &values),
            target: None,
        });
    }
    let columns = [
        "console-audit-action",
        "console-time",
        "console-by",
        "console-audit-object",
        "console-result",
        "console-change",
    ];
    view.sections = vec![Section {
        table: Some(Table::new(page, &columns, rows, "console-audit-empty")),
        ..Section::default()
    }];
    view.older = found.next.map(|next| {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs([("action", &action), ("from", &from), ("to", &to)]);
        pairs.append_pair("before", &next.to_string());
        let path = page.address().split('?').next().unwrap_or_default();
        format!("{path}?{}", pairs.finish())
    });
    Ok(view.show(page))
}

fn row(page: &Page, entry: &Entry) -> Row {
    let text = page.text();
    let change = match (&entry.before, &entry.after) {
        (before, after) if before.is_null() && after.is_null() => "–".to_owned(),
        (before, after) if before.is_null() => after.to_string(),
        (before, after) => format!("{before} → {after}"),
    };
    Row::plain(vec![
        entry.action.clone(),
        text.language().date(entry.at),
        actor(page, &entry.actor),
        entry.object.clone(),
        result(entry.result, text),
        change,
    ])
}

fn result(result: AuditResult, text: Text) -> String {
    text.say(match result {
        AuditResult::Succeeded => "console-audit-succeeded",
        AuditResult::Refused => "console-audit-refused",
        AuditResult::Failed => "console-audit-failed",
    })
}

fn actor(page: &Page, actor: &Actor) -> String {
    let user = |id| {
        let user = page.state.users().user(id);
        user.map_or_else(|| id.to_string(), |user| user.name.clone())
    };
    match actor {
        Actor::User { id } => user(*id),
        Actor::UserToken { user: id, .. } => {
            let values = [("name", &*user(*id))];
            page.text().with("console-audit-token", &values)
        }
        Actor::OperatorToken { name } => {
            let values = [("name", name.as_str())];
            page.text().with("console-audit-operator-token", &values)
        }
        Actor::System => page.text().say("console-audit-system"),
        Actor::Anonymous => page.text().say("console-audit-anonymous"),
    }
}
