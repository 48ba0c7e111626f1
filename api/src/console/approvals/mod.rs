//! Proposals that a second person approves: their list, and one with the decision about it.
//!
//! Outcomes of manual resolutions and closings of cases are proposals of the installation. Payouts
//! and routing rules are proposals of an account, on the pages of their app and environment. The
//! person who made a proposal cannot decide about it. A token can neither propose nor decide: its
//! owner may have a user of the console, too.

pub mod batch;
pub mod closing;
pub mod payout;
pub mod resolution;
pub mod routing;

use axum::extract::Path;
use axum::response::Response;
use serde::Serialize;
use switchyard_core::ids::{AccountId, ApprovalId, UserId};
use switchyard_core::transaction::Operator;
use switchyard_store::Batch;
use switchyard_system::trace::TraceContext;
use switchyard_users::{
    Action, Approval, ApprovalState, NewEntry, Permit, Proposal, UsersError, proposing_action,
};

use super::answer;
use super::form::{Fields, Sent};
use super::installation::view::{Alert, Fact, Form, Input, Row, Section, Table, Target, View};
use super::page::{Failed, Page, Scope, Scoped, SignedIn};
use crate::operator::Refused;
use crate::proposals::{self, NotExecuted, read};

/// Decided proposals on the list.
const DECIDED: usize = 50;
/// Pages of decided proposals of all accounts that are read for the list.
const DECIDED_PAGES: usize = 20;

/// Change that waits for a second person, or waited.
enum Proposed {
    Resolution(resolution::Proposed),
    Closing(closing::Proposed),
    Payout(payout::Proposed),
    Batch(batch::Proposed),
    Routing(routing::Proposed),
}

/// Address of the next page, or a sentence about a decision that had no effect.
type Decided = Result<Result<String, String>, Failed>;

impl Proposed {
    /// The proposed change. `None`: it is of an unknown kind.
    fn of(approval: &Approval) -> Option<Self> {
        match approval.kind.as_str() {
            resolution::KIND => read(approval).map(Self::Resolution),
            closing::KIND => read(approval).map(Self::Closing),
            payout::KIND => read(approval).map(Self::Payout),
            batch::KIND => read(approval).map(Self::Batch),
            routing::KIND => read(approval).map(Self::Routing),
            _ => None,
        }
    }

    /// Whether the proposal has its page where `page` is, and the reader may see it.
    fn is_shown_on(&self, page: &Page) -> bool {
        let scope = page.scope();
        let is_here = |app, environment| {
            scope.is_some_and(|scope| scope.app.id == app && scope.environment == environment)
        };
        match self {
            Self::Resolution(_) | Self::Closing(_) => scope.is_none(),
            Self::Payout(one) => is_here(one.app, one.environment),
            Self::Batch(one) => is_here(one.app, one.environment),
            Self::Routing(one) => {
                is_here(one.app, one.environment) && page.may(Action::ViewRouting)
            }
        }
    }

    /// Message with the name of the change.
    const fn name(&self) -> &'static str {
        match self {
            Self::Resolution(_) => "console-resolve",
            Self::Closing(_) => "console-case-close",
            Self::Payout(_) => "console-payout",
            Self::Batch(_) => "console-batch",
            Self::Routing(_) => "console-routing-rules",
        }
    }

    /// Messages of the page: heading, effect of an approval, and the reason why the person who made
    /// the proposal does not decide.
    const fn messages(&self) -> [&'static str; 3] {
        match self {
            Self::Resolution(_) => [
                "console-proposal-one",
                "console-approval-text",
                "console-approval-own",
            ],
            Self::Closing(_) => [
                "console-proposal-closing",
                "console-approval-closing",
                "console-approval-own",
            ],
            Self::Payout(_) => [
                "console-proposal-payout",
                "console-approval-payout",
                "console-approval-own-account",
            ],
            Self::Batch(_) => [
                "console-proposal-batch",
                "console-approval-batch",
                "console-approval-own-account",
            ],
            Self::Routing(_) => [
                "console-proposal-routing",
                "console-approval-routing",
                "console-approval-own-account",
            ],
        }
    }

    /// Object of the change, for the list.
    fn subject(&self, page: &Page, approval: &Approval) -> String {
        match self {
            Self::Resolution(one) => one.transaction.to_string(),
            Self::Closing(one) => one.case.to_string(),
            Self::Payout(one) => payout::amount(page, one),
            Self::Batch(_) => batch::subject(approval),
            Self::Routing(one) => {
                let count = u64::try_from(one.set.rules.len()).unwrap_or_default();
                let text = page.text();
                text.count("console-routing-rules-count", "count", count)
            }
        }
    }
}

/// Account of the proposals on a page; `None`: the installation.
fn account(page: &Page) -> Option<AccountId> {
    page.scope().map(|scope| scope.app.account)
}

/// Path of the list of proposals, or of one of them.
fn path(page: &Page, rest: &str) -> String {
    match page.scope() {
        None => format!("installation/approvals{rest}"),
        Some(Scope { app, environment }) => {
            format!("apps/{}/{environment}/approvals{rest}", app.id)
        }
    }
}

/// Address of the list of proposals, or of one of them.
fn address(page: &Page, rest: &str) -> String {
    page.link(&path(page, rest))
}

/// Whether the reader may see proposals at all.
fn permit_view(page: &Page) -> Result<Permit, Failed> {
    page.permit(match page.scope() {
        None => Action::ViewCases,
        Some(_) => Action::ViewPayments,
    })
}

/// Whether the reader may decide at all. The proposals of the installation are of one kind, whose
/// action is `of_installation`; those of an account are looked up first.
fn permit_decision(page: &Page, of_installation: Action) -> Result<(), Failed> {
    match page.scope() {
        None => page.permit(of_installation)?,
        Some(_) => permit_view(page)?,
    };
    Ok(())
}

/// Stores a proposal, mails it to those who may decide, and leads to its page. `None`: too many are
/// open, or the reason is too long.
pub async fn propose(
    page: &Page,
    permit: &Permit,
    kind: &str,
    payload: &impl Serialize,
    reason: String,
) -> Result<Option<Response>, Failed> {
    let proposal = Proposal {
        kind: kind.to_owned(),
        payload: serde_json::to_value(payload).unwrap_or_default(),
        reason,
    };
    let (api, access) = (page.state.api(), page.state.access());
    let path = |id| path(page, &format!("/{id}"));
    match proposals::propose(api, access, permit, proposal, path).await {
        Ok(id) => Ok(Some(
            page.go(&address(page, &format!("/{id}?done=proposed"))),
        )),
        Err(UsersError::Invalid { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `GET /console/installation/approvals`
pub async fn list(SignedIn(page): SignedIn) -> Response {
    let list = list_view(&page).await;
    answer(&page, list.map(|view| view.show(&page)))
}

/// `GET /console/apps/{app}/{environment}/approvals`
pub async fn list_of_app(Scoped(page): Scoped) -> Response {
    let list = list_view(&page).await;
    answer(&page, list.map(|view| view.show(&page)))
}

async fn list_view(page: &Page) -> Result<View, Failed> {
    permit_view(page)?;
    let text = page.text();
    let columns = [
        "console-proposal",
        "console-proposal-subject",
        "console-proposed-by",
        "console-proposed-at",
        "console-state",
    ];
    let table = |rows: Vec<Row>, empty: &str| Some(Table::new(page, &columns, rows, empty));
    let mut view = View::new(page, "console-approvals", "approvals");
    view.lead = Some(text.say(match page.scope() {
        None => "console-approvals-text",
        Some(_) => "console-approvals-of-account",
    }));
    let rows = |all: &[Approval]| all.iter().filter_map(|one| row(page, one)).collect();
    view.sections = vec![
        Section {
            table: table(rows(&open(page)), "console-approvals-empty"),
            ..Section::default()
        },
        Section {
            title: Some(text.say("console-approvals-decided")),
            table: table(
                rows(&decided(page).await?),
                "console-approvals-none-decided",
            ),
            ..Section::default()
        },
    ];
    Ok(view)
}

/// Open proposals that have their pages where `page` is.
fn open(page: &Page) -> Vec<Approval> {
    let all = page.state.users().open_approvals(account(page));
    let all = all.iter().map(|one| Approval::clone(one));
    all.filter(|one| is_shown(page, one)).collect()
}

/// Number of open proposals that have their pages where `page` is.
pub fn open_count(page: &Page) -> u64 {
    u64::try_from(open(page).len()).unwrap_or_default()
}

/// The last decided proposals that have their pages where `page` is.
async fn decided(page: &Page) -> Result<Vec<Approval>, Failed> {
    let (users, mut found, mut after) = (page.state.users(), Vec::new(), None);
    for _ in 0..DECIDED_PAGES {
        let part = users
            .decided_approvals(account(page), after, DECIDED)
            .await?;
        found.extend(part.0.into_iter().filter(|one| is_shown(page, one)));
        after = part.1;
        if after.is_none() || found.len() >= DECIDED {
            break;
        }
    }
    found.truncate(DECIDED);
    Ok(found)
}

fn is_shown(page: &Page, approval: &Approval) -> bool {
    Proposed::of(approval).is_some_and(|proposed| proposed.is_shown_on(page))
}

fn row(page: &Page, approval: &Approval) -> Option<Row> {
    let (text, proposed) = (page.text(), Proposed::of(approval)?);
    Some(Row::linked(
        address(page, &format!("/{}", approval.id)),
        vec![
            text.say(proposed.name()),
            proposed.subject(page, approval),
            name_of(page, approval.proposed_by),
            text.language().date(approval.proposed_at),
            state(page, approval),
        ],
    ))
}

fn name_of(page: &Page, user: UserId) -> String {
    proposals::name_of(page.state.users(), user)
}

fn state(page: &Page, approval: &Approval) -> String {
    let text = page.text();
    let by = |by: UserId| name_of(page, by);
    match &approval.state {
        ApprovalState::Open => {
            let at = text.language().date(approval.expires_at);
            text.with("console-approval-open", &[("at", &at)])
        }
        ApprovalState::Executed { by: user, .. } => {
            text.with("console-approval-executed", &[("name", &by(*user))])
        }
        ApprovalState::Rejected {
            by: user, reason, ..
        } => {
            let values = [("name", &*by(*user)), ("reason", reason)];
            text.with("console-approval-rejected", &values)
        }
        ApprovalState::Withdrawn { .. } => text.say("console-approval-withdrawn"),
        ApprovalState::Expired => text.say("console-approval-expired"),
    }
}

/// `GET /console/installation/approvals/{approval}`
pub async fn get(SignedIn(page): SignedIn, Path(id): Path<String>) -> Response {
    let one = one_view(&page, &id).await;
    answer(&page, one.map(|view| view.show(&page)))
}

/// `GET /console/apps/{app}/{environment}/approvals/{approval}`
pub async fn get_of_app(
    Scoped(page): Scoped,
    Path((.., id)): Path<(String, String, String)>,
) -> Response {
    let one = one_view(&page, &id).await;
    answer(&page, one.map(|view| view.show(&page)))
}

async fn approval_of(page: &Page, id: &str) -> Result<(Approval, Proposed), Failed> {
    let id: ApprovalId = id.parse().map_err(|_| Failed::NotFound)?;
    let approval = page.state.users().approval(account(page), id).await?;
    let proposed = Proposed::of(&approval).filter(|proposed| proposed.is_shown_on(page));
    Ok((approval, proposed.ok_or(Failed::NotFound)?))
}

async fn one_view(page: &Page, id: &str) -> Result<View, Failed> {
    permit_view(page)?;
    let (approval, proposed) = approval_of(page, id).await?;
    let (text, [heading, ..]) = (page.text(), proposed.messages());
    let mut view = View::new(page, heading, "approvals");
    view.list = Some(Target {
        href: address(page, ""),
        name: text.say("console-approvals"),
    });
    view.sections = vec![Section {
        facts: vec![
            Fact::new(page, "console-state", state(page, &approval)),
            Fact::new(
                page,
                "console-proposed-by",
                name_of(page, approval.proposed_by),
            ),
            Fact::new(
                page,
                "console-proposed-at",
                text.language().date(approval.proposed_at),
            ),
        ],
        ..Section::default()
    }];
    let seen = match &proposed {
        Proposed::Resolution(one) => resolution::show(page, &approval, one, &mut view).await?,
        Proposed::Closing(one) => closing::show(page, &approval, one, &mut view).await?,
        Proposed::Payout(one) => payout::show(page, &approval, one, &mut view).await?,
        Proposed::Batch(one) => batch::show(page, one, &mut view).await?,
        Proposed::Routing(one) => routing::show(page, &approval, one, &mut view).await?,
    };
    if approval.state == ApprovalState::Open {
        view.sections
            .extend(decision(page, &approval, &proposed, seen));
    }
    Ok(view)
}

/// Says on an open proposal's page why its change cannot be made now.
fn impossible(page: &Page, view: &mut View, why: &str) {
    let text = page
        .text()
        .with("console-approval-impossible", &[("why", why)]);
    view.alerts.push(Alert { text, target: None });
}

/// The forms of a person who may decide; for the person who made the proposal, the reason why they
/// may not. `seen`: number of the effects or version of the rules that the reader sees.
fn decision(page: &Page, approval: &Approval, proposed: &Proposed, seen: u64) -> Option<Section> {
    let (text, [_, about, own]) = (page.text(), proposed.messages());
    let reader = page.identity().map(|who| who.user.id);
    if reader == Some(approval.proposed_by) {
        return Some(Section {
            title: Some(text.say("console-decision")),
            text: Some(text.say(own)),
            forms: vec![Form {
                name: "withdraw",
                label: text.say("console-proposal-withdraw"),
                ..Form::default()
            }],
            ..Section::default()
        });
    }
    if !page.may(approval.approving) {
        return None;
    }
    Some(Section {
        title: Some(text.say("console-decision")),
        text: Some(text.say(about)),
        forms: vec![
            Form {
                name: "approve",
                hidden: vec![("seen", seen.to_string())],
                label: text.say("console-approve"),
                is_primary: true,
                ..Form::default()
            },
            Form {
                name: "reject",
                inputs: vec![Input::text(page, "reason", "console-reason", "")],
                label: text.say("console-reject"),
                is_danger: true,
                ..Form::default()
            },
        ],
        ..Section::default()
    })
}

/// `POST /console/installation/approvals/{approval}`
///
/// The field `do` names the decision.
pub async fn decide(
    Path(id): Path<String>,
    Sent(SignedIn(page), fields): Sent<SignedIn>,
) -> Response {
    decide_on(&page, &id, fields).await
}

/// `POST /console/apps/{app}/{environment}/approvals/{approval}`
pub async fn decide_of_app(
    Path((.., id)): Path<(String, String, String)>,
    Sent(Scoped(page), fields): Sent<Scoped>,
) -> Response {
    decide_on(&page, &id, fields).await
}

async fn decide_on(page: &Page, id: &str, mut fields: Fields) -> Response {
    let decided = match fields.text("do") {
        "approve" => approve(page, id, &fields).await,
        "reject" => reject(page, id, &fields).await,
        "withdraw" => withdraw(page, id).await,
        _ => Err(Failed::NotFound),
    };
    let response = match decided {
        Ok(Ok(to)) => {
            fields.took_effect();
            Ok(page.go(&to))
        }
        Ok(Err(error)) => {
            let view = one_view(page, id).await;
            view.map(|view| view.refused(page, error))
        }
        Err(failed) => Err(failed),
    };
    answer(page, response)
}

async fn approve(page: &Page, id: &str, fields: &Fields) -> Decided {
    permit_decision(page, Action::ApproveResolution)?;
    let (approval, proposed) = approval_of(page, id).await?;
    let permit = page.permit(approval.approving)?;
    match proposed {
        Proposed::Resolution(one) => {
            resolution::approve(page, permit, &approval, one, fields).await
        }
        Proposed::Closing(one) => closing::approve(page, permit, &approval, one, fields).await,
        Proposed::Payout(one) => payout::approve(page, permit, &approval, one).await,
        Proposed::Batch(one) => batch::approve(page, permit, &approval, one).await,
        Proposed::Routing(one) => routing::approve(page, permit, &approval, one).await,
    }
}

async fn reject(page: &Page, id: &str, fields: &Fields) -> Decided {
    permit_decision(page, Action::ApproveResolution)?;
    let (approval, _) = approval_of(page, id).await?;
    let permit = page.permit(approval.approving)?;
    let users = page.state.users();
    let rejected = users.reject(&permit, approval.id, fields.text("reason"));
    match rejected.await {
        Ok(_) => Ok(Ok(address(page, &format!("/{id}?done=rejected")))),
        Err(error) => users_sentence(page, error).map(Err),
    }
}

async fn withdraw(page: &Page, id: &str) -> Decided {
    permit_decision(page, Action::ResolveManually)?;
    let (approval, _) = approval_of(page, id).await?;
    let proposing = proposing_action(approval.approving);
    let permit = page.permit(proposing.ok_or(Failed::NotFound)?)?;
    match page.state.users().withdraw(&permit, approval.id).await {
        Ok(_) => Ok(Ok(address(page, &format!("/{id}?done=proposal-withdrawn")))),
        Err(error) => users_sentence(page, error).map(Err),
    }
}

/// Signature of a change that two people make.
fn signers(page: &Page, approval: &Approval, permit: &Permit) -> Operator {
    Operator {
        name: format!("{}, {}", name_of(page, approval.proposed_by), permit.name),
        token: None,
    }
}

/// Makes an approved change of the installation. `change` commits it with the rows that it gets,
/// which store the approval. `also`: further entries of the audit log. `done`: name of the notice
/// after it.
async fn carry_out<F>(
    page: &Page,
    permit: Permit,
    id: ApprovalId,
    done: &str,
    also: Vec<NewEntry>,
    change: impl FnOnce(Batch) -> F + Send + 'static,
) -> Decided
where
    F: Future<Output = Result<(), Refused>> + Send,
{
    let (users, signed) = (page.state.users().clone(), permit.clone());
    let execution = async move {
        let mut batch = Batch::new();
        let staged = users
            .stage_approval_with(&signed, id, &mut batch, also)
            .await;
        let (_, staged) = staged.map_err(NotExecuted::Users)?;
        change(batch).await.map_err(NotExecuted::Change)?;
        staged.committed();
        Ok(())
    };
    // A separate task: the in-memory state is updated also when the client disconnects.
    let executed = tokio::spawn(TraceContext::current().scope(execution)).await;
    match executed.map_err(|_| Failed::Unavailable)? {
        Ok(()) => Ok(Ok(address(page, &format!("/{id}?done={done}")))),
        Err(why) => not_executed(page, &permit, id, why).await,
    }
}

/// The sentence about a decision that the users' rules refuse.
fn users_sentence(page: &Page, error: UsersError) -> Result<String, Failed> {
    let text = page.text();
    match error {
        UsersError::NotPossible(_) => Ok(text.say("console-approval-not-possible")),
        UsersError::NotFound { .. } | UsersError::Conflict => {
            Ok(text.say("console-approval-decided"))
        }
        UsersError::Invalid { .. } => Ok(text.say("console-approval-reason")),
        error => Err(error.into()),
    }
}

/// The sentence about an approved change that was not made.
async fn not_executed(page: &Page, permit: &Permit, id: ApprovalId, why: NotExecuted) -> Decided {
    match why {
        NotExecuted::Users(error) => users_sentence(page, error).map(Err),
        NotExecuted::Change(error) => {
            let id = id.to_string();
            let refused = super::installation::refused(page, permit, &id, error);
            Ok(Err(refused.await?))
        }
        NotExecuted::Store => Err(Failed::Unavailable),
    }
}
