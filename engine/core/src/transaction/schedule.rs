//! Query schedule of attempts without a final status (docs/contract/states.md).

use std::time::Duration;

/// Time after which a gateway's call is checked to be still running.
pub const GATEWAY_WATCH: Duration = Duration::from_secs(5);

const FIRST: [Duration; 8] = [
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(2 * 60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(30 * 60),
];
const HOURLY: Duration = Duration::from_secs(60 * 60);
const DAILY: Duration = Duration::from_secs(24 * 60 * 60);
/// How often a gateway may have an attempt asked about in the time since the attempt began.
const QUERIES_AN_AGE: u32 = 60;
/// Age of an attempt without a final status at which a case is opened.
pub const CASE_AFTER: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// How long a typed code may be away before the payer may type it again: longer than any call
/// lasts.
pub const CODE_WATCH: Duration = Duration::from_secs(90);
/// Usual time in which a payer completes an attempt whose gateway states none.
pub const USUAL_TIME: Duration = Duration::from_secs(60);
/// Interval to the query that takes the place of one whose result is older than a report.
pub const SOON: Duration = Duration::from_secs(5);
/// Interval between queries about a transaction on hold: an operator reviews it.
pub const HELD_QUERY: Duration = DAILY;
/// Interval between requests to cancel an attempt.
pub const CALL_OFF_AGAIN: Duration = Duration::from_secs(10);
/// How long a payout that no gateway can take waits for one. Nothing was sent, so waiting costs
/// nothing; a gateway that is being replaced is back long before.
pub const DISPATCH_RETRY_WINDOW: Duration = Duration::from_secs(30 * 60);

/// How long after query number `asked` (0: after the attempt) the next one follows, for an attempt
/// that is `age` old. Daily once a case is open, for as long as it takes.
pub fn wait_after(asked: u32, age: Duration) -> Duration {
    match FIRST.get(asked as usize) {
        Some(wait) => *wait,
        None if age < CASE_AFTER => HOURLY,
        None => DAILY,
    }
}

/// Interval to the next query after a response in which the gateway asked for `wanted`. Its wish is
/// followed, but never more often than sixty times in the age of the attempt so far: a change is
/// seen a minute late at most for an attempt one hour old, and three days of a gateway that always
/// asks for the shortest interval are some hundred queries, not fifty thousand. Daily once a case
/// is open.
pub fn wait_as_wanted(wanted: Duration, age: Duration) -> Duration {
    if age >= CASE_AFTER {
        return DAILY;
    }
    wanted.max(age / QUERIES_AN_AGE).min(HOURLY)
}

/// Delay of a payout's next dispatch after `rounds` dispatches that reached no provider.
pub fn wait_before_dispatch(rounds: usize) -> Duration {
    match rounds.checked_sub(1) {
        None => Duration::ZERO,
        Some(earlier) => FIRST.get(earlier).copied().unwrap_or(HOURLY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_follow_the_published_schedule_and_never_stop() {
        let mut age = Duration::ZERO;
        let mut waits = Vec::new();
        for asked in 0..100 {
            waits.push(wait_after(asked, age).as_secs());
            age += wait_after(asked, age);
        }
        assert_eq!(waits[..9], [5, 15, 30, 60, 120, 300, 600, 1800, 3600]);
        assert_eq!(waits.iter().filter(|wait| **wait == 3600).count(), 72);
        assert_eq!(waits.last(), Some(&(24 * 3600)));
    }

    #[test]
    fn many_early_queries_do_not_bring_the_case_forward() {
        assert_eq!(wait_after(500, Duration::from_secs(600)), HOURLY);
    }
}
