//! Order of a payout in the console: method, amount and recipient, a review, then the payout.
//!
//! The form becomes the request of `POST /v1/payouts/initialize` with an idempotency key of its
//! own: the same checks and limits apply, and a form that is sent twice makes one payout. Where the
//! app's settings ask for a second person, the payout becomes a proposal.

pub mod batches;
mod draft;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use switchyard_core::directory::Method;
use switchyard_core::environment::Environment;
use switchyard_core::transaction::{ClientContext, Kind};
use switchyard_engine::access::Caller;
use switchyard_engine::engine::NewPayout;
use switchyard_users::{Action, Permit};

use self::draft::Draft;
use super::approvals;
use super::form::{Fields, Sent};
use super::frame::Frame;
use super::installation::view::{Input, InputKind};
use super::page::{Failed, Page, Scoped};
use super::problems::Problems;
use super::{answer, labels, shown};
use crate::error::ApiError;
use crate::merchant::initialize::{Initialization as _, Initialized, initialize_once};
use crate::proposals::payout::{Proposed, id_of, needs_second_person, open_with_key};

/// Largest number of a form. The pages write ULIDs of 26 characters.
const FORM_NUMBER_BYTES: usize = 64;

#[derive(Template)]
#[template(path = "console/payout_new.html")]
struct PayoutForm {
    frame: Frame,
    list: String,
    here: String,
    methods: Vec<MethodChoice>,
    /// `None`: no method is chosen yet.
    method: Option<String>,
    inputs: Vec<Input>,
    /// Reason why the form had no effect.
    error: Option<String>,
}

struct MethodChoice {
    code: String,
    name: String,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "console/payout_review.html")]
struct Review {
    frame: Frame,
    list: String,
    here: String,
    is_live: bool,
    /// Whether a second person approves it.
    is_proposal: bool,
    /// Reason why it is shown once more.
    problem: Option<String>,
    amount: String,
    facts: Vec<(String, String)>,
    hidden: Vec<(String, String)>,
}

/// `GET /console/apps/{app}/{environment}/payouts/new`
///
/// `?method=` chooses the method, on which the fields depend.
pub async fn get(Scoped(page): Scoped) -> Response {
    let form = || {
        page.permit(Action::CreatePayout)?;
        let code = page.query("method").unwrap_or_default();
        let form = form(&page, &Draft::new(&code), &Problems::default())?;
        Ok(shown(&page, &form))
    };
    answer(&page, form())
}

/// `POST /console/apps/{app}/{environment}/payouts/new`
///
/// The field `do` is `review`, `edit` or `send`. Only the last makes a payout.
pub async fn post(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let done = match fields.text("do") {
        "send" => send(&page, &mut fields).await,
        "edit" => edit(&page, &fields),
        _ => review(&page, &fields),
    };
    answer(&page, done)
}

fn edit(page: &Page, fields: &Fields) -> Result<Response, Failed> {
    page.permit(Action::CreatePayout)?;
    let form = form(page, &Draft::of_form(fields), &Problems::default())?;
    Ok(shown(page, &form))
}

fn review(page: &Page, fields: &Fields) -> Result<Response, Failed> {
    page.permit(Action::CreatePayout)?;
    let draft = Draft::of_form(fields);
    let caller = caller(page)?;
    let checked = read(page, &draft, &caller).and_then(|new| {
        new.check(page.state.api(), &caller)?;
        Ok(new)
    });
    match checked {
        Ok(new) => Ok(shown(page, &review_of(page, &draft, &new)?)),
        Err(error) => refused(page, &draft, &error),
    }
}

/// Shows the review once more after an error that may have come after the payout was stored. The
/// number of the form stays, so that a repetition makes no second payout.
fn uncertain(page: &Page, draft: &Draft, new: &NewPayout, form: &str) -> Result<Response, Failed> {
    let mut review = review_of(page, draft, new)?;
    review.problem = Some(page.text().say("console-payout-uncertain"));
    form.clone_into(&mut review.frame.form);
    Ok(page.show(StatusCode::SERVICE_UNAVAILABLE, &review))
}

async fn send(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::CreatePayout)?;
    let draft = Draft::of_form(fields);
    let caller = caller(page)?;
    let form = fields.text("form");
    let is_visible = form.bytes().all(|byte| byte.is_ascii_graphic());
    if form.is_empty() || form.len() > FORM_NUMBER_BYTES || !is_visible {
        return Ok(page.message(StatusCode::BAD_REQUEST, "console-form-unreadable"));
    }
    let new = match read(page, &draft, &caller) {
        Ok(new) => new,
        Err(error) => return refused(page, &draft, &error),
    };
    let key = format!("console-{form}");
    if needs_second_person(&caller, &new) {
        return propose(page, &permit, &draft, &new, key, fields).await;
    }
    let id = match initialize_once(page.state.api(), &caller, new.clone(), key, None).await {
        Ok(Initialized::First(id)) => id,
        Ok(Initialized::Replayed(answer)) => id_of(&answer).ok_or(Failed::Unavailable)?,
        Err(error) if is_uncertain(&error) => return uncertain(page, &draft, &new, form),
        Err(error) => return refused(page, &draft, &error),
    };
    fields.took_effect();
    page.audit(permit.entry(id)).await?;
    Ok(page.go(&page.in_scope(&format!("payouts/{id}?done=payout-made"))))
}

/// Stores the payout as a proposal. A form that is sent again leads to its open proposal.
async fn propose(
    page: &Page,
    permit: &Permit,
    draft: &Draft,
    new: &NewPayout,
    key: String,
    fields: &mut Fields,
) -> Result<Response, Failed> {
    let caller = caller(page)?;
    if let Err(error) = new.check(page.state.api(), &caller) {
        return refused(page, draft, &error);
    }
    let account = page.scope().map(|scope| scope.app.account);
    if let Some((id, _)) = open_with_key(page.state.users(), account, &caller, &key) {
        let to = format!("approvals/{id}?done=proposed");
        return Ok(page.go(&page.in_scope(&to)));
    }
    let request = draft.body(method_of(page, draft));
    let proposed = Proposed {
        app: caller.app.id,
        environment: caller.environment,
        key,
        request: serde_json::from_str(&request).unwrap_or_default(),
    };
    let (kind, reason) = (approvals::payout::KIND, new.description.clone());
    match approvals::propose(page, permit, kind, &proposed, reason).await? {
        Some(response) => {
            fields.took_effect();
            Ok(response)
        }
        None => {
            let mut review = review_of(page, draft, new)?;
            review.problem = Some(page.text().say("console-payout-not-proposed"));
            Ok(page.show(StatusCode::UNPROCESSABLE_ENTITY, &review))
        }
    }
}

/// Whether the payout may have been stored nevertheless.
fn is_uncertain(error: &ApiError) -> bool {
    error.status().is_server_error() || error.status() == StatusCode::CONFLICT
}

fn refused(page: &Page, draft: &Draft, error: &ApiError) -> Result<Response, Failed> {
    let text = page.text();
    let problems = Problems::of(error, text);
    let form = form(page, draft, &problems)?;
    Ok(page.show(StatusCode::UNPROCESSABLE_ENTITY, &form))
}

/// The app of the page, with the rights of its secret key.
pub fn caller(page: &Page) -> Result<Caller, Failed> {
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let access = page.state.engine().access();
    let caller = access.on_behalf_of(scope.app.id, scope.environment);
    caller.ok_or(Failed::NotFound)
}

/// The request of the form, read by the rules of the merchant API.
fn read(page: &Page, draft: &Draft, caller: &Caller) -> Result<NewPayout, ApiError> {
    let (engine, body) = (page.state.engine(), draft.body(method_of(page, draft)));
    NewPayout::read(body.as_bytes(), engine, caller, ClientContext::default())
}

fn method_of<'p>(page: &'p Page, draft: &Draft) -> Option<&'p Method> {
    let directory = page.state.engine().directory();
    let method = directory.payout_method(&draft.method);
    method.map(|method| &**method)
}

fn form(page: &Page, draft: &Draft, problems: &Problems) -> Result<PayoutForm, Failed> {
    let engine = page.state.engine();
    let scope = page.scope().ok_or(Failed::NotFound)?;
    let language = page.text().language();
    let served = |method: &&std::sync::Arc<Method>| {
        let (app, environment) = (scope.app.id, scope.environment);
        engine.can_serve(app, environment, Kind::Payout, &method.code, None)
    };
    let methods = engine.directory().payout_methods().iter().filter(served);
    let chosen = engine.directory().payout_method(&draft.method);
    let inputs = chosen.map_or_else(Vec::new, |method| draft.inputs(page, method, problems));
    let error = (!problems.is_empty()).then(|| {
        let elsewhere = problems.elsewhere(&inputs);
        elsewhere.unwrap_or_else(|| page.text().say("console-marked-fields"))
    });
    Ok(PayoutForm {
        frame: page.frame("console-payout-new", "payouts"),
        list: page.in_scope("payouts"),
        here: page.in_scope("payouts/new"),
        methods: methods
            .map(|method| MethodChoice {
                code: method.code.clone(),
                name: method.name_with_country(language),
                is_chosen: method.code == draft.method,
            })
            .collect(),
        method: chosen.map(|method| method.code.clone()),
        inputs,
        error,
    })
}

fn review_of(page: &Page, draft: &Draft, new: &NewPayout) -> Result<Review, Failed> {
    let caller = caller(page)?;
    Ok(Review {
        frame: page.frame("console-payout-review", "payouts"),
        list: page.in_scope("payouts"),
        here: page.in_scope("payouts/new"),
        is_live: caller.environment == Environment::Live,
        is_proposal: needs_second_person(&caller, new),
        problem: None,
        amount: new.amount.with_code(page.text().language()),
        facts: facts(page, new, true)?,
        hidden: draft.pairs(),
    })
}

/// A payout for people, without its amount. `may_see`: whether the reader may see personal data.
pub fn facts(page: &Page, new: &NewPayout, may_see: bool) -> Result<Vec<(String, String)>, Failed> {
    let text = page.text();
    let directory = page.state.engine().directory();
    let method = directory.payout_method(&new.method);
    let method = method.ok_or(Failed::NotFound)?;
    let shown = |value: String| match may_see {
        true => value,
        false => labels::masked(&value),
    };
    let mut facts = vec![(
        text.say("console-method"),
        method.name_with_country(text.language()),
    )];
    for field in &method.fields {
        let value = new.recipient.get(&field.name).cloned();
        facts.push((
            text.say(draft::recipient_label(&field.name)),
            shown(value.unwrap_or_default()),
        ));
    }
    let customer = &new.customer;
    facts.push((
        text.say("console-recipient"),
        shown(format!("{} {}", customer.first_name, customer.last_name)),
    ));
    facts.push((text.say("console-email"), shown(customer.email.clone())));
    facts.push((
        text.say("console-payout-description"),
        new.description.clone(),
    ));
    Ok(facts)
}
