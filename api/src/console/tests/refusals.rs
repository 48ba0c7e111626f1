//! Refusals of the engine on the pages of a reader whose language is not English.

use axum::http::StatusCode;

use super::World;

impl World {
    /// The reader's cookies with French chosen.
    async fn french(&self, cookie: &str) -> String {
        let chosen = self.get("/console/account?lang=fr", cookie).await;
        format!("{cookie}; {}", chosen.cookie())
    }
}

#[tokio::test]
async fn a_french_reader_gets_refusals_in_french() {
    let (world, operator) = World::with_operator().await;
    world.user("ada@example.com", Some(world.account())).await;
    let owner = world.signed_in("ada@example.com").await;
    let (owner, operator) = (world.french(&owner).await, world.french(&operator).await);
    let webhooks = world.in_app("webhooks/new");
    let keys = world.in_app("keys/new");
    let accounts = "/console/installation/accounts".to_owned();
    let account = world.account().to_string();
    let long = "x".repeat(101);
    let event = ("event", "payment.success");
    for (path, cookie, fields, french, english) in [
        (
            &webhooks,
            &owner,
            vec![("url", "https://ada:pw@shop.example/"), event],
            "retirez-les",
            "take them out",
        ),
        (
            &webhooks,
            &owner,
            vec![("url", "https://127.0.0.1/hook"), event],
            "127.0.0.1 n’est pas une adresse publique",
            "public addresses",
        ),
        (
            &webhooks,
            &owner,
            vec![("url", "ftp://shop.example/"), event],
            "Seules les adresses en https://",
            "begins with",
        ),
        (
            &keys,
            &owner,
            vec![("kind", "secret"), ("name", &*long)],
            "Le nom tient sur une ligne",
            "characters on one line",
        ),
        (
            &accounts,
            &operator,
            vec![("do", "account"), ("name", &*long)],
            "Le nom tient sur une ligne",
            "characters on one line",
        ),
        (
            &accounts,
            &operator,
            vec![
                ("do", "app"),
                ("account", &*account),
                ("name", "Shop"),
                ("website_url", "shop"),
            ],
            "Ce n’est pas une adresse web",
            "not a url",
        ),
    ] {
        let page = world.get(path, cookie).await;
        let refused = world.submit(&page, path, cookie, &fields).await;
        let body = refused.body.replace("&#39;", "’");
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
        assert!(body.contains(french), "{path}: {french}");
        assert!(!body.contains(english), "{path}: {english}");
    }
}
