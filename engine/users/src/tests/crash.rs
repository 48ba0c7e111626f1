//! Users in a real store, across the end of the process.

use switchyard_store::{Backend, StoreSettings};

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
    assert_eq!((report.head, report.fault), (head, None));
    let signed_in = users.sign_in("ada@example.com", Secret::from(PASSWORD), origin());
    assert!(matches!(signed_in.await.unwrap(), SignIn::SignedIn(_)));
    assert_eq!(users.verify_chain().await.unwrap().fault, None);
}
