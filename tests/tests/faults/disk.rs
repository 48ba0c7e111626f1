//! A disk that is full, read-only or slow while payments and payouts are in progress.

use std::time::Duration;

use switchyard_tests::client::payment;
use switchyard_tests::store::power_cut::build_shim;
use switchyard_tests::sweep::{Load, Site, through};
use switchyard_tests::{SmallDisk, eventually, programmable_gateway};
use tokio::time::Instant;

/// Orders that are put off before the disk is well again.
const PUT_OFF: u64 = 20;
const PUT_OFF_WITHIN: Duration = Duration::from_secs(60);
/// Duration of a flush on the slow disk: some hundred times the normal one.
const SLOW: Duration = Duration::from_millis(100);

async fn orders_are_put_off(load: &Load) -> anyhow::Result<()> {
    let before = load.told().counts.refused;
    eventually("orders are put off", PUT_OFF_WITHIN, async || {
        Ok((load.told().counts.refused >= before + PUT_OFF).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_in_the_middle_of_payments_loses_and_doubles_nothing() -> anyhow::Result<()> {
    let test = "disk::a_full_disk_in_the_middle_of_payments_loses_and_doubles_nothing";
    let Some(disk) = SmallDisk::mount(160, test) else {
        return Ok(());
    };
    let path: &'static str = disk.store().display().to_string().leak();
    // The log is on the full disk, too: a lost line must stop nothing.
    let log: &'static str = disk
        .store()
        .with_file_name("log")
        .display()
        .to_string()
        .leak();
    let site = Site::open(&programmable_gateway(), |setup| {
        setup.settings.push(("SWITCHYARD_STORE__PATH", path));
        setup.settings.push(("SWITCHYARD_STORE__RESERVE", "0B"));
        setup.settings.push(("SWITCHYARD_LOG__FILE", log));
    })
    .await?;
    let figures = through(site, 40, async |site, load| {
        for round in 0..2 {
            disk.take_all(round);
            load.flood(round as u64).await?;
            orders_are_put_off(load).await?;
            // The second time the program dies before there is room again.
            if round == 1 {
                site.server.kill().await?;
            }
            disk.give_back(round);
            if round == 1 {
                site.server.up().await?;
            }
            load.goes_on(20).await?;
        }
        Ok(())
    })
    .await?;
    println!("{figures}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_turns_read_only_in_the_middle_of_payments_loses_and_doubles_nothing()
-> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let shim = build_shim(folder.path())?;
    let root = folder.path().canonicalize()?.join("store");
    std::fs::create_dir(&root)?;
    let switch = folder.path().join("read only");
    let text = |path: &std::path::Path| -> &'static str { path.display().to_string().leak() };
    let site = Site::open(&programmable_gateway(), |setup| {
        for (name, value) in &mut setup.settings {
            if *name == "LD_PRELOAD" {
                *value = format!("{}:{value}", shim.display()).leak();
            }
        }
        setup.settings.extend([
            ("SWITCHYARD_STORE__PATH", text(&root)),
            ("SWITCHYARD_CUT_ROOT", text(&root)),
            ("SWITCHYARD_CUT_LOG", text(&folder.path().join("log"))),
            ("SWITCHYARD_CUT_READ_ONLY", text(&switch)),
        ]);
    })
    .await?;
    let figures = through(site, 40, async |_, load| {
        for _ in 0..2 {
            std::fs::write(&switch, "")?;
            orders_are_put_off(load).await?;
            std::fs::remove_file(&switch)?;
            load.goes_on(20).await?;
        }
        Ok(())
    })
    .await?;
    println!("{figures}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_disk_makes_everything_late_and_nothing_wrong() -> anyhow::Result<()> {
    let site = Site::open(&programmable_gateway(), |_| ()).await?;
    let figures = through(site, 40, async |site, load| {
        site.world.slow_flushes(SLOW)?;
        let (merchant, order) = (site.server.merchant(), payment("ok ok"));
        let asked = Instant::now();
        let made = merchant.post("/v1/payments/initialize", &order).await?;
        let made = made.expect(201)?;
        anyhow::ensure!(asked.elapsed() >= SLOW, "201 came before the flush");
        load.nobody_pays(made.data("id")?);
        load.goes_on(40).await?;
        // A kill that falls into a flush, most likely: it is always flushing.
        site.server.kill().await?;
        site.server.up().await?;
        load.goes_on(20).await?;
        site.world.slow_flushes(Duration::ZERO)
    })
    .await?;
    println!("{figures}");
    Ok(())
}
