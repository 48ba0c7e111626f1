//! What a version of a gateway stumbled over at each try, and another one may understand.
//!
//! Whenever a gateway has another version than before, each of these is given to it once: a version that stumbles as well is noted in
//! the first one's place. What changed while no process ran is found at the start, by the same note.

use std::collections::BTreeMap;
use std::time::Duration;

use super::appear::{change, have_another_look};
use super::home;
use super::row::{self, STUMBLED, Which};
use crate::engine::{Engine, EngineError};
use crate::limits::CALLBACK_TRIES;
use crate::store::{Direction, Table};

/// The version of each gateway that is current, as it was last seen.
#[derive(Default)]
pub(super) struct Readers(Option<BTreeMap<String, String>>);

impl Readers {
    /// Has what was put down read by the versions that are current now, when they are others than at the last look.
    pub async fn look(&mut self, engine: &Engine) -> Result<(), EngineError> {
        let current = engine.gateways.list().into_iter();
        let current: BTreeMap<String, String> = current
            .map(|version| (version.name().to_owned(), version.sha256.clone()))
            .collect();
        if self.0.as_ref() != Some(&current) {
            give_to(engine, &current).await?;
            self.0 = Some(current);
        }
        Ok(())
    }
}

/// Gives each that was put down to the current version of its gateway, unless it is the one that stumbled.
async fn give_to(engine: &Engine, current: &BTreeMap<String, String>) -> Result<(), EngineError> {
    let (mut from, to) = row::from_connection(STUMBLED, None);
    let mut given: BTreeMap<String, u32> = BTreeMap::new();
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
            let before = given.entry(home.gateway).or_default();
            let wait = PACE * *before;
            *before += 1;
            let which = Which {
                connection,
                callback,
            };
            change(engine, which, |callback, now| {
                have_another_look(callback, now.plus(wait));
                callback.tries = CALLBACK_TRIES - 1;
            })
            .await?;
        }
        match rows.last() {
            Some((last, _)) if rows.len() == PAGE => from = [&last[..], &[0]].concat(),
            _ => return Ok(()),
        }
    }
}

/// One after the other, so slowly that a version which panics over each of them does not come into quarantine by these alone: four a
/// minute, below [`crate::limits::GATEWAY_PANICS_A_MINUTE`].
const PACE: Duration = Duration::from_secs(15);
/// Rows read at once.
const PAGE: usize = 250;
