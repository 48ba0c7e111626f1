//! Chance from a seed (xoshiro256**): one seed, one history.

pub(crate) struct Chance([u64; 4]);

impl Chance {
    /// From hexadecimal; 32 bytes are used. A short or empty seed still gives a sequence, the same
    /// one each time.
    pub(crate) fn from_seed(hex: &str) -> Self {
        let mut state = [
            0x9e37_79b9_7f4a_7c15,
            0xbf58_476d_1ce4_e5b9,
            0x94d0_49bb_1331_11eb,
            0x2545_f491_4f6c_dd1d,
        ];
        for (at, digit) in hex
            .chars()
            .filter_map(|digit| digit.to_digit(16))
            .take(64)
            .enumerate()
        {
            state[at / 16] ^= u64::from(digit) << (at % 16 * 4);
        }
        if state == [0; 4] {
            state[0] = 1;
        }
        Self(state)
    }

    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_sequence_and_another_gives_another() {
        let draw = |seed: &str| {
            let mut chance = Chance::from_seed(seed);
            [chance.next(), chance.next(), chance.next()]
        };
        assert_eq!(draw("00ff"), draw("00ff"));
        assert_ne!(draw("00ff"), draw("00fe"));
        assert_ne!(draw("")[0], draw("")[1]);
    }
}
