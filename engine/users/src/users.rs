//! Handle of users, sessions, links, tokens, approvals and the audit log.

use std::collections::HashSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use switchyard_core::ids::{SessionId, UserId};
use switchyard_core::limits::SANDBOX_RETENTION;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_store::{Batch, CommitError, Key, Store, StoreError};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use tokio::sync::{OwnedMutexGuard, watch};

use crate::approval::Approval;
use crate::audit::{ChainHead, NewEntry};
use crate::error::UsersError;
use crate::link::Link;
use crate::password::{PasswordCost, PasswordHasher};
use crate::payout_batch::BatchId;
use crate::pending::Pending;
use crate::refusal_log::RefusalLog;
use crate::rows::{self, Kind};
use crate::session::Session;
use crate::set::Set;
use crate::throttle::Throttle;
use crate::token::UserToken;
use crate::user::User;

/// Encrypts the secrets of second factors, under a key that is not in the store.
pub trait Sealer: Send + Sync {
    /// Encrypts `plain` for this user. `None`: it failed.
    fn seal(&self, user: UserId, plain: &[u8]) -> Option<String>;

    /// Decrypts what was sealed for the same user. `None`: it is damaged, or of another user.
    fn open(&self, user: UserId, sealed: &str) -> Option<Secret<Vec<u8>>>;
}

/// Settings of users.
#[derive(Clone, Debug)]
pub struct Options {
    /// Prefix of API tokens: 1 to 20 lower-case letters and digits.
    pub service_code: String,
    /// Name of the installation in authenticator apps.
    pub issuer: String,
    pub password_cost: PasswordCost,
    pub second_factor: SecondFactor,
    /// Whether a second factor of the OpenID Connect provider counts.
    pub provider_second_factor: bool,
    /// Whether users who have signed in by the provider may use their password as well.
    pub password_beside_provider: bool,
    /// Time after its end at which a sandbox batch of payouts is deleted: that of its payouts.
    pub sandbox_retention: Duration,
}

/// Users who need a second factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondFactor {
    /// Users with a role that requires it.
    ByRole,
    All,
    /// No user, in development mode. Users who have set one up still need it.
    Optional,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service_code: "switchyard".to_owned(),
            issuer: "Switchyard".to_owned(),
            password_cost: PasswordCost::default(),
            second_factor: SecondFactor::ByRole,
            provider_second_factor: false,
            password_beside_provider: true,
            sandbox_retention: SANDBOX_RETENTION,
        }
    }
}

/// Handle of the users. Clones share it.
#[derive(Clone)]
pub struct Users(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub store: Store,
    pub clock: Clock,
    pub ids: Ids,
    pub options: Options,
    pub sealer: Arc<dyn Sealer>,
    pub hasher: PasswordHasher,
    pub sign_ins: Throttle,
    pub resets: Throttle,
    pub refusals: RefusalLog,
    /// Batches on which this process works.
    pub batch_runs: Arc<Mutex<HashSet<BatchId>>>,
    /// Locks of payment links with a limited number of uses, each of many links.
    pub link_locks: [tokio::sync::Mutex<()>; LINK_LOCKS],
    /// Number of writes in the background that have not ended.
    background: watch::Sender<usize>,
    /// Sign-ins that wait for a second factor, and set-ups of one.
    pub pending: Mutex<Pending>,
    set: RwLock<Set>,
    /// Held from reading what a change depends on until it is made: changes happen one at a time.
    gate: Arc<tokio::sync::Mutex<Head>>,
}

/// Number of locks: payers of different links seldom wait for each other.
const LINK_LOCKS: usize = 64;

/// Head of the audit chain. `None`: a commit failed, or its result is not known, and the head is
/// read from the store before the next one.
type Head = Option<ChainHead>;

impl Users {
    /// Loads everything but the audit log from the store.
    ///
    /// When the last entry of the audit log is unreadable, an entry marks the break. When the store
    /// cannot write one, each later change is refused, and payments go on.
    ///
    /// # Errors
    /// When another row cannot be read, or belongs to a user who does not exist.
    pub async fn load(
        store: Store,
        sealer: Arc<dyn Sealer>,
        clock: Clock,
        ids: Ids,
        options: Options,
    ) -> Result<Self, UsersError> {
        let set = load_set(&store).await?;
        let head = intact_head(&store).await?;
        let users = Self(Arc::new(Inner {
            hasher: PasswordHasher::new(options.password_cost, ids.clone()),
            store,
            clock,
            ids,
            options,
            sealer,
            sign_ins: Throttle::default(),
            resets: Throttle::default(),
            refusals: RefusalLog::default(),
            batch_runs: Arc::default(),
            link_locks: std::array::from_fn(|_| tokio::sync::Mutex::default()),
            background: watch::Sender::default(),
            pending: Mutex::default(),
            set: RwLock::new(set),
            gate: Arc::new(tokio::sync::Mutex::new(head)),
        }));
        if head.is_none() {
            // The head is read again, with the entry that marks the break.
            let marked = users.commit_audited(Batch::new(), Vec::new()).await;
            if let Err(error) = marked {
                tracing::error!(%error, "failed to mark the break of the audit log");
            }
        }
        Ok(users)
    }

    /// User with this id.
    pub fn user(&self, id: UserId) -> Option<Arc<User>> {
        self.set().users.get(&id).cloned()
    }

    pub fn user_by_email(&self, email: &str) -> Option<Arc<User>> {
        self.set().user_by_email(email).cloned()
    }

    /// All users, oldest first.
    pub fn all_users(&self) -> Vec<Arc<User>> {
        self.set().users.values().cloned().collect()
    }

    pub(crate) fn set(&self) -> RwLockReadGuard<'_, Set> {
        self.0.set.read()
    }

    pub(crate) async fn gate(&self) -> WriteGuard {
        WriteGuard {
            users: self.clone(),
            head: self.0.gate.clone().lock_owned().await,
        }
    }

    /// Runs a write that no caller waits for.
    pub(crate) fn write_in_background(
        &self,
        what: &'static str,
        write: impl Future<Output = Result<(), UsersError>> + Send + 'static,
    ) {
        // Without a runtime, as in a test of one function, it is not written.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let counted = Counted::begin(self);
        runtime.spawn(async move {
            let _counted = counted;
            if let Err(error) = write.await {
                tracing::warn!(what, %error, "failed to write in the background");
            }
        });
    }

    /// Waits until the writes in the background have ended, such as entries about refusals. A
    /// shutdown calls it before the store closes.
    pub async fn background_writes_ended(&self) {
        let mut running = self.0.background.subscribe();
        // Its sender lives as long as `self`.
        let _ = running.wait_for(|count| *count == 0).await;
    }

    /// Commits the caller's batch together with entries of the audit log: both are durable, or
    /// neither is.
    pub async fn commit_audited(
        &self,
        batch: Batch,
        entries: Vec<NewEntry>,
    ) -> Result<(), UsersError> {
        self.gate().await.commit(batch, entries, |_| {}).await
    }

    /// Adds an entry of the audit log to a batch that the caller commits itself. Until the returned
    /// value is dropped no other change of users, and no other entry, is written: commit at once.
    pub async fn stage_audit(
        &self,
        batch: &mut Batch,
        entry: NewEntry,
    ) -> Result<Staged, UsersError> {
        self.gate().await.stage(batch, vec![entry], |_| {}).await
    }
}

/// One of the writes in the background, until it is dropped.
struct Counted(Users);

impl Counted {
    fn begin(users: &Users) -> Self {
        users.0.background.send_modify(|count| *count += 1);
        Self(users.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.background.send_modify(|count| *count -= 1);
    }
}

/// Head of the audit chain. `None`: its last entry is unreadable.
async fn intact_head(store: &Store) -> Result<Head, UsersError> {
    match ChainHead::load(store).await {
        Ok((head, None)) => Ok(Some(head)),
        Ok((head, Some(_))) => {
            tracing::error!(audit.entry = head.number, "audit log is broken");
            Ok(None)
        }
        Err(error @ StoreError::Damaged { .. }) => {
            tracing::error!(%error, "audit log is broken");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

async fn load_set(store: &Store) -> Result<Set, UsersError> {
    let mut set = Set::default();
    for user in rows::all::<User>(store, Kind::User).await? {
        set.put_user(Arc::new(user));
    }
    let owned = |set: &Set, key: Key, owner: UserId| match set.users.contains_key(&owner) {
        true => Ok(()),
        false => Err(UsersError::Orphan {
            key: key.to_string(),
            owner: owner.to_string(),
        }),
    };
    for session in rows::all::<Session>(store, Kind::Session).await? {
        owned(&set, Kind::Session.key(session.id), session.user)?;
        set.put_session(Arc::new(session));
    }
    for link in rows::all::<Link>(store, Kind::Link).await? {
        owned(&set, Kind::Link.key(link.id), link.user)?;
        set.links.insert(link.id, Arc::new(link));
    }
    for token in rows::all::<UserToken>(store, Kind::Token).await? {
        owned(&set, Kind::Token.key(token.id), token.user)?;
        set.put_token(Arc::new(token));
    }
    for approval in rows::all::<Approval>(store, Kind::Approval).await? {
        set.approvals.insert(approval.id, Arc::new(approval));
    }
    Ok(set)
}

/// Exclusive right to change the data. Values that were read through it stay valid while it is
/// held.
pub(crate) struct WriteGuard {
    users: Users,
    head: OwnedMutexGuard<Head>,
}

impl WriteGuard {
    pub fn users(&self) -> &Users {
        &self.users
    }

    pub fn now(&self) -> Timestamp {
        self.users.0.clock.now()
    }

    /// Commits `batch` with the entries, then makes the same change in memory. Runs in a task of
    /// its own: a caller that disconnects cannot leave the store and the memory apart.
    pub async fn commit(
        self,
        mut batch: Batch,
        entries: Vec<NewEntry>,
        change: impl FnOnce(&mut Set) + Send + 'static,
    ) -> Result<(), UsersError> {
        let task = tokio::spawn(async move {
            let store = self.users.0.store.clone();
            let staged = self.stage(&mut batch, entries, change).await?;
            store.commit(batch).await.map_err(|why| match why {
                CommitError::Conflict => UsersError::Conflict,
                why => UsersError::Write(why),
            })?;
            staged.committed();
            Ok(())
        });
        task.await.unwrap_or_else(|why| match why.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a shutdown of the runtime cancels it.
            Err(_) => Err(UsersError::Conflict),
        })
    }

    /// Adds the entries to `batch`, which the caller commits.
    pub async fn stage(
        mut self,
        batch: &mut Batch,
        entries: Vec<NewEntry>,
        change: impl FnOnce(&mut Set) + Send + 'static,
    ) -> Result<Staged, UsersError> {
        let (mut next, mark) = match *self.head {
            Some(head) => (head, None),
            None => ChainHead::load(&self.users.0.store).await?,
        };
        let now = self.now();
        for entry in mark.into_iter().chain(entries) {
            next = next.append(batch, entry, now)?;
        }
        *self.head = None;
        Ok(Staged {
            guard: self,
            next,
            change: Box::new(change),
        })
    }
}

/// Rows that were added to a batch of the caller and take effect with its commit.
///
/// Call [`Self::committed`] after the commit succeeded. Drop it otherwise, and also when the result
/// of the commit is unknown.
#[must_use = "the change takes effect in memory when the commit is confirmed"]
pub struct Staged {
    guard: WriteGuard,
    next: ChainHead,
    change: Box<dyn FnOnce(&mut Set) + Send>,
}

impl Staged {
    /// Makes the change in memory: the batch was committed.
    pub fn committed(mut self) {
        (self.change)(&mut self.guard.users.0.set.write());
        *self.guard.head = Some(self.next);
    }
}

/// Adds the end of all sessions of a user to a batch, except for one. Returns them.
pub(crate) fn end_sessions(
    set: &Set,
    batch: &mut Batch,
    user: UserId,
    except: Option<SessionId>,
) -> Vec<SessionId> {
    let sessions = set.sessions_of(user).map(|live| live.session.id);
    let ended: Vec<_> = sessions.filter(|id| Some(*id) != except).collect();
    for id in &ended {
        rows::delete(batch, Kind::Session, id);
    }
    ended
}
