//! API tokens of users.

use super::*;

fn request(world: &World, actions: &[Action]) -> TokenRequest {
    TokenRequest {
        name: "Export".to_owned(),
        account: Some(account(ACME)),
        actions: actions.iter().copied().collect(),
        expires_at: world.clock.now().plus(24 * HOUR),
    }
}

fn by_token(world: &World, secret: &Secret<String>) -> Result<Identity, Refusal> {
    world.users.authenticate_token(secret.expose(), origin())
}

#[tokio::test]
async fn a_token_does_what_its_list_says_and_nothing_else() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let wanted = request(&world, &[Action::ExportData, Action::ManageKeys]);
    let new = world.users.create_token(&who, wanted).await.unwrap();
    assert!(new.secret.expose().ends_with(&new.token.last_four));
    let token = by_token(&world, &new.secret).unwrap();
    let permit = world.permit(&token, Action::ExportData, Some(ACME));
    assert_eq!(permit.actor.user(), Some(ada));
    world.permit(&token, Action::ManageKeys, Some(ACME));
    let ask = |action, number| {
        let permit = world.users.authorize(&token, action, Some(account(number)));
        permit.err()
    };
    let action = Action::ViewPayments;
    assert_eq!(ask(action, ACME), Some(Refusal::NotInToken { action }));
    assert_eq!(ask(action, GLOBEX), Some(Refusal::NotFound));
    assert_eq!(ask(Action::ManageTeam, ACME), Some(Refusal::NeedsPerson));
    let listed = world.users.tokens(ada);
    assert_eq!(listed.len(), 1);
}

#[tokio::test]
async fn a_token_cannot_do_more_than_its_user() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Finance)
        .await;
    let who = world.signed_in("vic@example.com").await;
    for action in [
        Action::ManageKeys,
        Action::ViewGateways,
        Action::ApprovePayout,
    ] {
        let refused = world.users.create_token(&who, request(&world, &[action]));
        let refused = refused.await;
        assert!(matches!(refused, Err(UsersError::Refused(_))), "{action}");
    }
    let wanted = request(&world, &[Action::CreatePayout, Action::ViewPayments]);
    let new = world.users.create_token(&who, wanted).await.unwrap();
    let ada = world.signed_in("ada@example.com").await;
    let permit = world.permit(&ada, Action::ManageTeam, Some(ACME));
    let changed = world.users.change_role(&permit, vic, Role::Viewer);
    changed.await.unwrap();
    let token = by_token(&world, &new.secret).unwrap();
    let payout = world
        .users
        .authorize(&token, Action::CreatePayout, Some(account(ACME)));
    assert!(matches!(payout, Err(Refusal::Forbidden { .. })));
}

#[tokio::test]
async fn a_token_ends_when_it_expires_or_is_deleted() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let wanted = request(&world, &[Action::ViewPayments]);
        tokens.push(world.users.create_token(&who, wanted).await.unwrap());
    }
    let deleted = world.users.delete_token(&who, tokens[0].token.id);
    deleted.await.unwrap();
    assert!(by_token(&world, &tokens[0].secret).is_err());
    assert!(by_token(&world, &tokens[1].secret).is_ok());
    world.clock.advance(24 * HOUR);
    assert!(by_token(&world, &tokens[1].secret).is_err());
}

#[tokio::test]
async fn a_token_is_stored_by_its_hash_and_found_after_a_restart() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let wanted = request(&world, &[Action::ViewPayments]);
    let new = world.users.create_token(&who, wanted).await.unwrap();
    let key = crate::rows::Kind::Token.key(new.token.id);
    let table = switchyard_store::Table::User;
    let row = world.store.get(table, &key).await.unwrap().unwrap();
    let row = String::from_utf8(row).unwrap();
    assert!(!row.contains(new.secret.expose().as_str()));
    let users = world.restarted(SecondFactor::Optional).await;
    let found = users.authenticate_token(new.secret.expose(), origin());
    assert!(found.is_ok());
}

#[tokio::test]
async fn tokens_have_an_end_within_a_year() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    for days in [0, 367] {
        let mut wanted = request(&world, &[Action::ViewPayments]);
        wanted.expires_at = world.clock.now().plus(days * 24 * HOUR);
        let refused = world.users.create_token(&who, wanted).await;
        assert!(matches!(refused, Err(UsersError::Invalid { .. })), "{days}");
    }
}

#[tokio::test]
async fn a_token_of_an_account_ends_when_its_user_is_removed_from_it() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    let who = world.signed_in("vic@example.com").await;
    let wanted = request(&world, &[Action::ViewPayments]);
    let new = world.users.create_token(&who, wanted).await.unwrap();
    let ada = world.signed_in("ada@example.com").await;
    let permit = world.permit(&ada, Action::ManageTeam, Some(ACME));
    world.users.remove_member(&permit, vic).await.unwrap();
    assert!(world.users.tokens(vic).is_empty());
    // Another invitation does not bring the token back.
    world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    assert_eq!(
        by_token(&world, &new.secret).err(),
        Some(Refusal::NotSignedIn)
    );
    let users = world.restarted(SecondFactor::Optional).await;
    assert!(users.tokens(vic).is_empty());
}

#[tokio::test]
async fn a_token_keeps_only_actions_of_the_role_that_its_user_has_now() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Finance)
        .await;
    let who = world.signed_in("vic@example.com").await;
    let both = request(&world, &[Action::CreatePayout, Action::ViewPayments]);
    let both = world.users.create_token(&who, both).await.unwrap();
    let payouts = request(&world, &[Action::CreatePayout]);
    let payouts = world.users.create_token(&who, payouts).await.unwrap();
    let ada = world.signed_in("ada@example.com").await;
    let permit = world.permit(&ada, Action::ManageTeam, Some(ACME));
    for role in [Role::Viewer, Role::Finance] {
        let changed = world.users.change_role(&permit, vic, role).await;
        changed.unwrap();
        let users = world.restarted(SecondFactor::Optional).await;
        for users in [&world.users, &users] {
            let token = users.authenticate_token(both.secret.expose(), origin());
            let token = token.unwrap();
            let ask = |action| users.authorize(&token, action, Some(account(ACME)));
            assert!(ask(Action::ViewPayments).is_ok(), "{role}");
            assert!(ask(Action::CreatePayout).is_err(), "{role}");
            let ended = users.authenticate_token(payouts.secret.expose(), origin());
            assert!(ended.is_err(), "{role}: a token without actions has ended");
        }
    }
}

#[tokio::test]
async fn a_new_password_lists_the_tokens_that_stay_valid_and_the_user_deletes_them() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    let who = world.identity(&token).unwrap();
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let wanted = request(&world, &[Action::ViewPayments]);
        tokens.push(world.users.create_token(&who, wanted).await.unwrap());
    }
    let names = |tokens: &[UserToken]| tokens.iter().map(|it| it.id).collect::<Vec<_>>();
    let both = [tokens[0].token.id, tokens[1].token.id];
    let other = || Secret::from("another long password");
    let stay = world.users.change_password(&who, other()).await.unwrap();
    assert_eq!(names(&stay), both);
    assert!(by_token(&world, &tokens[0].secret).is_ok());

    let by = by_token(&world, &tokens[1].secret).unwrap();
    let refused = world.users.delete_token(&by, both[0]).await;
    let person = Refusal::NeedsPerson;
    assert!(matches!(refused, Err(UsersError::Refused(it)) if it == person));
    for id in both {
        world.users.delete_token(&who, id).await.unwrap();
    }
    for token in &tokens {
        assert!(by_token(&world, &token.secret).is_err());
    }
    let users = world.restarted(SecondFactor::Optional).await;
    assert!(users.tokens(who.user.id).is_empty());

    let wanted = request(&world, &[Action::ViewPayments]);
    let kept = world.users.create_token(&who, wanted).await.unwrap();
    let link = world.users.request_reset("ada@example.com", origin());
    let link = link.await.unwrap().unwrap();
    let reset = world
        .users
        .reset_password(link.token.expose(), other(), origin());
    assert_eq!(names(&reset.await.unwrap().tokens), [kept.token.id]);
    assert!(world.identity(&token).is_err(), "sessions end");
    assert!(by_token(&world, &kept.secret).is_ok());
}

#[tokio::test]
async fn a_token_is_refused_while_its_user_lacks_a_required_second_factor() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    world
        .member("ada@example.com", ACME, "vic@example.com", Role::Viewer)
        .await;
    let mut tokens = Vec::new();
    for email in ["ada@example.com", "vic@example.com"] {
        let who = world.signed_in(email).await;
        let wanted = request(&world, &[Action::ViewPayments]);
        tokens.push(world.users.create_token(&who, wanted).await.unwrap().secret);
    }
    let before = by_token(&world, &tokens[0]).unwrap();
    for (settings, valid) in [
        (SecondFactor::Optional, [true, true]),
        (SecondFactor::ByRole, [false, true]),
        (SecondFactor::All, [false, false]),
    ] {
        let users = world.restarted(settings).await;
        for (token, is_valid) in tokens.iter().zip(valid) {
            let who = users.authenticate_token(token.expose(), origin());
            assert_eq!(who.is_ok(), is_valid, "{settings:?} {who:?}");
        }
        let asked = users.authorize(&before, Action::ViewPayments, Some(account(ACME)));
        assert_eq!(
            asked.is_ok(),
            valid[0],
            "{settings:?}: a request in between"
        );
    }
}

#[tokio::test]
async fn a_token_does_not_withdraw_a_proposal_of_its_user() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let wanted = request(&world, &[Action::CreatePayout]);
    let token = world.users.create_token(&who, wanted).await.unwrap().secret;
    let person = world.permit(&who, Action::CreatePayout, Some(ACME));
    let proposal = Proposal {
        kind: "payout".to_owned(),
        payload: serde_json::Value::Null,
        reason: "May".to_owned(),
    };
    let id = world.users.propose(&person, proposal).await.unwrap().id;
    let program = by_token(&world, &token).unwrap();
    let program = world.permit(&program, Action::CreatePayout, Some(ACME));
    let refused = world.users.withdraw(&program, id).await;
    let needed = Refusal::NeedsPerson;
    assert!(matches!(refused, Err(UsersError::Refused(it)) if it == needed));
    let open = world.users.approval(Some(account(ACME)), id).await.unwrap();
    assert_eq!(open.state, ApprovalState::Open);
    world.users.withdraw(&person, id).await.unwrap();
}
