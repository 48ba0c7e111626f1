//! The home page: its figures, links and empty state, for each role.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use switchyard_core::environment::Environment;
use switchyard_core::ids::{PaymentId, PayoutId, TransactionId};
use switchyard_core::money::{Amount, Currency};
use switchyard_core::testing::fixtures::{self, confirm, declined, part, succeeded, unknown};
use switchyard_core::transaction::{Kind, Outcome, Transaction};
use switchyard_records::Step;
use switchyard_store::Batch;
use switchyard_users::Role;
use tower::ServiceExt as _;

use super::{Shown, World};

/// Transactions of the world's app, as the engine stores them.
impl World {
    /// Stores a payment that was created `hours` ago and confirmed, with these answers.
    pub async fn stored(&self, hours: u64, answers: Vec<Outcome>) -> TransactionId {
        self.stored_of(Kind::Payment, hours, "USD", answers).await
    }

    pub async fn stored_of(
        &self,
        kind: Kind,
        hours: u64,
        currency: &str,
        answers: Vec<Outcome>,
    ) -> TransactionId {
        let mut story = match kind {
            Kind::Payment => fixtures::World::payment(),
            Kind::Payout => fixtures::World::payout(),
        };
        let at = self
            .test
            .clock
            .now()
            .minus(Duration::from_secs(3_600 * hours));
        let ulid = self.test.engine.ids().ulid(at);
        story.tx.id = match kind {
            Kind::Payment => TransactionId::Payment(PaymentId::new(ulid)),
            Kind::Payout => TransactionId::Payout(PayoutId::new(ulid)),
        };
        story.tx.app = self.test.keys.app;
        story.tx.environment = Environment::Sandbox;
        story.tx.created_at = at;
        let currency = Currency::from_code(currency).unwrap();
        story.tx.amount = Amount::from_minor(story.tx.amount.minor(), currency);
        self.commit(None, &story.tx).await;
        for answer in std::iter::once(None).chain(answers.into_iter().map(Some)) {
            let before = story.tx.clone();
            match (answer, kind) {
                (Some(answer), _) => drop(story.answer(answer).unwrap()),
                (None, Kind::Payment) => drop(story.apply(confirm(1)).unwrap()),
                (None, Kind::Payout) => {
                    let route = fixtures::route(1);
                    let dispatch = switchyard_core::transaction::Command::Dispatch(route);
                    story.apply(dispatch).unwrap();
                }
            }
            self.commit(Some(&before), &story.tx).await;
        }
        story.tx.id
    }

    async fn commit(&self, before: Option<&Transaction>, after: &Transaction) {
        let mut batch = Batch::new();
        let step = Step {
            before,
            after,
            events: &[],
        };
        switchyard_records::write(&mut batch, &step).unwrap();
        self.test.engine.store().commit(batch).await.unwrap();
    }
}

/// Text of a page without its tags, with single spaces.
fn words(page: &Shown) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    let main = page.body.find("<main").unwrap();
    for letter in page.body[main..].chars() {
        match letter {
            '<' => is_tag = true,
            '>' => {
                is_tag = false;
                text.push(' ');
            }
            _ if !is_tag => text.push(letter),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn the_home_page_states_numbers_rates_and_sums_that_agree() {
    let (world, cookie) = World::with_owner().await;
    for _ in 0..3 {
        world.stored(30 * 24 - 30, vec![succeeded()]).await;
    }
    world.stored(48, vec![declined(false)]).await;
    world.stored(48, vec![unknown()]).await;
    world.stored(48, vec![part(1_000)]).await;
    world.stored(31 * 24, vec![succeeded()]).await;
    world
        .stored_of(Kind::Payout, 48, "USD", vec![succeeded()])
        .await;

    let home = world.get(&world.in_app("home"), &cookie).await;
    assert_eq!(home.status, StatusCode::OK);
    let text = words(&home);
    let space = "\u{a0}";
    for part in [
        // Three payments of 25.00, without the one of 31 days ago and without the payout.
        "Collected USD 75.00 ▲ 200% · 30 days before: USD 25.00 Payments 6 3 succeeded \
         ▲ 500% · 30 days before: 1 Success rate 75%",
        "▼ 25 points · 30 days before: 100%",
        "Unknown 1 USD 25.00",
        "Why payments fail",
        "1. Not enough money",
        "1 100%",
        "1 payment whose money is uncertain USD 25.00 may have moved.",
        // Money of the open attempts: the rest of the part, and its part as other money.
        "Other money",
        "15.00 10.00 25.00",
        "Payouts Currency Paid out Fees Pending Unknown USD 25.00",
        "Benin",
        "MTN MoMo",
    ] {
        let part = part.to_owned();
        let found = text.replace(space, " ").contains(&part);
        assert!(found, "{part}: {text}");
    }
    assert!(
        !text.contains("2 failed"),
        "an unknown outcome is no failure"
    );
    let payouts = world
        .get(&world.in_app("home?kind=payout&days=7"), &cookie)
        .await;
    let text = words(&payouts).replace(space, " ");
    assert!(
        text.contains(
            "Paid out USD 25.00 7 days before: USD 0.00 Payouts 1 1 succeeded 7 days before: 0 \
             Success rate 100%"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn today_is_compared_with_yesterday_until_the_same_hour() {
    let (world, cookie) = World::with_owner().await;
    world.stored(0, vec![succeeded()]).await;
    // It is 10 o'clock: one of yesterday's came at that time, one at 5, and two in the afternoon.
    for hours in [24, 29, 20, 18] {
        world.stored(hours, vec![succeeded()]).await;
    }
    let path = world.in_app("home?days=1");
    let text = words(&world.get(&path, &cookie).await).replace('\u{a0}', " ");
    let compared = "Payments 1 1 succeeded ▼ 50% · Yesterday until this hour: 2";
    assert!(text.contains(compared), "{text}");
    // Of seven days, all but the last are compared as a whole.
    let path = world.in_app("home?days=7");
    for hours in [6 * 24, 7 * 24, 7 * 24 - 5, 8 * 24 - 5, 13 * 24] {
        world.stored(hours, vec![declined(false)]).await;
    }
    let text = words(&world.get(&path, &cookie).await).replace('\u{a0}', " ");
    let compared = "Payments 6 5 succeeded ▲ 100% · 7 days before: 3";
    assert!(text.contains(compared), "{text}");
    assert!(
        text.contains("Collected USD 125.00 7 days before: USD 0.00"),
        "{text}"
    );
}

#[tokio::test]
async fn a_new_app_is_told_what_to_do_first_as_far_as_the_role_allows() {
    let (world, owner) = World::with_owner().await;
    let path = world.in_app("home");
    let home = world.get(&path, &owner).await;
    assert!(home.body.contains(&world.in_app("keys/new")));
    assert!(home.body.contains("/docs\""));
    let viewer = world.member(&owner, Role::Viewer).await;
    let home = world.get(&path, &viewer).await;
    assert_eq!(home.status, StatusCode::OK);
    assert!(
        !home.body.contains(&world.in_app("keys/new")),
        "a viewer makes no keys"
    );
}

#[tokio::test]
async fn what_needs_attention_is_shown_to_roles_that_may_see_it() {
    let (world, owner) = World::with_owner().await;
    world
        .stored(1, vec![succeeded(), fixtures::reversed("P1")])
        .await;
    let access = world.test.engine.access();
    let app = world.test.keys.app;
    let keys = access.keys(app).unwrap();
    let secret = keys.iter().find(|one| {
        let is_secret = one.key.kind == switchyard_engine::access::KeyKind::Secret;
        is_secret && one.key.environment == Environment::Sandbox
    });
    let secret = secret.unwrap().key.clone();
    access
        .roll_key(secret.id, Duration::from_secs(3_600))
        .await
        .unwrap();
    let path = world.in_app("home");
    let text = words(&world.get(&path, &owner).await);
    assert!(
        text.contains("The provider took reported money back"),
        "{text}"
    );
    assert!(
        text.contains(&format!("…{} is valid until", secret.last_four)),
        "{text}"
    );
    let finance = world.member(&owner, Role::Finance).await;
    let text = words(&world.get(&path, &finance).await);
    assert!(
        text.contains("The provider took reported money back"),
        "{text}"
    );
    assert!(!text.contains(&secret.last_four), "finance sees no keys");
}

#[tokio::test]
async fn a_home_page_with_many_methods_and_currencies_is_small() {
    let (world, cookie) = World::with_owner().await;
    for currency in ["USD", "XOF", "NGN", "KES"] {
        for hours in 0..60 {
            let kind = Kind::ALL[usize::try_from(hours % 2).unwrap()];
            let answers = vec![succeeded()];
            world.stored_of(kind, hours * 11, currency, answers).await;
        }
    }
    let request = Request::get(world.in_app("home"))
        .header("host", "127.0.0.1:8080")
        .header("accept-encoding", "gzip")
        .header("cookie", &cookie);
    let request = request.body(Body::empty()).unwrap();
    let response = world.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let packed = axum::body::to_bytes(response.into_body(), 1 << 20)
        .await
        .unwrap();
    assert!(packed.len() < 60 * 1_024, "{} bytes", packed.len());
}
