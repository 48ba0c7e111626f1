//! As much of structured fields (RFC 8941) as signatures need.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// One member of `Signature-Input`: `sig-pp=("@method" "content-digest");alg="…";created=1`.
#[derive(Debug)]
pub struct Input {
    pub label: String,
    pub components: Vec<String>,
    parameters: Vec<(String, String)>,
    /// The value as it stands in the header: it is signed in this form.
    pub raw: String,
}

impl Input {
    /// The member that is pawaPay's, or the only one.
    pub fn read(header: &str) -> Option<Self> {
        let members = split(header, ',');
        let member = match members.as_slice() {
            [one] => one,
            several => several
                .iter()
                .find(|member| member.trim().starts_with(LABEL))?,
        };
        let (label, raw) = member.trim().split_once('=')?;
        let raw = raw.trim();
        let (list, parameters) = raw.strip_prefix('(')?.split_once(')')?;
        let components = list.split_ascii_whitespace().map(quoted);
        // A component with parameters of its own (`"x";sf`) is none that pawaPay uses.
        let components: Vec<String> = components.collect::<Option<_>>()?;
        let parameters = split(parameters, ';').into_iter().skip(1).map(|parameter| {
            let (name, value) = parameter.trim().split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        Some(Self {
            label: label.trim().to_owned(),
            components,
            parameters: parameters.collect::<Option<_>>()?,
            raw: raw.to_owned(),
        })
    }

    pub fn text(&self, name: &str) -> Option<String> {
        quoted(self.parameter(name)?)
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        self.parameter(name)?.parse().ok()
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A member that holds bytes: `sha-512=:…:`.
pub fn bytes_of(header: &str, label: &str) -> Option<Vec<u8>> {
    let member = split(header, ',').into_iter().find_map(|member| {
        let (name, value) = member.trim().split_once('=')?;
        (name.trim().eq_ignore_ascii_case(label)).then_some(value)
    })?;
    let text = member.trim().strip_prefix(':')?.strip_suffix(':')?;
    BASE64.decode(text).ok()
}

fn quoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    // No name or id of pawaPay has a character that would be escaped.
    (!inner.contains(['"', '\\'])).then(|| inner.to_owned())
}

/// Splits outside quotation marks.
fn split(text: &str, at: char) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|char| {
        is_quoted ^= char == '"';
        char == at && !is_quoted
    })
    .collect()
}

const LABEL: &str = "sig-pp=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_input_is_taken_apart() {
        let header = r#"other=("@method");keyid="a,b;c", sig-pp=("@method" "@path");alg="x";keyid="K:1";created=5"#;
        let input = Input::read(header).unwrap();
        assert_eq!(input.label, "sig-pp");
        assert_eq!(input.components, ["@method", "@path"]);
        assert_eq!(input.text("keyid").as_deref(), Some("K:1"));
        assert_eq!(input.number("created"), Some(5));
        assert_eq!(
            input.raw,
            r#"("@method" "@path");alg="x";keyid="K:1";created=5"#
        );
        for broken in [
            "",
            "sig-pp",
            "sig-pp=",
            r#"sig-pp=("@method""#,
            "sig-pp=(@method)",
            r#"sig-pp=("@query-param";name="id");keyid="K""#,
            r#"a=("@method");keyid="1", b=("@method");keyid="2""#,
        ] {
            assert!(Input::read(broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn bytes_stand_between_colons() {
        let header = "sha-256=:AQI=:, sha-512=:Aw==:";
        assert_eq!(bytes_of(header, "sha-512"), Some(vec![3]));
        assert_eq!(bytes_of(header, "SHA-256"), Some(vec![1, 2]));
        for (header, label) in [(header, "md5"), ("a=AQI=", "a"), ("a=:?:", "a"), ("", "a")] {
            assert_eq!(bytes_of(header, label), None, "{header}");
        }
    }
}
