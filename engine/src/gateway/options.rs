//! Lists of options that gateways answer (`options_from` of a field), cached per connection.
//!
//! A list is fresh for [`OPTIONS_FRESH`]. After that it is still used, for [`OPTIONS_USABLE`] at
//! most, while it is fetched again in the background; a failed fetch is repeated after
//! [`OPTIONS_RETRY`]. Only a caller without any list waits, for [`OPTIONS_WAIT`] at most.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use switchyard_gateway::manifest::{FieldOption, check_options};
use switchyard_gateway::wire::Ready;
use switchyard_gateway::{OptionList, Options};
use tokio::sync::watch as channel;

use super::drive::{self, CallFailure, Drive};
use super::journal::JournalWriter;
use super::redact::Redactor;
use super::watch::{self, Ward};
use super::{Gateways, Operation, Version};
use crate::clock::Timestamp;
use crate::environment::Environment;
use crate::limits::{OPTIONS_FRESH, OPTIONS_LISTS, OPTIONS_RETRY, OPTIONS_USABLE, OPTIONS_WAIT};

/// A list of one connection's gateway.
#[derive(Clone)]
pub struct OptionsCall {
    pub gateway: Arc<Version>,
    pub environment: Environment,
    /// The connection's configuration, opened.
    pub config: Value,
    pub ask: Options,
}

type List = Arc<Vec<FieldOption>>;

#[derive(Default)]
pub(super) struct OptionsCache(Mutex<HashMap<String, Entry>>);

#[derive(Default)]
struct Entry {
    list: Option<(List, Timestamp)>,
    tried_at: Option<Timestamp>,
    /// Ends with the fetch in progress.
    fetch: Option<channel::Receiver<()>>,
}

impl Entry {
    fn usable(&self, now: Timestamp) -> Option<List> {
        let (list, at) = self.list.as_ref()?;
        (now.since(*at) <= OPTIONS_USABLE).then(|| Arc::clone(list))
    }

    fn is_due(&self, now: Timestamp) -> bool {
        let is_fresh = |(_, at): &(List, Timestamp)| now.since(*at) <= OPTIONS_FRESH;
        let is_too_soon = |at: Timestamp| now.since(at) <= OPTIONS_RETRY;
        self.fetch.is_none()
            && !self.list.as_ref().is_some_and(is_fresh)
            && !self.tried_at.is_some_and(is_too_soon)
    }
}

impl Gateways {
    /// The options of a field. `None`: there is no list now, so the payer types freely.
    pub async fn options(&self, call: OptionsCall) -> Option<Arc<Vec<FieldOption>>> {
        let key = call.key();
        let fetch = self.begin_fetch(&key, call);
        if let Some(list) = self.known_options_of(&key) {
            return Some(list);
        }
        if let Some(mut fetch) = fetch {
            // An error says that the fetch has ended.
            let _ = tokio::time::timeout(OPTIONS_WAIT, fetch.changed()).await;
        }
        self.known_options_of(&key)
    }

    /// The list that was fetched last, while it may be used. Nothing is fetched for it.
    pub fn known_options(&self, call: &OptionsCall) -> Option<Arc<Vec<FieldOption>>> {
        self.known_options_of(&call.key())
    }

    fn known_options_of(&self, key: &str) -> Option<List> {
        let now = self.0.clock.now();
        self.0.options.entries().get(key)?.usable(now)
    }

    /// Starts a fetch if one is due. Returns a receiver that ends with the fetch in progress.
    fn begin_fetch(&self, key: &str, call: OptionsCall) -> Option<channel::Receiver<()>> {
        let now = self.0.clock.now();
        let mut entries = self.0.options.entries();
        if !entries.contains_key(key) && entries.len() >= OPTIONS_LISTS {
            entries.retain(|_, entry| entry.fetch.is_some());
        }
        let entry = entries.entry(key.to_owned()).or_default();
        if entry.is_due(now) {
            let (ended, end) = channel::channel(());
            entry.fetch = Some(end);
            entry.tried_at = Some(now);
            let (own, key) = (self.clone(), key.to_owned());
            tokio::spawn(async move {
                let fetched = own.fetch_options(call).await;
                own.0.options.store(&key, fetched, own.0.clock.now());
                drop(ended);
            });
        }
        entry.fetch.clone()
    }

    async fn fetch_options(&self, call: OptionsCall) -> Option<Vec<FieldOption>> {
        let gateway = Arc::clone(&call.gateway);
        let since = tokio::time::Instant::now();
        let running = gateway.running();
        let own = self.clone();
        let made = watch::guard(&self.0.watcher, &gateway, |ward| {
            own.ask_options(call, ward)
        });
        let said = made.await;
        super::measure(&gateway, Operation::Options, since.elapsed());
        drop(running);
        self.note_quarantine(&gateway).await;
        let said = said.unwrap_or_else(|| Err(drive::given_up(&gateway, Operation::Options)));
        said.inspect_err(|why| {
            tracing::warn!(
                gateway.name = gateway.name(),
                why,
                "failed to fetch options"
            );
        })
        .ok()
    }

    async fn ask_options(
        self,
        call: OptionsCall,
        ward: Option<Ward>,
    ) -> Result<Vec<FieldOption>, String> {
        let operation = Operation::Options;
        let redactor = Redactor::new(&call.gateway.manifest, &call.config);
        let scribe = JournalWriter::new(None, &redactor, call.gateway.name(), operation.as_str());
        let input = serde_json::to_value(&call.ask).unwrap_or(Value::Null);
        let drive = Drive {
            inner: &self.0,
            version: &call.gateway,
            operation,
            environment: call.environment,
            now: self.0.clock.shown(),
            config: &call.config,
            input: &input,
            redactor: &redactor,
            scribe: &scribe,
            connection: OnceLock::new(),
            until: drive::deadline(&call.gateway, operation),
            ward,
        };
        let said = drive.run(&mut Value::Null).await;
        let said = said.and_then(|message| drive.read::<Ready<OptionList>>(&message));
        let list = said.map_err(|CallFailure(why)| why)?.outcome.options;
        check_options(&list, "answer").map_err(|why| format!("its list {why}"))?;
        if list.is_empty() {
            return Err("its list is empty".to_owned());
        }
        Ok(list)
    }
}

impl OptionsCall {
    fn key(&self) -> String {
        let connection = drive::connection(&self.gateway, self.environment, &self.config);
        let Options {
            source,
            method,
            direction,
            ..
        } = &self.ask;
        format!("{connection} {direction:?} {method} {source}")
    }
}

impl OptionsCache {
    fn store(&self, key: &str, fetched: Option<Vec<FieldOption>>, now: Timestamp) {
        let mut entries = self.entries();
        let entry = entries.entry(key.to_owned()).or_default();
        entry.fetch = None;
        if let Some(list) = fetched {
            entry.list = Some((Arc::new(list), now));
        }
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock()
    }
}
