//! Limits on prompts and payouts, and an app that was disabled: on the checkout page and in the
//! API.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use axum::body::Body;
use axum::http::Request;
use futures_util::future::try_join_all;
use serde_json::json;
use switchyard::checkout;
use switchyard::operations::{DiskReserve, Draining};
use switchyard::routes;
use switchyard::state::{ApiState, HttpSettings};
use switchyard_core::environment::Environment;
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::{AppChange, AppSettings, DevelopmentKeys, NewConnection};
use switchyard_engine::engine::NewPayout;
use switchyard_engine::quota::{LimitSettings, PayoutLimits};
use switchyard_engine::testing::{amount, customer};
use switchyard_store::Store;
use switchyard_system::clock::Clock;
use switchyard_tests::eventually;
use switchyard_tests::merchant::{Merchant, Reply, payout};

const STAYS_PENDING: &str = "4149518162";
const PAYS: &str = "4149518161";
/// The number that the test gateway declines.
const DECLINES: &str = "4149518163";
const FAILS: &str = "4149518163";
const ADDRESS: &str = "x-test-address";
/// A queue and a call, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// A merchant whose sandbox is limited, on `store`. `keys`: those of an earlier engine on the same
/// store.
async fn merchant(
    store: &Store,
    keys: Option<DevelopmentKeys>,
    change: impl FnOnce(&mut LimitSettings),
) -> anyhow::Result<Merchant> {
    let mut merchant = Merchant::with(|wanted| {
        wanted.clock = Clock::wall();
        wanted.store = store.clone();
        wanted.keys = keys;
        wanted.settings.limits.in_sandbox = true;
        change(&mut wanted.settings.limits);
    })
    .await?;
    let http = HttpSettings {
        client_address_header: Some(ADDRESS.to_owned()),
        ..HttpSettings::default()
    };
    let state = ApiState::new(merchant.bench.engine.clone(), http);
    let pages = checkout::router(state.clone(), Draining::default());
    merchant.router = routes::router(state.clone()).merge(pages);
    merchant.state = state;
    Ok(merchant)
}

async fn set_app(merchant: &Merchant, change: AppChange) -> anyhow::Result<()> {
    // A disabled app has no caller.
    let app = merchant.bench.keys.app;
    merchant
        .bench
        .engine
        .access()
        .update_app(app, change)
        .await?;
    Ok(())
}

async fn payment(merchant: &Merchant) -> anyhow::Result<String> {
    let body = json!({
        "amount": 1000, "currency": "XOF", "description": "A teapot", "return_url": "https://shop.example/done",
        "customer": {"email": "awa@example.com", "first_name": "Awa", "last_name": "Diop"}, "methods": ["mtn_bj"],
    });
    let reply = merchant.post("/v1/payments/initialize", &body).await?;
    let id = reply.body["data"]["id"].as_str().context(reply.status)?;
    Ok(id.to_owned())
}

async fn send(
    merchant: &Merchant,
    path: &str,
    form: &str,
    address: Option<&str>,
) -> anyhow::Result<Reply> {
    let mut request =
        Request::post(path).header("content-type", "application/x-www-form-urlencoded");
    if let Some(address) = address {
        request = request.header(ADDRESS, address);
    }
    merchant
        .ask(request.body(Body::from(form.to_owned()))?)
        .await
}

async fn get(merchant: &Merchant, path: &str) -> anyhow::Result<Reply> {
    merchant.ask(Request::get(path).body(Body::empty())?).await
}

/// The form on the page with the button, for a payer with this number.
async fn form(merchant: &Merchant, id: &str, number: &str) -> anyhow::Result<String> {
    let form = format!("country=BJ&method=mtn_bj&msisdn={number}");
    let reply = send(merchant, &format!("/checkout/{id}/details"), &form, None).await?;
    let page = reply.header("location").context("a location")?.to_owned();
    let page = get(merchant, &page).await?.text;
    let sealed = page.split_once("name=\"a\" value=\"").context("a form")?.1;
    let sealed = sealed.split('"').next().context("its value")?;
    Ok(format!("a={sealed}"))
}

async fn confirm(
    merchant: &Merchant,
    number: &str,
    address: Option<&str>,
) -> anyhow::Result<Reply> {
    let id = payment(merchant).await?;
    let form = form(merchant, &id, number).await?;
    send(merchant, &format!("/checkout/{id}/confirm"), &form, address).await
}

fn count(replies: &[Reply], status: u16) -> usize {
    replies
        .iter()
        .filter(|reply| reply.status == status)
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_to_one_number_are_limited_at_once_and_through_a_restart() -> anyhow::Result<()> {
    let store = Store::memory();
    let first = merchant(&store, None, |_| {}).await?;
    let requests = (0..25).map(|_| confirm(&first, STAYS_PENDING, None));
    let replies = try_join_all(requests).await?;
    assert_eq!((count(&replies, 303), count(&replies, 429)), (5, 20));
    let refused = replies.iter().find(|reply| reply.status == 429);
    let refused = refused.context("a refusal")?;
    let wait: u64 = refused.header("retry-after").context("a wait")?.parse()?;
    assert!((1..=18 * 60).contains(&wait), "{wait}");
    assert!(
        refused.text.contains("Too many attempts"),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("Try again in"), "{}", refused.text);

    let keys = first.bench.keys.clone();
    let second = merchant(&store, Some(keys), |_| {}).await?;
    assert_eq!(confirm(&second, STAYS_PENDING, None).await?.status, 429);
    assert_eq!(confirm(&second, PAYS, None).await?.status, 303);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_from_one_address_and_of_one_payment_are_limited() -> anyhow::Result<()> {
    let limited = merchant(&Store::memory(), None, |limits| {
        limits.prompts_per_number = 0;
        limits.prompts_per_address = 2;
        limits.prompts_per_payment = 1;
    })
    .await?;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        let reply = confirm(&limited, PAYS, Some("192.0.2.1")).await?;
        statuses.push(reply.status);
    }
    assert_eq!(statuses, [303, 303, 429]);
    assert_eq!(
        confirm(&limited, PAYS, Some("192.0.2.2")).await?.status,
        303
    );

    // A site of IPv6 has 65,536 networks: together they have the limit of 16.
    for network in 0..33 {
        let address = format!("2001:db8:7:{network:x}::1");
        let reply = confirm(&limited, PAYS, Some(&address)).await?;
        let wanted = if network < 32 { 303 } else { 429 };
        assert_eq!(reply.status, wanted, "{address}");
    }

    let settings = AppSettings {
        checkout_attempts: 3,
        ..limited.bench.caller().app.settings.clone()
    };
    let change = AppChange {
        settings: Some(settings),
        ..AppChange::default()
    };
    set_app(&limited, change).await?;
    let id = payment(&limited).await?;
    let path = format!("/checkout/{id}/confirm");
    let once = form(&limited, &id, FAILS).await?;
    assert_eq!(send(&limited, &path, &once, None).await?.status, 303);
    let twice = form(&limited, &id, FAILS).await?;
    assert_eq!(send(&limited, &path, &twice, None).await?.status, 429);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_is_not_limited_unless_the_operator_wants_it() -> anyhow::Result<()> {
    let open = merchant(&Store::memory(), None, |limits| limits.in_sandbox = false).await?;
    for _ in 0..8 {
        assert_eq!(confirm(&open, PAYS, Some("192.0.2.1")).await?.status, 303);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn payouts_to_one_recipient_are_limited_at_once_and_through_a_restart() -> anyhow::Result<()>
{
    let store = Store::memory();
    let three = |limits: &mut LimitSettings| limits.payouts.per_recipient = Some(3);
    let first = merchant(&store, None, three).await?;
    let body = payout(PAYS);
    let requests = (0..10).map(|_| first.post("/v1/payouts/initialize", &body));
    let replies = try_join_all(requests).await?;
    assert_eq!((count(&replies, 201), count(&replies, 429)), (3, 7));

    let keys = first.bench.keys.clone();
    let second = merchant(&store, Some(keys), three).await?;
    // However it is written, it is the same recipient.
    let again = payout("+1 (414) 951-8161");
    let refused = second.post("/v1/payouts/initialize", &again).await?;
    assert_eq!(refused.status, 429, "{}", refused.text);
    let error = &refused.body["errors"][0];
    assert_eq!(error["code"], "payout_limit_reached");
    assert_eq!(error["type"], "rate_limited");
    assert_eq!(error["field"], "recipient");
    let wait: u64 = refused.header("retry-after").context("a wait")?.parse()?;
    assert!((1..=26 * 60 * 60).contains(&wait), "{wait}");
    let other = payout(STAYS_PENDING);
    let reply = second.post("/v1/payouts/initialize", &other).await?;
    assert_eq!(reply.status, 201, "{}", reply.text);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apps_own_limits_take_the_place_of_the_installations() -> anyhow::Result<()> {
    let limited = merchant(&Store::memory(), None, |limits| {
        limits.payouts.per_day = Some(1);
        let amounts = [("USD".to_owned(), "30".to_owned())];
        limits.payouts.amount_per_day = BTreeMap::from(amounts);
    })
    .await?;
    let initialize = async || {
        let reply = limited
            .post("/v1/payouts/initialize", &payout(PAYS))
            .await?;
        let field = reply.body["errors"][0]["field"].as_str().map(str::to_owned);
        anyhow::Ok((reply.status, field))
    };
    assert_eq!(initialize().await?, (201, None));
    assert_eq!(initialize().await?, (429, Some("method".to_owned())));
    let payout_limits = PayoutLimits {
        per_day: Some(10),
        ..PayoutLimits::default()
    };
    let with = |payout_limits| AppChange {
        settings: Some(AppSettings {
            payout_limits,
            ..limited.bench.caller().app.settings.clone()
        }),
        ..AppChange::default()
    };
    set_app(&limited, with(payout_limits.clone())).await?;
    assert_eq!(
        initialize().await?,
        (429, Some("amount".to_owned())),
        "25 + 25 > 30"
    );
    let larger = PayoutLimits {
        amount_per_day: BTreeMap::from([("USD".to_owned(), "50".to_owned())]),
        ..payout_limits
    };
    set_app(&limited, with(larger)).await?;
    assert_eq!(initialize().await?, (201, None), "25 + 25 fit into 50");
    assert_eq!(initialize().await?, (429, Some("amount".to_owned())));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_app_takes_no_new_money_and_its_pages_say_so() -> anyhow::Result<()> {
    let merchant = merchant(&Store::memory(), None, |_| {}).await?;
    let caller = merchant.bench.caller();
    let id = payment(&merchant).await?;
    let sealed = form(&merchant, &id, PAYS).await?;
    let disable = AppChange {
        is_enabled: Some(false),
        ..AppChange::default()
    };
    set_app(&merchant, disable).await?;

    let page = get(&merchant, &format!("/checkout/{id}")).await?;
    assert!(
        page.text.contains("is not taking payments at the moment"),
        "{}",
        page.text
    );
    let confirmed = send(&merchant, &format!("/checkout/{id}/confirm"), &sealed, None).await?;
    let elsewhere = confirmed.header("location").unwrap_or_default();
    assert!(
        !elsewhere.contains("wait") && !elsewhere.contains("result"),
        "{elsewhere}"
    );
    let engine = &merchant.bench.engine;
    let tx = engine.transaction(id.parse()?).await?.context("it")?;
    assert!(tx.attempts.is_empty(), "an attempt began");

    // A payout that was accepted before waits for the app.
    let new = NewPayout {
        amount: amount(2_500, "USD"),
        description: "Salary".to_owned(),
        method: "switchyard_payout_demo".to_owned(),
        recipient: BTreeMap::from([("account_number".to_owned(), PAYS.to_owned())]),
        customer: customer(),
        metadata: BTreeMap::new(),
        context: ClientContext::default(),
    };
    let queued = engine.initialize_payout(&caller, new, None).await?.id;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let tx = engine.transaction(queued).await?.context("it")?;
    assert!(tx.attempts.is_empty(), "a payout was dispatched");
    assert!(!tx.state.is_final());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_payment_of_a_disabled_app_offers_no_other_try() -> anyhow::Result<()> {
    let merchant = merchant(&Store::memory(), None, |_| {}).await?;
    let tries = AppChange {
        settings: Some(AppSettings {
            checkout_attempts: 3,
            ..merchant.bench.caller().app.settings.clone()
        }),
        ..AppChange::default()
    };
    set_app(&merchant, tries).await?;
    let failed = payment(&merchant).await?;
    let sealed = form(&merchant, &failed, DECLINES).await?;
    let path = format!("/checkout/{failed}");
    send(&merchant, &format!("{path}/confirm"), &sealed, None).await?;
    eventually(
        "another try is offered",
        Duration::from_secs(20),
        async || {
            let page = get(&merchant, &path).await?;
            Ok(page.text.contains("Another method").then_some(()))
        },
    )
    .await?;
    let disable = AppChange {
        is_enabled: Some(false),
        ..AppChange::default()
    };
    set_app(&merchant, disable).await?;
    let page = get(&merchant, &path).await?;
    assert!(!page.text.contains("Another method"), "{}", page.text);
    let closed = "is not taking payments at the moment";
    assert!(page.text.contains(closed), "{}", page.text);
    Ok(())
}

/// The same merchant on a disk with these reserves.
fn with_reserve(merchant: &mut Merchant, reserve: u64, public_key_reserve: u64) {
    let folder = std::env::temp_dir();
    let http = HttpSettings {
        disk_reserve: Some(DiskReserve::new(folder, reserve, public_key_reserve)),
        ..HttpSettings::default()
    };
    let state = ApiState::new(merchant.bench.engine.clone(), http);
    let pages = checkout::router(state.clone(), Draining::default());
    merchant.router = routes::router(state.clone()).merge(pages);
    merchant.state = state;
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_takes_no_new_transactions_and_those_with_public_keys_first()
-> anyhow::Result<()> {
    let mut merchant = Merchant::with(|_| {}).await?;
    let body = json!({
        "amount": 1000, "currency": "XOF", "description": "A teapot",
        "return_url": "https://shop.example/done",
        "customer": {"email": "awa@example.com", "first_name": "Awa", "last_name": "Diop"},
    });
    let public = format!("Bearer {}", merchant.public());
    let public = [("authorization", public.as_str())];
    for (reserve, public_key_reserve, secret_status, public_status) in [
        (u64::MAX, u64::MAX, 503, 503),
        (0, u64::MAX, 201, 503),
        (0, 0, 201, 201),
    ] {
        with_reserve(&mut merchant, reserve, public_key_reserve);
        let (payments, payouts) = ("/v1/payments/initialize", "/v1/payouts/initialize");
        for (reply, status) in [
            (merchant.post(payments, &body).await?, secret_status),
            (merchant.post(payouts, &payout(PAYS)).await?, secret_status),
            (
                merchant.post_with(payments, &body, &public).await?,
                public_status,
            ),
        ] {
            assert_eq!(reply.status, status, "{}", reply.text);
            assert_eq!(reply.header("retry-after").is_some(), status == 503);
            let refusal = &reply.body["errors"][0];
            if status == 503 {
                assert_eq!(refusal["code"], "service_unavailable");
                assert!(reply.text.contains("short of disk space"), "{}", reply.text);
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_disk_that_is_nearly_full_open_payments_go_on_and_answers_are_replayed()
-> anyhow::Result<()> {
    let mut merchant = merchant(&Store::memory(), None, |_| {}).await?;
    let id = payment(&merchant).await?;
    let key = [("idempotency-key", "order-1")];
    let (path, order) = ("/v1/payouts/initialize", payout(PAYS));
    let first = merchant.post_with(path, &order, &key).await?;
    assert_eq!(first.status, 201, "{}", first.text);

    with_reserve(&mut merchant, u64::MAX, u64::MAX);
    let again = merchant.post_with(path, &order, &key).await?;
    assert_eq!((again.status, again.text), (201, first.text));
    let form = form(&merchant, &id, PAYS).await?;
    let confirmed = send(&merchant, &format!("/checkout/{id}/confirm"), &form, None).await?;
    assert_eq!(confirmed.status, 303, "{}", confirmed.text);
    let engine = &merchant.bench.engine;
    eventually("the payment ends", Duration::from_secs(30), async || {
        let tx = engine.transaction(id.parse()?).await?.context("it")?;
        Ok(tx.state.is_final().then_some(()))
    })
    .await
}

/// A payment whose attempt asks the payer for a code.
struct Asking<'m> {
    merchant: &'m Merchant,
    id: String,
}

impl Asking<'_> {
    /// Waits until its attempt asks again after `codes` codes; the form that sends a wrong one.
    async fn form(&self, codes: u32) -> anyhow::Result<String> {
        let engine = &self.merchant.bench.engine;
        let attempt = eventually("the question for a code", SOON, async || {
            let tx = engine.transaction(self.id.parse()?).await?.context("it")?;
            let asks = tx.asks_for_code().filter(|attempt| attempt.codes == codes);
            Ok(asks.map(|attempt| attempt.id))
        });
        let attempt = attempt.await?;
        Ok(format!("attempt={attempt}&tried={codes}&code=987654"))
    }

    async fn send(&self, form: &str) -> anyhow::Result<Reply> {
        let path = format!("/checkout/{}/code", self.id);
        send(self.merchant, &path, form, Some("192.0.2.1")).await
    }
}

/// A payment from `number`, confirmed, by the test gateway that asks for a code.
async fn asking<'m>(merchant: &'m Merchant, number: &str) -> anyhow::Result<Asking<'m>> {
    let id = payment(merchant).await?;
    let form = form(merchant, &id, number).await?;
    let confirmed = send(merchant, &format!("/checkout/{id}/confirm"), &form, None).await?;
    anyhow::ensure!(confirmed.status == 303, "{}", confirmed.text);
    Ok(Asking { merchant, id })
}

async fn ask_for_codes(merchant: &Merchant) -> anyhow::Result<()> {
    let connection = NewConnection {
        app: merchant.bench.caller().app.id,
        environment: Environment::Sandbox,
        gateway: "switchyard_demo".to_owned(),
        account_name: "With a code".to_owned(),
        methods: None,
        config: json!({ "ask_code": true }),
    };
    let access = merchant.bench.engine.access();
    access.create_connection(connection).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_for_a_number_from_an_address_and_of_a_payment_are_limited() -> anyhow::Result<()> {
    type Limit = fn(&mut LimitSettings) -> &mut u32;
    let by: [(&str, Limit); 3] = [
        ("number", |limits| &mut limits.prompts_per_number),
        ("address", |limits| &mut limits.prompts_per_address),
        ("payment", |limits| &mut limits.prompts_per_payment),
    ];
    for (what, limit) in by {
        let limited = merchant(&Store::memory(), None, |limits| {
            limits.prompts_per_number = 0;
            limits.prompts_per_address = 0;
            limits.prompts_per_payment = 0;
            limits.codes_per_prompt = 1;
            *limit(limits) = 2;
        })
        .await?;
        ask_for_codes(&limited).await?;
        let asking = asking(&limited, PAYS).await?;
        for codes in [0, 1] {
            let reply = asking.send(&asking.form(codes).await?).await?;
            assert_eq!(reply.status, 303, "{what}: {}", reply.text);
        }
        let third = asking.form(2).await?;
        let refused = asking.send(&third).await?;
        assert_eq!(refused.status, 429, "{what}: {}", refused.text);
        let wait: u64 = refused.header("retry-after").context("a wait")?.parse()?;
        assert!((1..=18 * 60).contains(&wait), "{what}: {wait}");
        assert_eq!(asking.form(2).await?, third, "{what}: nothing was sent on");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_app_passes_no_code_on() -> anyhow::Result<()> {
    let merchant = merchant(&Store::memory(), None, |_| {}).await?;
    ask_for_codes(&merchant).await?;
    let asking = asking(&merchant, PAYS).await?;
    let first = asking.form(0).await?;
    let switched = |is_enabled| AppChange {
        is_enabled: Some(is_enabled),
        ..AppChange::default()
    };
    set_app(&merchant, switched(false)).await?;
    let refused = asking.send(&first).await?;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(
        refused.text.contains("Payments are closed for now"),
        "{}",
        refused.text
    );
    assert_eq!(asking.form(0).await?, first, "no code was counted");
    set_app(&merchant, switched(true)).await?;
    assert_eq!(asking.send(&first).await?.status, 303);
    asking.form(1).await?;
    Ok(())
}
