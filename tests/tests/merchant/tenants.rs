//! Tenants are kept apart: whatever two apps do, in whatever order, for neither of them does the
//! other exist, at any route.
//!
//! Histories are drawn by a seed, with everything alike that two tenants may have alike: amounts,
//! customers, metadata, idempotency keys. Then everybody asks every route of the document for
//! everything of everybody else, and is answered as about what never was. Routes that are not in
//! the document are on a list here, each with the reason why there is nothing of a tenant's behind
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, ensure};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{KeyKind, NewApp, NewWebhook};
use switchyard_engine::webhook::WebhookSettings;
use switchyard_store::{Direction, Table};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use switchyard_tests::merchant::{Merchant, Reply, payment, payout};
use switchyard_tests::routes::Routes;
use switchyard_tests::{FAILS, PAYS, Receiver, STAYS_PENDING, eventually};

const SEEDS: u64 = 12;
const STEPS: usize = 40;

/// Routes that are not in the document, or are there by another method, each with the reason why
/// it has no objects of other tenants. `*`: and all below.
const NO_TENANTS: &[(&str, &str)] = &[
    (
        "/v1/payments/initialize",
        "what a browser asks before it sends: answered without a key",
    ),
    ("/v1/utils/payment/methods", "the same for everybody"),
    ("/v1/utils/payout/methods", "the same for everybody"),
    ("/icons/{kind}/{file}", "the same for everybody"),
    ("/openapi.json", "the same for everybody"),
    ("/docs*", "the same for everybody"),
    ("/healthz", "of the program"),
    ("/readyz", "of the program"),
    ("/metrics", "of the program"),
    (
        "/console*",
        "users, and not keys: the tests of the console walk its routes with users of other accounts",
    ),
    (
        "/checkout*",
        "the payer's pages: who has the id of a payment may pay it",
    ),
    (
        "/l/{code}*",
        "the payer's pages: who has the address of a link may pay on it",
    ),
    (
        "/callbacks/{connection}*",
        "providers: tests/tests/callbacks/races.rs",
    ),
    ("/account/openapi.json", "the same for everybody"),
    ("/account/docs*", "the same for everybody"),
    ("/operator/openapi.json", "the same for everybody"),
    ("/operator/docs*", "the same for everybody"),
    ("/", "pages that tests of the program serve to themselves"),
];

/// One secret key and one public one, the objects made with them, and the responses.
struct Tenant {
    name: &'static str,
    app: AppId,
    key: String,
    public: String,
    payments: BTreeSet<String>,
    payouts: BTreeSet<String>,
}

impl Tenant {
    fn new(name: &'static str, app: AppId, [key, public]: [&str; 2]) -> Self {
        Self {
            name,
            app,
            key: key.to_owned(),
            public: public.to_owned(),
            payments: BTreeSet::new(),
            payouts: BTreeSet::new(),
        }
    }
}

/// Numbers by chance, from a seed.
struct Chance(Ids);

impl Chance {
    fn below(&self, end: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        let end = u64::try_from(end).expect("a small number");
        usize::try_from(u64::from_le_bytes(bytes) % end).expect("a smaller one")
    }

    fn one_of<'a, T: ?Sized>(&self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Keys of one app in both environments, of an app of the same account, and of another account.
async fn tenants(merchant: &Merchant) -> anyhow::Result<Vec<Tenant>> {
    let keys = &merchant.bench.keys;
    let live = [&keys.live_secret_key, &keys.live_public_key];
    let mut tenants = vec![
        Tenant::new(
            "the first",
            keys.app,
            [merchant.secret(), merchant.public()],
        ),
        Tenant::new(
            "the first, live",
            keys.app,
            live.map(|key| key.expose().as_str()),
        ),
    ];
    let access = merchant.bench.engine.access();
    let own = access.app(merchant.bench.keys.app).context("its app")?;
    let stranger = access.create_account("A stranger").await?;
    for (name, account) in [("the sister", own.account), ("the stranger", stranger.id)] {
        let new = NewApp {
            account,
            name: name.to_owned(),
            icon_url: None,
            website_url: None,
            settings: Default::default(),
        };
        let app = access.create_app(new).await?;
        let key = async |kind| {
            access
                .create_key(app.id, Environment::Sandbox, kind, None)
                .await
        };
        let (key, public) = (key(KeyKind::Secret).await?, key(KeyKind::Public).await?);
        let keys = [
            key.secret.expose().as_str(),
            public.secret.expose().as_str(),
        ];
        tenants.push(Tenant::new(name, app.id, keys));
    }
    Ok(tenants)
}

/// One thing that one of them does.
async fn step(
    merchant: &Merchant,
    tenant: &mut Tenant,
    chance: &Chance,
    seed: u64,
) -> anyhow::Result<()> {
    // Either of them initializes payments.
    let bearer = format!(
        "Bearer {}",
        chance.one_of(&[tenant.key.as_str(), &tenant.public])
    );
    let number = chance.one_of(&[PAYS, FAILS, STAYS_PENDING]);
    match chance.below(4) {
        0 | 1 => {
            // A few keys and customers, so that all of them use the same.
            let key = format!("order-{seed}-{}", chance.below(4));
            let mut body = alike(payment());
            body["customer"]["email"] = json!(format!("ada{}@shop.example", key.len()));
            let headers = [("authorization", &*bearer), ("idempotency-key", &*key)];
            let path = "/v1/payments/initialize";
            let reply = merchant.post_with(path, &body, &headers).await?;
            if let Some(id) = id_of(&reply) {
                let is_new = tenant.payments.insert(id.clone());
                let is_replayed = reply.header("idempotent-replayed") == Some("true");
                ensure!(
                    is_new != is_replayed,
                    "{}: {id} {}",
                    tenant.name,
                    reply.text
                );
            }
        }
        2 => {
            let body = alike(payout(number));
            let bearer = format!("Bearer {}", tenant.key);
            let headers = [("authorization", &*bearer)];
            let path = "/v1/payouts/initialize";
            let reply = merchant.post_with(path, &body, &headers).await?;
            tenant.payouts.extend(id_of(&reply));
        }
        _ => {
            let paid = tenant
                .payments
                .iter()
                .nth(chance.below(tenant.payments.len().max(1)));
            if let Some(id) = paid.cloned() {
                // It may have been paid already.
                let _ = merchant.pay(&id, number).await;
            }
        }
    }
    Ok(())
}

/// A request that two merchants may both send.
fn alike(mut body: Value) -> Value {
    body["customer"]["email"] = json!("ada@shop.example");
    body
}

fn id_of(reply: &Reply) -> Option<String> {
    let id = reply.body["data"]["id"].as_str();
    id.filter(|_| reply.status == 201).map(str::to_owned)
}

/// A route of the document, and a request by it for an object of another app.
enum Route {
    Payment(&'static str),
    Payout(&'static str),
    List(&'static str),
    /// Has no path into what exists; the histories use it all the time.
    Initialize,
    /// The same for everybody.
    Public,
}

fn route(method: &str, path: &str) -> anyhow::Result<Route> {
    Ok(match (method, path) {
        ("get", "/v1/payments/{paymentId}") => Route::Payment(""),
        ("get", "/v1/payments/{paymentId}/verify") => Route::Payment("/verify"),
        ("post", "/v1/payments/{paymentId}/process") => Route::Payment("/process"),
        ("get", "/v1/payouts/{payoutId}") => Route::Payout(""),
        ("get", "/v1/payouts/{payoutId}/verify") => Route::Payout("/verify"),
        ("get", "/v1/payments") => Route::List("/v1/payments"),
        ("get", "/v1/payouts") => Route::List("/v1/payouts"),
        ("post", "/v1/payments/initialize" | "/v1/payouts/initialize") => Route::Initialize,
        ("get", "/utils/payment/methods" | "/utils/payout/methods") => Route::Public,
        _ => anyhow::bail!(
            "{method} {path} is a new route of the merchant API: say in tests/tests/merchant/tenants.rs how it could be asked for what \
             belongs to another app, so that it is shown that it tells nothing"
        ),
    })
}

/// Every route of the document, by method.
fn routes() -> anyhow::Result<Vec<(String, Route)>> {
    let document = serde_json::to_value(switchyard::routes::document())?;
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().context("paths")? {
        for method in item.as_object().context("methods")?.keys() {
            if ["get", "post", "put", "patch", "delete"].contains(&method.as_str()) {
                routes.push((method.clone(), route(method, path)?));
            }
        }
    }
    Ok(routes)
}

async fn ask(merchant: &Merchant, method: &str, key: &str, path: &str) -> anyhow::Result<Reply> {
    let request = Request::builder()
        .method(method.to_uppercase().as_str())
        .uri(path)
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json");
    merchant.ask(request.body(Body::from("{}"))?).await
}

/// The answer is word for word the one about something that never was, to a secret key and to a
/// public one, which may ask for nothing.
async fn is_as_if_it_never_was(
    merchant: &Merchant,
    (method, asker): (&str, &Tenant),
    what: (&str, &str, &str),
) -> anyhow::Result<()> {
    is_answered_as_nothing(merchant, (method, asker, &asker.key, 404), what).await?;
    is_answered_as_nothing(merchant, (method, asker, &asker.public, 403), what).await
}

async fn is_answered_as_nothing(
    merchant: &Merchant,
    (method, asker, key, status): (&str, &Tenant, &str, u16),
    (collection, id, rest): (&str, &str, &str),
) -> anyhow::Result<()> {
    // Of the same shape, and never made: the last letters are another's.
    let never = format!("{}zzzz", &id[..id.len() - 4]);
    let about =
        async |id: &str| ask(merchant, method, key, &format!("{collection}/{id}{rest}")).await;
    let (foreign, nothing) = (about(id).await?, about(&never).await?);
    ensure!(
        foreign.status == status
            && (foreign.status, &foreign.text) == (nothing.status, &nothing.text),
        "{} asked {method} {collection}/{id}{rest}: {} {}, and about nothing: {} {}",
        asker.name,
        foreign.status,
        foreign.text,
        nothing.status,
        nothing.text
    );
    let names = |reply: &Reply| {
        reply
            .headers
            .keys()
            .map(ToString::to_string)
            .collect::<BTreeSet<_>>()
    };
    ensure!(
        names(&foreign) == names(&nothing),
        "{foreign:?} {nothing:?}"
    );
    Ok(())
}

async fn lists_its_own(merchant: &Merchant, path: &str, asker: &Tenant) -> anyhow::Result<()> {
    let to_public = ask(merchant, "get", &asker.public, path).await?;
    let is_refused = (to_public.status, &to_public.body["data"]) == (403, &json!({}));
    ensure!(is_refused, "{}: {}", asker.name, to_public.text);
    let own = match path {
        "/v1/payments" => &asker.payments,
        _ => &asker.payouts,
    };
    for query in [
        "?limit=100",
        "?limit=100&status=initiated",
        "?limit=100&status=success",
    ] {
        let listed = ask(merchant, "get", &asker.key, &format!("{path}{query}")).await?;
        let rows = listed.body["data"].as_array().context("rows")?;
        let ids: BTreeSet<_> = rows.iter().filter_map(|row| row["id"].as_str()).collect();
        ensure!(
            ids.iter().all(|id| own.contains(*id)),
            "{} is shown what is not its own: {ids:?}",
            asker.name
        );
        let total = listed.body["meta"]["total"].as_u64().context("a total")?;
        ensure!(
            total == rows.len() as u64,
            "{}: {total} of {}",
            asker.name,
            rows.len()
        );
        if query == "?limit=100" {
            ensure!(
                rows.len() == own.len(),
                "{}: {} of {}",
                asker.name,
                rows.len(),
                own.len()
            );
        }
    }
    Ok(())
}

async fn history(seed: u64) -> anyhow::Result<()> {
    let merchant = Merchant::open().await?;
    let mut tenants = tenants(&merchant).await?;
    let chance = Chance(Ids::seeded(seed));
    for _ in 0..STEPS {
        let who = chance.below(tenants.len());
        step(&merchant, &mut tenants[who], &chance, seed).await?;
    }
    let mut asked = 0;
    for (method, route) in routes()? {
        for asker in &tenants {
            if let Route::List(path) = route {
                lists_its_own(&merchant, path, asker).await?;
            }
            for owner in tenants.iter().filter(|owner| owner.key != asker.key) {
                let (collection, ids, rest) = match route {
                    Route::Payment(rest) => ("/v1/payments", &owner.payments, rest),
                    Route::Payout(rest) => ("/v1/payouts", &owner.payouts, rest),
                    Route::List(_) | Route::Initialize | Route::Public => continue,
                };
                for id in ids {
                    let what = (collection, id.as_str(), rest);
                    is_as_if_it_never_was(&merchant, (&method, asker), what).await?;
                    asked += 1;
                }
            }
        }
    }
    ensure!(asked > STEPS, "there was something to ask for: {asked}");
    nobody_has_marked_anything(&merchant, &tenants).await?;
    customers_are_not_shared(&merchant, &tenants).await
}

/// `process` was asked for by everybody but the owner.
async fn nobody_has_marked_anything(merchant: &Merchant, tenants: &[Tenant]) -> anyhow::Result<()> {
    for id in tenants.iter().flat_map(|tenant| &tenant.payments) {
        let tx = merchant.bench.engine.transaction(id.parse()?).await?;
        ensure!(tx.context("it is stored")?.processed_at.is_none(), "{id}");
    }
    Ok(())
}

/// The same address is another customer for each app and environment.
async fn customers_are_not_shared(merchant: &Merchant, tenants: &[Tenant]) -> anyhow::Result<()> {
    let mut seen: Vec<(&str, BTreeSet<String>)> = Vec::new();
    for tenant in tenants {
        let mut customers = BTreeSet::new();
        for id in tenant.payments.iter().chain(&tenant.payouts) {
            let tx = merchant.bench.engine.transaction(id.parse()?).await?;
            let tx = tx.context("it is stored")?;
            customers.insert(tx.customer.id.to_string());
        }
        for (name, others) in &seen {
            ensure!(
                customers.is_disjoint(others),
                "{} and {name} share a customer",
                tenant.name
            );
        }
        seen.push((tenant.name, customers));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_tenants_do_none_can_tell_that_another_exists() -> anyhow::Result<()> {
    for seed in 0..SEEDS {
        let held = history(seed).await;
        held.with_context(|| format!("in the history of seed {seed}"))?;
    }
    Ok(())
}

#[test]
fn every_route_of_the_source_is_in_the_document_or_has_nothing_of_a_tenant() -> anyhow::Result<()> {
    let found = Routes::of_the_program()?;
    // The operator has all tenants. Users of other accounts are in the tests of the account API.
    let documents = [
        switchyard::routes::document(),
        switchyard::account::document(),
        switchyard::operator::document(),
    ];
    for path in &found.described {
        let mut documents = documents.iter();
        ensure!(
            documents.any(|document| document.paths.paths.contains_key(path)),
            "{path} is described and not in the document: add it to the routes of its room"
        );
    }
    let is_of = |listed: &str, path: &str| match listed.strip_suffix('*') {
        Some(above) => path.starts_with(above),
        None => path == listed,
    };
    for path in &found.plain {
        ensure!(
            NO_TENANTS.iter().any(|(listed, _)| is_of(listed, path)),
            "{path} is a route that the document does not have: describe it there, or say in tests/tests/merchant/tenants.rs why there is \
             nothing of a tenant's behind it"
        );
    }
    for (listed, why) in NO_TENANTS {
        ensure!(
            found.plain.iter().any(|path| is_of(listed, path)),
            "{listed} ({why}) is no route any more"
        );
    }
    Ok(())
}

/// A webhook for each app, at an endpoint and with a secret of its own.
async fn listening(
    merchant: &Merchant,
    tenants: &[Tenant],
) -> anyhow::Result<BTreeMap<AppId, Receiver>> {
    let mut receivers = BTreeMap::new();
    for app in tenants.iter().map(|tenant| tenant.app) {
        if receivers.contains_key(&app) {
            continue;
        }
        let receiver = Receiver::start().await?;
        let new = NewWebhook {
            app,
            url: receiver.url(),
            secret: Some(Secret::new(format!("secret_of_{app}"))),
            options: Default::default(),
        };
        merchant.bench.engine.access().create_webhook(new).await?;
        receivers.insert(app, receiver);
    }
    Ok(receivers)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhooks_of_a_tenant_hear_of_what_is_its_own_and_of_nothing_else() -> anyhow::Result<()> {
    let merchant = Merchant::with(|wanted| {
        wanted.clock = Clock::wall();
        wanted.settings.webhook = WebhookSettings {
            interval: Duration::from_secs(1),
            retries: 100,
            allow_private: true,
            ..WebhookSettings::default()
        };
    })
    .await?;
    let mut tenants = tenants(&merchant).await?;
    let receivers = listening(&merchant, &tenants).await?;
    let chance = Chance(Ids::seeded(SEEDS));
    for _ in 0..STEPS {
        let who = chance.below(tenants.len());
        step(&merchant, &mut tenants[who], &chance, SEEDS).await?;
    }
    let store = merchant.bench.engine.store();
    eventually("all webhooks are delivered", NET, async || {
        let waiting = store.scan(Table::Outbox, b"w", b"x", Direction::Forward, 1);
        let all_heard = |app: &AppId, receiver: &Receiver| {
            let heard: BTreeSet<_> = receiver.received().iter().map(|one| one.id()).collect();
            made_by(&tenants, *app).is_subset(&heard)
        };
        let is_done = waiting.await?.is_empty()
            && receivers
                .iter()
                .all(|(app, receiver)| all_heard(app, receiver));
        Ok(is_done.then_some(()))
    })
    .await?;
    for (app, receiver) in &receivers {
        let own = made_by(&tenants, *app);
        ensure!(!own.is_empty(), "{app} has nothing to hear of");
        for delivery in receiver.received() {
            let is_own = own.contains(&delivery.id());
            ensure!(is_own, "{app} hears of {}", delivery.id());
            ensure!(delivery.is_signed_with(&format!("secret_of_{app}")));
        }
    }
    Ok(())
}

/// The transactions of an app, in both environments.
fn made_by(tenants: &[Tenant], app: AppId) -> BTreeSet<String> {
    let own = tenants.iter().filter(|tenant| tenant.app == app);
    own.flat_map(|tenant| tenant.payments.iter().chain(&tenant.payouts))
        .cloned()
        .collect()
}

/// A net, and no measure.
const NET: Duration = Duration::from_secs(120);
