//! Users in a real store, across the end of the process.

use switchyard_store::{Backend, Batch, StoreSettings};

use super::*;

fn open(path: &std::path::Path) -> Store {
    let settings = StoreSettings {
        backend: Backend::Sqlite,
        path: path.to_path_buf(),
        cache_bytes: 1 << 20,
    };
    Store::open(&settings).unwrap()
}

#[tokio::test]
async fn everything_acknowledged_is_there_after_the_store_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::on(open(folder.path()), SecondFactor::Optional).await;
    let ada = world.owner("ada@example.com", ACME).await;
    let kept = world.session("ada@example.com").await;
    let ended = world.session("ada@example.com").await;
    let who = world.identity(&ended).unwrap();
    world.users.sign_out(&who).await.unwrap();
    let reset = world.users.request_reset("ada@example.com", origin());
    let reset = reset.await.unwrap().unwrap();
    let head = world.users.chain_head().await.unwrap();
    let World {
        users,
        clock,
        ids,
        store,
    } = world;
    drop(users);
    assert!(store.close().await);
    drop(store);

    let store = open(folder.path());
    let users = load(&store, &clock, &ids, SecondFactor::Optional).await;
    let who = users.authenticate_session(kept.expose(), origin());
    assert_eq!(who.unwrap().user.id, ada);
    assert!(
        users
            .authenticate_session(ended.expose(), origin())
            .is_err()
    );
    let (_, user) = users.link(reset.token.expose()).unwrap();
    assert_eq!(user.email, "ada@example.com");
    let report = users.verify_chain().await.unwrap();
    assert_eq!((report.head, report.faults), (head, vec![]));
    let signed_in = users.sign_in("ada@example.com", Secret::from(PASSWORD), origin());
    assert!(matches!(signed_in.await.unwrap(), SignIn::SignedIn(_)));
    assert_eq!(users.verify_chain().await.unwrap().faults, []);
}

#[tokio::test]
async fn a_damaged_end_of_the_audit_log_does_not_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::on(open(folder.path()), SecondFactor::Optional).await;
    let ada = world.owner("ada@example.com", ACME).await;
    let session = world.session("ada@example.com").await;
    let entry = NewEntry::new(Actor::System, origin(), "note", "a damaged object");
    let appended = world.users.commit_audited(Batch::new(), vec![entry]);
    appended.await.unwrap();
    let World {
        users,
        clock,
        ids,
        store,
    } = world;
    drop(users);
    assert!(store.close().await);
    drop(store);
    let database = folder.path().join("sqlite/switchyard.sqlite3");
    let mut bytes = std::fs::read(&database).unwrap();
    let text = b"a damaged object";
    let at = bytes.windows(text.len()).position(|part| part == text);
    bytes[at.unwrap()] = b'b';
    std::fs::write(&database, bytes).unwrap();

    let store = open(folder.path());
    let users = load(&store, &clock, &ids, SecondFactor::Optional).await;
    let who = users.authenticate_session(session.expose(), origin());
    assert_eq!(who.unwrap().user.id, ada);
    // The page of the store is damaged, and nothing can be written to it.
    let report = users.verify_chain().await.unwrap();
    assert_eq!(report.faults, [ChainFault::Damaged(1)]);
    let signed_in = users.sign_in("ada@example.com", Secret::from(PASSWORD), origin());
    assert!(matches!(signed_in.await, Err(UsersError::Read(_))));
}
