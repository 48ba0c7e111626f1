//! Sources of settings: defaults, file, environment, command line. A later one wins.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use figment::Figment;
use figment::providers::{Env, Format, Toml};
use switchyard_engine::secret::Secret;

use super::settings::Settings;

/// Options of the command line that replace settings.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub development: bool,
    pub listen: Option<SocketAddr>,
    pub port: Option<u16>,
    pub data: Option<PathBuf>,
    pub gateways: Option<PathBuf>,
    pub rate_limit: Option<u32>,
}

/// Error of reading the settings.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "the settings file {0} does not exist: copy examples/switchyard.toml there, or name another with --config"
    )]
    Missing(PathBuf),
    #[error("the settings file {path} cannot be read: {source}{}", advice(.source))]
    Unopened { path: PathBuf, source: io::Error },
    #[error(
        "the settings file {path} holds {setting} and can be read by others (mode {mode:o}): run `chmod 600 {path}`, or give the setting \
         by the environment"
    )]
    OpenToOthers {
        path: PathBuf,
        setting: &'static str,
        mode: u32,
    },
    #[error("{}", explain(.0))]
    Unreadable(Box<figment::Error>),
}

/// Reads the settings. Without a file, everything that the environment and the command line leave open is a default.
pub fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Settings, LoadError> {
    let mut figment = Figment::new();
    if let Some(file) = file {
        can_be_read(file)?;
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
    if let Some(file) = file {
        keeps_its_secrets(file)?;
    }
    Ok(settings)
}

/// Tells a file that is missing from one that this user may not read.
fn can_be_read(path: &Path) -> Result<(), LoadError> {
    let is_file = File::open(path).and_then(|file| Ok(file.metadata()?.is_file()));
    let source = match is_file {
        Ok(true) => return Ok(()),
        Ok(false) => io::Error::other("it is not a regular file"),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            return Err(LoadError::Missing(path.to_owned()));
        }
        Err(why) => why,
    };
    let path = path.to_owned();
    Err(LoadError::Unopened { path, source })
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            ". The user that runs the server has to be able to read the file and to enter every folder above it: change their owner or \
             mode, or run the server as another user"
        }
        _ => "",
    }
}

/// Refuses a file with a secret in it that others can read.
fn keeps_its_secrets(file: &Path) -> Result<(), LoadError> {
    let Ok(mode) = fs::metadata(file).map(|file| file.permissions().mode() & 0o777) else {
        return Ok(());
    };
    // Unknown settings were refused before.
    let Ok(in_file) = Figment::from(Toml::file_exact(file)).extract::<Settings>() else {
        return Ok(());
    };
    let has_password = |url: &Secret<String>| {
        let url = url::Url::parse(url.expose());
        url.is_ok_and(|url| url.password().is_some())
    };
    let setting = match (&in_file.secrets.master_key, &in_file.mail.smtp_url) {
        (Some(_), _) => "secrets.master_key",
        (_, Some(url)) if has_password(url) => "the password of mail.smtp_url",
        _ => return Ok(()),
    };
    match mode & 0o007 {
        0 => Ok(()),
        _ => Err(LoadError::OpenToOthers {
            path: file.to_owned(),
            setting,
            mode,
        }),
    }
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
        let kind = error.kind.to_string();
        let advice = match kind.contains("duplicate key") {
            true => " (a section may stand in the file once: put all its settings under one line)",
            false => "",
        };
        format!("{place}{name}{kind}{advice}")
    };
    error
        .clone()
        .into_iter()
        .map(one)
        .collect::<Vec<_>>()
        .join("; ")
}
