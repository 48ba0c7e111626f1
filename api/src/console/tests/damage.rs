//! A store whose index of cases is damaged: the lists of cases report it instead of failing.

use std::fs;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use serde_json::Value;
use switchyard_core::transaction::{AttemptState, CaseReason};
use switchyard_engine::testing::TestEngineBuilder;
use switchyard_gateway_host::Gateways;
use switchyard_records::{self as records, Step};
use switchyard_store::{Backend, Batch, Store, StoreSettings};
use switchyard_users::SecondFactor;
use tower::ServiceExt as _;

use super::World;
use crate::checkout::tests::samples::twice_tried;
use crate::operations::Draining;
use crate::state::{ApiState, HttpSettings};

fn store(folder: &tempfile::TempDir) -> StoreSettings {
    StoreSettings {
        backend: Backend::Sqlite,
        path: folder.path().join("store"),
        cache_bytes: 8 * 1024 * 1024,
    }
}

impl World {
    /// Stores a transaction with an open case. Returns the bytes of the case's id.
    async fn open_case(&self) -> [u8; 16] {
        let mut tx = twice_tried(AttemptState::Succeeded, CaseReason::Surplus);
        tx.app = self.test.keys.app;
        let mut batch = Batch::new();
        let step = Step {
            before: None,
            after: &tx,
            events: &[],
        };
        records::write(&mut batch, &step).unwrap();
        self.test.engine.store().commit(batch).await.unwrap();
        tx.cases[0].id.ulid().to_bytes()
    }

    /// The answer of the operator API about cases.
    async fn cases(&self) -> (StatusCode, Value) {
        let access = self.test.engine.access();
        let token = access.create_operator_token("ada", None).await.unwrap();
        let token = token.secret.expose().clone();
        let state = ApiState::new(self.test.engine.clone(), HttpSettings::default());
        let router = crate::operator::routes(state.clone(), Draining::default()).with_state(state);
        let request = Request::get("/cases").header("authorization", format!("Bearer {token}"));
        let answer = router.oneshot(request.body(Body::empty()).unwrap()).await;
        let (parts, body) = answer.unwrap().into_parts();
        let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        (parts.status, serde_json::from_slice(&bytes).unwrap())
    }
}

/// Changes a bit behind each occurrence of `sought` in the files of a store.
fn damage_behind(sought: &[u8], settings: &StoreSettings) {
    let mut changed = 0;
    for entry in fs::read_dir(settings.path.join("sqlite")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let found = bytes.windows(sought.len()).enumerate();
        let found = found.filter(|(_, window)| *window == sought);
        let places: Vec<_> = found.map(|(at, _)| at + sought.len()).collect();
        changed += places.len();
        places.iter().for_each(|&at| bytes[at] ^= 1);
        if !places.is_empty() {
            fs::write(&path, bytes).unwrap();
        }
    }
    assert!(changed > 0, "no row has the key");
}

#[tokio::test]
async fn a_damaged_index_of_cases_is_told_by_the_lists_of_cases_and_the_dashboard() {
    let folder = tempfile::tempdir().unwrap();
    let settings = store(&folder);
    let mut wanted = TestEngineBuilder::with(Gateways::default());
    wanted.store = Store::open(&settings).unwrap();
    let world = World::on(wanted, SecondFactor::Optional).await;
    world.user("otto@example.com", None).await;
    let cookie = world.signed_in("otto@example.com").await;
    let pages = ["/console/installation/cases", "/console/installation"];
    for path in pages {
        let shown = world.get(path, &cookie).await;
        assert!(!shown.body.contains("The store is damaged"), "{path}");
    }
    damage_behind(&world.open_case().await, &settings);

    let (status, answer) = world.cases().await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let data = &answer["data"];
    let damage = data["store_damage"].as_str().expect("the damage");
    assert!(damage.contains("table index"), "{damage}");
    assert_eq!(data["incomplete"], true);
    for path in pages {
        let shown = world.get(path, &cookie).await;
        assert_eq!(shown.status, StatusCode::OK, "{path}");
        let at = shown.body.find("The store is damaged: ");
        let alert = &shown.body[at.expect("the alert")..];
        let alert = alert.split("</p>").next().unwrap();
        assert!(alert.contains("table index"), "{path}: {alert}");
        assert!(alert.contains("installation/system\""), "{path}: {alert}");
    }
    let shown = world.get(pages[0], &cookie).await;
    assert!(shown.body.contains("Some cases are missing from this list"));
    assert!(
        !shown.body.contains("No open case matches"),
        "{}",
        shown.body
    );
}
