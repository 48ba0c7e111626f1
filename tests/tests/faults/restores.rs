//! The store is lost again and again, its backup is restored, and nothing is paid twice.

use switchyard_tests::programmable_gateway;
use switchyard_tests::sweep::restores::{Restores, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backups_under_load_are_restored_held_and_released_without_paying_twice()
-> anyhow::Result<()> {
    let restores = Restores {
        restores: 2,
        rate: 40,
        // `cargo xtask sweep` holds it: another test may be on the same machine here.
        slowdown_limit: None,
    };
    let figures = run(restores, &programmable_gateway()).await?;
    println!("{figures}");
    anyhow::ensure!(
        figures.lost > 20 && figures.open > 0 && figures.made_held > 0,
        "there was too little load"
    );
    Ok(())
}
