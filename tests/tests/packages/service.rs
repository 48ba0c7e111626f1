//! A service of systemd without systemd: the program of the unit, started as its user, until it
//! reports that it is ready.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

/// A running service.
pub struct Service {
    process: Child,
    messages: UnixDatagram,
    folder: TempDir,
}

impl Service {
    /// Starts the service of a unit file, and waits until it is ready.
    pub fn start(unit: &str) -> anyhow::Result<Self> {
        let unit = fs::read_to_string(unit)?;
        let settings: BTreeMap<_, _> = unit
            .lines()
            .filter_map(|line| line.split_once('='))
            .collect();
        let setting = |name: &str| settings.get(name).copied().context(name.to_owned());
        ensure!(setting("Type")? == "notify", "the unit waits for a message");
        Self::launch(setting("User")?, setting("ExecStart")?, &[])
    }

    /// Starts a command line as a user with these environment variables, and waits until it is
    /// ready.
    pub fn launch(user: &str, line: &str, variables: &[(String, String)]) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let socket = folder.path().join("notify");
        let messages = UnixDatagram::bind(&socket)?;
        fs::set_permissions(&socket, Permissions::from_mode(0o666))?;
        messages.set_read_timeout(Some(Duration::from_secs(60)))?;
        let log = fs::File::create(folder.path().join("log"))?;
        let process = Command::new("setpriv")
            .args([
                "--reuid",
                user,
                "--regid",
                user,
                "--clear-groups",
                "--no-new-privs",
            ])
            .args(line.split(' '))
            .current_dir("/")
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("NOTIFY_SOCKET", &socket)
            .envs(variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let service = Self {
            process,
            messages,
            folder,
        };
        let message = service.message().with_context(|| service.log())?;
        ensure!(message == "READY=1\n", "{message}: {}", service.log());
        Ok(service)
    }

    fn message(&self) -> anyhow::Result<String> {
        let mut bytes = [0; 256];
        let length = self.messages.recv(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Whether the process still runs.
    pub fn runs(&mut self) -> anyhow::Result<bool> {
        Ok(self.process.try_wait()?.is_none())
    }

    /// SIGTERM; waits for a good end.
    pub fn stop(mut self) -> anyhow::Result<()> {
        super::system::run("kill", &["-TERM", &self.process.id().to_string()])?;
        let message = self.message()?;
        ensure!(message == "STOPPING=1\n", "{message}");
        let ended = self.process.wait()?;
        ensure!(ended.success(), "{ended}: {}", self.log());
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
