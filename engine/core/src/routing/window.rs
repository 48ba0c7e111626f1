//! Two counts over the recent past, in a ring of buckets: a note costs one bucket, a look costs all
//! of them, and there are few.

use std::time::Duration;

use crate::time::Timestamp;

/// How many were good and how many were bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub good: u32,
    pub bad: u32,
}

impl Counts {
    pub fn all(self) -> u32 {
        self.good.saturating_add(self.bad)
    }
}

/// The counts of the last `BUCKETS` times `width`.
#[derive(Clone, Debug)]
pub(super) struct Window<const BUCKETS: usize> {
    width: i64,
    buckets: [Counts; BUCKETS],
    /// The number of the newest bucket since 1970.
    newest: i64,
}

impl<const BUCKETS: usize> Window<BUCKETS> {
    pub fn of(width: Duration) -> Self {
        Self {
            width: i64::try_from(width.as_micros()).unwrap_or(i64::MAX).max(1),
            buckets: [Counts::default(); BUCKETS],
            newest: i64::MIN,
        }
    }

    /// Counts one. A clock that was set back counts into the newest bucket.
    pub fn note(&mut self, good: bool, now: Timestamp) {
        let number = now.as_micros().div_euclid(self.width);
        let gone = number.saturating_sub(self.newest);
        if gone > 0 {
            for back in 0..gone.min(BUCKETS as i64) {
                self.buckets[slot::<BUCKETS>(number - back)] = Counts::default();
            }
            self.newest = number;
        }
        let bucket = &mut self.buckets[slot::<BUCKETS>(self.newest)];
        let count = if good {
            &mut bucket.good
        } else {
            &mut bucket.bad
        };
        *count = count.saturating_add(1);
    }

    pub fn counts(&self, now: Timestamp) -> Counts {
        let number = now.as_micros().div_euclid(self.width);
        // Buckets that are still empty are behind all others, and are empty.
        let gone = number.saturating_sub(self.newest).clamp(0, BUCKETS as i64);
        let mut sum = Counts::default();
        for back in 0..(BUCKETS as i64 - gone) {
            let bucket = self.buckets[slot::<BUCKETS>(self.newest.wrapping_sub(back))];
            sum.good = sum.good.saturating_add(bucket.good);
            sum.bad = sum.bad.saturating_add(bucket.bad);
        }
        sum
    }

    pub fn clear(&mut self) {
        self.buckets = [Counts::default(); BUCKETS];
    }
}

fn slot<const BUCKETS: usize>(number: i64) -> usize {
    usize::try_from(number.rem_euclid(BUCKETS as i64)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_the_window_counts_no_more() {
        let at = |seconds: i64| Timestamp::from_seconds(30_000 + seconds);
        let mut window = Window::<3>::of(Duration::from_secs(10));
        for seconds in [0, 10, 10, 20] {
            window.note(true, at(seconds));
        }
        // A new stretch takes the place of the oldest; silence empties those in between.
        let good = |window: &Window<3>, seconds| window.counts(at(seconds)).good;
        assert_eq!(good(&window, 20), 4);
        window.note(true, at(30));
        assert_eq!(good(&window, 30), 4);
        window.note(true, at(50));
        assert_eq!([good(&window, 50), good(&window, 80)], [2, 0]);
        // A clock that was set back counts into the newest stretch.
        window.note(true, at(0));
        assert_eq!(good(&window, 50), 3);
    }
}
