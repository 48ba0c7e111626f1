//! Sign-ins that have left for the provider and not returned. In memory: a restart ends them, and
//! the user begins again.

use std::collections::BTreeMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use switchyard_core::ids::SessionId;
use switchyard_core::limits::{OPENID_SIGN_INS, OPENID_SIGN_INS_PER_ADDRESS, OPENID_WINDOW};
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_system::secrets::Fingerprint;
use switchyard_users::network;

/// PendingReturn sign-ins by the hash of their state.
#[derive(Default)]
pub(super) struct PendingReturns(Mutex<BTreeMap<Fingerprint, PendingReturn>>);

/// A sign-in that has left for the provider.
#[derive(Clone, Debug)]
pub struct PendingReturn {
    /// Hash of the cookie of the browser.
    pub(super) browser: Fingerprint,
    pub(super) client: Option<IpAddr>,
    pub(super) nonce: Secret<String>,
    /// Verifier of PKCE.
    pub(super) verifier: Secret<String>,
    pub(super) since: Timestamp,
    pub purpose: Purpose,
    /// Address of the page to show afterwards.
    pub next: String,
}

/// Use of the identity that the provider proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    SignIn,
    /// A new authentication within this session, before sensitive actions.
    Confirm(SessionId),
}

/// Reason why a return belongs to no sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateFault {
    /// The state was never given out, was used, or is too old.
    Unknown,
    OtherBrowser,
}

impl PendingReturns {
    pub fn add(&self, state: &str, mut pending: PendingReturn) {
        pending.client = pending.client.map(network);
        let mut all = self.0.lock();
        all.retain(|_, it| pending.since.since(it.since) < OPENID_WINDOW);
        let of_client = all
            .values()
            .filter(|it| it.client == pending.client)
            .count();
        let is_of_client = of_client >= OPENID_SIGN_INS_PER_ADDRESS;
        if is_of_client || all.len() >= OPENID_SIGN_INS {
            let candidates = all
                .iter()
                .filter(|(_, it)| !is_of_client || it.client == pending.client);
            let oldest = candidates.min_by_key(|(_, it)| it.since);
            if let Some(state) = oldest.map(|(state, _)| *state) {
                all.remove(&state);
            }
        }
        all.insert(Fingerprint::of(state), pending);
    }

    /// The sign-in of a state, which is used up, also by another browser.
    pub fn take(
        &self,
        state: &str,
        browser: &str,
        now: Timestamp,
    ) -> Result<PendingReturn, StateFault> {
        let found = self.0.lock().remove(&Fingerprint::of(state));
        let found = found.filter(|it| now.since(it.since) < OPENID_WINDOW);
        let pending = found.ok_or(StateFault::Unknown)?;
        match pending.browser == Fingerprint::of(browser) {
            true => Ok(pending),
            false => Err(StateFault::OtherBrowser),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const START: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn pending(client: u8, since: Timestamp) -> PendingReturn {
        PendingReturn {
            browser: Fingerprint::of("cookie"),
            client: Some(IpAddr::from([192, 0, 2, client])),
            nonce: Secret::from("nonce"),
            verifier: Secret::from("verifier"),
            since,
            purpose: Purpose::SignIn,
            next: "/console/".to_owned(),
        }
    }

    #[test]
    fn a_state_is_for_one_return_of_one_browser_within_10_minutes() {
        let all = PendingReturns::default();
        let fault = |state, browser, now| all.take(state, browser, now).err();
        for (state, browser, after, expected) in [
            ("good", "cookie", 599, None),
            ("late", "cookie", 600, Some(StateFault::Unknown)),
            ("stolen", "other", 1, Some(StateFault::OtherBrowser)),
            ("no cookie", "", 1, Some(StateFault::OtherBrowser)),
        ] {
            all.add(state, pending(1, START));
            let now = START.plus(Duration::from_secs(after));
            assert_eq!(fault(state, browser, now), expected, "{state}");
            let again = fault(state, "cookie", START);
            assert_eq!(again, Some(StateFault::Unknown), "{state}");
        }
        assert_eq!(fault("wrong", "cookie", START), Some(StateFault::Unknown));
        assert_eq!(fault("", "cookie", START), Some(StateFault::Unknown));
    }

    #[test]
    fn a_flood_of_one_client_drops_its_own_sign_ins_only() {
        let all = PendingReturns::default();
        all.add("other", pending(2, START));
        for n in 0..=OPENID_SIGN_INS_PER_ADDRESS {
            let since = START.plus(Duration::from_millis(n as u64 + 1));
            all.add(&n.to_string(), pending(1, since));
        }
        assert!(all.take("other", "cookie", START).is_ok());
        assert!(all.take("0", "cookie", START).is_err());
        assert!(all.take("1", "cookie", START).is_ok());
    }
}
