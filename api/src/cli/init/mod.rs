//! `switchyard init`: the settings, the master key and the first operator's token of a production
//! installation.
//!
//! Promises: existing files are never changed; a failure leaves nothing behind; the written files
//! can be read by their owner only, whatever the umask; the settings pass the checks of a start.

mod files;
mod options;
mod questions;
#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;
use switchyard_core::secret::Secret;
use switchyard_engine::access::make_for_settings;
use switchyard_system::ids::Ids;

use self::files::{Installation, Written};
use self::options::InitOptions;
pub use self::options::reachable;
use crate::config::StoreBackend;

/// Arguments of `switchyard init`.
#[derive(Args)]
pub struct Init {
    /// Address under which payers and merchants reach the server, such as `https://pay.example.com`
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Address and port of the public listener, behind the proxy
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Address and port of the operators' listener: on loopback or in a private network
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8081")]
    admin_listen: SocketAddr,
    /// Address or network of the proxy; can be repeated [default: 127.0.0.1 if --listen is a
    /// loopback address]
    #[arg(long = "trusted-proxy", value_name = "ADDRESS")]
    trusted_proxies: Vec<String>,
    /// Folder for switchyard.toml and master.key
    #[arg(long, value_name = "FOLDER", default_value = "/etc/switchyard")]
    settings: PathBuf,
    /// Folder for the data
    #[arg(long, value_name = "FOLDER", default_value = "/var/lib/switchyard")]
    data: PathBuf,
    /// Folder with the gateways [default: lib/switchyard/gateways beside the folder of the program,
    /// such as /usr/lib/switchyard/gateways]
    #[arg(long, value_name = "FOLDER")]
    gateways: Option<PathBuf>,
    /// Mail server, such as smtps://user:password@mail.example.com [default: no mails]
    #[arg(
        long,
        value_name = "URL",
        env = "SWITCHYARD_MAIL__SMTP_URL",
        hide_env_values = true
    )]
    smtp_url: Option<String>,
    /// Store backend
    #[arg(
        long,
        value_name = "BACKEND",
        default_value = "sqlite",
        value_parser = ["sqlite", "sled"]
    )]
    store: String,
    /// Name of the first operator, as the audit log shows it
    #[arg(long, value_name = "NAME", default_value = "operator")]
    operator: String,
    /// Ask nothing: use the options and their defaults
    #[arg(long)]
    yes: bool,
}

pub const EXAMPLE: &str = "\
Without --yes, a terminal is asked for what the options leave open.

Example:
  runuser -u switchyard -- switchyard init --yes --public-url https://pay.example.com --operator ada

It writes switchyard.toml and master.key, readable for their owner only, and prints the operator's
token once. It changes no existing file. If it fails, it leaves nothing behind.";

impl Init {
    pub fn run(self, json: bool) -> anyhow::Result<()> {
        let is_asked = !self.yes && io::stdin().is_terminal();
        let mut options = self.options();
        if is_asked {
            let mut terminal = questions::Terminal::new(io::stdin().lock(), io::stderr().lock());
            terminal.ask(&mut options)?;
            if !terminal.confirm(&options)? {
                bail!("stopped: nothing was written");
            }
        } else if options.public_url.is_empty() {
            bail!("name the address of the installation with --public-url https://pay.example.com");
        }
        let ids = Ids::system();
        let (token, hash) = make_for_settings(SERVICE_CODE, &ids);
        let text = options.settings_file(&hash);
        options.check(&text)?;
        let written = Installation::of(&options).write(&text, &ids)?;
        let shown = match json {
            true => as_json(&options, &written, &token),
            false => as_text(&options, &written, &token),
        };
        // Without the token the files are of no use: they stay only when it was printed.
        let mut out = io::stdout().lock();
        out.write_all(shown.as_bytes())
            .and_then(|()| out.flush())
            .context("failed to print the operator's token: nothing was written")?;
        written.keep();
        Ok(())
    }

    fn options(self) -> InitOptions {
        InitOptions {
            public_url: self.public_url.unwrap_or_default(),
            listen: self.listen,
            admin_listen: self.admin_listen,
            trusted_proxies: self.trusted_proxies,
            settings: self.settings,
            data: self.data,
            gateways: self.gateways.unwrap_or_else(installed_gateways),
            smtp_url: self.smtp_url.filter(|url| !url.is_empty()).map(Secret::new),
            store: match self.store.as_str() {
                "sled" => StoreBackend::Sled,
                _ => StoreBackend::Sqlite,
            },
            operator: self.operator,
        }
    }
}

fn as_json(options: &InitOptions, written: &Written, token: &Secret<String>) -> String {
    let report = json!({
        "settings": written.settings.display().to_string(),
        "master_key": written.master_key.display().to_string(),
        "master_key_id": written.master_key_id,
        "data": options.data.display().to_string(),
        "operator": options.operator,
        "token": token.expose(),
    });
    format!("{report:#}\n")
}

fn as_text(options: &InitOptions, written: &Written, token: &Secret<String>) -> String {
    let settings = written.settings.display();
    let mail = match options.smtp_url {
        Some(_) => "",
        None => "\nNo mails are sent until mail.smtp_url is set.\n",
    };
    format!(
        "\
Wrote a production installation.

  settings        {settings}
  master key      {key}
  data folder     {data}
  operator token  {token}

The token of {operator} is shown once: store it in a password manager.
{mail}
Next steps:

  1. Copy the master key to a safe place, apart from all backups. Without it they cannot be read.
  2. Check the settings:

       switchyard config check --config {settings}

  3. Start the server, as the user that owns these files:

       {start}

  4. Examine the installation:

       export SWITCHYARD_URL={admin} SWITCHYARD_TOKEN=<the token>
       switchyard doctor --config {settings}

  5. Consent to a gateway: it shows the hashes of those that wait.

       switchyard gateway list
",
        key = written.master_key.display(),
        data = options.data.display(),
        token = token.expose(),
        operator = options.operator,
        admin = options.admin_url(),
        start = match written.settings == Path::new(OF_UNIT) {
            true => "systemctl enable --now switchyard".to_owned(),
            false => format!("switchyard serve --config {settings}"),
        },
    )
}

/// Folder of the gateways that were installed with this program.
fn installed_gateways() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    // The folder above `bin`.
    let installed = program.ancestors().nth(2).map(Path::to_owned);
    let installed = installed.unwrap_or_else(|| PathBuf::from("/usr/local"));
    installed.join("lib/switchyard/gateways")
}

/// The settings file of the systemd unit.
const OF_UNIT: &str = "/etc/switchyard/switchyard.toml";
/// The `service.code` of a new installation: the default of the setting.
const SERVICE_CODE: &str = "switchyard";
