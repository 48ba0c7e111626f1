//! Proposal, approval and rejection by a second person.

use std::sync::Arc;

use serde_json::Value;
use switchyard_core::ids::{AccountId, ApprovalId};
use switchyard_core::limits::{APPROVAL_LIFETIME, APPROVAL_PAYLOAD_BYTES, OPEN_APPROVALS};
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, Direction, Table};

use crate::approval::{Approval, ApprovalState};
use crate::audit::NewEntry;
use crate::authorize::Permit;
use crate::error::UsersError;
use crate::refusal::Refusal;
use crate::role::{Role, allows, approving_action, proposing_action};
use crate::rows::{self, Kind};
use crate::user::checked_name;
use crate::users::{Staged, Users, WriteGuard};

/// Proposal of a change that needs a second person.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Kind of the payload, such as `payout`.
    pub kind: String,
    pub payload: Value,
    pub reason: String,
}

impl Users {
    /// Stores a proposal of the permit's user, open for 72 hours. The action of the permit, such as
    /// [`crate::Action::CreatePayout`], decides who approves it, see [`approving_action`].
    pub async fn propose(
        &self,
        permit: &Permit,
        proposal: Proposal,
    ) -> Result<Arc<Approval>, UsersError> {
        let gate = self.gate().await;
        self.propose_with(gate, permit, proposal, Batch::new())
            .await
    }

    /// The same. `batch`: rows and conditions of the caller that are committed with it.
    pub(crate) async fn propose_with(
        &self,
        gate: WriteGuard,
        permit: &Permit,
        proposal: Proposal,
        mut batch: Batch,
    ) -> Result<Arc<Approval>, UsersError> {
        let approving = approving_action(permit.action).ok_or(UsersError::NotPossible(
            "no second person approves this action",
        ))?;
        if proposal.payload.to_string().len() > APPROVAL_PAYLOAD_BYTES {
            let problem = format!("has more than {APPROVAL_PAYLOAD_BYTES} bytes");
            return Err(UsersError::invalid("payload", problem));
        }
        let kind = checked_name("kind", &proposal.kind)?;
        let reason = checked_reason(&proposal.reason)?;
        let permit = &self.renew(permit)?;
        let now = gate.now();
        if self.open_approvals(permit.account).len() >= OPEN_APPROVALS {
            let problem = format!("are at most {OPEN_APPROVALS}: decide some first");
            return Err(UsersError::invalid("open approvals", problem));
        }
        let approval = Arc::new(Approval {
            id: ApprovalId::new(self.0.ids.ulid(now)),
            account: permit.account,
            kind,
            payload: proposal.payload,
            reason,
            approving,
            proposed_by: permit.user,
            proposed_at: now,
            expires_at: now.plus(APPROVAL_LIFETIME),
            state: ApprovalState::Open,
        });
        rows::put(&mut batch, Kind::Approval, approval.id, &*approval)?;
        let after = serde_json::json!({ "kind": approval.kind, "reason": approval.reason });
        let mut entry = permit.entry(approval.id).changing(Value::Null, after);
        entry.action = "propose".to_owned();
        let stored = approval.clone();
        gate.commit(batch, vec![entry], move |set| {
            set.approvals.insert(stored.id, stored);
        })
        .await?;
        Ok(approval)
    }

    /// Open proposals of an account, or of the installation, oldest first.
    pub fn open_approvals(&self, account: Option<AccountId>) -> Vec<Arc<Approval>> {
        let now = self.0.clock.now();
        let set = self.set();
        let all = set.approvals.values();
        let open = all.filter(|it| it.account == account && !it.is_expired(now));
        open.cloned().collect()
    }

    /// A proposal of an account or of the installation, open or decided.
    pub async fn approval(
        &self,
        account: Option<AccountId>,
        id: ApprovalId,
    ) -> Result<Approval, UsersError> {
        let not_found = || UsersError::not_found("approval", id);
        let open = self.set().approvals.get(&id).cloned();
        let found = match open {
            Some(open) if open.is_expired(self.0.clock.now()) => open.expired(),
            Some(open) => Approval::clone(&open),
            None => {
                let key = Kind::Decided.key(id);
                let row = self.0.store.get(Table::User, &key).await?;
                rows::decode(&key, &row.ok_or_else(not_found)?)?
            }
        };
        match found.account == account {
            true => Ok(found),
            false => Err(not_found()),
        }
    }

    /// Decided proposals of an account or of the installation, newest first, from the one
    /// before `after` on. Reads at most `limit` rows; the second value is the last row that was
    /// read, for the next page.
    pub async fn decided_approvals(
        &self,
        account: Option<AccountId>,
        after: Option<ApprovalId>,
        limit: usize,
    ) -> Result<(Vec<Approval>, Option<ApprovalId>), UsersError> {
        let mut range = Kind::Decided.range();
        if let Some(after) = after {
            range = range.ending_at(Kind::Decided.key(after));
        }
        let (store, from, to) = (&self.0.store, range.from(), range.to());
        let rows = store.scan(Table::User, from, to, Direction::Backward, limit);
        let rows = rows.await?;
        let is_last = rows.len() < limit;
        let found = rows.iter().map(|(key, value)| rows::decode(key, value));
        let mut found: Vec<Approval> = found.collect::<Result<_, _>>()?;
        let next = found.last().filter(|_| !is_last).map(|last| last.id);
        found.retain(|approval| approval.account == account);
        Ok((found, next))
    }

    /// Approves a proposal, and commits `batch` with it: the proposed change is made exactly once.
    /// `permit` is for the approving action. Refused when the proposer could not make the proposal
    /// now: a disabled or removed user has no effect any more.
    pub async fn approve(
        &self,
        permit: &Permit,
        id: ApprovalId,
        mut batch: Batch,
    ) -> Result<Approval, UsersError> {
        let gate = self.gate().await;
        let (open, decided) = self.approved(&gate, permit, id)?;
        decide(&mut batch, &open, &decided)?;
        let entry = permit.entry(id);
        gate.commit(batch, vec![entry], move |set| {
            set.approvals.remove(&id);
        })
        .await?;
        Ok(decided)
    }

    /// Adds the approval of a proposal to a batch that the caller commits with what was proposed.
    /// The batch conflicts if the proposal was decided before. See [`Staged`].
    pub async fn stage_approval(
        &self,
        permit: &Permit,
        id: ApprovalId,
        batch: &mut Batch,
    ) -> Result<(Approval, Staged), UsersError> {
        self.stage_approval_with(permit, id, batch, Vec::new())
            .await
    }

    /// The same. `also`: further entries of the audit log, about the objects of the change.
    pub async fn stage_approval_with(
        &self,
        permit: &Permit,
        id: ApprovalId,
        batch: &mut Batch,
        also: Vec<NewEntry>,
    ) -> Result<(Approval, Staged), UsersError> {
        let gate = self.gate().await;
        let (open, decided) = self.approved(&gate, permit, id)?;
        decide(batch, &open, &decided)?;
        let mut entries = vec![permit.entry(id)];
        entries.extend(also);
        let staged = gate.stage(batch, entries, move |set| {
            set.approvals.remove(&id);
        });
        Ok((decided, staged.await?))
    }

    /// Rejects a proposal. `permit` is for the approving action.
    pub async fn reject(
        &self,
        permit: &Permit,
        id: ApprovalId,
        reason: &str,
    ) -> Result<Approval, UsersError> {
        let reason = checked_reason(reason)?;
        let gate = self.gate().await;
        let open = self.decidable(&gate, permit, id)?;
        let state = ApprovalState::Rejected {
            by: permit.user,
            at: gate.now(),
            reason,
        };
        self.close(gate, permit, &open, state, "reject").await
    }

    /// Takes back a proposal of the permit's user, who is in a session: a token does not decide.
    pub async fn withdraw(&self, permit: &Permit, id: ApprovalId) -> Result<Approval, UsersError> {
        let gate = self.gate().await;
        let permit = &self.renew(permit)?;
        let open = self.open_approval(permit.account, id, gate.now())?;
        let state = self.withdrawn(permit, &open, gate.now())?;
        self.close(gate, permit, &open, state, WITHDRAW).await
    }

    /// Adds the withdrawal of a proposal to a batch of the caller, who removes it from the memory
    /// after the commit. Returns the entry of the audit log.
    pub(crate) fn stage_withdrawal(
        &self,
        batch: &mut Batch,
        permit: &Permit,
        open: &Approval,
        now: Timestamp,
    ) -> Result<NewEntry, UsersError> {
        let state = self.withdrawn(permit, open, now)?;
        decide(batch, open, &open.with_state(state))?;
        Ok(entry(permit, open.id, WITHDRAW))
    }

    /// State after the withdrawal. Only the person who made a proposal takes it back.
    fn withdrawn(
        &self,
        permit: &Permit,
        open: &Approval,
        now: Timestamp,
    ) -> Result<ApprovalState, UsersError> {
        if permit.session().is_none() {
            return Err(self.refuse(permit, Refusal::NeedsPerson));
        }
        match open.proposed_by == permit.user {
            true => Ok(ApprovalState::Withdrawn { at: now }),
            false => Err(UsersError::NotPossible(
                "only the person who made a proposal withdraws it",
            )),
        }
    }

    /// Roles that may approve or reject a proposal, for its page.
    pub fn approving_roles(approval: &Approval) -> Vec<Role> {
        crate::role::allowed_roles(approval.approving)
    }

    async fn close(
        &self,
        gate: WriteGuard,
        permit: &Permit,
        open: &Approval,
        state: ApprovalState,
        action: &str,
    ) -> Result<Approval, UsersError> {
        let decided = open.with_state(state);
        let mut batch = Batch::new();
        decide(&mut batch, open, &decided)?;
        let id = open.id;
        let entry = entry(permit, id, action);
        gate.commit(batch, vec![entry], move |set| {
            set.approvals.remove(&id);
        })
        .await?;
        Ok(decided)
    }

    fn approved(
        &self,
        gate: &WriteGuard,
        permit: &Permit,
        id: ApprovalId,
    ) -> Result<(Arc<Approval>, Approval), UsersError> {
        let open = self.decidable(gate, permit, id)?;
        if !self.may_still_propose(&open) {
            return Err(UsersError::NotPossible(
                "the user who made this proposal may not make it any more: reject it",
            ));
        }
        let state = ApprovalState::Executed {
            by: permit.user,
            at: gate.now(),
        };
        let decided = open.with_state(state);
        Ok((open, decided))
    }

    /// Whether the proposer is active, with a role that allows the proposed action.
    fn may_still_propose(&self, open: &Approval) -> bool {
        let proposer = self.user(open.proposed_by).filter(|user| user.is_active());
        let role = proposer.and_then(|user| user.role_in(open.account));
        let proposing = proposing_action(open.approving);
        role.zip(proposing)
            .is_some_and(|(role, proposing)| allows(role, proposing))
    }

    /// An open proposal that the permit's user may decide.
    fn decidable(
        &self,
        gate: &WriteGuard,
        permit: &Permit,
        id: ApprovalId,
    ) -> Result<Arc<Approval>, UsersError> {
        let permit = &self.renew(permit)?;
        let open = self.open_approval(permit.account, id, gate.now())?;
        if permit.action != open.approving {
            return Err(UsersError::NotPossible("this permit is for another action"));
        }
        if permit.user == open.proposed_by {
            self.note_refused(permit, id);
            return Err(UsersError::NotPossible(
                "a second person decides: you made this proposal",
            ));
        }
        Ok(open)
    }

    fn open_approval(
        &self,
        account: Option<AccountId>,
        id: ApprovalId,
        now: Timestamp,
    ) -> Result<Arc<Approval>, UsersError> {
        let found = self.set().approvals.get(&id).cloned();
        let found = found.filter(|it| it.account == account && !it.is_expired(now));
        found.ok_or_else(|| UsersError::not_found("open approval", id))
    }
}

/// Entry of the audit log about a decision with a name of its own.
fn entry(permit: &Permit, id: ApprovalId, action: &str) -> NewEntry {
    let mut entry = permit.entry(id);
    entry.action = action.to_owned();
    entry
}

/// Moves a proposal from the open to the decided ones. The batch conflicts if it is not open.
fn decide(batch: &mut Batch, open: &Approval, decided: &Approval) -> Result<(), UsersError> {
    let key = Kind::Approval.key(open.id);
    let stored = rows::encode(&key, open)?;
    batch.require_value(Table::User, &key, stored);
    rows::delete(batch, Kind::Approval, open.id);
    rows::put(batch, Kind::Decided, decided.id, decided)
}

/// Checks a reason: 1 to 1,000 characters, line breaks allowed.
fn checked_reason(reason: &str) -> Result<String, UsersError> {
    let reason = reason.trim();
    let characters = reason.chars().count();
    let is_text = |c: char| !c.is_control() || c == '\n';
    if characters == 0 || characters > REASON_CHARACTERS || !reason.chars().all(is_text) {
        let problem = format!("is a text of 1 to {REASON_CHARACTERS} characters");
        return Err(UsersError::invalid("reason", problem));
    }
    Ok(reason.to_owned())
}

const REASON_CHARACTERS: usize = 1_000;
/// Name of a withdrawal in the audit log.
const WITHDRAW: &str = "withdraw";
