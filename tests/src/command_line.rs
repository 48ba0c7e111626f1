//! The operator's command line before a running server.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// Program, operators' listener and token of an operator.
pub struct CommandLine {
    pub program: PathBuf,
    pub url: String,
    pub token: String,
}

impl CommandLine {
    /// Answer of a command, with `--json`.
    ///
    /// # Errors
    /// When it fails, with what it printed.
    pub fn ask(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let output = Command::new(&self.program)
            .args(arguments)
            .arg("--json")
            .env("SWITCHYARD_URL", &self.url)
            .env("SWITCHYARD_TOKEN", &self.token)
            .output()?;
        ensure!(output.status.success(), "{arguments:?}: {output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        Ok(answer.get("data").cloned().unwrap_or(answer))
    }

    /// A secret key of a new app in sandbox, with the test gateway installed. `gateway`: its file.
    ///
    /// # Errors
    /// When a command fails.
    pub fn first_app(&self, gateway: &Path) -> anyhow::Result<String> {
        let gateway = gateway.display().to_string();
        let seen = self.ask(&["gateway", "inspect", &gateway])?;
        let sha256 = seen["sha256"].as_str().context("the hash")?;
        self.ask(&["gateway", "add", sha256])?;
        let account = self.ask(&["accounts", "create", "Acme"])?;
        let account = account["id"].as_str().context("the account")?;
        let app = self.ask(&["apps", "create", "--account", account, "Shop"])?;
        let app = app["id"].as_str().context("the app")?;
        let key = ["--environment", "sandbox", "--kind", "secret", "--app", app];
        let key = self.ask(&[&["keys", "create"][..], &key[..]].concat())?;
        Ok(key["key"].as_str().context("the key")?.to_owned())
    }
}
