//! Moments in UTC. The clock that tells them is injected: `switchyard-system`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment in UTC, in microseconds since 1970. Stored as that integer, shown as ISO 8601 with
/// microseconds and `Z`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds * 1_000_000)
    }

    pub const fn as_micros(self) -> i64 {
        self.0
    }

    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Later by `by`; stays at the last representable moment instead of wrapping.
    pub fn plus(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// Earlier by `by`; stays at the first representable moment instead of wrapping.
    pub fn minus(self, by: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)),
        )
    }

    /// Day in UTC: days since 1 January 1970.
    pub const fn day(self) -> i64 {
        self.0.div_euclid(DAY_MICROS)
    }

    /// Day of the week in UTC: 0 is Monday, 6 is Sunday.
    pub const fn weekday(self) -> usize {
        // 1 January 1970 was a Thursday.
        const WEEKDAYS: [usize; 7] = [3, 4, 5, 6, 0, 1, 2];
        WEEKDAYS[self.day().rem_euclid(7).unsigned_abs() as usize]
    }

    /// How long after `earlier` this is; zero when it is before.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads `2026-11-20`, `2026-11-20T10:00:00Z` or any other RFC 3339 form. Without an offset it
    /// is UTC; a bare date is its midnight.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(at) = text.parse::<jiff::Timestamp>() {
            return Some(Self(at.as_microsecond()));
        }
        // jiff reads a local time out of more than one, and would leave an offset or a zone unread.
        let is_plain = |byte: u8| byte.is_ascii_digit() || b"-:. T".contains(&byte);
        let local = text.bytes().all(is_plain).then_some(text)?;
        let local = local.parse::<jiff::civil::DateTime>().ok()?;
        let at = local.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Self(at.timestamp().as_microsecond()))
    }

    /// The same for the last moment of a span: a bare date means the whole of its day.
    pub fn parse_end(text: &str) -> Option<Self> {
        let at = Self::parse(text)?;
        let is_date = !text.contains([':', 'T', 't', ' ']);
        Some(if is_date {
            at.plus(DAY - MICROSECOND)
        } else {
            at
        })
    }

    /// Reads the date of an HTTP header: `Fri, 20 Nov 2026 10:00:00 GMT`.
    pub fn parse_http(text: &str) -> Option<Self> {
        let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text);
        at.ok().map(|at| Self(at.as_microsecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at:.6}"),
            Err(_) => write!(f, "{}us", self.0),
        }
    }
}

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Unit of timestamps.
const MICROSECOND: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_in_utc_with_microseconds_and_z() {
        assert_eq!(
            Timestamp::from_micros(1_763_640_000_000_042).to_string(),
            "2025-11-20T12:00:00.000042Z"
        );
    }

    #[test]
    fn a_moment_is_read_in_utc_unless_it_says_otherwise() {
        let table = [
            ("2026-11-20", "2026-11-20T00:00:00.000000Z"),
            ("2026-11-20T10:30:00Z", "2026-11-20T10:30:00.000000Z"),
            ("2026-11-20T10:30:00+01:00", "2026-11-20T09:30:00.000000Z"),
            ("2026-11-20T10:30:00", "2026-11-20T10:30:00.000000Z"),
            ("2026-11-20 10:30:00.25", "2026-11-20T10:30:00.250000Z"),
        ];
        for (text, read) in table {
            let at = Timestamp::parse(text).map(|at| at.to_string());
            assert_eq!(at.as_deref(), Some(read), "{text}");
        }
        let no_moments = [
            "",
            "yesterday",
            "2026-13-01",
            "2026-11-20T25:00:00",
            "2026-11-20T10:00:00+99:00",
            "2026-11-20[Europe/Paris]",
        ];
        for text in no_moments {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_bare_date_as_an_end_means_the_whole_of_its_day() {
        let end = |text| Timestamp::parse_end(text).map(|at| at.to_string());
        assert_eq!(
            end("2026-11-20").as_deref(),
            Some("2026-11-20T23:59:59.999999Z")
        );
        assert_eq!(
            end("2026-11-20T10:00:00").as_deref(),
            Some("2026-11-20T10:00:00.000000Z")
        );
        assert_eq!(
            end("2026-11-20T10:00:00Z").as_deref(),
            Some("2026-11-20T10:00:00.000000Z")
        );
        assert_eq!(end("tomorrow"), None);
    }
}
