//! A time in requests and responses.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use switchyard_core::time::Timestamp;
use utoipa::ToSchema;

/// ISO 8601 in UTC, with microseconds and `Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-20T10:00:00.000000Z")]
pub struct IsoTimestamp(pub Timestamp);

impl From<Timestamp> for IsoTimestamp {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl std::fmt::Display for IsoTimestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for IsoTimestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for IsoTimestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed = Timestamp::parse(&text).map(Self);
        parsed.ok_or_else(|| D::Error::custom(format!("`{text}` is not a time in ISO 8601")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_json_to_the_microsecond() {
        let at = IsoTimestamp(Timestamp::from_micros(1_763_640_000_000_042));
        let text = serde_json::to_string(&at).unwrap();
        assert_eq!(text, "\"2025-11-20T12:00:00.000042Z\"");
        assert_eq!(serde_json::from_str::<IsoTimestamp>(&text).unwrap(), at);
        assert!(serde_json::from_str::<IsoTimestamp>("\"yesterday\"").is_err());
    }
}
