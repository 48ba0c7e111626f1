//! What a version of a gateway stumbled over at each try, and another one may understand.
//!
//! Whenever a gateway has another version than before, each of these is given to it once: a version that stumbles as well is noted in
//! the first one's place. What changed while no process ran is found at the start, by the same note.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::appear::{change, have_another_look};
use super::home;
use super::row::{self, STUMBLED, Which};
use crate::clock::Timestamp;
use crate::engine::{Engine, EngineError};
use crate::limits::CALLBACK_TRIES;
use crate::store::{Direction, Table};

/// What was given to whom, so far.
#[derive(Default)]
pub(super) struct Readers {
    /// The version of each gateway that is current, as it was last seen.
    current: BTreeMap<String, String>,
    is_started: bool,
    /// Some may not have been given to the current versions yet.
    is_left: bool,
    /// Nothing is given before.
    next: Timestamp,
}

impl Readers {
    /// Has what was put down read by the versions that are current now, when they are others than before. One of each gateway at a time:
    /// what waits to be read is little, and stays where an operator finds it.
    pub async fn look(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let current = engine.gateways.list().into_iter();
        let current: BTreeMap<String, String> = current
            .map(|version| (version.name().to_owned(), version.sha256.clone()))
            .collect();
        if !self.is_started || self.current != current {
            (self.is_started, self.is_left) = (true, true);
            self.current = current;
        }
        let now = engine.clock.now();
        if self.is_left && now >= self.next {
            self.is_left = give_one_each(engine, &self.current).await?;
            self.next = now.plus(PACE);
        }
        Ok(())
    }
}

/// Gives one of those that were put down to the current version of each gateway, unless it is the one that stumbled. Whether more are left.
async fn give_one_each(
    engine: &Engine,
    current: &BTreeMap<String, String>,
) -> Result<bool, EngineError> {
    let (mut from, to) = row::from_connection(STUMBLED, None);
    let mut given = BTreeSet::new();
    let mut is_left = false;
    loop {
        let rows = engine
            .store
            .scan(Table::Callback, &from, &to, Direction::Forward, PAGE)
            .await?;
        for (key, stumbled) in &rows {
            let (Some(connection), Some(callback)) =
                (row::connection_in(key), row::callback_in(key))
            else {
                continue;
            };
            let Some(home) = home::find(engine, connection) else {
                continue;
            };
            let version = current.get(&home.gateway);
            if version.is_none_or(|version| version.as_bytes() == stumbled) {
                continue;
            }
            if !given.insert(home.gateway) {
                is_left = true;
                continue;
            }
            let which = Which {
                connection,
                callback,
            };
            change(engine, which, |callback, now| {
                have_another_look(callback, now);
                callback.tries = CALLBACK_TRIES - 1;
            })
            .await?;
        }
        match rows.last() {
            Some((last, _)) if rows.len() == PAGE => from = [&last[..], &[0]].concat(),
            _ => return Ok(is_left),
        }
    }
}

/// One after the other, so slowly that a version which panics over each of them does not come into quarantine by these alone: three in
/// a minute at most, below [`crate::limits::GATEWAY_PANICS_A_MINUTE`].
const PACE: Duration = Duration::from_secs(30);
/// Rows read at once.
const PAGE: usize = 250;
