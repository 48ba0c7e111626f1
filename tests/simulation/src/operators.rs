//! Actions of the people who run the installation.

use std::time::Duration;

use switchyard_core::transaction::{Operator, Resolution, Verdict};
use switchyard_engine::access::WebhookChange;
use switchyard_engine::testing::{START, amount};
use switchyard_gateway_host::{ChangeAuthor, LifeError, State};

use crate::faults::{Fault, is_planted};
use crate::gateway::number;
use crate::image;
use crate::life::Hands;
use crate::promises::OrderedByHand;
use crate::world::{Change, Deed, Happening, SECOND, Word};

impl Hands {
    /// Makes the next change of a gateway, and repeats it until it is answered.
    pub(crate) async fn operate(&self, turn: usize) {
        let intent = {
            let mut world = self.world.lock();
            let Some(intent) = world.intent(turn) else {
                return;
            };
            let patience = i64::try_from(world.patience.between(5, 40)).unwrap_or(5) * SECOND;
            world.later(patience, Happening::Deed(Deed::Operate { turn }));
            intent
        };
        let (name, gateways, by) = (
            intent.gateway,
            self.engine.gateways(),
            ChangeAuthor::new("ada"),
        );
        let done = match intent.change {
            Change::Upgrade(version) => {
                if is_planted(Fault::GapAtSwap) {
                    self.leave_gap(name, &by).await;
                }
                let hash = image::hash(name, version);
                let installed = gateways.install_shelved(name, &hash, &by).await;
                installed.map(|_| Some(number(version)))
            }
            Change::RollBack(version) => {
                let hash = image::hash(name, version);
                match gateways.roll_back(name, Some(&hash), &by).await {
                    // An earlier request whose response was lost may have done it.
                    Ok(_) | Err(LifeError::AlreadyThere { .. }) => Ok(Some(number(version))),
                    Err(error) => Err(error),
                }
            }
            Change::Drain => current(gateways.drain(name, &by).await),
            Change::Remove => match gateways.remove(name, &by).await {
                Ok(_) | Err(LifeError::WasRemoved(_)) => Ok(None),
                Err(error) => Err(error),
            },
            Change::Restore => current(gateways.restore(name, None, &by).await),
        };
        let mut world = self.world.lock();
        world.note(format_args!(
            "the operator's {intent:?} is answered {done:?}"
        ));
        match done {
            Ok(version) => world.changed(turn, Some(version)),
            // The store rejects writes: retry a little later.
            Err(LifeError::Write(_) | LifeError::Read(_)) => {}
            Err(_) => world.changed(turn, None),
        }
    }

    /// Drains a gateway for ten seconds.
    async fn leave_gap(&self, gateway: &str, by: &ChangeAuthor<'_>) {
        let drained = self.engine.gateways().drain(gateway, by).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let restored = self.engine.gateways().restore(gateway, None, by).await;
        let ended = (drained.map(drop), restored.map(drop));
        self.world
            .lock()
            .note(format_args!("{gateway} has a gap: {ended:?}"));
    }

    /// Ends a quarantine.
    pub(crate) async fn restore(&self, gateway: &str) {
        let overview = self.engine.gateways().overview(gateway).await;
        if overview.is_ok_and(|overview| overview.state == State::Quarantined) {
            let by = ChangeAuthor::new("ada");
            let restored = self.engine.gateways().restore(gateway, None, &by).await;
            let mut world = self.world.lock();
            let restored = current(restored);
            world.note(format_args!("{gateway} is restored: {restored:?}"));
        }
    }

    pub(crate) async fn set_rate(&self, cents: u64) {
        let rate = format!("{}.{:02}", cents / 100, cents % 100);
        let set = image::set_rate(self.engine.exchange_rates(), &rate).await;
        let mut world = self.world.lock();
        world.note(format_args!("a dollar costs {rate} francs: {set:?}"));
    }

    pub(crate) async fn check(&self, order: usize) {
        let Some(id) = self.id(order) else { return };
        let by = self.world.lock().signature();
        let checked = self.engine.check(id, operator(&by)).await;
        // Another operator's check may have triggered the query at the same moment, so no signature
        // is required.
        let seen = checked.map(|checked| Some(checked.transaction));
        self.saw("the operator, who has it checked,", order, seen);
    }

    /// Resolves the open attempt by its provider's ledger.
    pub(crate) async fn settle_by_hand(&self, order: usize) {
        use switchyard_core::transaction::AttemptState::Pending;
        let Some(id) = self.id(order) else { return };
        let Ok(Some(tx)) = self.engine.transaction(id).await else {
            return;
        };
        let Some(attempt) = tx
            .current_attempt()
            .filter(|attempt| attempt.state.is_open())
        else {
            return;
        };
        let reference = attempt.reference.to_string();
        let (word, by) = {
            let mut world = self.world.lock();
            let word = world.looks_into_the_books(&reference, attempt.state == Pending);
            (word, world.signature())
        };
        let Some(word) = word else { return };
        let verdict = match &word {
            Word::Paid { minor, currency } => Verdict::Succeeded {
                amount: Some(amount(*minor, currency)),
                provider_id: Some(format!("by-hand-{reference}")),
            },
            Word::Declined => Verdict::Failed { message: None },
            Word::NeverSent => Verdict::NeverSent,
        };
        let resolution = Resolution {
            attempt: Some(attempt.id),
            verdict,
        };
        let note = format!("the books say {word:?}");
        let resolved = self
            .engine
            .resolve(id, operator(&by), note.clone(), resolution)
            .await;
        if resolved.is_ok() {
            self.is_ordered(by, order);
        }
        let whom = format!("the operator ({note})");
        self.saw(&whom, order, resolved.map(Some));
    }

    pub(crate) async fn cancel_by_hand(&self, order: usize) {
        let Some(id) = self.id(order) else { return };
        let by = self.world.lock().signature();
        let cancelled = self.engine.cancel_by_hand(id, operator(&by), None).await;
        self.saw("the operator, who cancels,", order, cancelled.map(Some));
    }

    pub(crate) async fn close_cases(&self, order: usize) {
        let Some(id) = self.id(order) else { return };
        let Ok(Some(tx)) = self.engine.transaction(id).await else {
            return;
        };
        for case in tx.cases.iter().filter(|case| case.closed.is_none()) {
            let by = self.world.lock().signature();
            let note = "seen".to_owned();
            let closed = self.engine.close_case(case.id, operator(&by), note).await;
            if closed.is_ok() {
                self.is_ordered(by, order);
            }
            let closed = closed.map(|found| Some(found.transaction));
            self.saw("the operator, who closes a case,", order, closed);
        }
    }

    /// Does what a merchant does after repairing an endpoint that was gone: enables the webhook and
    /// replays the missed deliveries.
    pub(crate) async fn catch_up(&self, webhook: usize) {
        {
            let mut world = self.world.lock();
            if world.operator_state.caught_up.contains(&webhook) {
                return;
            }
            let patience = i64::try_from(world.patience.between(60, 120)).unwrap_or(60) * SECOND;
            world.later(patience, Happening::Deed(Deed::CatchUp { webhook }));
        }
        let (access, url) = (self.engine.access(), &self.image.webhooks[webhook]);
        let all = access.webhooks(self.image.keys.app).unwrap_or_default();
        let Some(found) = all.iter().find(|known| known.url == *url) else {
            return;
        };
        let enabled = WebhookChange {
            is_enabled: Some(true),
            ..WebhookChange::default()
        };
        if access.update_webhook(found.id, enabled).await.is_err() {
            return; // the store rejects writes
        }
        let (since, mut after) = (START.minus(Duration::from_secs(24 * 3_600)), None);
        loop {
            let replayed = self
                .engine
                .webhooks()
                .replay_missing(found.id, since, after);
            let replayed = replayed.await;
            self.world
                .lock()
                .note(format_args!("{url} catches up: {replayed:?}"));
            match replayed {
                Ok(caught_up) if caught_up.after.is_some() => after = caught_up.after,
                Ok(_) => break,
                Err(_) => return,
            }
        }
        let mut world = self.world.lock();
        if !world.is_dead {
            world.operator_state.caught_up.insert(webhook);
        }
    }

    /// Records that an operator's command was acknowledged.
    fn is_ordered(&self, by: String, order: usize) {
        let mut world = self.world.lock();
        let Some(transaction) = world.orders[order].id.clone().filter(|_| !world.is_dead) else {
            return;
        };
        world
            .evidence
            .orders
            .push(OrderedByHand { by, transaction });
    }
}

fn operator(name: &str) -> Operator {
    Operator {
        name: name.to_owned(),
        token: None,
    }
}

/// Returns the active version after a change.
fn current(
    changed: Result<switchyard_gateway_host::Overview, LifeError>,
) -> Result<Option<String>, LifeError> {
    let version = |overview: switchyard_gateway_host::Overview| {
        Some(overview.current()?.kept.version.clone())
    };
    changed.map(version)
}
