//! Answers as Flutterwave writes them. Amounts are numbers there, and no double here: they are
//! marked, and written digit by digit.

use serde_json::{Value, json};
use switchyard_testkit::Moment;

use super::provider::{Paper, Refunded};

/// An amount that [`number`] writes as the number it is.
pub fn digits(amount: &str) -> Value {
    json!(format!("@{amount}@"))
}

/// As Flutterwave writes it.
pub fn time(seconds: i64) -> String {
    let moment = Moment::from_unix_seconds(seconds).unwrap();
    moment.to_string().replace('Z', ".000Z")
}

/// The JSON's text, with what [`digits`] marked as numbers.
pub fn number(json: &Value) -> String {
    json.to_string().replace("\"@", "").replace("@\"", "")
}

pub fn charge(charge: &Paper) -> Value {
    json!({
        "id": charge.id, "tx_ref": charge.reference, "flw_ref": format!("FLW-MOCK-{}", charge.id), "device_fingerprint": "N/A",
        "amount": digits(&charge.amount), "charged_amount": digits(&charge.amount), "app_fee": digits("0.875"), "merchant_fee": 0,
        "currency": charge.currency, "processor_response": charge.words, "auth_model": "PIN", "ip": "197.210.64.96",
        "narration": "CARD Transaction", "status": charge.status, "payment_type": charge.by, "charge_type": "normal",
        "created_at": time(charge.created), "account_id": 17_321, "meta": null,
        "customer": { "id": 1, "name": charge.name, "phone_number": charge.account, "email": "a@b.co", "created_at": CREATED },
    })
}

pub fn transfer(transfer: &Paper) -> Value {
    json!({
        "id": transfer.id, "account_number": transfer.account, "bank_code": transfer.by, "full_name": transfer.name,
        "created_at": time(transfer.created),
        "currency": transfer.currency, "debit_currency": transfer.currency,
        "amount": digits(&transfer.amount), "fee": digits("1.0"), "status": transfer.status, "reference": transfer.reference,
        "meta": null, "narration": "payout", "complete_message": transfer.words, "requires_approval": 0, "is_approved": 1,
        "bank_name": "FA-BANK",
    })
}

pub fn refund(refund: &Refunded) -> Value {
    json!({
        "id": refund.id, "account_id": 17_321, "tx_id": refund.of, "flw_ref": format!("FLW-MOCK-{}", refund.of),
        "amount_refunded": digits(&refund.amount), "status": refund.status, "destination": "payment_source",
        "meta": { "source": "availablebalance" }, "created_at": CREATED,
    })
}

const CREATED: &str = "2026-11-20T10:00:00.000Z";
