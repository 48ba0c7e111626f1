//! Drops a batch that a power cut has torn from the end of fjall's journal.
//!
//! A power cut while a batch is written may leave any of its pages on the disk. fjall drops such a batch when its framing is
//! broken, but when only the inside of a long value is missing it takes it for damage and does not open. That batch was never
//! acknowledged, for everything before it was synced first; so it is cut off here, and only when it is the very last thing in
//! the newest journal. A mismatch anywhere else is damage of what was acknowledged, and stays an error.
//!
//! The format is that of fjall 3: entries that begin with a tag; see its `journal/entry.rs`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Cuts the last batch off the newest journal in a database's directory if its checksum does not fit. Whether it was.
pub(super) fn drop_torn_batch(database: &Path) -> io::Result<bool> {
    let Some((_, newest)) = newest_journal(database)? else {
        return Ok(false);
    };
    let Some(start) = torn_batch(&fs::read(&newest)?) else {
        return Ok(false);
    };
    let journal = File::options().write(true).open(&newest)?;
    journal.set_len(start as u64)?;
    journal.sync_all()?;
    Ok(true)
}

/// Journals are called `0.jnl`, `1.jnl` and so on. The number of the newest, and where it lies.
pub(super) fn newest_journal(database: &Path) -> io::Result<Option<(u64, PathBuf)>> {
    let mut newest = None;
    for entry in fs::read_dir(database)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(".jnl")?.parse::<u64>().ok());
        newest = newest.max(number.map(|number| (number, path)));
    }
    Ok(newest)
}

/// Where the last batch starts, if its checksum does not fit and nothing follows it.
pub(in crate::store) fn torn_batch(journal: &[u8]) -> Option<usize> {
    let mut rest = Reader { journal, at: 0 };
    loop {
        let start = rest.at;
        if rest.tag()? != START {
            return None;
        }
        rest.skip(START_BYTES)?;
        let items = rest.at;
        let (end, checksum) = rest.end_of_items()?;
        if xxh3_64(&journal[items..end]) != checksum {
            let is_last = journal[rest.at..].iter().all(|&byte| byte == 0); // fjall reserves room ahead
            return is_last.then_some(start);
        }
    }
}

struct Reader<'a> {
    journal: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Passes the items of a batch and its end. Where the end began, and the checksum in it.
    fn end_of_items(&mut self) -> Option<(usize, u64)> {
        loop {
            let at = self.at;
            match self.tag()? {
                ITEM => {
                    self.skip(ITEM_KEY_LENGTH)?;
                    let key = u16::from_le_bytes(self.take()?);
                    let _uncompressed: [u8; 4] = self.take()?;
                    let value = u32::from_le_bytes(self.take()?);
                    self.skip(usize::from(key))?;
                    self.skip(value as usize)?;
                }
                CLEAR => self.skip(CLEAR_BYTES)?,
                END => {
                    let checksum = u64::from_le_bytes(self.take()?);
                    return (self.take()? == TRAILER).then_some((at, checksum));
                }
                _ => return None,
            }
        }
    }

    fn tag(&mut self) -> Option<u8> {
        self.take().map(|[tag]| tag)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.journal.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(bytes)
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.at = self.at.checked_add(bytes)?;
        (self.at <= self.journal.len()).then_some(())
    }
}

const START: u8 = 1;
/// How many items, and the sequence number.
const START_BYTES: usize = 4 + 8;
const ITEM: u8 = 2;
/// What comes before the length of an item's key: its kind, how it is compressed, its keyspace.
const ITEM_KEY_LENGTH: usize = 1 + 1 + 8;
const END: u8 = 3;
const TRAILER: [u8; 4] = [b'F', b'J', b'L', 3];
const CLEAR: u8 = 4;
const CLEAR_BYTES: usize = 8;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use crate::store::batch::Change;
    use crate::store::kv::Kv;
    use crate::store::kv::fjall::Fjall;
    use crate::store::table::Table;

    use super::*;

    fn open(path: &Path) -> Result<Fjall, crate::store::kv::KvError> {
        Fjall::open(path, 1024 * 1024)
    }

    /// Writes three batches of one long row and takes a page out of the row of one of them.
    fn tear(path: &Path, batch: u8) {
        let rows = [[1; 20_000], [2; 20_000], [3; 20_000]].map(|row| row.map(|byte| byte ^ 0xA5));
        let engine = open(path).unwrap();
        for (key, row) in rows.iter().enumerate() {
            // Random enough that the journal's compression leaves the bytes as they are.
            let mut seed = key as u64 + 1;
            let row: Vec<u8> = row
                .iter()
                .map(|byte| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    byte ^ (seed >> 56) as u8
                })
                .collect();
            let change = Change {
                table: Table::Event,
                key: &[key as u8 + 1],
                value: Some(&row),
            };
            engine.write(&[change]).unwrap();
        }
        drop(engine);
        let journal = File::options()
            .write(true)
            .open(newest_journal(path).unwrap().unwrap().1);
        let middle = u64::from(batch - 1) * 20_100 + 8_000;
        journal.unwrap().write_all_at(&[0; 4096], middle).unwrap();
    }

    #[test]
    fn a_torn_batch_at_the_end_is_dropped_and_the_ones_before_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        tear(directory.path(), 3);
        let engine = open(directory.path()).unwrap_or_else(|error| panic!("{error}"));
        assert!(engine.get(Table::Event, &[1]).unwrap().is_some());
        assert!(engine.get(Table::Event, &[2]).unwrap().is_some());
        assert_eq!(engine.get(Table::Event, &[3]).unwrap(), None);
    }

    #[test]
    fn damage_before_the_last_batch_is_not_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        tear(directory.path(), 2);
        let before = fs::read(newest_journal(directory.path()).unwrap().unwrap().1).unwrap();
        assert!(open(directory.path()).is_err());
        let after = fs::read(newest_journal(directory.path()).unwrap().unwrap().1).unwrap();
        assert!(before == after, "nothing of the journal may be lost");
    }
}
