//! Conformance of the backends, and the behaviour of the store when one fails.

mod backup;
mod check;
mod conformance;
mod copy;
mod copy_first_base;
mod copy_kept;
mod damage;
mod failure;
mod in_place;
mod index_in_place;
mod log;
mod mark_in_place;
mod no_room;
mod refusals;
mod shell;
mod trials;

use parking_lot::Mutex;

use super::*;

fn batch(fill: impl FnOnce(&mut Batch)) -> Batch {
    let mut batch = Batch::new();
    fill(&mut batch);
    batch
}

/// The log lines of some work on this thread.
fn logged(work: impl FnOnce()) -> String {
    let lines = Arc::<Mutex<Vec<u8>>>::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer({
            let lines = lines.clone();
            move || Lines(lines.clone())
        })
        .finish();
    tracing::subscriber::with_default(subscriber, work);
    let lines = lines.lock();
    String::from_utf8_lossy(&lines).into_owned()
}

struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn text(store: &Store, table: Table, key: &str) -> Option<String> {
    let value = store.get(table, key.as_bytes()).await.unwrap();
    value.map(|value| String::from_utf8(value).unwrap())
}
