//! Routes of the simulator, and their responses.

use std::collections::BTreeMap;

use axum::Router;
use axum::extract::{Path, Query, State as Shares};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::provider::{Kind, Offer, Paper, Refunded, State};
use super::shapes::{self, number};
use super::{KEY, Shared, checks, lock};

pub(super) fn router(shared: Shared) -> Router {
    let api = Router::new()
        .route("/payments", post(make_page))
        .route("/charges", post(make_charge))
        .route("/transactions", get(list_charges))
        .route("/transactions/verify_by_reference", get(by_reference))
        .route("/transactions/{id}/verify", get(by_id))
        .route("/transactions/{id}/refund", post(make_refund))
        .route("/refunds/{id}", get(show_refund))
        .route("/transfers", post(make_transfer).get(list_transfers))
        .route("/transfers/{id}", get(show_transfer))
        .route("/banks/{country}", get(banks))
        .with_state(shared);
    // Flutterwave's own client writes two slashes in some places.
    Router::new().nest("/v3", api.clone()).nest("//v3", api)
}

type Asked = Query<Vec<(String, String)>>;

async fn make_page(shares: Shares<Shared>, headers: HeaderMap, body: String) -> Response {
    taken(&headers, &body, |request, amount| {
        checks::page(request, amount)?;
        let mut state = lock(&shares);
        let minutes = request["session_duration"].as_i64().unwrap_or(30);
        let offer = Offer {
            is_page: true,
            ends: Some(state.now + minutes * 60),
            tries: request["max_retry_attempt"].as_u64().unwrap_or(u64::MAX),
            paper: paper(request, amount, "card"),
        };
        let id = state.next_id();
        state
            .taken
            .push((Kind::Page, offer.paper.reference.clone()));
        state.offers.insert(offer.paper.reference.clone(), offer);
        let link = format!("https://checkout.flutterwave.com/v3/hosted/pay/{id}");
        Ok(json!({ "status": "success", "message": "Hosted Link", "data": { "link": link } }))
    })
}

async fn make_charge(
    shares: Shares<Shared>,
    Query(asked): Asked,
    headers: HeaderMap,
    body: String,
) -> Response {
    let kind = one(&asked, "type");
    taken(&headers, &body, |request, amount| {
        checks::charge(&kind, request, amount)?;
        Ok(lock(&shares).take_charge(&kind, request, amount))
    })
}

async fn by_reference(shares: Shares<Shared>, Query(asked): Asked, headers: HeaderMap) -> Response {
    let tx_ref = one(&asked, "tx_ref");
    shown(&headers, || {
        let charge = lock(&shares).asked(|charge| charge.reference == tx_ref)?;
        Some(shapes::charge(&charge))
    })
}

async fn by_id(shares: Shares<Shared>, Path(id): Path<u64>, headers: HeaderMap) -> Response {
    shown(&headers, || {
        let charge = lock(&shares).asked(|charge| charge.id == id)?;
        Some(shapes::charge(&charge))
    })
}

async fn make_refund(
    shares: Shares<Shared>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    body: String,
) -> Response {
    taken(&headers, &body, |_, amount| {
        let mut state = lock(&shares);
        let paid = state.charges.iter().find(|charge| charge.id == id);
        let Some(paid) = paid.filter(|charge| charge.status == "successful").cloned() else {
            return Err("No transaction was found for this id".into());
        };
        let earlier = state.refunds.iter().filter(|refund| refund.of == id);
        let refunded: i64 = earlier.map(|refund| cents(&refund.amount)).sum();
        if refunded + cents(amount) > cents(&paid.amount) {
            return Err("Refund amount is more than what is left of the transaction".into());
        }
        let refund = Refunded {
            id: state.next_id(),
            of: id,
            amount: amount.to_owned(),
            status: "pending-momo",
        };
        state.taken.push((Kind::Refund, paid.reference));
        let data = shapes::refund(&refund);
        state.refunds.push(refund);
        Ok(json!({ "status": "success", "message": "Transaction refund initiated", "data": data }))
    })
}

/// Shows a refund, which is complete by the time of its query.
async fn show_refund(shares: Shares<Shared>, Path(id): Path<u64>, headers: HeaderMap) -> Response {
    shown(&headers, || {
        let mut state = lock(&shares);
        let refund = state.refunds.iter_mut().find(|refund| refund.id == id)?;
        refund.status = "completed-mpgs";
        Some(shapes::refund(refund))
    })
}

async fn make_transfer(shares: Shares<Shared>, headers: HeaderMap, body: String) -> Response {
    taken(&headers, &body, |request, amount| {
        checks::transfer(request, amount)?;
        let mut state = lock(&shares);
        let reference = request["reference"].as_str().unwrap_or_default();
        if state
            .transfers
            .iter()
            .any(|transfer| transfer.reference == reference)
        {
            return Err(format!(
                "Transfer with reference {reference} already exists"
            ));
        }
        let mut transfer = paper(request, amount, "");
        transfer.id = state.next_id();
        transfer.status = "NEW";
        transfer.settle_after = state.settle_after;
        transfer.created = state.now;
        state.taken.push((Kind::Transfer, reference.to_owned()));
        let data = shapes::transfer(&transfer);
        state.transfers.push(transfer);
        Ok(json!({ "status": "success", "message": "Transfer Queued Successfully", "data": data }))
    })
}

async fn list_transfers(
    shares: Shares<Shared>,
    Query(asked): Asked,
    headers: HeaderMap,
) -> Response {
    let reference = one(&asked, "reference");
    if reference.is_empty() {
        let all = lock(&shares).transfers.clone();
        return listed(&headers, &asked, &all, shapes::transfer);
    }
    shown(&headers, || {
        let found = lock(&shares).asked_transfer(|transfer| transfer.reference == reference);
        let found: Vec<Value> = found.iter().map(shapes::transfer).collect();
        Some(Value::Array(found))
    })
}

async fn list_charges(shares: Shares<Shared>, Query(asked): Asked, headers: HeaderMap) -> Response {
    let all = lock(&shares).charges.clone();
    listed(&headers, &asked, &all, shapes::charge)
}

async fn show_transfer(
    shares: Shares<Shared>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Response {
    shown(&headers, || {
        let found = lock(&shares).asked_transfer(|transfer| transfer.id == id);
        found.as_ref().map(shapes::transfer)
    })
}

async fn banks(Path(country): Path<String>, headers: HeaderMap) -> Response {
    shown(&headers, || {
        (country == "NG").then(|| json!([{ "id": 132, "code": "044", "name": "Access Bank" }]))
    })
}

impl State {
    /// A charge with a step of the payer becomes an offer, a charge that the network prompts for
    /// exists at once.
    fn take_charge(&mut self, kind: &str, request: &Value, amount: &str) -> Value {
        let mut paper = paper(request, amount, &kind.replace('_', ""));
        self.taken.push((Kind::Charge, paper.reference.clone()));
        let ends = (kind == "bank_transfer")
            .then(|| self.now + request["expires"].as_i64().unwrap_or(3_600));
        let authorization = match kind {
            "mobile_money_tanzania" | "mpesa" => Value::Null,
            "mobile_money_franco" => json!({ "mode": "callback", "redirect_url": null }),
            "bank_transfer" => json!({
                "transfer_reference": "MockFLWRef-1", "transfer_account": "0067100155", "transfer_bank": "Mock Bank",
                "account_expiration": ends.unwrap_or_default() * 1_000, "transfer_note": "Please make a bank transfer to Simulated Ltd",
                "transfer_amount": shapes::digits(amount), "mode": "banktransfer",
            }),
            "ussd" => json!({ "mode": "ussd", "note": "*566*002*4517159#" }),
            "qr" => json!({ "mode": "qr", "image": "data:image/png;base64,iVBORw0KGgo=" }),
            _ => {
                json!({ "mode": "redirect", "redirect": "https://ravemodal-dev.herokuapp.com/captcha/verify/1" })
            }
        };
        let is_there = matches!(
            kind,
            "mobile_money_tanzania" | "mpesa" | "mobile_money_franco" | "ussd"
        );
        let mut answer = json!({ "status": "success", "message": "Charge initiated" });
        if !authorization.is_null() {
            answer["meta"] = json!({ "authorization": authorization });
        }
        let is_left_to_payer = kind == "ussd" || !is_there;
        if is_left_to_payer {
            let offer = Offer {
                paper: paper.clone(),
                is_page: false,
                ends,
                tries: 1,
            };
            self.offers.insert(paper.reference.clone(), offer);
        }
        if is_there {
            paper.id = self.charge(paper.clone());
            paper.status = "pending";
            paper.created = self.now;
            answer["data"] = shapes::charge(&paper);
            // The network can be faster than the answer.
            if self.settle_after == 0 && !is_left_to_payer {
                self.settle(paper.id);
            }
        }
        answer
    }
}

fn paper(request: &Value, amount: &str, by: &str) -> Paper {
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| request[*name].as_str());
        found.unwrap_or_default().to_owned()
    };
    Paper {
        id: 0,
        reference: text(&["tx_ref", "reference"]),
        amount: amount.to_owned(),
        currency: text(&["currency"]),
        account: text(&["account_number", "phone_number"]),
        by: if by.is_empty() {
            text(&["account_bank"])
        } else {
            by.to_owned()
        },
        name: text(&["fullname", "beneficiary_name"]),
        status: "pending",
        words: "",
        settle_after: 0,
        hide_for: 0,
        created: 0,
    }
}

/// A request that makes something: its JSON, and its amount as it was written.
fn taken(
    headers: &HeaderMap,
    body: &str,
    make: impl FnOnce(&Value, &str) -> Result<Value, String>,
) -> Response {
    if let Some(refusal) = refuse_stranger(headers) {
        return refusal;
    }
    let read = serde_json::from_str::<Value>(body).ok();
    let fields = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(body);
    let amount = fields.ok().and_then(|mut fields| fields.remove("amount"));
    let made = match read.zip(amount) {
        None => Err("amount is required".to_owned()),
        Some((request, amount)) => make(&request, amount.get().trim_matches('"')),
    };
    match made {
        Ok(answer) => response(StatusCode::OK, &answer),
        Err(message) => error(StatusCode::BAD_REQUEST, &message),
    }
}

fn shown(headers: &HeaderMap, found: impl FnOnce() -> Option<Value>) -> Response {
    if let Some(refusal) = refuse_stranger(headers) {
        return refusal;
    }
    match found() {
        Some(data) => response(
            StatusCode::OK,
            &json!({ "status": "success", "message": "Fetched successfully", "data": data }),
        ),
        None => error(
            StatusCode::NOT_FOUND,
            "No transaction was found for this id",
        ),
    }
}

/// A page of ten, the newest first, of the days from `from` to `to`: days of Lagos, both included.
fn listed(
    headers: &HeaderMap,
    asked: &[(String, String)],
    all: &[Paper],
    shape: impl Fn(&Paper) -> Value,
) -> Response {
    if let Some(refusal) = refuse_stranger(headers) {
        return refusal;
    }
    let (from, to) = (one(asked, "from"), one(asked, "to"));
    let is_day = |day: &str| day.is_empty() || (day.len() == 10 && day.split('-').count() == 3);
    let page = match one(asked, "page").as_str() {
        "" => Some(1),
        text => text.parse().ok().filter(|page| *page > 0),
    };
    let Some(page) = page.filter(|_| is_day(&from) && is_day(&to)) else {
        return error(StatusCode::BAD_REQUEST, "Invalid query parameters");
    };
    let is_within = |paper: &&Paper| {
        let time = shapes::time(paper.created + LAGOS_S);
        let day = &time[..10];
        (from.is_empty() || day >= &from[..]) && (to.is_empty() || day <= &to[..])
    };
    let rows: Vec<&Paper> = all.iter().rev().filter(is_within).collect();
    let shown = rows.iter().skip((page - 1) * ROWS).take(ROWS);
    let shown: Vec<Value> = shown.map(|paper| shape(paper)).collect();
    let pages = rows.len().div_ceil(ROWS);
    let info = json!({ "total": rows.len(), "current_page": page, "total_pages": pages });
    response(
        StatusCode::OK,
        &json!({
            "status": "success", "message": "Fetched", "meta": { "page_info": info }, "data": shown,
        }),
    )
}

fn refuse_stranger(headers: &HeaderMap) -> Option<Response> {
    let given = headers
        .get(header::AUTHORIZATION)
        .map(|value| value.as_bytes());
    if given == Some(format!("Bearer {KEY}").as_bytes()) {
        return None;
    }
    Some(error(StatusCode::UNAUTHORIZED, "Invalid authorization key"))
}

fn error(status: StatusCode, message: &str) -> Response {
    response(
        status,
        &json!({ "status": "error", "message": message, "data": null }),
    )
}

fn response(status: StatusCode, answer: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json; charset=utf-8")];
    (status, json, number(answer)).into_response()
}

fn one(asked: &[(String, String)], name: &str) -> String {
    let found = asked.iter().find(|(given, _)| given == name);
    found.map(|(_, value)| value.clone()).unwrap_or_default()
}

fn cents(amount: &str) -> i64 {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    format!("{whole}{fraction:0<2}").parse().unwrap()
}

/// Rows of a page.
const ROWS: usize = 10;
/// Difference between the time of Lagos and UTC.
const LAGOS_S: i64 = 3_600;
