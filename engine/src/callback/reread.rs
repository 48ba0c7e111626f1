//! What a version of a gateway stumbled over at each try, and another one may understand.
//!
//! Whenever a gateway has another version than before, each of these is given to it once: a version that stumbles as well is noted in
//! the first one's place. What changed while no process ran is found at the start, by the same note.
//!
//! Each gateway has one at a time. As long as it reads them well the next one follows at once, so that a thousand take no longer than
//! a thousand that come in; over one that it stumbles, or does not come back with, it gets a pause.

use std::collections::BTreeMap;
use std::time::Duration;

use super::appear::{change, have_another_look};
use super::home;
use super::row::{self, CallbackState, STUMBLED, Which};
use crate::clock::Timestamp;
use crate::engine::{Engine, EngineError};
use crate::limits::CALLBACK_TRIES;
use crate::store::{Direction, Table};

/// What was given to whom, so far.
#[derive(Default)]
pub(super) struct Readers {
    /// The version of each gateway that is current, as it was last seen. None before the first look.
    current: Option<BTreeMap<String, String>>,
    /// What each gateway was given last, until it has read that well or its pause is over.
    reading: BTreeMap<String, Reading>,
    /// Some may not have been given to a gateway that is free.
    is_left: bool,
}

struct Reading {
    which: Which,
    since: Timestamp,
}

impl Readers {
    /// Has what was put down read by the versions that are current now, when they are others than before. What waits to be read is
    /// little, and stays where an operator finds it.
    pub async fn look(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let current = engine.gateways.list().into_iter();
        let current: BTreeMap<String, String> = current
            .map(|version| (version.name().to_owned(), version.sha256.clone()))
            .collect();
        if self.current.as_ref() != Some(&current) {
            self.is_left = true;
            self.current = Some(current);
        }
        self.forget_what_is_over(engine).await?;
        if self.is_left {
            self.give_one_each(engine).await?;
            self.is_left = false;
        }
        Ok(())
    }

    /// A gateway whose last one is over is free for the next.
    async fn forget_what_is_over(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let mut over = Vec::new();
        for (gateway, reading) in &self.reading {
            let rested = engine.clock.now() >= reading.since.plus(PAUSE);
            if rested || was_read_well(engine, reading.which).await? {
                over.push(gateway.clone());
            }
        }
        for gateway in over {
            self.reading.remove(&gateway);
            self.is_left = true;
        }
        Ok(())
    }

    /// Gives one of those that were put down to the current version of each gateway that is free, unless it is the one that stumbled.
    async fn give_one_each(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let (mut from, to) = row::from_connection(STUMBLED, None);
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
                let which = Which {
                    connection,
                    callback,
                };
                self.give(engine, which, stumbled).await?;
            }
            match rows.last() {
                Some((last, _)) if rows.len() == PAGE => from = [&last[..], &[0]].concat(),
                _ => return Ok(()),
            }
        }
    }

    async fn give(
        &mut self,
        engine: &Engine,
        which: Which,
        stumbled: &[u8],
    ) -> Result<(), EngineError> {
        let Some(home) = home::find(engine, which.connection) else {
            return Ok(());
        };
        let current = self.current.as_ref();
        let version = current.and_then(|current| current.get(&home.gateway));
        let is_for_it = version.is_some_and(|version| version.as_bytes() != stumbled);
        if !is_for_it || self.reading.contains_key(&home.gateway) {
            return Ok(());
        }
        let given = change(engine, which, |callback, now| {
            have_another_look(callback, now);
            callback.tries = CALLBACK_TRIES - 1;
        });
        if given.await?.is_some() {
            let since = engine.clock.now();
            self.reading.insert(home.gateway, Reading { which, since });
        }
        Ok(())
    }
}

/// It was dealt with, and the version that was given it last did not stumble over it.
async fn was_read_well(engine: &Engine, which: Which) -> Result<bool, EngineError> {
    let callback = row::load(&engine.store, which).await?;
    Ok(callback.is_none_or(|callback| {
        callback.state != CallbackState::Waiting && callback.stumbled.is_none()
    }))
}

/// So long that a version which panics over each of them does not come into quarantine by these alone: three in a minute at most, below
/// [`crate::limits::GATEWAY_PANICS_A_MINUTE`].
const PAUSE: Duration = Duration::from_secs(30);
/// Rows read at once.
const PAGE: usize = 250;
