//! Input of a merchant's server: bodies and queries, read and checked before any lookup.

use std::sync::LazyLock;

use switchyard::error::{ApiError, PROBLEMS};
use switchyard::fuzzing::{amount_as_written, read_payment, read_payout, read_query};
use switchyard_core::directory::Directory;
use switchyard_core::limits::{
    BODY_BYTES, METADATA_KEY_CHARACTERS, METADATA_KEYS, METADATA_VALUE_CHARACTERS,
};
use switchyard_core::money::Amount;
use switchyard_records::NewCustomer;
use url::Url;

use crate::money::is_exact;

static DIRECTORY: LazyLock<Directory> = LazyLock::new(|| Directory::new("switchyard"));

/// The body of `POST /v1/payments/initialize`.
pub fn payment(body: &[u8]) {
    let body = &body[..body.len().min(BODY_BYTES)];
    match read_payment(body, &DIRECTORY) {
        Ok(new) => {
            amount_is(body, new.amount);
            metadata_is_bounded(&new.metadata);
            customer_is_clean(&new.customer);
            let url = Url::parse(&new.return_url).expect("an absolute URL");
            assert!(matches!(url.scheme(), "http" | "https"), "{url}");
            for code in &new.methods {
                let method = DIRECTORY
                    .payment_method(code)
                    .expect("a method that exists");
                assert_eq!(method.currency, new.amount.currency());
            }
        }
        Err(error) => is_orderly(&error),
    }
}

/// The body of `POST /v1/payouts/initialize`.
pub fn payout(body: &[u8]) {
    let body = &body[..body.len().min(BODY_BYTES)];
    match read_payout(body, &DIRECTORY) {
        Ok(new) => {
            amount_is(body, new.amount);
            metadata_is_bounded(&new.metadata);
            customer_is_clean(&new.customer);
            let method = DIRECTORY
                .payout_method(&new.method)
                .expect("a method that exists");
            assert_eq!(method.currency, new.amount.currency());
        }
        Err(error) => is_orderly(&error),
    }
}

/// The query of a list.
pub fn query(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match read_query(text) {
        Ok((limit, page)) => assert!((1..=100).contains(&limit) && (1..=1_000_000).contains(&page)),
        Err(error) => is_orderly(&error),
    }
}

fn amount_is(body: &[u8], amount: Amount) {
    let written = amount_as_written(body).expect("an amount was accepted, so it is there");
    is_exact(&written, amount);
}

fn metadata_is_bounded(metadata: &std::collections::BTreeMap<String, String>) {
    assert!(metadata.len() <= METADATA_KEYS);
    for (key, value) in metadata {
        assert!(
            (1..=METADATA_KEY_CHARACTERS).contains(&key.chars().count()),
            "{key}"
        );
        assert!(value.chars().count() <= METADATA_VALUE_CHARACTERS, "{key}");
    }
}

/// A name goes into mails and pages: no line of it may be another line.
fn customer_is_clean(customer: &NewCustomer) {
    for text in [&customer.first_name, &customer.last_name, &customer.email] {
        assert!(!text.chars().any(char::is_control), "{text:?}");
        assert!(!text.is_empty() && text.chars().count() <= 255, "{text:?}");
    }
}

/// A refusal is the client's fault, says what is wrong, and does not grow with the request.
fn is_orderly(error: &ApiError) {
    let status = error.status().as_u16();
    assert!((400..500).contains(&status), "{status} for a body");
    let count = error.problems().len();
    assert!((1..=PROBLEMS).contains(&count), "{count} problems");
}
