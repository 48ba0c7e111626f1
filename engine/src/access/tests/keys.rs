//! Keys and tokens: what opens what, and for how long.

use std::time::Duration;

use super::*;
use switchyard_core::secret::Secret;

#[tokio::test]
async fn a_key_opens_its_app_in_its_environment_and_survives_a_restart() {
    let world = World::new().await;
    let app = world.app().await;
    for environment in [Environment::Sandbox, Environment::Live] {
        for kind in [KeyKind::Secret, KeyKind::Public] {
            let new = world
                .access
                .create_key(app, environment, kind, None)
                .await
                .unwrap();
            for access in [world.access.clone(), world.restarted().await] {
                let caller = access.authenticate(new.secret.expose()).unwrap();
                assert_eq!(
                    (caller.app.id, caller.environment, caller.kind, caller.key),
                    (app, environment, kind, new.key.id)
                );
            }
        }
    }
    assert_eq!(world.access.keys(app).unwrap().len(), 4);
}

#[tokio::test]
async fn what_is_stored_of_a_key_does_not_contain_it() {
    let world = World::new().await;
    let app = world.app().await;
    let new = world
        .access
        .create_key(app, Environment::Live, KeyKind::Secret, None)
        .await
        .unwrap();
    let row = serde_json::to_string(&*new.key).unwrap();
    let random = &new.secret.expose()[new.key.prefix.len()..][..32];
    assert!(
        !row.contains(random) && row.contains(&Fingerprint::of(new.secret.expose()).to_string())
    );
    assert!(!format!("{new:?}").contains(random));
}

#[tokio::test]
async fn malformed_unknown_deleted_and_operator_tokens_open_nothing() {
    let world = World::new().await;
    let app = world.app().await;
    let access = &world.access;
    assert_eq!(
        access.authenticate("").unwrap_err(),
        Unauthorized::Malformed
    );
    assert_eq!(
        access.authenticate("switchyard_sk_test_x").unwrap_err(),
        Unauthorized::Malformed
    );
    let stranger = token::make(
        TokenForm::Key(KeyKind::Secret, Environment::Live),
        "switchyard",
        &Ids::system(),
    );
    assert_eq!(
        access.authenticate(stranger.token.expose()).unwrap_err(),
        Unauthorized::Unknown
    );

    let operator = access.create_operator_token("ops", None).await.unwrap();
    assert_eq!(
        access.authenticate(operator.secret.expose()).unwrap_err(),
        Unauthorized::Malformed
    );
    let new = access
        .create_key(app, Environment::Sandbox, KeyKind::Secret, None)
        .await
        .unwrap();
    assert_eq!(
        access
            .authenticate_operator(new.secret.expose())
            .unwrap_err(),
        Unauthorized::Malformed
    );

    access.delete_key(new.key.id).await.unwrap();
    assert_eq!(
        access.authenticate(new.secret.expose()).unwrap_err(),
        Unauthorized::Unknown
    );
    assert_eq!(
        world
            .restarted()
            .await
            .authenticate(new.secret.expose())
            .unwrap_err(),
        Unauthorized::Unknown
    );
}

#[tokio::test]
async fn a_disabled_app_has_no_valid_key_until_it_is_enabled_again() {
    let world = World::new().await;
    let app = world.app().await;
    let new = world
        .access
        .create_key(app, Environment::Sandbox, KeyKind::Secret, None)
        .await
        .unwrap();
    let switch = |on| AppChange {
        is_enabled: Some(on),
        ..AppChange::default()
    };
    world.access.update_app(app, switch(false)).await.unwrap();
    assert_eq!(
        world.access.authenticate(new.secret.expose()).unwrap_err(),
        Unauthorized::AppDisabled
    );
    world.access.update_app(app, switch(true)).await.unwrap();
    assert!(world.access.authenticate(new.secret.expose()).is_ok());
}

#[tokio::test]
async fn a_rolled_key_is_valid_until_its_grace_period_is_over() {
    let world = World::new().await;
    let app = world.app().await;
    let old = world
        .access
        .create_key(
            app,
            Environment::Live,
            KeyKind::Secret,
            Some("server".to_owned()),
        )
        .await
        .unwrap();
    let hour = Duration::from_secs(3_600);
    let new = world.access.roll_key(old.key.id, hour).await.unwrap();
    assert_eq!(
        (new.key.environment, new.key.kind, new.key.name.as_deref()),
        (Environment::Live, KeyKind::Secret, Some("server"))
    );
    assert!(world.access.authenticate(old.secret.expose()).is_ok());
    assert!(world.access.authenticate(new.secret.expose()).is_ok());

    world.clock.advance(hour);
    assert_eq!(
        world.access.authenticate(old.secret.expose()).unwrap_err(),
        Unauthorized::Expired
    );
    assert_eq!(
        world
            .restarted()
            .await
            .authenticate(old.secret.expose())
            .unwrap_err(),
        Unauthorized::Expired
    );
    assert_eq!(world.access.keys(app).unwrap().len(), 1);
    assert!(matches!(
        world.access.roll_key(old.key.id, hour).await,
        Err(AccessError::NotFound { .. })
    ));

    let newest = world
        .access
        .roll_key(new.key.id, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(
        world.access.authenticate(new.secret.expose()).unwrap_err(),
        Unauthorized::Unknown
    );
    assert_eq!(
        world.access.authenticate(old.secret.expose()).unwrap_err(),
        Unauthorized::Unknown
    );
    assert!(world.access.authenticate(newest.secret.expose()).is_ok());
    let refused = world
        .access
        .roll_key(newest.key.id, Duration::from_secs(31 * 86_400))
        .await;
    assert!(matches!(
        refused,
        Err(AccessError::Invalid { field: "grace", .. })
    ));
}

#[tokio::test]
async fn rolling_a_rolled_key_never_prolongs_it() {
    let world = World::new().await;
    let app = world.app().await;
    let old = world
        .access
        .create_key(app, Environment::Live, KeyKind::Secret, None)
        .await
        .unwrap();
    world
        .access
        .roll_key(old.key.id, Duration::from_secs(60))
        .await
        .unwrap();
    world
        .access
        .roll_key(old.key.id, Duration::from_secs(3_600))
        .await
        .unwrap();
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(
        world.access.authenticate(old.secret.expose()).unwrap_err(),
        Unauthorized::Expired
    );
}

#[tokio::test]
async fn a_list_says_when_a_key_was_last_used() {
    let world = World::new().await;
    let app = world.app().await;
    let new = world
        .access
        .create_key(app, Environment::Sandbox, KeyKind::Public, None)
        .await
        .unwrap();
    assert_eq!(world.access.key(new.key.id).unwrap().last_used_at, None);
    world.clock.advance(Duration::from_secs(5));
    world.access.authenticate(new.secret.expose()).unwrap();
    assert_eq!(
        world.access.key(new.key.id).unwrap().last_used_at,
        Some(world.clock.now())
    );
}

#[tokio::test]
async fn the_121st_request_of_a_key_in_a_minute_is_refused() {
    let world = World::new().await;
    let app = world.app().await;
    let key = world
        .access
        .create_key(app, Environment::Sandbox, KeyKind::Secret, None)
        .await
        .unwrap();
    let caller = world.access.authenticate(key.secret.expose()).unwrap();
    assert!((0..120).all(|_| world.access.allow(&caller, None).allowed));
    assert_eq!(world.access.allow(&caller, None).retry_after, Some(60));
}

#[tokio::test]
async fn development_mode_uses_the_same_keys_again_and_replaces_lost_ones() {
    let world = World::new().await;
    let first = world.access.seed_development(None).await.unwrap();
    assert_eq!(first.made, 5);
    let access = world.restarted().await;
    let again = access
        .seed_development(Some(first.keys.clone()))
        .await
        .unwrap();
    assert_eq!(again.made, 0);
    assert_eq!(
        again.keys.live_secret_key.expose(),
        first.keys.live_secret_key.expose()
    );
    access
        .authenticate_operator(again.keys.operator_token.expose())
        .unwrap();

    let mut damaged = first.keys.clone();
    damaged.sandbox_secret_key = damaged.live_secret_key.clone();
    let repaired = access.seed_development(Some(damaged)).await.unwrap();
    assert_eq!(repaired.made, 1);
    let caller = access
        .authenticate(repaired.keys.sandbox_secret_key.expose())
        .unwrap();
    assert_eq!(
        (caller.environment, caller.kind),
        (Environment::Sandbox, KeyKind::Secret)
    );
    assert_eq!(
        access.seed_development(None).await.unwrap().keys.app,
        first.keys.app
    );
    assert_eq!(access.apps(None).len(), 1);
}

#[tokio::test]
async fn a_token_of_the_settings_opens_the_operator_api_until_it_is_taken_out() {
    let world = World::new().await;
    let (token, setting) = make_for_settings("switchyard", &Ids::system());
    assert!(world.access.authenticate_operator(token.expose()).is_err());
    let named = SettingsToken::parse(&format!("ada:{setting}")).unwrap();
    let options = Options {
        operator_tokens: vec![named],
        ..Options::default()
    };
    let vault = Vault::new(&world.master, Ids::system());
    let access = Access::load(
        world.store.clone(),
        vault,
        world.clock.clone(),
        Ids::system(),
        options,
    )
    .await
    .unwrap();
    assert_eq!(
        access.authenticate_operator(token.expose()).unwrap().name,
        "ada"
    );

    let made = access.create_operator_token("ops", None).await.unwrap();
    assert_eq!(
        access
            .authenticate_operator(made.secret.expose())
            .unwrap()
            .name,
        "ops"
    );
    access.delete_operator_token(made.token.id).await.unwrap();
    assert_eq!(
        access
            .authenticate_operator(made.secret.expose())
            .unwrap_err(),
        Unauthorized::Unknown
    );
}

#[tokio::test]
async fn each_operator_token_has_a_name_of_its_own_and_the_origin_of_the_one_that_made_it() {
    let world = World::new().await;
    let (ada, setting) = make_for_settings("switchyard", &Ids::system());
    let options = || Options {
        operator_tokens: vec![SettingsToken::parse(&format!("Ada:{setting}")).unwrap()],
        ..Options::default()
    };
    let vault = || Vault::new(&world.master, Ids::system());
    let load = async |options| {
        let (store, clock) = (world.store.clone(), world.clock.clone());
        Access::load(store, vault(), clock, Ids::system(), options).await
    };
    let access = load(options()).await.unwrap();
    let ada = access.authenticate_operator(ada.expose()).unwrap();
    let bo = access
        .create_operator_token("bo", Some(&ada))
        .await
        .unwrap();
    let made = bo.secret;
    let bo = access.authenticate_operator(made.expose()).unwrap();
    let cy = access.create_operator_token("cy", Some(&bo)).await.unwrap();
    let cy = access.authenticate_operator(cy.secret.expose()).unwrap();
    assert_eq!([&bo.origin, &cy.origin], [&ada.origin; 2]);
    for taken in ["bo", " BO ", "ada", "engine"] {
        let refused = access.create_operator_token(taken, Some(&ada)).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("name is taken"), "{taken}: {refused}");
    }
    // Of a token that the settings name no more nothing descends that could approve anything.
    let without = load(Options::default()).await.unwrap();
    let of_nobody = without.authenticate_operator(made.expose()).unwrap();
    assert_eq!(of_nobody.origin, "");
    // A name that only the settings give later is refused at the start.
    let mut later = options();
    later.operator_tokens[0].name = "cy".to_owned();
    let refused = load(later).await.err().unwrap().to_string();
    assert!(refused.contains("choose another name"), "{refused}");
}

#[tokio::test]
async fn tokens_without_the_one_that_made_them_are_found_and_revoked_with_all_that_they_made() {
    let world = World::new().await;
    let load = async |tokens: &[&String]| {
        let named = tokens
            .iter()
            .map(|text| SettingsToken::parse(text).unwrap());
        let options = Options {
            operator_tokens: named.collect(),
            ..Options::default()
        };
        let vault = Vault::new(&world.master, Ids::system());
        let (store, clock) = (world.store.clone(), world.clock.clone());
        Access::load(store, vault, clock, Ids::system(), options)
            .await
            .unwrap()
    };
    let (secret, hash) = make_for_settings("switchyard", &Ids::system());
    let ada_in_settings = format!("ada:{hash}");
    let (other, hash) = make_for_settings("switchyard", &Ids::system());
    let dee_in_settings = format!("dee:{hash}");
    let access = load(&[&ada_in_settings, &dee_in_settings]).await;
    let create = async |access: &Access, name: &str, by: &Secret<String>| {
        let by = access.authenticate_operator(by.expose()).unwrap();
        let made = access.create_operator_token(name, Some(&by)).await.unwrap();
        assert_eq!(made.token.made_by.as_ref().unwrap().name, by.name);
        made.secret
    };
    let bo = create(&access, "bo", &secret).await;
    let cy = create(&access, "cy", &bo).await;
    let fay = create(&access, "fay", &cy).await;
    create(&access, "eve", &other).await;
    let lost = |access: &Access| {
        let tokens = access.operator_tokens();
        let lost = tokens
            .iter()
            .filter(|token| access.has_lost_its_maker(token));
        lost.map(|token| token.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(lost(&access), Vec::<String>::new());

    // Another token of the same name is not the one that made them.
    let (_, hash) = make_for_settings("switchyard", &Ids::system());
    let access = load(&[&format!("ada:{hash}"), &dee_in_settings]).await;
    assert_eq!(lost(&access), ["bo"]);
    assert!(access.authenticate_operator(bo.expose()).is_ok());
    // The descendants of a deleted token are found, too.
    let tokens = access.operator_tokens();
    let of_cy = tokens.iter().find(|token| token.name == "cy").unwrap();
    access.delete_operator_token(of_cy.id).await.unwrap();
    assert!(access.authenticate_operator(fay.expose()).is_ok());
    let unknown = access.revoke_tokens_made_by("adda").await.unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no operator token made by adda"
    );
    let revoked = access.revoke_tokens_made_by(" Ada ").await.unwrap();
    let mut names: Vec<_> = revoked.iter().map(|token| token.name.as_str()).collect();
    // Both may be of one millisecond, which orders them by chance.
    names.sort_unstable();
    assert_eq!(names, ["bo", "fay"]);
    for access in [access, load(&[&dee_in_settings]).await] {
        assert!(access.authenticate_operator(bo.expose()).is_err());
        assert!(access.authenticate_operator(fay.expose()).is_err());
        let left = access.operator_tokens();
        let left: Vec<_> = left.iter().map(|token| token.name.as_str()).collect();
        assert_eq!(left, ["eve"]);
    }
}

#[tokio::test]
async fn a_token_has_a_bounded_number_of_ancestors() {
    let world = World::new().await;
    let made = world.access.create_operator_token("t0", None).await;
    let mut secret = made.unwrap().secret;
    for n in 1..=9 {
        let by = world.access.authenticate_operator(secret.expose()).unwrap();
        let name = format!("t{n}");
        match world.access.create_operator_token(&name, Some(&by)).await {
            Ok(made) => secret = made.secret,
            Err(error) => {
                assert_eq!(n, 9);
                assert!(error.to_string().contains("has 8 ancestors"), "{error}");
                return;
            }
        }
    }
    panic!("no limit on the ancestors of a token");
}

#[test]
fn a_token_of_the_settings_has_a_name() {
    let hash = Fingerprint::of("x");
    let name = |text: &str| SettingsToken::parse(text).map(|token| token.name);
    assert_eq!(name(&format!("ada:sha256:{hash}")).as_deref(), Some("ada"));
    let unnamed = format!("settings-{:.8}", hash.to_string());
    assert_eq!(name(&format!("sha256:{hash}")), Some(unnamed));
    for other in [
        format!("ada sha256:{hash}"),
        format!(":sha256:{hash}"),
        hash.to_string(),
    ] {
        assert_eq!(name(&other), None, "{other}");
    }
}
