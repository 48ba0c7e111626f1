//! Crashes of the engine in code of a gateway, which the process recorded as it crashed: see
//! [`crate::gateway::crash`]. Three of one version within a day quarantine it before any of its
//! code is loaded. It then runs in a worker, where it can still be queried about open attempts. An
//! operator who restores it resets the count.

use std::collections::BTreeMap;

use super::record::Record;
use crate::gateway::version::{ENGINE, Quarantine};
use crate::gateway::{Gateways, crash};
use crate::limits::GATEWAY_ENGINE_DEATHS;

impl Gateways {
    /// Records the crashes since the last start. The caller holds `changing`.
    pub(super) async fn note_engine_deaths(&self) {
        let dir = &self.0.settings.dir;
        let deaths = match crash::deaths(dir) {
            Ok(deaths) if deaths.is_empty() => return,
            Ok(deaths) => deaths,
            Err(error) => {
                tracing::error!(%error, "failed to read the deaths of the engine in gateways");
                return;
            }
        };
        let records: Vec<Record> = self.0.life.book().records.values().cloned().collect();
        let mut are_stored = true;
        for record in records {
            are_stored &= self.note_deaths_of(record, &deaths).await;
        }
        if !are_stored {
            return; // They are read again at the next start.
        }
        if let Err(error) = crash::forget(dir) {
            tracing::error!(%error, "failed to empty the list of deaths in gateways");
        }
    }

    /// Returns whether the record contains its crashes now.
    async fn note_deaths_of(&self, mut record: Record, deaths: &BTreeMap<String, usize>) -> bool {
        let now = self.0.clock.now();
        let name = record.name.clone();
        let known = record.versions.iter().map(|kept| kept.sha256.clone());
        let known: Vec<String> = known.collect();
        for sha256 in known {
            let Some(times) = deaths.get(&sha256) else {
                continue;
            };
            tracing::error!(
                gateway.name = name,
                gateway.sha256 = sha256,
                times,
                "the engine died in code of this gateway"
            );
            let counter = metrics::counter!(
                "switchyard_gateway_engine_deaths_total", "gateway" => name.clone()
            );
            counter.increment(u64::try_from(*times).unwrap_or(u64::MAX));
            let is_too_often = record.note_engine_deaths(&sha256, *times, now);
            if let Err(error) = self.0.life.keep(record.clone()).await {
                tracing::error!(gateway.name = name, %error, "failed to record an engine crash");
                return false;
            }
            if is_too_often {
                self.quarantine_for_deaths(&name, &sha256).await;
                record = self.0.life.record(&name).unwrap_or(record);
            }
        }
        true
    }

    async fn quarantine_for_deaths(&self, name: &str, sha256: &str) {
        let quarantine = Quarantine {
            reason: format!(
                "the engine died {GATEWAY_ENGINE_DEATHS} times within a day in code of this version"
            ),
            at: self.0.clock.now(),
            by: ENGINE.to_owned(),
        };
        metrics::counter!("switchyard_gateway_quarantines_total", "gateway" => name.to_owned())
            .increment(1);
        if let Err(error) = self.write_quarantine(name, sha256, &quarantine).await {
            tracing::error!(gateway.name = name, %error, "failed to record the quarantine");
        }
    }
}
