//! `switchyard reseal`.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use switchyard_engine::access::{MasterKey, reseal};
use switchyard_progress::Progress;
use switchyard_records::format::ensure_format;
use switchyard_store::Store;
use switchyard_system::ids::Ids;

use crate::config::{self, Overrides};
use crate::serve::{current_master_key, store_settings};

/// Arguments of `switchyard reseal`.
#[derive(Args)]
pub struct Reseal {
    /// Settings file of the server, which has to be stopped
    #[arg(long, env = "SWITCHYARD_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data folder, instead of data.dir
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// File with the new master key, as `master-key` makes it
    #[arg(long, value_name = "FILE")]
    new_key: PathBuf,
}

impl Reseal {
    pub async fn run(self) -> anyhow::Result<()> {
        let overrides = Overrides {
            data: self.data,
            ..Overrides::default()
        };
        let settings = config::load(self.config.as_deref(), &overrides)?;
        let ids = Ids::system();
        let current = current_master_key(&settings)?;
        let new = MasterKey::from_file(&self.new_key)?;
        let path = settings.store_path();
        anyhow::ensure!(path.exists(), "there is no store at {}", path.display());
        // A rolled-back store gets its hold here: the commits below would hide that from the
        // server.
        let copy = settings.store.copy_to.as_deref();
        let store = Store::open_beside_copy(&store_settings(&settings), copy, false)
            .context("failed to open the store: stop the server first")?;
        ensure_format(&store).await?;
        let progress = Progress::waiting("encrypt the secrets with the new key");
        let done = reseal(&store, &current, &new, &ids).await;
        drop(progress);
        store.close().await;
        let done = done?;
        println!(
            "Accounts whose secrets were sealed under master key {}: {} now, {} before.",
            new.id(),
            done.accounts,
            done.already
        );
        println!(
            "Start the server with {} as its master key. Backups from before need the old key: \
             keep it as long as you keep them. The data keys did not change: if the old key and a \
             copy of the store were stolen, begin a new installation with new credentials.",
            self.new_key.display()
        );
        Ok(())
    }
}
