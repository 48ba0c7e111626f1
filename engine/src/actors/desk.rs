//! An actor that works through an outbox: news come in one by one, each is worked on to its end, and then it says when to look again.
//!
//! Promises: the mailbox is bounded, for looks, which may be lost, and for results, whose bearers wait for room; a panic is contained,
//! counted and logged, and the next news find the work where it was.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use actix::prelude::*;
use futures_util::FutureExt;
use tokio::sync::watch;

use super::{Snapshot, ring};
use crate::clock::{Clock, Timestamp};

/// What is done at a desk. The queue itself is in the store.
pub(crate) trait Work: Unpin + Sized + 'static {
    type News: Send + 'static;
    type Snapshot: Default + Send + 'static;
    /// As metrics and the log call it.
    const NAME: &'static str;
    /// Messages that may wait.
    const MAILBOX: usize;
    /// Says that it is time to look.
    const LOOK: Self::News;

    /// Takes in what happened and begins whatever may begin now. Answers when to look again.
    fn take_in(&mut self, news: Self::News) -> impl Future<Output = Option<Timestamp>>;
    fn snapshot(&self) -> Self::Snapshot;
}

/// The way to a desk. Cloning gives another one.
pub(crate) struct Door<W: Work>(Addr<Desk<W>>);

impl<W: Work> Clone for Door<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: Work> Door<W> {
    /// Asks for a look. When the mailbox is full it is not needed: whatever waits there looks too.
    pub(crate) fn look(&self) {
        let _ = self.0.try_send(Tell(W::LOOK));
    }

    /// Brings news, and waits for room and until they were taken in.
    pub(crate) async fn tell(&self, news: W::News) {
        let _ = self.0.send(Tell(news)).await; // an actor that has stopped needs no news
    }

    /// How the work is; `None` when the actor has stopped.
    pub(crate) async fn snapshot(&self) -> Option<W::Snapshot> {
        self.0.send(Snapshot::default()).await.ok()
    }
}

/// What a desk starts with.
pub(crate) struct Setting<'a> {
    pub arbiter: &'a ArbiterHandle,
    pub clock: Clock,
    pub stopping: watch::Receiver<bool>,
}

/// Starts a desk and its alarm. Call it on the tokio runtime that shall run the alarm.
pub(crate) fn start_desk<W: Work>(
    setting: Setting<'_>,
    make: impl FnOnce(Door<W>) -> W + Send + 'static,
) -> Door<W> {
    let (alarm, rings) = watch::channel(None);
    let address = Desk::start_in_arbiter(setting.arbiter, move |context| {
        context.set_mailbox_capacity(W::MAILBOX);
        Desk {
            work: Some(make(Door(context.address()))),
            alarm,
        }
    });
    let door = Door(address);
    let bell = door.clone();
    tokio::spawn(ring(setting.clock, rings, setting.stopping, move || {
        bell.look();
    }));
    door
}

struct Tell<N>(N);

impl<N: 'static> Message for Tell<N> {
    type Result = ();
}

pub(crate) struct Desk<W: Work> {
    /// Away while it takes something in; messages wait meanwhile.
    work: Option<W>,
    /// When to look again.
    alarm: watch::Sender<Option<Timestamp>>,
}

impl<W: Work> Actor for Desk<W> {
    type Context = Context<Self>;
}

impl<W: Work> Handler<Tell<W::News>> for Desk<W> {
    type Result = ();

    fn handle(&mut self, Tell(news): Tell<W::News>, context: &mut Context<Self>) {
        let Some(mut work) = self.work.take() else {
            return; // messages wait while it is away
        };
        let taken = async move {
            let taken = AssertUnwindSafe(work.take_in(news)).catch_unwind().await;
            (work, taken)
        };
        context.wait(taken.into_actor(self).map(|(work, taken), desk, _| {
            desk.work = Some(work);
            match taken {
                Ok(alarm) => {
                    desk.alarm.send_replace(alarm);
                }
                Err(_) => {
                    metrics::counter!("switchyard_actor_panics_total", "actor" => W::NAME)
                        .increment(1);
                    tracing::error!(
                        actor = W::NAME,
                        "An actor panicked and goes on; the next look finds what it was about to do."
                    );
                }
            }
        }));
    }
}

impl<W: Work> Handler<Snapshot<W::Snapshot>> for Desk<W> {
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
    use crate::actors::House;
    use crate::testing::START;

    /// Counts what it takes in; one kind of news makes it panic, another makes it wait for the test.
    struct Counting {
        taken: usize,
        gate: Arc<Semaphore>,
    }

    enum Said {
        Look,
        Panic,
        Wait,
    }

    impl Work for Counting {
        type News = Said;
        type Snapshot = usize;
        const NAME: &'static str = "test";
        const MAILBOX: usize = 4;
        const LOOK: Said = Said::Look;

        async fn take_in(&mut self, news: Said) -> Option<Timestamp> {
            match news {
                Said::Look => {}
                Said::Panic => panic!("a test says so"),
                Said::Wait => self.gate.acquire().await.unwrap().forget(),
            }
            self.taken += 1;
            None
        }

        fn snapshot(&self) -> usize {
            self.taken
        }
    }

    fn desk(house: &House, gate: &Arc<Semaphore>) -> (Door<Counting>, watch::Sender<bool>) {
        let (stop, stopping) = watch::channel(false);
        let setting = Setting {
            arbiter: house.arbiter(),
            clock: Clock::manual(START),
            stopping,
        };
        let gate = gate.clone();
        (start_desk(setting, |_| Counting { taken: 0, gate }), stop)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_is_contained_and_the_work_goes_on_where_it_was() {
        let house = House::start().unwrap();
        let (door, _stop) = desk(&house, &Arc::new(Semaphore::new(0)));
        door.tell(Said::Look).await;
        door.tell(Said::Panic).await;
        door.tell(Said::Look).await;
        assert_eq!(door.snapshot().await, Some(2));
        house.stop();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn looks_beyond_the_mailbox_are_dropped_and_news_wait_for_room() {
        let house = House::start().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let (door, _stop) = desk(&house, &gate);
        for _ in 0..1_000 {
            let _ = door.0.try_send(Tell(Said::Wait));
        }
        for _ in 0..1_000 {
            door.look();
        }
        let bearer = door.clone();
        let told = tokio::spawn(async move { bearer.tell(Said::Look).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!told.is_finished(), "there was room where there is none");
        gate.add_permits(2_000);
        told.await.unwrap();
        let taken = door.snapshot().await.unwrap();
        // The mailbox, what was taken out of it meanwhile, and the one that waited.
        assert!((2..=100).contains(&taken), "{taken} of 2001 were let in");
        house.stop();
    }
}
