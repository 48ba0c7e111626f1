//! Changes of other users by owners, admins and operators.

use super::*;

async fn managed(world: &World, by: &str) -> Permit {
    let who = world.signed_in(by).await;
    world.permit(&who, Action::ManageTeam, Some(ACME))
}

#[tokio::test]
async fn the_first_owner_and_operator_are_made_once() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    world.operator("root@example.com").await;
    for (number, role) in [(Some(ACME), Role::Owner), (None, Role::Operator)] {
        let new = person("eve@example.com", role);
        let again = world.users.invite_first(number.map(account), new, origin());
        assert!(matches!(again.await, Err(UsersError::NotPossible(_))));
    }
    let new = person("eve@example.com", Role::Admin);
    let other = world
        .users
        .invite_first(Some(account(GLOBEX)), new, origin());
    assert!(matches!(other.await, Err(UsersError::Invalid { .. })));
}

#[tokio::test]
async fn of_several_first_invitations_only_the_last_one_makes_a_user() {
    let world = World::new().await;
    for (number, role) in [(Some(ACME), Role::Owner), (None, Role::Operator)] {
        let mut links = Vec::new();
        for name in ["one", "other", "one"] {
            let new = person(&format!("{name}@{role}.example"), role);
            let link = world.users.invite_first(number.map(account), new, origin());
            links.push(link.await.unwrap());
        }
        let last = links.pop().unwrap();
        for earlier in links {
            let opened = world.users.link(earlier.token.expose());
            assert!(matches!(opened, Err(UsersError::LinkExpired)), "{role}");
        }
        assert_eq!(world.users.invitations(number.map(account)).len(), 1);
        world.accept(last).await;
        assert_eq!(world.users.holders(role, number.map(account)).count(), 1);
    }
}

#[tokio::test]
async fn a_new_operator_ends_the_resets_of_the_others_and_of_nobody_else() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    world.operator("root@example.com").await;
    let who = world.signed_in("root@example.com").await;
    let permit = world.permit(&who, Action::ManageInstallationUsers, None);
    let invited = world
        .users
        .invite(&permit, person("two@example.com", Role::Operator));
    let invited = invited.await.unwrap();
    let reset = async |email| {
        let link = world.users.request_reset(email, origin()).await;
        link.unwrap().unwrap()
    };
    let (of_operator, of_owner) = (
        reset("root@example.com").await,
        reset("ada@example.com").await,
    );
    world.accept(invited).await;
    let opened = |link: &NewLink| world.users.link(link.token.expose());
    assert!(matches!(opened(&of_operator), Err(UsersError::LinkExpired)));
    assert!(opened(&of_owner).is_ok());
    // The next one is a request of the time after.
    let later = reset("root@example.com").await;
    assert!(opened(&later).is_ok());
    world.session("root@example.com").await;
    assert!(opened(&later).is_ok(), "a sign-in is no change");
}

#[tokio::test]
async fn a_changed_role_ends_the_sessions_of_its_user() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    let token = world.session("vic@example.com").await;
    let permit = managed(&world, "ada@example.com").await;
    let changed = world.users.change_role(&permit, vic, Role::Viewer);
    changed.await.unwrap();
    assert!(world.identity(&token).is_err());
    let who = world.signed_in("vic@example.com").await;
    let refused = world
        .users
        .authorize(&who, Action::ManageTeam, Some(account(ACME)));
    assert!(matches!(refused, Err(Refusal::Forbidden { .. })));
}

#[tokio::test]
async fn an_admin_changes_neither_owners_nor_other_accounts() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let eve = world.owner("eve@example.com", GLOBEX).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    let permit = managed(&world, "vic@example.com").await;
    let users = &world.users;
    let demoted = users.change_role(&permit, ada, Role::Viewer).await;
    let owners_only = |error: &UsersError| match error {
        UsersError::Refused(Refusal::Forbidden { roles, .. }) => {
            roles == &[Role::Owner, Role::Operator]
        }
        _ => false,
    };
    assert!(demoted.is_err_and(|error| owners_only(&error)));
    let raised = users.change_role(&permit, vic, Role::Owner).await;
    assert!(raised.is_err_and(|error| owners_only(&error)));
    let foreign = users.change_role(&permit, eve, Role::Viewer).await;
    assert!(matches!(foreign, Err(UsersError::NotFound { .. })));
    let installation = users.change_role(&permit, vic, Role::Operator).await;
    assert!(matches!(installation, Err(UsersError::Invalid { .. })));
}

#[tokio::test]
async fn the_last_owner_and_the_last_operator_stay() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let root = world.operator("root@example.com").await;
    let permit = managed(&world, "ada@example.com").await;
    let removed = world.users.remove_member(&permit, ada).await;
    assert!(matches!(removed, Err(UsersError::NotPossible(_))));
    world
        .member("ada@example.com", ACME, "bob@example.com", Role::Owner)
        .await;
    world.users.remove_member(&permit, ada).await.unwrap();
    let who = world.signed_in("root@example.com").await;
    let permit = world.permit(&who, Action::ManageInstallationUsers, None);
    let demoted = world.users.change_role(&permit, root, Role::Auditor).await;
    assert!(matches!(demoted, Err(UsersError::NotPossible(_))));
    let disabled = world.users.disable(&permit, root).await;
    assert!(matches!(disabled, Err(UsersError::NotPossible(_))));
}

#[tokio::test]
async fn a_removed_member_keeps_other_accounts() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let eve = world.owner("eve@example.com", GLOBEX).await;
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let new = person("eve@example.com", Role::Viewer);
    let link = world.users.invite(&permit, new).await.unwrap();
    world.accept(link).await;
    assert_eq!(world.users.members(Some(account(ACME))).len(), 2);
    let factor = world.users.remove_second_factor_of(&permit, eve).await;
    assert!(matches!(factor, Err(UsersError::NotPossible(_))));
    world.users.remove_member(&permit, eve).await.unwrap();
    let who = world.signed_in("eve@example.com").await;
    let acme = world
        .users
        .authorize(&who, Action::ViewPayments, Some(account(ACME)));
    assert_eq!(acme.err(), Some(Refusal::NotFound));
    world.permit(&who, Action::ViewPayments, Some(GLOBEX));
}

#[tokio::test]
async fn a_disabled_user_loses_sessions_links_and_tokens_until_enabled() {
    let world = World::new().await;
    world.operator("root@example.com").await;
    let ada = world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    let reset = world.users.request_reset("ada@example.com", origin());
    let reset = reset.await.unwrap().unwrap();
    let who = world.signed_in("root@example.com").await;
    let permit = world.permit(&who, Action::ManageInstallationUsers, None);
    world.users.disable(&permit, ada).await.unwrap();
    assert!(world.identity(&token).is_err());
    assert!(world.users.link(reset.token.expose()).is_err());
    let result = world.sign_in("ada@example.com", PASSWORD).await;
    assert!(matches!(result, SignIn::Refused));
    world.users.enable(&permit, ada).await.unwrap();
    assert!(world.identity(&token).is_err(), "the old session has ended");
    world.signed_in("ada@example.com").await;
}

#[tokio::test]
async fn a_permit_ends_with_the_role_of_its_user() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    let of_vic = managed(&world, "vic@example.com").await;
    let permit = managed(&world, "ada@example.com").await;
    world.users.remove_member(&permit, vic).await.unwrap();
    let new = person("mal@example.com", Role::Admin);
    let invited = world.users.invite(&of_vic, new).await;
    assert!(matches!(invited, Err(UsersError::Refused(_))));
}

#[tokio::test]
async fn a_permit_for_another_action_changes_no_team() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ViewTeam, Some(ACME));
    let new = person("vic@example.com", Role::Viewer);
    let invited = world.users.invite(&permit, new).await;
    assert!(matches!(invited, Err(UsersError::NotPossible(_))));
}

#[tokio::test]
async fn an_operator_ends_the_sessions_of_a_user() {
    let world = World::new().await;
    world.operator("root@example.com").await;
    let ada = world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    let who = world.signed_in("root@example.com").await;
    let permit = world.permit(&who, Action::ManageInstallationUsers, None);
    assert_eq!(world.users.end_sessions_of(&permit, ada).await.unwrap(), 1);
    assert!(world.identity(&token).is_err());
}

#[tokio::test]
async fn a_permit_ends_with_the_session_that_asked_for_it() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    world.users.sign_out(&who).await.unwrap();
    let new = person("mal@example.com", Role::Owner);
    let invited = world.users.invite(&permit, new).await;
    let expected = Refusal::NotSignedIn;
    assert!(matches!(invited, Err(UsersError::Refused(it)) if it == expected));
}

#[tokio::test]
async fn a_permit_ends_when_the_authentication_is_no_longer_recent() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let permit = managed(&world, "ada@example.com").await;
    world.clock.advance(10 * MINUTE);
    let new = person("mal@example.com", Role::Owner);
    let invited = world.users.invite(&permit, new).await;
    let expected = Refusal::NeedsRecentAuthentication;
    assert!(matches!(invited, Err(UsersError::Refused(it)) if it == expected));
}

#[tokio::test]
async fn a_change_is_decided_by_the_role_of_its_moment() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let bob = world
        .member("ada@example.com", ACME, "bob@example.com", Role::Owner)
        .await;
    let of_bob = managed(&world, "bob@example.com").await;
    let permit = managed(&world, "ada@example.com").await;
    // Bob is an admin now, and still manages the team. His session ended with the change; a
    // permit of an owner that outlives it gives no owner's rights.
    world
        .users
        .change_role(&permit, bob, Role::Admin)
        .await
        .unwrap();
    let of_admin = managed(&world, "bob@example.com").await;
    let mut stale = of_admin;
    stale.role = Role::Owner;
    for permit in [&of_bob, &stale] {
        let new = person("mal@example.com", Role::Owner);
        let invited = world.users.invite(permit, new).await;
        assert!(matches!(invited, Err(UsersError::Refused(_))));
        let demoted = world.users.change_role(permit, ada, Role::Viewer).await;
        assert!(matches!(demoted, Err(UsersError::Refused(_))));
    }
}

#[tokio::test]
async fn nobody_removes_their_own_second_factor_as_one_of_another_user() {
    let world = World::new().await;
    let root = world.operator("root@example.com").await;
    let who = world.signed_in("root@example.com").await;
    let setup = world.users.begin_setup(&who).unwrap();
    let valid = code(&setup, &world.clock);
    world.users.confirm_setup(&who, &valid).await.unwrap();
    let permit = world.permit(&who, Action::ManageInstallationUsers, None);
    let removed = world.users.remove_second_factor_of(&permit, root).await;
    assert!(matches!(removed, Err(UsersError::NotPossible(_))));
    assert!(world.users.user(root).unwrap().has_totp());
}

#[tokio::test]
async fn an_admin_neither_withdraws_nor_replaces_the_invitation_of_an_owner() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    let permit = managed(&world, "ada@example.com").await;
    let bob = person("bob@example.com", Role::Owner);
    let link = world.users.invite(&permit, bob).await.unwrap();
    let of_vic = managed(&world, "vic@example.com").await;
    let withdrawn = world.users.withdraw_invitation(&of_vic, link.link.id).await;
    let forbidden = Refusal::Forbidden {
        action: Action::ManageTeam,
        roles: vec![Role::Owner, Role::Operator],
    };
    assert!(matches!(withdrawn, Err(UsersError::Refused(it)) if it == forbidden));
    let lesser = person("Bob@example.com", Role::Viewer);
    let replaced = world.users.invite(&of_vic, lesser).await;
    assert!(matches!(replaced, Err(UsersError::Refused(it)) if it == forbidden));
    assert!(world.users.link(link.token.expose()).is_ok());
    let withdrawn = world.users.withdraw_invitation(&permit, link.link.id).await;
    withdrawn.unwrap();
}

#[tokio::test]
async fn a_team_is_listed_with_roles_states_last_sign_ins_and_second_factors() {
    let world = World::new().await;
    world.operator("root@example.com").await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Viewer)
        .await;
    let signed_in_at = world.clock.now();
    let who = world.signed_in("ada@example.com").await;
    let setup = world.users.begin_setup(&who).unwrap();
    let valid = code(&setup, &world.clock);
    world.users.confirm_setup(&who, &valid).await.unwrap();
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let new = person("new@example.com", Role::Support);
    let invited = world.users.invite(&permit, new).await.unwrap();
    let root = world.signed_in("root@example.com").await;
    let installation = world.permit(&root, Action::ManageInstallationUsers, None);
    world.users.disable(&installation, vic).await.unwrap();

    let members = world.users.members(Some(account(ACME)));
    let rows: Vec<_> = members
        .iter()
        .map(|(user, role)| {
            let seen = user.last_sign_in_at;
            (
                user.email.as_str(),
                *role,
                user.state,
                seen,
                user.has_totp(),
            )
        })
        .collect();
    let active = UserState::Active;
    let at = Some(signed_in_at);
    let expected = [
        ("ada@example.com", Role::Owner, active, at, true),
        (
            "vic@example.com",
            Role::Viewer,
            UserState::Disabled,
            None,
            false,
        ),
    ];
    assert_eq!(rows, expected);
    let open = world.users.invitations(Some(account(ACME)));
    let [(link, user)] = &open[..] else {
        panic!("one invitation");
    };
    assert_eq!(
        (link.id, user.email.as_str()),
        (invited.link.id, "new@example.com")
    );
    assert_eq!(link.expires_at, world.clock.now().plus(7 * 24 * HOUR));
    assert!(matches!(
        link.purpose,
        Purpose::Invitation {
            role: Role::Support,
            ..
        }
    ));
}

#[tokio::test]
async fn a_user_changes_their_own_name_and_language() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    let renamed = world
        .users
        .change_profile(&who, " Ada Lovelace ", Language::Fr);
    renamed.await.unwrap();
    let invalid = world.users.change_profile(&who, "", Language::Fr).await;
    assert!(matches!(
        invalid,
        Err(UsersError::Invalid { field: "name", .. })
    ));
    let users = world.restarted(SecondFactor::Optional).await;
    for users in [&world.users, &users] {
        let user = users.user(ada).unwrap();
        assert_eq!(
            (user.name.as_str(), user.language),
            ("Ada Lovelace", Language::Fr)
        );
    }
}
