//! Sign-in by password, and how it slows down.

use super::*;

#[tokio::test]
async fn a_password_signs_in_and_the_session_names_its_user() {
    let world = World::new().await;
    let ada = world.owner("Ada@example.com", ACME).await;
    let who = world.signed_in(" ada@EXAMPLE.com").await;
    assert_eq!(who.user.id, ada);
    assert_eq!(who.user.email, "Ada@example.com");
    let user = world.users.user(ada).unwrap();
    assert_eq!(user.last_sign_in_at, Some(world.clock.now()));
}

#[tokio::test]
async fn wrong_passwords_and_unknown_users_get_the_same_answer_and_entry() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    for (email, password) in [
        ("ada@example.com", "wrong password"),
        ("eve@example.com", PASSWORD),
        ("ada@example.com", ""),
        ("", ""),
    ] {
        let result = world.sign_in(email, password).await;
        assert!(matches!(result, SignIn::Refused), "{email} {result:?}");
    }
    let actions = world.actions().await;
    let refused = actions.iter().filter(|action| *action == "sign_in");
    assert_eq!(refused.count(), 4);
}

#[tokio::test]
async fn an_invited_user_cannot_sign_in() {
    let world = World::new().await;
    let new = person("ada@example.com", Role::Owner);
    let link = world.users.invite_first(Some(account(ACME)), new, origin());
    link.await.unwrap();
    let result = world.sign_in("ada@example.com", "").await;
    assert!(matches!(result, SignIn::Refused));
}

#[tokio::test]
async fn sign_in_slows_down_for_known_and_unknown_addresses_alike() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    for (email, client) in [("ada@example.com", 20), ("eve@example.com", 40)] {
        let mut waits = Vec::new();
        for n in 0..8 {
            let password = Secret::from("wrong password");
            // Each from another client: the address of the user alone counts.
            let result = world.users.sign_in(email, password, from(client + n));
            match result.await.unwrap() {
                SignIn::TooMany { retry_after } => {
                    waits.push(retry_after.as_secs());
                    world.clock.advance(retry_after);
                }
                SignIn::Refused => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(waits, [1, 2], "{email}");
    }
    world.clock.advance(4 * MINUTE);
    world.signed_in("ada@example.com").await;
}

#[tokio::test]
async fn nobody_is_locked_out_for_longer_than_15_minutes() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    for n in 0..100 {
        world.sign_in("ada@example.com", "wrong password").await;
        world.clock.advance(Duration::from_secs(n * 30));
    }
    world.sign_in("ada@example.com", "wrong password").await;
    world.clock.advance(15 * MINUTE);
    world.signed_in("ada@example.com").await;
    world.signed_in("ada@example.com").await;
}

#[tokio::test]
async fn complete_sign_ins_of_many_users_behind_one_address_are_not_slowed_down() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    for _ in 0..30 {
        world.signed_in("ada@example.com").await;
    }
}

#[tokio::test]
async fn concurrent_guesses_count_before_their_results_are_known() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let guesses: Vec<_> = (0..20)
        .map(|n| {
            let users = world.users.clone();
            tokio::spawn(async move {
                let guess = Secret::new(format!("wrong password {n}"));
                let result = users.sign_in("ada@example.com", guess, from(n));
                matches!(result.await.unwrap(), SignIn::Refused)
            })
        })
        .collect();
    let mut checked = 0;
    for guess in guesses {
        checked += usize::from(guess.await.unwrap());
    }
    assert_eq!(checked, 4);
}

#[tokio::test]
async fn a_sign_in_that_began_before_a_password_reset_gets_no_session() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let SignIn::NeedsTotpSetup(pending) = world.sign_in("ada@example.com", PASSWORD).await else {
        panic!("owners need a second factor");
    };
    let setup = world.users.begin_first_setup(pending.expose()).unwrap();
    let link = world.users.request_reset("ada@example.com", origin());
    let link = link.await.unwrap().unwrap();
    let other = Secret::from("another long password");
    let reset = world
        .users
        .reset_password(link.token.expose(), other, origin());
    reset.await.unwrap();
    let code = code(&setup, &world.clock);
    let confirmed = world
        .users
        .confirm_first_setup(pending.expose(), &code, origin());
    assert!(matches!(confirmed.await, Err(UsersError::SignInExpired)));
    assert!(matches!(
        world.sign_in("ada@example.com", PASSWORD).await,
        SignIn::Refused
    ));
}

#[tokio::test]
async fn failed_sign_ins_write_few_entries_an_hour_and_the_last_has_their_count() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let refused = async || {
        let query = AuditQuery {
            action: Some("sign_in".to_owned()),
            limit: 200,
            ..AuditQuery::default()
        };
        let entries = world.users.audit(&query).await.unwrap().entries;
        entries
            .into_iter()
            .filter(|entry| entry.result == AuditResult::Refused)
            .collect::<Vec<_>>()
    };
    // One client with many e-mail addresses, and many clients with one. The throttle, which would
    // slow both down, is of other tests.
    for n in 0..60 {
        let one_client = (format!("user{n}@example.com"), from(1));
        let one_address = ("ada@example.com".to_owned(), from(2 + n));
        for (email, origin) in [one_client, one_address] {
            let recorded = world.users.record_failure("sign_in", &email, None, origin);
            recorded.await.unwrap();
        }
    }
    assert_eq!(refused().await.len(), 2 * 19);
    world.clock.advance(HOUR);
    world.users.purge_expired().await.unwrap();
    let entries = refused().await;
    assert_eq!(entries.len(), 2 * 20);
    for entry in &entries[..2] {
        assert_eq!(entry.after["refusals"], 60 - 19);
    }
}

#[tokio::test]
async fn a_flood_of_failed_sign_ins_hashes_and_ends_without_the_lock_of_changes() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    for n in 0..20 {
        let email = format!("user{n}@example.com");
        let recorded = world
            .users
            .record_failure("sign_in", &email, None, origin());
        recorded.await.unwrap();
    }
    let gate = world.users.gate().await;
    let refused = world.sign_in("eve@example.com", "wrong password");
    let refused = tokio::time::timeout(Duration::from_secs(20), refused).await;
    assert!(matches!(refused, Ok(SignIn::Refused)));
    drop(gate);
}
