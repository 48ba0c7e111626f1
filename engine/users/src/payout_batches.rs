//! Upload, confirmation and progress of batches of payouts.
//!
//! A batch is confirmed once, in one commit with its entry of the audit log. The caller makes its
//! payouts, each under a key of its own, so that a repetition makes none twice. A deleted batch has
//! no open proposal, since its proposal is withdrawn in the same commit.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{AccountId, AppId, ApprovalId};
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, Direction, Key, Table};

use crate::approval::Approval;
use crate::approvals::Proposal;
use crate::authorize::Permit;
use crate::error::UsersError;
use crate::payout_batch::{
    BATCH_PROPOSAL, BatchId, BatchLine, BatchState, NewBatch, PayoutBatch, ProposedBatch,
    RefusedLine,
};
use crate::rows::{self, Kind};
use crate::user::checked_name;
use crate::users::Users;

/// Lines of a batch: a person still reads them before the confirmation.
pub const BATCH_LINES: usize = 1_000;
/// Time after which an unconfirmed batch is deleted.
const DRAFT_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Claim of the work on a batch, released on drop.
#[derive(Debug)]
pub struct BatchRun {
    runs: Arc<Mutex<HashSet<BatchId>>>,
    id: BatchId,
}

impl Drop for BatchRun {
    fn drop(&mut self) {
        self.runs.lock().remove(&self.id);
    }
}

impl Users {
    /// Claims the work on a batch. `None`: this process works on it already.
    pub fn claim_batch(&self, id: BatchId) -> Option<BatchRun> {
        let runs = self.0.batch_runs.clone();
        let is_new = runs.lock().insert(id);
        is_new.then_some(BatchRun { runs, id })
    }

    /// Stores a batch of the permit's user, which orders nothing yet.
    pub async fn upload_batch(
        &self,
        permit: &Permit,
        new: NewBatch,
    ) -> Result<PayoutBatch, UsersError> {
        if new.lines.is_empty() || new.lines.len() > BATCH_LINES {
            let problem = format!("are 1 to {BATCH_LINES}");
            return Err(UsersError::invalid("lines", problem));
        }
        let account = permit.account.ok_or_else(|| batch_not_found(""))?;
        let gate = self.gate().await;
        let permit = &self.renew(permit)?;
        let now = gate.now();
        let head = PayoutBatch {
            id: BatchId::new(self.0.ids.ulid(now)),
            account,
            app: new.app,
            environment: new.environment,
            name: checked_name("name", &new.name)?,
            count: u32::try_from(new.lines.len()).unwrap_or(u32::MAX),
            uploaded_by: permit.user,
            uploaded_at: now,
            state: BatchState::Draft,
            refused: BTreeMap::new(),
        };
        let mut batch = Batch::new();
        rows::put(&mut batch, Kind::BatchLines, head.id, &new.lines)?;
        rows::put(&mut batch, Kind::Batch, head.id, &head)?;
        rows::put(&mut batch, Kind::OpenBatch, head.id, &head.id)?;
        batch.put(
            Table::User,
            key_of_app(&head),
            rows::encode(&key_of_app(&head), &head.id)?,
        );
        let after = json!({ "file": head.name, "lines": head.count });
        let mut entry = permit.entry(head.id).changing(Value::Null, after);
        entry.action = "upload_batch".to_owned();
        gate.commit(batch, vec![entry], |_| {}).await?;
        Ok(head)
    }

    /// A batch of an account.
    pub async fn batch(&self, account: AccountId, id: BatchId) -> Result<PayoutBatch, UsersError> {
        let found = self.batch_by_id(id).await?;
        let found = found.filter(|head| head.account == account);
        found.ok_or_else(|| batch_not_found(id))
    }

    /// Lines of a batch, in the order of the file.
    pub async fn batch_lines(&self, id: BatchId) -> Result<Vec<BatchLine>, UsersError> {
        let key = Kind::BatchLines.key(id);
        let row = self.0.store.get(Table::User, &key).await?;
        rows::decode(&key, &row.ok_or_else(|| batch_not_found(id))?)
    }

    /// The newest batches of an app in an environment, at most `limit`.
    pub async fn batches(
        &self,
        app: AppId,
        environment: Environment,
        limit: usize,
    ) -> Result<Vec<PayoutBatch>, UsersError> {
        let range = of_app(app, environment).children();
        let (store, from, to) = (&self.0.store, range.from(), range.to());
        let ids = store.scan(Table::User, from, to, Direction::Backward, limit);
        let mut found = Vec::new();
        for (key, value) in ids.await? {
            found.extend(self.batch_by_id(rows::decode(&key, &value)?).await?);
        }
        Ok(found)
    }

    /// Confirmed batches whose payouts are not all made, of all accounts.
    pub async fn unfinished_batches(&self) -> Result<Vec<PayoutBatch>, UsersError> {
        let mut found = self.open_batches().await?;
        found.retain(|head| matches!(head.state, BatchState::Confirmed { .. }));
        Ok(found)
    }

    /// Confirms a batch that one person may order alone.
    ///
    /// # Errors
    /// [`UsersError::Conflict`] when it was confirmed before.
    pub async fn confirm_batch(
        &self,
        permit: &Permit,
        id: BatchId,
    ) -> Result<PayoutBatch, UsersError> {
        let account = permit.account.ok_or_else(|| batch_not_found(id))?;
        let head = self.batch(account, id).await?;
        let gate = self.gate().await;
        let permit = &self.renew(permit)?;
        let mut batch = Batch::new();
        let confirmed = confirmed(&mut batch, &head, permit, gate.now())?;
        let after = json!({ "lines": head.count });
        let mut entry = permit.entry(id).changing(Value::Null, after);
        entry.action = "confirm_batch".to_owned();
        gate.commit(batch, vec![entry], |_| {}).await?;
        Ok(confirmed)
    }

    /// Approves the proposal of a batch, and confirms the batch in the same commit.
    pub async fn approve_batch(
        &self,
        permit: &Permit,
        approval: ApprovalId,
        id: BatchId,
    ) -> Result<(Approval, PayoutBatch), UsersError> {
        let account = permit.account.ok_or_else(|| batch_not_found(id))?;
        let head = self.batch(account, id).await?;
        let mut batch = Batch::new();
        let confirmed = confirmed(&mut batch, &head, permit, self.0.clock.now())?;
        let approved = self.approve(permit, approval, batch).await?;
        Ok((approved, confirmed))
    }

    /// Open proposal of a batch.
    pub fn proposal_of_batch(&self, account: AccountId, id: BatchId) -> Option<Arc<Approval>> {
        let mut open = self.open_approvals(Some(account)).into_iter();
        open.find(|approval| {
            let payload = || serde_json::from_value::<ProposedBatch>(approval.payload.clone());
            approval.kind == BATCH_PROPOSAL && payload().is_ok_and(|it| it.batch == id)
        })
    }

    /// Proposes the confirmation of a batch to a second person.
    ///
    /// # Errors
    /// [`UsersError::Conflict`] when it was confirmed, deleted or proposed before.
    pub async fn propose_batch(
        &self,
        permit: &Permit,
        head: &PayoutBatch,
    ) -> Result<Arc<Approval>, UsersError> {
        let payload = ProposedBatch {
            app: head.app,
            environment: head.environment,
            batch: head.id,
        };
        let proposal = Proposal {
            kind: BATCH_PROPOSAL.to_owned(),
            payload: serde_json::to_value(payload).unwrap_or_default(),
            reason: head.name.clone(),
        };
        let gate = self.gate().await;
        let is_open = self.proposal_of_batch(head.account, head.id).is_some();
        if is_open || head.state != BatchState::Draft || permit.account != Some(head.account) {
            return Err(UsersError::Conflict);
        }
        let mut batch = Batch::new();
        require(&mut batch, head)?;
        self.propose_with(gate, permit, proposal, batch).await
    }

    /// Deletes a batch that was not confirmed, and withdraws its open proposal in the same commit:
    /// then only the person who made the proposal deletes the batch.
    pub async fn delete_batch(&self, permit: &Permit, id: BatchId) -> Result<(), UsersError> {
        let account = permit.account.ok_or_else(|| batch_not_found(id))?;
        let gate = self.gate().await;
        let permit = &self.renew(permit)?;
        let head = self.batch(account, id).await?;
        if head.state != BatchState::Draft {
            return Err(UsersError::NotPossible("a confirmed batch stays"));
        }
        let mut batch = Batch::new();
        delete(&mut batch, &head)?;
        let mut entry = permit.entry(id);
        entry.action = "delete_batch".to_owned();
        let mut entries = vec![entry];
        let open = self.proposal_of_batch(account, id);
        if let Some(open) = &open {
            entries.push(self.stage_withdrawal(&mut batch, permit, open, gate.now())?);
        }
        gate.commit(batch, entries, move |set| {
            if let Some(open) = open {
                set.approvals.remove(&open.id);
            }
        })
        .await
    }

    /// Notes that no payout is made of a line.
    pub async fn refuse_line(
        &self,
        id: BatchId,
        line: u32,
        why: RefusedLine,
    ) -> Result<(), UsersError> {
        self.change_batch(id, |head, _| {
            head.refused.insert(line, why);
        })
        .await
    }

    /// Notes that each line of a confirmed batch has a payout or a reason why it has none.
    pub async fn finish_batch(&self, id: BatchId) -> Result<(), UsersError> {
        self.change_batch(id, |head, now| {
            if let BatchState::Confirmed { by, at } = head.state {
                head.state = BatchState::Done {
                    by,
                    at,
                    done_at: now,
                };
            }
        })
        .await
    }

    /// Deletes old unconfirmed batches without an open proposal.
    pub(crate) async fn purge_batches(&self) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let now = gate.now();
        let mut batch = Batch::new();
        for head in self.open_batches().await? {
            let is_draft = head.state == BatchState::Draft;
            let is_proposed = || self.proposal_of_batch(head.account, head.id).is_some();
            if is_draft && now.since(head.uploaded_at) >= DRAFT_LIFETIME && !is_proposed() {
                delete(&mut batch, &head)?;
            }
        }
        gate.commit(batch, Vec::new(), |_| {}).await
    }

    async fn change_batch(
        &self,
        id: BatchId,
        change: impl FnOnce(&mut PayoutBatch, Timestamp),
    ) -> Result<(), UsersError> {
        let gate = self.gate().await;
        let head = self.batch_by_id(id).await?;
        let before = head.ok_or_else(|| batch_not_found(id))?;
        let mut after = before.clone();
        change(&mut after, gate.now());
        let mut batch = Batch::new();
        require(&mut batch, &before)?;
        rows::put(&mut batch, Kind::Batch, id, &after)?;
        if let BatchState::Done { done_at, .. } = after.state {
            rows::delete(&mut batch, Kind::OpenBatch, id);
            let key = Kind::EndedBatch.key(after.environment);
            let key = key.child(done_at).child(id);
            batch.put(Table::User, &key, rows::encode(&key, &id)?);
        }
        gate.commit(batch, Vec::new(), |_| {}).await
    }

    /// A batch of any account.
    pub async fn batch_by_id(&self, id: BatchId) -> Result<Option<PayoutBatch>, UsersError> {
        let key = Kind::Batch.key(id);
        let row = self.0.store.get(Table::User, &key).await?;
        row.map(|row| rows::decode(&key, &row)).transpose()
    }

    /// Batches of all accounts that are drafts or confirmed, not those that are done.
    async fn open_batches(&self) -> Result<Vec<PayoutBatch>, UsersError> {
        let ids: Vec<BatchId> = rows::all(&self.0.store, Kind::OpenBatch).await?;
        let mut found = Vec::new();
        for id in ids {
            found.extend(self.batch_by_id(id).await?);
        }
        Ok(found)
    }
}

/// Key above the ids of the batches of an app in an environment.
fn of_app(app: AppId, environment: Environment) -> Key {
    Kind::BatchOfApp.key(app).child(environment)
}

fn key_of_app(head: &PayoutBatch) -> Key {
    of_app(head.app, head.environment).child(head.id)
}

/// Adds the confirmation of a batch to `batch`, which conflicts if it is no draft any more.
fn confirmed(
    batch: &mut Batch,
    head: &PayoutBatch,
    permit: &Permit,
    now: Timestamp,
) -> Result<PayoutBatch, UsersError> {
    if head.state != BatchState::Draft {
        return Err(UsersError::Conflict);
    }
    let confirmed = PayoutBatch {
        state: BatchState::Confirmed {
            by: permit.user,
            at: now,
        },
        ..head.clone()
    };
    require(batch, head)?;
    rows::put(batch, Kind::Batch, head.id, &confirmed)?;
    Ok(confirmed)
}

/// Adds the deletion of a batch to `batch`.
pub(crate) fn delete(batch: &mut Batch, head: &PayoutBatch) -> Result<(), UsersError> {
    require(batch, head)?;
    rows::delete(batch, Kind::Batch, head.id);
    rows::delete(batch, Kind::BatchLines, head.id);
    rows::delete(batch, Kind::OpenBatch, head.id);
    batch.delete(Table::User, key_of_app(head));
    Ok(())
}

/// Makes `batch` conflict if the stored head is another one.
fn require(batch: &mut Batch, head: &PayoutBatch) -> Result<(), UsersError> {
    let key = Kind::Batch.key(head.id);
    let stored = rows::encode(&key, head)?;
    batch.require_value(Table::User, &key, stored);
    Ok(())
}

fn batch_not_found(id: impl ToString) -> UsersError {
    UsersError::not_found("batch", id)
}
