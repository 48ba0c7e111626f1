//! Source of new ids, secrets and all other randomness.

use std::sync::Arc;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use switchyard_core::time::Timestamp;
use ulid::Ulid;

/// Source of randomness: the system's generator, or a seed in tests.
#[derive(Clone)]
pub struct Ids(Chance);

#[derive(Clone)]
enum Chance {
    System,
    Seeded(Arc<Mutex<StdRng>>),
}

impl Ids {
    /// The operating system's cryptographic generator, through the thread's own.
    pub fn system() -> Self {
        Self(Chance::System)
    }

    /// The same ids each time, for one seed. For tests and the simulation only: these are guessable.
    pub fn seeded(seed: u64) -> Self {
        Self(Chance::Seeded(Arc::new(Mutex::new(StdRng::seed_from_u64(
            seed,
        )))))
    }

    /// A ULID of the moment `now`.
    pub fn ulid(&self, now: Timestamp) -> Ulid {
        let mut random = [0; 16];
        self.fill(&mut random);
        Ulid::from_parts(
            u64::try_from(now.as_millis()).unwrap_or(0),
            u128::from_le_bytes(random),
        )
    }

    /// A random (version 4) UUID.
    pub fn uuid(&self) -> uuid::Uuid {
        let mut random = [0; 16];
        self.fill(&mut random);
        uuid::Builder::from_random_bytes(random).into_uuid()
    }

    /// Fills `bytes` with chance.
    #[expect(clippy::disallowed_methods, reason = "the one home of randomness")]
    pub fn fill(&self, bytes: &mut [u8]) {
        match &self.0 {
            Chance::System => rand::rng().fill(bytes),
            Chance::Seeded(rng) => rng.lock().fill(bytes),
        }
    }
}
