//! Free disk space that new transactions leave to those that are open.
//!
//! Below the reserve no payment or payout is initialized. The rest is for attempts, callbacks,
//! webhooks and mails of open transactions. Public keys, which everybody can read in a page, have a
//! larger reserve: they alone cannot make the server refuse requests with secret keys.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use switchyard_engine::access::KeyKind;
use switchyard_system::resources::free_disk_bytes;
use tokio::time::Instant;

/// Reserve of the store's disk. A handle; clones share what was read.
#[derive(Clone, Debug)]
pub struct DiskReserve(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    folder: PathBuf,
    reserve: u64,
    public_key_reserve: u64,
    free: AtomicU64,
    read_at: Mutex<Option<Instant>>,
}

impl DiskReserve {
    /// `folder`: one on the store's disk. The reserves are in bytes.
    pub fn new(folder: PathBuf, reserve: u64, public_key_reserve: u64) -> Self {
        Self(Arc::new(Inner {
            folder,
            reserve,
            public_key_reserve,
            free: AtomicU64::new(u64::MAX),
            read_at: Mutex::new(None),
        }))
    }

    /// Free bytes of the store's disk. `None`: they could not be read.
    pub fn free_bytes(&self) -> Option<u64> {
        let free = self.free(Instant::now());
        (free != u64::MAX).then_some(free)
    }

    /// Whether a key of this kind may initialize nothing now.
    pub fn refuses(&self, kind: KeyKind) -> bool {
        self.refuses_at(kind, Instant::now())
    }

    fn refuses_at(&self, kind: KeyKind, now: Instant) -> bool {
        let reserve = match kind {
            KeyKind::Secret => self.0.reserve,
            KeyKind::Public => self.0.reserve.max(self.0.public_key_reserve),
        };
        self.free(now) < reserve
    }

    /// The free bytes, at most [`AGE`] old. Only one thread reads them, so that a disk that hangs
    /// holds up no other. A disk that cannot be read counts as free: then the store refuses.
    fn free(&self, now: Instant) -> u64 {
        let inner = &*self.0;
        if let Some(mut read_at) = inner.read_at.try_lock()
            && read_at.is_none_or(|at| now.duration_since(at) >= AGE)
        {
            let free = free_disk_bytes(&inner.folder).unwrap_or(u64::MAX);
            let before = inner.free.swap(free, Ordering::Relaxed);
            *read_at = Some(now);
            drop(read_at);
            log_change(inner.reserve, before, free);
        }
        inner.free.load(Ordering::Relaxed)
    }
}

fn log_change(reserve: u64, before: u64, free: u64) {
    if free < reserve && before >= reserve {
        tracing::error!(
            disk.free_bytes = free,
            disk.reserve_bytes = reserve,
            "free disk space fell below reserve, refusing new payments and payouts"
        );
    }
    if free >= reserve && before < reserve {
        tracing::info!(
            disk.free_bytes = free,
            disk.reserve_bytes = reserve,
            "free disk space is above reserve again"
        );
    }
}

/// Age at which the free space is read again.
const AGE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_key_is_refused_before_a_secret_one() {
        let folder = tempfile::tempdir().unwrap();
        for (reserve, public_key_reserve, secret, public) in [
            (0, 0, false, false),
            (0, u64::MAX, false, true),
            (u64::MAX, u64::MAX, true, true),
            (u64::MAX, 0, true, true),
        ] {
            let disk = DiskReserve::new(folder.path().to_owned(), reserve, public_key_reserve);
            let refused = (disk.refuses(KeyKind::Secret), disk.refuses(KeyKind::Public));
            assert_eq!(refused, (secret, public), "{reserve} {public_key_reserve}");
        }
    }

    #[test]
    fn the_disk_is_read_at_most_once_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let disk = DiskReserve::new(folder.path().to_owned(), u64::MAX, 0);
        let start = Instant::now();
        assert!(disk.refuses_at(KeyKind::Secret, start));
        // The next reading fails, which counts as free.
        folder.close().unwrap();
        let just_before = start + AGE - Duration::from_millis(1);
        assert!(disk.refuses_at(KeyKind::Secret, just_before));
        assert!(!disk.refuses_at(KeyKind::Secret, start + AGE));
    }
}
