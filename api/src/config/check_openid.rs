//! Checks of the settings about sign-in by an OpenID Connect provider.

use url::Url;

use super::check_network::is_local;
use super::problem::Faults;
use super::settings::Settings;

pub(super) fn openid(settings: &Settings, refusals: &mut Faults) {
    let openid = &settings.openid;
    if openid.client_secret.is_some() && openid.client_secret_file.is_some() {
        refusals.push(
            "openid.client_secret",
            "openid.client_secret and openid.client_secret_file are both set: keep one of them"
                .to_owned(),
        );
    }
    let Some(issuer) = &openid.issuer else {
        without_issuer(settings, refusals);
        return;
    };
    issuer_url(settings, issuer, refusals);
    if openid.client_id.as_ref().is_none_or(|id| !is_word(id)) {
        refusals.push(
            "openid.client_id",
            "openid.client_id is missing, empty or contains a space: give the id that the provider \
             has for this installation"
                .to_owned(),
        );
    }
    if openid.name.as_ref().is_some_and(|name| !is_name(name)) {
        refusals.push(
            "openid.name",
            "openid.name has to be a text of 1 to 60 characters on one line".to_owned(),
        );
    }
    lists(settings, refusals);
    if !settings.has_console() {
        refusals.warn(
            "openid.issuer",
            "openid.issuer is set and console.public_url is not: there is no console to sign in to"
                .to_owned(),
        );
    }
}

/// Settings that have no effect without an issuer: one of them alone is a mistake.
fn without_issuer(settings: &Settings, refusals: &mut Faults) {
    let openid = &settings.openid;
    for (name, is_set) in [
        ("openid.client_id", openid.client_id.is_some()),
        ("openid.client_secret", openid.client_secret.is_some()),
        (
            "openid.client_secret_file",
            openid.client_secret_file.is_some(),
        ),
    ] {
        if is_set {
            let text = format!(
                "{name} is set and openid.issuer is not: name the provider, or leave both out"
            );
            refusals.push(name, text);
        }
    }
}

fn issuer_url(settings: &Settings, issuer: &str, refusals: &mut Faults) {
    let setting = "openid.issuer";
    let url = match Url::parse(issuer) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => url,
        _ => {
            // It is not quoted: it may have a password.
            let text = "openid.issuer has to be an https:// URL, as the provider writes it in its \
                        metadata, such as https://id.example.com";
            return refusals.push(setting, text.to_owned());
        }
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    if has_user || url.query().is_some() || url.fragment().is_some() {
        let text = "openid.issuer has a user name, a query or a fragment: an issuer has none";
        refusals.push(setting, text.to_owned());
    } else if url.scheme() == "http" && !(settings.development && is_local(&url)) {
        refusals.push(
            setting,
            format!(
                "openid.issuer is `{issuer}`: anybody between could sign in as any user, so it \
                 has to begin with https:// (http:// is for loopback addresses in development mode)"
            ),
        );
    }
}

fn lists(settings: &Settings, refusals: &mut Faults) {
    let openid = &settings.openid;
    for (name, list) in [
        ("openid.scopes", &openid.scopes),
        ("openid.second_factor_amr", &openid.second_factor_amr),
        ("openid.second_factor_acr", &openid.second_factor_acr),
    ] {
        let entries = list.iter().enumerate();
        for (index, _) in entries.filter(|(_, entry)| !is_word(entry)) {
            refusals.push(
                format!("{name}[{index}]"),
                format!("{name} has an entry that is empty or contains a space: give each its own"),
            );
        }
    }
    for needed in ["openid", "email"] {
        if !openid.scopes.iter().any(|scope| scope == needed) {
            refusals.push(
                "openid.scopes",
                format!(
                    "openid.scopes has no `{needed}`: the provider would name no user by e-mail \
                     address, so add it"
                ),
            );
        }
    }
}

/// Whether the text is one word of visible ASCII characters.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn is_name(name: &str) -> bool {
    let is_short = (1..=NAME_CHARACTERS).contains(&name.trim().chars().count());
    is_short && !name.chars().any(char::is_control)
}

const NAME_CHARACTERS: usize = 60;
