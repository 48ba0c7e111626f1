//! Form of a browser: names and values, parsed leniently. Missing values are empty.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::ACCEPT_LANGUAGE;
use axum::response::Response;

use super::error_page::{self, ErrorPage};
use super::form_fields::MOST_CHARACTERS;
use super::request::visitor;
use super::state::CheckoutState;

/// Bytes of a form. The largest of ours has a dozen short fields and the sealed answers.
pub const FORM_BYTES: usize = 16 * 1024;

#[derive(Clone, Debug, Default)]
pub struct Form(BTreeMap<String, String>);

impl Form {
    pub fn parse(body: &[u8]) -> Self {
        let pairs = url::form_urlencoded::parse(body);
        Self(
            pairs
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect(),
        )
    }

    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Text of a field without control characters, cut a little above the allowed length: an
    /// encrypted copy is passed from page to page.
    pub fn text(&self, name: &str) -> String {
        let letters = self.get(name).chars().filter(|letter| !letter.is_control());
        letters.take(MOST_CHARACTERS + 1).collect()
    }
}

impl FromRequest<CheckoutState> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, state: &CheckoutState) -> Result<Self, Response> {
        let uri = request.uri().clone();
        let accept = request.headers().get(ACCEPT_LANGUAGE).cloned();
        match Bytes::from_request(request, state).await {
            Ok(body) => Ok(Self::parse(&body)),
            Err(_) => {
                let visitor = visitor(state, &uri, accept.as_ref(), None);
                Err(error_page::page(&visitor, ErrorPage::TooLarge, None))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_a_form_and_what_is_missing_is_empty() {
        let form = Form::parse(b"msisdn=%2B229+01%00&lang=fr&lang=en&&=x&%ff=%ff");
        assert_eq!(form.text("msisdn"), "+229 01");
        assert_eq!(form.get("nothing"), "");
        assert!(
            Form::parse("msisdn=".repeat(3000).as_bytes())
                .text("msisdn")
                .len()
                < 1000
        );
        assert_eq!(
            Form::parse(format!("a={}", "é".repeat(5000)).as_bytes())
                .text("a")
                .chars()
                .count(),
            201
        );
    }
}
