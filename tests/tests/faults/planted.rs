//! The judge of the other tests finds what it is there for, in a real server whose world was made
//! to break a promise.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use switchyard_tests::provider::Provider;
use switchyard_tests::sweep::{Broken, Rule, Site, through};
use switchyard_tests::{eventually, programmable_gateway};

const ENDS_WITHIN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_payment_a_lost_callback_a_doubled_charge_and_a_missing_webhook_are_found()
-> anyhow::Result<()> {
    let site = Site::open(&programmable_gateway(), |_| ()).await?;
    let kept = tempfile::tempdir()?;
    let judged = through(site, 40, async |site, load| {
        site.server.stop().await?;
        copy(&site.server.data(), &kept.path().join("data"))?;
        site.server.up().await?;
        let before = load.told().made.len();
        let known = acknowledged(&site.provider);
        load.goes_on(20).await?;
        eventually("callbacks are taken", ENDS_WITHIN, async || {
            Ok((acknowledged(&site.provider) > known + 2).then_some(()))
        })
        .await?;
        // As after a restore from a backup: later promises are lost.
        site.server.kill().await?;
        std::fs::remove_dir_all(site.server.data())?;
        copy(&kept.path().join("data"), &site.server.data())?;
        site.server.up().await?;
        ensure!(load.told().made.len() >= before + 20, "nothing was lost");
        site.provider.double_next();
        site.inbox.lose_next("payout.success");
        let ended = site.inbox.letters().len();
        eventually("transactions end", ENDS_WITHIN, async || {
            Ok((site.inbox.letters().len() > ended + 40).then_some(()))
        })
        .await
    })
    .await;
    let error = judged.err().context("four promises were broken")?;
    let rules = match error.downcast_ref::<Broken>() {
        Some(broken) => broken.rules(),
        None => return Err(error),
    };
    for rule in [
        Rule::NothingLost,
        Rule::CallbackKept,
        Rule::NothingDoubled,
        Rule::WebhookCame,
    ] {
        ensure!(rules.contains(&rule), "{rule:?} was not found: {error:#}");
    }
    Ok(())
}

/// How many callbacks the server has acknowledged.
fn acknowledged(provider: &Provider) -> u32 {
    let calls = provider.calls();
    calls.values().map(|called| called.acknowledged).sum()
}

/// A folder with its content.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = Command::new("cp").arg("-a").args([from, to]).status()?;
    ensure!(
        copied.success(),
        "cp -a {} {}",
        from.display(),
        to.display()
    );
    Ok(())
}
