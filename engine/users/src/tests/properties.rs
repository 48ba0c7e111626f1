//! No sequence of operations lets a disabled user, an ended session or an expired link through, or
//! leaves a token with an action that the role of its user does not allow.

use proptest::prelude::*;
use switchyard_core::ids::SessionId;

use super::*;

/// Operation on one of two users.
#[derive(Clone, Copy, Debug)]
enum Step {
    SignIn(usize),
    SignOut(usize),
    EndOthers(usize),
    Disable(usize),
    Enable(usize),
    RequestReset(usize),
    Reset(usize),
    ChangeRole(usize, Role),
    CreateToken(usize),
    Wait(u64),
    Purge,
    Restart,
}

const EMAILS: [&str; 2] = ["ada@example.com", "bob@example.com"];

/// Times of a session's sign-in and last use; `None`: it was ended.
type Times = Option<(Timestamp, Timestamp)>;

/// Expected state of one user.
#[derive(Default)]
struct Expected {
    is_disabled: bool,
    sessions: Vec<(Secret<String>, Times)>,
    /// Tokens of resets with the time of their end; `None`: used or replaced.
    resets: Vec<(Secret<String>, Option<Timestamp>)>,
}

impl Expected {
    fn end_sessions(&mut self) {
        self.sessions.iter_mut().for_each(|it| it.1 = None);
    }

    fn end_resets(&mut self) {
        self.resets.iter_mut().for_each(|it| it.1 = None);
    }
}

struct Run {
    world: World,
    ids: [UserId; 2],
    root: UserId,
    expected: [Expected; 2],
}

impl Run {
    async fn new() -> Self {
        let world = World::new().await;
        let root = world.operator("root@example.com").await;
        let ada = world.owner(EMAILS[0], ACME).await;
        let bob = world.member(EMAILS[0], ACME, EMAILS[1], Role::Viewer).await;
        let who = world.signed_in("root@example.com").await;
        let permit = world.permit(&who, Action::ManageInstallationUsers, None);
        world.users.end_sessions_of(&permit, ada).await.unwrap();
        Self {
            world,
            ids: [ada, bob],
            root,
            expected: Default::default(),
        }
    }

    async fn operator(&self, action: Action, number: Option<u128>) -> Permit {
        // Other failures must not delay the operator.
        self.world.clock.advance(15 * MINUTE);
        let password = Secret::from(PASSWORD);
        let signed_in = self
            .world
            .users
            .sign_in("root@example.com", password, from(99));
        let SignIn::SignedIn(new) = signed_in.await.unwrap() else {
            panic!("the operator signs in");
        };
        let who = self.world.identity(&new.token).unwrap();
        assert_eq!(who.user.id, self.root);
        self.world.permit(&who, action, number)
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::SignIn(user) => self.sign_in(user).await,
            Step::SignOut(user) => {
                if let Some((at, who)) = self.live_session(user) {
                    self.world.users.sign_out(&who).await.unwrap();
                    self.expected[user].sessions[at].1 = None;
                }
            }
            Step::EndOthers(user) => {
                if let Some((at, who)) = self.live_session(user) {
                    self.world.users.end_other_sessions(&who).await.unwrap();
                    let kept = self.expected[user].sessions[at].1;
                    self.expected[user].end_sessions();
                    self.expected[user].sessions[at].1 = kept;
                }
            }
            Step::Disable(user) => {
                let permit = self.operator(Action::ManageInstallationUsers, None).await;
                let disabled = self.world.users.disable(&permit, self.ids[user]);
                disabled.await.unwrap();
                self.expected[user].is_disabled = true;
                self.expected[user].end_sessions();
                self.expected[user].end_resets();
            }
            Step::Enable(user) => {
                let permit = self.operator(Action::ManageInstallationUsers, None).await;
                let enabled = self.world.users.enable(&permit, self.ids[user]);
                enabled.await.unwrap();
                // A user who was not disabled is left as before.
                self.expected[user].is_disabled = false;
            }
            Step::RequestReset(user) => self.request_reset(user).await,
            Step::Reset(user) => self.reset(user).await,
            Step::ChangeRole(user, role) => {
                let permit = self.operator(Action::ManageTeam, Some(ACME)).await;
                let id = self.ids[user];
                let before = self.world.users.user(id).unwrap();
                let before = before.role_in(Some(account(ACME))).unwrap();
                let changed = self.world.users.change_role(&permit, id, role).await;
                if changed.is_ok() && before != role {
                    self.expected[user].end_sessions();
                    self.expected[user].end_resets();
                }
            }
            Step::CreateToken(user) => self.create_token(user).await,
            Step::Wait(minutes) => {
                let by = u32::try_from(minutes).unwrap() * MINUTE;
                self.world.clock.advance(by);
            }
            Step::Purge => self.world.users.purge_expired().await.unwrap(),
            Step::Restart => {
                self.world.users = self.world.restarted(SecondFactor::Optional).await;
            }
        }
    }

    async fn sign_in(&mut self, user: usize) {
        let now = self.world.clock.now();
        match self.world.sign_in(EMAILS[user], PASSWORD).await {
            SignIn::SignedIn(new) => {
                assert!(
                    !self.expected[user].is_disabled,
                    "a disabled user signed in"
                );
                self.expected[user]
                    .sessions
                    .push((new.token, Some((now, now))));
            }
            SignIn::Refused => assert!(self.expected[user].is_disabled),
            SignIn::TooMany { .. } => {}
            other => panic!("{other:?}"),
        }
    }

    /// Creates a token of all actions that the role allows, if the session is recent.
    async fn create_token(&mut self, user: usize) {
        let Some((_, who)) = self.live_session(user) else {
            return;
        };
        let role = who.user.role_in(Some(account(ACME))).unwrap();
        let actions = Action::ALL.iter().copied();
        let actions = actions.filter(|action| allows(role, *action) && !action.needs_person());
        let request = TokenRequest {
            name: "Export".to_owned(),
            account: Some(account(ACME)),
            actions: actions.collect(),
            expires_at: self.world.clock.now().plus(24 * HOUR),
        };
        let created = self.world.users.create_token(&who, request).await;
        let refused = Refusal::NeedsRecentAuthentication;
        assert!(match created {
            Ok(_) | Err(UsersError::Invalid { .. }) => true,
            Err(UsersError::Refused(refusal)) => refusal == refused,
            Err(_) => false,
        });
    }

    async fn request_reset(&mut self, user: usize) {
        let email = EMAILS[user];
        match self.world.users.request_reset(email, origin()).await {
            Ok(Some(link)) => {
                assert!(!self.expected[user].is_disabled);
                let end = self.world.clock.now().plus(HOUR);
                self.expected[user].end_resets();
                self.expected[user].resets.push((link.token, Some(end)));
            }
            Ok(None) => assert!(self.expected[user].is_disabled),
            Err(UsersError::TooMany(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }

    /// Uses the last reset, valid or not.
    async fn reset(&mut self, user: usize) {
        let now = self.world.clock.now();
        let Some((token, end)) = self.expected[user].resets.last() else {
            return;
        };
        let may = !self.expected[user].is_disabled && end.is_some_and(|end| now < end);
        let password = Secret::from(PASSWORD);
        let reset = self
            .world
            .users
            .reset_password(token.expose(), password, origin());
        assert_eq!(reset.await.is_ok(), may);
        if may {
            self.expected[user].end_resets();
            self.expected[user].end_sessions();
        }
    }

    /// A session that has not ended by an operation, if the user has one that is accepted.
    fn live_session(&mut self, user: usize) -> Option<(usize, Identity)> {
        let now = self.world.clock.now();
        let sessions = self.expected[user].sessions.iter_mut().enumerate();
        for (at, (token, times)) in sessions {
            let Ok(who) = self
                .world
                .users
                .authenticate_session(token.expose(), origin())
            else {
                continue;
            };
            if let Some((_, seen)) = times {
                *seen = now;
            }
            return Some((at, who));
        }
        None
    }

    /// Checks that no token has an action beyond the role of its user, in memory and in the store.
    async fn check_tokens(&self) {
        let stored = self.world.restarted(SecondFactor::Optional).await;
        for users in [&self.world.users, &stored] {
            for (id, expected) in self.ids.iter().zip(&self.expected) {
                let user = users.user(*id).unwrap();
                for token in users.tokens(*id) {
                    assert!(!expected.is_disabled && !token.actions.is_empty());
                    let role = user.role_in(token.account).unwrap();
                    assert!(token.actions.iter().all(|action| allows(role, *action)));
                }
            }
        }
    }

    /// Checks every token that was ever given out. Sessions are not checked at each step: that
    /// would keep them from being idle.
    fn check(&mut self) {
        let now = self.world.clock.now();
        for expected in &mut self.expected {
            for (token, times) in &mut expected.sessions {
                let found = self
                    .world
                    .users
                    .authenticate_session(token.expose(), origin());
                let Some((began, seen)) = times else {
                    assert!(found.is_err(), "an ended session was accepted");
                    continue;
                };
                let is_over = now.since(*began) >= 12 * HOUR || now.since(*seen) >= HOUR / 2;
                assert!(
                    found.is_err() || !is_over,
                    "an expired session was accepted"
                );
                assert!(found.is_err() || !expected.is_disabled);
                let session: Option<SessionId> = found.ok().and_then(|who| who.session());
                if session.is_some() {
                    *seen = now;
                }
            }
            for (token, end) in &expected.resets {
                let is_valid = !expected.is_disabled && end.is_some_and(|end| now < end);
                let found = self.world.users.link(token.expose());
                assert_eq!(found.is_ok(), is_valid, "a link");
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let user = 0..2_usize;
    let role = prop_oneof![Just(Role::Viewer), Just(Role::Admin), Just(Role::Owner)];
    prop_oneof![
        4 => user.clone().prop_map(Step::SignIn),
        1 => user.clone().prop_map(Step::SignOut),
        1 => user.clone().prop_map(Step::EndOthers),
        1 => user.clone().prop_map(Step::Disable),
        1 => user.clone().prop_map(Step::Enable),
        2 => user.clone().prop_map(Step::RequestReset),
        2 => user.clone().prop_map(Step::Reset),
        2 => user.clone().prop_map(Step::CreateToken),
        1 => (user, role).prop_map(|(user, role)| Step::ChangeRole(user, role)),
        2 => prop_oneof![1..90_u64, 700..800_u64].prop_map(Step::Wait),
        1 => Just(Step::Purge),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_history_lets_through_what_has_ended(
        steps in proptest::collection::vec(step(), 1..40),
        checks: u64,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let mut run = Run::new().await;
            for (at, each) in steps.into_iter().enumerate() {
                run.step(each).await;
                // Not after each step: a check is a use of the sessions.
                if checks >> (at % 64) & 1 == 1 {
                    run.check();
                    run.check_tokens().await;
                }
            }
            run.check();
            run.check_tokens().await;
        });
    }
}
