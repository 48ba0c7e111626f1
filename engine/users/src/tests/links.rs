//! Single-use links: invitations and resets.

use super::*;

fn acceptance() -> Acceptance {
    Acceptance {
        password: Some(Secret::from(PASSWORD)),
        ..Acceptance::default()
    }
}

async fn invite(world: &World, email: &str, role: Role) -> NewLink {
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let invited = world.users.invite(&permit, person(email, role));
    invited.await.unwrap()
}

#[tokio::test]
async fn an_invitation_gives_its_role_once() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let link = invite(&world, "vic@example.com", Role::Finance).await;
    let token = link.token.expose();
    let (shown, user) = world.users.link(token).unwrap();
    assert_eq!(user.email, "vic@example.com");
    assert_eq!(shown.id, link.link.id);
    let accepted = world.users.accept_invitation(token, acceptance(), origin());
    let vic = accepted.await.unwrap();
    assert_eq!(vic.role_in(Some(account(ACME))), Some(Role::Finance));
    let again = world.users.accept_invitation(token, acceptance(), origin());
    assert!(matches!(again.await, Err(UsersError::LinkExpired)));
}

#[tokio::test]
async fn two_concurrent_uses_of_an_invitation_succeed_once() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let link = invite(&world, "vic@example.com", Role::Viewer).await;
    let token = link.token.expose();
    let (one, two) = tokio::join!(
        world.users.accept_invitation(token, acceptance(), origin()),
        world.users.accept_invitation(token, acceptance(), origin()),
    );
    assert_ne!(one.is_ok(), two.is_ok());
}

#[tokio::test]
async fn an_invitation_expires_after_7_days_and_a_reset_after_an_hour() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let link = invite(&world, "vic@example.com", Role::Viewer).await;
    let reset = world.users.request_reset("ada@example.com", origin());
    let reset = reset.await.unwrap().unwrap();
    world.clock.advance(59 * MINUTE);
    world.users.link(reset.token.expose()).unwrap();
    world.clock.advance(MINUTE);
    let other = Secret::from("another long password");
    let late = world
        .users
        .reset_password(reset.token.expose(), other, origin());
    assert!(matches!(late.await, Err(UsersError::LinkExpired)));
    world.clock.advance(6 * 24 * HOUR);
    world.users.link(link.token.expose()).unwrap();
    world.clock.advance(24 * HOUR);
    let late = world
        .users
        .accept_invitation(link.token.expose(), acceptance(), origin());
    assert!(matches!(late.await, Err(UsersError::LinkExpired)));
}

#[tokio::test]
async fn a_link_serves_its_own_purpose_only() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let invitation = invite(&world, "vic@example.com", Role::Viewer).await;
    let reset = world.users.request_reset("ada@example.com", origin());
    let reset = reset.await.unwrap().unwrap();
    let password = || Secret::from("another long password");
    let token = invitation.token.expose();
    let as_reset = world.users.reset_password(token, password(), origin());
    assert!(matches!(as_reset.await, Err(UsersError::LinkExpired)));
    let as_sign_in = world
        .users
        .sign_in_with_link(reset.token.expose(), origin());
    assert!(matches!(as_sign_in.await, Err(UsersError::LinkExpired)));
    let as_invitation = world
        .users
        .accept_invitation(reset.token.expose(), acceptance(), origin());
    assert!(matches!(as_invitation.await, Err(UsersError::LinkExpired)));
}

#[tokio::test]
async fn a_new_reset_replaces_the_earlier_one() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let request = || async {
        let reset = world.users.request_reset("ada@example.com", origin());
        reset.await.unwrap().unwrap()
    };
    let (first, second) = (request().await, request().await);
    assert!(world.users.link(first.token.expose()).is_err());
    assert!(world.users.link(second.token.expose()).is_ok());
    let unknown = world.users.request_reset("eve@example.com", from(2)).await;
    assert!(unknown.unwrap().is_none());
}

#[tokio::test]
async fn repeated_resets_slow_down() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let mut result = Ok(None);
    for n in 0..5 {
        result = world.users.request_reset("ada@example.com", from(n)).await;
    }
    assert!(matches!(result, Err(UsersError::TooMany(_))));
}

#[tokio::test]
async fn a_weak_password_leaves_the_link_unused() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let reset = world.users.request_reset("ada@example.com", origin());
    let reset = reset.await.unwrap().unwrap();
    let token = reset.token.expose();
    let short = world
        .users
        .reset_password(token, Secret::from("short"), origin());
    assert!(matches!(short.await, Err(UsersError::Password(_))));
    world.users.link(token).unwrap();
}

/// The link alone, which the inviting owner has too, must not change the roles of the user.
#[tokio::test]
async fn an_existing_user_accepts_in_their_own_session_only() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let eve = world.owner("eve@example.com", GLOBEX).await;
    let link = invite(&world, "EVE@example.com", Role::Support).await;
    assert_eq!(link.user.id, eve);
    let token = link.token.expose();
    let ada = world.signed_in("ada@example.com").await;
    let who = world.signed_in("eve@example.com").await;
    let other = world.session("eve@example.com").await;
    let anybody = world.users.accept_invitation(token, acceptance(), origin());
    assert!(matches!(anybody.await, Err(UsersError::NotPossible(_))));
    let as_ada = world.users.accept_invitation_as(&ada, token).await;
    assert!(matches!(as_ada, Err(UsersError::LinkExpired)));
    assert!(world.users.live_user(&who).is_ok(), "no session has ended");
    let accepted = world.users.accept_invitation_as(&who, token).await;
    let changed = accepted.unwrap();
    assert_eq!(changed.role_in(Some(account(ACME))), Some(Role::Support));
    assert_eq!(changed.role_in(Some(account(GLOBEX))), Some(Role::Owner));
    assert!(world.users.live_user(&who).is_ok());
    assert!(world.identity(&other).is_err(), "other sessions end");
    let again = world.users.accept_invitation_as(&who, token).await;
    assert!(matches!(again, Err(UsersError::LinkExpired)));
}

#[tokio::test]
async fn an_invitation_is_listed_and_withdrawn() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let link = invite(&world, "vic@example.com", Role::Viewer).await;
    let open = world.users.invitations(Some(account(ACME)));
    assert_eq!(open.len(), 1);
    assert!(world.users.invitations(Some(account(GLOBEX))).is_empty());
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let withdrawn = world.users.withdraw_invitation(&permit, link.link.id);
    withdrawn.await.unwrap();
    assert!(world.users.link(link.token.expose()).is_err());
}

#[tokio::test]
async fn an_invitation_is_sent_again_with_a_new_link_and_the_old_one_ends() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let old = invite(&world, "vic@example.com", Role::Finance).await;
    world.clock.advance(6 * 24 * HOUR);
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let new = world.users.resend_invitation(&permit, old.link.id).await;
    let new = new.unwrap();
    assert_eq!(
        (new.link.purpose, new.user.id),
        (old.link.purpose, old.user.id)
    );
    assert!(world.users.link(old.token.expose()).is_err());
    let open = world.users.invitations(Some(account(ACME)));
    let ids: Vec<_> = open.iter().map(|(link, _)| link.id).collect();
    assert_eq!(ids, [new.link.id]);
    world.clock.advance(2 * 24 * HOUR);
    let token = new.token.expose();
    let accepted = world.users.accept_invitation(token, acceptance(), origin());
    let vic = accepted.await.unwrap();
    assert_eq!(vic.role_in(Some(account(ACME))), Some(Role::Finance));
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let again = world.users.resend_invitation(&permit, new.link.id).await;
    assert!(matches!(again, Err(UsersError::NotFound { .. })));
}

#[tokio::test]
async fn an_admin_does_not_send_the_invitation_of_an_owner_or_of_another_account_again() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    let owner = invite(&world, "bob@example.com", Role::Owner).await;
    let who = world.signed_in("vic@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let sent = world.users.resend_invitation(&permit, owner.link.id).await;
    assert!(matches!(
        sent,
        Err(UsersError::Refused(Refusal::Forbidden { .. }))
    ));
    world.owner("eve@example.com", GLOBEX).await;
    let who = world.signed_in("eve@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(GLOBEX));
    let sent = world.users.resend_invitation(&permit, owner.link.id).await;
    assert!(matches!(sent, Err(UsersError::NotFound { .. })));
    world.users.link(owner.token.expose()).unwrap();
}
