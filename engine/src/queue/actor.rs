//! Actor of a durable queue: it handles one message at a time and schedules the next scan.
//!
//! Promises: the mailbox is bounded; a scan request is dropped when it is full, a result waits for
//! space; a panic is contained, counted and logged, and the next message finds the same state.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use actix::prelude::*;
use futures_util::FutureExt;
use tokio::sync::watch;

use super::deadline::scan_at;
use crate::runtime::Snapshot;
use switchyard_core::time::Timestamp;
use switchyard_system::clock::Clock;

/// Dispatch logic of a queue. The queue itself is in the store.
pub(crate) trait QueueWork: Unpin + Sized + 'static {
    type Message: Send + 'static;
    type Snapshot: Default + Send + 'static;
    /// Name in metrics and logs.
    const NAME: &'static str;
    /// Capacity of the mailbox, in messages.
    const MAILBOX: usize;
    /// Message that requests a scan.
    const SCAN: Self::Message;

    /// Handles one message and starts due items. Returns the time of the next scan.
    fn handle_message(&mut self, message: Self::Message)
    -> impl Future<Output = Option<Timestamp>>;
    fn snapshot(&self) -> Self::Snapshot;
}

/// Handle of a queue actor.
pub(crate) struct QueueHandle<W: QueueWork>(Addr<QueueActor<W>>);

impl<W: QueueWork> Clone for QueueHandle<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: QueueWork> QueueHandle<W> {
    /// Requests a scan. With a full mailbox it is dropped: each message in it scans, too.
    pub(crate) fn request_scan(&self) {
        let _ = self.0.try_send(Envelope(W::SCAN));
    }

    /// Sends a message. Waits for space in the mailbox and until the message was handled.
    pub(crate) async fn send(&self, message: W::Message) {
        let _ = self.0.send(Envelope(message)).await; // a stopped actor handles no message
    }

    /// State of the queue. `None`: the actor has stopped.
    pub(crate) async fn snapshot(&self) -> Option<W::Snapshot> {
        self.0.send(Snapshot::default()).await.ok()
    }
}

/// Dependencies of a queue actor.
pub(crate) struct QueueContext<'a> {
    pub arbiter: &'a ArbiterHandle,
    pub clock: Clock,
    pub stopping: watch::Receiver<bool>,
}

/// Starts a queue actor and its timer. Call it on the tokio runtime that is to run the timer.
pub(crate) fn start_queue<W: QueueWork>(
    setting: QueueContext<'_>,
    make: impl FnOnce(QueueHandle<W>) -> W + Send + 'static,
) -> QueueHandle<W> {
    let (next_scan, deadlines) = watch::channel(None);
    let address = QueueActor::start_in_arbiter(setting.arbiter, move |context| {
        context.set_mailbox_capacity(W::MAILBOX);
        QueueActor {
            work: Some(make(QueueHandle(context.address()))),
            next_scan,
        }
    });
    let handle = QueueHandle(address);
    let scanned = handle.clone();
    tokio::spawn(scan_at(
        setting.clock,
        deadlines,
        setting.stopping,
        move || {
            scanned.request_scan();
        },
    ));
    handle
}

struct Envelope<N>(N);

impl<N: 'static> Message for Envelope<N> {
    type Result = ();
}

pub(crate) struct QueueActor<W: QueueWork> {
    /// `None` while a message is handled; further messages wait.
    work: Option<W>,
    /// Time of the next scan.
    next_scan: watch::Sender<Option<Timestamp>>,
}

impl<W: QueueWork> Actor for QueueActor<W> {
    type Context = Context<Self>;
}

impl<W: QueueWork> Handler<Envelope<W::Message>> for QueueActor<W> {
    type Result = ();

    fn handle(&mut self, Envelope(message): Envelope<W::Message>, context: &mut Context<Self>) {
        let Some(mut work) = self.work.take() else {
            return; // unreachable: messages wait while one is handled
        };
        let handled = async move {
            let handled = AssertUnwindSafe(work.handle_message(message))
                .catch_unwind()
                .await;
            (work, handled)
        };
        context.wait(handled.into_actor(self).map(|(work, handled), desk, _| {
            desk.work = Some(work);
            match handled {
                Ok(next_scan) => {
                    desk.next_scan.send_replace(next_scan);
                }
                Err(_) => {
                    metrics::counter!("switchyard_actor_panics_total", "actor" => W::NAME)
                        .increment(1);
                    tracing::error!(
                        actor = W::NAME,
                        "queue actor panicked, the next scan repeats its work"
                    );
                }
            }
        }));
    }
}

impl<W: QueueWork> Handler<Snapshot<W::Snapshot>> for QueueActor<W> {
    type Result = MessageResult<Snapshot<W::Snapshot>>;

    fn handle(&mut self, _: Snapshot<W::Snapshot>, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.work.as_ref().map(W::snapshot).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::Semaphore;

    use super::*;
    use crate::runtime::ActorThreads;
    use switchyard_core::testing::START;

    /// Counts messages. One kind makes it panic, another makes it wait for the test.
    struct Counting {
        handled: usize,
        gate: Arc<Semaphore>,
    }

    enum TestMessage {
        Look,
        Panic,
        Wait,
    }

    impl QueueWork for Counting {
        type Message = TestMessage;
        type Snapshot = usize;
        const NAME: &'static str = "test";
        const MAILBOX: usize = 4;
        const SCAN: TestMessage = TestMessage::Look;

        async fn handle_message(&mut self, message: TestMessage) -> Option<Timestamp> {
            match message {
                TestMessage::Look => {}
                TestMessage::Panic => panic!("a test says so"),
                TestMessage::Wait => self.gate.acquire().await.unwrap().forget(),
            }
            self.handled += 1;
            None
        }

        fn snapshot(&self) -> usize {
            self.handled
        }
    }

    fn desk(
        threads: &ActorThreads,
        gate: &Arc<Semaphore>,
    ) -> (QueueHandle<Counting>, watch::Sender<bool>) {
        let (stop, stopping) = watch::channel(false);
        let setting = QueueContext {
            arbiter: threads.arbiter(),
            clock: Clock::manual(START),
            stopping,
        };
        let gate = gate.clone();
        (
            start_queue(setting, |_| Counting { handled: 0, gate }),
            stop,
        )
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_is_contained_and_the_work_goes_on_where_it_was() {
        let threads = ActorThreads::start().unwrap();
        let (handle, _stop) = desk(&threads, &Arc::new(Semaphore::new(0)));
        handle.send(TestMessage::Look).await;
        handle.send(TestMessage::Panic).await;
        handle.send(TestMessage::Look).await;
        assert_eq!(handle.snapshot().await, Some(2));
        threads.stop();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn looks_beyond_the_mailbox_are_dropped_and_news_wait_for_room() {
        let threads = ActorThreads::start().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let (handle, _stop) = desk(&threads, &gate);
        for _ in 0..1_000 {
            let _ = handle.0.try_send(Envelope(TestMessage::Wait));
        }
        for _ in 0..1_000 {
            handle.request_scan();
        }
        let bearer = handle.clone();
        let told = tokio::spawn(async move { bearer.send(TestMessage::Look).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!told.is_finished(), "there was room where there is none");
        gate.add_permits(2_000);
        told.await.unwrap();
        let handled = handle.snapshot().await.unwrap();
        // The mailbox, the messages handled in between, and the one that waited.
        assert!(
            (2..=100).contains(&handled),
            "{handled} of 2001 were handled"
        );
        threads.stop();
    }
}
