//! The engine's time, as one call sees it. A gateway has no clock of its own.

use std::cmp::Ordering;
use std::fmt;

use crate::fault::Fault;

/// A moment in UTC. Two texts of one moment are equal.
///
/// ```
/// use switchyard_gateway::Moment;
///
/// let moment = Moment::parse("2026-11-20T10:00:00.500000Z")?;
/// assert_eq!(moment.unix_millis(), 1_795_168_800_500);
/// assert!(moment > Moment::from_unix_seconds(moment.unix_seconds())?);
/// # Ok::<(), switchyard_gateway::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Moment {
    text: String,
    micros: i64,
}

impl Moment {
    /// Reads `2026-11-20T10:00:00.000000Z`.
    ///
    /// ```
    /// use switchyard_gateway::Moment;
    ///
    /// assert_eq!(Moment::parse("1970-01-01T00:01:00Z")?.unix_seconds(), 60);
    /// assert!(Moment::parse("1970-01-01T00:01:00+01:00").is_err());
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let micros = micros(text)
            .ok_or_else(|| Fault::message(format!("`{text}` is no time in UTC (RFC 3339)")))?;
        Ok(Self {
            text: text.to_owned(),
            micros,
        })
    }

    /// From seconds since 1970.
    ///
    /// # Errors
    /// When it is outside of the years 0 to 9999.
    ///
    /// ```
    /// use switchyard_gateway::Moment;
    ///
    /// // A provider that writes times as seconds.
    /// let created = Moment::from_unix_seconds(1_795_168_800)?;
    /// assert_eq!(created.to_string(), "2026-11-20T10:00:00Z");
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn from_unix_seconds(seconds: i64) -> Result<Self, Fault> {
        let text = written(seconds)
            .ok_or_else(|| Fault::message(format!("{seconds} s since 1970 is no time")))?;
        Self::parse(&text)
    }

    /// Whole seconds since 1970.
    ///
    /// ```
    /// use switchyard_gateway::Moment;
    ///
    /// // A token that is valid for an hour.
    /// let now = Moment::parse("2026-11-20T10:00:00.900000Z")?;
    /// let expires = Moment::from_unix_seconds(now.unix_seconds() + 3_600)?;
    /// assert_eq!(expires.to_string(), "2026-11-20T11:00:00Z");
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn unix_seconds(&self) -> i64 {
        self.micros.div_euclid(1_000_000)
    }

    /// Whole milliseconds since 1970.
    ///
    /// ```
    /// use switchyard_gateway::Moment;
    ///
    /// let now = Moment::parse("2026-11-20T10:00:00.900000Z")?;
    /// let signed = format!("{}.{}", now.unix_millis(), r#"{"amount":"10"}"#);
    /// assert_eq!(signed, r#"1795168800900.{"amount":"10"}"#);
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn unix_millis(&self) -> i64 {
        self.micros.div_euclid(1_000)
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.micros == other.micros
    }
}

impl Eq for Moment {}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.micros.cmp(&other.micros)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn micros(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.splitn(3, ':').map(str::parse::<i64>);
    let (hour, minute, second) = (time.next()?.ok()?, time.next()?.ok()?, time.next()?.ok()?);
    let fits = (0..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if !fits {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<6}").get(..6)?.parse().ok()?;
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000_000 + fraction)
}

/// Days since 1970 of a date in the Gregorian calendar (Howard Hinnant's `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Date and time of seconds since 1970 (Howard Hinnant's `civil_from_days`).
fn written(seconds: i64) -> Option<String> {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days.checked_add(719_468)?;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    (0..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_reads_as_seconds_since_1970() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2025-11-20T12:00:00.000042Z", 1_763_640_000_000),
            ("2024-02-29T23:59:59.5Z", 1_709_251_199_500),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            assert_eq!(Moment::parse(text).unwrap().unix_millis(), millis, "{text}");
        }
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-28T23:59:59Z", 951_782_399),
            ("2000-02-29T00:00:00Z", 951_782_400),
            ("2026-11-20T10:00:00Z", 1_795_168_800),
            ("1969-12-31T23:59:59Z", -1),
        ] {
            let moment = Moment::from_unix_seconds(seconds).unwrap();
            assert_eq!(moment.to_string(), text);
            assert_eq!(moment.unix_seconds(), seconds);
        }
        for no_time in [i64::MAX, i64::MIN, 253_402_300_800] {
            assert!(Moment::from_unix_seconds(no_time).is_err(), "{no_time}");
        }
        for text in [
            "yesterday",
            "2025-11-20",
            "2025-11-20T12:00:00+01:00",
            "2025-13-01T00:00:00Z",
        ] {
            assert!(Moment::parse(text).is_err(), "{text}");
        }
    }
}
