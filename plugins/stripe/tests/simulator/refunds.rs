//! Money back.

use serde_json::{Value, json};
use switchyard_testkit::LedgerEntry;

use super::State;
use super::form::{Form, entries};
use super::routes::{Answer, invalid};

impl State {
    pub(super) fn make_refund(&mut self, form: &Form) -> Answer {
        let text = |name: &str| form.get(name).map_or("", String::as_str);
        let of = text("payment_intent");
        let paid = self.sessions.iter().find(|session| {
            session.payment_status == "paid"
                && session
                    .payment
                    .as_ref()
                    .is_some_and(|payment| payment["id"] == of)
        });
        let Some(session) = paid.cloned() else {
            let message = format!("No such payment_intent: '{of}'");
            return invalid(404, "resource_missing", &message);
        };
        let earlier = self
            .refunds
            .iter()
            .filter(|refund| refund["payment_intent"] == of && refund["status"] != "failed");
        let refunded: i64 = earlier
            .map(|refund| refund["amount"].as_i64().unwrap())
            .sum();
        let left = session.amount() - refunded;
        let amount = match text("amount") {
            "" => left,
            given => match given.parse::<i64>() {
                Ok(amount) if amount > 0 => amount,
                _ => return invalid(400, "parameter_invalid_integer", "Invalid integer"),
            },
        };
        if left == 0 {
            let message = "Charge has already been refunded.";
            return invalid(400, "charge_already_refunded", message);
        }
        if amount > left {
            let message = "Refund amount is greater than unrefunded amount on charge";
            return invalid(400, "amount_too_large", message);
        }
        let refund = json!({
            "id": format!("re_{:024}", self.refunds.len()), "object": "refund", "amount": amount,
            "currency": session.currency(), "payment_intent": of, "created": self.now,
            "metadata": entries(form, "metadata"), "status": self.refund_status,
        });
        self.refunds.push(refund.clone());
        if self.refund_status == "succeeded" {
            self.pay_back(&refund);
        }
        (200, refund)
    }

    pub(super) fn settle_refunds(&mut self, status: &str, reason: Option<&str>) {
        let mut settled = Vec::new();
        for refund in &mut self.refunds {
            if refund["status"] == "pending" {
                refund["status"] = json!(status);
                refund["failure_reason"] = json!(reason);
                settled.push(refund.clone());
            }
        }
        if status == "succeeded" {
            settled.iter().for_each(|refund| self.pay_back(refund));
        }
    }

    fn pay_back(&self, refund: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.paid_back.write(LedgerEntry {
            reference: text(&refund["metadata"]["switchyard_reference"]),
            account: text(&refund["payment_intent"]),
            amount: refund["amount"].to_string(),
            currency: text(&refund["currency"]),
        });
    }
}
