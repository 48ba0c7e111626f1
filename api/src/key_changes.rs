//! Changes of API keys by users, each in one commit with its entry of the audit log.
//!
//! The console and the account API use the same functions.

use std::time::Duration;

use serde_json::{Value, json};
use switchyard_engine::access::{Access, AccessError, KeyRequest, ListedKey, NewKey};
use switchyard_store::Batch;
use switchyard_system::trace::TraceContext;
use switchyard_users::{NewEntry, Permit, Users, UsersError};

/// Reason why a change of a key was not made.
pub enum NotChanged {
    Users(UsersError),
    Key(AccessError),
    /// Only a shutdown cancels it.
    Stopping,
}

/// Makes a key.
pub async fn create(
    access: &Access,
    users: &Users,
    permit: &Permit,
    request: KeyRequest,
) -> Result<NewKey, NotChanged> {
    let (id, access) = (access.new_key_id(), access.clone());
    let make = async move |also| access.create_key_with(id, request, also).await;
    audited(users, permit.entry(id), make).await
}

/// Makes a key like an old one, which stays valid for `grace`.
pub async fn roll(
    access: &Access,
    users: &Users,
    permit: &Permit,
    old: &ListedKey,
    grace: Duration,
) -> Result<NewKey, NotChanged> {
    let (old, new, access) = (old.key.id, access.new_key_id(), access.clone());
    let after = json!({ "rolled_to": new, "grace_s": grace.as_secs() });
    let entry = permit.entry(old).changing(Value::Null, after);
    let roll = async move |also| access.roll_key_with(old, new, grace, also).await;
    audited(users, entry, roll).await
}

/// Revokes a key. `shown_as`: the parts of it that a list shows.
pub async fn delete(
    access: &Access,
    users: &Users,
    permit: &Permit,
    old: &ListedKey,
    shown_as: &str,
) -> Result<(), NotChanged> {
    let (id, access) = (old.key.id, access.clone());
    let before = json!({ "key": shown_as });
    let entry = permit.entry(id).changing(before, Value::Null);
    let delete = async move |also| access.delete_key_with(id, also).await;
    audited(users, entry, delete).await
}

/// Makes a change that commits the rows which it gets, in a task of its own: the memory follows the
/// commit, also when the client hangs up.
async fn audited<T, F>(
    users: &Users,
    entry: NewEntry,
    change: impl FnOnce(Batch) -> F + Send + 'static,
) -> Result<T, NotChanged>
where
    T: Send + 'static,
    F: Future<Output = Result<T, AccessError>> + Send,
{
    let users = users.clone();
    let work = async move {
        let mut batch = Batch::new();
        let staged = users.stage_audit(&mut batch, entry).await;
        let staged = staged.map_err(NotChanged::Users)?;
        let made = change(batch).await.map_err(NotChanged::Key)?;
        staged.committed();
        Ok(made)
    };
    let done = tokio::spawn(TraceContext::current().scope(work)).await;
    done.unwrap_or_else(|why| match why.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(NotChanged::Stopping),
    })
}
