//! Start of the console: its users, and in development mode a seeded owner and operator.

use std::sync::Arc;

use anyhow::Context as _;
use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{DevelopmentKeys, InstallationVault};
use switchyard_engine::engine::Engine;
use switchyard_users::{
    Acceptance, Channel, NewInvitation, Options, Origin, Role, Sealer, SecondFactor, Users,
};

use crate::config::Settings;
use crate::console;

/// Secrets of second factors, sealed by the vault of the installation.
struct VaultSealer(InstallationVault);

impl Sealer for VaultSealer {
    fn seal(&self, user: UserId, plain: &[u8]) -> Option<String> {
        self.0.seal(user, plain)
    }

    fn open(&self, user: UserId, sealed: &str) -> Option<Secret<Vec<u8>>> {
        self.0.open(user, sealed)
    }
}

/// Links that sign the seeded users of development mode in. Each works once, within 10 minutes.
pub struct SignInLinks {
    pub owner: Secret<String>,
    pub operator: Secret<String>,
}

/// Loads the users of the console. `None`: there is no console.
pub async fn users(engine: &Engine, settings: &Settings) -> anyhow::Result<Option<Users>> {
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
            ..Options::default()
        },
    );
    Ok(Some(users.await.context("cannot read the users")?))
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
