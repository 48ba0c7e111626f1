//! Text of a refused start: the missing data, the way to restore it, and the meaning of an accepted
//! loss.

use std::fs;

use super::damage::{Home, fill, zero};
use crate::*;

/// A stopped store with 60 commits.
async fn stopped() -> Home {
    let home = Home::new();
    let store = home.open();
    fill(&store, 0, 60).await;
    assert!(store.close().await);
    home
}

fn says(refused: &OpenError, parts: &[&str]) {
    let said = refused.to_string();
    for part in parts {
        assert!(said.contains(part), "no {part:?}: {said}");
    }
}

fn accepted(home: &Home) -> Result<Store, OpenError> {
    Store::open_accepting_loss(&home.settings())
}

const RESTORE: &str = "with `switchyard store restore`";
const OPENED: &str = "With `switchyard serve --accept-loss`";
const NOT_OPENED: &str = "`switchyard serve --accept-loss` does not open the store";
const REPEATED: &str = "a repeated request moves money a second time";

#[tokio::test]
async fn a_database_with_a_damaged_page_is_refused_with_its_last_commit_and_the_way_back() {
    let home = stopped().await;
    let whole = fs::read(home.database()).unwrap();
    let mut refusals = 0;
    for page in 0..whole.len() / 4096 {
        fs::write(home.database(), &whole).unwrap();
        zero(&home.database(), page as u64 * 4096, 4096);
        let Err(refused) = Store::open(&home.settings()) else {
            continue;
        };
        refusals += 1;
        let reached = "commit group 60 of 20";
        let mark = home.mark();
        let parts = ["is damaged: ", reached, "was acknowledged", RESTORE];
        says(&refused, &parts);
        says(&refused, &[mark.to_str().unwrap(), NOT_OPENED]);
        let accepted = accepted(&home).err().expect("it is not opened");
        assert_eq!(accepted.to_string(), refused.to_string(), "page {page}");
    }
    assert!(refusals > 0, "no page is needed to open the store");
}

#[tokio::test]
async fn a_missing_database_file_is_refused_with_its_last_commit_also_at_every_later_start() {
    let home = stopped().await;
    fs::remove_file(home.database()).unwrap();
    let refused = home.refusal();
    let parts = [
        "is missing",
        "commit group 60 of 20",
        "was acknowledged",
        RESTORE,
    ];
    says(&refused, &parts);
    says(&refused, &[NOT_OPENED]);
    assert!(refused.is_lasting());
    assert!(accepted(&home).is_err());
    assert!(!home.database().exists(), "nothing is made in its place");
}

#[tokio::test]
async fn nothing_is_made_in_place_of_a_missing_folder_of_the_database() {
    let home = stopped().await;
    let folder = home.database().parent().unwrap().to_owned();
    let aside = home.settings().path.with_file_name("aside");
    fs::rename(&folder, &aside).unwrap();
    says(&home.refusal(), &["is empty, and group 60 of 20", RESTORE]);
    assert!(!folder.exists());
    fs::rename(&aside, &folder).unwrap();
    home.open();
}

#[tokio::test]
async fn an_empty_database_file_is_refused_with_its_last_commit_and_the_way_back() {
    let home = stopped().await;
    fs::write(home.database(), "").unwrap();
    let reached = "commit group 60 of 20";
    let parts = ["sqlite3 is empty", reached, RESTORE, NOT_OPENED];
    says(&home.refusal(), &parts);
    assert!(accepted(&home).is_err());
    fs::write(home.mark(), "").unwrap();
    let unknown = "how far the acknowledged commits reach is not known";
    says(&home.refusal(), &["sqlite3 is empty", unknown, RESTORE]);
}

#[tokio::test]
async fn the_store_of_another_mark_is_refused_with_the_end_of_both() {
    let [home, other] = [stopped().await, Home::new()];
    let store = other.open();
    fill(&store, 0, 7).await;
    assert!(store.close().await);
    drop(store);
    fs::copy(home.mark(), other.mark()).unwrap();
    let refused = other.refusal();
    let parts = ["ends with commit group 7 of 20", "group 60 of 20", RESTORE];
    says(&refused, &parts);
    says(&refused, &[OPENED, REPEATED]);
    accepted(&other).unwrap();
}

#[tokio::test]
async fn an_empty_store_with_a_damaged_mark_is_refused_with_the_way_back() {
    let home = stopped().await;
    fs::remove_dir_all(home.settings().path).unwrap();
    fs::write(home.mark(), "").unwrap();
    let refused = home.refusal();
    let parts = ["everything that was ever stored", RESTORE, OPENED, REPEATED];
    says(&refused, &parts);
    accepted(&home).unwrap();
}
