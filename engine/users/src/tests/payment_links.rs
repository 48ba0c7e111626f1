//! Payment links: creation, disabling, uses under concurrency, results of payments.

use std::collections::BTreeMap;

use switchyard_core::environment::Environment;
use switchyard_core::ids::{AppId, PaymentId};
use switchyard_core::limits::PAYMENT_LINK_USES;
use switchyard_core::money::{Amount, Currency};
use switchyard_store::{Batch, CommitError};
use switchyard_system::secrets::Fingerprint;

use super::*;
use crate::payment_link::{LinkAmount, LinkTerms, NewPaymentLink, PaymentLink, Unusable};
use crate::payment_link_uses::EndedPayment;

fn usd(minor: i64) -> Amount {
    Amount::from_minor(minor, Currency::from_code("USD").unwrap())
}

fn terms(max_uses: Option<u32>) -> LinkTerms {
    LinkTerms {
        title: "Tickets".to_owned(),
        amount: LinkAmount::Fixed { amount: usd(2_500) },
        description: None,
        asks_phone: false,
        methods: Vec::new(),
        max_uses,
        expires_at: None,
        return_url: None,
        metadata: BTreeMap::new(),
    }
}

fn new(terms: LinkTerms) -> NewPaymentLink {
    NewPaymentLink {
        app: AppId::new(Default::default()),
        environment: Environment::Sandbox,
        terms,
    }
}

impl World {
    async fn link(&self, who: &Identity, terms: LinkTerms) -> PaymentLink {
        let permit = self.permit(who, Action::ManagePaymentLinks, Some(1));
        let created = self.users.create_payment_link(&permit, new(terms)).await;
        created.unwrap()
    }

    async fn ada(&self) -> Identity {
        self.owner("ada@example.com", 1).await;
        self.signed_in("ada@example.com").await
    }

    fn payment(&self) -> PaymentId {
        PaymentId::new(self.ids.ulid(self.clock.now()))
    }

    /// Begins a payment of a form, as the commit of a payment does.
    async fn begin(&self, link: &PaymentLink, form: &str) -> Result<PaymentId, Unusable> {
        let content = Fingerprint::of(form);
        let claim = self.users.new_use(link.id, form, content).await.unwrap()?;
        let (payment, mut batch) = (self.payment(), Batch::new());
        claim.add_to(&mut batch, payment);
        self.store.commit(batch).await.unwrap();
        Ok(payment)
    }

    async fn end(&self, link: &PaymentLink, payment: PaymentId, received: Option<Amount>) {
        let ended = [EndedPayment { payment, received }];
        self.users.settle_uses(link, &ended).await.unwrap();
    }
}

#[tokio::test]
async fn a_link_is_found_by_its_code_and_belongs_to_its_account() {
    let world = World::new().await;
    let ada = world.ada().await;
    let link = world.link(&ada, terms(None)).await;
    let users = world.restarted(SecondFactor::Optional).await;
    let found = users.payment_link_by_code(&link.code).await.unwrap();
    assert_eq!(found.as_ref(), Some(&link));
    let other = "0000000000000000".parse().unwrap();
    assert_eq!(users.payment_link_by_code(&other).await.unwrap(), None);
    assert_eq!(users.payment_link(account(1), link.id).await.unwrap(), link);
    let refused = users.payment_link(account(2), link.id).await;
    assert!(matches!(refused, Err(UsersError::NotFound { .. })));
    let actions = world.actions().await;
    assert!(actions.contains(&"create_payment_link".to_owned()));
}

#[tokio::test]
async fn the_links_of_an_app_are_listed_newest_first_in_pages() {
    let world = World::new().await;
    let ada = world.ada().await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.insert(0, world.link(&ada, terms(None)).await);
        world.clock.advance(Duration::from_secs(1));
    }
    let app = all[0].app;
    let page = |environment, before, limit| {
        let users = world.users.clone();
        async move {
            let page = users.payment_links(app, environment, before, limit);
            page.await.unwrap()
        }
    };
    let sandbox = Environment::Sandbox;
    assert_eq!(page(sandbox, None, 10).await, all);
    assert_eq!(page(sandbox, None, 2).await, all[..2]);
    assert_eq!(page(sandbox, Some(all[1].id), 2).await, all[2..]);
    assert!(page(Environment::Live, None, 10).await.is_empty());
}

#[tokio::test]
async fn terms_outside_of_the_limits_are_refused() {
    let world = World::new().await;
    let ada = world.ada().await;
    let permit = world.permit(&ada, Action::ManagePaymentLinks, Some(1));
    let with = |change: fn(&mut LinkTerms)| {
        let mut terms = terms(None);
        change(&mut terms);
        new(terms)
    };
    for (field, refused) in [
        ("title", with(|it| it.title = " ".to_owned())),
        ("title", with(|it| it.title = "a\nb".to_owned())),
        ("title", with(|it| it.title = "é".repeat(101))),
        ("max_uses", with(|it| it.max_uses = Some(0))),
        (
            "max_uses",
            with(|it| it.max_uses = Some(PAYMENT_LINK_USES + 1)),
        ),
        (
            "max_amount",
            with(|it| {
                it.amount = LinkAmount::Between {
                    least: usd(2),
                    most: usd(1),
                };
            }),
        ),
        (
            "expires_at",
            with(|it| it.expires_at = Some(Timestamp::from_seconds(1_800_000_000))),
        ),
    ] {
        let result = world.users.create_payment_link(&permit, refused).await;
        let Err(UsersError::Invalid { field: found, .. }) = result else {
            panic!("{field}: {result:?}");
        };
        assert_eq!(found, field);
    }
}

#[tokio::test]
async fn a_disabled_or_expired_link_takes_no_payment() {
    let world = World::new().await;
    let ada = world.ada().await;
    let permit = world.permit(&ada, Action::ManagePaymentLinks, Some(1));
    let expires_at = Some(world.clock.now().plus(Duration::from_secs(60)));
    let link = LinkTerms {
        expires_at,
        ..terms(None)
    };
    let link = world.link(&ada, link).await;
    world.begin(&link, "a").await.unwrap();
    let users = &world.users;
    let content = Fingerprint::of("b");
    let claim = users.new_use(link.id, "b", content).await.unwrap().unwrap();
    for _ in 0..2 {
        let disabled = users.disable_payment_link(&permit, link.id).await.unwrap();
        assert_eq!(disabled.disabled.unwrap().by, ada.user.id);
    }
    assert_eq!(world.begin(&link, "c").await, Err(Unusable::Disabled));
    let mut batch = Batch::new();
    claim.add_to(&mut batch, world.payment());
    let late = world.store.commit(batch).await;
    assert!(matches!(late, Err(CommitError::Conflict)), "{late:?}");
    let enabled = users.enable_payment_link(&permit, link.id).await.unwrap();
    assert_eq!(enabled, link);
    world.begin(&link, "d").await.unwrap();
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(world.begin(&link, "e").await, Err(Unusable::Expired));
    let actions = world.actions().await;
    for action in ["disable_payment_link", "enable_payment_link"] {
        let count = actions.iter().filter(|one| *one == action).count();
        assert_eq!(count, 1, "{action}: {actions:?}");
    }
}

#[tokio::test]
async fn a_use_is_held_until_its_payment_ends_and_free_again_without_a_success() {
    let world = World::new().await;
    let ada = world.ada().await;
    let link = world.link(&ada, terms(Some(2))).await;
    let first = world.begin(&link, "a").await.unwrap();
    let second = world.begin(&link, "b").await.unwrap();
    assert_eq!(world.begin(&link, "c").await, Err(Unusable::Held));
    world.end(&link, first, None).await;
    world.end(&link, first, None).await;
    let third = world.begin(&link, "c").await.unwrap();
    assert_eq!(world.begin(&link, "d").await, Err(Unusable::Held));
    world.end(&link, second, Some(usd(2_500))).await;
    world.end(&link, third, Some(usd(2_500))).await;
    assert_eq!(world.begin(&link, "d").await, Err(Unusable::UsedUp));
    let uses = world.users.link_uses(link.id).await.unwrap();
    assert_eq!((uses.paid, uses.held), (2, 0));
    assert_eq!(uses.received, [usd(5_000)]);
    let open = world.users.open_payments_of_link(link.id, None, 10);
    assert!(open.await.unwrap().is_empty());
    let listed = world.users.payments_of_link(link.id, None, 10);
    let listed: std::collections::BTreeSet<_> = listed.await.unwrap().into_iter().collect();
    assert_eq!(listed, [first, second, third].into());
}

#[tokio::test]
async fn of_two_payers_who_take_the_last_use_at_once_one_is_refused() {
    let world = World::new().await;
    let ada = world.ada().await;
    let link = world.link(&ada, terms(Some(1))).await;
    let mut commits = Vec::new();
    for form in ["a", "b"] {
        let content = Fingerprint::of(form);
        let claim = world.users.new_use(link.id, form, content).await.unwrap();
        let mut batch = Batch::new();
        claim.unwrap().add_to(&mut batch, world.payment());
        commits.push(batch);
    }
    let mut results = Vec::new();
    for batch in commits {
        results.push(world.store.commit(batch).await.is_ok());
    }
    assert_eq!(results, [true, false]);
}

#[tokio::test]
async fn a_form_begins_one_payment_of_a_link_with_any_number_of_uses() {
    let world = World::new().await;
    let ada = world.ada().await;
    let link = world.link(&ada, terms(None)).await;
    let payment = world.begin(&link, "a").await.unwrap();
    let content = Fingerprint::of("a");
    let began = world.users.payment_of_form(link.id, "a").await.unwrap();
    let began = began.unwrap();
    assert_eq!((began.payment, began.content), (payment, content));
    let again = world.users.new_use(link.id, "a", content).await.unwrap();
    let mut batch = Batch::new();
    again.unwrap().add_to(&mut batch, world.payment());
    let repeated = world.store.commit(batch).await;
    assert!(matches!(repeated, Err(CommitError::Conflict)));
    for form in ["b", "c", "d"] {
        world.begin(&link, form).await.unwrap();
    }
    let uses = world.users.link_uses(link.id).await.unwrap();
    assert_eq!((uses.paid, uses.held), (0, 0));
}

#[tokio::test]
async fn old_sandbox_payments_of_a_link_are_deleted() {
    let world = World::new().await;
    let ada = world.ada().await;
    let link = world.link(&ada, terms(None)).await;
    let payment = world.begin(&link, "a").await.unwrap();
    world.end(&link, payment, Some(usd(2_500))).await;
    world.users.purge_expired().await.unwrap();
    let listed = world.users.payments_of_link(link.id, None, 10);
    assert_eq!(listed.await.unwrap(), [payment]);
    let retention = options(SecondFactor::Optional).sandbox_retention;
    world.clock.advance(retention + Duration::from_secs(1));
    world.users.purge_expired().await.unwrap();
    let listed = world.users.payments_of_link(link.id, None, 10);
    assert!(listed.await.unwrap().is_empty());
    let form = world.users.payment_of_form(link.id, "a").await.unwrap();
    assert_eq!(form, None);
    let uses = world.users.link_uses(link.id).await.unwrap();
    assert_eq!(uses.paid, 1, "the sums stay");
}
