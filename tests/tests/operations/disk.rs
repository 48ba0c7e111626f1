//! A disk that is full or read-only: 503, nothing half done, and it recovers without a restart.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use switchyard_tests::client::{payment, payout};
use switchyard_tests::store::power_cut::build_shim;
use switchyard_tests::{Answer, PAYS, Server, Setup, SmallDisk, eventually};

/// Requests that a store may still accept from its reserve after the disk was full.
const RESERVED: usize = 60_000;
const RECOVERS_WITHIN: Duration = Duration::from_secs(30);

/// Promises of a 201.
#[derive(Default)]
struct Promised {
    payments: BTreeSet<String>,
    payouts: BTreeSet<String>,
}

impl Promised {
    fn add(&mut self, answer: &Answer) -> anyhow::Result<()> {
        let id = answer.data("id")?.to_owned();
        match id.starts_with("po_") {
            true => self.payouts.insert(id),
            false => self.payments.insert(id),
        };
        Ok(())
    }
}

async fn initialize_until_refused(
    server: &Server,
    promised: &mut Promised,
) -> anyhow::Result<Answer> {
    let merchant = server.merchant();
    // A large description fills what the store had reserved sooner.
    let mut body = payment(&"teapot ".repeat(36));
    body["metadata"] = json!({"a": "x".repeat(500), "b": "y".repeat(500), "c": "z".repeat(500)});
    for _ in 0..RESERVED {
        let answer = merchant.post("/v1/payments/initialize", &body).await?;
        if answer.status != 201 {
            return Ok(answer);
        }
        promised.add(&answer)?;
    }
    anyhow::bail!("{RESERVED} payments fit on a full disk")
}

/// Refuses to write, with the envelope, and says when to come back.
async fn refuses(server: &Server, promised: &Promised, key: &str) -> anyhow::Result<()> {
    let merchant = server.merchant();
    for (path, body) in [
        ("/v1/payments/initialize", payment("A teapot")),
        ("/v1/payouts/initialize", payout("Salary", PAYS)),
    ] {
        let answer = merchant.post(path, &body).await?.expect(503)?;
        assert_eq!(
            answer.body["errors"][0]["code"], "service_unavailable",
            "{path}"
        );
        assert_eq!(answer.body["data"], json!({}), "{path}");
        assert!(answer.headers.contains_key("retry-after"), "{path}");
    }
    let keyed = merchant
        .post_keyed("/v1/payments/initialize", &payment("Keyed"), key)
        .await?;
    keyed.expect(503)?;
    let ready = server.stranger().get("/readyz").await?.expect(503)?;
    assert_eq!(ready.body["checks"]["store"], "cannot write");
    let metrics = server.operator().page("/metrics").await?;
    for alerted in ["switchyard_ready 0", "switchyard_store_available 0"] {
        assert!(metrics.lines().any(|line| line == alerted), "{metrics}");
    }
    server.stranger().get("/healthz").await?.expect(200)?;
    // Stored transactions can be read all the time.
    for id in promised.payments.iter().take(3) {
        let path = format!("/v1/payments/{id}");
        merchant.get(&path).await?.expect(200)?;
    }
    merchant.get("/v1/payments").await?.expect(200)?;
    Ok(())
}

/// Accepts payments again without a restart; the idempotency key that was refused is as good as
/// new.
async fn recovers(server: &Server, promised: &mut Promised, key: &str) -> anyhow::Result<()> {
    let merchant = server.merchant();
    let made = eventually("it takes payments again", RECOVERS_WITHIN, async || {
        let path = "/v1/payments/initialize";
        let answer = merchant.post_keyed(path, &payment("Keyed"), key).await?;
        anyhow::ensure!(matches!(answer.status, 201 | 503), "{answer:?}");
        Ok((answer.status == 201).then_some(answer))
    })
    .await?;
    assert!(!made.headers.contains_key("idempotent-replayed"));
    promised.add(&made)?;
    let again = merchant
        .post_keyed("/v1/payments/initialize", &payment("Keyed"), key)
        .await?;
    let again = again.expect(201)?;
    assert_eq!(again.data("id")?, made.data("id")?);
    assert!(again.headers.contains_key("idempotent-replayed"));
    let body = payout("Salary", PAYS);
    let paid_out = merchant.post("/v1/payouts/initialize", &body).await?;
    promised.add(&paid_out.expect(201)?)?;
    server.stranger().get("/readyz").await?.expect(200)?;
    Ok(())
}

/// There is what a 201 promised, and nothing else: no transaction without its answer, none without
/// its events.
async fn nothing_is_half_done(server: &Server, promised: &Promised) -> anyhow::Result<()> {
    let merchant = server.merchant();
    for (list, ids) in [
        ("/v1/payments", &promised.payments),
        ("/v1/payouts", &promised.payouts),
    ] {
        let mut found = BTreeSet::new();
        for page in 1.. {
            let path = format!("{list}?limit=100&page={page}");
            let answer = merchant.get(&path).await?.expect(200)?;
            let rows = answer.body["data"].as_array().cloned().unwrap_or_default();
            found.extend(
                rows.iter()
                    .filter_map(|row| Some(row["id"].as_str()?.to_owned())),
            );
            assert_eq!(answer.body["meta"]["total"], ids.len(), "{list}");
            if rows.len() < 100 {
                break;
            }
        }
        assert_eq!(&found, ids, "{list}");
    }
    for id in promised
        .payouts
        .iter()
        .chain(promised.payments.iter().take(20))
    {
        let path = format!("/operator/v1/transactions/{id}");
        let shown = server.operator().get(&path).await?.expect(200)?;
        let timeline = shown.body["data"]["timeline"].as_array();
        assert!(timeline.is_some_and(|events| !events.is_empty()), "{id}");
    }
    for id in &promised.payouts {
        let path = format!("/v1/payouts/{id}");
        eventually("the payout ends", RECOVERS_WITHIN, async || {
            let answer = merchant.get(&path).await?.expect(200)?;
            Ok((answer.data("status")? == "success").then_some(()))
        })
        .await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn below_the_reserve_new_transactions_are_refused_and_the_server_stays_ready()
-> anyhow::Result<()> {
    let test = "disk::below_the_reserve_new_transactions_are_refused_and_the_server_stays_ready";
    let Some(disk) = SmallDisk::mount(160, test) else {
        return Ok(());
    };
    let path: &'static str = disk.store().display().to_string().leak();
    let server = Server::start(Setup {
        settings: vec![
            ("SWITCHYARD_STORE__PATH", path),
            ("SWITCHYARD_STORE__RESERVE", "64MiB"),
            ("SWITCHYARD_STORE__PUBLIC_KEY_RESERVE", "64MiB"),
        ],
        ..Setup::default()
    })
    .await?;
    let initialize = async |status: u16| {
        let merchant = server.merchant();
        eventually("the free space is read", RECOVERS_WITHIN, async || {
            let path = "/v1/payouts/initialize";
            let answer = merchant.post(path, &payout("Salary", PAYS)).await?;
            Ok((answer.status == status).then_some(answer))
        })
        .await
    };
    let disk_check = async || {
        let ready = server.stranger().get("/readyz").await?.expect(200)?;
        anyhow::Ok(ready.body["checks"]["disk"].to_string())
    };
    initialize(201).await?;
    assert_eq!(disk_check().await?, "\"ok\"");
    disk.take(0, 110 << 20);
    let refused = initialize(503).await?;
    assert!(refused.headers.contains_key("retry-after"));
    assert!(disk_check().await?.contains("less than store.reserve"));
    disk.give_back(0);
    initialize(201).await?;
    assert_eq!(disk_check().await?, "\"ok\"");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_503_and_with_room_everything_goes_on() -> anyhow::Result<()> {
    let test = "disk::a_full_disk_is_503_and_with_room_everything_goes_on";
    let Some(disk) = SmallDisk::mount(160, test) else {
        return Ok(());
    };
    let path: &'static str = disk.store().display().to_string().leak();
    let mut server = Server::start(Setup {
        settings: vec![
            ("SWITCHYARD_STORE__PATH", path),
            ("SWITCHYARD_STORE__RESERVE", "0B"),
        ],
        ..Setup::default()
    })
    .await?;
    let mut promised = Promised::default();
    for round in 0..2 {
        let first = server
            .merchant()
            .post("/v1/payments/initialize", &payment("A teapot"))
            .await?;
        promised.add(&first.expect(201)?)?;
        disk.take_all(round);
        let refused = initialize_until_refused(&server, &mut promised).await?;
        refused.expect(503)?;
        let key = format!("after-flood-{round}");
        refuses(&server, &promised, &key).await?;
        disk.give_back(round);
        recovers(&server, &mut promised, &key).await?;
        nothing_is_half_done(&server, &promised).await?;
    }
    server.kill().await?;
    server.up().await?;
    nothing_is_half_done(&server, &promised).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_turns_read_only_is_503_and_when_it_can_be_written_everything_goes_on()
-> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let shim = build_shim(folder.path())?;
    let root = folder.path().canonicalize()?.join("store");
    std::fs::create_dir(&root)?;
    let switch = folder.path().join("read only");
    let text = |path: &std::path::Path| -> &'static str { path.display().to_string().leak() };
    let mut server = Server::start(Setup {
        settings: vec![
            ("SWITCHYARD_STORE__PATH", text(&root)),
            ("LD_PRELOAD", text(&shim)),
            ("SWITCHYARD_CUT_ROOT", text(&root)),
            ("SWITCHYARD_CUT_LOG", text(&folder.path().join("log"))),
            ("SWITCHYARD_CUT_READ_ONLY", text(&switch)),
        ],
        ..Setup::default()
    })
    .await?;
    let mut promised = Promised::default();
    let first = server
        .merchant()
        .post("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    promised.add(&first.expect(201)?)?;
    std::fs::write(&switch, "")?;
    initialize_until_refused(&server, &mut promised)
        .await?
        .expect(503)?;
    refuses(&server, &promised, "dry").await?;
    std::fs::remove_file(&switch)?;
    recovers(&server, &mut promised, "dry").await?;
    nothing_is_half_done(&server, &promised).await?;
    server.kill().await?;
    server.up().await?;
    nothing_is_half_done(&server, &promised).await?;

    // An end at which the store cannot write is not told as a good one.
    std::fs::write(&switch, "")?;
    initialize_until_refused(&server, &mut promised)
        .await?
        .expect(503)?;
    server.terminate().await?;
    let status = server.ended().await?;
    assert_eq!(status.code(), Some(1), "{}", server.log());
    assert!(!server.log().contains("everything is stored"));
    assert!(server.log().contains("the store could not write"));
    std::fs::remove_file(&switch)?;
    server.up().await?;
    nothing_is_half_done(&server, &promised).await?;
    server.stop().await?;
    assert!(server.log().contains("everything is stored"));
    Ok(())
}
