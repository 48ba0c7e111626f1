//! Transactions and deliveries as the operator API shows them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::Value;
use switchyard_core::time::Timestamp;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Site;
use crate::client::Client;

/// Maximum concurrent requests.
const AT_ONCE: usize = 16;
const PAGE: usize = 100;

/// Returns a transaction with its timeline.
pub(super) async fn sees(operator: &Client, id: &str) -> anyhow::Result<Option<Value>> {
    let answer = operator
        .get(&format!("/operator/v1/transactions/{id}"))
        .await?;
    match answer.status {
        404 => Ok(None),
        _ => Ok(Some(answer.expect(200)?.body["data"].clone())),
    }
}

/// Returns many transactions; `None` for an unknown id.
pub(super) async fn see_all(
    operator: &Client,
    ids: &[String],
) -> anyhow::Result<Vec<(String, Option<Value>)>> {
    let operator = operator.clone();
    each(ids.iter().cloned(), move |id| {
        let operator = operator.clone();
        async move {
            let shown = sees(&operator, &id).await?;
            Ok((id, shown))
        }
    })
    .await
}

/// Calls `ask` for each id, a few at once, in no order.
pub(super) async fn each<T, F>(
    ids: impl Iterator<Item = String>,
    ask: impl Fn(String) -> F,
) -> anyhow::Result<Vec<T>>
where
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut asked = JoinSet::new();
    let mut answers = Vec::new();
    for id in ids {
        let place = places.clone().acquire_owned().await?;
        let asking = ask(id);
        asked.spawn(async move {
            let _place = place;
            asking.await
        });
        while let Some(answer) = asked.try_join_next() {
            answers.push(answer??);
        }
    }
    while let Some(answer) = asked.join_next().await {
        answers.push(answer??);
    }
    Ok(answers)
}

/// State of a delivery as the program reports it.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// Whether another attempt is scheduled.
    pub waits: bool,
    pub first_attempt_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

/// Returns all deliveries to the inbox that were attempted at least once, by transaction and event.
pub(super) async fn deliveries(site: &Site) -> anyhow::Result<BTreeMap<(String, String), Told>> {
    let operator = site.server.operator();
    let webhook = inbox(site, &operator).await?;
    let mut told = BTreeMap::new();
    let mut before = String::new();
    loop {
        let path = format!("/operator/v1/webhooks/{webhook}/deliveries?limit={PAGE}{before}");
        let page = operator.get(&path).await?.expect(200)?;
        let page = page.body["data"].as_array().cloned().unwrap_or_default();
        for delivery in &page {
            let text = |name: &str| delivery[name].as_str().unwrap_or_default().to_owned();
            let time = |name: &str| Timestamp::parse(delivery[name].as_str()?);
            let one = Told {
                waits: delivery["status"] == "waiting",
                first_attempt_at: time("first_attempt_at"),
                ended_at: time("ended_at"),
            };
            told.insert((text("transaction"), text("name")), one);
        }
        match page.last() {
            Some(last) if page.len() == PAGE => {
                let last = last["id"].as_str().context("a delivery has an id")?;
                before = format!("&before={last}");
            }
            _ => return Ok(told),
        }
    }
}

/// Returns the id of the webhook whose URL is the inbox.
async fn inbox(site: &Site, operator: &Client) -> anyhow::Result<String> {
    let path = format!("/operator/v1/apps/{}/webhooks", site.server.dev().app_id);
    let all = operator.get(&path).await?.expect(200)?;
    let all = all.body["data"].as_array().cloned().unwrap_or_default();
    let port = site.inbox.url.rsplit(':').next().unwrap_or_default();
    let ours = |webhook: &&Value| {
        let url = webhook["url"].as_str().unwrap_or_default();
        url.ends_with(port)
    };
    match all.iter().find(ours).and_then(|found| found["id"].as_str()) {
        Some(id) => Ok(id.to_owned()),
        None => bail!("no webhook leads to {}", site.inbox.url),
    }
}
