//! Step 3: everything that matters once more, before money moves (WCAG 3.3.4).

use askama::Template;
use axum::response::Response;
use switchyard_engine::charge::Charge;
use switchyard_engine::directory::Category;
use switchyard_engine::engine::{Choice, EngineError};
use switchyard_engine::records::NewCustomer;
use switchyard_engine::transaction::Refusal;

use super::again;
use super::answers::Answers;
use super::form::Form;
use super::menu::{PHONE, Way, country_name};
use super::needs::{Checked, check, needs, of_customer};
use super::scene::{Frame, Row, Scene};
use super::stand::{Stand, stand};
use super::visit::{Chosen, Visit};
use super::wait::{masked, masked_email};

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

/// Answers that are complete, for a way that works now.
struct Ready {
    answers: Answers,
    chosen: Chosen,
    checked: Checked,
}

/// `GET /checkout/{id}/confirm?a=…`
pub async fn get(visit: Visit) -> Response {
    match ready(&visit, visit.answers()).await {
        Ok(ready) => {
            let agreed = Some(ready.chosen.way.price.amount);
            let answers = Answers {
                agreed,
                ..ready.answers.clone()
            };
            let Some(sealed) = visit.seal(&answers) else {
                return visit.unavailable();
            };
            page(
                &visit.scene,
                &ready.chosen,
                &ready.checked,
                &sealed,
                visit.query("notice"),
            )
        }
        Err(elsewhere) => *elsewhere,
    }
}

/// `POST /checkout/{id}/confirm`: starts the attempt, once, however often the button was pressed.
pub async fn post(visit: Visit, form: Form) -> Response {
    let ready = match ready(&visit, visit.open(form.get("a"))).await {
        Ok(ready) => ready,
        Err(elsewhere) => return *elsewhere,
    };
    // The same form twice at once: the first one pays, the second goes to see how it fares.
    let Some(_alone) = visit.alone() else {
        return visit.scene.go("wait", &[]);
    };
    // Read again under the lock: another tab may have confirmed.
    let visit = match visit.again().await {
        Ok(visit) => visit,
        Err(trouble) => return trouble,
    };
    if visit.scene.tx.attempts.len() != ready.answers.attempts {
        return visit.scene.go(stand(&visit.scene).step(), &[]);
    }
    let answers = ready.answers.clone();
    let choice = choice(&visit, ready);
    let seen = visit.scene.tx.clone();
    match visit.engine().confirm_as_seen(seen, choice).await {
        Ok(tx) => {
            let mut visit = visit;
            visit.scene.tx = tx;
            let stand = stand(&visit.scene);
            if stand == Stand::Choosing && again::asks_again(&visit).await {
                let answers = again::corrected(&visit, answers);
                return visit.go_with(&answers, "details");
            }
            visit.scene.go(stand.step(), &[])
        }
        // The form judges by the same rules, and says so beside the field.
        Err(EngineError::FieldRefused { .. }) => {
            let answers = Answers {
                sent: true,
                ..answers
            };
            visit.go_with(&answers, "details")
        }
        Err(EngineError::PriceChanged) => visit.go_with_notice(&answers, "confirm", "price"),
        Err(EngineError::Refused(refusal)) if refusal != Refusal::Paused => {
            refused(&visit.scene, &refusal)
        }
        Err(error) => visit.trouble(&error),
    }
}

/// The answers, if they can be acted on; otherwise the page that fits.
async fn ready(visit: &Visit, answers: Option<Answers>) -> Result<Ready, Box<Response>> {
    let scene = &visit.scene;
    if stand(scene) != Stand::Choosing {
        return Err(Box::new(scene.go(stand(scene).step(), &[])));
    }
    let Some(answers) = answers.filter(|answers| answers.attempts == scene.tx.attempts.len())
    else {
        return Err(Box::new(scene.go("", &[("notice", "stale")])));
    };
    let Some(chosen) = visit.chosen(&answers.method, &answers.country).await else {
        return Err(Box::new(scene.go("", &[("notice", "method")])));
    };
    let needs = needs(scene, &chosen.way, chosen.country);
    let checked = check(scene, &chosen.way, chosen.country, &needs, &answers.given);
    if checked.errors.is_empty() {
        return Ok(Ready {
            answers,
            chosen,
            checked,
        });
    }
    let answers = Answers {
        sent: true,
        ..answers
    };
    Err(Box::new(visit.go_with(&answers, "details")))
}

pub(super) fn page(
    scene: &Scene,
    chosen: &Chosen,
    checked: &Checked,
    sealed: &str,
    notice: Option<&str>,
) -> Response {
    let price = &chosen.way.price;
    let written = scene.visitor.language.written();
    let amount = price.amount.written(written);
    let method = &chosen.way.method;
    let mut rows = vec![
        scene.row("confirm-amount", &amount).strong(),
        scene.row("confirm-merchant", &scene.app.name),
        scene.row("confirm-for", &scene.tx.description),
        scene.row("confirm-method", scene.method_name(&method.code)),
    ];
    let charge = Charge {
        amount: price.amount,
        due: price.amount,
        fee: None,
        asked: scene.tx.amount,
        conversion: price.conversion.as_ref(),
    };
    for row in scene.conversion_rows(&charge).into_iter().rev() {
        rows.insert(1, row);
    }
    // The page may be opened by anybody who has the link, and may not confirm a guess of the number
    // that the merchant gave: every number is masked.
    if let Some(number) = checked.values.get(PHONE) {
        rows.push(scene.row("confirm-number", masked(number)).strong());
    }
    for need in needs(scene, &chosen.way, chosen.country) {
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
    let country = country_name(chosen.country, scene.visitor.language);
    rows.push(scene.row("confirm-country", country));
    rows.push(scene.row("confirm-email", masked_email(&scene.tx.customer.email)));
    let notice = (notice == Some("price")).then(|| scene.say("notice-price"));
    scene.show(&Page {
        frame: scene
            .frame_of_step("confirm-title", 3)
            .with_order(scene.order(&charge))
            .with_notice(notice),
        rows,
        next: scene.say(next(&chosen.way)),
        action: scene.link("confirm", &[]),
        hidden: scene.hidden(&[("a", sealed)]),
        pay: scene.say_with("confirm-pay", &[("amount", &amount)]),
        back: back(scene, chosen, checked, sealed),
    })
}

/// To the details; where nothing was asked there are none, and only the method can be changed.
fn back(scene: &Scene, chosen: &Chosen, checked: &Checked, sealed: &str) -> (String, String) {
    if checked.values.is_empty() {
        let home = scene.link("", &[("country", chosen.country.alpha2)]);
        return (scene.say("confirm-back-method"), home);
    }
    let details = scene.link("details", &[("a", sealed)]);
    (scene.say("confirm-back"), details)
}

/// Note about the step after the button.
fn next(way: &Way) -> &'static str {
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

fn choice(visit: &Visit, ready: Ready) -> Choice {
    let customer = &visit.scene.tx.customer;
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
    let mut context = visit.client_context();
    context.country.get_or_insert_with(|| alpha2.clone());
    Choice {
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
        context,
    }
}

/// The engine said no, and nothing was begun: to the page that fits, with a word where the payer has to choose again.
fn refused(scene: &Scene, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::AttemptUnderWay => scene.go("wait", &[]),
        Refusal::AlreadyEnded(_) | Refusal::Expired => scene.go("result", &[]),
        _ => scene.go("", &[("notice", "method")]),
    }
}
