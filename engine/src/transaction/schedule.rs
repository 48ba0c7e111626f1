//! When an attempt without a final answer is asked about again (decisions 4).

use std::time::Duration;

/// How long a gateway's call may be away before somebody checks that it is still running.
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
/// Hourly queries for three days.
const HOURLY_QUERIES: u32 = 72;

/// How long after query number `asked` (0: after the attempt) the next one follows. Daily once a case is open, for as long as it takes.
pub fn wait_after(asked: u32) -> Duration {
    match FIRST.get(asked as usize) {
        Some(wait) => *wait,
        None if asked < last_before_case() => HOURLY,
        None => DAILY,
    }
}

/// Whether query number `asked` was the last before a person has to look.
pub fn ends_in_a_case(asked: u32) -> bool {
    asked == last_before_case()
}

const fn last_before_case() -> u32 {
    FIRST.len() as u32 + HOURLY_QUERIES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_follow_the_published_schedule_and_never_stop() {
        let seconds: Vec<u64> = (0..10).map(|asked| wait_after(asked).as_secs()).collect();
        assert_eq!(seconds, [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 3600]);
        assert_eq!(wait_after(79).as_secs(), 3600);
        assert!(ends_in_a_case(80));
        assert_eq!(wait_after(80).as_secs(), 24 * 3600);
        assert_eq!(wait_after(u32::MAX).as_secs(), 24 * 3600);
    }
}
