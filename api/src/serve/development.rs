//! Development mode: seeded keys, printed and written to `<data>/dev.json`, with a first request to
//! paste.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::json;
use switchyard_core::ids::AppId;
use switchyard_core::secret::Secret;
use switchyard_engine::access::{Access, DevelopmentKeys};

use super::console::SignInLinks;
use crate::config::Settings;

/// `dev.json`, as far as it is read again. Names are part of the contract with tests and examples.
#[derive(Deserialize)]
struct StoredKeys {
    app_id: AppId,
    sandbox_secret_key: Secret<String>,
    sandbox_public_key: Secret<String>,
    live_secret_key: Secret<String>,
    live_public_key: Secret<String>,
    operator_token: Secret<String>,
}

/// The keys of the last start if they are still there, else new ones; in `dev.json` before anybody
/// can ask.
pub async fn seed(access: &Access, settings: &Settings) -> anyhow::Result<DevelopmentKeys> {
    let path = file(settings);
    let seeded = access
        .seed_development(read(&path))
        .await
        .context("cannot make the keys of development mode")?;
    write(&path, settings, &seeded.keys)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(seeded.keys)
}

/// Says what was made and what to do with it.
pub fn welcome(settings: &Settings, keys: &DevelopmentKeys, links: &SignInLinks) -> io::Result<()> {
    let url = base_url(settings);
    let secret = keys.sandbox_secret_key.expose();
    let file = file(settings);
    let text = format!(
        r#"
{name} in development mode: {url}

  sandbox secret key  {secret}
  sandbox public key  {sandbox_public}
  live secret key     {live_secret}
  live public key     {live_public}
  operator token      {operator}
  app                 {app}
  all of it in        {file}

  console (owner)     {owner}
  console (operator)  {as_operator}
                      (each link signs in once, within 10 minutes; a restart prints new ones)

  documentation       {url}/docs
  health, metrics     {url}/readyz  {url}/metrics
  mails               {mails}
  command line        {program} --help   (finds this server by {file})

A payment; open the checkout_url that it answers, and pay with the phone number 4149518161:

curl -s {url}/v1/payments/initialize \
  -H 'Authorization: Bearer {secret}' \
  -H 'Content-Type: application/json' \
  -d '{{"amount": 25, "currency": "USD", "description": "A teapot", "return_url": "https://shop.example/thanks",
       "customer": {{"email": "ada@shop.example", "first_name": "Ada", "last_name": "Lovelace"}}}}'

"#,
        name = settings.service.name,
        sandbox_public = keys.sandbox_public_key.expose(),
        live_secret = keys.live_secret_key.expose(),
        live_public = keys.live_public_key.expose(),
        operator = keys.operator_token.expose(),
        app = keys.app,
        owner = links.owner.expose(),
        as_operator = links.operator.expose(),
        file = file.display(),
        mails = mails(settings),
        program = program(),
    );
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// This program as it was started: after `cargo xtask serve` it is not on the PATH.
fn program() -> String {
    let started_as = std::env::args().next();
    started_as.unwrap_or_else(|| "switchyard".to_owned())
}

/// Destination of mails without credentials.
fn mails(settings: &Settings) -> String {
    match &settings.mail.smtp_url {
        Some(_) => "to the SMTP server of mail.smtp_url".to_owned(),
        None => settings.data.dir.join("mail").display().to_string(),
    }
}

fn file(settings: &Settings) -> PathBuf {
    settings.data.dir.join("dev.json")
}

/// URL of the server on this machine: its listen address, not its public URL.
fn base_url(settings: &Settings) -> String {
    format!("http://{}", settings.server.listen)
}

/// Reads the keys; `None` if the file is missing or unreadable.
fn read(path: &Path) -> Option<DevelopmentKeys> {
    let text = Secret::new(fs::read(path).ok()?);
    let known: StoredKeys = serde_json::from_slice(text.expose()).ok()?;
    Some(DevelopmentKeys {
        app: known.app_id,
        sandbox_secret_key: known.sandbox_secret_key,
        sandbox_public_key: known.sandbox_public_key,
        live_secret_key: known.live_secret_key,
        live_public_key: known.live_public_key,
        operator_token: known.operator_token,
    })
}

/// Whole or not at all, and readable for its owner only.
fn write(path: &Path, settings: &Settings, keys: &DevelopmentKeys) -> io::Result<()> {
    let content = json!({
        "base_url": base_url(settings),
        "app_id": keys.app,
        "sandbox_secret_key": keys.sandbox_secret_key.expose(),
        "sandbox_public_key": keys.sandbox_public_key.expose(),
        "live_secret_key": keys.live_secret_key.expose(),
        "live_public_key": keys.live_public_key.expose(),
        "operator_token": keys.operator_token.expose(),
    });
    let next = path.with_extension("json.new");
    match fs::remove_file(&next) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&next)?;
    file.write_all(format!("{content:#}\n").as_bytes())?;
    file.sync_all()?;
    fs::rename(&next, path)
}
