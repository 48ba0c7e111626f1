//! Chance that is given: a transaction's own seed, from which all its draws follow. The same
//! transaction draws the same each time, so a retry and the page before it see one plan.

/// The chance of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightedDraw(u64);

impl WeightedDraw {
    /// From whatever is random of the transaction: the random part of its id.
    pub const fn of(random: u128) -> Self {
        #[allow(clippy::cast_possible_truncation)] // half of eighty random bits is chance enough
        Self(random as u64)
    }

    /// The first draw as a number below 10,000, for people to read.
    pub fn shown(self) -> u16 {
        u16::try_from(self.below(0, 10_000)).unwrap_or(0)
    }

    /// The draw of this `turn`: a number below `limit`; 0 when that is 0.
    pub(super) fn below(self, turn: u64, limit: u64) -> u64 {
        let drawn = u128::from(mixed(self.0.wrapping_add(turn.wrapping_mul(GOLDEN))));
        u64::try_from((drawn * u128::from(limit)) >> 64).unwrap_or(0)
    }
}

/// SplitMix64: each bit of the answer depends on each bit of the seed, so neighbours among ids have
/// nothing in common.
const fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(GOLDEN);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the published generator with the seed 0.
    #[test]
    fn draws_are_those_of_splitmix64() {
        let first = [0_u64, 1, 2].map(|turn| mixed(turn.wrapping_mul(GOLDEN)));
        let published = [
            0xe220_a839_7b1d_cdaf,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        assert_eq!(first, published);
        assert_eq!(WeightedDraw::of(0).shown(), 8_833);
        assert_eq!(WeightedDraw::of(0).below(1, 100), 43);
        assert_eq!(WeightedDraw::of(0).below(0, 0), 0);
    }
}
