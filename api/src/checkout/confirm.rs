//! Step 3: everything that matters once more, before money moves (WCAG 3.3.4).

use askama::Template;
use axum::response::Response;
use switchyard_core::charge::Charge;
use switchyard_core::directory::Category;
use switchyard_core::transaction::Refusal;
use switchyard_engine::engine::{ConfirmRequest, EngineError};
use switchyard_records::NewCustomer;

use super::again;
use super::answers::FormState;
use super::form::Form;
use super::form_fields::{ValidatedForm, check, needs, of_customer};
use super::menu::{PHONE, PaymentOption, country_name};
use super::page_context::{Frame, PageContext, Row};
use super::request::{CheckoutRequest, Selection};
use super::step::{Step, current_step};
use super::wait::masked_email;
use switchyard_core::directory::phone::masked;

#[derive(Template)]
#[template(path = "checkout/confirm.html")]
struct Page {
    frame: Frame,
    rows: Vec<Row>,
    next: String,
    action: String,
    hidden: Vec<(&'static str, String)>,
    pay: String,
    /// Label and URL of the link back.
    back: (String, String),
}

/// Form that is complete, for a way that works now.
struct Ready {
    answers: FormState,
    chosen: Selection,
    checked: ValidatedForm,
}

/// `GET /checkout/{id}/confirm?a=…`
pub async fn get(request: CheckoutRequest) -> Response {
    match ready(&request, request.answers()).await {
        Ok(ready) => {
            let agreed = Some(ready.chosen.way.price.amount);
            let answers = FormState {
                agreed,
                ..ready.answers.clone()
            };
            let Some(sealed) = request.seal(&answers) else {
                return request.unavailable();
            };
            page(
                &request.context,
                &ready.chosen,
                &ready.checked,
                &sealed,
                request.query("notice"),
            )
        }
        Err(elsewhere) => *elsewhere,
    }
}

/// `POST /checkout/{id}/confirm`: starts the attempt, once, however often the button was pressed.
pub async fn post(request: CheckoutRequest, form: Form) -> Response {
    let ready = match ready(&request, request.open(form.get("a"))).await {
        Ok(ready) => ready,
        Err(elsewhere) => return *elsewhere,
    };
    // The same form twice at once: the first one pays, the second goes to see how it fares.
    let Some(_lock) = request.try_lock() else {
        return request.context.go("wait", &[]);
    };
    // Read again under the lock: another tab may have confirmed.
    let request = match request.again().await {
        Ok(request) => request,
        Err(error_page) => return error_page,
    };
    if request.context.tx.attempts.len() != ready.answers.attempts {
        return request
            .context
            .go(current_step(&request.context).path(), &[]);
    }
    let answers = ready.answers.clone();
    let choice = choice(&request, ready);
    let seen = request.context.tx.clone();
    match request.engine().confirm_as_seen(seen, choice).await {
        Ok(tx) => {
            let mut request = request;
            request.context.tx = tx;
            let current_step = current_step(&request.context);
            if current_step == Step::Choosing && again::asks_again(&request).await {
                let answers = again::corrected(&request, answers);
                return request.go_with(&answers, "details");
            }
            request.context.go(current_step.path(), &[])
        }
        // The form judges by the same rules, and says so beside the field.
        Err(EngineError::FieldRefused { .. }) => {
            let answers = FormState {
                sent: true,
                ..answers
            };
            request.go_with(&answers, "details")
        }
        Err(EngineError::PriceChanged) => request.go_with_notice(&answers, "confirm", "price"),
        Err(EngineError::Refused(refusal)) if refusal != Refusal::Paused => {
            refused(&request.context, &refusal)
        }
        Err(error) => request.error_page(&error),
    }
}

/// The answers, if they can be acted on; otherwise the page that fits.
async fn ready(
    request: &CheckoutRequest,
    answers: Option<FormState>,
) -> Result<Ready, Box<Response>> {
    let context = &request.context;
    if current_step(context) != Step::Choosing {
        return Err(Box::new(context.go(current_step(context).path(), &[])));
    }
    let Some(answers) = answers.filter(|answers| answers.attempts == context.tx.attempts.len())
    else {
        return Err(Box::new(context.go("", &[("notice", "stale")])));
    };
    let Some(chosen) = request.chosen(&answers.method, &answers.country).await else {
        return Err(Box::new(context.go("", &[("notice", "method")])));
    };
    let needs = needs(context, &chosen.way, chosen.country);
    let checked = check(context, &chosen.way, chosen.country, &needs, &answers.given);
    if checked.errors.is_empty() {
        return Ok(Ready {
            answers,
            chosen,
            checked,
        });
    }
    let answers = FormState {
        sent: true,
        ..answers
    };
    Err(Box::new(request.go_with(&answers, "details")))
}

pub(super) fn page(
    context: &PageContext,
    chosen: &Selection,
    checked: &ValidatedForm,
    sealed: &str,
    notice: Option<&str>,
) -> Response {
    let price = &chosen.way.price;
    let written = context.visitor.language;
    let amount = price.amount.written(written);
    let method = &chosen.way.method;
    let mut rows = vec![
        context.row("confirm-amount", &amount).strong(),
        context.row("confirm-merchant", &context.app.name),
        context.row("confirm-for", &context.tx.description).prose(),
        context.row("confirm-method", context.method_name(&method.code)),
    ];
    let charge = Charge {
        amount: price.amount,
        due: price.amount,
        fee: None,
        asked: context.tx.amount,
        conversion: price.conversion.as_ref(),
    };
    for row in context.conversion_rows(&charge).into_iter().rev() {
        rows.insert(1, row);
    }
    // The page may be opened by anybody who has the link, and may not confirm a guess of the number
    // that the merchant gave: every number is masked.
    if let Some(number) = checked.values.get(PHONE) {
        rows.push(context.row("confirm-number", masked(number)).strong());
    }
    for need in needs(context, &chosen.way, chosen.country) {
        let given = checked.values.get(&need.name);
        if let Some(value) = given.filter(|_| need.name != PHONE) {
            rows.push(Row {
                value: match need.input.kind {
                    "tel" => masked(value),
                    _ => need.shown(value).to_owned(),
                },
                name: need.label,
                look: "",
                time: None,
                copies: None,
            });
        }
    }
    let country = country_name(chosen.country, context.visitor.language);
    rows.push(context.row("confirm-country", country));
    rows.push(context.row("confirm-email", masked_email(&context.tx.customer.email)));
    let notice = (notice == Some("price")).then(|| context.say("notice-price"));
    context.show(&Page {
        frame: context
            .frame_of_step("confirm-title", 3)
            .with_order(context.order(&charge))
            .with_notice(notice),
        rows,
        next: context.say(next(&chosen.way)),
        action: context.link("confirm", &[]),
        hidden: context.hidden(&[("a", sealed)]),
        pay: context.say_with("confirm-pay", &[("amount", &amount)]),
        back: back(context, chosen, checked, sealed),
    })
}

/// To the details; where nothing was asked there are none, and only the method can be changed.
fn back(
    context: &PageContext,
    chosen: &Selection,
    checked: &ValidatedForm,
    sealed: &str,
) -> (String, String) {
    if checked.values.is_empty() {
        let home = context.link("", &[("country", chosen.country.alpha2)]);
        return (context.say("confirm-back-method"), home);
    }
    let details = context.link("details", &[("a", sealed)]);
    (context.say("confirm-back"), details)
}

/// Note about the step after the button.
fn next(way: &PaymentOption) -> &'static str {
    match way.method.category {
        _ if way.is_test => "next-test",
        Category::MobileMoney => "next-phone",
        Category::Card | Category::Wallet => "next-provider",
        Category::BankTransfer
        | Category::Qr
        | Category::Ussd
        | Category::Crypto
        | Category::Test => "next-instructions",
    }
}

fn choice(request: &CheckoutRequest, ready: Ready) -> ConfirmRequest {
    let customer = &request.context.tx.customer;
    let given = ready.checked.values;
    let alpha2 = ready.chosen.country.alpha2.to_owned();
    let mut fields = given.clone();
    // A field of the customer that the gateway asks for is passed on from either source.
    for asked in &ready.chosen.way.asks {
        let known = match asked.name.as_str() {
            "country" => Some(alpha2.as_str()),
            name => of_customer(customer, name),
        };
        if let Some(known) = known {
            fields
                .entry(asked.name.clone())
                .or_insert_with(|| known.to_owned());
        }
    }
    let value = |name: &str| given.get(name).cloned();
    // Where the request comes from is most often not known; where the payer says they pay from is.
    let mut client = request.client_context();
    client.country.get_or_insert_with(|| alpha2.clone());
    ConfirmRequest {
        method: ready.answers.method,
        country: Some(alpha2),
        phone: value(PHONE),
        missing: NewCustomer {
            first_name: customer.first_name.clone(),
            last_name: customer.last_name.clone(),
            email: customer.email.clone(),
            phone: value("phone"),
            address: value("address"),
            city: value("city"),
            state: value("state"),
            country_code: None,
            zip_code: value("zip"),
        },
        fields,
        agreed: ready.answers.agreed,
        context: client,
    }
}

/// The engine said no, and nothing was begun: to the page that fits, with a word where the payer
/// has to choose again.
fn refused(context: &PageContext, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::AttemptUnderWay => context.go("wait", &[]),
        Refusal::AlreadyEnded(_) | Refusal::Expired => context.go("result", &[]),
        _ => context.go("", &[("notice", "method")]),
    }
}
