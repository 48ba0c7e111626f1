//! Sign-in by the OpenID Connect provider, and a new authentication there before sensitive actions.
//! The result of a failure is a message on the page that it began on.

use axum::extract::Query;
use axum::response::Response;
use serde::Deserialize;
use switchyard_core::ids::SessionId;
use switchyard_users::{IdentityRefusal, ProviderConfirmation, ProviderIdentity, ProviderSignIn};

use super::confirm;
use super::cookies;
use super::page::{Failed, Page, SignedIn};
use super::sign_in::{own_address, proceed, signed_in, with_cookie};
use super::text::Text;
use crate::openid::{Answer, Fault, PendingReturn, Provider, Purpose};

/// Page to show after the sign-in.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Arrival {
    next: String,
}

/// `GET /console/sign-in/openid`
pub async fn get(page: Page, Query(arrival): Query<Arrival>) -> Response {
    leave(&page, Purpose::SignIn, arrival.next).await
}

/// `GET /console/confirm/openid`
pub async fn get_confirm(SignedIn(page): SignedIn, Query(arrival): Query<Arrival>) -> Response {
    match page.identity().and_then(|who| who.session()) {
        Some(session) => leave(&page, Purpose::Confirm(session), arrival.next).await,
        None => page.to_sign_in(),
    }
}

/// `GET /console/sign-in/openid/return`
///
/// A request of the provider's site: it comes without a form token, and is bound to the browser by
/// a cookie.
pub async fn back(page: Page, Query(answer): Query<Answer>) -> Response {
    let Some(provider) = provider(&page) else {
        return page.failed(Failed::NotFound);
    };
    let browser = cookies::openid(page.cookies(), page.state.is_https());
    let pending = match provider.take(&answer, browser) {
        Ok(pending) => pending,
        Err(fault) => return failed(&page, Purpose::SignIn, "", of_fault(fault)),
    };
    let shown = match provider.identity(&pending, &answer).await {
        Ok(identity) => finish(&page, &pending, &identity).await,
        Err(fault) => failed(&page, pending.purpose, &pending.next, of_fault(fault)),
    };
    with_cookie(shown, &cookies::end_openid(page.state.is_https()))
}

/// Message for the notice in the address of the sign-in or of the confirmation, if it is about the
/// provider.
pub fn notice(page: &Page, name: &str) -> Option<String> {
    let provider = provider(page)?;
    let known = NOTICES.contains(&name);
    let values = [("provider", provider.name())];
    known.then(|| page.text().with(&format!("console-{name}"), &values))
}

/// The button that leads to the provider, with its address. `None`: there is no provider.
pub fn button(page: &Page, message: &str, path: &str, next: &str) -> Option<Button> {
    let provider = provider(page)?;
    let query = address_query("", next);
    Some(Button {
        name: label(message, provider, page.text()),
        href: page.link(&format!("{path}{query}")),
    })
}

/// Link to the provider.
pub struct Button {
    pub name: String,
    pub href: String,
}

fn label(message: &str, provider: &Provider, text: Text) -> String {
    text.with(message, &[("provider", provider.name())])
}

fn provider(page: &Page) -> Option<&Provider> {
    page.state.access().openid.as_ref()
}

/// Leads the browser to the provider.
async fn leave(page: &Page, purpose: Purpose, next: String) -> Response {
    let Some(provider) = provider(page) else {
        return page.failed(Failed::NotFound);
    };
    let mut next = own_address(page, next);
    if next.len() > NEXT_BYTES {
        next = page.link("");
    }
    let left = provider.begin(purpose, next.clone(), page.origin.address);
    match left.await {
        Ok(departure) => {
            let (token, https) = (departure.browser.expose(), page.state.is_https());
            let cookie = cookies::begin_openid(token, https);
            with_cookie(page.go(departure.url.as_str()), &cookie)
        }
        Err(fault) => failed(page, purpose, &next, of_fault(fault)),
    }
}

async fn finish(page: &Page, pending: &PendingReturn, identity: &ProviderIdentity) -> Response {
    match pending.purpose {
        Purpose::SignIn => sign_in(page, pending, identity).await,
        Purpose::Confirm(session) => confirmed(page, pending, identity, session).await,
    }
}

async fn sign_in(page: &Page, pending: &PendingReturn, identity: &ProviderIdentity) -> Response {
    let users = page.state.users();
    let result = users.sign_in_with_identity(identity, &page.origin).await;
    match result {
        Ok(ProviderSignIn::Accepted(passed)) => proceed(page, passed, pending.next.clone()),
        Ok(ProviderSignIn::Refused(refusal)) => {
            failed(page, pending.purpose, &pending.next, of_refusal(refusal))
        }
        Err(error) => page.failed(error.into()),
    }
}

/// Confirms the session that left for the provider, and no other of this browser.
async fn confirmed(
    page: &Page,
    pending: &PendingReturn,
    identity: &ProviderIdentity,
    session: SessionId,
) -> Response {
    let who = page.identity().filter(|who| who.session() == Some(session));
    let Some(who) = who else {
        return page.to_sign_in();
    };
    let users = page.state.users();
    let result = users.reauthenticate_with_identity(who, identity).await;
    let why = match result {
        Ok(ProviderConfirmation::Confirmed(session)) => {
            return signed_in(page, &session, page.go(&pending.next));
        }
        Ok(ProviderConfirmation::NeedsCode(token)) => {
            return confirm::ask_code(page, token, pending.next.clone());
        }
        Ok(ProviderConfirmation::Refused(refusal)) => of_refusal(refusal),
        Ok(ProviderConfirmation::NoSecondFactor) => "openid-no-second-factor",
        Err(error) => return page.failed(error.into()),
    };
    failed(page, pending.purpose, &pending.next, why)
}

/// Leads back to the page on which the sign-in began.
fn failed(page: &Page, purpose: Purpose, next: &str, notice: &str) -> Response {
    let path = match purpose {
        Purpose::SignIn => "sign-in",
        Purpose::Confirm(_) => "confirm",
    };
    page.go(&page.link(&format!("{path}{}", address_query(notice, next))))
}

fn address_query(notice: &str, next: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in [("notice", notice), ("next", next)] {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        query if query.is_empty() => query,
        query => format!("?{query}"),
    }
}

const fn of_fault(fault: Fault) -> &'static str {
    match fault {
        Fault::State => "openid-begin-again",
        Fault::Denied => "openid-denied",
        Fault::Unusable => "openid-unusable",
        Fault::NotRecent => "openid-not-recent",
        Fault::Unreachable => "openid-unreachable",
    }
}

const fn of_refusal(refusal: IdentityRefusal) -> &'static str {
    match refusal {
        IdentityRefusal::EmailNotVerified => "openid-email-not-verified",
        IdentityRefusal::UnknownUser => "openid-unknown-user",
        IdentityRefusal::NotAccepted => "openid-not-accepted",
        IdentityRefusal::Disabled => "openid-disabled",
        IdentityRefusal::OtherIdentity => "openid-other-identity",
        IdentityRefusal::OtherUser => "openid-other-user",
        IdentityRefusal::NoSecondFactor => "openid-no-second-factor",
    }
}

/// Notices of a failure; each has the message `console-<notice>`.
const NOTICES: [&str; 12] = [
    "openid-begin-again",
    "openid-denied",
    "openid-unusable",
    "openid-not-recent",
    "openid-unreachable",
    "openid-email-not-verified",
    "openid-unknown-user",
    "openid-not-accepted",
    "openid-disabled",
    "openid-other-identity",
    "openid-other-user",
    "openid-no-second-factor",
];

/// Longest address that is kept until the return: each is in memory for 10 minutes.
const NEXT_BYTES: usize = 1_024;

#[cfg(test)]
mod tests {
    use switchyard_core::language::Language;

    use super::*;

    #[test]
    fn every_failure_has_a_message_that_differs_by_language() {
        let faults = [
            Fault::State,
            Fault::Denied,
            Fault::Unusable,
            Fault::NotRecent,
            Fault::Unreachable,
        ];
        let refusals = [
            IdentityRefusal::EmailNotVerified,
            IdentityRefusal::UnknownUser,
            IdentityRefusal::NotAccepted,
            IdentityRefusal::Disabled,
            IdentityRefusal::OtherIdentity,
            IdentityRefusal::OtherUser,
            IdentityRefusal::NoSecondFactor,
        ];
        let faults = faults.map(of_fault).into_iter();
        let all = faults.chain(refusals.map(of_refusal));
        assert_eq!(all.collect::<Vec<_>>(), NOTICES);
        for name in NOTICES {
            let say = |language| {
                let values = [("provider", "Example Ltd")];
                Text(language).with(&format!("console-{name}"), &values)
            };
            assert_ne!(say(Language::En), say(Language::Fr), "{name}");
        }
    }

    #[test]
    fn an_address_has_a_query_only_if_it_is_needed() {
        assert_eq!(address_query("", ""), "");
        assert_eq!(
            address_query("openid-denied", "/console/account"),
            "?notice=openid-denied&next=%2Fconsole%2Faccount"
        );
    }
}
