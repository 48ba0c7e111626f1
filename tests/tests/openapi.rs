//! The OpenAPI document is held as it is: no route, field or answer changes without somebody looking at it.

use switchyard_tests::tidy::root;

#[test]
fn the_document_is_the_one_that_is_checked_in() {
    let document = switchyard::routes::document()
        .to_pretty_json()
        .expect("it can be written")
        + "\n";
    let path = root().join("tests/snapshots/openapi.json");
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
        "the document differs from tests/snapshots/openapi.json, first in line {}: look at the change, then run this test with \
         UPDATE_SNAPSHOTS=1",
        differs.map_or(
            kept.lines().count().min(document.lines().count()) + 1,
            |at| at + 1
        )
    );
}
