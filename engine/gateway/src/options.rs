//! Lists of options that gateways answer (`options_from` of a field), cached per connection.
//!
//! A list is fresh for [`OPTIONS_FRESH`]. After that it is still used, for [`OPTIONS_USABLE`] at
//! most, while it is fetched again in the background; a failed fetch is repeated after
//! [`OPTIONS_RETRY`]. Only a caller without any list waits, for [`OPTIONS_WAIT`] at most.

use std::sync::Arc;

use serde_json::Value;
use switchyard_gateway::manifest::{FieldOption, check_options};
use switchyard_gateway::{OptionList, Options};

use super::ask::Question;
use super::drive;
use super::fetch_cache::{FetchCache, FetchTimes};
use super::redact::Redactor;
use super::{Gateways, Operation, Version};
use switchyard_core::environment::Environment;
use switchyard_core::limits::{
    OPTIONS_FRESH, OPTIONS_LISTS, OPTIONS_RETRY, OPTIONS_USABLE, OPTIONS_WAIT,
};
use switchyard_system::clock::Clock;

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

pub(super) fn cache(clock: Clock) -> FetchCache<Vec<FieldOption>> {
    let times = FetchTimes {
        fresh: OPTIONS_FRESH,
        retry: OPTIONS_RETRY,
        keys: OPTIONS_LISTS,
    };
    FetchCache::new(clock, times)
}

impl Gateways {
    /// The options of a field. `None`: there is no list now, so the payer types freely.
    pub async fn options(&self, call: OptionsCall) -> Option<Arc<Vec<FieldOption>>> {
        let key = call.key();
        let own = self.clone();
        let fetch = || async move { own.fetch_options(call).await };
        let fetch = self.0.options.fetch_if_due(&key, fetch);
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
        let (list, at) = self.0.options.get(key).value?;
        (self.0.clock.now().since(at) <= OPTIONS_USABLE).then_some(list)
    }

    async fn fetch_options(&self, call: OptionsCall) -> Result<Vec<FieldOption>, String> {
        let gateway = Arc::clone(&call.gateway);
        let question = Question {
            redactor: Redactor::new(&gateway.manifest, &call.config),
            gateway: call.gateway,
            operation: Operation::Options,
            environment: call.environment,
            config: call.config,
            input: serde_json::to_value(&call.ask).unwrap_or(Value::Null),
        };
        let answered = self.ask::<OptionList>(question).await;
        let list = answered.and_then(|list| checked(list.options));
        list.inspect_err(|why| {
            tracing::warn!(
                gateway.name = gateway.name(),
                why,
                "failed to fetch options"
            );
        })
    }
}

fn checked(list: Vec<FieldOption>) -> Result<Vec<FieldOption>, String> {
    check_options(&list, "answer").map_err(|why| format!("its list {why}"))?;
    if list.is_empty() {
        return Err("its list is empty".to_owned());
    }
    Ok(list)
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
