//! Permission of a hold to start attempts, and the connections that are asked for attempts that the
//! store does not know because they were made after the backup that it was restored from.

use std::time::Duration;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Engine, EngineError};
use crate::access::Connection;
use crate::hold::HoldState;
use switchyard_core::environment::Environment;
use switchyard_core::ids::{ConnectionId, TransactionId};
use switchyard_core::limits::LOST_ATTEMPTS;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{
    Attempt, AttemptState, Candidate, Command, Details, Kind, Permit, State, Transaction, Unasked,
    next_candidates,
};
use switchyard_gateway_host::{Direction, Operation, Version};
use switchyard_records as records;
use switchyard_store::StoreError;

impl Engine {
    /// Whether an attempt of the transaction may start now.
    pub fn may_start(&self, tx: &Transaction) -> bool {
        self.permit(tx).is_free()
    }

    /// Whether no engine of before a restore may have made an attempt of the transaction that this
    /// store does not know. Without it nothing is certain about money of the transaction.
    pub fn knows_all_attempts(&self, tx: &Transaction) -> bool {
        self.permit(tx).unasked.is_empty()
    }

    pub(crate) fn permit(&self, tx: &Transaction) -> Permit {
        // Accepted payouts of a disabled app wait until it is enabled.
        let is_closed = tx.kind() == Kind::Payout && !self.may_move_money(tx.app);
        let Some(held) = self.hold().state() else {
            return Permit {
                is_held: is_closed,
                ..Permit::default()
            };
        };
        Permit {
            is_held: is_closed || held.is_held(tx.app),
            released_at: held.released_at(tx.app),
            unasked: self.unasked(tx, &held),
        }
    }

    /// References of the connections at which `command` may start an attempt.
    pub(crate) fn references(
        &self,
        tx: &Transaction,
        command: &Command,
    ) -> Vec<(ConnectionId, Uuid)> {
        let candidates: Vec<&Candidate> = match command {
            Command::Confirm(confirm) => confirm.route.candidates.iter().collect(),
            Command::Dispatch(route) => route.candidates.iter().collect(),
            command => next_candidates(tx, command),
        };
        let reference = |candidate: &Candidate| {
            let connection = candidate.connection;
            (connection, reference(tx, connection))
        };
        candidates.into_iter().map(reference).collect()
    }

    /// When the hold began, if it began after `attempt`: an engine of before may have submitted it
    /// after the backup.
    pub(crate) fn may_have_left_before(&self, attempt: &Attempt) -> Option<Timestamp> {
        let since = self.hold().state()?.since;
        let begun = attempt.resumed_at.unwrap_or(attempt.started_at);
        (attempt.presumed || begun < since).then_some(since)
    }

    /// Whether it is a payout that was made while all apps were held: only a release moves it.
    pub(crate) fn waits_for_release(&self, id: TransactionId) -> bool {
        let Some(held) = self.hold().state().filter(|held| held.is_untouched()) else {
            return false;
        };
        let made_at = i64::try_from(id.ulid().timestamp_ms()).unwrap_or(0);
        match Kind::of(id) {
            Kind::Payment => false,
            Kind::Payout => made_at > held.since.as_millis(),
        }
    }

    /// The connections that may have an unknown attempt of the transaction and were not asked yet.
    fn unasked(&self, tx: &Transaction, held: &HoldState) -> Vec<Unasked> {
        let since = held.since;
        let is_later = |attempt: &&Attempt| attempt.started_at >= since;
        let mut later = tx.attempts.iter().filter(is_later);
        // An attempt that was really made began after all had been asked.
        if tx.state.is_final() || tx.created_at >= since || later.any(|later| !later.presumed) {
            return Vec::new();
        }
        let connections = self.access().connections(tx.app, tx.environment);
        let mut unasked: Vec<_> = connections
            .iter()
            .filter_map(|connection| self.unknown_at(tx, connection))
            .collect();
        // The test gateway serves what no connection does.
        if unasked.is_empty() && tx.environment == Environment::Sandbox {
            unasked.extend(self.unknown_in_sandbox(tx));
        }
        unasked.retain(|unasked| !was_asked(tx, unasked.candidate.connection, since));
        // The connections whose providers can answer come first.
        unasked.sort_by_key(|unasked| !unasked.can_be_asked);
        unasked
    }

    /// An attempt that may have been made at a connection, enabled now or not.
    fn unknown_at(&self, tx: &Transaction, connection: &Connection) -> Option<Unasked> {
        let Some(version) = self.gateways().reader(&connection.gateway) else {
            return self.unknown_without_gateway(tx, connection);
        };
        let method = method_at(tx, &version)?;
        let offer = self.offer(connection, tx.kind(), &method, None);
        let candidate = Candidate {
            gateway_hash: version.sha256.clone(),
            ..offer.candidate
        };
        Some(unknown(tx, candidate, method, &version))
    }

    /// The same where the connection's gateway is not loaded: its provider cannot be queried, and
    /// its methods are unknown. A version that is loaded later answers the queries.
    fn unknown_without_gateway(
        &self,
        tx: &Transaction,
        connection: &Connection,
    ) -> Option<Unasked> {
        let kind = tx.kind();
        let allowed = |code: &&String| {
            let methods = connection.methods.as_ref();
            methods.is_none_or(|methods| methods.contains(code))
        };
        let wanted = match &tx.details {
            Details::Payout(payout) => Some(&payout.method).filter(allowed).cloned(),
            Details::Payment(payment) if !payment.methods.is_empty() => {
                payment.methods.iter().find(allowed).cloned()
            }
            Details::Payment(_) => {
                let first = connection
                    .methods
                    .as_ref()
                    .and_then(|methods| methods.first());
                Some(first.unwrap_or(&connection.gateway).clone())
            }
        };
        let method = wanted?;
        Some(Unasked {
            candidate: self.offer(connection, kind, &method, None).candidate,
            reference: reference(tx, connection.id),
            method,
            can_be_asked: false,
        })
    }

    /// Whether a transaction that was made before a hold may have an unknown attempt at the
    /// connection. Only the connection's credentials can query the provider for it.
    pub(super) async fn may_have_unknown_at(&self, id: ConnectionId) -> Result<bool, StoreError> {
        let Some(held) = self.hold().state() else {
            return Ok(false);
        };
        let mut timers = records::Timers::all(self.store());
        while let Some(timer) = timers.next().await? {
            let made_at = i64::try_from(timer.transaction.ulid().timestamp_ms()).unwrap_or(0);
            if made_at > held.since.as_millis() {
                continue;
            }
            let tx = match records::load(self.store(), timer.transaction).await {
                Ok(Some(tx)) => tx,
                Ok(None) => continue,
                // Nobody can say that it has none.
                Err(_) => return Ok(true),
            };
            let mut unasked = self.unasked(&tx, &held).into_iter();
            if unasked.any(|unasked| unasked.candidate.connection == id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The same at the connection that every app has to the test gateway.
    fn unknown_in_sandbox(&self, tx: &Transaction) -> Option<Unasked> {
        let version = self.gateways().current(&self.settings().sandbox_gateway)?;
        let method = method_at(tx, &version)?;
        let offer = self.sandbox_offer(tx.app, tx.kind(), &method)?;
        Some(unknown(tx, offer.candidate, method, &version))
    }

    /// Has providers asked about payments that waited for their payers when the hold began: one of
    /// them may have been paid after the backup. Payouts are asked about when they are due.
    pub(super) async fn ask_for_unknown(self) {
        while !self.is_stopping() {
            match self.ask_waiting_payments().await {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "failed to ask about payments of before the restore");
                }
            }
            self.clock().sleep(ASK_AGAIN).await;
        }
    }

    /// Returns how many payments are not yet asked about in full.
    async fn ask_waiting_payments(&self) -> Result<u64, EngineError> {
        let mut open = 0;
        let mut timers = records::Timers::all(self.store());
        while let Some(timer) = timers.next().await? {
            let tx = match self.transaction(timer.transaction).await {
                Ok(Some(tx)) => tx,
                // The other payments can be asked about without a damaged one.
                Ok(None) | Err(EngineError::Damaged(_)) => continue,
                Err(error) => return Err(error),
            };
            let is_unasked = match tx.kind() {
                Kind::Payment => !self.permit(&tx).unasked.is_empty(),
                Kind::Payout => false,
            };
            if !is_unasked {
                continue;
            }
            open += 1;
            if tx.state == State::AwaitingCustomer {
                self.registry().send(self, tx.id, Command::Wake).await?;
            }
            if self.is_stopping() {
                return Ok(open);
            }
        }
        Ok(open)
    }
}

/// The reference of the next attempt of a transaction at a connection. It follows from what the
/// transaction has, so that a store that was restored finds the attempts that it does not know. It
/// is another one than those of earlier attempts at the connection, except of one that surely never
/// left: that reference is free. Nobody guesses it: the ids have 160 bits of chance.
pub(super) fn reference(tx: &Transaction, connection: ConnectionId) -> Uuid {
    let used = |attempt: &&Attempt| {
        attempt.candidate.connection == connection && !attempt.has_free_reference()
    };
    let number = tx.attempts.iter().filter(used).count();
    let hash = Sha256::digest(format!("{} {connection} {number}", tx.id));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    // Providers that want a UUID want one of version 4.
    uuid::Builder::from_random_bytes(bytes).into_uuid()
}

fn unknown(tx: &Transaction, candidate: Candidate, method: String, version: &Version) -> Unasked {
    let capabilities = &version.manifest.capabilities;
    Unasked {
        reference: reference(tx, candidate.connection),
        candidate,
        method,
        can_be_asked: version.has(Operation::Query)
            && capabilities.query_by_reference
            && capabilities.not_found_is_final_after_s.is_some(),
    }
}

/// A method of the transaction that a gateway serves, in its currency if there is one.
fn method_at(tx: &Transaction, version: &Version) -> Option<String> {
    let payment = match &tx.details {
        Details::Payment(payment) => payment,
        Details::Payout(payout) => {
            let is_served = version.serves(Direction::Payout, &payout.method);
            return is_served.then(|| payout.method.clone());
        }
    };
    let offered = |code: &String| payment.methods.is_empty() || payment.methods.contains(code);
    let rows = version.manifest.methods.iter();
    let mut served: Vec<_> = rows
        .filter(|row| row.direction == Direction::Collect && offered(&row.code))
        .collect();
    served.sort_by_key(|row| row.currency != tx.amount.currency().code());
    let any = || payment.methods.iter().find(|_| version.manifest.any_method);
    let served = served.first().map(|row| row.code.clone());
    served.or_else(|| any().cloned())
}

/// Whether a connection has said that it knows no further attempt.
fn was_asked(tx: &Transaction, connection: ConnectionId, since: Timestamp) -> bool {
    let mut there = tx.attempts.iter().filter(|attempt| {
        attempt.presumed
            && attempt.started_at >= since
            && attempt.candidate.connection == connection
    });
    let has_denied = |attempt: &Attempt| attempt.state == AttemptState::NotSent;
    let is_full = there.clone().count() >= LOST_ATTEMPTS;
    there.next_back().is_some_and(has_denied) || is_full
}

/// Pause between two rounds over the open payments.
const ASK_AGAIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use switchyard_core::testing::fixtures::{World, candidate, not_sent, route, unknown};

    fn at(world: &World, number: u128) -> Uuid {
        reference(&world.tx, candidate(number).connection)
    }

    #[test]
    fn a_reference_follows_from_the_transaction_and_is_new_after_each_attempt_that_may_have_left() {
        let mut world = World::payout();
        let first = at(&world, 0);
        assert_eq!(first, at(&World::payout(), 0), "a restored store finds it");
        assert_eq!(first.get_version_num(), 4);
        assert_ne!(first, at(&world, 1), "another connection's");
        assert_ne!(first, at(&World::payment(), 0), "another transaction's");
        world.apply(Command::Dispatch(route(1))).unwrap();
        assert_ne!(first, at(&world, 0), "it is away");
        world.answer(not_sent()).unwrap();
        assert_eq!(first, at(&world, 0), "nothing left under it");
        world.apply(Command::Dispatch(route(1))).unwrap();
        world.answer(unknown()).unwrap();
        world.wait(3_600);
        world.apply(Command::Wake).unwrap();
        world.answer(not_sent()).unwrap();
        assert_ne!(first, at(&world, 0), "it may have left, and come late");
    }
}
