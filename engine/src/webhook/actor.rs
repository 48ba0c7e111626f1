//! The webhook actor: takes news one by one and hands them to the dispatcher. It sends nothing itself: attempts are tasks on tokio's
//! runtime, and come back as news.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use actix::prelude::*;
use futures_util::FutureExt;
use tokio::sync::watch;

use super::Shared;
use super::dispatcher::{Dispatcher, News, WebhookSnapshot};
use super::sweep;
use crate::actors::{Snapshot, ring};
use crate::clock::Timestamp;
use crate::limits;

/// Please take this in.
pub(super) struct Tell(pub News);

impl Message for Tell {
    type Result = ();
}

pub(super) struct WebhookActor {
    /// Away while it takes something in; messages wait meanwhile.
    dispatcher: Option<Dispatcher>,
    /// When to look again.
    alarm: watch::Sender<Option<Timestamp>>,
}

/// Starts the actor, its alarm and its sweeps.
pub(super) fn start(shared: &Arc<Shared>, arbiter: &ArbiterHandle) -> Addr<WebhookActor> {
    let (alarm, rings) = watch::channel(None);
    let for_actor = shared.clone();
    let address = WebhookActor::start_in_arbiter(arbiter, move |context| {
        context.set_mailbox_capacity(limits::WEBHOOK_MAILBOX);
        let own = context.address();
        let tell = Arc::new(move |news| own.do_send(Tell(news)));
        WebhookActor {
            dispatcher: Some(Dispatcher::new(for_actor, tell)),
            alarm,
        }
    });
    let actor = address.clone();
    let look = move || actor.do_send(Tell(News::Look));
    let stopping = shared.stopping.subscribe();
    shared
        .runtime
        .spawn(ring(shared.clock.clone(), rings, stopping, look));
    shared
        .runtime
        .spawn(sweep_on(shared.clone(), address.clone()));
    address
}

impl Actor for WebhookActor {
    type Context = Context<Self>;
}

impl Handler<Tell> for WebhookActor {
    type Result = ();

    fn handle(&mut self, Tell(news): Tell, context: &mut Context<Self>) {
        let Some(mut dispatcher) = self.dispatcher.take() else {
            return; // messages wait while it is away
        };
        let taken = async move {
            let taken = AssertUnwindSafe(dispatcher.take_in(news))
                .catch_unwind()
                .await;
            (dispatcher, taken)
        };
        context.wait(taken.into_actor(self).map(|(dispatcher, taken), actor, _| {
            actor.dispatcher = Some(dispatcher);
            match taken {
                Ok(alarm) => {
                    actor.alarm.send_replace(alarm);
                }
                Err(_) => {
                    metrics::counter!("switchyard_actor_panics_total", "actor" => "webhook").increment(1);
                    tracing::error!("The webhook actor panicked and goes on; the next sweep finds what it was about to send.");
                }
            }
        }));
    }
}

impl Handler<Snapshot<WebhookSnapshot>> for WebhookActor {
    type Result = MessageResult<Snapshot<WebhookSnapshot>>;

    fn handle(&mut self, _: Snapshot<WebhookSnapshot>, _: &mut Context<Self>) -> Self::Result {
        let none = WebhookSnapshot::default();
        MessageResult(self.dispatcher.as_ref().map_or(none, Dispatcher::snapshot))
    }
}

/// Finds who has something to send, at once and then every now and again, never spending more than a small part of the time on it.
async fn sweep_on(shared: Arc<Shared>, actor: Addr<WebhookActor>) {
    let mut stopping = shared.stopping.subscribe();
    match sweep::find(&shared).await {
        Ok(swept) => actor.do_send(Tell(News::Swept(swept))),
        Err(error) => tracing::error!(%error, "The outbox cannot be read; trying again."),
    }
    loop {
        let begun = tokio::time::Instant::now();
        match sweep::count(&shared).await {
            Ok(swept) => actor.do_send(Tell(News::Swept(swept))),
            Err(error) => tracing::error!(%error, "The outbox cannot be counted; trying again."),
        }
        let pause = SWEEP.max(begun.elapsed() * SWEEP_SHARE);
        tokio::select! {
            () = shared.clock.sleep(pause) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

/// The least time between two sweeps.
const SWEEP: Duration = Duration::from_secs(60);
/// Sweeps take at most one part in so many of the time.
const SWEEP_SHARE: u32 = 50;
