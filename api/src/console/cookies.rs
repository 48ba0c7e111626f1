//! Cookies of the console: the session, and the chosen language.

use switchyard_core::language::Language;
use switchyard_core::limits::OPENID_WINDOW;
use switchyard_core::secret::Secret;

/// Name of the session's cookie. The prefix `__Host-` makes browsers refuse it from other hosts and
/// without https. Development mode has no https.
const fn session_name(https: bool) -> &'static str {
    match https {
        true => "__Host-switchyard",
        false => "switchyard_session",
    }
}

/// Token of the session in a header `Cookie`.
pub fn session(header: &str, https: bool) -> Option<Secret<String>> {
    let token = value(header, session_name(https))?;
    Some(Secret::new(token.to_owned()))
}

/// Language in a header `Cookie`.
pub fn language(header: &str) -> Option<Language> {
    Language::of(value(header, LANGUAGE)?)
}

/// A header `Set-Cookie` that begins a session. It has no lifetime: the server ends the session.
pub fn begin_session(token: &str, https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    let name = session_name(https);
    format!("{name}={token}; Path=/; HttpOnly; SameSite=Lax{secure}")
}

/// A header `Set-Cookie` that removes the session.
pub fn end_session(https: bool) -> String {
    format!("{}; Max-Age=0", begin_session("", https))
}

/// Name of the cookie of a sign-in by the OpenID Connect provider.
const fn openid_name(https: bool) -> &'static str {
    match https {
        true => "__Host-switchyard-openid",
        false => "switchyard_openid",
    }
}

/// Token of a sign-in by the OpenID Connect provider in a header `Cookie`.
pub fn openid(header: &str, https: bool) -> Option<&str> {
    value(header, openid_name(https))
}

/// A header `Set-Cookie` that binds a sign-in by the provider to the browser. `Lax`: the return is
/// a link from the provider's site.
pub fn begin_openid(token: &str, https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    let name = openid_name(https);
    let age = OPENID_WINDOW.as_secs();
    format!("{name}={token}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}")
}

/// A header `Set-Cookie` that removes it.
pub fn end_openid(https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    let name = openid_name(https);
    format!("{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax{secure}")
}

/// A header `Set-Cookie` that keeps the language for a year.
pub fn keep_language(language: Language, https: bool) -> String {
    let secure = if https { "; Secure" } else { "" };
    let code = language.code();
    format!("{LANGUAGE}={code}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax{secure}")
}

fn value<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    let pairs = header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(given, _)| *given == name);
    found
        .next()
        .map(|(_, value)| value)
        .filter(|value| !value.is_empty())
}

const LANGUAGE: &str = "switchyard_language";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_read_under_its_own_name_only() {
        let header = "other=1; __Host-switchyard=abc; switchyard_session=def";
        assert_eq!(session(header, true).unwrap().expose(), "abc");
        assert_eq!(session(header, false).unwrap().expose(), "def");
        assert!(session("x__Host-switchyard=abc", true).is_none());
        assert!(session("__Host-switchyard=", true).is_none());
    }

    #[test]
    fn a_session_cookie_is_kept_from_scripts_and_other_sites() {
        let cookie = begin_session("abc", true);
        for part in [
            "__Host-switchyard=abc",
            "Path=/",
            "HttpOnly",
            "SameSite=Lax",
            "Secure",
        ] {
            assert!(cookie.split("; ").any(|given| given == part), "{part}");
        }
        assert!(!cookie.contains("Domain"));
        assert!(!begin_session("abc", false).contains("Secure"));
        assert!(end_session(true).ends_with("Max-Age=0"));
    }

    #[test]
    fn the_cookie_of_a_sign_in_by_the_provider_is_of_this_host_and_comes_back_by_a_link() {
        let cookie = begin_openid("abc", true);
        for part in [
            "__Host-switchyard-openid=abc",
            "Max-Age=600",
            "HttpOnly",
            "SameSite=Lax",
            "Secure",
        ] {
            assert!(cookie.split("; ").any(|given| given == part), "{part}");
        }
        assert_eq!(openid("__Host-switchyard-openid=abc", true), Some("abc"));
        assert_eq!(openid("__Host-switchyard=abc", true), None);
        assert_eq!(openid(&end_openid(false), false), None);
    }

    #[test]
    fn a_language_is_one_that_the_pages_have() {
        assert_eq!(language("switchyard_language=fr"), Some(Language::Fr));
        assert_eq!(language("switchyard_language=xx"), None);
    }
}
