//! docs/contract/resources.md as tables, and a check that an answer has every field of them
//! with its type.

use serde_json::Value;

/// One line a field: its path, and its type; `?` after a type: or null. Fields below an object that
/// is null are skipped.
pub fn check(data: &Value, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (path, kind) = line
            .split_once(char::is_whitespace)
            .expect("a path and a type");
        let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
        let parent = parent
            .split('.')
            .filter(|part| !part.is_empty())
            .fold(data, |value, part| &value[part]);
        if parent.is_null() {
            continue;
        }
        let value = parent
            .get(name)
            .unwrap_or_else(|| panic!("{path} is missing in {data:#}"));
        let kind = kind.trim();
        let fits = match kind.strip_suffix('?') {
            Some(kind) => value.is_null() || is(value, kind),
            None => is(value, kind),
        };
        assert!(fits, "{path} is {value}, not {kind}");
    }
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "text" => value.as_str().is_some_and(|text| !text.is_empty()),
        "url" => value.as_str().is_some_and(|text| text.starts_with("http")),
        "number" => value.is_number(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "time" => value.as_str().is_some_and(is_time),
        "environment" => value == "sandbox" || value == "live",
        other => panic!("{other} is no type of these tables"),
    }
}

/// `2026-11-20T10:00:00.000000Z`
fn is_time(text: &str) -> bool {
    let form = "dddd-dd-ddTdd:dd:dd.ddddddZ";
    let fits = |(c, f): (char, char)| if f == 'd' { c.is_ascii_digit() } else { c == f };
    text.len() == form.len() && text.chars().zip(form.chars()).all(fits)
}

pub const PAYMENT_VERIFIED: &str = "
    id                text
    status            text
    is_processed      boolean
    processed_at      time?
    amount            number
    amount_formatted  text
    currency          object
    description       text
    attention         text?
    return_url        url
    environment       environment
    initiated_at      time
    created_at        time
    app               object
    customer          object
    metadata          object
    capture           object?
    amount_received            number?
    amount_received_formatted  text?
    currency_received          text?
";

pub const PAYMENT_RETRIEVED: &str = "
    id                    text
    status                text
    is_processed          boolean
    processed_at          time?
    amount                number
    amount_formatted      text
    currency              text
    description           text
    attention         text?
    return_url            url
    environment           environment
    initiated_at          time
    created_at            time
    pending_at            time?
    success_at            time?
    failed_at             time?
    cancelled_at          time?
    failure_message       text?
    failure_error_code    text?
    failure_error_type    text?
    capture               object?
    checkout_url          url
    payment_phone_number  string
    app                   object
    app.id                text
    app.name              text
    app.icon_url          url
    customer              object
    customer.environment  environment
    method                object?
    gateway               object?
    metadata              object
    context               object
";

pub const PAYOUT_VERIFIED: &str = "
    id                text
    status            text
    amount            number
    currency          object
    amount_formatted  text
    description       text
    attention         text?
    amount_sent            number?
    amount_sent_formatted  text?
    currency_sent          text?
    environment       environment
    metadata          object
    app               object
    customer          object
    disburse          object?
    failed_at         time?
    pending_at        time?
    success_at        time?
    disburse.id                   text
    disburse.identifier           text
    disburse.failure_message      text?
    disburse.failure_error_code   text?
    disburse.failure_error_type   text?
    disburse.method               object
    disburse.gateway              object
";

pub const PAYOUT_RETRIEVED: &str = "
    id                    text
    status                text
    is_processed          boolean
    processed_at          time?
    amount                number
    amount_formatted      text
    currency              text
    description           text
    attention         text?
    amount_sent            number?
    amount_sent_formatted  text?
    currency_sent          text?
    environment           environment
    initiated_at          time
    created_at            time
    pending_at            time?
    success_at            time?
    failed_at             time?
    failure_message       text?
    failure_error_code    text?
    failure_error_type    text?
    disburse              object?
    payout_phone_number   text
    app                   object
    customer              object
    customer.environment  environment
    method                object
    gateway               object?
    metadata              object
    context               object
";

pub const CAPTURE: &str = "
    identifier          text
    rate                number?
    rate_formatted      text?
    correction_rate     number?
    phone_number        string
    failure_message     text?
    failure_error_code  text?
    failure_error_type  text?
    metadata            object
    metadata.network_transaction_id   text?
    metadata.amount_debited           number?
    metadata.commission               number?
    metadata.fees                     number?
    metadata.selected_payment_method  text?
    amount              number
    amount_formatted    text
    currency            object
    method              object
    gateway             object
    context             object
";

pub const METHOD_VERIFIED: &str = "
    id          text
    name        text
    short_code  text
    icon_url    url
";

pub const GATEWAY_VERIFIED: &str = "
    id                           text
    account_name                 text
    name                         text
    short_code                   text
    icon_url                     url
    transaction_id               string
    transaction_status           text
    transaction_failure_message  string?
";

pub const METHOD_RETRIEVED: &str = "
    name         text
    code         text
    icon_url     url
    environment  environment
";

pub const GATEWAY_RETRIEVED: &str = "
    name          text
    account_name  text
    code          text
    icon_url      url
    environment   environment
";

pub const CUSTOMER: &str = "
    id            text
    first_name    text
    last_name     text
    email         text
    phone         text?
    address       text?
    city          text?
    state         text?
    country_code  text?
    country       text?
    zip_code      text?
    created_at    time
    updated_at    time
";

pub const APP_VERIFIED: &str = "
    id           text
    name         text
    icon_url     url
    website_url  string
    created_at   time
    updated_at   time
    is_enabled   boolean
";

pub const CURRENCY: &str = "
    code                 text
    name                 text
    name_plural          text
    symbol               text
    symbol_native        text
    subunit              text
    decimal_mark         text
    thousands_separator  text
    icon_url             url
    symbol_first         boolean
    decimals             integer
    decimal_digits       integer
    rounding             integer
    subunit_to_unit      integer
";

pub const CONTEXT_VERIFIED: &str = "
    ip                      string
    user_agent              object
    user_agent.is_desktop   boolean
    user_agent.is_robot     boolean
    user_agent.platform     string
    user_agent.browser      string
    user_agent.version      string
    user_agent.device       string
    user_agent.is_mobile    boolean
    user_agent.is_phone     boolean
    user_agent.is_tablet    boolean
    user_agent.is_ios       boolean
    user_agent.is_android   boolean
    country                 object?
    country.name            text
    country.code            text
    country.alpha_3_code    text
    country.dial_code       text
    country.currency        text
    country.currency_symbol text
    country.flag            text
    local                   text
";

pub const CONTEXT_RETRIEVED: &str = "
    ip          string
    user_agent  string
    country     string
    local       text
";

pub const METHOD_IN_LIST: &str = "
    name         text
    code         text
    short_code   text
    description  text
    icon_url     url
    is_enabled   boolean
    currency     object
    currency.code      text
    currency.name      text
    currency.symbol    text
    currency.icon_url  url
";
