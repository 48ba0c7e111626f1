//! Code that the provider sent to the payer: the form on the waiting page, and its submission.
//!
//! The code is a secret: it goes to the gateway and is kept nowhere, neither in an address nor on
//! the timeline nor in a log.

use axum::response::Response;
use switchyard_core::directory::phone::plain_digits;
use switchyard_core::limits::{CODE_CHARACTERS, CODES_PER_ATTEMPT};
use switchyard_core::secret::Secret;
use switchyard_core::transaction::{Attempt, PayerAction};
use switchyard_engine::engine::EngineError;

use super::form::Form;
use super::page_context::PageContext;
use super::request::CheckoutRequest;
use super::step::current_step;

/// The form, as the waiting page shows it.
pub struct CodeForm {
    pub action: String,
    pub hidden: Vec<(&'static str, String)>,
    pub label: String,
    pub hint: Option<String>,
    pub error: Option<String>,
}

impl CodeForm {
    /// The ids of what explains the field, error first.
    pub fn described_by(&self) -> Option<&'static str> {
        match (&self.error, &self.hint) {
            (Some(_), Some(_)) => Some("e-code h-code"),
            (Some(_), None) => Some("e-code"),
            (None, Some(_)) => Some("h-code"),
            (None, None) => None,
        }
    }
}

/// Whether the attempt waits for a code and its payer has no try left.
pub fn are_used_up(context: &PageContext) -> bool {
    let attempt = context.tx.asks_for_code();
    attempt.is_some_and(|attempt| attempt.codes >= CODES_PER_ATTEMPT)
}

/// `None`: no code is asked for, or all tries are used up.
pub fn form(context: &PageContext, notice: Option<&str>) -> Option<CodeForm> {
    let attempt = context
        .tx
        .asks_for_code()
        .filter(|_| !are_used_up(context))?;
    let Some(PayerAction::EnterCode { label, length, .. }) = &attempt.payer_action else {
        return None;
    };
    let length = length.map(|length| length.to_string());
    let with_length = |message: &str| {
        let length = length.as_deref()?;
        Some(context.say_with(message, &[("length", length)]))
    };
    let error = match notice {
        Some("code-empty") => Some(context.say("code-empty")),
        Some("code-length") => with_length("code-length"),
        _ if attempt.why.is_some() => Some(context.say("code-lost")),
        _ if attempt.codes > 0 => Some(context.say("code-wrong")),
        _ => None,
    };
    let (id, tried) = (attempt.id.to_string(), attempt.codes.to_string());
    Some(CodeForm {
        action: context.link("code", &[]),
        hidden: context.hidden(&[("attempt", &id), ("tried", &tried)]),
        label: label.clone(),
        hint: with_length("code-hint"),
        error,
    })
}

/// `POST /checkout/{id}/code`: passes the code on, once, however often the button was pressed.
pub async fn post(request: CheckoutRequest, form: Form) -> Response {
    let context = &request.context;
    let elsewhere = || context.go(current_step(context).path(), &[]);
    let Some(attempt) = context.tx.asks_for_code() else {
        return elsewhere();
    };
    let (id, tried) = (attempt.id, attempt.codes);
    let is_this_form =
        form.get("attempt") == id.to_string() && form.get("tried") == tried.to_string();
    if !is_this_form {
        return elsewhere();
    }
    let code = typed(form.get("code"));
    if let Some(notice) = validation_notice(attempt, &code) {
        return context.go("wait", &[("notice", notice)]);
    }
    let address = request.client_context().ip;
    let submitted = request
        .engine()
        .submit_code(
            context.tx.id,
            id,
            tried,
            Secret::new(code),
            address.as_deref(),
        )
        .await;
    match submitted {
        Ok(tx) => {
            let context = PageContext {
                tx,
                ..request.context
            };
            context.go(current_step(&context).path(), &[])
        }
        Err(EngineError::Refused(_)) => elsewhere(),
        Err(error) => request.error_page(&error),
    }
}

/// A code as people copy it: with spaces between its digits, or around it.
fn typed(text: &str) -> String {
    plain_digits(text)
        .chars()
        .filter(|letter| !letter.is_whitespace() && !letter.is_control())
        .take(CODE_CHARACTERS + 1)
        .collect()
}

/// Mistakes that are visible without the provider use up no try.
fn validation_notice(attempt: &Attempt, code: &str) -> Option<&'static str> {
    let count = code.chars().count();
    if count == 0 {
        return Some("code-empty");
    }
    let wanted = match &attempt.payer_action {
        Some(PayerAction::EnterCode { length, .. }) => *length,
        _ => None,
    };
    let fits = wanted.is_none_or(|wanted| usize::from(wanted) == count);
    (!fits || count > CODE_CHARACTERS).then_some("code-length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;
    use switchyard_core::language::Language;

    fn asking(codes: u32, why: Option<&str>) -> PageContext {
        let action = PayerAction::EnterCode {
            label: "OTP".to_owned(),
            length: Some(6),
            how: Vec::new(),
        };
        let mut tx = samples::waiting(Some(action));
        tx.attempts[0].codes = codes;
        tx.attempts[0].why = why.map(str::to_owned);
        samples::context(tx, Language::En)
    }

    #[test]
    fn the_form_says_what_was_wrong_and_goes_when_all_tries_are_used_up() {
        let error = |context: &PageContext, notice| form(context, notice).unwrap().error;
        assert_eq!(error(&asking(0, None), None), None);
        assert!(
            error(&asking(1, None), None)
                .unwrap()
                .contains("not accepted")
        );
        assert!(
            error(&asking(1, Some("time-out")), None)
                .unwrap()
                .contains("may not have arrived")
        );
        assert!(
            error(&asking(0, None), Some("code-length"))
                .unwrap()
                .contains('6')
        );
        assert!(form(&asking(CODES_PER_ATTEMPT, None), None).is_none());
        let mut away = asking(1, None);
        let mut tx = (*away.tx).clone();
        tx.attempts[0].code_away_since = Some(away.now);
        away.tx = tx.into();
        assert!(form(&away, None).is_none(), "one is on its way");
    }

    #[test]
    fn a_code_is_read_as_people_copy_it_and_its_length_costs_no_try() {
        assert_eq!(typed(" 12 34\u{a0}56\r\n"), "123456");
        assert_eq!(typed("١٢٣ ٤٥٦"), "123456");
        let context = asking(0, None);
        let attempt = context.tx.current_attempt().unwrap();
        assert_eq!(validation_notice(attempt, "123456"), None);
        assert_eq!(validation_notice(attempt, ""), Some("code-empty"));
        assert_eq!(validation_notice(attempt, "12345"), Some("code-length"));
    }
}
