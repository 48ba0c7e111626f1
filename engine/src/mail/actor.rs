//! The mail actor: takes news one by one and hands them to the post. It sends nothing itself: that is for tasks on tokio's runtime.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use actix::prelude::*;
use futures_util::FutureExt;
use tokio::sync::watch;

use super::Shared;
use super::post::{MailSnapshot, News, Post};
use crate::actors::{Snapshot, ring};
use crate::clock::Timestamp;
use crate::limits;

/// Please take this in.
pub(super) struct Tell(pub News);

impl Message for Tell {
    type Result = ();
}

pub(super) struct MailActor {
    /// Away while it takes something in; messages wait meanwhile.
    post: Option<Post>,
    /// When to look again.
    alarm: watch::Sender<Option<Timestamp>>,
}

/// Starts the actor and its alarm, and looks at once for what was left unsent.
pub(super) fn start(shared: &Arc<Shared>, arbiter: &ArbiterHandle) -> Addr<MailActor> {
    let (alarm, rings) = watch::channel(None);
    let for_actor = shared.clone();
    let address = MailActor::start_in_arbiter(arbiter, move |context| {
        context.set_mailbox_capacity(limits::MAIL_MAILBOX);
        let own = context.address();
        let tell = Arc::new(move |news| own.do_send(Tell(news)));
        MailActor {
            post: Some(Post::new(for_actor, tell)),
            alarm,
        }
    });
    let actor = address.clone();
    let look = move || actor.do_send(Tell(News::Look));
    let stopping = shared.stopping.subscribe();
    shared
        .runtime
        .spawn(ring(shared.clock.clone(), rings, stopping, look));
    address.do_send(Tell(News::Look));
    address
}

impl Actor for MailActor {
    type Context = Context<Self>;
}

impl Handler<Tell> for MailActor {
    type Result = ();

    fn handle(&mut self, Tell(news): Tell, context: &mut Context<Self>) {
        let Some(mut post) = self.post.take() else {
            return; // messages wait while it is away
        };
        let taken = async move {
            let taken = AssertUnwindSafe(post.take_in(news)).catch_unwind().await;
            (post, taken)
        };
        context.wait(taken.into_actor(self).map(|(post, taken), actor, _| {
            actor.post = Some(post);
            match taken {
                Ok(alarm) => {
                    actor.alarm.send_replace(alarm);
                }
                Err(_) => {
                    metrics::counter!("switchyard_actor_panics_total", "actor" => "mail")
                        .increment(1);
                    tracing::error!("The mail actor panicked and goes on with the next mail.");
                }
            }
        }));
    }
}

impl Handler<Snapshot<MailSnapshot>> for MailActor {
    type Result = MessageResult<Snapshot<MailSnapshot>>;

    fn handle(&mut self, _: Snapshot<MailSnapshot>, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.post.as_ref().map(Post::snapshot).unwrap_or_default())
    }
}
