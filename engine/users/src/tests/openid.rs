//! Sign-in by an OpenID Connect provider, after the identity was verified.

use super::*;

const ISSUER: &str = "https://id.example";

fn identity(subject: &str, email: &str) -> ProviderIdentity {
    ProviderIdentity {
        issuer: ISSUER.to_owned(),
        subject: subject.to_owned(),
        verified_email: (!email.is_empty()).then(|| email.to_owned()),
        has_second_factor: false,
    }
}

fn with_second_factor(subject: &str, email: &str) -> ProviderIdentity {
    ProviderIdentity {
        has_second_factor: true,
        ..identity(subject, email)
    }
}

impl World {
    /// The installation with other settings.
    async fn with_options(self, options: Options) -> Self {
        let loaded = Users::load(
            self.store.clone(),
            Arc::new(PlainSealer),
            self.clock.clone(),
            self.ids.clone(),
            options,
        );
        Self {
            users: loaded.await.unwrap(),
            ..self
        }
    }

    async fn by_provider(&self, identity: &ProviderIdentity) -> SignIn {
        let signed_in = self.users.sign_in_with_identity(identity, origin());
        match signed_in.await.unwrap() {
            ProviderSignIn::Accepted(result) => result,
            ProviderSignIn::Refused(why) => panic!("{why:?}"),
        }
    }

    async fn refused(&self, identity: &ProviderIdentity) -> IdentityRefusal {
        let signed_in = self.users.sign_in_with_identity(identity, origin());
        match signed_in.await.unwrap() {
            ProviderSignIn::Refused(why) => why,
            ProviderSignIn::Accepted(result) => panic!("{result:?}"),
        }
    }

    async fn session_by_provider(&self, identity: &ProviderIdentity) -> Identity {
        match self.by_provider(identity).await {
            SignIn::SignedIn(session) => self.identity(&session.token).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

/// Options with which a second factor of the provider counts.
fn counting() -> Options {
    Options {
        provider_second_factor: true,
        ..options(SecondFactor::ByRole)
    }
}

#[tokio::test]
async fn the_first_sign_in_binds_an_identity_and_later_ones_need_no_email() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let who = world
        .session_by_provider(&identity("1", "ADA@example.com"))
        .await;
    assert_eq!(who.user.id, ada);
    let who = world.session_by_provider(&identity("1", "")).await;
    assert_eq!(who.user.id, ada);
    let other = world.refused(&identity("2", "ada@example.com")).await;
    assert_eq!(other, IdentityRefusal::OtherIdentity);
    let unknown = world.refused(&identity("3", "zoe@example.com")).await;
    assert_eq!(unknown, IdentityRefusal::UnknownUser);
    assert_eq!(world.users.all_users().len(), 1);
    let actions = world.actions().await;
    let ours = actions.iter().filter(|action| action.contains("identity"));
    let ours: Vec<_> = ours.map(String::as_str).collect();
    let sign_in = "sign_in_with_identity";
    assert_eq!(ours, ["bind_identity", sign_in, sign_in, sign_in, sign_in]);
    let restarted = world.restarted(SecondFactor::Optional).await;
    let first = identity("1", "");
    let again = restarted.sign_in_with_identity(&first, origin());
    assert!(matches!(
        again.await.unwrap(),
        ProviderSignIn::Accepted(SignIn::SignedIn(_))
    ));
}

#[tokio::test]
async fn a_user_of_another_provider_is_bound_anew() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    world
        .session_by_provider(&identity("1", "ada@example.com"))
        .await;
    let elsewhere = |email| ProviderIdentity {
        issuer: "https://other.example".to_owned(),
        ..identity("9", email)
    };
    let why = world.refused(&elsewhere("")).await;
    assert_eq!(why, IdentityRefusal::EmailNotVerified);
    let who = world
        .session_by_provider(&elsewhere("ada@example.com"))
        .await;
    assert_eq!(who.user.id, ada);
    let why = world.refused(&identity("1", "")).await;
    assert_eq!(why, IdentityRefusal::EmailNotVerified);
}

#[tokio::test]
async fn a_disabled_user_is_refused_and_bound_anew_when_enabled() {
    let world = World::new().await;
    world.operator("otto@example.com").await;
    let ada = world.owner("ada@example.com", ACME).await;
    let session = world
        .session_by_provider(&identity("1", "ada@example.com"))
        .await;
    let otto = world.signed_in("otto@example.com").await;
    let permit = world.permit(&otto, Action::ManageInstallationUsers, None);
    world.users.disable(&permit, ada).await.unwrap();
    let why = world.refused(&identity("1", "ada@example.com")).await;
    assert_eq!(why, IdentityRefusal::Disabled);
    assert!(world.users.live_user(&session).is_err());
    world.users.enable(&permit, ada).await.unwrap();
    world
        .session_by_provider(&identity("2", "ada@example.com"))
        .await;
}

#[tokio::test]
async fn a_second_factor_is_needed_here_unless_one_of_the_provider_counts() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let strong = with_second_factor("1", "ada@example.com");
    // The settings name no second factor of the provider.
    let result = world.by_provider(&strong).await;
    assert!(matches!(result, SignIn::NeedsTotpSetup(_)));
    let world = world.with_options(counting()).await;
    let who = world.session_by_provider(&strong).await;
    assert!(world.users.live_user(&who).is_ok());
    // The password alone does not replace the second factor of the provider by a new one.
    let result = world.sign_in("ada@example.com", PASSWORD).await;
    assert!(matches!(result, SignIn::Refused));
    let world = world.with_options(options(SecondFactor::ByRole)).await;
    assert!(world.users.live_user(&who).is_err());
}

/// The first factor of the provider must not lead to the set-up of an authenticator.
#[tokio::test]
async fn a_sign_in_without_the_usual_second_factor_of_the_provider_changes_nothing() {
    let world = World::with_second_factor().await;
    let world = world.with_options(counting()).await;
    world.owner("ada@example.com", ACME).await;
    let weak = identity("1", "ada@example.com");
    let SignIn::NeedsTotpSetup(begun) = world.by_provider(&weak).await else {
        panic!("owners need a second factor");
    };
    let setup = world.users.begin_first_setup(begun.expose()).unwrap();
    let strong = with_second_factor("1", "ada@example.com");
    let who = world.session_by_provider(&strong).await;
    let why = world.refused(&weak).await;
    assert_eq!(why, IdentityRefusal::NoSecondFactor);
    // A set-up that began before ends without an authenticator.
    assert!(world.users.begin_first_setup(begun.expose()).is_err());
    let code = code(&setup, &world.clock);
    let done = world
        .users
        .confirm_first_setup(begun.expose(), &code, origin());
    assert!(matches!(done.await, Err(UsersError::SignInExpired)));
    let result = world.sign_in("ada@example.com", PASSWORD).await;
    assert!(matches!(result, SignIn::Refused));
    assert!(world.users.live_user(&who).is_ok());
}

#[tokio::test]
async fn the_password_ends_with_the_second_factor_of_the_provider() {
    let world = World::with_second_factor().await;
    let world = world.with_options(counting()).await;
    let ada = world.owner("ada@example.com", ACME).await;
    let otto = world.operator("otto@example.com").await;
    let strong = with_second_factor("1", "ada@example.com");
    world.session_by_provider(&strong).await;
    let of_otto = with_second_factor("2", "otto@example.com");
    let who = world.session_by_provider(&of_otto).await;
    assert_eq!(who.user.id, otto);
    let permit = world.permit(&who, Action::ManageInstallationUsers, None);
    world.users.disable(&permit, ada).await.unwrap();
    world.users.enable(&permit, ada).await.unwrap();
    let result = world.sign_in("ada@example.com", PASSWORD).await;
    assert!(matches!(result, SignIn::Refused));
    let reset = world.users.request_reset("ada@example.com", origin());
    assert!(
        reset.await.unwrap().is_some(),
        "a reset by mail is possible"
    );
    world.session_by_provider(&strong).await;
}

#[tokio::test]
async fn a_member_who_is_removed_from_an_account_keeps_the_identity_for_the_others() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let eve = world
        .member("ada@example.com", ACME, "eve@example.com", Role::Viewer)
        .await;
    world.owner("bob@example.com", GLOBEX).await;
    world
        .member("bob@example.com", GLOBEX, "eve@example.com", Role::Viewer)
        .await;
    world
        .session_by_provider(&identity("1", "eve@example.com"))
        .await;
    for (owner, number, is_bound) in [
        ("bob@example.com", GLOBEX, true),
        ("ada@example.com", ACME, false),
    ] {
        let who = world.signed_in(owner).await;
        let permit = world.permit(&who, Action::ManageTeam, Some(number));
        world.users.remove_member(&permit, eve).await.unwrap();
        let user = world.users.user(eve).unwrap();
        assert_eq!(user.has_identity(), is_bound, "{owner}");
    }
}

#[tokio::test]
async fn a_new_authentication_at_the_provider_renews_a_session() {
    let world = World::with_second_factor().await;
    let world = world.with_options(counting()).await;
    world.owner("ada@example.com", ACME).await;
    let strong = with_second_factor("1", "ada@example.com");
    let who = world.session_by_provider(&strong).await;
    world.clock.advance(11 * MINUTE);
    assert!(world.users.check_recently_authenticated(&who).is_err());
    // The password is no second factor.
    let password = FirstFactor::Password(Secret::from(PASSWORD));
    let factors = Factors {
        first: password,
        code: None,
    };
    let by_password = world.users.reauthenticate(&who, factors).await;
    assert!(matches!(by_password, Err(UsersError::WrongFactor)));
    let confirm = async |identity: &ProviderIdentity| {
        let confirmed = world.users.reauthenticate_with_identity(&who, identity);
        confirmed.await.unwrap()
    };
    let other = confirm(&with_second_factor("2", "ada@example.com")).await;
    let why = IdentityRefusal::OtherUser;
    assert!(matches!(other, ProviderConfirmation::Refused(it) if it == why));
    let weak = confirm(&identity("1", "ada@example.com")).await;
    assert!(matches!(weak, ProviderConfirmation::NoSecondFactor));
    let ProviderConfirmation::Confirmed(session) = confirm(&strong).await else {
        panic!("the provider has checked a second factor");
    };
    assert!(world.identity(&session.token).is_ok());
    assert!(world.users.live_user(&who).is_err());
}

#[tokio::test]
async fn a_user_with_an_authenticator_gives_its_code_after_the_provider() {
    let world = World::with_second_factor().await;
    world.owner("ada@example.com", ACME).await;
    let ada = identity("1", "ada@example.com");
    let SignIn::NeedsTotpSetup(pending) = world.by_provider(&ada).await else {
        panic!("owners need a second factor");
    };
    let setup = world.users.begin_first_setup(pending.expose()).unwrap();
    let first = code(&setup, &world.clock);
    let done = world
        .users
        .confirm_first_setup(pending.expose(), &first, origin());
    let done = done.await.unwrap();
    let SignIn::NeedsTotp(of_sign_in) = world.by_provider(&ada).await else {
        panic!("the user has an authenticator");
    };
    let who = world.identity(&done.session.token).unwrap();
    let confirmed = world.users.reauthenticate_with_identity(&who, &ada);
    let ProviderConfirmation::NeedsCode(token) = confirmed.await.unwrap() else {
        panic!("the user has an authenticator");
    };
    let recovery = done.codes.0[0].expose().clone();
    let factors = |token: &str, code: Option<String>| Factors {
        first: FirstFactor::Provider(Secret::from(token)),
        code,
    };
    for (token, code) in [
        ("made up", Some(recovery.clone())),
        // The person may have signed in at the provider long ago.
        (of_sign_in.expose().as_str(), Some(recovery.clone())),
        (token.expose().as_str(), None),
    ] {
        let result = world.users.reauthenticate(&who, factors(token, code)).await;
        assert!(matches!(result, Err(UsersError::WrongFactor)));
    }
    let good = factors(token.expose(), Some(recovery));
    world.users.reauthenticate(&who, good).await.unwrap();
}

#[tokio::test]
async fn the_password_of_a_user_of_the_provider_can_be_switched_off() {
    let only_provider = Options {
        password_beside_provider: false,
        ..options(SecondFactor::Optional)
    };
    let world = World::new().await.with_options(only_provider).await;
    world.owner("ada@example.com", ACME).await;
    world.owner("bob@example.com", GLOBEX).await;
    world.signed_in("ada@example.com").await;
    world
        .session_by_provider(&identity("1", "ada@example.com"))
        .await;
    let result = world.sign_in("ada@example.com", PASSWORD).await;
    assert!(matches!(result, SignIn::Refused));
    world.signed_in("bob@example.com").await;
}

#[tokio::test]
async fn a_token_works_while_a_second_factor_of_the_provider_counts() {
    let world = World::with_second_factor().await;
    let world = world.with_options(counting()).await;
    world.owner("ada@example.com", ACME).await;
    let strong = with_second_factor("1", "ada@example.com");
    let who = world.session_by_provider(&strong).await;
    let made = world.users.create_token(
        &who,
        TokenRequest {
            name: "ci".to_owned(),
            account: Some(account(ACME)),
            actions: [Action::ViewTeam].into(),
            expires_at: world.clock.now().plus(24 * HOUR),
        },
    );
    let token = made.await.unwrap().secret;
    let bearer = token.expose();
    assert!(world.users.authenticate_token(bearer, origin()).is_ok());
    let world = world.with_options(options(SecondFactor::ByRole)).await;
    assert!(world.users.authenticate_token(bearer, origin()).is_err());
}
