//! Step 2: the method's fields and the customer's missing ones.

use askama::Template;
use axum::response::Response;

use super::again;
use super::answers::FormState;
use super::form::Form;
use super::form_fields::{FormField, Input, Values, check, needs};
use super::menu::{PHONE, country_name};
use super::page_context::{Frame, PageContext};
use super::request::{CheckoutRequest, Selection};
use super::step::{Step, current_step};
use switchyard_core::directory::phone::masked;

#[derive(Template)]
#[template(path = "checkout/details.html")]
struct Page {
    frame: Frame,
    icon: String,
    method: String,
    country: String,
    back: String,
    action: String,
    hidden: Vec<(&'static str, String)>,
    fields: Vec<Field>,
    wrong: usize,
    test_numbers: bool,
}

/// Field as `checkout/field.html` shows it.
pub(super) struct Field {
    pub name: String,
    pub label: String,
    pub required: bool,
    /// Whether the payer may leave out what the field asks for.
    pub optional: bool,
    pub fixed: bool,
    pub input: Input,
    /// Values to choose from, each with its label.
    pub options: Vec<(String, String)>,
    pub value: String,
    pub hint: Option<String>,
    pub error: Option<String>,
    /// Whether it is the first invalid field, which gets the focus.
    pub first_wrong: bool,
}

impl Field {
    /// The ids of what explains the field, error first.
    pub(super) fn described_by(&self) -> Option<String> {
        let error = self.error.as_ref().map(|_| format!("e-{}", self.name));
        let hint = self.hint.as_ref().map(|_| format!("h-{}", self.name));
        let ids: Vec<_> = error.into_iter().chain(hint).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

/// `GET /checkout/{id}/details?country=…&method=…`, or with the answers so far.
pub async fn get(request: CheckoutRequest) -> Response {
    if current_step(&request.context) != Step::Choosing {
        return request
            .context
            .go(current_step(&request.context).path(), &[]);
    }
    let answers = request.answers();
    let attempts = request.context.tx.attempts.len();
    if answers
        .as_ref()
        .is_some_and(|answers| answers.attempts != attempts)
    {
        return request.context.go("", &[("notice", "stale")]);
    }
    let earlier = answers.as_ref();
    let method = request.query("method");
    let method = method.or(earlier.map(|answers| answers.method.as_str()));
    let country = request.query("country");
    let country = country.or(earlier.map(|answers| answers.country.as_str()));
    let (method, country) = (method.unwrap_or_default(), country.unwrap_or_default());
    let Some(chosen) = request.chosen(method, country).await else {
        return request.context.go("", &[("notice", "method")]);
    };
    let needs = needs(&request.context, &chosen.way, chosen.country);
    let answers = match request.query("method") {
        Some(_) => answers.map(|earlier| for_another_method(earlier, &request.context, &chosen)),
        None => answers,
    };
    if needs.is_empty() {
        let answers = answers.unwrap_or_else(|| FormState::first(&request.context, &chosen));
        return request.go_with(&answers, "confirm");
    }
    page(&request.context, &chosen, &needs, answers.as_ref())
}

/// Input with which the form of another method begins: those to the earlier one without its
/// number, which is known and hidden.
pub(super) fn for_another_method(
    mut earlier: FormState,
    context: &PageContext,
    chosen: &Selection,
) -> FormState {
    earlier.given.remove(PHONE);
    FormState {
        given: earlier.given,
        ..FormState::first(context, chosen)
    }
}

/// `POST /checkout/{id}/details`: to the next step, or back with what is wrong beside each field.
pub async fn post(request: CheckoutRequest, form: Form) -> Response {
    if current_step(&request.context) != Step::Choosing {
        return request
            .context
            .go(current_step(&request.context).path(), &[]);
    }
    let chosen = request
        .chosen(form.get("method"), form.get("country"))
        .await;
    let Some(chosen) = chosen else {
        return request.context.go("", &[("notice", "method")]);
    };
    let needs = needs(&request.context, &chosen.way, chosen.country);
    let given: Values = needs
        .iter()
        .map(|need| (need.name.clone(), form.text(&need.name)))
        .collect();
    let checked = check(
        &request.context,
        &chosen.way,
        chosen.country,
        &needs,
        &given,
    );
    let answers = FormState {
        given,
        sent: true,
        ..FormState::first(&request.context, &chosen)
    };
    let next = if checked.errors.is_empty() {
        "confirm"
    } else {
        "details"
    };
    request.go_with(&answers, next)
}

pub(super) fn page(
    context: &PageContext,
    chosen: &Selection,
    needs: &[FormField],
    answers: Option<&FormState>,
) -> Response {
    let given = answers
        .map(|answers| answers.given.clone())
        .unwrap_or_default();
    let mut errors = match answers {
        Some(answers) if answers.sent => {
            let mut checked = check(context, &chosen.way, chosen.country, needs, &given);
            if let Some((field, error)) = refused(context, &answers.method, &checked.values) {
                checked.errors.insert(field, error);
            }
            checked.errors
        }
        _ => Values::new(),
    };
    let wrong = errors.len();
    let mut fields: Vec<_> = needs
        .iter()
        .map(|need| field(need, &given, errors.remove(&need.name)))
        .collect();
    if let Some(first) = fields.iter_mut().find(|field| field.error.is_some()) {
        first.first_wrong = true;
    }
    let method = &chosen.way.method;
    let alpha2 = chosen.country.alpha2;
    context.show(&Page {
        frame: context.frame_of_step("details-title", 2),
        icon: context.icon(method),
        method: context.method_name(&method.code),
        country: country_name(chosen.country, context.visitor.language).to_owned(),
        back: context.link("", &[("country", alpha2)]),
        action: context.link("details", &[]),
        hidden: context.hidden(&[("country", alpha2), ("method", &method.code)]),
        fields,
        wrong,
        test_numbers: chosen.way.is_test
            && needs.iter().any(|need| need.name == PHONE && !need.fixed),
    })
}

/// Field that the provider refused at the last attempt, with its message, until the payer changes
/// the value.
fn refused(context: &PageContext, method: &str, values: &Values) -> Option<(String, String)> {
    let last = again::failed(context).filter(|attempt| attempt.method == method)?;
    let field = last.refused_field()?;
    let tried = last.fields.get(field).or(last.phone.as_ref())?;
    if values.get(field)? != tried {
        return None;
    }
    let decline = last.decline.as_ref()?;
    let error = match &decline.provider_message {
        Some(message) => context.say_with("error-refused", &[("message", message)]),
        None => context.say("error-refused-plain"),
    };
    Some((field.to_owned(), error))
}

/// Content of the field: the payer's own input, otherwise the known value. A number that the
/// merchant gave is not shown in full. The form contains it only where the payer typed it: a form
/// that hid it then would confirm a guess.
fn value(need: &FormField, typed: Option<&String>) -> String {
    match (typed, need.known.as_deref()) {
        (Some(typed), _) => typed.clone(),
        (None, Some(known)) if need.fixed => masked(known),
        (None, Some(known)) if !need.masked => known.to_owned(),
        (None, _) => String::new(),
    }
}

fn field(need: &FormField, given: &Values, error: Option<String>) -> Field {
    let typed = given.get(&need.name).filter(|_| !need.fixed);
    Field {
        name: need.name.clone(),
        label: need.label.clone(),
        required: need.required,
        optional: !need.required && !need.masked,
        fixed: need.fixed,
        input: need.input,
        options: need.options.clone(),
        value: value(need, typed),
        hint: need.hint.clone(),
        error,
        first_wrong: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;
    use switchyard_core::directory::country;
    use switchyard_core::language::Language;

    /// Number of the field on a page for a customer whose number the merchant gave.
    fn shown(typed: Option<&str>) -> (String, String) {
        let mut context = samples::context(samples::payment(), Language::En);
        std::sync::Arc::make_mut(&mut context.tx).customer.phone = Some("+2290197000000".into());
        let way = samples::way("mtn_bj", false);
        let need = &needs(&context, &way, country("BJ").unwrap())[0];
        let typed = typed.map(|typed| (PHONE.to_owned(), typed.to_owned()));
        let field = field(need, &typed.into_iter().collect(), None);
        assert!(!field.optional, "an empty field means the known number");
        (field.value, field.hint.unwrap_or_default())
    }

    #[test]
    fn a_number_of_the_merchant_is_not_in_the_field_and_a_typed_one_stays_whichever_it_is() {
        for typed in [None, Some("")] {
            let (value, hint) = shown(typed);
            assert_eq!(value, "", "{typed:?}");
            assert!(hint.contains("••••\u{a0}0000"), "{hint}");
        }
        // A guess of the merchant's number is treated like any other number.
        for typed in ["0196111111", "+2290196111111", "+2290197000000"] {
            assert_eq!(shown(Some(typed)).0, typed);
        }
    }
}
