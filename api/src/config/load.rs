//! Where settings come from: defaults, the file, the environment, the command line; the last one wins.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use figment::Figment;
use figment::providers::{Env, Format, Toml};

use super::settings::Settings;

/// What the command line says in place of the settings.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub development: bool,
    pub listen: Option<SocketAddr>,
    pub port: Option<u16>,
    pub data: Option<PathBuf>,
    pub gateways: Option<PathBuf>,
    pub rate_limit: Option<u32>,
}

/// Why settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "the settings file {0} does not exist: copy examples/switchyard.toml there, or name another with --config"
    )]
    Missing(PathBuf),
    #[error("{}", explain(.0))]
    Unreadable(Box<figment::Error>),
}

/// Reads the settings. Without a file, everything that the environment and the command line leave open is a default.
pub fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Settings, LoadError> {
    let mut figment = Figment::new();
    if let Some(file) = file {
        if !file.is_file() {
            return Err(LoadError::Missing(file.to_owned()));
        }
        figment = figment.merge(Toml::file_exact(file));
    }
    // Only what names a section is a setting: SWITCHYARD_URL and SWITCHYARD_TOKEN are for the command line's other half.
    let environment = Env::prefixed("SWITCHYARD_")
        .filter(|name| name.as_str().contains("__") || name == "development")
        .split("__");
    let mut settings: Settings = figment
        .merge(environment)
        .extract()
        .map_err(|why| LoadError::Unreadable(Box::new(why)))?;
    overrides.apply(&mut settings);
    Ok(settings)
}

impl Overrides {
    fn apply(&self, settings: &mut Settings) {
        settings.development |= self.development;
        if let Some(listen) = self.listen {
            settings.server.listen = listen;
        }
        if let Some(port) = self.port {
            settings.server.listen.set_port(port);
        }
        if let Some(data) = &self.data {
            settings.data.dir.clone_from(data);
        }
        if let Some(gateways) = &self.gateways {
            settings.gateways.dir.clone_from(gateways);
        }
        if let Some(limit) = self.rate_limit {
            settings.rate_limit.per_minute = limit;
        }
    }
}

/// All of figment's errors, each with the setting and the place it comes from.
fn explain(error: &figment::Error) -> String {
    let one = |error: figment::Error| {
        let place = match error
            .metadata
            .as_ref()
            .and_then(|from| from.source.as_ref())
        {
            Some(figment::Source::File(path)) => format!("in {}: ", path.display()),
            Some(_) => String::new(),
            None => "in the environment: ".to_owned(),
        };
        let path = error.path.join(".");
        let name = if path.is_empty() {
            String::new()
        } else {
            format!("{path}: ")
        };
        format!("{place}{name}{}", error.kind)
    };
    error
        .clone()
        .into_iter()
        .map(one)
        .collect::<Vec<_>>()
        .join("; ")
}
