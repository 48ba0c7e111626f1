//! Rows of a key range, read in pages.

use super::key::KeyRange;
use super::{Direction, KeyValues, Store, StoreError, Table};

/// Rows of a key range in order, page by page. Rows that a commit adds behind the last page are
/// read, too.
pub struct Pages<'s> {
    store: &'s Store,
    table: Table,
    /// The rows that are not read yet; `None`: there are no more.
    left: Option<KeyRange>,
    size: usize,
}

impl Store {
    /// Rows of a range in pages of at most `size`.
    pub const fn pages(&self, table: Table, range: KeyRange, size: usize) -> Pages<'_> {
        Pages {
            store: self,
            table,
            left: Some(range),
            size,
        }
    }
}

impl Pages<'_> {
    /// The next page, which is not empty. `None`: all rows were read. After an error the same page
    /// is read again.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<KeyValues>, StoreError> {
        let Some(left) = &self.left else {
            return Ok(None);
        };
        let (from, to) = (left.from(), left.to());
        let scan = self
            .store
            .scan(self.table, from, to, Direction::Forward, self.size);
        let rows = scan.await?;
        let left = self.left.take();
        if let (Some((last, _)), true) = (rows.last(), rows.len() == self.size) {
            self.left = left.map(|left| left.behind_row(last));
        }
        Ok((!rows.is_empty()).then_some(rows))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Batch, Key};
    use super::*;

    #[tokio::test]
    async fn each_row_of_the_range_is_read_once_in_order() {
        let store = Store::memory();
        let key = |number: u8| Key::of(b'k').with(number);
        for count in 0..=6 {
            let mut batch = Batch::new();
            batch.put(Table::Index, Key::of(b'j'), "");
            batch.put(Table::Index, Key::of(b'l'), "");
            (0..count).for_each(|number| batch.put(Table::Index, key(number), ""));
            store.commit(batch).await.unwrap();
            let mut pages = store.pages(Table::Index, Key::of(b'k').range(), 3);
            let (mut read, mut sizes) = (Vec::new(), Vec::new());
            while let Some(page) = pages.next().await.unwrap() {
                sizes.push(page.len());
                read.extend(page.into_iter().map(|(key, _)| key));
            }
            let stored: Vec<Vec<u8>> = (0..count).map(|number| key(number).into()).collect();
            assert_eq!(read, stored);
            let usual = vec![3; usize::from(count / 3)];
            let rest = usize::from(count % 3);
            assert_eq!(sizes, [usual, vec![rest; rest.min(1)]].concat());
        }
    }
}
