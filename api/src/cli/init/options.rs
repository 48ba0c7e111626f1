//! InitOptions for a new installation, and the settings file that they make.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use switchyard_core::secret::Secret;

use crate::config::{self, Settings, StoreBackend, Weight};
use crate::serve::folders;

/// Addresses, folders and names of a new installation.
pub struct InitOptions {
    pub public_url: String,
    pub listen: SocketAddr,
    pub admin_listen: SocketAddr,
    pub trusted_proxies: Vec<String>,
    pub settings: PathBuf,
    pub data: PathBuf,
    pub gateways: PathBuf,
    pub smtp_url: Option<Secret<String>>,
    pub store: StoreBackend,
    pub operator: String,
}

impl InitOptions {
    /// The settings file. `hash`: that of the operator's token, as the settings take it.
    pub fn settings_file(&self, hash: &str) -> String {
        let settings = self.settings.join("switchyard.toml");
        let settings = settings.display();
        let backend = match self.store {
            StoreBackend::Sled => "sled",
            _ => "sqlite",
        };
        let mail = self.smtp_url.as_ref().map_or(String::new(), |url| {
            format!("\n[mail]\nsmtp_url = {}\n", quoted(url.expose()))
        });
        let proxies: Vec<String> = self.proxies().iter().map(|proxy| quoted(proxy)).collect();
        format!(
            "\
# Settings of Switchyard, made by `switchyard init`. Every other setting has its default.
# After a change: switchyard config check --config {settings}

[server]
public_url = {public_url}
listen = {listen}
admin_listen = {admin_listen}
trusted_proxies = [{proxies}]

[data]
dir = {data}

[store]
backend = {backend}

[secrets]
master_key_file = {master_key}

[operator]
tokens = [{token}]

[gateways]
dir = {gateways}
{mail}",
            public_url = quoted(&self.public_url),
            listen = quoted(&self.listen.to_string()),
            admin_listen = quoted(&self.admin_listen.to_string()),
            proxies = proxies.join(", "),
            data = quoted_path(&self.data),
            backend = quoted(backend),
            master_key = quoted_path(&self.settings.join("master.key")),
            token = quoted(&format!("{}:{hash}", self.operator)),
            gateways = quoted_path(&self.gateways),
        )
    }

    /// A proxy on this machine is the only one that reaches a loopback address.
    fn proxies(&self) -> Vec<String> {
        match self.trusted_proxies.is_empty() && self.listen.ip().is_loopback() {
            true => vec![self.listen.ip().to_string()],
            false => self.trusted_proxies.clone(),
        }
    }

    /// Checks the text of the settings file as a start does.
    ///
    /// # Errors
    /// All problems.
    pub fn check(&self, text: &str) -> anyhow::Result<()> {
        for folder in [&self.settings, &self.data, &self.gateways] {
            if !folder.is_absolute() || folder.to_str().is_none() {
                bail!("{} has to be an absolute path of text", folder.display());
            }
        }
        let settings: Settings = toml::from_str(text).context("the options make no settings")?;
        let mut faults = config::check(&settings);
        faults.extend(folders::check(&settings));
        faults.retain(|fault| fault.weight != Weight::Warning);
        let texts: Vec<String> = faults.into_iter().map(|fault| fault.text).collect();
        match texts.is_empty() {
            true => Ok(()),
            false => bail!("nothing was written:\n  {}", texts.join("\n  ")),
        }
    }

    /// The fault of one setting, by its name in the settings file.
    pub fn fault_of(setting: &str, value: &str) -> Option<String> {
        let (section, name) = setting.split_once('.')?;
        let text = format!("[{section}]\n{name} = {}", quoted(value));
        match toml::from_str::<Settings>(&text) {
            Ok(settings) => {
                let mut faults = config::check(&settings).into_iter();
                let is_it = |fault: &config::Fault| {
                    fault.setting == setting && fault.weight == Weight::Problem
                };
                faults.find(is_it).map(|fault| fault.text)
            }
            Err(error) => Some(error.message().to_owned()),
        }
    }

    /// URL of the operators' listener for a client on this machine.
    pub fn admin_url(&self) -> String {
        format!("http://{}", reachable(self.admin_listen))
    }
}

/// The address under which a client on this machine reaches a listener.
pub fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.display().to_string())
}
