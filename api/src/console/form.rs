//! Forms of signed-in users: the token of their session, a number of the form itself, and fields.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use axum::Form;
use axum::extract::multipart::{Field, MultipartRejection};
use axum::extract::{FromRequest, FromRequestParts, Multipart, Request};
use axum::http::StatusCode;
use axum::response::Response;
use parking_lot::Mutex;
use switchyard_core::limits::CONSOLE_SENT_FORMS;
use switchyard_users::is_csrf_token;

use super::page::{Failed, Page, Scoped, SignedIn};
use super::state::ConsoleState;

/// A form that a page of the reader's session sent, for the first time. Others are refused.
pub struct Sent<P>(pub P, pub Fields);

/// Fields of a form.
pub struct Fields {
    pairs: Vec<(String, String)>,
    number: Option<FormNumber>,
}

/// Error that the reader can correct, beside the field that it is about.
pub struct FieldError {
    pub field: &'static str,
    pub text: String,
}

/// Numbers of forms that have taken effect, or are being processed.
#[derive(Clone, Default)]
pub struct SentForms(Arc<Mutex<Numbers>>);

#[derive(Default)]
struct Numbers {
    known: HashSet<String>,
    /// In the order of their arrival.
    order: VecDeque<String>,
}

/// Claim of a form's number, released on drop unless the form took effect.
struct FormNumber {
    forms: SentForms,
    number: String,
    is_kept: bool,
}

/// Extractor of a page for a signed-in user.
pub trait OfReader: FromRequestParts<ConsoleState, Rejection = Response> {
    fn page(&self) -> &Page;
}

impl OfReader for SignedIn {
    fn page(&self) -> &Page {
        &self.0
    }
}

impl OfReader for Scoped {
    fn page(&self) -> &Page {
        &self.0
    }
}

impl<P: OfReader + Send> FromRequest<ConsoleState> for Sent<P> {
    type Rejection = Response;

    async fn from_request(request: Request, state: &ConsoleState) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let reader = P::from_request_parts(&mut parts, state).await?;
        let page = reader.page();
        let form =
            Form::<Vec<(String, String)>>::from_request(Request::from_parts(parts, body), state);
        let Ok(Form(pairs)) = form.await else {
            return Err(page.message(StatusCode::BAD_REQUEST, "console-form-unreadable"));
        };
        let fields = Fields::checked(page, pairs).map_err(|refusal| *refusal)?;
        Ok(Self(reader, fields))
    }
}

impl Fields {
    /// The fields of a form with the token of the reader's session, sent for the first time.
    pub fn checked(page: &Page, pairs: Vec<(String, String)>) -> Result<Self, Box<Response>> {
        let mut fields = Self {
            pairs,
            number: None,
        };
        let token = page.session_token().unwrap_or_default();
        if !is_csrf_token(token, fields.text("csrf")) {
            let expired = page.message(StatusCode::BAD_REQUEST, "console-form-expired");
            return Err(Box::new(expired));
        }
        let number = fields.text("form");
        if !number.is_empty() {
            let Some(number) = page.state.sent_forms().claim(number) else {
                let repeated = page.message(StatusCode::CONFLICT, "console-form-repeated");
                return Err(Box::new(repeated));
            };
            fields.number = Some(number);
        }
        Ok(fields)
    }

    /// Reads a form with a file in the field `file`: the fields before it, then `take` reads the
    /// file as it arrives. The token and the number of the form come before the file, so nothing of
    /// it is read without them.
    pub async fn with_file(
        page: &Page,
        sent: Result<Multipart, MultipartRejection>,
        take: impl AsyncFnOnce(&mut Self, Option<Field<'_>>) -> Result<Response, Failed>,
    ) -> Result<Response, Failed> {
        let unreadable = || Ok(page.message(StatusCode::BAD_REQUEST, "console-form-unreadable"));
        let Ok(mut sent) = sent else {
            return unreadable();
        };
        let mut pairs = Vec::new();
        loop {
            let file = match sent.next_field().await {
                Ok(Some(field)) if field.name() != Some("file") => {
                    let name = field.name().unwrap_or_default().to_owned();
                    match small_text(field).await {
                        Some(text) => pairs.push((name, text)),
                        None => return unreadable(),
                    }
                    continue;
                }
                Ok(file) => file,
                Err(_) => return unreadable(),
            };
            let mut fields = match Self::checked(page, pairs) {
                Ok(fields) => fields,
                Err(refusal) => return Ok(*refusal),
            };
            return take(&mut fields, file).await;
        }
    }

    /// Value of a field, without space around it. Empty when the form has no such field.
    pub fn text(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Names and values of all fields.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Value of a field as it was typed. Empty when the form has no such field.
    pub fn raw(&self, name: &str) -> &str {
        let mut named = self.pairs.iter().filter(|(given, _)| given == name);
        named.next().map_or("", |(_, value)| value.as_str())
    }

    /// Values of a field that occurs several times.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.pairs.iter().filter(move |(given, _)| given == name);
        named.map(|(_, value)| value.trim())
    }

    /// Notes that the form took effect. Sent once more, it is refused.
    pub fn took_effect(&mut self) {
        if let Some(number) = &mut self.number {
            number.is_kept = true;
        }
    }
}

/// Text of a field beside a file. `None`: it is too long, or no text.
async fn small_text(mut field: Field<'_>) -> Option<String> {
    let mut bytes = Vec::new();
    while let Some(part) = field.chunk().await.ok()? {
        bytes.extend_from_slice(&part);
        if bytes.len() > FIELD_BYTES {
            return None;
        }
    }
    String::from_utf8(bytes).ok()
}

/// Largest field beside a file, in bytes.
const FIELD_BYTES: usize = 1_024;

impl FieldError {
    pub const fn new(field: &'static str, text: String) -> Self {
        Self { field, text }
    }
}

impl SentForms {
    fn claim(&self, number: &str) -> Option<FormNumber> {
        let mut numbers = self.0.lock();
        if !numbers.known.insert(number.to_owned()) {
            return None;
        }
        numbers.order.push_back(number.to_owned());
        if numbers.order.len() > CONSOLE_SENT_FORMS
            && let Some(oldest) = numbers.order.pop_front()
        {
            numbers.known.remove(&oldest);
        }
        Some(FormNumber {
            forms: self.clone(),
            number: number.to_owned(),
            is_kept: false,
        })
    }
}

impl Drop for FormNumber {
    fn drop(&mut self) {
        if !self.is_kept {
            let mut numbers = self.forms.0.lock();
            numbers.known.remove(&self.number);
            numbers.order.retain(|number| *number != self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_took_effect_is_not_taken_again() {
        let forms = SentForms::default();
        let claim = forms.claim("1").unwrap();
        assert!(forms.claim("1").is_none(), "it is being processed");
        drop(claim);
        let mut again = forms.claim("1").expect("nothing came of the first");
        again.is_kept = true;
        drop(again);
        assert!(forms.claim("1").is_none());
        for number in 0..=CONSOLE_SENT_FORMS {
            forms.claim(&format!("more {number}")).unwrap().is_kept = true;
        }
        assert_eq!(forms.0.lock().known.len(), CONSOLE_SENT_FORMS);
    }
}
