//! Start of the console: its users with their housekeeping, and in development mode a seeded owner
//! and operator.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{DevelopmentKeys, InstallationVault, UserSecret};
use switchyard_engine::engine::Engine;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_users::{
    Acceptance, Channel, NewInvitation, Options, Origin, Role, Sealer, SecondFactor, Users,
};
use url::Url;

use crate::config::Settings;
use crate::console;
use crate::openid::{Provider, ProviderOptions};
use crate::state::ConsoleAccess;

/// Secrets of second factors, sealed by the vault of the installation.
struct VaultSealer(InstallationVault);

impl Sealer for VaultSealer {
    fn seal(&self, user: UserId, plain: &[u8]) -> Option<String> {
        self.0.seal(user, UserSecret::SecondFactor, plain)
    }

    fn open(&self, user: UserId, sealed: &str) -> Option<Secret<Vec<u8>>> {
        self.0.open(user, UserSecret::SecondFactor, sealed)
    }
}

/// Links that sign the seeded users of development mode in. Each works once, within 10 minutes.
pub struct SignInLinks {
    pub owner: Secret<String>,
    pub operator: Secret<String>,
}

/// Loads the users of the console. `None`: there is no console.
pub async fn access(engine: &Engine, settings: &Settings) -> anyhow::Result<Option<ConsoleAccess>> {
    if !settings.has_console() {
        return Ok(None);
    }
    let vault = engine.access().installation_vault().await?;
    let users = Users::load(
        engine.store().clone(),
        Arc::new(VaultSealer(vault)),
        engine.clock().clone(),
        engine.ids().clone(),
        Options {
            service_code: engine.access().service_code().to_owned(),
            issuer: engine.settings().service_name.clone(),
            second_factor: match settings.development {
                true => SecondFactor::Optional,
                false => SecondFactor::ByRole,
            },
            provider_second_factor: counts_second_factor(settings),
            password_beside_provider: settings.openid.password_sign_in,
            sandbox_retention: engine.settings().sandbox_retention,
            ..Options::default()
        },
    );
    let users = users.await.context("cannot read the users")?;
    tokio::spawn(housekeeping(users.clone(), engine.clock().clone()));
    let openid = provider(settings, engine.clock(), engine.ids())?;
    Ok(Some(ConsoleAccess {
        users,
        url: settings.console_url(),
        openid,
    }))
}

fn counts_second_factor(settings: &Settings) -> bool {
    let openid = &settings.openid;
    !openid.second_factor_amr.is_empty() || !openid.second_factor_acr.is_empty()
}

/// The OpenID Connect provider of the settings. `None`: there is none.
pub(crate) fn provider(
    settings: &Settings,
    clock: &Clock,
    ids: &Ids,
) -> anyhow::Result<Option<Provider>> {
    let openid = &settings.openid;
    let (Some(issuer), Some(client_id)) = (&openid.issuer, &openid.client_id) else {
        return Ok(None);
    };
    let secret = settings.openid_secret();
    let secret = secret.context("openid.client_secret_file cannot be read")?;
    let host = Url::parse(issuer).ok();
    let host = host.and_then(|url| Some(url.host_str()?.to_owned()));
    let options = ProviderOptions {
        issuer: issuer.clone(),
        client_id: client_id.clone(),
        client_secret: secret,
        name: openid.name.clone().or(host).unwrap_or_default(),
        scopes: openid.scopes.clone(),
        second_factor_amr: openid.second_factor_amr.clone(),
        second_factor_acr: openid.second_factor_acr.clone(),
        trusts_email: openid.trust_email,
        return_url: format!("{}{}", settings.console_url(), console::OPENID_RETURN),
        https_only: !settings.development,
    };
    let provider = Provider::new(options, clock.clone(), ids.clone());
    Ok(Some(provider.context("the HTTP client of the provider")?))
}

/// Deletes what has expired, at once and then once an hour until the server ends.
async fn housekeeping(users: Users, clock: Clock) {
    loop {
        if let Err(error) = users.purge_expired().await {
            tracing::error!(%error, "failed to purge expired sessions, retrying in an hour");
        }
        clock.sleep(PURGE).await;
    }
}

/// Makes the users of development mode unless they exist, and a sign-in link for each.
pub async fn seed(
    users: &Users,
    engine: &Engine,
    settings: &Settings,
    keys: &DevelopmentKeys,
) -> anyhow::Result<SignInLinks> {
    let app = engine.access().app(keys.app);
    let account = app.context("the app of development mode")?.account;
    let link = async |email, name, role, account| {
        let link = sign_in_link(users, email, name, role, account).await;
        let token = link.with_context(|| format!("cannot make the user {email}"))?;
        let path = format!("{}/link/{}", console::PREFIX, token.expose());
        let url = format!("http://{}{path}", settings.server.listen);
        anyhow::Ok(Secret::new(url))
    };
    Ok(SignInLinks {
        owner: link(
            "owner@example.com",
            "Olivia Owner",
            Role::Owner,
            Some(account),
        )
        .await?,
        operator: link(
            "operator@example.com",
            "Otto Operator",
            Role::Operator,
            None,
        )
        .await?,
    })
}

async fn sign_in_link(
    users: &Users,
    email: &str,
    name: &str,
    role: Role,
    account: Option<AccountId>,
) -> anyhow::Result<Secret<String>> {
    let origin = Origin {
        channel: Channel::CommandLine,
        ..Origin::default()
    };
    if users.user_by_email(email).is_none() {
        let new = NewInvitation {
            email: email.to_owned(),
            name: name.to_owned(),
            language: Language::En,
            role,
        };
        let invited = users.invite_first(account, new, &origin).await?;
        let acceptance = Acceptance {
            password: Some(Secret::new(console::DEVELOPMENT_PASSWORD.to_owned())),
            ..Acceptance::default()
        };
        users
            .accept_invitation(invited.token.expose(), acceptance, &origin)
            .await?;
    }
    Ok(users.create_sign_in_link(email, &origin).await?.token)
}

/// Interval of the purges.
const PURGE: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use switchyard_core::time::Timestamp;
    use switchyard_store::Store;

    use super::*;

    struct NoSealer;

    impl Sealer for NoSealer {
        fn seal(&self, _: UserId, _: &[u8]) -> Option<String> {
            None
        }

        fn open(&self, _: UserId, _: &str) -> Option<Secret<Vec<u8>>> {
            None
        }
    }

    #[tokio::test]
    async fn an_invited_user_who_never_accepts_is_deleted_by_the_housekeeping() {
        let clock = Clock::manual(Timestamp::from_seconds(1_800_000_000));
        let (store, ids) = (Store::memory(), Ids::seeded(1));
        let options = Options::default();
        let sealer = Arc::new(NoSealer);
        let users = Users::load(store, sealer, clock.clone(), ids, options).await;
        let users = users.unwrap();
        let new = NewInvitation {
            email: "ada@example.com".to_owned(),
            name: "Ada".to_owned(),
            language: Language::En,
            role: Role::Operator,
        };
        let invited = users.invite_first(None, new, &Origin::default()).await;
        let link = invited.unwrap().link;
        tokio::spawn(housekeeping(users.clone(), clock.clone()));
        let has_user = async || {
            tokio::time::sleep(Duration::from_millis(100)).await;
            users.user_by_email("ada@example.com").is_some()
        };
        clock.advance(PURGE);
        assert!(has_user().await);
        clock.advance(link.expires_at.since(clock.now()));
        for _ in 0..50 {
            if !has_user().await {
                return;
            }
            clock.advance(PURGE);
        }
        panic!("the user is still there");
    }
}
