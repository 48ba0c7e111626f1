//! Verification of an ID token: signature, issuer, audience, expiry, nonce, and for a new
//! authentication its time. Pure.

use std::time::{Duration, SystemTime};

use openidconnect::core::{
    CoreIdToken, CoreIdTokenVerifier, CoreJsonWebKeySet, CoreJwsSigningAlgorithm,
};
use openidconnect::{
    ClaimsVerificationError, ClientId, IssuerUrl, Nonce, SignatureVerificationError,
};
use switchyard_core::limits::OPENID_CLOCK_SKEW;
use switchyard_core::time::Timestamp;

/// Values that the claims of a token have to have.
pub(super) struct Expected<'a> {
    pub issuer: &'a IssuerUrl,
    pub client_id: &'a ClientId,
    pub nonce: &'a str,
    pub now: Timestamp,
    /// Time from which on the provider has to have asked the person to sign in; `None`: an earlier
    /// sign-in at the provider is enough.
    pub authenticated_since: Option<Timestamp>,
}

/// Verified claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claims {
    pub subject: String,
    pub email: Option<Email>,
    /// Methods of the authentication.
    pub amr: Vec<String>,
    /// Class of the authentication.
    pub acr: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Email {
    pub address: String,
    /// Whether the address is the person's. `None`: the provider does not say.
    pub is_verified: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenFault {
    /// The keys of the provider may have changed since they were fetched.
    #[error("no key of the provider signed the ID token")]
    UnknownKey,
    #[error("the ID token is invalid: {0}")]
    Invalid(String),
    #[error("the person did not sign in at the provider again")]
    NotRecent,
}

pub(super) fn verify(
    token: &CoreIdToken,
    keys: &CoreJsonWebKeySet,
    expected: &Expected<'_>,
) -> Result<Claims, TokenFault> {
    let now = system_time(expected.now);
    // A verifier of a public client takes no signature that is made with the client's secret.
    let verifier = CoreIdTokenVerifier::new_public_client(
        expected.client_id.clone(),
        expected.issuer.clone(),
        keys.clone(),
    );
    let verifier = verifier
        .set_allowed_algs(ALGORITHMS)
        .set_time_fn(move || now.into());
    let nonce = Nonce::new(expected.nonce.to_owned());
    let claims = token.claims(&verifier, &nonce).map_err(fault)?;
    let party = claims.authorized_party();
    if party.is_some_and(|party| party != expected.client_id) {
        let why = "the authorized party is another client";
        return Err(TokenFault::Invalid(why.to_owned()));
    }
    if let Some(since) = expected.authenticated_since {
        let least = system_time(since.minus(OPENID_CLOCK_SKEW));
        let time = claims.auth_time().map(SystemTime::from);
        if time.is_none_or(|time| time < least) {
            return Err(TokenFault::NotRecent);
        }
    }
    let amr = claims.auth_method_refs().into_iter().flatten();
    Ok(Claims {
        subject: claims.subject().to_string(),
        email: claims.email().map(|address| Email {
            address: address.to_string(),
            is_verified: claims.email_verified(),
        }),
        amr: amr.map(|method| method.to_string()).collect(),
        acr: claims.auth_context_ref().map(|class| class.to_string()),
    })
}

fn fault(error: ClaimsVerificationError) -> TokenFault {
    match error {
        ClaimsVerificationError::SignatureVerification(
            SignatureVerificationError::NoMatchingKey,
        ) => TokenFault::UnknownKey,
        ClaimsVerificationError::SignatureVerification(why) => TokenFault::Invalid(why.to_string()),
        why => TokenFault::Invalid(why.to_string()),
    }
}

fn system_time(at: Timestamp) -> SystemTime {
    let seconds = u64::try_from(at.as_seconds()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Signatures that need a key of the provider.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
