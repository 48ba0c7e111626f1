//! Requests that Flutterwave refuses at once.

use serde_json::Value;

/// A payment's request: the message of the refusal.
pub fn page(request: &Value, amount: &str) -> Result<(), String> {
    known(
        request,
        &[
            "tx_ref",
            "amount",
            "currency",
            "redirect_url",
            "customer",
            "payment_options",
            "meta",
            "customizations",
            "session_duration",
            "max_retry_attempt",
        ],
    )?;
    for name in ["tx_ref", "currency", "redirect_url"] {
        required(request, name)?;
    }
    positive(amount)?;
    if !email(&request["customer"]["email"]) {
        return Err("customer.email is required".into());
    }
    if !request["redirect_url"]
        .as_str()
        .is_some_and(|url| url.starts_with("http"))
    {
        return Err("redirect_url must be a URL".into());
    }
    Ok(())
}

/// A charge's request, by its type.
pub fn charge(kind: &str, request: &Value, amount: &str) -> Result<(), String> {
    let row = KINDS.iter().find(|(name, ..)| *name == kind);
    let (_, currencies, own, networks) = row.ok_or("type is not supported")?;
    let mut names = COMMON.to_vec();
    names.extend_from_slice(own);
    known(request, &names)?;
    for name in ["tx_ref", "currency"] {
        required(request, name)?;
    }
    positive(amount)?;
    if !email(&request["email"]) {
        return Err("email is required".into());
    }
    let currency = request["currency"].as_str().unwrap_or_default();
    if !currencies.contains(&currency) {
        return Err(format!("currency {currency} is not supported for {kind}"));
    }
    if let Some(network) = request["network"].as_str()
        && !networks.contains(&network)
    {
        return Err(format!("network {network} is not supported"));
    }
    let is_mobile = kind.starts_with("mobile") || kind == "mpesa";
    if is_mobile && !digits(&request["phone_number"]) {
        return Err("phone_number is required".into());
    }
    for name in MUST
        .iter()
        .filter(|(of, _)| *of == kind)
        .map(|(_, name)| name)
    {
        required(request, name)?;
    }
    Ok(())
}

pub fn transfer(request: &Value, amount: &str) -> Result<(), String> {
    known(
        request,
        &[
            "account_bank",
            "account_number",
            "amount",
            "currency",
            "debit_currency",
            "narration",
            "reference",
            "callback_url",
            "beneficiary_name",
            "meta",
        ],
    )?;
    for name in [
        "account_bank",
        "account_number",
        "currency",
        "reference",
        "beneficiary_name",
    ] {
        required(request, name)?;
    }
    positive(amount)?;
    let too_long = |name: &&str| {
        request[*name]
            .as_str()
            .is_some_and(|text| text.chars().count() > 100)
    };
    if let Some(name) = ["narration", "beneficiary_name"]
        .iter()
        .find(|name| too_long(name))
    {
        return Err(format!("{name} must be 100 characters or less"));
    }
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let banks = BANKS
        .iter()
        .find(|(currency, _)| *currency == text("currency"));
    let (_, banks) = banks.ok_or("currency is not supported")?;
    if !banks.contains(&text("account_bank")) {
        return Err(format!("Invalid account_bank {}", text("account_bank")));
    }
    if !digits(&request["account_number"]) {
        return Err("Invalid account number".into());
    }
    if text("currency") == "KES" && request["meta"]["mobile_number"].is_null() {
        return Err("meta.mobile_number is required".into());
    }
    Ok(())
}

fn known(request: &Value, names: &[&str]) -> Result<(), String> {
    let given = request.as_object().ok_or("the body is no object")?;
    match given
        .iter()
        .find(|(name, value)| !names.contains(&name.as_str()) || value.is_null())
    {
        Some((name, _)) => Err(format!("{name} is not allowed")),
        None => Ok(()),
    }
}

fn required(request: &Value, name: &str) -> Result<(), String> {
    match request[name].as_str() {
        Some(text) if !text.is_empty() && text.len() <= 255 => Ok(()),
        _ => Err(format!("{name} is required")),
    }
}

fn positive(amount: &str) -> Result<(), String> {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_zero = amount.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if is_number(whole) && is_number(fraction) && !is_zero {
        Ok(())
    } else {
        Err("amount must be a positive number".into())
    }
}

fn email(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.split_once('@')
        .and_then(|(_, host)| host.rsplit_once('.'))
        .is_some_and(|(_, end)| end.len() > 1)
}

fn digits(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() > 7 && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

const COMMON: [&str; 11] = [
    "tx_ref",
    "amount",
    "currency",
    "email",
    "phone_number",
    "fullname",
    "redirect_url",
    "client_ip",
    "device_fingerprint",
    "meta",
    "billing_zip",
];
/// Type, currencies, fields of its own, networks.
type Kinds = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);
const KINDS: &[Kinds] = &[
    (
        "mobile_money_ghana",
        &["GHS"],
        &["network", "voucher"],
        &["MTN", "AIRTELTIGO", "VODAFONE"],
    ),
    (
        "mobile_money_uganda",
        &["UGX"],
        &["network", "voucher"],
        &["MTN", "AIRTEL"],
    ),
    (
        "mobile_money_rwanda",
        &["RWF"],
        &["network", "order_id"],
        &["MTN", "AIRTEL"],
    ),
    (
        "mobile_money_zambia",
        &["ZMW"],
        &["network", "order_id"],
        &["MTN", "AIRTEL", "ZAMTEL"],
    ),
    (
        "mobile_money_tanzania",
        &["TZS"],
        &["network"],
        &["HALOPESA", "AIRTEL", "TIGO", "VODACOM"],
    ),
    (
        "mobile_money_franco",
        &["XAF", "XOF"],
        &["network", "country"],
        &["WAVE", "MTN", "ORANGEMONEY"],
    ),
    ("mpesa", &["KES"], &["network"], &["SAFARICOM", "AIRTEL"]),
    (
        "bank_transfer",
        &["NGN"],
        &["expires", "is_permanent", "narration"],
        &[],
    ),
    ("ussd", &["NGN"], &["account_bank"], &[]),
    ("qr", &["NGN"], &["is_nqr"], &[]),
];
const MUST: &[(&str, &str)] = &[
    ("mobile_money_rwanda", "order_id"),
    ("mobile_money_franco", "country"),
    ("ussd", "account_bank"),
    ("qr", "is_nqr"),
];
const BANKS: &[(&str, &[&str])] = &[
    ("GHS", &["MTN", "VODAFONE", "AIRTELTIGO"]),
    ("UGX", &["MTN", "AIRTEL", "MPS"]),
    ("RWF", &["MTN", "MPS"]),
    ("ZMW", &["MPS"]),
    ("KES", &["MPS"]),
    ("XAF", &["MTN", "ORANGEMONEY"]),
    (
        "XOF",
        &["MTN", "FMM", "MOOV", "ORANGE", "ORANGEMONEY", "WAVE"],
    ),
    ("TZS", &["AIRTEL", "HALOPESA", "TIGO", "VODACOM"]),
    ("MWK", &["AIRTELMW"]),
];
