//! Encodings of a secret: as part of a URL, within a JSON text, in base64, alone or between other
//! bytes.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use reqwest::Url;

/// Returns the secret itself and all its encodings that differ.
pub(super) fn of(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    forms.extend(in_json(secret));
    forms.push(url::form_urlencoded::byte_serialize(secret.as_bytes()).collect());
    forms.extend(in_path(secret));
    forms.extend(in_base64(secret.as_bytes()));
    forms.sort();
    forms.dedup();
    forms
}

fn in_json(secret: &str) -> Option<String> {
    let quoted = serde_json::to_string(secret).ok()?;
    quoted.get(1..quoted.len() - 1).map(str::to_owned)
}

/// Encodes the secret as one segment of a path, and as a path written without escaping.
fn in_path(secret: &str) -> Vec<String> {
    let step = Url::parse("https://a/").ok().and_then(|mut url| {
        url.path_segments_mut().ok()?.pop_if_empty().push(secret);
        Some(url.path()[1..].to_owned())
    });
    let written = Url::parse(&format!("https://a/{secret}")).ok();
    let written = written.map(|url| url.as_str()["https://a/".len()..].to_owned());
    let long = |text: &String| text.len() >= secret.len();
    step.into_iter().chain(written).filter(long).collect()
}

/// Base64 encodes three bytes at a time, so a secret after other bytes has one of three encodings.
/// Returns the part of each that does not depend on neighbouring bytes.
fn in_base64(secret: &[u8]) -> Vec<String> {
    if secret.len() < SHORTEST_IN_BASE64 {
        return Vec::new();
    }
    let mut forms = Vec::new();
    for before in 0..3 {
        let bytes = [&[0; 2][..before], secret].concat();
        let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            forms.push(alphabet.encode(&bytes)[own.clone()].to_owned());
        }
    }
    forms
}

/// Minimum length in bytes. The base64 of fewer bytes may occur by chance.
const SHORTEST_IN_BASE64: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_in_json_in_urls_and_in_base64_behind_anything() {
        let secret = "k3y/\"quoted\" +with=all&é";
        let forms = of(secret);
        let holds = |text: &str| forms.iter().any(|form| text.contains(form.as_str()));
        assert!(holds(
            &serde_json::to_string(&format!("a {secret} b")).unwrap()
        ));
        let mut url = Url::parse("https://shop.example/a").unwrap();
        url.query_pairs_mut().append_pair("k", secret);
        assert!(holds(url.as_str()), "{url}");
        url.set_query(None);
        url.path_segments_mut().unwrap().push(secret).push("b");
        assert!(holds(url.as_str()), "{url}");
        let url = Url::parse(&format!("https://shop.example/{secret}/b")).unwrap();
        assert!(holds(url.as_str()), "{url}");
        for around in ["", "u", "us", "user:", "user::"] {
            let text = format!("{around}{secret}{around}");
            assert!(holds(&STANDARD_NO_PAD.encode(&text)), "{around}");
            assert!(holds(&URL_SAFE_NO_PAD.encode(&text)), "{around}");
        }
        assert!(!holds("a text without it"));
    }

    #[test]
    fn a_plain_secret_has_no_more_forms_than_base64() {
        assert_eq!(of("short1"), ["short1"]);
        assert!(of("sk_live_12345").len() <= 7);
    }
}
