//! E-mail addresses, as requests, forms and settings may name them.

use email_address::{EmailAddress, Options};

/// Whether mails can be sent to `text`: a local part and a host name with a dot, at most 254 bytes,
/// no quotes and no display name. Allowed are ASCII and letters and digits of other scripts, so
/// that no invisible character reverses or hides a part of it. Whether the mailbox exists is not
/// checked.
pub fn is_valid(text: &str) -> bool {
    let options = Options::default()
        .with_required_tld()
        .without_domain_literal()
        .without_display_text();
    let is_visible = |c: char| c.is_ascii() || (c.is_alphanumeric() && !BLANK.contains(&c));
    let is_visible = text.chars().all(is_visible);
    let is_plain = text.len() <= EMAIL_BYTES && !text.contains('"') && is_visible;
    is_plain && EmailAddress::parse_with_options(text, options).is_ok()
}

/// Letters that show nothing: the fillers of Hangul.
const BLANK: [char; 4] = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}'];
/// Longest address between angle brackets (RFC 5321, 4.5.3.1.3).
const EMAIL_BYTES: usize = 254;

#[cfg(test)]
mod tests {
    use lettre::Address;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_has_a_local_part_and_a_host_with_a_dot() {
        for (text, expected) in [
            ("ada@example.com", true),
            ("ada.lovelace+orders@mail.example.co.uk", true),
            ("o'brien@example.com", true),
            ("josé@example.fr", true),
            ("ada@münchen.example", true),
            ("आदा@example.com", true),
            ("ada\u{202e}@example.com", false),
            ("ada\u{a0}b@example.com", false),
            ("ada\u{3164}@example.com", false),
            ("ada\u{200b}@example.com", false),
            ("", false),
            ("ada", false),
            ("ada@", false),
            ("@example.com", false),
            ("ada@host", false),
            ("ada@example.", false),
            ("ada@.example.com", false),
            ("a..b@example.com", false),
            (".ada@example.com", false),
            ("ada.@example.com", false),
            ("ada@-example.com", false),
            ("ada@two@example.com", false),
            ("ada lovelace@example.com", false),
            ("ada@example.com\n", false),
            ("ada@example.com, eve@example.com", false),
            ("Ada <ada@example.com>", false),
            ("\"ada lovelace\"@example.com", false),
            ("ada@[192.0.2.1]", false),
        ] {
            assert_eq!(is_valid(text), expected, "{text:?}");
        }
        let local = "a".repeat(65);
        assert!(!is_valid(&format!("{local}@example.com")));
    }

    proptest! {
        #[test]
        fn the_mailer_takes_every_valid_address(text in "[a-zé.+'_-]{1,12}@[a-zü0-9.-]{1,20}") {
            if is_valid(&text) {
                prop_assert!(text.parse::<Address>().is_ok());
            }
        }
    }
}
