//! Proposals of an account over HTTP: routing rules in live, and who may see and decide what.
//! `tests/tests/console_payouts.rs` has the payouts, which need a gateway.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::ids::ApprovalId;
use switchyard_engine::access::{AppChange, AppSettings, SecondPerson};
use switchyard_users::{Action, Origin, Proposal, Role};

use super::{Shown, World};

const RULES: &str = r#"{"rules": [{"name": "To <all>", "strategy": {"type": "cheapest"}}]}"#;

impl World {
    fn in_live(&self, rest: &str) -> String {
        format!("/console/apps/{}/live/{rest}", self.test.keys.app)
    }

    /// Two people change live rules, and order live payouts above XOF 1,000.
    async fn two_people_in_live(&self) {
        let settings = AppSettings {
            second_person: SecondPerson {
                payouts_above: [("XOF".to_owned(), "1000".to_owned())].into(),
                routing: true,
            },
            ..AppSettings::default()
        };
        let change = AppChange {
            settings: Some(settings),
            ..AppChange::default()
        };
        let access = self.test.engine.access();
        access.update_app(self.test.keys.app, change).await.unwrap();
    }

    fn live_version(&self) -> u64 {
        let access = self.test.engine.access();
        let rules = access.routing(self.test.keys.app, Environment::Live);
        rules.map_or(0, |rules| rules.version)
    }

    /// Proposes the rules, with a reason. Returns the page that answers.
    async fn propose_rules(&self, cookie: &str, reason: &str) -> Shown {
        let path = self.in_live("routing/edit");
        let page = self.get(&path, cookie).await;
        let fields = [("do", "json"), ("set", RULES)];
        let preview = self.submit(&page, &path, cookie, &fields).await;
        assert_eq!(preview.status, StatusCode::OK, "{}", preview.body);
        assert!(
            preview
                .body
                .contains("Another person has to approve the rules")
        );
        let replaces = preview.field("replaces");
        let fields = [
            ("do", "save"),
            ("set", RULES),
            ("replaces", replaces.as_str()),
            ("reason", reason),
        ];
        self.submit(&preview, &path, cookie, &fields).await
    }

    /// Path of the proposal that a response leads to.
    fn proposal(&self, proposed: &Shown) -> String {
        let to = proposed.leads_to();
        assert!(to.starts_with(&self.in_live("approvals/apr_")), "{to}");
        assert!(to.ends_with("?done=proposed"), "{to}");
        to.split('?').next().unwrap().to_owned()
    }

    /// A proposal of a payout that the user of a session makes.
    async fn payout_proposal(&self, cookie: &str) -> ApprovalId {
        let token = cookie.split('=').nth(1).unwrap();
        let who = self.users.authenticate_session(token, &Origin::default());
        let (create, account) = (Action::CreatePayout, Some(self.account()));
        let permit = self.users.authorize(&who.unwrap(), create, account);
        let request = json!({
            "amount": "1500", "currency": "XOF", "description": "Wages", "method": "mtn_bj",
            "customer": {
                "first_name": "Awa", "last_name": "Diop", "email": "awa@example.com",
            },
            "recipient": { "msisdn": "4149518161" },
        });
        let proposal = Proposal {
            kind: "payout".to_owned(),
            payload: json!({
                "app": self.test.keys.app, "environment": "live",
                "key": "console-1", "request": request,
            }),
            reason: "Wages".to_owned(),
        };
        let stored = self.users.propose(&permit.unwrap(), proposal).await;
        stored.unwrap().id
    }
}

#[tokio::test]
async fn live_rules_apply_when_a_second_person_approves_them() {
    let (world, otto) = World::with_operator().await;
    world.user("ada@example.com", Some(world.account())).await;
    let ada = world.signed_in("ada@example.com").await;
    world.two_people_in_live().await;
    let silent = world.propose_rules(&otto, " ").await;
    assert_eq!(silent.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(silent.body.contains("the reason has 1 to 1,000 characters"));
    let proposed = world.propose_rules(&otto, "Fees rose on Monday").await;
    let path = world.proposal(&proposed);
    assert_eq!(world.live_version(), 0);
    let refused = world.decide(&path, &otto, &[("do", "approve")]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        refused
            .body
            .contains("You cannot decide about this proposal")
    );
    let developer = world.member(&ada, Role::Developer).await;
    let seen = world.get(&path, &developer).await;
    assert!(seen.body.contains("To &#60;all&#62;") && !seen.body.contains("value=\"approve\""));
    let refused = world.decide(&path, &developer, &[("do", "approve")]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let page = world.get(&path, &ada).await;
    assert!(page.body.contains("Fees rose on Monday") && page.body.contains("value=\"approve\""));
    let approved = world.decide(&path, &ada, &[("do", "approve")]).await;
    let to = world.in_live("routing?done=routing-approved");
    assert_eq!(approved.leads_to(), to);
    assert_eq!(world.live_version(), 1);
    let again = world.decide(&path, &ada, &[("do", "approve")]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(world.live_version(), 1);
    let log = world.audited().await;
    assert!(log.contains(&"propose".to_owned()) && log.contains(&"approve_routing".to_owned()));
    let sandbox = world.get(&world.in_app("approvals"), &ada).await;
    assert!(!sandbox.body.contains("apr_"), "another environment");
}

#[tokio::test]
async fn rules_that_replace_an_older_version_are_not_approved() {
    let (world, otto) = World::with_operator().await;
    world.two_people_in_live().await;
    let grace = world.colleague(&otto, Role::Operator).await;
    let mut paths = Vec::new();
    for reason in ["The first", "The second"] {
        let proposed = world.propose_rules(&otto, reason).await;
        paths.push(world.proposal(&proposed));
    }
    let approve = [("do", "approve")];
    let first = world.decide(&paths[0], &grace, &approve).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER);
    let page = world.get(&paths[1], &grace).await;
    assert!(page.body.contains("The active rules have changed"));
    let second = world.decide(&paths[1], &grace, &approve).await;
    assert_eq!(second.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(world.live_version(), 1);
    let reject = [("do", "reject"), ("reason", "Superseded")];
    let rejected = world.decide(&paths[1], &grace, &reject).await;
    assert!(rejected.leads_to().ends_with("?done=rejected"));
}

#[tokio::test]
async fn a_payout_proposal_is_seen_by_its_account_and_decided_by_its_roles() {
    let (world, ada) = World::with_owner().await;
    world.two_people_in_live().await;
    let finance = world.member(&ada, Role::Finance).await;
    let id = world.payout_proposal(&finance).await;
    let path = world.in_live(&format!("approvals/{id}"));
    for (role, sees_person, decides) in [
        (Role::Admin, true, true),
        (Role::Support, true, false),
        (Role::Developer, false, false),
        (Role::Viewer, false, false),
    ] {
        let cookie = world.member(&ada, role).await;
        let page = world.get(&path, &cookie).await;
        assert_eq!(page.status, StatusCode::OK, "{role}");
        assert!(page.body.contains("1\u{a0}500"), "{role}: the amount");
        assert_eq!(page.body.contains("awa@example.com"), sees_person, "{role}");
        assert_eq!(page.body.contains("4149518161"), sees_person, "{role}");
        assert_eq!(page.body.contains("value=\"approve\""), decides, "{role}");
        if !decides {
            for what in ["approve", "reject"] {
                let sent = [("do", what), ("reason", "No")];
                let refused = world.decide(&path, &cookie, &sent).await;
                assert_eq!(refused.status, StatusCode::FORBIDDEN, "{role}: {what}");
            }
        }
    }
    let home = world.get(&world.in_live("home"), &ada).await;
    assert_eq!(home.status, StatusCode::OK);
    for wrong in [
        world.in_app(&format!("approvals/{id}")),
        world.in_live("approvals/apr_1"),
    ] {
        let page = world.get(&wrong, &ada).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{wrong}");
    }
    let access = world.test.engine.access();
    let other = access.create_account("Other").await.unwrap().id;
    world.user("eve@example.com", Some(other)).await;
    let eve = world.signed_in("eve@example.com").await;
    assert_eq!(world.get(&path, &eve).await.status, StatusCode::NOT_FOUND);
    let sent = world.decide(&path, &eve, &[("do", "approve")]).await;
    assert_eq!(sent.status, StatusCode::NOT_FOUND);
    // No connection serves it: an approval has no effect, and the proposal stays open.
    let page = world.get(&path, &ada).await;
    assert!(page.body.contains("An approval has no effect now"));
    let refused = world.decide(&path, &ada, &[("do", "approve")]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    world.test.clock.advance(Duration::from_secs(73 * 60 * 60));
    let ada = world.signed_in("ada@example.com").await;
    let page = world.get(&path, &ada).await;
    assert!(page.body.contains("Expired") && !page.body.contains("value=\"approve\""));
}

#[tokio::test]
async fn the_lists_of_an_account_and_the_installation_are_separate() {
    let (world, ada) = World::with_owner().await;
    world.two_people_in_live().await;
    let id = world.payout_proposal(&ada).await;
    let list = world.get(&world.in_live("approvals"), &ada).await;
    assert!(list.body.contains(&format!("approvals/{id}")) && list.body.contains("Payout"));
    world.user("otto@example.com", None).await;
    let otto = world.signed_in("otto@example.com").await;
    let of_installation = world.get("/console/installation/approvals", &otto).await;
    assert!(!of_installation.body.contains(&id.to_string()));
    let one = format!("/console/installation/approvals/{id}");
    assert_eq!(world.get(&one, &otto).await.status, StatusCode::NOT_FOUND);
    let withdrawn = world.in_live(&format!("approvals/{id}"));
    let done = world.decide(&withdrawn, &ada, &[("do", "withdraw")]).await;
    assert!(done.leads_to().ends_with("?done=proposal-withdrawn"));
    let list = world.get(&world.in_live("approvals"), &ada).await;
    assert!(list.body.contains("Withdrawn"));
}
