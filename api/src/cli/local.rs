//! Commands that need no server: creating keys that are outside the store.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use switchyard_engine::access::{MasterKey, SettingsToken, make_for_settings};
use switchyard_system::ids::Ids;

#[derive(Args)]
pub struct NewMasterKey {
    /// New file for the key; it must not exist
    file: PathBuf,
}

impl NewMasterKey {
    pub fn run(&self) -> anyhow::Result<()> {
        let key = MasterKey::create_file(&self.file, &Ids::system())?;
        println!("Made master key {} in {}.", key.id(), self.file.display());
        println!(
            "Name it in secrets.master_key_file. Keep a copy where the backups of the store are not: without it they are of no use."
        );
        Ok(())
    }
}

#[derive(Args)]
pub struct NewToken {
    /// The service.code of the settings
    #[arg(long, default_value = "switchyard")]
    service_code: String,
    /// Name of the operator who uses it, as the audit log shows it
    #[arg(long)]
    name: Option<String>,
    /// For Prometheus: the token reads /metrics and opens nothing else
    #[arg(long)]
    metrics: bool,
}

impl NewToken {
    pub fn run(&self) -> anyhow::Result<()> {
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        ensure!(
            (1..=20).contains(&self.service_code.len()) && self.service_code.chars().all(lower),
            "a service code is 1 to 20 lower-case letters and digits"
        );
        let (token, setting) = make_for_settings(&self.service_code, &Ids::system());
        println!("{}", token.expose());
        let named = match &self.name {
            Some(name) => format!("{name}:{setting}"),
            None => setting,
        };
        ensure!(
            SettingsToken::parse(&named).is_some(),
            "a name is one line of 1 to 100 characters"
        );
        let section = if self.metrics { "metrics" } else { "operator" };
        eprintln!("Shown once. For the settings file:\n\n[{section}]\ntokens = [\"{named}\"]");
        Ok(())
    }
}
