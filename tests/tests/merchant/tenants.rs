//! Tenants are kept apart: whatever two apps do, in whatever order, for neither of them does the other exist, at any route.
//!
//! Histories are drawn by a seed, with everything alike that two tenants may have alike: amounts, customers, metadata, idempotency keys.
//! Then everybody asks every route of the document for everything of everybody else, and is answered as about what never was.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use switchyard_engine::access::{KeyKind, NewApp};
use switchyard_engine::environment::Environment;
use switchyard_engine::ids::Ids;
use switchyard_tests::merchant::{Merchant, Reply, payment, payout};
use switchyard_tests::{FAILS, PAYS, STAYS_PENDING};

const SEEDS: u64 = 12;
const STEPS: usize = 40;

/// One key, what was made with it, and what the answers said.
struct Tenant {
    name: &'static str,
    key: String,
    payments: BTreeSet<String>,
    payouts: BTreeSet<String>,
}

impl Tenant {
    fn new(name: &'static str, key: &str) -> Self {
        Self {
            name,
            key: key.to_owned(),
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

/// Those of one app in both environments, of an app of the same account, and of a stranger's.
async fn tenants(merchant: &Merchant) -> anyhow::Result<Vec<Tenant>> {
    let mut tenants = vec![
        Tenant::new("the first", merchant.secret()),
        Tenant::new("the first, live", merchant.live()),
    ];
    let access = &merchant.bench.engine.access;
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
        let made = access.create_key(app.id, Environment::Sandbox, KeyKind::Secret, None);
        tenants.push(Tenant::new(name, made.await?.secret.expose()));
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
    let bearer = format!("Bearer {}", tenant.key);
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

/// What two merchants may both ask for.
fn alike(mut body: Value) -> Value {
    body["customer"]["email"] = json!("ada@shop.example");
    body
}

fn id_of(reply: &Reply) -> Option<String> {
    let id = reply.body["data"]["id"].as_str();
    id.filter(|_| reply.status == 201).map(str::to_owned)
}

/// A route of the document, and how it is asked for what belongs to another.
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

/// The answer is word for word the one about something that never was.
async fn is_as_if_it_never_was(
    merchant: &Merchant,
    (method, asker): (&str, &Tenant),
    (collection, id, rest): (&str, &str, &str),
) -> anyhow::Result<()> {
    // Of the same shape, and never made: the last letters are another's.
    let never = format!("{}zzzz", &id[..id.len() - 4]);
    let about = async |id: &str| {
        ask(
            merchant,
            method,
            &asker.key,
            &format!("{collection}/{id}{rest}"),
        )
        .await
    };
    let (foreign, nothing) = (about(id).await?, about(&never).await?);
    ensure!(
        foreign.status == 404 && (foreign.status, &foreign.text) == (nothing.status, &nothing.text),
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
