//! The report on the hold, by the command `switchyard release --report` or by the operator API.

use anyhow::Context;
use serde_json::Value;
use switchyard_core::time::Timestamp;

use super::Site;

pub(super) struct Report(Value);

impl Report {
    pub async fn fetch(site: &Site) -> anyhow::Result<Self> {
        let mut shown = site
            .server
            .operator()
            .get("/operator/v1/hold")
            .await?
            .expect(200)?;
        Ok(Self(shown.body["data"].take()))
    }

    pub async fn by_command(site: &Site) -> anyhow::Result<Self> {
        let mut shown = site.server.command(&["release", "--report"]).await?;
        Ok(Self(shown["data"].take()))
    }

    pub fn is_held(&self) -> bool {
        self.0["held"] == true
    }

    /// Begin and end of the lost span.
    pub fn lost(&self) -> anyhow::Result<(Timestamp, Timestamp)> {
        let lost = &self.0["lost"];
        let time = |name: &str| Timestamp::parse(lost[name].as_str()?);
        let span = time("from").zip(time("to"));
        span.with_context(|| format!("no lost span in {:#}", self.0))
    }

    /// Lists of the providers for the lost span.
    pub fn provider_lists(&self) -> Vec<Value> {
        let lists = self.0["provider_lists"].as_array();
        lists.cloned().unwrap_or_default()
    }

    /// Transactions that were open when the hold began.
    pub fn open(&self) -> u64 {
        count(&self.0["open"], |_| true)
    }

    /// Open transactions that some provider was not asked about or has not answered.
    pub fn unanswered(&self) -> u64 {
        count(&self.0["answers"], |row| {
            matches!(row["now"].as_str(), Some("unanswered" | "not_asked"))
        })
    }
}

fn count(rows: &Value, is_meant: impl Fn(&Value) -> bool) -> u64 {
    let rows = rows.as_array().into_iter().flatten();
    let meant = rows.filter(|row| is_meant(row));
    meant.filter_map(|row| row["count"].as_u64()).sum()
}
