//! Random numbers that a seed brings back.

use std::time::Duration;

/// The generator of Vigna and others that is called `SplitMix64`.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A fresh seed, or the one in `ONCEWARD_SEED`. It is printed, which is seen when the test fails.
    pub fn seed() -> u64 {
        let given = std::env::var("ONCEWARD_SEED").ok();
        let seed = given.map_or_else(
            || uuid::Uuid::new_v4().as_u64_pair().0,
            |text| text.parse().expect("ONCEWARD_SEED is a whole number"),
        );
        println!("ONCEWARD_SEED={seed} brings these moments back");
        seed
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A time between two, in milliseconds; the second one not included.
    pub fn ms(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.next() % (to - from))
    }
}
