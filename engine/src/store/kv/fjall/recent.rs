//! Rows that were read of late, found without a search through the tree.
//!
//! Nearly every payment asks for the line of its customer, who has been there before. The tree looks for it among all rows that were
//! just written, then table by table; here it is one look into a hash map.
//!
//! What is found here is what the tree would say. The writer takes rows out before a batch changes them, and what was read while a batch
//! was being written is not put in: see [`Recent::get`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::Weighter;
use quick_cache::sync::{Cache, GuardResult};

pub(super) struct Recent {
    rows: Cache<Key, Vec<u8>, Bytes>,
    /// Batches that were begun and ended, together: odd while one is being written, and for ever after one that failed.
    turns: AtomicU64,
}

type Key = Vec<u8>;

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Vec<u8>> for Bytes {
    fn weight(&self, key: &Key, value: &Vec<u8>) -> u64 {
        (key.len() + value.len()) as u64 + ROW_BYTES
    }
}

impl Recent {
    /// Room for rows of so many bytes in all, what it takes to keep them included.
    pub fn new(bytes: u64) -> Self {
        let rows = usize::try_from(bytes / (2 * ROW_BYTES)).unwrap_or(usize::MAX);
        Self {
            rows: Cache::with_weighter(rows, bytes, Bytes),
            turns: AtomicU64::new(0),
        }
    }

    /// The row of `key`, which `read` asks the tree for when it is not here.
    ///
    /// A reader leaves a mark before it asks the tree. Did it ask before the writer came to this key, then the writer takes the mark away,
    /// or the row. Did it ask later, then it sees that a batch is being written. Either way nothing stays here that the batch replaces.
    pub fn get<E>(
        &self,
        key: &[u8],
        read: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Option<Vec<u8>>, E> {
        let mark = match self.rows.get_value_or_guard(key, Some(Duration::ZERO)) {
            GuardResult::Value(row) => return Ok(Some(row)),
            GuardResult::Timeout => return read(), // somebody else is asking
            GuardResult::Guard(mark) => mark,
        };
        let begun = self.turns.load(Ordering::SeqCst);
        let found = read()?;
        if let Some(row) = &found
            && begun.is_multiple_of(2)
            && self.turns.load(Ordering::SeqCst) == begun
        {
            let _ = mark.insert(row.clone()); // the mark may be gone: then the row was changed
        }
        Ok(found)
    }

    /// Makes changes to the rows of `keys`, which the tree shows once `write` is done.
    pub fn change<'k, E>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.turns.fetch_add(1, Ordering::SeqCst);
        for key in keys {
            self.rows.remove(key);
        }
        write()?;
        self.turns.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// What the map takes for a row beside its key and its value.
const ROW_BYTES: u64 = 128;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Mutex;

    use super::super::{Change, Fjall, Kv, Table};
    use super::*;

    const KEY: &[u8] = b"key";

    /// What the tree says, and how often it was asked.
    struct Tree {
        row: Option<Vec<u8>>,
        asked: Cell<u32>,
    }

    impl Tree {
        fn with(row: &str) -> Self {
            Self {
                row: Some(row.as_bytes().to_vec()),
                asked: Cell::new(0),
            }
        }

        fn get(&self, recent: &Recent) -> Option<String> {
            let read = || {
                self.asked.set(self.asked.get() + 1);
                Ok::<_, ()>(self.row.clone())
            };
            let row = recent.get(KEY, read).unwrap();
            row.map(|row| String::from_utf8(row).unwrap())
        }
    }

    fn recent() -> Recent {
        Recent::new(1024 * 1024)
    }

    #[test]
    fn a_row_that_was_read_is_not_looked_for_again() {
        let (recent, tree) = (recent(), Tree::with("a"));
        for _ in 0..3 {
            assert_eq!(tree.get(&recent).as_deref(), Some("a"));
        }
        assert_eq!(tree.asked.get(), 1);
    }

    #[test]
    fn a_row_that_is_not_there_is_looked_for_each_time() {
        let recent = recent();
        let tree = Tree {
            row: None,
            asked: Cell::new(0),
        };
        assert_eq!((tree.get(&recent), tree.get(&recent)), (None, None));
        assert_eq!(tree.asked.get(), 2);
    }

    #[test]
    fn a_changed_row_is_read_anew() {
        let recent = recent();
        assert_eq!(Tree::with("a").get(&recent).as_deref(), Some("a"));
        recent
            .change([KEY].into_iter(), || Ok::<_, ()>(()))
            .unwrap();
        assert_eq!(Tree::with("b").get(&recent).as_deref(), Some("b"));
    }

    #[test]
    fn what_was_read_while_a_batch_was_written_is_not_kept() {
        let (recent, old, new) = (recent(), Tree::with("a"), Tree::with("b"));
        let write = || {
            assert_eq!(old.get(&recent).as_deref(), Some("a"));
            Ok::<_, ()>(())
        };
        recent.change([KEY].into_iter(), write).unwrap();
        assert_eq!(new.get(&recent).as_deref(), Some("b"));
    }

    #[test]
    fn what_was_read_before_a_batch_and_put_in_after_it_is_not_kept() {
        let recent = recent();
        let slow = || {
            let row = Ok::<_, ()>(Some(b"a".to_vec()));
            recent
                .change([KEY].into_iter(), || Ok::<_, ()>(()))
                .unwrap();
            row
        };
        assert_eq!(recent.get(KEY, slow).unwrap().as_deref(), Some(&b"a"[..]));
        assert_eq!(Tree::with("b").get(&recent).as_deref(), Some("b"));
    }

    #[test]
    fn after_a_batch_that_failed_nothing_new_is_kept() {
        let (recent, tree) = (recent(), Tree::with("a"));
        recent.change([KEY].into_iter(), || Err(())).unwrap_err();
        tree.get(&recent);
        tree.get(&recent);
        assert_eq!(tree.asked.get(), 2);
    }

    #[test]
    fn readers_never_see_an_older_row_than_the_last_that_was_written() {
        const WRITES: u64 = 20_000;
        let (recent, tree, written) = (recent(), Mutex::new(0_u64), AtomicU64::new(0));
        let read = || {
            let bytes = tree.lock().unwrap().to_be_bytes().to_vec();
            Ok::<_, ()>(Some(bytes))
        };
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    loop {
                        let least = written.load(Ordering::SeqCst);
                        let row = recent.get(KEY, read).unwrap().unwrap();
                        let found = u64::from_be_bytes(row.try_into().unwrap());
                        assert!(found >= least, "{found} after {least} was written");
                        if least == WRITES {
                            return;
                        }
                    }
                });
            }
            for number in 1..=WRITES {
                let write = || {
                    *tree.lock().unwrap() = number;
                    Ok::<_, ()>(())
                };
                recent.change([KEY].into_iter(), write).unwrap();
                written.store(number, Ordering::SeqCst);
            }
        });
    }

    #[test]
    fn readers_of_the_engine_see_every_batch_that_was_written() {
        let home = tempfile::tempdir().unwrap();
        let engine = Fjall::open(home.path(), 8 * 1024 * 1024).unwrap();
        let written = AtomicU64::new(0);
        let write = |number: u64| {
            let change = Change {
                table: Table::Index,
                key: KEY,
                value: Some(&number.to_be_bytes()),
            };
            engine.write(&[change]).unwrap();
            written.store(number, Ordering::SeqCst);
        };
        write(1);
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    let mut least = 0;
                    while least < 200 {
                        least = written.load(Ordering::SeqCst);
                        let row = engine.get(Table::Index, KEY).unwrap().unwrap();
                        assert!(u64::from_be_bytes(row.try_into().unwrap()) >= least);
                    }
                });
            }
            (2..=200).for_each(write);
        });
    }

    #[test]
    fn it_takes_no_more_room_than_it_was_given() {
        let recent = Recent::new(64 * 1024);
        for number in 0..10_000_u32 {
            let row = recent.get(&number.to_be_bytes(), || Ok::<_, ()>(Some(vec![0; 60])));
            assert_eq!(row.unwrap().map(|row| row.len()), Some(60));
        }
        assert!(recent.rows.weight() <= 64 * 1024 && !recent.rows.is_empty());
    }
}
