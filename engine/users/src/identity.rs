//! Identities of people at an OpenID Connect provider.

use serde::{Deserialize, Serialize};

/// Person at an OpenID Connect provider, from a verified ID token.
#[derive(Clone, Debug)]
pub struct ProviderIdentity {
    pub issuer: String,
    /// Id of the person at the issuer, which never changes.
    pub subject: String,
    /// E-mail address that the provider has verified.
    pub verified_email: Option<String>,
    /// Whether the provider has checked a second factor that the settings accept.
    pub has_second_factor: bool,
}

/// Identity that is bound to a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoundIdentity {
    pub issuer: String,
    pub subject: String,
    /// Whether a sign-in has had a second factor of the provider. After that, each one needs it or
    /// the user's own.
    pub has_second_factor: bool,
}

impl BoundIdentity {
    pub fn is(&self, identity: &ProviderIdentity) -> bool {
        self.issuer == identity.issuer && self.subject == identity.subject
    }
}
