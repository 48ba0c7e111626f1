//! Validation of names, addresses and URLs that a merchant gives.

use url::Url;

use super::error::AccessError;
use switchyard_core::email;

/// A name for people to read: 1 to 100 characters, none of them a control character.
pub(super) fn name(field: &'static str, value: &str) -> Result<(), AccessError> {
    let characters = value.trim().chars().count();
    if characters == 0
        || value.chars().count() > NAME_CHARACTERS
        || value.chars().any(char::is_control)
    {
        return Err(AccessError::invalid(
            field,
            format!("is a text of 1 to {NAME_CHARACTERS} characters on one line"),
        ));
    }
    Ok(())
}

/// An absolute http or https URL with a host and without credentials or a fragment.
pub(super) fn url(field: &'static str, value: &str) -> Result<Url, AccessError> {
    let problem = |what: &str| AccessError::invalid(field, what.to_owned());
    if value.len() > URL_BYTES {
        return Err(problem("is longer than 2048 bytes"));
    }
    let url = Url::parse(value)
        .map_err(|_| problem("is not an absolute URL such as https://shop.example/path"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(problem("has to begin with https:// or http://"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(problem("names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(problem("must not contain a user name or a password"));
    }
    if url.fragment().is_some() {
        return Err(problem("must not contain a fragment (#…)"));
    }
    Ok(url)
}

pub(super) fn optional_url(field: &'static str, value: Option<&str>) -> Result<(), AccessError> {
    value.map_or(Ok(()), |value| url(field, value).map(drop))
}

pub(super) fn email(field: &'static str, value: &str) -> Result<(), AccessError> {
    match email::is_valid(value) {
        true => Ok(()),
        false => Err(AccessError::invalid(field, "is not an e-mail address")),
    }
}

/// Long enough for any name a person gives; short enough for a mail's subject.
const NAME_CHARACTERS: usize = 100;
/// Length that browsers and proxies accept.
const URL_BYTES: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_absolute_http_and_carries_no_credentials() {
        assert!(url("url", "https://shop.example/hooks?a=1").is_ok());
        assert!(url("url", "http://127.0.0.1:9000/hooks").is_ok());
        for bad in [
            "",
            "shop.example/hooks",
            "/hooks",
            "ftp://shop.example",
            "https://user:pass@shop.example",
            "https://user@shop.example",
            "https://shop.example/#part",
            "javascript:alert(1)",
            "https://",
        ] {
            assert!(url("url", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_has_two_sides_and_no_way_to_add_a_header() {
        assert!(email("email", "owner@shop.example").is_ok());
        for bad in [
            "",
            "owner",
            "@shop",
            "owner@",
            "a@b@c",
            "a b@c",
            "a@b\r\nBcc: x@y",
            "a@b,c@d",
        ] {
            assert!(email("email", bad).is_err(), "{bad:?}");
        }
    }
}
