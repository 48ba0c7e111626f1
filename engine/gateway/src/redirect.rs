//! Payment pages of providers that a payer cannot be sent to.

use url::Url;

use switchyard_core::environment::Environment;

/// Reason why a payer cannot be sent to this address; `None` when they can.
pub(super) fn unusable(url: &str, environment: Environment) -> Option<String> {
    let why = fault(url, environment)?;
    Some(format!(
        "The provider's payment page cannot be opened: its address {why}. The payer was not sent \
         there."
    ))
}

fn fault(url: &str, environment: Environment) -> Option<&'static str> {
    let Ok(url) = Url::parse(url) else {
        return Some("is not an absolute URL");
    };
    match url.scheme() {
        "https" => {}
        "http" if environment == Environment::Sandbox => {}
        "http" => return Some("begins with http://, which is not allowed in live"),
        _ => return Some("does not begin with https://"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("contains a user name");
    }
    (!url.has_host()).then_some("has no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payer_is_sent_to_a_web_address_only_and_in_live_to_https_only() {
        for (url, in_sandbox, in_live) in [
            ("https://pay.example/x", true, true),
            ("http://pay.example/x", true, false),
            ("HTTP://pay.example/x", true, false),
            ("javascript:alert(1)", false, false),
            ("data:text/html,x", false, false),
            ("file:///etc/passwd", false, false),
            ("/x", false, false),
            ("", false, false),
            ("https://", false, false),
            ("https://shop.example@pay.example/", false, false),
        ] {
            let usable = |environment| unusable(url, environment).is_none();
            assert_eq!(usable(Environment::Sandbox), in_sandbox, "{url:?}");
            assert_eq!(usable(Environment::Live), in_live, "{url:?}");
        }
        let why = unusable("http://pay.example/x?session=1", Environment::Live).unwrap();
        assert!(
            why.contains("http://, which") && !why.contains("session"),
            "{why}"
        );
    }
}
