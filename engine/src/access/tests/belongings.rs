//! Settings, webhooks and branding of an app, and their changes.

use super::*;
use switchyard_core::secret::Secret;

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
    assert_eq!(changed.config_changed_at, live.created_at);
    access
        .begin_deletion(live.id)
        .await
        .unwrap()
        .commit()
        .await
        .unwrap();
    assert_eq!(access.connection(live.id), None);
}

#[tokio::test]
async fn a_connection_knows_since_when_its_config_is_what_it_is() {
    let world = World::new().await;
    let app = world.app().await;
    let new = new_connection(app, Environment::Live);
    let same = new.config.clone();
    let live = world.access.create_connection(new).await.unwrap();
    assert_eq!(live.config_changed_at, live.created_at);
    let other = serde_json::json!({ "api_key": "of another account" });
    for (config, is_changed) in [(same, false), (other, true)] {
        world.clock.advance(std::time::Duration::from_secs(60));
        let change = ConnectionChange {
            config: Some(config),
            ..ConnectionChange::default()
        };
        let changed = world
            .access
            .update_connection(live.id, change)
            .await
            .unwrap();
        let expected = match is_changed {
            true => world.clock.now(),
            false => live.created_at,
        };
        assert_eq!(changed.config_changed_at, expected);
    }
    let mut row = serde_json::to_value(&*live).unwrap();
    row.as_object_mut().unwrap().remove("config_changed_at");
    let old: Connection = serde_json::from_value(row).unwrap();
    assert_eq!(old.config_changed_at, Timestamp::default());
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
    assert_eq!(
        before.settings.checkout_attempts, 3,
        "unless the merchant chooses"
    );
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
async fn two_changes_of_settings_at_once_are_both_kept() {
    let world = World::new().await;
    let account = world.access.create_account("Acme").await.unwrap();
    let app = world.access.create_app(new_app(account.id)).await.unwrap();
    let change = |change: fn(&mut AppSettings)| {
        world.access.update_app_as(app.id, move |app| {
            let mut settings = app.settings.clone();
            change(&mut settings);
            Ok::<_, AccessError>(AppChange {
                settings: Some(settings),
                ..AppChange::default()
            })
        })
    };
    let (one, other) = tokio::join!(
        change(|settings| settings.unsafe_payouts_with_public_key = true),
        change(|settings| settings.checkout_attempts = 5),
    );
    one.unwrap();
    other.unwrap();
    let settings = world.access.app(app.id).unwrap().settings.clone();
    assert!(settings.unsafe_payouts_with_public_key);
    assert_eq!(settings.checkout_attempts, 5);
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
