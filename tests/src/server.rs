//! A real `switchyard serve`, in development mode unless told otherwise: on a free port, with a
//! data folder of its own, and killable.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::client::Client;
use crate::tidy::root;

/// How long a debug build may take to be ready on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Settings that a test may override.
#[derive(Clone, Default)]
pub struct Setup {
    /// Requests a key may make in a minute; none: no limit.
    pub rate_limit: Option<u32>,
    /// Environment variables, which override settings: `("SWITCHYARD_WEBHOOK__RETRY_AFTER", "1s")`.
    pub settings: Vec<(&'static str, &'static str)>,
    /// The folder of gateways; none: those that come with the program.
    pub gateways: Option<PathBuf>,
}

/// Content of `data/dev.json` (the names are part of the contract).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dev {
    pub base_url: String,
    pub app_id: String,
    pub sandbox_secret_key: String,
    pub sandbox_public_key: String,
    pub live_secret_key: String,
    pub live_public_key: String,
    pub operator_token: String,
}

/// The process, its folder, its port. Dropping it kills the process and deletes the folder.
pub struct Server {
    process: Option<Child>,
    folder: TempDir,
    port: u16,
    setup: Setup,
    /// Port of the operators' listener; none: development mode, where one listener serves
    /// everything.
    admin_port: Option<u16>,
    /// Whether a store that has lost what it acknowledged is opened.
    accepts_loss: bool,
    /// Whether the store is held from the start.
    is_held: bool,
    dev: Dev,
}

impl Server {
    /// Builds what is to be served if need be, starts it on an empty folder, and waits until it is
    /// ready.
    pub async fn start(setup: Setup) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let port = free_port()?;
        let dev = Dev::unknown(port);
        let mut server = Self {
            process: None,
            folder,
            port,
            setup,
            admin_port: None,
            accepts_loss: false,
            is_held: false,
            dev,
        };
        server.up().await?;
        Ok(server)
    }

    /// Starts the process again, on the same folder and port.
    pub async fn up(&mut self) -> anyhow::Result<()> {
        self.launch()?;
        self.ready().await
    }

    /// From the next start on the process has this environment variable with this value.
    pub fn set(&mut self, name: &'static str, value: &'static str) {
        self.setup.settings.retain(|(set, _)| *set != name);
        self.setup.settings.push((name, value));
    }

    /// From the next start on it is an installation like any other, with the keys and tokens that
    /// it has.
    ///
    /// # Errors
    /// When no port is free for its operators.
    pub fn leave_development(&mut self) -> anyhow::Result<()> {
        self.admin_port = Some(free_port()?);
        Ok(())
    }

    /// From the next start on a store is opened although it has lost what it acknowledged.
    pub fn accept_loss(&mut self) {
        self.accepts_loss = true;
    }

    /// Decides whether the next starts hold the store, with `--held`.
    pub fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Starts the process, and waits for nothing.
    pub fn launch(&mut self) -> anyhow::Result<()> {
        ensure!(self.process.is_none(), "it runs already");
        let mut command = Command::new(stage()?.join("switchyard"));
        command.args(["serve", "--port", &self.port.to_string()]);
        match self.admin_port {
            None => command.arg("--development"),
            Some(port) => command.env(
                "SWITCHYARD_SERVER__ADMIN_LISTEN",
                format!("127.0.0.1:{port}"),
            ),
        };
        command
            .arg("--data")
            .arg(self.data())
            .arg("--gateways")
            .arg(match &self.setup.gateways {
                Some(folder) => folder.clone(),
                None => stage()?.join("gateways"),
            });
        command
            .arg("--rate-limit")
            .arg(self.setup.rate_limit.unwrap_or(0).to_string());
        if self.accepts_loss {
            command.arg("--accept-loss");
        }
        if self.is_held {
            command.arg("--held");
        }
        command.envs(
            self.setup
                .settings
                .iter()
                .map(|(name, value)| (name, value)),
        );
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_file())?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true);
        self.process = Some(command.spawn()?);
        Ok(())
    }

    /// Waits until it takes requests.
    pub async fn ready(&mut self) -> anyhow::Result<()> {
        self.wait_until_ready()
            .await
            .with_context(|| format!("the server's log:\n{}", self.log()))?;
        self.dev = Dev::read(&self.data().join("dev.json"))?;
        Ok(())
    }

    /// SIGKILL: no chance to tidy up.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        let mut process = self.process.take().context("it does not run")?;
        process.kill().await?;
        Ok(())
    }

    /// SIGTERM, as an operator stops it; does not wait for its end.
    pub async fn terminate(&self) -> anyhow::Result<()> {
        let process = self.process.as_ref().context("it does not run")?;
        let id = process.id().context("it ended by itself")?;
        let told = Command::new("kill")
            .args(["-TERM", &id.to_string()])
            .status()
            .await?;
        ensure!(told.success(), "kill -TERM {id}: {told}");
        Ok(())
    }

    /// Exit status, once the process has ended.
    pub async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let mut process = self.process.take().context("it does not run")?;
        let ended = tokio::time::timeout(Duration::from_secs(30), process.wait()).await;
        Ok(
            ended
                .with_context(|| format!("still there after 30 s; its log:\n{}", self.log()))??,
        )
    }

    /// SIGTERM, as an operator stops it; waits for its end, which must be a good one.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        self.terminate().await?;
        let status = self.ended().await?;
        ensure!(
            status.success(),
            "it ended with {status}; its log:\n{}",
            self.log()
        );
        Ok(())
    }

    /// Runs a command of the program as the operator of this installation; answers its JSON.
    ///
    /// # Errors
    /// When it fails, with what it printed.
    pub async fn command(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let mut command = Command::new(stage()?.join("switchyard"));
        let settings = self.setup.settings.iter();
        let done = command
            .args(arguments)
            .arg("--json")
            .envs(settings.map(|(name, value)| (name, value)))
            .env("SWITCHYARD_DATA__DIR", self.data())
            .env("SWITCHYARD_URL", self.admin_url())
            .env("SWITCHYARD_TOKEN", &self.dev.operator_token)
            .stdin(Stdio::null())
            .output()
            .await?;
        let output = String::from_utf8_lossy(&done.stderr).into_owned();
        ensure!(done.status.success(), "{arguments:?}: {output}");
        serde_json::from_slice(&done.stdout).context(output)
    }

    /// The process, as long as it runs.
    pub fn process(&self) -> Option<u32> {
        self.process.as_ref()?.id()
    }

    pub fn dev(&self) -> &Dev {
        &self.dev
    }

    /// Without a key: the payer's browser, or a stranger.
    pub fn stranger(&self) -> Client {
        Client::new(&self.dev.base_url, None)
    }

    /// The seeded app in sandbox.
    pub fn merchant(&self) -> Client {
        self.stranger().with_key(&self.dev.sandbox_secret_key)
    }

    pub fn operator(&self) -> Client {
        Client::new(&self.admin_url(), Some(&self.dev.operator_token))
    }

    /// Address of the operator API, health and metrics.
    pub fn admin_url(&self) -> String {
        match self.admin_port {
            None => self.dev.base_url.clone(),
            Some(port) => format!("http://127.0.0.1:{port}"),
        }
    }

    /// Gives the seeded app one more webhook.
    pub async fn add_webhook(&self, url: &str, secret: &str) -> anyhow::Result<()> {
        let path = format!("/operator/v1/apps/{}/webhooks", self.dev.app_id);
        let webhook = serde_json::json!({ "url": url, "secret": secret });
        self.operator().post(&path, &webhook).await?.expect(201)?;
        Ok(())
    }

    /// Address of the listener: `127.0.0.1` and its port, for tests that connect without a client.
    pub fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    /// Data folder of the server.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// All it printed since the first start.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }

    async fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        let client = Client::new(&self.dev.base_url, None);
        let end = tokio::time::Instant::now() + READY_WITHIN;
        loop {
            if let Some(status) = self
                .process
                .as_mut()
                .context("it was not started")?
                .try_wait()?
            {
                self.process = None;
                anyhow::bail!("the server ended with {status} before it was ready");
            }
            if client
                .get("/readyz")
                .await
                .is_ok_and(|answer| answer.status == 200)
            {
                return Ok(());
            }
            ensure!(
                tokio::time::Instant::now() < end,
                "not ready within {READY_WITHIN:?}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Dev {
    /// Before the server has told: only where it will be.
    fn unknown(port: u16) -> Self {
        let nothing = String::new;
        Self {
            base_url: format!("http://127.0.0.1:{port}"),
            app_id: nothing(),
            sandbox_secret_key: nothing(),
            sandbox_public_key: nothing(),
            live_secret_key: nothing(),
            live_public_key: nothing(),
            operator_token: nothing(),
        }
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let told: serde_json::Value = serde_json::from_str(&text)?;
        let field = |name: &str| {
            let value = told[name].as_str().filter(|value| !value.is_empty());
            value
                .map(str::to_owned)
                .with_context(|| format!("no `{name}` in {}", path.display()))
        };
        Ok(Self {
            base_url: field("base_url")?,
            app_id: field("app_id")?,
            sandbox_secret_key: field("sandbox_secret_key")?,
            sandbox_public_key: field("sandbox_public_key")?,
            live_secret_key: field("live_secret_key")?,
            live_public_key: field("live_public_key")?,
            operator_token: field("operator_token")?,
        })
    }
}

/// The folder with the program and its gateways: the one that `SWITCHYARD_STAGE` names, or a debug
/// build, made here, once a process, unless `cargo xtask test` says that it just did.
pub fn stage() -> anyhow::Result<PathBuf> {
    static STAGE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let staged = STAGE.get_or_init(|| build_stage().map_err(|error| format!("{error:#}")));
    staged.clone().map_err(anyhow::Error::msg)
}

fn build_stage() -> anyhow::Result<PathBuf> {
    if let Some(given) = std::env::var_os("SWITCHYARD_STAGE") {
        return Ok(given.into());
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let folder = root().join(target).join("stage/debug");
    if std::env::var_os("SWITCHYARD_STAGED").is_none() {
        let mut cargo =
            std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["run", "--quiet", "--package", "xtask", "--", "stage"])
            .current_dir(root());
        let built = cargo.stdin(Stdio::null()).output()?;
        ensure!(
            built.status.success(),
            "cargo xtask stage: {}",
            String::from_utf8_lossy(&built.stderr)
        );
    }
    ensure!(
        folder.join("switchyard").exists(),
        "nothing is staged: run `cargo xtask stage`"
    );
    Ok(folder)
}

/// A port that was free a moment ago. The address that is handed out must outlive restarts, so the
/// server cannot choose it itself.
pub fn free_port() -> anyhow::Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}
