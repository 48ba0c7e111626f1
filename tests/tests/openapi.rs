//! Snapshots of the OpenAPI documents: no route, field or response changes without a review.

use switchyard_tests::tidy::root;

fn assert_kept(document: &str, name: &str) {
    let document = format!("{document}\n");
    let path = root().join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &document).expect("the snapshot can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept
        .lines()
        .zip(document.lines())
        .position(|(kept, made)| kept != made);
    assert!(
        kept == document,
        "the document differs from tests/snapshots/{name}, first in line {}: look at the change, \
         then run this test with UPDATE_SNAPSHOTS=1",
        differs.map_or(
            kept.lines().count().min(document.lines().count()) + 1,
            |at| at + 1
        )
    );
}

#[test]
fn the_document_of_the_merchant_api_is_the_one_that_is_checked_in() {
    let document = switchyard::routes::document().to_pretty_json();
    assert_kept(&document.expect("it can be written"), "openapi.json");
}

#[test]
fn the_document_of_the_account_api_is_the_one_that_is_checked_in() {
    let document = switchyard::account::document().to_pretty_json();
    let document = document.expect("it can be written");
    assert_kept(&document, "account-openapi.json");
}

#[test]
fn the_document_of_the_operator_api_is_the_one_that_is_checked_in() {
    let document = switchyard::operator::document().to_pretty_json();
    let document = document.expect("it can be written");
    assert_kept(&document, "operator-openapi.json");
}
