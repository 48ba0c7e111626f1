//! Seeded random numbers (SplitMix64). The same seed gives the same history.

/// A stream of random numbers. Streams for different purposes are independent.
pub struct Chance(u64);

impl Chance {
    /// Creates the stream of `seed` for one purpose.
    pub fn of(seed: u64, purpose: &str) -> Self {
        Self(seed ^ xxhash_rust::xxh3::xxh3_64(purpose.as_bytes()))
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }

    /// Returns a number from `from` to `to`, both included.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// Returns true with a probability of `permille` / 1,000.
    pub fn happens(&mut self, permille: u64) -> bool {
        self.below(1_000) < permille
    }
}
