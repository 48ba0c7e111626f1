//! Own account: name, password, second factor, and a forgotten password.

use std::time::Duration;

use axum::http::StatusCode;
use switchyard_engine::engine::EngineSettings;
use switchyard_engine::mail::MailSettings;
use switchyard_engine::testing::TestEngineBuilder;
use switchyard_gateway_host::Gateways;
use switchyard_users::SecondFactor;

use super::{PASSWORD, Shown, World};

const NEW: &str = "another set of quiet words";
const ACCOUNT: &str = "/console/account";

impl World {
    /// Status of a sign-in with a password.
    async fn sign_in_with(&self, password: &str) -> StatusCode {
        let fields = [("email", "ada@example.com"), ("password", password)];
        self.post("/console/sign-in", "", &fields).await.status
    }
}

#[tokio::test]
async fn a_new_password_ends_the_other_sessions_and_the_old_password() {
    let (world, cookie) = World::with_owner().await;
    let other = world.signed_in("ada@example.com").await;
    let path = "/console/account/password";
    let page = world.get(path, &cookie).await;
    let short = world
        .submit(&page, path, &cookie, &[("password", "too short")])
        .await;
    assert_eq!(short.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(short.body.contains("fewer than 12 characters"));
    let saved = world
        .submit(&short, path, &cookie, &[("password", NEW)])
        .await;
    assert_eq!(saved.leads_to(), "/console/account?done=password-saved");
    assert_eq!(world.get(ACCOUNT, &cookie).await.status, StatusCode::OK);
    let ended = world.get(ACCOUNT, &other).await;
    assert_eq!(ended.status, StatusCode::SEE_OTHER);
    assert_eq!(world.sign_in_with(PASSWORD).await, StatusCode::UNAUTHORIZED);
    assert_eq!(world.sign_in_with(NEW).await, StatusCode::SEE_OTHER);
    assert!(
        world
            .audited()
            .await
            .contains(&"change_password".to_owned())
    );
}

#[tokio::test]
async fn password_and_second_factor_need_the_present_password_after_ten_minutes() {
    let (world, cookie) = World::with_owner().await;
    let page = world.get("/console/account/password", &cookie).await;
    world.test.clock.advance(Duration::from_secs(601));
    for path in [
        "/console/account/password",
        "/console/account/second-factor",
    ] {
        let shown = world.get(path, &cookie).await;
        let next = path.replace('/', "%2F");
        assert_eq!(shown.leads_to(), format!("/console/confirm?next={next}"));
        for fields in [[("password", NEW)], [("do", "codes")], [("do", "remove")]] {
            let sent = world.submit(&page, path, &cookie, &fields).await;
            assert!(sent.leads_to().starts_with("/console/confirm"));
        }
    }
    assert_eq!(world.sign_in_with(PASSWORD).await, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn an_authenticator_is_set_up_by_a_code_of_the_shown_key_only() {
    let (world, cookie) = World::with_owner().await;
    let path = "/console/account/second-factor";
    let page = world.get(path, &cookie).await;
    let key = |page: &Shown| {
        let after = page.body.split("<code>").nth(1).expect("the key");
        after.split('<').next().unwrap().to_owned()
    };
    assert!(page.body.contains("<svg") && !page.body.contains("value=\"remove\""));
    let fields = [("do", "set-up"), ("code", "000000")];
    let wrong = world.submit(&page, path, &cookie, &fields).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(key(&wrong), key(&page));
    // Without an authenticator there are no recovery codes.
    let codes = world
        .submit(&wrong, path, &cookie, &[("do", "codes")])
        .await;
    assert_eq!(codes.status, StatusCode::CONFLICT);
    assert!(!codes.body.contains("class=\"codes\""));
}

#[tokio::test]
async fn a_name_and_a_language_are_saved_and_a_wrong_name_stays_as_typed() {
    let (world, cookie) = World::with_owner().await;
    let page = world.get(ACCOUNT, &cookie).await;
    let long = "x".repeat(101);
    let fields = [("name", long.as_str()), ("language", "en")];
    let refused = world.submit(&page, ACCOUNT, &cookie, &fields).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.body.contains(&format!("value=\"{long}\"")));
    let fields = [("name", "Ada Byron"), ("language", "fr")];
    let saved = world.submit(&refused, ACCOUNT, &cookie, &fields).await;
    assert_eq!(saved.leads_to(), "/console/account?done=profile-saved");
    let page = world.get(ACCOUNT, &cookie).await;
    assert!(page.body.contains("value=\"Ada Byron\"") && page.body.contains("lang=\"fr\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_password_is_replaced_by_a_mailed_link_and_strangers_learn_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = EngineSettings {
        mail: MailSettings {
            from: "Switchyard <no-reply@pay.example>".to_owned(),
            folder: Some(folder.path().to_owned()),
            ..MailSettings::default()
        },
        ..EngineSettings::default()
    };
    let wanted = TestEngineBuilder {
        settings,
        ..TestEngineBuilder::with(Gateways::default())
    };
    let world = World::on(wanted, SecondFactor::Optional).await;
    world.user("ada@example.com", Some(world.account())).await;
    let sign_in = world.get("/console/sign-in", "").await;
    let path = "/console/sign-in/forgotten";
    assert!(sign_in.body.contains(path));
    let ask = async |email| {
        let asked = world.post(path, "", &[("email", email)]).await;
        assert_eq!(asked.status, StatusCode::OK);
        asked.body[asked.body.find("<h1>").unwrap()..].to_owned()
    };
    assert_eq!(ask("ada@example.com").await, ask("eve@example.com").await);
    let mail = loop {
        let mut files = std::fs::read_dir(folder.path()).unwrap();
        if let Some(file) = files.next() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            if text.contains("/console/link/") {
                assert!(text.contains("ada@example.com"));
                break text.replace("=\r\n", "");
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let link = mail.split("http://127.0.0.1:8080").nth(1).unwrap();
    let link = link.split_whitespace().next().unwrap();
    let saved = world.post(link, "", &[("password", NEW)]).await;
    assert_eq!(saved.leads_to(), "/console/sign-in");
    assert_eq!(world.sign_in_with(NEW).await, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn without_mails_the_page_names_the_operator_and_makes_no_link() {
    let (world, _) = World::with_owner().await;
    let path = "/console/sign-in/forgotten";
    let page = world.post(path, "", &[("email", "ada@example.com")]).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("Ask its operator"));
    assert!(!world.audited().await.contains(&"request_reset".to_owned()));
}
