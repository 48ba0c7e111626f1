//! The access room as a whole, on a memory store.

mod belongings;
mod keys;
mod routing;

use super::*;
use switchyard_core::ids::AppId;
use switchyard_core::time::Timestamp;

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

fn new_app(account: switchyard_core::ids::AccountId) -> NewApp {
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
        options: WebhookOptions::default(),
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
