//! The operations of the document, walked with every role, with tokens, and with the ids of another
//! merchant: an operation whose description names no action, or another one than its handler asks
//! for, fails.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use switchyard_engine::access::{AppSettings, NewApp};
use switchyard_users::{Action, Origin, Role, allows};

use super::{Objects, Operation, World, operations};

/// Operations for people in a session that need no action of the table.
const OF_PEOPLE: &[&str] = &[
    "createToken",
    "deleteToken",
    "listSessions",
    "endSession",
    "endOtherSessions",
    "withdraw",
    "changeProfile",
    "changePassword",
    "beginSecondFactor",
    "confirmSecondFactor",
    "removeSecondFactor",
    "renewRecoveryCodes",
];
/// Operations that change the factors of the sender, which ends sessions that the walk needs. They
/// have a test of their own.
const OF_FACTORS: &[&str] = &[
    "changePassword",
    "confirmSecondFactor",
    "removeSecondFactor",
    "renewRecoveryCodes",
];
/// Operations that succeed for no role in the walk: it has no file, no gateway, and so no payout,
/// no attempt and no delivery; and an invitation that was sent again has another id.
const WITHOUT_SUCCESS: &[&str] = &[
    "uploadLogo",
    "retrieveDelivery",
    "resendDelivery",
    "approve",
    "uploadPayoutBatch",
    "confirmPayoutBatch",
    "createPayout",
    "checkTransaction",
    "withdrawInvitation",
];

/// The operations that the walk sends with the session of each role. Deletions come last, of a part
/// before the whole.
fn walked() -> Vec<Operation> {
    // The sign-in slows down, and has a test of its own.
    let is_apart = |id: &str| id == "signIn" || OF_FACTORS.contains(&id);
    let mut all = operations();
    all.retain(|one| !is_apart(&one.id));
    all.sort_by_key(|one| match one.method {
        "DELETE" => usize::MAX - one.path.split('/').count(),
        _ => 0,
    });
    all
}

impl World {
    /// A token and another session of the user with this session.
    async fn own_objects(&self, session: &str, role: Role) -> Objects {
        self.token(session, [Action::ViewPayments]).await;
        let tokens = self.get("/tokens", session).await;
        let token = tokens.as_array().unwrap().last().unwrap();
        let other = self.session(&format!("{}@example.com", role.name())).await;
        let who = self.users.authenticate_session(&other, &Origin::default());
        let other = who.unwrap().session().unwrap();
        vec![
            ("{token}", token["id"].as_str().unwrap().to_owned()),
            ("{session}", other.to_string()),
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_for_the_roles_of_the_table_only() {
    let world = World::new().await;
    let roles = world.roles().await;
    let owner = roles[0].1.clone();
    let (mut allowed, mut refused) = (0, 0);
    let mut succeeded = BTreeSet::new();
    for (role, session) in &roles {
        let app = world.test.keys.app;
        let mut objects = world.objects(world.account(), app, &owner).await;
        let email = format!("target-{}@example.com", role.name());
        let target = world.member(&owner, &email, Role::Viewer).await;
        objects.push(("{user}", target.to_string()));
        objects.extend(world.own_objects(session, *role).await);
        for one in walked() {
            let mut parts = one.path.split('/').filter(|part| part.starts_with('{'));
            let is_covered = parts.all(|part| objects.iter().any(|(name, _)| *name == part));
            assert!(
                is_covered,
                "{}: an object for each part of the path",
                one.path
            );
            let shown = world.ask(&one, &objects, session).await;
            let what = format!("{role}: {} {} {}", one.method, one.path, shown.1);
            let is_allowed = one.action.is_none_or(|action| allows(*role, action));
            match is_allowed {
                true => {
                    assert!(
                        ![401, 403, 405].contains(&shown.0) && shown.0 < 500,
                        "{what}"
                    );
                    allowed += usize::from(shown.0 < 300);
                    if shown.0 < 300 {
                        succeeded.insert(one.id);
                    }
                }
                false => {
                    assert_eq!((shown.0, shown.code()), (403, "role_not_allowed"), "{what}");
                    let message = shown.1["message"].as_str().unwrap();
                    assert!(message.contains("owner"), "{what}");
                    refused += 1;
                }
            }
        }
    }
    assert!(allowed > 120 && refused > 60, "{allowed} {refused}");
    let all = walked().into_iter().map(|one| one.id);
    let never: Vec<_> = all.filter(|id| !succeeded.contains(id)).collect();
    assert_eq!(never, WITHOUT_SUCCESS, "what no role does");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_does_what_its_list_says_and_nothing_that_needs_a_person() {
    let world = World::new().await;
    let roles = world.roles().await;
    let owner = roles[0].1.clone();
    let all = Action::ALL.iter().copied();
    let all = all.filter(|it| allows(Role::Owner, *it) && !it.needs_person());
    let whole = world.token(&owner, all).await;
    let narrow = world.token(&owner, [Action::ViewPayments]).await;
    let app = world.test.keys.app;
    let mut objects = world.objects(world.account(), app, &owner).await;
    objects.extend(world.own_objects(&owner, Role::Owner).await);
    let mut refused = [0, 0];
    for one in operations().into_iter().filter(|one| one.id != "signIn") {
        let what = format!("{} {}", one.method, one.path);
        let shown = world.ask(&one, &objects, &whole).await;
        let is_of_person =
            one.action.is_some_and(Action::needs_person) || OF_PEOPLE.contains(&one.id.as_str());
        match is_of_person {
            true => {
                assert_eq!(shown.code(), "person_needed", "{what}: {}", shown.1);
                refused[0] += 1;
            }
            false => assert!(
                ![401, 403].contains(&shown.0) && shown.0 < 500,
                "{what}: {}",
                shown.1
            ),
        }
        let other = one
            .action
            .is_some_and(|it| !it.needs_person() && it != Action::ViewPayments);
        if other {
            let shown = world.ask(&one, &objects, &narrow).await;
            assert_eq!(shown.code(), "action_not_in_token", "{what}: {}", shown.1);
            assert_eq!(shown.0, 403, "{what}");
            refused[1] += 1;
        }
    }
    assert!(refused[0] >= 8 && refused[1] >= 20, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ids_of_another_merchant_do_not_exist_for_any_role() {
    let world = World::new().await;
    let access = world.test.engine.access();
    let other = access.create_account("Other").await.unwrap().id;
    let app = access.create_app(NewApp {
        account: other,
        name: "Second shop".to_owned(),
        website_url: None,
        icon_url: None,
        settings: AppSettings::default(),
    });
    let app = app.await.unwrap().id;
    world.owner("eve@example.com", other).await;
    let eve = world.users.user_by_email("eve@example.com").unwrap().id;
    let fresh = world.session("eve@example.com").await;
    let mut theirs = world.objects(other, app, &fresh).await;
    theirs.push(("{user}", eve.to_string()));
    let own: Objects = vec![
        ("{account}", world.account().to_string()),
        ("{app}", world.test.keys.app.to_string()),
    ];
    let mixed: Objects = own.iter().chain(&theirs).cloned().collect();
    let (mut walked, roles) = (0, world.roles().await);
    for (role, session) in &roles {
        for one in operations() {
            let is_of_account =
                one.path.starts_with("/apps/") || one.path.starts_with("/accounts/");
            if !is_of_account {
                continue;
            }
            let shown = world.ask(&one, &theirs, session).await;
            let what = format!("{role}: {} {} {}", one.method, one.path, shown.1);
            assert_eq!(shown.0, 404, "{what}");
            assert!(!shown.1.to_string().contains("Second shop"), "{what}");
            walked += 1;
            // Their object at an address of the reader's own app.
            let names = [
                "{transaction}",
                "{key}",
                "{webhook}",
                "{user}",
                "{approval}",
                "{invitation}",
                "{batch}",
                "{link}",
            ];
            let has_object = names.iter().any(|name| one.path.contains(name));
            if has_object && one.action.is_some_and(|action| allows(*role, action)) {
                let shown = world.ask(&one, &mixed, session).await;
                let what = format!("{role}: {} {} {}", one.method, one.path, shown.1);
                assert_eq!(shown.0, 404, "{what}");
            }
        }
    }
    assert!(walked > 200, "{walked}");
    let keys = access.keys(app).unwrap();
    assert_eq!((keys.len(), access.webhooks(app).unwrap().len()), (1, 1));
    assert_eq!(world.users.members(Some(other)).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_that_is_valid_every_operation_is_refused_in_the_same_words() {
    let world = World::new().await;
    let session = world.roles().await[0].1.clone();
    let ended = world.token(&session, [Action::ViewPayments]).await;
    let list = world.get("/tokens", &session).await;
    let path = format!("/tokens/{}", list[0]["id"].as_str().unwrap());
    let shown = world.call("DELETE", &path, &session, Value::Null).await;
    assert_eq!(shown.0, 200, "{}", shown.1);
    let expired = world.token(&session, [Action::ViewPayments]).await;
    world.test.clock.advance(Duration::from_secs(24 * 60 * 60));
    let key = world.test.keys.sandbox_secret_key.expose();
    let objects = vec![("{app}", world.test.keys.app.to_string())];
    let mut words = std::collections::BTreeSet::new();
    for token in ["", "made-up", &ended, &expired, &session, key] {
        for one in operations().into_iter().filter(|one| one.id != "signIn") {
            let shown = world.ask(&one, &objects, token).await;
            assert_eq!(shown.0, 401, "{} {token} {}", one.path, shown.1);
            words.insert(shown.1.to_string());
        }
    }
    assert_eq!(words.len(), 1, "{words:?}");
    assert!(
        words
            .iter()
            .all(|words| words.contains("account_token_invalid"))
    );
}
