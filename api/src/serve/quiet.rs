//! Long work on a thread of low priority.

use std::thread;

use anyhow::Context as _;
use switchyard_store::lower_priority;
use tokio::sync::oneshot;

/// Does the work on a thread of its own, and returns what it returns. A server that ends does not
/// wait for it.
pub async fn run<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> anyhow::Result<T> {
    let (sender, done) = oneshot::channel();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            lower_priority();
            let _ = sender.send(work()); // nobody waits for it when the server ends
        })?;
    done.await.context("its thread has panicked")
}
