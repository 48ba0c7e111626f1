//! The audit log: contents, filters, the chain of hashes.

use async_trait::async_trait;
use serde_json::json;
use switchyard_store::{
    Batch, CommitError, CrashPoint, CrashingKv, Direction, KeyValues, MemoryDisk, Storage,
    StoreError, StoreStats, Table,
};

use super::*;

fn note(n: u64) -> NewEntry {
    let action = if n.is_multiple_of(2) { "even" } else { "odd" };
    NewEntry::new(Actor::System, origin(), action, n)
}

async fn append(world: &World, entries: u64) {
    for n in 1..=entries {
        world.clock.advance(MINUTE);
        let appended = world.users.commit_audited(Batch::new(), vec![note(n)]);
        appended.await.unwrap();
    }
}

fn query(limit: usize) -> AuditQuery {
    AuditQuery {
        limit,
        ..AuditQuery::default()
    }
}

async fn objects(world: &World, query: &AuditQuery) -> (Vec<String>, Option<u64>) {
    let page = world.users.audit(query).await.unwrap();
    let objects = page.entries.into_iter().map(|entry| entry.object);
    (objects.collect(), page.next)
}

#[tokio::test]
async fn the_log_is_read_newest_first_page_by_page() {
    let world = World::new().await;
    append(&world, 5).await;
    let (first, next) = objects(&world, &query(2)).await;
    assert_eq!(first, ["5", "4"]);
    let mut rest = query(3);
    rest.before = next;
    let (second, next) = objects(&world, &rest).await;
    assert_eq!(second, ["3", "2", "1"]);
    rest.before = next;
    assert_eq!(objects(&world, &rest).await, (vec![], None));
}

#[tokio::test]
async fn the_log_is_filtered_by_action_and_time() {
    let world = World::new().await;
    let start = world.clock.now();
    append(&world, 8).await;
    let mut odd = query(10);
    odd.action = Some("odd".to_owned());
    assert_eq!(objects(&world, &odd).await.0, ["7", "5", "3", "1"]);
    let mut between = query(10);
    between.since = Some(start.plus(3 * MINUTE));
    between.until = Some(start.plus(5 * MINUTE));
    assert_eq!(objects(&world, &between).await.0, ["5", "4", "3"]);
    between.until = Some(start);
    assert_eq!(objects(&world, &between).await.0, Vec::<String>::new());
}

#[tokio::test]
async fn the_log_is_filtered_by_user_and_account() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    world.owner("eve@example.com", GLOBEX).await;
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ViewPersonalData, Some(ACME));
    let seen = permit.entry("cus_1");
    let appended = world.users.commit_audited(Batch::new(), vec![seen]);
    appended.await.unwrap();
    let mut of_ada = query(50);
    of_ada.user = Some(ada);
    of_ada.account = Some(account(ACME));
    let page = world.users.audit(&of_ada).await.unwrap();
    let actions: Vec<_> = page.entries.iter().map(|it| it.action.as_str()).collect();
    assert_eq!(actions, ["view_personal_data", "accept_invitation"]);
    assert_eq!(page.entries[0].address, origin().address);
}

#[tokio::test]
async fn entries_record_changes_and_no_secrets() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Viewer)
        .await;
    let who = world.signed_in("ada@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let changed = world.users.change_role(&permit, vic, Role::Support);
    changed.await.unwrap();
    let page = world.users.audit(&query(200)).await.unwrap();
    let entry = &page.entries[0];
    assert_eq!(entry.action, "manage_team");
    assert_eq!(entry.object, vic.to_string());
    assert_eq!(entry.before, json!({ "role": "viewer" }));
    assert_eq!(entry.after, json!({ "role": "support" }));
    for entry in page.entries {
        let text = serde_json::to_string(&entry).unwrap();
        assert!(!text.contains(PASSWORD), "{text}");
    }
}

#[tokio::test]
async fn a_large_change_is_recorded_by_its_hash() {
    let world = World::new().await;
    let large = json!({ "logo": "x".repeat(20_000) });
    let entry = note(1).changing(large, json!({ "logo": "" }));
    let appended = world.users.commit_audited(Batch::new(), vec![entry]);
    appended.await.unwrap();
    let page = world.users.audit(&query(1)).await.unwrap();
    assert_eq!(page.entries[0].before["bytes"], 20_011);
    assert_eq!(page.entries[0].after["logo"], "");
}

#[tokio::test]
async fn an_entry_is_stored_with_its_change_or_not_at_all() {
    let world = World::new().await;
    let mut batch = Batch::new();
    batch.require_version(Table::Transaction, "missing", 1);
    let failed = world.users.commit_audited(batch, vec![note(1)]).await;
    assert!(matches!(failed, Err(UsersError::Conflict)));
    append(&world, 1).await;
    let report = world.users.verify_chain().await.unwrap();
    assert_eq!((report.entries, report.faults), (1, vec![]));
}

#[tokio::test]
async fn a_broken_entry_is_named() {
    for (broken, expected) in [
        (Broken::Changed, ChainFault::Altered(4)),
        (Broken::Removed, ChainFault::Missing(3)),
        (Broken::Unreadable, ChainFault::Damaged(3)),
        (Broken::Renumbered, ChainFault::Damaged(3)),
    ] {
        let world = World::new().await;
        append(&world, 5).await;
        assert_eq!(world.users.verify_chain().await.unwrap().entries, 5);
        tamper(&world, broken).await;
        let report = world.users.verify_chain().await.unwrap();
        assert_eq!(report.faults, [expected]);
    }
}

#[derive(Clone, Copy)]
enum Broken {
    Changed,
    Removed,
    Unreadable,
    Renumbered,
}

/// Falsifies entry 3.
async fn tamper(world: &World, broken: Broken) {
    let key = 3_u64.to_be_bytes();
    let row = world.store.get(Table::Audit, &key).await.unwrap().unwrap();
    let mut entry: Entry = serde_json::from_slice(&row).unwrap();
    let mut batch = Batch::new();
    match broken {
        Broken::Removed => batch.delete(Table::Audit, key),
        Broken::Unreadable => batch.put(Table::Audit, key, "{"),
        Broken::Changed => {
            entry.object = "another object".to_owned();
            batch.put(Table::Audit, key, serde_json::to_vec(&entry).unwrap());
        }
        Broken::Renumbered => {
            entry.number = 4;
            batch.put(Table::Audit, key, serde_json::to_vec(&entry).unwrap());
        }
    }
    world.store.commit(batch).await.unwrap();
}

#[tokio::test]
async fn removal_of_the_last_entries_shows_in_the_head() {
    let world = World::new().await;
    append(&world, 5).await;
    let recorded = world.users.chain_head().await.unwrap();
    assert_eq!(recorded.number, 5);
    let mut batch = Batch::new();
    batch.delete(Table::Audit, 5_u64.to_be_bytes());
    world.store.commit(batch).await.unwrap();
    let report = world.users.verify_chain().await.unwrap();
    assert_eq!(report.faults, []);
    assert_ne!(report.head, recorded);
}

#[tokio::test]
async fn the_chain_continues_after_a_crash_at_any_flush() {
    for death in (1..8).flat_map(|n| [CrashPoint::Before(n), CrashPoint::After(n)]) {
        let disk = MemoryDisk::default();
        let process = CrashingKv::new(&disk, death);
        let world = World::on(process.store(), SecondFactor::Optional).await;
        let mut acknowledged = 0;
        for n in 1..=6 {
            let appended = world.users.commit_audited(Batch::new(), vec![note(n)]);
            let appended = tokio::time::timeout(Duration::from_millis(200), appended).await;
            match appended {
                Ok(Ok(())) => acknowledged = n,
                _ => break,
            }
        }
        process.kill();
        let process = CrashingKv::new(&disk, CrashPoint::Never);
        let world = World::on(process.store(), SecondFactor::Optional).await;
        append(&world, 2).await;
        let report = world.users.verify_chain().await.unwrap();
        assert_eq!(report.faults, [], "{death:?}");
        assert!(report.entries >= acknowledged + 2, "{death:?}");
    }
}

#[tokio::test]
async fn an_unreadable_last_entry_does_not_stop_the_start_and_is_marked() {
    let world = World::new().await;
    append(&world, 3).await;
    tamper(&world, Broken::Unreadable).await;
    let users = world.restarted(SecondFactor::Optional).await;
    let appended = users.commit_audited(Batch::new(), vec![note(5)]).await;
    appended.unwrap();
    let report = users.verify_chain().await.unwrap();
    assert_eq!(report.faults, [ChainFault::Damaged(3)]);
    assert_eq!((report.entries, report.head.number), (4, 5));
    let page = users.audit(&query(10)).await.unwrap();
    let entries: Vec<_> = page
        .entries
        .iter()
        .map(|it| (it.number, it.action.as_str()))
        .collect();
    assert_eq!(
        entries,
        [
            (5, "odd"),
            (4, "audit_chain_broken"),
            (2, "even"),
            (1, "odd")
        ]
    );
}

/// Refused entries, oldest first.
async fn refusals(world: &World) -> Vec<Entry> {
    let page = world.users.audit(&query(200)).await.unwrap();
    let entries = page.entries.into_iter().rev();
    entries
        .filter(|entry| entry.result == AuditResult::Refused)
        .collect()
}

#[tokio::test]
async fn forbidden_actions_are_recorded_and_what_a_page_offers_is_not() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Viewer)
        .await;
    let who = world.signed_in("vic@example.com").await;
    let ask = |action, number| world.users.may(&who, action, Some(account(number)));
    assert!(ask(Action::ViewPayments, ACME));
    assert!(!ask(Action::CreatePayout, ACME));
    assert!(!ask(Action::ViewPayments, GLOBEX));
    world.users.background_writes_ended().await;
    assert!(refusals(&world).await.is_empty());
    for number in [ACME, GLOBEX] {
        let action = Action::CreatePayout;
        let refused = world.users.authorize(&who, action, Some(account(number)));
        assert!(refused.is_err());
        world.users.background_writes_ended().await;
    }
    let entries = refusals(&world).await;
    let shown: Vec<_> = entries
        .iter()
        .map(|it| {
            (
                it.actor.user(),
                it.action.as_str(),
                it.object.clone(),
                it.account,
            )
        })
        .collect();
    let entry = |number, about| {
        let object = account(number).to_string();
        (Some(vic), "create_payout", object, about)
    };
    let expected = [entry(ACME, Some(account(ACME))), entry(GLOBEX, None)];
    assert_eq!(shown, expected, "another account does not see who asked");
    // A session that is too old for an action, or has ended, is no attempt at a forbidden one.
    let ada = world.signed_in("ada@example.com").await;
    world.clock.advance(10 * MINUTE);
    assert!(
        world
            .users
            .may(&ada, Action::ManageKeys, Some(account(ACME)))
    );
    world
        .users
        .authorize(&ada, Action::ManageKeys, Some(account(ACME)))
        .unwrap_err();
    world.users.sign_out(&ada).await.unwrap();
    world
        .users
        .authorize(&ada, Action::ManageKeys, Some(account(ACME)))
        .unwrap_err();
    world.users.background_writes_ended().await;
    assert_eq!(refusals(&world).await.len(), 2);
}

#[tokio::test]
async fn a_flood_of_forbidden_actions_writes_few_entries_and_the_last_has_their_count() {
    let world = World::new().await;
    world.owner("ada@example.com", ACME).await;
    let who = world.signed_in("ada@example.com").await;
    for _ in 0..500 {
        let refused = world.users.authorize(&who, Action::ViewGateways, None);
        assert!(refused.is_err());
    }
    world.users.background_writes_ended().await;
    assert_eq!(refusals(&world).await.len(), 19);
    world.clock.advance(HOUR);
    world.users.purge_expired().await.unwrap();
    let entries = refusals(&world).await;
    assert_eq!(entries.len(), 20);
    assert_eq!(entries[19].action, "view_gateways");
    assert_eq!(entries[19].after["refusals"], 481);
    assert_eq!(world.users.verify_chain().await.unwrap().faults, []);
}

#[tokio::test]
async fn an_admin_who_reaches_for_the_owner_is_recorded() {
    let world = World::new().await;
    let ada = world.owner("ada@example.com", ACME).await;
    let vic = world
        .member("ada@example.com", ACME, "vic@example.com", Role::Admin)
        .await;
    let who = world.signed_in("vic@example.com").await;
    let permit = world.permit(&who, Action::ManageTeam, Some(ACME));
    let removed = world.users.remove_member(&permit, ada).await;
    assert!(removed.is_err());
    world.users.background_writes_ended().await;
    let entries = refusals(&world).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].action, "manage_team");
    assert_eq!(entries[0].actor, Actor::User { id: vic });
}

/// Storage with damaged rows of the audit log.
struct Damaging {
    inner: Store,
    damaged: Vec<u64>,
}

impl Damaging {
    fn checked(&self, rows: KeyValues) -> Result<KeyValues, StoreError> {
        let is_damaged = |key: &[u8]| self.damaged.iter().any(|n| n.to_be_bytes() == key);
        match rows.iter().any(|(key, _)| is_damaged(key)) {
            true => Err(StoreError::Damaged {
                table: Table::Audit.name(),
                kind: "binary".to_owned(),
            }),
            false => Ok(rows),
        }
    }
}

#[async_trait]
impl Storage for Damaging {
    async fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        self.inner.commit(batch).await
    }

    async fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.get(table, key).await
    }

    async fn scan(
        &self,
        table: Table,
        from: &[u8],
        to: &[u8],
        direction: Direction,
        limit: usize,
    ) -> Result<KeyValues, StoreError> {
        let rows = self.inner.scan(table, from, to, direction, limit).await?;
        self.checked(rows)
    }

    async fn close(&self) -> bool {
        self.inner.close().await
    }

    fn stats(&self) -> StoreStats {
        self.inner.stats()
    }

    fn identity(&self) -> Option<switchyard_store::Identity> {
        self.inner.identity()
    }

    fn damage(&self) -> Option<Arc<String>> {
        self.inner.damage()
    }

    fn report_damage(&self, what: &str) {
        self.inner.report_damage(what);
    }
}

#[tokio::test]
async fn damaged_rows_are_named_and_hide_no_others() {
    let world = World::new().await;
    append(&world, 7).await;
    let damaging = Store::over(Damaging {
        inner: world.store.clone(),
        damaged: vec![3, 4, 7],
    });
    let users = load(&damaging, &world.clock, &world.ids, SecondFactor::Optional).await;
    let report = users.verify_chain().await.unwrap();
    let damaged = [3, 4, 7].map(ChainFault::Damaged);
    assert_eq!(report.faults, damaged);
    assert_eq!((report.entries, report.head.number), (5, 8));
    let mut all = query(10);
    all.until = Some(world.clock.now());
    let page = users.audit(&all).await.unwrap();
    assert_eq!(page.unreadable, [7, 4, 3]);
    let numbers: Vec<_> = page.entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers, [8, 6, 5, 2, 1]);
    assert_eq!(page.entries[0].action, "audit_chain_broken");
    assert_eq!(page.entries[0].after, json!({ "unreadable_entry": 7 }));
    // The next start marks nothing again.
    let users = load(&damaging, &world.clock, &world.ids, SecondFactor::Optional).await;
    assert_eq!(users.chain_head().await.unwrap().number, 8);
}
