//! Payments: the request, and the payer's next step.

use serde_json::{Value, json};
use switchyard_gateway::{
    Collect, Context, DeclineReason, Fault, LogLevel, Outcome, Payer, PayerAction,
};

use crate::api::{Accepted, Api, Submitted};
use crate::charges::{Charge, HostedLink, prompt};
use crate::exact;
use crate::failures::PAYMENTS;
use crate::methods::{CollectMode, FRANCO, Method, RWANDA, ZAMBIA, ussd_bank};
use crate::{
    ACCOUNT_LASTS_S, AttemptState, Kind, PAGE_LASTS_S, duplicate, name, no_number, shortened,
};

/// A link to Flutterwave's page.
pub async fn page(api: &Api<'_>, method: &Method, ask: &Collect) -> Result<Outcome, Fault> {
    let email = email(&ask.payer)?;
    let mut customer = json!({ "email": email });
    if let Some(name) = name(&ask.payer) {
        customer["name"] = json!(name);
    }
    if let Some(number) = &ask.payer.msisdn {
        customer["phonenumber"] = json!(number);
    }
    let body = json!({
        "tx_ref": ask.reference,
        "currency": method.currency,
        "redirect_url": ask.return_url,
        "customer": customer,
        "payment_options": "card",
        "meta": { "transaction": ask.transaction },
        "customizations": { "title": ask.description },
        "session_duration": PAGE_LASTS_S / 60,
        "max_retry_attempt": CARDS_A_PAGE,
    });
    let body = exact::with_amount(&method.amount(&ask.amount)?, &body);
    let mut kept = AttemptState::new(api.cx, Kind::Charge);
    api.cx.set_state(&kept)?;
    match api
        .submit::<HostedLink>("/payments", body, PAYMENTS)
        .await?
    {
        Submitted::Ended(outcome) => Ok(outcome),
        Submitted::Accepted(Accepted { data, .. }) => {
            let Some(HostedLink { link }) = data else {
                return Ok(Outcome::unknown(
                    "Flutterwave made a payment without a link",
                ));
            };
            kept.is_shown = true;
            api.cx.set_state(&kept)?;
            Ok(Outcome::awaiting(PayerAction::Redirect { url: link }))
        }
        Submitted::Duplicate => charged_before(api, &ask.reference).await,
    }
}

/// A charge without Flutterwave's page.
pub async fn charge(
    api: &Api<'_>,
    method: &Method,
    way: CollectMode,
    ask: &Collect,
) -> Result<Outcome, Fault> {
    let mut body = json!({
        "tx_ref": ask.reference,
        "currency": method.currency,
        "email": email(&ask.payer)?,
        "meta": { "transaction": ask.transaction },
    });
    if let Some(name) = name(&ask.payer) {
        body["fullname"] = json!(shortened(&name));
    }
    if let Some(url) = &ask.return_url {
        body["redirect_url"] = json!(url);
    }
    if let Some(number) = &ask.payer.msisdn {
        body["phone_number"] = json!(number);
    }
    let kind = match details(method, way, ask, &mut body) {
        Ok(kind) => kind,
        Err(declined) => return Ok(*declined),
    };
    let body = exact::with_amount(&method.amount(&ask.amount)?, &body);
    let mut kept = AttemptState::new(api.cx, Kind::Charge);
    api.cx.set_state(&kept)?;
    let path = format!("/charges?type={kind}");
    match api.submit::<Charge>(&path, body, PAYMENTS).await? {
        Submitted::Ended(outcome) => Ok(outcome),
        Submitted::Accepted(accepted) => {
            kept.is_shown = true;
            kept.is_made = accepted.data.is_some();
            api.cx.set_state(&kept)?;
            Ok(begun(api.cx, way, ask, accepted))
        }
        Submitted::Duplicate => charged_before(api, &ask.reference).await,
    }
}

/// Additional fields of one kind of charge; its name, or the reason why it is impossible.
fn details(
    method: &Method,
    way: CollectMode,
    ask: &Collect,
    body: &mut Value,
) -> Result<&'static str, Box<Outcome>> {
    Ok(match way {
        CollectMode::Page | CollectMode::BankTransfer => {
            body["expires"] = json!(ACCOUNT_LASTS_S);
            body["is_permanent"] = json!(false);
            body["narration"] = json!(shortened(&ask.description));
            "bank_transfer"
        }
        CollectMode::Ussd => {
            let typed = ask.fields.get("account_bank").unwrap_or_default();
            let Some(bank) = ussd_bank(typed) else {
                let why = "This bank has no code to dial, or was not understood.";
                let declined = Outcome::declined(DeclineReason::InvalidAccount, why);
                let declined = declined.with_provider_code("no_such_bank");
                return Err(Box::new(declined.about_field("account_bank")));
            };
            body["account_bank"] = json!(bank);
            "ussd"
        }
        CollectMode::Qr => {
            body["is_nqr"] = json!("1");
            "qr"
        }
        CollectMode::Mobile(kind, network) => {
            let typed = ask.fields.get("msisdn").or(ask.payer.msisdn.as_deref());
            let Some(number) = method.msisdn(typed) else {
                return Err(Box::new(no_number()));
            };
            body["phone_number"] = json!(number);
            if let Some(network) = network {
                body["network"] = json!(network);
            }
            if kind == RWANDA || kind == ZAMBIA {
                body["order_id"] = json!(ask.reference);
            }
            if let (FRANCO, Some(country)) = (kind, method.country) {
                body["country"] = json!(country.alpha2);
            }
            kind
        }
    })
}

/// The charge is accepted: ended at once, or the payer goes on.
fn begun(cx: &Context, way: CollectMode, ask: &Collect, accepted: Accepted<Charge>) -> Outcome {
    let authorization = accepted.meta.and_then(|meta| meta.authorization);
    let mut id = None;
    if let Some(charge) = accepted.data {
        if charge.tx_ref != ask.reference {
            return Outcome::unknown(
                "Flutterwave answers about another payment than was asked for",
            );
        }
        if charge.status != "pending" {
            return charge.outcome();
        }
        id = charge.id;
    }
    let mut action = authorization.and_then(|authorization| authorization.action(&ask.amount));
    if action.is_none() && id.is_some() && matches!(way, CollectMode::Mobile(..)) {
        action = Some(prompt());
    }
    if action.is_none() {
        let line = "Flutterwave names no next step for the payer that this gateway knows";
        cx.log(LogLevel::Warn, line);
    }
    Outcome::Pending {
        provider_id: id,
        payer_action: action,
        poll_after: None,
        received: None,
    }
}

async fn charged_before(api: &Api<'_>, reference: &str) -> Result<Outcome, Fault> {
    duplicate(api.charge(reference).await?, Charge::outcome)
}

fn email(payer: &Payer) -> Result<&str, Fault> {
    let email = payer.email.as_deref().filter(|email| !email.is_empty());
    email.ok_or_else(|| Fault::config("Flutterwave takes no payment without the payer's email"))
}

const CARDS_A_PAGE: u32 = 3;
