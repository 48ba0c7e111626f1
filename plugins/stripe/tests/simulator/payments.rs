//! Sessions and the payments behind them.

use serde_json::{Value, json};
use switchyard_testkit::LedgerEntry;

use super::State;
use super::form::{Form, entries};

/// Published test cards: number, code, decline code. Both empty: it pays.
#[rustfmt::skip]
pub const CARDS: &[(&str, &str, &str)] = &[
    ("4242424242424242", "", ""),
    ("4000000000000002", "card_declined", "generic_decline"),
    ("4000000000009995", "card_declined", "insufficient_funds"),
    ("4000000000009987", "card_declined", "lost_card"),
    ("4000000000009979", "card_declined", "stolen_card"),
    ("4000000000006975", "card_declined", "card_velocity_exceeded"),
    ("4000000000000069", "expired_card", ""),
    ("4000000000000127", "incorrect_cvc", ""),
    ("4000000000000119", "processing_error", ""),
];

#[derive(Clone, Debug)]
pub struct Session {
    pub id: String,
    /// As it was asked for.
    pub request: Form,
    pub created: i64,
    pub status: &'static str,
    pub payment_status: &'static str,
    pub payment: Option<Value>,
}

impl Session {
    pub fn reference(&self) -> &str {
        self.request
            .get("client_reference_id")
            .map_or("", String::as_str)
    }

    pub fn text(&self, name: &str) -> &str {
        self.request.get(name).map_or("", String::as_str)
    }

    pub fn amount(&self) -> i64 {
        let unit: i64 = self
            .text("line_items[0][price_data][unit_amount]")
            .parse()
            .unwrap();
        unit * self
            .text("line_items[0][quantity]")
            .parse::<i64>()
            .unwrap_or(1)
    }

    pub fn currency(&self) -> &str {
        self.text("line_items[0][price_data][currency]")
    }

    pub fn shown(&self, is_expanded: bool) -> Value {
        let payment = match &self.payment {
            Some(payment) if is_expanded => payment.clone(),
            Some(payment) => payment["id"].clone(),
            None => Value::Null,
        };
        let is_open = self.status == "open";
        let url = is_open.then(|| format!("https://checkout.stripe.com/c/pay/{}#fidkdWx", self.id));
        let expires_at = match self.text("expires_at") {
            "" => self.created + 24 * 60 * 60,
            given => given.parse().unwrap(),
        };
        json!({
            "id": self.id, "object": "checkout.session", "mode": "payment", "livemode": false,
            "amount_subtotal": self.amount(), "amount_total": self.amount(), "currency": self.currency(),
            "client_reference_id": self.reference(), "metadata": entries(&self.request, "metadata"),
            "created": self.created, "expires_at": expires_at,
            "customer_email": self.request.get("customer_email"),
            "payment_method_types": ["card"], "success_url": self.text("success_url"),
            "cancel_url": self.text("cancel_url"), "status": self.status, "payment_status": self.payment_status,
            "payment_intent": payment, "url": url,
        })
    }
}

impl State {
    pub(super) fn session(&mut self, id: &str) -> Option<&mut Session> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    pub(super) fn open(&mut self, request: Form) -> Value {
        let id = format!("cs_test_a1{:030}", self.sessions.len());
        let session = Session {
            id,
            request,
            created: self.now,
            status: "open",
            payment_status: "unpaid",
            payment: None,
        };
        let shown = session.shown(false);
        self.sessions.push(session);
        shown
    }

    pub(super) fn pay(&mut self, id: &str, number: &str) {
        let card = CARDS.iter().find(|(known, ..)| *known == number);
        let (_, code, decline_code) = card.expect("a published test card");
        let Some(payment) = self.attempt(id) else {
            return;
        };
        if !code.is_empty() {
            payment["status"] = json!("requires_payment_method");
            payment["last_payment_error"] = json!({
                "type": "card_error", "code": code, "message": format!("The simulator's {code}."),
            });
            if !decline_code.is_empty() {
                payment["last_payment_error"]["decline_code"] = json!(decline_code);
            }
            return self.tell_payment(id, "payment_intent.payment_failed");
        }
        payment["status"] = json!("succeeded");
        payment["last_payment_error"] = Value::Null;
        self.tell_payment(id, "payment_intent.succeeded");
        self.complete(id, "paid");
        self.take(id);
        self.tell_session(id, "checkout.session.completed");
    }

    pub(super) fn pay_later(&mut self, id: &str) {
        let Some(payment) = self.attempt(id) else {
            return;
        };
        payment["status"] = json!("processing");
        self.complete(id, "unpaid");
        self.tell_session(id, "checkout.session.completed");
    }

    pub(super) fn settle_later(&mut self, id: &str, came: bool) {
        let Some(session) = self.session(id) else {
            return;
        };
        let payment = session.payment.as_mut().expect("it was begun");
        if came {
            payment["status"] = json!("succeeded");
            session.payment_status = "paid";
            self.take(id);
            self.tell_session(id, "checkout.session.async_payment_succeeded");
        } else {
            payment["status"] = json!("requires_payment_method");
            payment["last_payment_error"] = json!({
                "type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds", "message": "Too little.",
            });
            self.tell_session(id, "checkout.session.async_payment_failed");
        }
    }

    pub(super) fn expire(&mut self, id: &str) {
        let Some(session) = self.session(id) else {
            return;
        };
        if session.status == "open" {
            session.status = "expired";
            self.tell_session(id, "checkout.session.expired");
        }
    }

    /// The payment behind an open session, made on the first attempt.
    fn attempt(&mut self, id: &str) -> Option<&mut Value> {
        let number = self.sessions.iter().position(|session| session.id == id)?;
        let session = &mut self.sessions[number];
        if session.status != "open" {
            return None;
        }
        let new = json!({
            "id": format!("pi_{number:024}"), "object": "payment_intent", "amount": session.amount(),
            "currency": session.currency(), "status": "requires_confirmation", "last_payment_error": null,
            "metadata": entries(&session.request, "payment_intent_data[metadata]"),
        });
        Some(session.payment.get_or_insert(new))
    }

    fn complete(&mut self, id: &str, payment_status: &'static str) {
        if let Some(session) = self.session(id) {
            session.status = "complete";
            session.payment_status = payment_status;
        }
    }

    fn take(&mut self, id: &str) {
        let Some(session) = self.session(id).cloned() else {
            return;
        };
        self.books.write(LedgerEntry {
            reference: session.reference().to_owned(),
            account: session.text("customer_email").to_owned(),
            amount: session.amount().to_string(),
            currency: session.currency().to_owned(),
        });
    }

    fn tell_session(&mut self, id: &str, kind: &str) {
        if let Some(session) = self.session(id).cloned() {
            self.tell(session.reference(), kind, session.shown(false));
        }
    }

    fn tell_payment(&mut self, id: &str, kind: &str) {
        if let Some(session) = self.session(id).cloned() {
            let payment = session.payment.clone().unwrap_or_default();
            self.tell(session.reference(), kind, payment);
        }
    }
}
