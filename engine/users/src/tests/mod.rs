//! Users as a whole, on a memory store and on a real one.

mod approvals;
mod audit;
mod batches;
mod crash;
mod links;
mod openid;
mod payment_links;
mod properties;
mod second_factor;
mod sessions;
mod sign_in;
mod team;
mod tokens;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use switchyard_core::ids::{AccountId, UserId};
use switchyard_core::language::Language;
use switchyard_core::secret::Secret;
use switchyard_core::time::Timestamp;
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

use crate::*;

const PASSWORD: &str = "correct horse battery";
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const ACME: u128 = 1;
const GLOBEX: u128 = 2;

/// Sealer of tests: the name of the user before the bytes in hexadecimal.
struct PlainSealer;

impl Sealer for PlainSealer {
    fn seal(&self, user: UserId, plain: &[u8]) -> Option<String> {
        Some(format!("{user}:{}", base16ct::lower::encode_string(plain)))
    }

    fn open(&self, user: UserId, sealed: &str) -> Option<Secret<Vec<u8>>> {
        let hex = sealed.strip_prefix(&format!("{user}:"))?;
        let mut bytes = vec![0; hex.len() / 2];
        base16ct::lower::decode(hex, &mut bytes).ok()?;
        Some(Secret::new(bytes))
    }
}

struct World {
    users: Users,
    clock: Clock,
    ids: Ids,
    store: Store,
}

fn account(number: u128) -> AccountId {
    AccountId::new(number.into())
}

fn options(second_factor: SecondFactor) -> Options {
    Options {
        password_cost: PasswordCost::MINIMUM,
        second_factor,
        ..Options::default()
    }
}

fn origin() -> &'static Origin {
    from(1)
}

/// Origin with an address of its own.
fn from(last: u8) -> &'static Origin {
    Box::leak(Box::new(Origin {
        channel: Channel::Console,
        address: Some(IpAddr::from([192, 0, 2, last])),
        user_agent: "Firefox".to_owned(),
    }))
}

fn person(email: &str, role: Role) -> NewInvitation {
    NewInvitation {
        email: email.to_owned(),
        name: "Ada".to_owned(),
        language: Language::En,
        role,
    }
}

async fn load(store: &Store, clock: &Clock, ids: &Ids, second_factor: SecondFactor) -> Users {
    let (store, clock, ids) = (store.clone(), clock.clone(), ids.clone());
    let loaded = Users::load(
        store,
        Arc::new(PlainSealer),
        clock,
        ids,
        options(second_factor),
    );
    loaded.await.unwrap()
}

impl World {
    /// An installation in which no role requires a second factor.
    async fn new() -> Self {
        Self::on(Store::memory(), SecondFactor::Optional).await
    }

    async fn with_second_factor() -> Self {
        Self::on(Store::memory(), SecondFactor::ByRole).await
    }

    async fn on(store: Store, second_factor: SecondFactor) -> Self {
        let ids = Ids::seeded(7);
        let clock = Clock::manual(Timestamp::from_seconds(1_800_000_000));
        Self {
            users: load(&store, &clock, &ids, second_factor).await,
            clock,
            ids,
            store,
        }
    }

    /// The same store, loaded by another process.
    async fn restarted(&self, second_factor: SecondFactor) -> Users {
        load(&self.store, &self.clock, &self.ids, second_factor).await
    }

    async fn accept(&self, link: NewLink) -> UserId {
        if link.user.is_active() {
            let who = self.signed_in(&link.user.email).await;
            let token = link.token.expose();
            let accepted = self.users.accept_invitation_as(&who, token).await;
            return accepted.unwrap().id;
        }
        let acceptance = Acceptance {
            password: Some(Secret::from(PASSWORD)),
            ..Acceptance::default()
        };
        let token = link.token.expose();
        let accepted = self.users.accept_invitation(token, acceptance, origin());
        accepted.await.unwrap().id
    }

    /// The first owner of an account.
    async fn owner(&self, email: &str, number: u128) -> UserId {
        let new = person(email, Role::Owner);
        let account = Some(account(number));
        let link = self.users.invite_first(account, new, origin());
        self.accept(link.await.unwrap()).await
    }

    async fn operator(&self, email: &str) -> UserId {
        let new = person(email, Role::Operator);
        let link = self.users.invite_first(None, new, origin());
        self.accept(link.await.unwrap()).await
    }

    /// A member whom the owner with this e-mail address invites.
    async fn member(&self, by: &str, number: u128, email: &str, role: Role) -> UserId {
        let who = self.signed_in(by).await;
        let permit = self.permit(&who, Action::ManageTeam, Some(number));
        let link = self.users.invite(&permit, person(email, role));
        self.accept(link.await.unwrap()).await
    }

    async fn sign_in(&self, email: &str, password: &str) -> SignIn {
        let signed_in = self.users.sign_in(email, Secret::from(password), origin());
        signed_in.await.unwrap()
    }

    /// Token of a new session.
    async fn session(&self, email: &str) -> Secret<String> {
        match self.sign_in(email, PASSWORD).await {
            SignIn::SignedIn(new) => new.token,
            other => panic!("{other:?}"),
        }
    }

    async fn signed_in(&self, email: &str) -> Identity {
        let token = self.session(email).await;
        self.identity(&token).unwrap()
    }

    fn identity(&self, token: &Secret<String>) -> Result<Identity, Refusal> {
        self.users.authenticate_session(token.expose(), origin())
    }

    fn permit(&self, who: &Identity, action: Action, number: Option<u128>) -> Permit {
        self.users
            .authorize(who, action, number.map(account))
            .unwrap()
    }

    /// Actions of the audit log, oldest first.
    async fn actions(&self) -> Vec<String> {
        let query = AuditQuery {
            limit: 200,
            ..AuditQuery::default()
        };
        let page = self.users.audit(&query).await.unwrap();
        let actions = page.entries.into_iter().rev();
        actions.map(|entry| entry.action).collect()
    }
}

/// Code of an authenticator with the secret of a set-up.
fn code(setup: &TotpSetup, clock: &Clock) -> String {
    code_at(setup, clock.now())
}

fn code_at(setup: &TotpSetup, at: Timestamp) -> String {
    let secret = decoded_base32(setup.secret.expose());
    let period = u64::try_from(at.as_seconds()).unwrap() / 30;
    crate::totp::code_of(&secret, period)
}

fn decoded_base32(text: &str) -> Vec<u8> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            other => other - b'2' + 26,
        };
        bits = bits << 5 | u32::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 255).unwrap());
        }
    }
    bytes
}
