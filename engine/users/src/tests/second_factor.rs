//! Second factor: set-up, use, recovery and loss.

use super::*;

/// Sets up a second factor at the first sign-in.
async fn set_up(world: &World, email: &str) -> (TotpSetup, FirstSetup) {
    let SignIn::NeedsTotpSetup(pending) = world.sign_in(email, PASSWORD).await else {
        panic!("{email} needs a second factor");
    };
    let setup = world.users.begin_first_setup(pending.expose()).unwrap();
    let code = code(&setup, &world.clock);
    let first = world
        .users
        .confirm_first_setup(pending.expose(), &code, origin());
    let first = first.await.unwrap();
    (setup, first)
}

async fn pending(world: &World, email: &str) -> Secret<String> {
    match world.sign_in(email, PASSWORD).await {
        SignIn::NeedsTotp(pending) => pending,
        other => panic!("{other:?}"),
    }
}

async fn confirm(world: &World, pending: &Secret<String>, code: &str) -> SignIn {
    let confirmed = world
        .users
        .confirm_second_factor(pending.expose(), code, origin());
    confirmed.await.unwrap()
}

#[tokio::test]
async fn roles_that_need_a_second_factor_set_it_up_before_their_first_session() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (_, first) = set_up(&world, "ada@example.com").await;
    assert_eq!(first.codes.0.len(), 10);
    let who = world.identity(&first.session.token).unwrap();
    assert!(who.user.has_totp());
    world.permit(&who, Action::ManageTeam, Some(ACME));
}

#[tokio::test]
async fn a_role_that_needs_none_signs_in_with_the_password() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (_, first) = set_up(&world, "ada@example.com").await;
    let ada = world.identity(&first.session.token).unwrap();
    let permit = world.permit(&ada, Action::ManageTeam, Some(ACME));
    let new = person("vic@example.com", Role::Viewer);
    let link = world.users.invite(&permit, new).await.unwrap();
    world.accept(link).await;
    world.signed_in("vic@example.com").await;
}

#[tokio::test]
async fn the_settings_can_require_a_second_factor_of_all() {
    let world = World::on(Store::memory(), SecondFactor::Optional).await;
    world.owner("ada@example.com", ACME).await;
    world
        .member("ada@example.com", ACME, "vic@example.com", Role::Viewer)
        .await;
    let users = world.restarted(SecondFactor::All).await;
    let result = users.sign_in("vic@example.com", Secret::from(PASSWORD), origin());
    assert!(matches!(result.await.unwrap(), SignIn::NeedsTotpSetup(_)));
}

/// The engine's own time is ahead of the machine's clock after a commit of a later time.
#[tokio::test]
async fn a_code_is_compared_with_the_machines_clock_and_not_with_the_engines_time() {
    let (store, ids, clock) = (Store::memory(), Ids::seeded(7), Clock::wall());
    clock.continue_from(clock.shown().plus(60 * MINUTE));
    assert!(clock.now().since(clock.shown()) > 50 * MINUTE);
    let users = load(&store, &clock, &ids, SecondFactor::ByRole).await;
    let world = World {
        users,
        clock,
        ids,
        store,
    };
    world.owner("ada@example.com", ACME).await;
    let SignIn::NeedsTotpSetup(begun) = world.sign_in("ada@example.com", PASSWORD).await else {
        panic!("an owner needs a second factor");
    };
    let setup = world.users.begin_first_setup(begun.expose()).unwrap();
    let confirm_setup = async |code: &str| {
        let users = &world.users;
        users
            .confirm_first_setup(begun.expose(), code, origin())
            .await
    };
    let of_engine = code_at(&setup, world.clock.now());
    let refused = confirm_setup(&of_engine).await;
    assert!(matches!(refused, Err(UsersError::WrongFactor)), "set-up");
    let of_machine = code_at(&setup, world.clock.shown());
    confirm_setup(&of_machine).await.unwrap();

    let waiting = pending(&world, "ada@example.com").await;
    let of_engine = code_at(&setup, world.clock.now());
    let refused = confirm(&world, &waiting, &of_engine).await;
    assert!(matches!(refused, SignIn::Refused), "sign-in");
    // That of the next period is accepted too: this period's was used.
    let next = world.clock.shown().plus(Duration::from_secs(30));
    let signed_in = confirm(&world, &waiting, &code_at(&setup, next)).await;
    assert!(matches!(signed_in, SignIn::SignedIn(_)));
}

#[tokio::test]
async fn each_code_signs_in_once() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (setup, _) = set_up(&world, "ada@example.com").await;
    let waiting = pending(&world, "ada@example.com").await;
    let used = code(&setup, &world.clock);
    let again = confirm(&world, &waiting, &used).await;
    assert!(matches!(again, SignIn::Refused), "used in the set-up");
    world.clock.advance(Duration::from_secs(30));
    let next = code(&setup, &world.clock);
    let signed_in = confirm(&world, &waiting, &next).await;
    assert!(matches!(signed_in, SignIn::SignedIn(_)));
    let waiting = pending(&world, "ada@example.com").await;
    let again = confirm(&world, &waiting, &next).await;
    assert!(matches!(again, SignIn::Refused));
}

#[tokio::test]
async fn each_code_is_used_once_after_a_restart_too() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (setup, _) = set_up(&world, "ada@example.com").await;
    let users = world.restarted(SecondFactor::ByRole).await;
    let result = users.sign_in("ada@example.com", Secret::from(PASSWORD), origin());
    let SignIn::NeedsTotp(pending) = result.await.unwrap() else {
        panic!("the second factor is stored");
    };
    let used = code(&setup, &world.clock);
    let again = users.confirm_second_factor(pending.expose(), &used, origin());
    assert!(matches!(again.await.unwrap(), SignIn::Refused));
    world.clock.advance(Duration::from_secs(30));
    let next = code(&setup, &world.clock);
    let signed_in = users.confirm_second_factor(pending.expose(), &next, origin());
    assert!(matches!(signed_in.await.unwrap(), SignIn::SignedIn(_)));
}

#[tokio::test]
async fn a_correct_password_expires_after_10_minutes_and_serves_once() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (setup, _) = set_up(&world, "ada@example.com").await;
    let waiting = pending(&world, "ada@example.com").await;
    world.clock.advance(10 * MINUTE);
    let late = code(&setup, &world.clock);
    let confirmed = world
        .users
        .confirm_second_factor(waiting.expose(), &late, origin());
    assert!(matches!(confirmed.await, Err(UsersError::SignInExpired)));
    let waiting = pending(&world, "ada@example.com").await;
    confirm(&world, &waiting, &late).await;
    let again = world
        .users
        .confirm_second_factor(waiting.expose(), &late, origin());
    assert!(matches!(again.await, Err(UsersError::SignInExpired)));
}

#[tokio::test]
async fn wrong_codes_slow_down_although_the_password_is_correct_each_time() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    set_up(&world, "ada@example.com").await;
    let mut refused = 0;
    let mut delayed = false;
    for _ in 0..10 {
        let SignIn::NeedsTotp(pending) = world.sign_in("ada@example.com", PASSWORD).await else {
            delayed = true;
            break;
        };
        match confirm(&world, &pending, "000000").await {
            SignIn::Refused => refused += 1,
            SignIn::TooMany { .. } => delayed = true,
            other => panic!("{other:?}"),
        }
    }
    assert!(delayed && refused <= 4, "{refused} guesses without a delay");
}

#[tokio::test]
async fn a_recovery_code_signs_in_once() {
    let world = World::with_second_factor().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let (_, first) = set_up(&world, "ada@example.com").await;
    let recovery = first.codes.0[3].expose().to_uppercase();
    let waiting = pending(&world, "ada@example.com").await;
    let signed_in = confirm(&world, &waiting, &recovery).await;
    assert!(matches!(signed_in, SignIn::SignedIn(_)));
    assert_eq!(world.users.user(ada).unwrap().recovery_codes_left(), 9);
    let waiting = pending(&world, "ada@example.com").await;
    let again = confirm(&world, &waiting, &recovery).await;
    assert!(matches!(again, SignIn::Refused));
    let empty = confirm(&world, &waiting, "").await;
    assert!(matches!(empty, SignIn::Refused));
}

#[tokio::test]
async fn a_reset_of_the_password_never_skips_the_second_factor() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (_, first) = set_up(&world, "ada@example.com").await;
    let link = world.users.request_reset("ada@example.com", origin());
    let link = link.await.unwrap().unwrap();
    let other = "another long password";
    let reset = world
        .users
        .reset_password(link.token.expose(), Secret::from(other), origin());
    reset.await.unwrap();
    assert!(world.identity(&first.session.token).is_err());
    let result = world.sign_in("ada@example.com", other).await;
    assert!(matches!(result, SignIn::NeedsTotp(_)));
}

#[tokio::test]
async fn a_sign_in_link_does_not_replace_the_second_factor() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    set_up(&world, "ada@example.com").await;
    let link = world.users.create_sign_in_link("ada@example.com", origin());
    let link = link.await.unwrap();
    let token = link.token.expose();
    let result = world.users.sign_in_with_link(token, origin()).await;
    assert!(matches!(result.unwrap(), SignIn::NeedsTotp(_)));
    let again = world.users.sign_in_with_link(token, origin()).await;
    assert!(matches!(again, Err(UsersError::LinkExpired)));
}

#[tokio::test]
async fn a_new_second_factor_ends_the_other_sessions_and_the_old_recovery_codes() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let elsewhere = world.session("ada@example.com").await;
    let here = world.session("ada@example.com").await;
    let who = world.identity(&here).unwrap();
    let setup = world.users.begin_setup(&who).unwrap();
    let wrong = world.users.confirm_setup(&who, "000000").await;
    assert!(matches!(wrong, Err(UsersError::WrongFactor)));
    assert!(!world.users.user(ada).unwrap().has_totp());
    let valid = code(&setup, &world.clock);
    let first = world.users.confirm_setup(&who, &valid).await.unwrap();
    assert!(world.identity(&elsewhere).is_err());
    let who = world.identity(&here).unwrap();
    let second = world.users.renew_recovery_codes(&who).await.unwrap();
    let waiting = pending(&world, "ada@example.com").await;
    let old = confirm(&world, &waiting, first.0[0].expose()).await;
    assert!(matches!(old, SignIn::Refused));
    let waiting = pending(&world, "ada@example.com").await;
    let new = confirm(&world, &waiting, second.0[0].expose()).await;
    assert!(matches!(new, SignIn::SignedIn(_)));
}

#[tokio::test]
async fn a_second_factor_is_changed_only_soon_after_a_sign_in() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    world.clock.advance(10 * MINUTE);
    let begun = world.users.begin_setup(&who);
    assert!(matches!(
        begun,
        Err(UsersError::Refused(Refusal::NeedsRecentAuthentication))
    ));
    let removed = world.users.remove_second_factor(&who).await;
    assert!(removed.is_err());
}

#[tokio::test]
async fn a_required_second_factor_cannot_be_removed_by_its_user() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (_, first) = set_up(&world, "ada@example.com").await;
    let who = world.identity(&first.session.token).unwrap();
    let removed = world.users.remove_second_factor(&who).await;
    assert!(matches!(removed, Err(UsersError::NotPossible(_))));
}

#[tokio::test]
async fn an_operator_removes_a_lost_second_factor_and_the_user_sets_up_another() {
    let world = World::with_second_factor().await;
    world.operator("root@example.com").await;
    let (_, root) = set_up(&world, "root@example.com").await;
    let ada = world.owner("ada@example.com", ACME).await;
    let (_, lost) = set_up(&world, "ada@example.com").await;
    let who = world.identity(&root.session.token).unwrap();
    let permit = world.permit(&who, Action::ManageInstallationUsers, None);
    let removed = world.users.remove_second_factor_of(&permit, ada);
    removed.await.unwrap();
    assert!(world.identity(&lost.session.token).is_err());
    set_up(&world, "ada@example.com").await;
}

#[tokio::test]
async fn re_authentication_takes_all_factors_and_gives_a_new_token() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (setup, first) = set_up(&world, "ada@example.com").await;
    world.clock.advance(10 * MINUTE);
    let who = world.identity(&first.session.token).unwrap();
    let keys = |who: &Identity| {
        let users = &world.users;
        users.authorize(who, Action::ManageKeys, Some(account(ACME)))
    };
    assert_eq!(keys(&who).err(), Some(Refusal::NeedsRecentAuthentication));
    let factors = |code: Option<String>| Factors {
        first: FirstFactor::Password(Secret::from(PASSWORD)),
        code,
    };
    let without = world.users.reauthenticate(&who, factors(None)).await;
    assert!(matches!(without, Err(UsersError::WrongFactor)));
    let valid = code(&setup, &world.clock);
    let renewed = world.users.reauthenticate(&who, factors(Some(valid)));
    let renewed = renewed.await.unwrap();
    assert!(world.identity(&first.session.token).is_err());
    let who = world.identity(&renewed.token).unwrap();
    keys(&who).unwrap();
    assert_eq!(renewed.session.created_at, first.session.session.created_at);
}

#[tokio::test]
async fn a_set_up_is_shown_again_to_the_sign_in_that_began_it_and_to_no_other() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let mut pending = Vec::new();
    for _ in 0..2 {
        match world.sign_in("ada@example.com", PASSWORD).await {
            SignIn::NeedsTotpSetup(token) => pending.push(token),
            other => panic!("{other:?}"),
        }
    }
    let shown = |at: usize| {
        let setup = world.users.begin_first_setup(pending[at].expose());
        setup.unwrap().secret.expose().clone()
    };
    let first = shown(0);
    assert_eq!(shown(0), first);
    let other = shown(1);
    assert_ne!(other, first);
    // The other one has replaced it.
    assert_ne!(shown(0), first);
}

#[tokio::test]
async fn a_session_without_a_second_factor_ends_when_the_settings_require_one() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    world
        .member("ada@example.com", ACME, "vic@example.com", Role::Viewer)
        .await;
    let ada = world.session("ada@example.com").await;
    let vic = world.session("vic@example.com").await;
    let users = world.restarted(SecondFactor::ByRole).await;
    let ask = |users: &Users, token: &Secret<String>| {
        let who = users.authenticate_session(token.expose(), origin());
        who.err()
    };
    assert_eq!(ask(&users, &ada), Some(Refusal::NotSignedIn));
    assert_eq!(ask(&users, &vic), None);
    let result = users.sign_in("ada@example.com", Secret::from(PASSWORD), origin());
    assert!(matches!(result.await.unwrap(), SignIn::NeedsTotpSetup(_)));
    let users = world.restarted(SecondFactor::All).await;
    assert_eq!(ask(&users, &vic), Some(Refusal::NotSignedIn));
}

#[tokio::test]
async fn wrong_codes_and_passwords_within_a_session_are_recorded() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    world.users.begin_setup(&who).unwrap();
    let wrong = world.users.confirm_setup(&who, "000000").await;
    assert!(matches!(wrong, Err(UsersError::WrongFactor)));
    let factors = Factors {
        first: FirstFactor::Password(Secret::from("wrong password")),
        code: None,
    };
    let wrong = world.users.reauthenticate(&who, factors).await;
    assert!(matches!(wrong, Err(UsersError::WrongFactor)));
    let query = AuditQuery {
        user: Some(ada),
        limit: 2,
        ..AuditQuery::default()
    };
    let page = world.users.audit(&query).await.unwrap();
    let entries = page.entries.iter().rev();
    let entries: Vec<_> = entries.map(|it| (it.action.as_str(), it.result)).collect();
    let refused = AuditResult::Refused;
    assert_eq!(
        entries,
        [("set_up_totp", refused), ("reauthenticate", refused)]
    );
}

#[tokio::test]
async fn a_session_gets_the_same_set_up_again_after_a_wrong_code_and_no_other_session_does() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let here = world.signed_in("ada@example.com").await;
    let elsewhere = world.signed_in("ada@example.com").await;
    let shown = |who: &Identity| world.users.begin_setup(who).unwrap();
    let first = shown(&here);
    let wrong = world.users.confirm_setup(&here, "12345").await;
    assert!(matches!(wrong, Err(UsersError::WrongFactor)));
    assert_eq!(shown(&here).secret.expose(), first.secret.expose());
    let valid = code(&first, &world.clock);
    let foreign = world.users.confirm_setup(&elsewhere, &valid).await;
    assert!(matches!(foreign, Err(UsersError::SignInExpired)));
    world.users.confirm_setup(&here, &valid).await.unwrap();
    assert!(world.users.user(ada).unwrap().has_totp());
    assert_ne!(shown(&here).secret.expose(), first.secret.expose());
}

#[tokio::test]
async fn a_second_factor_is_replaced_and_the_old_authenticator_ends() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let (old, first) = set_up(&world, "ada@example.com").await;
    let who = world.identity(&first.session.token).unwrap();
    let new = world.users.begin_setup(&who).unwrap();
    let valid = code(&new, &world.clock);
    world.users.confirm_setup(&who, &valid).await.unwrap();
    world.clock.advance(MINUTE);
    let waiting = pending(&world, "ada@example.com").await;
    let refused = confirm(&world, &waiting, &code(&old, &world.clock)).await;
    assert!(matches!(refused, SignIn::Refused));
    let signed_in = confirm(&world, &waiting, &code(&new, &world.clock)).await;
    assert!(matches!(signed_in, SignIn::SignedIn(_)));
}

#[tokio::test]
async fn re_authentication_without_a_second_factor_takes_the_password() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    world.clock.advance(10 * MINUTE);
    let who = world.identity(&token).unwrap();
    let factors = |password: &str| Factors {
        first: FirstFactor::Password(Secret::from(password)),
        code: None,
    };
    let change = |who: &Identity| {
        let users = world.users.clone();
        let who = who.clone();
        async move {
            let password = Secret::from("another long password");
            users.change_password(&who, password).await
        }
    };
    let late = Refusal::NeedsRecentAuthentication;
    assert!(matches!(change(&who).await, Err(UsersError::Refused(it)) if it == late));
    let wrong = world.users.reauthenticate(&who, factors("wrong")).await;
    assert!(matches!(wrong, Err(UsersError::WrongFactor)));
    let team = |who: &Identity| {
        let users = &world.users;
        users.authorize(who, Action::ManageTeam, Some(account(ACME)))
    };
    assert_eq!(team(&who).err(), Some(late));
    let renewed = world.users.reauthenticate(&who, factors(PASSWORD)).await;
    let renewed = world.identity(&renewed.unwrap().token).unwrap();
    team(&renewed).unwrap();
    change(&renewed).await.unwrap();
}

#[tokio::test]
async fn wrong_re_authentications_slow_down_and_end_no_session() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let token = world.session("ada@example.com").await;
    let who = world.identity(&token).unwrap();
    let mut delayed = false;
    for _ in 0..5 {
        let factors = Factors {
            first: FirstFactor::Password(Secret::from("wrong password")),
            code: None,
        };
        match world.users.reauthenticate(&who, factors).await {
            Err(UsersError::WrongFactor) => {}
            Err(UsersError::TooMany(_)) => delayed = true,
            other => panic!("{other:?}"),
        }
    }
    assert!(delayed);
    world.identity(&token).unwrap();
}

#[tokio::test]
async fn a_recovery_code_re_authenticates_once() {
    let world = World::with_second_factor().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let (_, first) = set_up(&world, "ada@example.com").await;
    let factors = || Factors {
        first: FirstFactor::Password(Secret::from(PASSWORD)),
        code: Some(first.codes.0[0].expose().clone()),
    };
    let who = world.identity(&first.session.token).unwrap();
    let renewed = world.users.reauthenticate(&who, factors()).await.unwrap();
    assert_eq!(world.users.user(ada).unwrap().recovery_codes_left(), 9);
    let who = world.identity(&renewed.token).unwrap();
    let again = world.users.reauthenticate(&who, factors()).await;
    assert!(matches!(again, Err(UsersError::WrongFactor)));
}
