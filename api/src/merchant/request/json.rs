//! JSON as requests bring it: read once, borrowed from the body, numbers kept as they were written.
//!
//! An amount must never pass through a float, so a number stays text until the reader of its field
//! parses it. Unread values are only skipped: they may be nested as deeply as the body is long, and
//! cost nothing.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// One value of a request.
pub enum Value<'a> {
    Null,
    Bool,
    /// As written.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(List<'a>),
    Object(Object<'a>),
    /// Grammatically JSON, but no text or object can be made of it: half of a surrogate pair.
    Broken,
}

impl<'a> Value<'a> {
    pub fn of(raw: &'a RawValue) -> Self {
        let text = raw.get();
        let value = match text.as_bytes().first() {
            Some(b'n') => Some(Self::Null),
            Some(b't' | b'f') => Some(Self::Bool),
            // It is JSON already, so without an escape its content is what stands between the
            // quotes.
            Some(b'"') if !text.as_bytes().contains(&b'\\') => text
                .get(1..text.len() - 1)
                .map(|text| Self::Text(Cow::Borrowed(text))),
            Some(b'"') => serde_json::from_str::<Text<'a>>(text)
                .ok()
                .map(|Text(text)| Self::Text(text)),
            Some(b'[') => serde_json::from_str(text).ok().map(Self::List),
            Some(b'{') => serde_json::from_str(text).ok().map(Self::Object),
            _ => Some(Self::Number(text)),
        };
        value.unwrap_or(Self::Broken)
    }

    /// Name of the type in a message.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
            Self::Broken => "a broken string",
        }
    }
}

/// The members of an object, in the order in which they were written, doubles included.
#[derive(Default)]
pub struct Object<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Object<'a> {
    /// The value of `key`; none when it is not there or null. Of a key that was given twice, the
    /// first.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        self.look_up(key).0
    }

    /// The same, and whether the key was given more than once.
    pub fn look_up(&self, key: &str) -> (Option<Value<'a>>, bool) {
        let mut given = self.0.iter().filter(|(name, _)| name == key);
        let Some((_, raw)) = given.next() else {
            return (None, false);
        };
        let value = match Value::of(raw) {
            Value::Null => None,
            value => Some(value),
        };
        (value, given.next().is_some())
    }
}

/// The items of a list.
pub struct List<'a>(pub Vec<&'a RawValue>);

/// A text, borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'de> Visitor<'de> for Texts {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Texts)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                let mut members = Vec::with_capacity(12);
                while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &RawValue>()? {
                    members.push((key, value));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = List<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<List<'de>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element::<&RawValue>()? {
                    items.push(item);
                }
                Ok(List(items))
            }
        }
        deserializer.deserialize_seq(Items)
    }
}
