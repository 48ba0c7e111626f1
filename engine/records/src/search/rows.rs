//! Rows of a search, newest first: the transactions of one term, of one of several terms, of all of
//! several terms.

use std::collections::{BTreeSet, VecDeque};

use ulid::Ulid;

use super::term::{Owner, PLAIN, Stem, amount_variant, text_variant};
use super::text::{self, Meaning};
use crate::keys::{self, SearchPlace};
use crate::{Name, RecordError, attempt_named, attempts_with_id, customers};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, AttemptId, ConnectionId, TransactionId};
use switchyard_core::transaction::Kind;
use switchyard_store::{Direction, Store, Table};

/// Rows that are read at once: more than an ordinary page has.
const CHUNK: usize = if cfg!(test) { 3 } else { 50 };

/// Scope of a search.
pub(super) struct Scope<'a> {
    pub store: &'a Store,
    pub app: AppId,
    pub environment: Environment,
    pub kind: Kind,
    /// The app's connections in this environment, deleted ones too.
    pub connections: &'a [ConnectionId],
}

/// Result of a step to the next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Found(Ulid),
    /// No more reads are allowed. No transaction after this one matches.
    Paused(Ulid),
    End,
}

/// The transactions that all of several terms have.
pub(super) struct Every(Vec<Either>);

/// The transactions that one of several terms has.
struct Either(Vec<Source>);

enum Source {
    Rows(Rows),
    /// Few ids that are known already.
    Ids(BTreeSet<Ulid>),
}

/// The rows of one term.
struct Rows {
    place: SearchPlace,
    /// Read rows, newest first.
    read: VecDeque<Ulid>,
    is_end: bool,
}

impl Every {
    pub async fn open(scope: &Scope<'_>, every: &text::Every) -> Result<Self, RecordError> {
        let mut all = Vec::with_capacity(every.len());
        for either in every {
            let mut sources = Vec::with_capacity(either.len());
            for meaning in either {
                scope.open(meaning, &mut sources).await?;
            }
            all.push(Either(sources));
        }
        Ok(Self(all))
    }

    /// The newest transaction at `bound` or before it. It uses up `reads`, and goes a step even
    /// without any.
    pub async fn next(
        &mut self,
        store: &Store,
        mut bound: Ulid,
        reads: &mut usize,
    ) -> Result<Next, RecordError> {
        loop {
            let start = bound;
            for either in &mut self.0 {
                match either.next(store, bound, reads).await? {
                    Some(next) => bound = next,
                    None => return Ok(Next::End),
                }
            }
            if bound == start {
                return Ok(Next::Found(bound));
            }
            if *reads == 0 {
                return Ok(Next::Paused(bound));
            }
        }
    }
}

impl Either {
    async fn next(
        &mut self,
        store: &Store,
        bound: Ulid,
        reads: &mut usize,
    ) -> Result<Option<Ulid>, RecordError> {
        let mut newest = None;
        for source in &mut self.0 {
            let next = match source {
                Source::Rows(rows) => rows.next(store, bound, reads).await?,
                Source::Ids(ids) => ids.range(..=bound).next_back().copied(),
            };
            newest = newest.max(next);
        }
        Ok(newest)
    }
}

impl Rows {
    const fn at(place: SearchPlace) -> Source {
        Source::Rows(Self {
            place,
            read: VecDeque::new(),
            is_end: false,
        })
    }

    async fn next(
        &mut self,
        store: &Store,
        bound: Ulid,
        reads: &mut usize,
    ) -> Result<Option<Ulid>, RecordError> {
        while self.read.front().is_some_and(|next| *next > bound) {
            self.read.pop_front();
        }
        if self.read.is_empty() && !self.is_end {
            let end = [&keys::search(&self.place, bound)[..], &[0]].concat();
            let rows = store
                .scan(Table::Index, &self.place, &end, Direction::Backward, CHUNK)
                .await?;
            *reads = reads.saturating_sub(1);
            self.is_end = rows.len() < CHUNK;
            for (key, _) in &rows {
                let damaged = || RecordError::damaged("search index", format!("{key:02x?}"));
                self.read
                    .push_back(keys::read_search(key).ok_or_else(damaged)?);
            }
        }
        Ok(self.read.front().copied())
    }
}

impl Scope<'_> {
    async fn open(&self, meaning: &Meaning, to: &mut Vec<Source>) -> Result<(), RecordError> {
        let owner = Owner::new(self.app, self.environment, self.kind);
        let at = |stem, variant| Rows::at(keys::search_place(owner.hash(stem), variant));
        match meaning {
            Meaning::Ids(ids) => {
                let own = ids.iter().filter(|id| Kind::of(**id) == self.kind);
                to.push(Source::Ids(own.map(|id| id.ulid()).collect()));
            }
            Meaning::Reference(reference) => {
                to.push(Source::Ids(self.referenced(&reference.to_string()).await?));
            }
            Meaning::ProviderId(id) => {
                to.push(Source::Ids(self.with_provider_id(id).await?));
            }
            Meaning::Customer(id) => {
                let owner = (self.app, self.environment);
                if let Some(email) = customers::email_of(self.store, owner, *id).await? {
                    to.push(at(Stem::Text(&super::fold::folded(&email)), PLAIN));
                }
            }
            Meaning::Text {
                text,
                key: Some(key),
            } => {
                to.push(at(Stem::Text(text), text_variant(Some(key))));
            }
            Meaning::Text { text, key: None } => {
                self.open_all(owner.hash(Stem::Text(text)), to).await?;
            }
            Meaning::Phone(digits) => to.push(at(Stem::Phone(digits), PLAIN)),
            Meaning::Amount(typed) => {
                let stem = Stem::Amount(&typed.decimal);
                match &typed.currencies[..] {
                    [] => self.open_all(owner.hash(stem), to).await?,
                    currencies => to.extend(
                        currencies
                            .iter()
                            .map(|currency| at(stem, amount_variant(*currency))),
                    ),
                }
            }
        }
        Ok(())
    }

    /// Opens each variant that a term has: the keys of metadata, or the currencies, that occur with
    /// it. There are 256 at most, and usually one.
    async fn open_all(&self, hash: u64, to: &mut Vec<Source>) -> Result<(), RecordError> {
        let mut start = keys::search_term(hash).to_vec();
        let end = keys::after(&start);
        loop {
            let rows = self
                .store
                .scan(Table::Index, &start, &end, Direction::Forward, 1)
                .await?;
            let Some((key, _)) = rows.first() else {
                return Ok(());
            };
            let place = key.first_chunk::<{ keys::SEARCH_TERM_BYTES + 1 }>();
            let damaged = || RecordError::damaged("search index", format!("{key:02x?}"));
            let place = *place.ok_or_else(damaged)?;
            start = keys::after(&place);
            to.push(Rows::at(place));
        }
    }

    /// The transaction of the attempt that has a reference at one of the app's connections.
    async fn referenced(&self, reference: &str) -> Result<BTreeSet<Ulid>, RecordError> {
        let mut found = Vec::new();
        for connection in self.connections {
            if let Some(name) = Name::reference(*connection, reference) {
                found.extend(attempt_named(self.store, &name).await?);
            }
        }
        Ok(self.own(found))
    }

    /// The transactions of the attempts that have a provider id at one of the app's connections.
    async fn with_provider_id(&self, id: &str) -> Result<BTreeSet<Ulid>, RecordError> {
        let mut found = Vec::new();
        for connection in self.connections {
            if let Some(name) = Name::provider_id(*connection, id) {
                found.extend(attempts_with_id(self.store, &name, self.kind).await?);
            }
        }
        Ok(self.own(found))
    }

    fn own(&self, found: Vec<(TransactionId, AttemptId)>) -> BTreeSet<Ulid> {
        let own = found.iter().filter(|(id, _)| Kind::of(*id) == self.kind);
        own.map(|(id, _)| id.ulid()).collect()
    }
}
