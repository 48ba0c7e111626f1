//! Transactions that are open while the package is upgraded.

use switchyard_tests::client::{payment, payout, pays};
use switchyard_tests::{FAILS, PAYS, STAYS_PENDING};

use super::Installed;

/// Transactions of each kind.
const EACH: usize = 3;

pub struct Open {
    /// Payments that their payers have not paid yet.
    initiated: Vec<String>,
    /// Payments whose payers are on the waiting page.
    pending: Vec<String>,
    /// Payouts that are with the provider.
    payouts: Vec<String>,
}

impl Open {
    /// Makes the transactions, and waits until the provider has them.
    pub async fn make(installed: &Installed) -> anyhow::Result<Self> {
        let mut open = Self {
            initiated: Vec::new(),
            pending: Vec::new(),
            payouts: Vec::new(),
        };
        for _ in 0..EACH {
            let path = "/v1/payments/initialize";
            open.initiated
                .push(installed.make(path, &payment("A cup")).await?);
            let pending = installed.make(path, &payment("A spoon")).await?;
            pays(&installed.payer, &pending, STAYS_PENDING).await?;
            open.pending.push(pending);
            // Of the test gateway's numbers the last two change places for payouts.
            let body = payout("Salary", FAILS);
            let payout = installed.make("/v1/payouts/initialize", &body).await?;
            open.payouts.push(payout);
        }
        for id in &open.pending {
            installed.ends("payments", id, "pending").await?;
        }
        for id in &open.payouts {
            installed.ends("payouts", id, "pending").await?;
        }
        Ok(open)
    }

    /// Checks that each transaction is there, as it was.
    pub async fn is_unchanged(&self, installed: &Installed) -> anyhow::Result<()> {
        for (kind, ids, status) in [
            ("payments", &self.initiated, "initiated"),
            ("payments", &self.pending, "pending"),
            ("payouts", &self.payouts, "pending"),
        ] {
            for id in ids {
                assert_eq!(installed.status(kind, id).await?, status, "{kind} {id}");
            }
        }
        Ok(())
    }

    /// Ends each with success: by its payer, or by an operator for what the test gateway keeps
    /// pending.
    pub async fn succeeds(self, installed: &Installed) -> anyhow::Result<()> {
        for id in &self.initiated {
            installed.pay(id, PAYS).await?;
            installed.ends("payments", id, "success").await?;
        }
        for (kind, ids) in [("payments", &self.pending), ("payouts", &self.payouts)] {
            for id in ids {
                let found = ["--note", "found in the books", "--provider-id", id];
                let resolve = ["transactions", "resolve", id, "--outcome", "succeeded"];
                installed.operator.ask(&[&resolve[..], &found].concat())?;
                installed.ends(kind, id, "success").await?;
            }
        }
        Ok(())
    }
}
