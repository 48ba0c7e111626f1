//! Sessions: ends by time, by the user and by changes; authorization within one.

use super::*;

#[tokio::test]
async fn a_session_ends_after_30_idle_minutes() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    for _ in 0..3 {
        world.clock.advance(29 * MINUTE);
        world.identity(&token).unwrap();
    }
    world.clock.advance(30 * MINUTE);
    assert_eq!(world.identity(&token).err(), Some(Refusal::NotSignedIn));
}

#[tokio::test]
async fn a_session_ends_after_12_hours_of_use() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    for _ in 0..35 {
        world.clock.advance(20 * MINUTE);
        world.identity(&token).unwrap();
    }
    world.clock.advance(20 * MINUTE);
    assert!(world.identity(&token).is_err());
}

#[tokio::test]
async fn a_request_whose_session_ended_meanwhile_is_refused() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    world.users.sign_out(&who).await.unwrap();
    let refused = world
        .users
        .authorize(&who, Action::ViewPayments, Some(account(ACME)));
    assert_eq!(refused.err(), Some(Refusal::NotSignedIn));
}

#[tokio::test]
async fn a_user_lists_sessions_and_ends_one_or_all_others() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let mut tokens = Vec::new();
    for _ in 0..3 {
        tokens.push(world.session("ada@example.com").await);
    }
    let here = world.identity(&tokens[2]).unwrap();
    let listed = world.users.sessions(ada);
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[0].user_agent, "Firefox");
    assert_eq!(listed[0].address, origin().address);
    let first = world.identity(&tokens[0]).unwrap().session().unwrap();
    world.users.end_session(&here, first).await.unwrap();
    assert!(world.identity(&tokens[0]).is_err());
    assert_eq!(world.users.end_other_sessions(&here).await.unwrap(), 1);
    assert!(world.identity(&tokens[1]).is_err());
    assert!(world.identity(&tokens[2]).is_ok());
}

#[tokio::test]
async fn nobody_ends_a_session_of_another_user() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    world.owner("eve@example.com", GLOBEX).await;
    let ada = world.signed_in("ada@example.com").await;
    let eve = world.signed_in("eve@example.com").await;
    let ended = world.users.end_session(&eve, ada.session().unwrap()).await;
    assert!(matches!(ended, Err(UsersError::NotFound { .. })));
}

#[tokio::test]
async fn the_oldest_session_ends_above_the_limit() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let first = world.session("ada@example.com").await;
    for _ in 0..20 {
        world.clock.advance(Duration::from_secs(1));
        world.session("ada@example.com").await;
    }
    assert!(world.identity(&first).is_err());
    assert_eq!(world.users.sessions(ada).len(), 20);
}

#[tokio::test]
async fn a_change_of_the_password_ends_the_other_sessions() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let elsewhere = world.session("ada@example.com").await;
    let here = world.session("ada@example.com").await;
    let who = world.identity(&here).unwrap();
    let common = Secret::from("1q2w3e4r5t6y");
    let refused = world.users.change_password(&who, common).await;
    let problem = PasswordProblem::Common;
    assert!(matches!(refused, Err(UsersError::Password(it)) if it == problem));
    let other = Secret::from("another long password");
    world.users.change_password(&who, other).await.unwrap();
    assert!(world.identity(&elsewhere).is_err());
    assert!(world.identity(&here).is_ok());
    let old = world.sign_in("ada@example.com", PASSWORD).await;
    assert!(matches!(old, SignIn::Refused));
}

#[tokio::test]
async fn the_time_of_the_last_request_is_stored_at_most_once_a_minute() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    let commits = || world.store.stats().commits;
    let before = commits();
    for _ in 0..50 {
        world.clock.advance(Duration::from_secs(1));
        world.identity(&token).unwrap();
    }
    world.users.background_writes_ended().await;
    assert_eq!(commits(), before);
    world.clock.advance(10 * Duration::from_secs(1));
    world.identity(&token).unwrap();
    world.users.background_writes_ended().await;
    assert_eq!(commits(), before + 1);
    let users = world.restarted(SecondFactor::Optional).await;
    let seen = users.sessions(ada).pop().unwrap().last_seen_at;
    assert_eq!(seen, world.clock.now());
}

#[tokio::test]
async fn an_ended_session_is_not_stored_again_by_a_late_write() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    world.clock.advance(2 * MINUTE);
    let who = world.identity(&token).unwrap();
    world.users.sign_out(&who).await.unwrap();
    world.users.background_writes_ended().await;
    let users = world.restarted(SecondFactor::Optional).await;
    assert!(users.sessions(ada).is_empty());
    assert!(
        users
            .authenticate_session(token.expose(), origin())
            .is_err()
    );
}

#[tokio::test]
async fn an_action_of_another_account_does_not_exist_for_a_user() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let ask = |action, number: Option<u128>| {
        let permit = world.users.authorize(&who, action, number.map(account));
        permit.map(|permit| permit.role)
    };
    assert_eq!(ask(Action::ViewPayments, Some(ACME)), Ok(Role::Owner));
    let other = ask(Action::ViewPayments, Some(GLOBEX));
    assert_eq!(other, Err(Refusal::NotFound));
    let all = ask(Action::ViewPayments, None);
    assert_eq!(
        all,
        Err(Refusal::Forbidden {
            action: Action::ViewPayments,
            roles: vec![Role::Operator, Role::Auditor],
        })
    );
    let gateways = ask(Action::ViewGateways, Some(ACME));
    assert!(matches!(gateways, Err(Refusal::Forbidden { .. })));
}

#[tokio::test]
async fn an_operator_sees_every_account_and_pays_out_of_none() {
    let world = World::new().await;
    world.operator("root@example.com").await;
    let who = world.signed_in("root@example.com").await;
    let permit = world.permit(&who, Action::ViewPayments, Some(GLOBEX));
    assert_eq!(permit.role, Role::Operator);
    world.permit(&who, Action::ViewGateways, None);
    let payout = world
        .users
        .authorize(&who, Action::CreatePayout, Some(account(ACME)));
    let Err(Refusal::Forbidden { roles, .. }) = payout else {
        panic!("{payout:?}");
    };
    assert_eq!(roles, [Role::Owner, Role::Admin, Role::Finance]);
}

#[tokio::test]
async fn expired_sessions_links_and_invited_users_are_deleted_from_the_store() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let new = person("vic@example.com", Role::Viewer);
    world.users.invite(&permit, new).await.unwrap();
    world.session("ada@example.com").await;
    world
        .users
        .request_reset("ada@example.com", origin())
        .await
        .unwrap();
    world.clock.advance(2 * HOUR);
    world.users.purge_expired().await.unwrap();
    let users = world.restarted(SecondFactor::Optional).await;
    assert!(users.set().sessions_of(ada).next().is_none());
    assert!(users.set().links_of(ada).next().is_none());
    assert!(users.user_by_email("vic@example.com").is_some());
    world.clock.advance(7 * 24 * HOUR);
    for users in [&world.users, &users] {
        users.purge_expired().await.unwrap();
        assert!(users.user_by_email("vic@example.com").is_none());
        assert_eq!(users.all_users().len(), 1);
    }
}
