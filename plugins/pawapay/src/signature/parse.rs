//! Structured fields (RFC 9651) of signatures.

use sfv::{Dictionary, Item, ListEntry, ListSerializer, Parameters, Parser};

/// Member of `Signature-Input`: `sig-pp=("@method" "content-digest");alg="…";created=1`.
#[derive(Debug)]
pub struct Input {
    pub label: String,
    pub components: Vec<String>,
    parameters: Parameters,
    /// Serialized value of the member, which is signed as `@signature-params`.
    pub serialized: String,
}

impl Input {
    /// Reads the member of pawaPay's name, or the only member.
    pub fn read(header: &str) -> Option<Self> {
        let mut members: Dictionary = Parser::new(header).parse().ok()?;
        let (label, member) = match members.len() {
            1 => members.pop()?,
            _ => members.swap_remove_entry(LABEL)?,
        };
        let mut serializer = ListSerializer::new();
        serializer.members([&member]);
        let ListEntry::InnerList(list) = member else {
            return None;
        };
        Some(Self {
            label: label.into(),
            components: list.items.iter().map(component).collect::<Option<_>>()?,
            parameters: list.params,
            serialized: serializer.finish()?,
        })
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        Some(self.parameters.get(name)?.as_string()?.as_str())
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        Some(self.parameters.get(name)?.as_integer()?.into())
    }
}

/// Bytes of a member: `sha-512=:…:`.
pub fn bytes_of(header: &str, label: &str) -> Option<Vec<u8>> {
    let members: Dictionary = Parser::new(header).parse().ok()?;
    match members.get(label)? {
        ListEntry::Item(item) => Some(item.bare_item.as_byte_sequence()?.to_vec()),
        ListEntry::InnerList(_) => None,
    }
}

/// Name of a covered component. pawaPay uses none with parameters (`"x";sf`).
fn component(item: &Item) -> Option<String> {
    let name = item.bare_item.as_string()?;
    item.params.is_empty().then(|| name.as_str().to_owned())
}

const LABEL: &str = "sig-pp";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_input_is_taken_apart() {
        let header = r#"other=("@method");keyid="a,b;c", sig-pp=("@method" "@path");alg="x";keyid="K:1";created=5"#;
        let input = Input::read(header).unwrap();
        assert_eq!(input.label, "sig-pp");
        assert_eq!(input.components, ["@method", "@path"]);
        assert_eq!(input.text("keyid"), Some("K:1"));
        assert_eq!(input.number("created"), Some(5));
        assert_eq!(input.number("keyid"), None);
        assert_eq!(
            input.serialized,
            r#"("@method" "@path");alg="x";keyid="K:1";created=5"#
        );
        for broken in [
            "",
            "sig-pp",
            "sig-pp=",
            "sig-pp=7",
            r#"sig-pp=("@method""#,
            "sig-pp=(@method)",
            "sig-pp=(7)",
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
        assert_eq!(bytes_of(header, "sha-256"), Some(vec![1, 2]));
        for (header, label) in [
            (header, "md5"),
            ("a=AQI=", "a"),
            ("a=:?:", "a"),
            ("a=(:AQI=:)", "a"),
            ("", "a"),
        ] {
            assert_eq!(bytes_of(header, label), None, "{header}");
        }
    }
}
