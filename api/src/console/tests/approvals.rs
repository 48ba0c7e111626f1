//! Manual resolution over HTTP: its confirmation, and its approval by a second person.

use std::time::Duration;

use axum::http::StatusCode;
use switchyard_core::ids::{CaseId, TransactionId};
use switchyard_core::transaction::{AttemptState, CaseReason, Operator, State, Transaction};
use switchyard_engine::engine::EngineError;
use switchyard_engine::testing::TestEngineBuilder;
use switchyard_gateway_host::Gateways;
use switchyard_records as records;
use switchyard_store::Batch;
use switchyard_users::{AuditQuery, Role, SecondFactor};

use super::{Shown, World};
use crate::checkout::tests::samples;
use crate::state::HttpSettings;

const APPROVALS: &str = "/console/installation/approvals";

impl World {
    /// A world whose operator is signed in, where two people resolve.
    async fn with_two_people() -> (Self, String) {
        let http = HttpSettings {
            second_person: true,
            ..HttpSettings::default()
        };
        let wanted = TestEngineBuilder::with(Gateways::default());
        let world = Self::with(wanted, SecondFactor::Optional, http).await;
        world.user("otto@example.com", None).await;
        let cookie = world.signed_in("otto@example.com").await;
        (world, cookie)
    }

    /// A payment of XOF 12,500 whose outcome is unknown.
    async fn in_doubt(&self) -> TransactionId {
        let mut tx = samples::waiting(None);
        tx.app = self.test.keys.app;
        tx.state = State::InDoubt;
        let step = records::Step {
            before: None,
            after: &tx,
            events: &[],
        };
        let mut batch = Batch::new();
        records::write(&mut batch, &step).unwrap();
        self.test.engine.store().commit(batch).await.unwrap();
        tx.id
    }

    async fn transaction(&self, id: TransactionId) -> Transaction {
        let found = self.test.engine.transaction(id).await.unwrap();
        (*found.unwrap()).clone()
    }

    /// The confirmation of a success under the provider's id `mtn-7`.
    async fn confirmation(&self, path: &str, cookie: &str) -> Shown {
        let page = self.get(path, cookie).await;
        assert_eq!(page.status, StatusCode::OK);
        let fields = [
            ("do", "check"),
            ("outcome", "succeeded"),
            ("provider_id", "mtn-7"),
            ("note", "Statement of 28 November, line 4"),
        ];
        self.submit(&page, path, cookie, &fields).await
    }

    /// Sends the confirmation's form.
    async fn confirm(&self, page: &Shown, path: &str, cookie: &str) -> Shown {
        let (attempt, effects) = (page.field("attempt"), page.field("effects"));
        let fields = [
            ("do", "resolve"),
            ("outcome", "succeeded"),
            ("provider_id", "mtn-7"),
            ("note", "Statement of 28 November, line 4"),
            ("attempt", attempt.as_str()),
            ("effects", effects.as_str()),
        ];
        self.submit(page, path, cookie, &fields).await
    }

    /// A proposal by the operator. Returns its path.
    async fn proposed(&self, id: TransactionId, cookie: &str) -> String {
        let path = resolve_path(id);
        let page = self.confirmation(&path, cookie).await;
        let proposed = self.confirm(&page, &path, cookie).await;
        let to = proposed.leads_to();
        assert!(to.ends_with("?done=proposed"), "{to}");
        to.split('?').next().unwrap().to_owned()
    }

    pub async fn decide(&self, path: &str, cookie: &str, own: &[(&str, &str)]) -> Shown {
        // A page without forms has no token of the session.
        let page = self.get("/console/account", cookie).await;
        self.submit(&page, path, cookie, own).await
    }
}

fn resolve_path(id: TransactionId) -> String {
    format!("/console/installation/transactions/{id}/resolve")
}

#[tokio::test]
async fn a_resolution_states_its_effects_before_it_takes_effect() {
    let (world, cookie) = World::with_operator().await;
    let id = world.in_doubt().await;
    let path = resolve_path(id);
    let transaction = world.in_app(&format!("payments/{id}"));
    let page = world.get(&transaction, &cookie).await;
    assert!(page.body.contains(&path), "the page leads to the form");
    let form = world.get(&path, &cookie).await;
    assert!(
        form.body
            .contains("It is not known yet whether money has moved.")
    );
    let empty = world
        .submit(&form, &path, &cookie, &[("do", "check"), ("amount", "99")])
        .await;
    assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(empty.body.contains("Choose the outcome.") && empty.body.contains("value=\"99\""));
    let too_little = [
        ("do", "check"),
        ("outcome", "succeeded"),
        ("provider_id", "mtn-7"),
        ("amount", "100"),
        ("note", "Statement"),
    ];
    let refused = world.submit(&form, &path, &cookie, &too_little).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("A success covers what was asked"));
    let confirmation = world.confirmation(&path, &cookie).await;
    assert_eq!(confirmation.status, StatusCode::OK);
    assert!(confirmation.body.contains("Unknown → Paid"));
    assert!(confirmation.body.contains("12\u{a0}500 was received."));
    assert!(confirmation.body.contains("payment.success"));
    assert_eq!(world.transaction(id).await.state, State::InDoubt);
    let done = world.confirm(&confirmation, &path, &cookie).await;
    assert_eq!(done.leads_to(), format!("{transaction}?done=resolved"));
    assert_eq!(world.transaction(id).await.state, State::Succeeded);
    assert!(world.audited().await[0] == "resolve_manually");
    let page = world.get(&transaction, &cookie).await;
    assert!(page.body.contains("Ada Lovelace") && !page.body.contains(&path));
    let again = world.confirm(&confirmation, &path, &cookie).await;
    assert_eq!(again.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn other_effects_than_those_on_the_page_are_not_confirmed() {
    let (world, cookie) = World::with_operator().await;
    let id = world.in_doubt().await;
    let path = resolve_path(id);
    let page = world.confirmation(&path, &cookie).await;
    let attempt = page.field("attempt");
    let fields = [
        ("do", "resolve"),
        ("outcome", "succeeded"),
        ("provider_id", "mtn-7"),
        ("note", "Statement"),
        ("attempt", attempt.as_str()),
        ("effects", "999"),
    ];
    let refused = world.submit(&page, &path, &cookie, &fields).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("The transaction has changed since"));
    assert_eq!(world.transaction(id).await.state, State::InDoubt);
}

/// Open attempts are queried every few seconds.
#[tokio::test]
async fn a_query_without_news_between_the_pages_changes_no_effect() {
    let (world, cookie) = World::with_operator().await;
    let id = world.in_doubt().await;
    let path = resolve_path(id);
    let page = world.confirmation(&path, &cookie).await;
    let before = world.transaction(id).await;
    let mut after = before.clone();
    after.version += 1;
    let step = records::Step {
        before: Some(&before),
        after: &after,
        events: &[],
    };
    let mut batch = Batch::new();
    records::write(&mut batch, &step).unwrap();
    world.test.engine.store().commit(batch).await.unwrap();
    assert_eq!(world.transaction(id).await.version, before.version + 1);
    let done = world.confirm(&page, &path, &cookie).await;
    assert!(done.leads_to().ends_with("?done=resolved"));
    assert_eq!(world.transaction(id).await.state, State::Succeeded);
}

#[tokio::test]
async fn two_people_resolve_and_neither_counts_twice() {
    let (world, otto) = World::with_two_people().await;
    let id = world.in_doubt().await;
    let path = world.proposed(id, &otto).await;
    assert_eq!(world.transaction(id).await.state, State::InDoubt);
    let own = world.get(&path, &otto).await;
    assert!(own.body.contains("You made this proposal"));
    let grace = world.colleague(&otto, Role::Operator).await;
    let seen = world.get(&path, &grace).await.field("seen");
    let approve = [("do", "approve"), ("seen", seen.as_str())];
    let refused = world.decide(&path, &otto, &approve).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused
            .body
            .contains("You cannot decide about this proposal")
    );
    assert_eq!(world.transaction(id).await.state, State::InDoubt);
    let auditor = world.colleague(&otto, Role::Auditor).await;
    let seen = world.get(&path, &auditor).await;
    assert!(
        seen.body.contains("Statement of 28 November") && !seen.body.contains("value=\"approve\"")
    );
    let refused = world.decide(&path, &auditor, &approve).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let dashboard = world.get("/console/installation", &grace).await;
    assert!(
        dashboard
            .body
            .contains("A proposal waits for a second operator.")
    );
    let page = world.get(&path, &grace).await;
    assert!(page.body.contains("Unknown → Paid") && page.body.contains("Ada Lovelace"));
    let old = [("do", "approve"), ("seen", "999")];
    let refused = world.decide(&path, &grace, &old).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let approved = world.decide(&path, &grace, &approve).await;
    assert_eq!(approved.leads_to(), format!("{path}?done=approved"));
    assert_eq!(world.transaction(id).await.state, State::Succeeded);
    let page = world.get(&path, &grace).await;
    assert!(page.body.contains("Approved by Grace Hopper"));
    let timeline = world.test.engine.timeline(id).await.unwrap();
    assert!(format!("{timeline:?}").contains("Ada Lovelace, Grace Hopper"));
    let again = world.decide(&path, &grace, &approve).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    let log = world.audited().await;
    assert!(log.contains(&"propose".to_owned()) && log.contains(&"approve_resolution".to_owned()));
    assert!(!log.contains(&"resolve_manually".to_owned()));
}

#[tokio::test]
async fn a_proposal_is_rejected_withdrawn_or_expires_without_effect() {
    let (world, otto) = World::with_two_people().await;
    let grace = world.colleague(&otto, Role::Operator).await;
    let id = world.in_doubt().await;
    let path = world.proposed(id, &otto).await;
    let silent = world.decide(&path, &grace, &[("do", "reject")]).await;
    assert_eq!(silent.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        silent
            .body
            .contains("The reason has 1 to 1,000 characters.")
    );
    let reject = [("do", "reject"), ("reason", "Line 4 is of another shop")];
    let rejected = world.decide(&path, &grace, &reject).await;
    assert_eq!(rejected.leads_to(), format!("{path}?done=rejected"));
    let page = world.get(&path, &otto).await;
    assert!(page.body.contains("Line 4 is of another shop"));
    let path = world.proposed(id, &otto).await;
    let withdrawn = world.decide(&path, &otto, &[("do", "withdraw")]).await;
    assert!(withdrawn.leads_to().ends_with("?done=proposal-withdrawn"));
    let path = world.proposed(id, &otto).await;
    let list = world.get(APPROVALS, &otto).await;
    assert!(list.body.contains(&path) && list.body.contains("Withdrawn"));
    world.test.clock.advance(Duration::from_secs(73 * 60 * 60));
    let grace = world.signed_in("grace-operator@example.com").await;
    let page = world.get(&path, &grace).await;
    assert!(page.body.contains("Expired") && !page.body.contains("value=\"approve\""));
    assert_eq!(world.transaction(id).await.state, State::InDoubt);
}

impl World {
    /// A case of a payment that failed. Returns its path.
    async fn with_case(&self, reason: CaseReason) -> (CaseId, String) {
        self.with_case_in(State::Cancelled, reason).await
    }

    /// A case of a payment in `state`. Returns its path.
    async fn with_case_in(&self, state: State, reason: CaseReason) -> (CaseId, String) {
        let mut tx = samples::twice_tried(AttemptState::Declined, reason);
        (tx.app, tx.state) = (self.test.keys.app, state);
        let step = records::Step {
            before: None,
            after: &tx,
            events: &[],
        };
        let mut batch = Batch::new();
        records::write(&mut batch, &step).unwrap();
        self.test.engine.store().commit(batch).await.unwrap();
        let id = tx.cases[0].id;
        (id, format!("/console/installation/cases/{id}"))
    }

    /// Sends the form that closes a case.
    async fn close(&self, path: &str, cookie: &str) -> Shown {
        let page = self.get(path, cookie).await;
        let fields = [("do", "close"), ("note", "Returned on 28 November")];
        self.submit(&page, path, cookie, &fields).await
    }

    /// The signature of the closed case.
    async fn closed_by(&self, id: CaseId) -> Option<String> {
        let found = self.test.engine.case(id).await.unwrap().unwrap();
        found.case.closed.map(|closed| closed.by.name)
    }
}

#[tokio::test]
async fn two_people_close_a_case_about_money() {
    let (world, otto) = World::with_two_people().await;
    let (case, path) = world.with_case(CaseReason::Surplus).await;
    let page = world.get(&path, &otto).await;
    assert!(page.body.contains("A second operator approves the closing"));
    let proposed = world.close(&path, &otto).await;
    let proposed = proposed.leads_to();
    assert!(proposed.ends_with("?done=proposed"), "{proposed}");
    let path = proposed.split('?').next().unwrap();
    assert_eq!(world.closed_by(case).await, None);
    let grace = world.colleague(&otto, Role::Operator).await;
    let page = world.get(path, &grace).await;
    assert!(page.body.contains("Returned on 28 November"));
    let seen = page.field("seen");
    let approve = [("do", "approve"), ("seen", seen.as_str())];
    let refused = world.decide(path, &otto, &approve).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    let old = [("do", "approve"), ("seen", "999")];
    let refused = world.decide(path, &grace, &old).await;
    assert!(refused.body.contains("The case has changed"));
    assert_eq!(world.closed_by(case).await, None);
    let approved = world.decide(path, &grace, &approve).await;
    assert_eq!(approved.leads_to(), format!("{path}?done=case-closed"));
    let signed = world.closed_by(case).await;
    assert_eq!(signed.as_deref(), Some("Ada Lovelace, Grace Hopper"));
    let query = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    let log = world.users.audit(&query).await.unwrap().entries;
    let about = log.iter().find(|entry| entry.object == case.to_string());
    let after = &about.expect("an entry names the case").after;
    assert_eq!(after["note"], "Returned on 28 November");
    assert_eq!(after["proposed_by"], "Ada Lovelace");
}

#[tokio::test]
async fn a_case_that_changed_since_the_proposal_is_not_closed_by_it() {
    let (world, otto) = World::with_two_people().await;
    let (case, path) = world.with_case(CaseReason::Surplus).await;
    let proposed = world.close(&path, &otto).await;
    let proposed = proposed.leads_to();
    let path = proposed.split('?').next().unwrap();
    let engine = &world.test.engine;
    let read = engine.case(case).await.unwrap().unwrap();
    let before = (*read.transaction).clone();
    let mut after = before.clone();
    after.version += 1;
    after.cases[0].detail = "The provider reports twice as much.".to_owned();
    let step = records::Step {
        before: Some(&before),
        after: &after,
        events: &[],
    };
    let mut batch = Batch::new();
    records::write(&mut batch, &step).unwrap();
    engine.store().commit(batch).await.unwrap();
    let grace = world.colleague(&otto, Role::Operator).await;
    let page = world.get(path, &grace).await;
    assert!(page.body.contains("twice as much"), "the page shows it");
    assert!(page.body.contains("has changed since the proposal"));
    let seen = page.field("seen");
    let approve = [("do", "approve"), ("seen", seen.as_str())];
    let refused = world.decide(path, &grace, &approve).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains("has changed since the proposal"));
    assert_eq!(world.closed_by(case).await, None);
    // The proposal named the case as it was: the engine itself refuses the old version, too.
    let signer = Operator {
        name: "Ada".to_owned(),
        token: None,
    };
    let late = engine.close_seen_case(&read, signer, "Returned".to_owned(), Batch::new());
    assert!(matches!(late.await, Err(EngineError::Changed)));
    assert_eq!(world.closed_by(case).await, None);
}

#[tokio::test]
async fn one_person_closes_a_case_about_no_money_or_where_one_decides() {
    let (world, otto) = World::with_two_people().await;
    let (case, path) = world.with_case(CaseReason::NoFinalAnswer).await;
    let closed = world.close(&path, &otto).await;
    let closed = closed.leads_to();
    assert!(closed.ends_with("?done=case-closed"), "{closed}");
    assert!(world.closed_by(case).await.is_some());
    let (world, otto) = World::with_operator().await;
    let (case, path) = world.with_case(CaseReason::Surplus).await;
    world.close(&path, &otto).await;
    assert!(world.closed_by(case).await.is_some());
}

/// The page says why such a case cannot be closed, instead of a form that is refused.
#[tokio::test]
async fn a_case_that_holds_its_payment_has_no_form_to_close_it() {
    for world in [World::with_operator().await, World::with_two_people().await] {
        let (world, otto) = world;
        let reason = CaseReason::AmountDiffers;
        let (case, path) = world.with_case_in(State::OnHold, reason).await;
        let page = world.get(&path, &otto).await;
        assert!(page.body.contains("The case holds the transaction"));
        assert!(!page.body.contains("value=\"close\""));
        let other = world.get("/console/account", &otto).await;
        let close = [("do", "close"), ("note", "Returned on 28 November")];
        let refused = world.submit(&other, &path, &otto, &close).await;
        assert!(refused.body.contains("The case holds the transaction"));
        assert_eq!(world.closed_by(case).await, None);
    }
}
