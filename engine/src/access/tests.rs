//! The access room as a whole, on a memory store.

use std::time::Duration;

use super::*;
use crate::clock::Timestamp;
use crate::ids::AppId;
use crate::secret::Secret;

struct World {
    access: Access,
    clock: Clock,
    store: Store,
    vault_ids: Ids,
    master: MasterKey,
}

impl World {
    async fn new() -> Self {
        let ids = Ids::seeded(11);
        let clock = Clock::manual(Timestamp::from_seconds(1_800_000_000));
        let master = MasterKey::random(&ids);
        let store = Store::memory();
        let vault = Vault::new(&master, ids.clone());
        let access = Access::load(
            store.clone(),
            vault,
            clock.clone(),
            ids.clone(),
            Options::default(),
        )
        .await
        .unwrap();
        Self {
            access,
            clock,
            store,
            vault_ids: ids,
            master,
        }
    }

    /// The same store, loaded again by another process.
    async fn restarted(&self) -> Access {
        let vault = Vault::new(&self.master, self.vault_ids.clone());
        Access::load(
            self.store.clone(),
            vault,
            self.clock.clone(),
            self.vault_ids.clone(),
            Options::default(),
        )
        .await
        .unwrap()
    }

    async fn app(&self) -> AppId {
        let account = self.access.create_account("Acme").await.unwrap();
        self.access
            .create_app(new_app(account.id))
            .await
            .unwrap()
            .id
    }
}

fn new_app(account: crate::ids::AccountId) -> NewApp {
    NewApp {
        account,
        name: "Shop".to_owned(),
        icon_url: None,
        website_url: None,
        settings: AppSettings::default(),
    }
}

fn new_webhook(app: AppId) -> NewWebhook {
    NewWebhook {
        app,
        url: "https://shop.example/hooks".to_owned(),
        secret: None,
    }
}

fn new_connection(app: AppId, environment: Environment) -> NewConnection {
    NewConnection {
        app,
        environment,
        gateway: "switchyard_demo".to_owned(),
        account_name: "Main".to_owned(),
        methods: None,
        config: serde_json::json!({ "api_key": "very secret" }),
    }
}

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

    let operator = access.create_operator_token("ops").await.unwrap();
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
        .unwrap()
        .key
        .id;
    assert!((0..120).all(|_| world.access.allow(key).allowed));
    assert_eq!(world.access.allow(key).retry_after, Some(60));
}

#[tokio::test]
async fn an_app_has_at_most_15_webhooks_even_when_many_are_made_at_once() {
    let world = World::new().await;
    let app = world.app().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let access = world.access.clone();
        tasks.spawn(async move { access.create_webhook(new_webhook(app)).await.is_ok() });
    }
    let made = tasks
        .join_all()
        .await
        .into_iter()
        .filter(|made| *made)
        .count();
    assert_eq!(made, 15);
    let refusal = world
        .access
        .create_webhook(new_webhook(app))
        .await
        .unwrap_err();
    assert!(matches!(refusal, AccessError::TooManyWebhooks(15)));
    let first = world.access.webhooks(app).unwrap()[0].id;
    world.access.delete_webhook(first).await.unwrap();
    world.access.create_webhook(new_webhook(app)).await.unwrap();
    assert_eq!(world.restarted().await.webhooks(app).unwrap().len(), 15);
}

#[tokio::test]
async fn a_webhook_has_the_chosen_secret_or_one_that_was_made_and_neither_lies_open() {
    let world = World::new().await;
    let app = world.app().await;
    let made = world.access.create_webhook(new_webhook(app)).await.unwrap();
    assert!(
        world
            .access
            .webhook_secret(&made)
            .unwrap()
            .expose()
            .starts_with("whsec_")
    );
    let chosen = NewWebhook {
        secret: Some(Secret::from("my-own-secret")),
        ..new_webhook(app)
    };
    let chosen = world.access.create_webhook(chosen).await.unwrap();
    let again = world.restarted().await;
    assert_eq!(
        again
            .webhook_secret(&again.webhook(chosen.id).unwrap())
            .unwrap()
            .expose(),
        "my-own-secret"
    );
    assert!(
        !serde_json::to_string(&*chosen)
            .unwrap()
            .contains("my-own-secret")
    );
    for bad in ["short", "with a space in it", "tab\tinside-here"] {
        let bad = NewWebhook {
            secret: Some(Secret::from(bad)),
            ..new_webhook(app)
        };
        assert!(matches!(
            world.access.create_webhook(bad).await,
            Err(AccessError::Invalid {
                field: "secret",
                ..
            })
        ));
    }
}

#[tokio::test]
async fn only_enabled_webhooks_are_asked_for_at_an_event() {
    let world = World::new().await;
    let app = world.app().await;
    let one = world.access.create_webhook(new_webhook(app)).await.unwrap();
    let two = world.access.create_webhook(new_webhook(app)).await.unwrap();
    let off = WebhookChange {
        is_enabled: Some(false),
        ..WebhookChange::default()
    };
    world.access.update_webhook(one.id, off).await.unwrap();
    let enabled: Vec<_> = world
        .access
        .enabled_webhooks(app)
        .iter()
        .map(|webhook| webhook.id)
        .collect();
    assert_eq!(enabled, [two.id]);
    assert_eq!(world.restarted().await.enabled_webhooks(app).len(), 1);
}

#[tokio::test]
async fn a_connection_belongs_to_one_environment_and_its_config_is_sealed() {
    let world = World::new().await;
    let app = world.app().await;
    let live = world
        .access
        .create_connection(new_connection(app, Environment::Live))
        .await
        .unwrap();
    assert!(
        world
            .access
            .connections(app, Environment::Sandbox)
            .is_empty()
    );
    let access = world.restarted().await;
    let found = access.connections(app, Environment::Live);
    assert_eq!(found.as_slice(), std::slice::from_ref(&live));
    assert_eq!(
        access.connection_config(&found[0]).unwrap()["api_key"],
        "very secret"
    );
    assert!(
        !serde_json::to_string(&*live)
            .unwrap()
            .contains("very secret")
    );
    let change = ConnectionChange {
        is_enabled: Some(false),
        methods: Some(Some(vec!["mtn_bj".to_owned()])),
        ..ConnectionChange::default()
    };
    let changed = access.update_connection(live.id, change).await.unwrap();
    assert_eq!(
        (changed.is_enabled, changed.config.clone()),
        (false, live.config.clone())
    );
    access.delete_connection(live.id).await.unwrap();
    assert_eq!(access.connection(live.id), None);
}

#[tokio::test]
async fn a_store_does_not_load_under_another_master_key() {
    let world = World::new().await;
    world.app().await;
    let vault = Vault::new(&MasterKey::random(&Ids::system()), Ids::system());
    let refusal = Access::load(
        world.store.clone(),
        vault,
        world.clock.clone(),
        Ids::system(),
        Options::default(),
    )
    .await
    .err()
    .unwrap();
    assert!(matches!(
        refusal,
        AccessError::Vault(VaultError::WrongMasterKey { .. })
    ));
}

#[tokio::test]
async fn settings_out_of_their_bounds_are_refused_and_change_nothing() {
    let world = World::new().await;
    let app = world.app().await;
    let before = world.access.app(app).unwrap();
    for (settings, field) in [
        (
            AppSettings {
                checkout_attempts: 0,
                ..AppSettings::default()
            },
            "settings.checkout_attempts",
        ),
        (
            AppSettings {
                checkout_attempts: 6,
                ..AppSettings::default()
            },
            "settings.checkout_attempts",
        ),
        (
            AppSettings {
                locale: Some("xx".to_owned()),
                ..AppSettings::default()
            },
            "settings.locale",
        ),
        (
            AppSettings {
                merchant_email: Some("nobody".to_owned()),
                ..AppSettings::default()
            },
            "settings.merchant_email",
        ),
    ] {
        let change = AppChange {
            settings: Some(settings),
            ..AppChange::default()
        };
        let refusal = world.access.update_app(app, change).await.unwrap_err();
        assert!(
            matches!(refusal, AccessError::Invalid { field: f, .. } if f == field),
            "{refusal}"
        );
    }
    assert_eq!(world.access.app(app).unwrap(), before);
}

#[tokio::test]
async fn a_caller_that_goes_away_in_the_middle_of_a_change_leaves_memory_and_store_alike() {
    let world = World::new().await;
    let account = world.access.create_account("Acme").await.unwrap();
    let mut change = Box::pin(world.access.create_app(new_app(account.id)));
    let waker = std::task::Waker::noop();
    let polled = change
        .as_mut()
        .poll(&mut std::task::Context::from_waker(waker));
    assert!(polled.is_pending());
    drop(change);
    // The gate is free again only when the change was finished.
    drop(world.access.gate().await);
    assert_eq!(world.access.apps(None), world.restarted().await.apps(None));
    assert_eq!(world.access.apps(None).len(), 1);
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
    let hash = Fingerprint::from_hex(setting.strip_prefix("sha256:").unwrap()).unwrap();
    let options = Options {
        operator_tokens: vec![hash],
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
        "settings"
    );

    let made = access.create_operator_token("ops").await.unwrap();
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
