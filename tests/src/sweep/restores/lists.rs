//! The transactions that the store knows, by the merchant's lists.

use std::collections::BTreeMap;

use super::Site;
use crate::sweep::rest::Made;

/// By id, the public status.
pub(super) type Statuses = BTreeMap<String, Option<String>>;

/// Reads the lists, newest first, up to the first page that has none of `made`: its transactions
/// belong to earlier restores.
pub(super) async fn statuses(site: &Site, made: &Made) -> anyhow::Result<Statuses> {
    let merchant = site.server.merchant();
    let mut statuses = Statuses::new();
    for list in ["/v1/payments", "/v1/payouts"] {
        for page in 1.. {
            let path = format!("{list}?limit={PAGE}&page={page}");
            let answer = merchant.get(&path).await?.expect(200)?;
            let rows = answer.body["data"].as_array().cloned().unwrap_or_default();
            let mut is_relevant = false;
            for row in &rows {
                let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                is_relevant |= made.contains_key(&text("id"));
                statuses.insert(text("id"), Some(text("status")));
            }
            if !is_relevant || rows.len() < PAGE {
                break;
            }
        }
    }
    Ok(statuses)
}

const PAGE: usize = 100;
