//! Data of development mode: one account, one app, its four keys, an operator token.
//!
//! Keys are kept as hashes only, so a restart cannot show them again. The caller keeps the shown
//! keys (`data/dev.json`) and passes them in; keys that are still valid are used again, the others
//! are replaced.

use std::sync::Arc;

use super::app::NewApp;
use super::error::AccessError;
use super::key::KeyKind;
use super::operator_token::OperatorToken;
use super::{Access, AppSettings};
use switchyard_core::environment::Environment::{self, Live, Sandbox};
use switchyard_core::ids::{AccountId, AppId};
use switchyard_core::secret::Secret;

/// The keys of development mode, in clear.
#[derive(Clone, Debug)]
pub struct DevelopmentKeys {
    pub app: AppId,
    pub sandbox_secret_key: Secret<String>,
    pub sandbox_public_key: Secret<String>,
    pub live_secret_key: Secret<String>,
    pub live_public_key: Secret<String>,
    pub operator_token: Secret<String>,
}

/// Result of seeding.
#[derive(Clone, Debug)]
pub struct Development {
    pub keys: DevelopmentKeys,
    /// How many of the keys are not those that were brought.
    pub made: usize,
}

impl Access {
    /// Makes sure that there is what development mode needs. `known`: the keys of an earlier start.
    pub async fn seed_development(
        &self,
        known: Option<DevelopmentKeys>,
    ) -> Result<Development, AccessError> {
        let app = self.development_app(known.as_ref()).await?;
        let known = known.as_ref();
        let mut made = 0;
        let keys = DevelopmentKeys {
            app,
            sandbox_secret_key: self
                .keep_or_make(known, app, Sandbox, KeyKind::Secret, &mut made)
                .await?,
            sandbox_public_key: self
                .keep_or_make(known, app, Sandbox, KeyKind::Public, &mut made)
                .await?,
            live_secret_key: self
                .keep_or_make(known, app, Live, KeyKind::Secret, &mut made)
                .await?,
            live_public_key: self
                .keep_or_make(known, app, Live, KeyKind::Public, &mut made)
                .await?,
            operator_token: self.keep_or_make_token(known, &mut made).await?,
        };
        Ok(Development { keys, made })
    }

    /// The operator token of development mode, if it is still valid.
    pub fn development_token(&self) -> Option<Arc<OperatorToken>> {
        let mut tokens = self.operator_tokens().into_iter();
        tokens.find(|token| token.name == NAME && token.made_by.is_none())
    }

    async fn keep_or_make(
        &self,
        known: Option<&DevelopmentKeys>,
        app: AppId,
        environment: Environment,
        kind: KeyKind,
        made: &mut usize,
    ) -> Result<Secret<String>, AccessError> {
        if let Some(key) = known.map(|known| known.key(environment, kind))
            && self.opens(key, app, environment, kind)
        {
            return Ok(key.clone());
        }
        *made += 1;
        Ok(self
            .create_key(app, environment, kind, Some(NAME.to_owned()))
            .await?
            .secret)
    }

    async fn keep_or_make_token(
        &self,
        known: Option<&DevelopmentKeys>,
        made: &mut usize,
    ) -> Result<Secret<String>, AccessError> {
        if let Some(token) = known.map(|known| &known.operator_token)
            && self.authenticate_operator(token.expose()).is_ok()
        {
            return Ok(token.clone());
        }
        // The file that named it is gone: its token is of no use to anybody.
        for token in self.operator_tokens() {
            if token.name == NAME {
                self.delete_operator_token(token.id).await?;
            }
        }
        *made += 1;
        Ok(self.create_operator_token(NAME, None).await?.secret)
    }

    /// The app of an earlier start, or the first there is, or a new one.
    async fn development_app(&self, known: Option<&DevelopmentKeys>) -> Result<AppId, AccessError> {
        let apps = self.apps(None);
        let before = known.and_then(|known| apps.iter().find(|app| app.id == known.app));
        if let Some(app) = before.or_else(|| apps.iter().find(|app| app.name == APP)) {
            return Ok(app.id);
        }
        let account: AccountId = match self.accounts().first() {
            Some(account) => account.id,
            None => self.create_account(ACCOUNT).await?.id,
        };
        let new = NewApp {
            account,
            name: APP.to_owned(),
            icon_url: None,
            website_url: None,
            settings: AppSettings {
                merchant_email: Some(MERCHANT_EMAIL.to_owned()),
                ..AppSettings::default()
            },
        };
        Ok(self.create_app(new).await?.id)
    }

    fn opens(
        &self,
        key: &Secret<String>,
        app: AppId,
        environment: Environment,
        kind: KeyKind,
    ) -> bool {
        self.authenticate(key.expose()).is_ok_and(|caller| {
            caller.app.id == app && caller.environment == environment && caller.kind == kind
        })
    }
}

impl DevelopmentKeys {
    fn key(&self, environment: Environment, kind: KeyKind) -> &Secret<String> {
        match (environment, kind) {
            (Sandbox, KeyKind::Secret) => &self.sandbox_secret_key,
            (Sandbox, KeyKind::Public) => &self.sandbox_public_key,
            (Live, KeyKind::Secret) => &self.live_secret_key,
            (Live, KeyKind::Public) => &self.live_public_key,
        }
    }
}

const ACCOUNT: &str = "Development";
const APP: &str = "Demo shop";
const NAME: &str = "development";
/// `.example` is reserved: a mail that leaves the machine by mistake has no recipient.
const MERCHANT_EMAIL: &str = "merchant@shop.example";
