//! Durations and sizes as people write them: `10s`, `30min`, `64MiB`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time in a settings file: a whole number and `ms`, `s`, `min`, `h` or `d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationSetting(pub Duration);

/// A number of bytes in a settings file: a whole number and `B`, `KiB`, `MiB` or `GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A text is not a whole number with a known unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a whole number followed by one of {units}")]
pub struct ParseUnitError {
    text: String,
    units: &'static str,
}

impl FromStr for DurationSetting {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        measure(text, &TIME)
            .map(|millis| Self(Duration::from_millis(millis)))
            .ok_or_else(|| ParseUnitError {
                text: text.to_owned(),
                units: "ms, s, min, h, d",
            })
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        measure(text, &SIZE)
            .map(Self)
            .ok_or_else(|| ParseUnitError {
                text: text.to_owned(),
                units: "B, KiB, MiB, GiB",
            })
    }
}

impl fmt::Display for DurationSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        f.write_str(&in_the_largest_unit(millis, &TIME))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_the_largest_unit(self.0, &SIZE))
    }
}

macro_rules! as_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}
as_text!(DurationSetting);
as_text!(Bytes);

fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn in_the_largest_unit(value: u64, units: &[(&str, u64)]) -> String {
    let fits = |factor: u64| value.is_multiple_of(factor) && value != 0;
    let (name, factor) = units
        .iter()
        .rev()
        .find(|(_, factor)| fits(*factor))
        .unwrap_or(&units[0]);
    format!("{}{name}", value / factor)
}

const TIME: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];
const SIZE: [(&str, u64); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_whole_number_and_a_unit_and_is_written_as_it_was_read() {
        for (text, seconds) in [
            ("10s", 10),
            ("30min", 1_800),
            ("2h", 7_200),
            ("90d", 7_776_000),
        ] {
            let span: DurationSetting = text.parse().unwrap();
            assert_eq!(span.0.as_secs(), seconds);
            assert_eq!(span.to_string(), text);
        }
        assert_eq!(
            "250ms".parse::<DurationSetting>().unwrap().0,
            Duration::from_millis(250)
        );
        assert_eq!(
            " 5 min ".parse::<DurationSetting>().unwrap().to_string(),
            "5min"
        );
    }

    #[test]
    fn a_number_without_a_unit_or_with_a_strange_one_is_refused() {
        for bad in [
            "",
            "10",
            "min",
            "-5s",
            "1.5h",
            "10 weeks",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(bad.parse::<DurationSetting>().is_err(), "{bad}");
        }
        let refusal = "10".parse::<DurationSetting>().unwrap_err().to_string();
        assert_eq!(
            refusal,
            "`10` is not a whole number followed by one of ms, s, min, h, d"
        );
    }

    #[test]
    fn sizes_count_in_powers_of_two() {
        assert_eq!("64MiB".parse::<Bytes>().unwrap(), Bytes(64 << 20));
        assert_eq!(Bytes(64 << 20).to_string(), "64MiB");
        assert!("64MB".parse::<Bytes>().is_err());
    }
}
