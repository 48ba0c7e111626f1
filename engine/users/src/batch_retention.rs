//! Deletion of personal data from batches of payouts that ended long ago.
//!
//! The payouts of a batch have the same names and numbers. In sandbox they are deleted, and the
//! batch is deleted with them. In live they stay, and the lines of the batch keep only amount,
//! method and reference.

use std::time::Duration;

use serde_json::Value;
use switchyard_core::environment::Environment;
use switchyard_core::limits::BATCH_PERSONAL_DATA;
use switchyard_store::{Batch, Direction, Table};

use crate::error::UsersError;
use crate::payout_batch::BatchId;
use crate::payout_batches::delete;
use crate::rows::{self, Kind};
use crate::users::Users;

impl Users {
    /// Deletes sandbox batches and the personal data of live ones after their retention. Each
    /// commit is complete, so that a later call continues after a crash.
    pub(crate) async fn purge_ended_batches(&self) -> Result<(), UsersError> {
        for environment in [Environment::Sandbox, Environment::Live] {
            while self.purge_some(environment).await? {}
        }
        Ok(())
    }

    /// Purges the oldest batches of an environment. `false`: there are none.
    async fn purge_some(&self, environment: Environment) -> Result<bool, UsersError> {
        let gate = self.gate().await;
        let ended = Kind::EndedBatch.key(environment);
        let last = gate.now().minus(self.retention(environment));
        let behind = ended.clone().child(last.plus(Duration::from_micros(1)));
        let range = ended.children().ending_at(behind);
        let (from, to) = (range.from(), range.to());
        let rows = self
            .0
            .store
            .scan(Table::User, from, to, Direction::Forward, AT_ONCE);
        let rows = rows.await?;
        let mut batch = Batch::new();
        for (key, value) in &rows {
            let id: BatchId = rows::decode(key, value)?;
            batch.delete(Table::User, key);
            match (self.batch_by_id(id).await?, environment) {
                (Some(head), Environment::Sandbox) => delete(&mut batch, &head)?,
                (Some(_), Environment::Live) => {
                    let mut lines = self.batch_lines(id).await?;
                    for line in &mut lines {
                        line.request = without_people(&line.request);
                    }
                    rows::put(&mut batch, Kind::BatchLines, id, &lines)?;
                }
                (None, _) => {}
            }
        }
        if rows.is_empty() {
            return Ok(false);
        }
        gate.commit(batch, Vec::new(), |_| {}).await?;
        Ok(true)
    }

    fn retention(&self, environment: Environment) -> Duration {
        match environment {
            Environment::Sandbox => self.0.options.sandbox_retention,
            Environment::Live => BATCH_PERSONAL_DATA,
        }
    }
}

/// The fields of a line's request without personal data.
fn without_people(request: &Value) -> Value {
    let fields = request.as_object().into_iter().flatten();
    let kept = fields.filter(|(name, _)| KEPT.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

const KEPT: [&str; 4] = ["amount", "currency", "method", "metadata"];
/// Batches of a commit: each has up to 512 KiB of lines.
const AT_ONCE: usize = 8;
