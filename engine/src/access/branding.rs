//! Branding of a merchant's pages and mails: pictures, colour, support contact.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::error::AccessError;
use super::text;
use switchyard_core::colour::{Colour, LEAST_CONTRAST};

/// A picture that browsers show and that runs nothing: PNG, JPEG or WebP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub media_type: &'static str,
    pub bytes: Vec<u8>,
}

impl Picture {
    /// Reads `data:image/png;base64,…`.
    pub fn from_data_url(text: &str) -> Option<Self> {
        let (head, data) = text.strip_prefix("data:")?.split_once(";base64,")?;
        let picture = Self::from_bytes(STANDARD.decode(data).ok()?)?;
        (picture.media_type == head).then_some(picture)
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let media_type = Self::media_type_of(&bytes)?;
        Some(Self { media_type, bytes })
    }

    /// Recognises the format by the first bytes, not by a name.
    pub(super) fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some("image/png")
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            Some("image/jpeg")
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            Some("image/webp")
        } else {
            None
        }
    }
}

/// An accent colour, on which white text must be readable.
pub(super) fn accent(field: &'static str, value: &str) -> Result<(), AccessError> {
    let Some(colour) = Colour::parse(value) else {
        return Err(AccessError::invalid(
            field,
            "is not a colour: write it as #rrggbb, such as #095f4b",
        ));
    };
    let contrast = colour.contrast(Colour::WHITE);
    if contrast < LEAST_CONTRAST {
        let darker = colour.readable_on(Colour::WHITE, Colour::BLACK, LEAST_CONTRAST);
        return Err(AccessError::invalid(
            field,
            format!(
                "has a contrast of {contrast:.1} to 1 with white text, and at least {LEAST_CONTRAST} is needed: use {darker} or a \
                 darker colour"
            ),
        ));
    }
    Ok(())
}

/// A phone number for people: digits with the usual separators.
pub(super) fn support_phone(field: &'static str, value: &str) -> Result<(), AccessError> {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let plain = value
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-' | '.' | '(' | ')'));
    if plain && (3..=20).contains(&digits) && value.len() <= 40 {
        return Ok(());
    }
    Err(AccessError::invalid(
        field,
        "is not a phone number, such as +229 01 97 80 80 80",
    ))
}

/// An https address of a help page.
pub(super) fn support_url(field: &'static str, value: &str) -> Result<(), AccessError> {
    let url = text::url(field, value)?;
    if url.scheme() != "https" {
        return Err(AccessError::invalid(field, "has to begin with https://"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_is_a_picture_of_the_format_that_it_names() {
        assert!(Picture::from_data_url("data:image/png;base64,iVBORw0KGgo=").is_some());
        for bad in [
            "",
            "https://shop.example/logo.png",
            "data:image/svg+xml;base64,PHN2Zz48c2NyaXB0Pg==",
            "data:image/jpeg;base64,iVBORw0KGgo=",
            "data:image/png;base64,PHN2Zz4=",
            "data:image/png;base64,\"><script>",
        ] {
            assert!(Picture::from_data_url(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn an_accent_colour_that_cannot_be_read_is_refused_with_one_that_can() {
        assert!(accent("accent_colour", "#095f4b").is_ok());
        assert!(accent("accent_colour", "green").is_err());
        let said = accent("accent_colour", "#ffcc00").unwrap_err().to_string();
        let proposed = said.split("use ").nth(1).unwrap();
        assert!(accent("accent_colour", &proposed[..7]).is_ok(), "{said}");
    }

    #[test]
    fn a_support_contact_is_checked() {
        assert!(support_phone("support_phone", "+229 01 97 80 80 80").is_ok());
        assert!(support_phone("support_phone", "call us").is_err());
        assert!(support_url("support_url", "https://shop.example/help").is_ok());
        assert!(support_url("support_url", "http://shop.example/help").is_err());
        assert!(support_url("support_url", "javascript:alert(1)").is_err());
    }
}
