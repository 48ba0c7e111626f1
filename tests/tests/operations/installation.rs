//! An installation by the letter of docs/for-operators.md: the commands of that page, as a user
//! without rights.
//!
//! The page's folders are moved below a temporary one, its user is one of this machine, and its
//! builds were made before.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use switchyard_tests::client::payment;
use switchyard_tests::server::{free_port, stage};
use switchyard_tests::surroundings::is_root;
use switchyard_tests::tidy::root;
use switchyard_tests::{Client, CommandLine, eventually};
use tempfile::TempDir;
use tokio::time::Instant;

const PAGE: &str = include_str!("../../../docs/for-operators.md");
const UNIT: &str = include_str!("../../../ops/systemd/switchyard.service");
/// The user that runs the server when the test itself runs as root.
const UNPRIVILEGED: &str = "nobody";
/// The command with its defaults written out, so that they can be moved.
const INIT: &str = "switchyard init --settings /etc/switchyard --data /var/lib/switchyard \
                    --gateways /usr/local/lib/switchyard/gateways";

pub struct Installation {
    pub folder: TempDir,
    pub port: u16,
    pub admin_port: u16,
    pub token: String,
    process: Option<Child>,
    /// Environment variables of the server and of the commands.
    pub environment: Vec<(String, String)>,
}

impl Installation {
    /// Follows the page up to its configuration.
    pub fn follow() -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        for made in ["etc", "var/lib", "usr/local"] {
            fs::create_dir_all(folder.path().join(made))?;
        }
        let mut installation = Self {
            folder,
            port: free_port()?,
            admin_port: free_port()?,
            token: String::new(),
            process: None,
            environment: Vec::new(),
        };
        let commands = commands_of_root()?;
        let said = installation.shell(&installation.moved(commands))?;
        let printed = String::from_utf8(said.stdout)?;
        let mut words = printed.split_whitespace();
        let token = words.find(|word| word.starts_with("switchyard_op_"));
        token
            .context("the token")?
            .clone_into(&mut installation.token);
        Ok(installation)
    }

    /// Text of the page with its folders, its user and its build where this test has them.
    fn moved(&self, text: &str) -> String {
        let stage = stage().expect("the program is staged");
        let here = |path: &str| self.folder.path().join(path).display().to_string();
        let [user, group] = user();
        let lines = text.lines().filter(|line| !line.starts_with("useradd "));
        let text = lines.collect::<Vec<_>>().join("\n");
        let text = match is_root() {
            true => text.replace("runuser -u switchyard", &format!("runuser -u {user}")),
            false => text.replace("runuser -u switchyard -- ", ""),
        };
        text.replace("switchyard init", INIT)
            .replace(
                "-o switchyard -g switchyard",
                &format!("-o {user} -g {group}"),
            )
            .replace("/usr/local", &here("usr/local"))
            .replace("/etc/switchyard", &here("etc/switchyard"))
            .replace("/var/lib/switchyard", &here("var/lib/switchyard"))
            .replace(
                " bin/switchyard",
                &format!(" {}", file(&stage.join("switchyard"))),
            )
            .replace(
                " lib/switchyard/gateways/*.so",
                &format!(" {}/*.so", file(&stage.join("gateways"))),
            )
    }

    /// Runs commands as they stand, with the umask of most systems, until one fails.
    fn shell(&self, commands: &str) -> anyhow::Result<Output> {
        let said = Command::new("sh")
            .args(["-euc", &format!("umask 022\n{commands}")])
            .current_dir(root())
            .output()?;
        ensure!(said.status.success(), "{commands}: {said:?}");
        Ok(said)
    }

    /// Starts the program by the command of the systemd unit, as its user, and waits until it is
    /// ready.
    pub async fn up(&mut self) -> anyhow::Result<()> {
        let start = UNIT
            .lines()
            .find_map(|line| line.strip_prefix("ExecStart="));
        let start = self.moved(start.context("ExecStart")?);
        let mut command = self.as_user("sh");
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.log_file())?;
        command
            .args(["-euc", &format!("umask 022\nexec {start}")])
            .current_dir("/")
            .envs(self.variables())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        self.process = Some(command.spawn()?);
        let client = Client::new(&format!("http://127.0.0.1:{}", self.admin_port), None);
        let end = Instant::now() + Duration::from_secs(60);
        while !client
            .get("/readyz")
            .await
            .is_ok_and(|answer| answer.status == 200)
        {
            let process = self.process.as_mut().context("it was started")?;
            let ended = process.try_wait()?;
            let log = fs::read_to_string(self.log_file())?;
            ensure!(ended.is_none() && Instant::now() < end, "{ended:?}: {log}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// A command of the page's user, who has no rights.
    pub fn as_user(&self, program: &str) -> Command {
        if !is_root() {
            return Command::new(program);
        }
        let [user, group] = user();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &user, "--regid", &group, "--clear-groups"]);
        command.arg(program);
        command
    }

    /// Environment variables that move the listeners to free ports.
    pub fn variables(&self) -> Vec<(String, String)> {
        let listeners = [("LISTEN", self.port), ("ADMIN_LISTEN", self.admin_port)];
        let listeners = listeners.map(|(name, port)| {
            (
                format!("SWITCHYARD_SERVER__{name}"),
                format!("127.0.0.1:{port}"),
            )
        });
        listeners
            .into_iter()
            .chain(self.environment.clone())
            .collect()
    }

    pub fn program(&self) -> String {
        file(&self.folder.path().join("usr/local/bin/switchyard"))
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("etc/switchyard/switchyard.toml")
    }

    /// SIGKILL.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let mut process = self.process.take().context("it runs")?;
        process.kill()?;
        process.wait()?;
        Ok(())
    }

    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let process = self.process.as_ref().context("it runs")?;
        let id = process.id().to_string();
        let told = Command::new("kill").args([name, &id]).status()?;
        ensure!(told.success(), "kill {name} {id}: {told}");
        Ok(())
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Answer of the operator's command line, with `--json`.
    pub fn ask(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        self.operator().ask(arguments)
    }

    fn operator(&self) -> CommandLine {
        CommandLine {
            program: self.folder.path().join("usr/local/bin/switchyard"),
            url: format!("http://127.0.0.1:{}", self.admin_port),
            token: self.token.clone(),
        }
    }

    /// A secret key of a new app in sandbox, with the test gateway installed.
    fn first_app(&self) -> anyhow::Result<String> {
        let gateways = self.folder.path().join("usr/local/lib/switchyard/gateways");
        self.operator()
            .first_app(&gateways.join("libgateway_demo.so"))
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Blocks of the page in this language, in their order.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let fence = format!("```{language}\n");
    let rests: Vec<_> = PAGE.split(fence.as_str()).skip(1).collect();
    rests
        .into_iter()
        .filter_map(|rest| rest.split("```").next())
}

/// The commands that install the archive and configure it.
fn commands_of_root() -> anyhow::Result<&'static str> {
    let mut found = blocks("sh").filter(|block| block.contains("useradd "));
    found.next().context("the commands of root")
}

/// The user without rights, and its group.
fn user() -> [String; 2] {
    let name = |flag: &str| {
        let mut id = Command::new("id");
        id.arg(flag).args(is_root().then_some(UNPRIVILEGED));
        let said = id.output().expect("`id` runs");
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    };
    [name("-un"), name("-gn")]
}

fn file(path: &Path) -> String {
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_the_letter_of_the_docs_it_starts_three_times_with_a_kill_between() -> anyhow::Result<()>
{
    let mut installation = Installation::follow()?;
    installation.up().await?;
    let key = installation.first_app()?;
    let base = format!("http://127.0.0.1:{}", installation.port);
    let merchant = Client::new(&base, Some(&key));
    let mut made = Vec::new();
    for _ in 0..3 {
        let answer = merchant
            .post("/v1/payments/initialize", &payment("A teapot"))
            .await?;
        made.push(answer.expect(201)?.data("id")?.to_owned());
        installation.kill()?;
        installation.up().await?;
        for id in &made {
            merchant
                .get(&format!("/v1/payments/{id}"))
                .await?
                .expect(200)?;
        }
    }
    let store = installation.folder.path().join("var/lib/switchyard/store");
    let mode = fs::metadata(store)?.permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_installation_is_private_and_is_not_written_twice() -> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    let mut checks = blocks("sh").filter(|block| block.contains("config check"));
    let commands = checks.next().context("the check of the settings")?;
    let commands = commands.replace("runuser -u switchyard -- ", "");
    let checked = installation.shell(&installation.moved(&commands).replace(
        "switchyard config",
        &format!("{} config", installation.program()),
    ))?;
    let said = String::from_utf8(checked.stdout)?;
    assert!(
        said.starts_with("ok ") && said.contains("production mode"),
        "{said}"
    );
    let settings = installation.config();
    let key = settings.with_file_name("master.key");
    let mut before = Vec::new();
    for (path, mode) in [
        (settings.clone(), 0o600),
        (key, 0o600),
        (settings.parent().context("a folder")?.to_owned(), 0o700),
        (installation.folder.path().join("var/lib/switchyard"), 0o700),
    ] {
        let found = fs::metadata(&path)?;
        assert_eq!(
            found.permissions().mode() & 0o777,
            mode,
            "{}",
            path.display()
        );
        before.push(fs::read(&path).unwrap_or_default());
    }
    let commands = commands_of_root()?;
    let again = commands.lines().last().context("init")?;
    let refused = installation.shell(&installation.moved(again)).unwrap_err();
    assert!(refused.to_string().contains("exists"), "{refused}");
    assert_eq!(fs::read(&settings)?, before[0]);
    installation.up().await?;
    let ready = Client::new(
        &format!("http://127.0.0.1:{}", installation.admin_port),
        None,
    );
    ready.get("/readyz").await?.expect(200)?;
    Ok(())
}

#[test]
fn init_without_rights_or_without_output_leaves_nothing_behind() -> anyhow::Result<()> {
    let installation = Installation::follow()?;
    let root = installation.folder.path();
    let folder = root.join("second");
    fs::create_dir(&folder)?;
    fs::set_permissions(&folder, Permissions::from_mode(0o777))?;
    let init = |settings: &str, data: &str, out: Stdio| -> anyhow::Result<Output> {
        let mut command = installation.as_user(&installation.program());
        command.args(["init", "--yes", "--public-url", "https://pay.example.com"]);
        command.args([
            "--settings",
            settings,
            "--data",
            data,
            "--gateways",
            "/nowhere",
        ]);
        command.stdin(Stdio::null()).stdout(out);
        Ok(command.output()?)
    };
    let inside = |name: &str| file(&folder.join(name));
    // Nobody can print there. The files were written before.
    let full = fs::File::options().write(true).open("/dev/full")?;
    let said = init(&inside("etc"), &inside("data"), full.into())?;
    assert_eq!(said.status.code(), Some(1));
    assert_eq!(fs::read_dir(&folder)?.count(), 0, "{said:?}");
    if is_root() {
        // The folder of the data belongs to root.
        let closed = file(&root.join("var/closed"));
        let said = init(&inside("etc"), &closed, Stdio::piped())?;
        assert_eq!(said.status.code(), Some(1));
        let words = String::from_utf8_lossy(&said.stderr);
        assert!(
            words.contains("--data") && words.contains("Permission denied"),
            "{words}"
        );
        assert_eq!(fs::read_dir(&folder)?.count(), 0, "{words}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hang_up_reopens_the_log_takes_the_level_and_never_kills() -> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    let logs = installation.folder.path().join("var/lib/switchyard");
    let (log, old) = (logs.join("log"), logs.join("log.1"));
    let config = installation
        .folder
        .path()
        .join("etc/switchyard/switchyard.toml");
    let settings = fs::read_to_string(&config)?;
    let with = |more: &str| {
        fs::write(
            &config,
            format!("{settings}\n[log]\nfile = '{}'\n{more}", file(&log)),
        )
    };
    with("level = 'info'\n")?;
    installation.up().await?;
    let within = Duration::from_secs(20);
    fs::rename(&log, &old)?;
    with("level = 'warn'\nformat = 'json'\n")?;
    installation.signal("-HUP")?;
    eventually("the log is opened anew", within, async || {
        let said = fs::read_to_string(&log).unwrap_or_default();
        Ok(
            (said.contains("changed settings need a restart") && said.contains("log.format"))
                .then_some(()),
        )
    })
    .await?;
    let before = fs::read_to_string(&old)?;
    with("level = 'nonsense=of=mine'\n")?;
    installation.signal("-HUP")?;
    eventually("the refusal is logged", within, async || {
        let said = fs::read_to_string(&log)?;
        Ok(said.contains("failed to reload settings").then_some(()))
    })
    .await?;
    let base = format!("http://127.0.0.1:{}", installation.port);
    let stranger = Client::new(&base, None);
    stranger.get("/utils/payment/methods").await?.expect(200)?;
    let said = fs::read_to_string(&log)?;
    assert!(
        !said.contains("/utils/payment/methods"),
        "only warnings are written now: {said}"
    );
    assert_eq!(
        fs::read_to_string(&old)?,
        before,
        "nothing goes to the old file"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_folder_that_the_user_may_not_write_is_refused_until_it_is_changed()
-> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    installation.up().await?;
    installation.kill()?;
    let folder = installation.folder.path();
    let database = folder.join("var/lib/switchyard/store/sqlite");
    fs::set_permissions(&database, Permissions::from_mode(0o500))?;
    let said = installation
        .as_user(&installation.program())
        .args(["serve", "--config", &file(&installation.config())])
        .current_dir("/")
        .envs(installation.variables())
        .output()?;
    let text = String::from_utf8_lossy(&said.stderr);
    // systemd starts a server with this status again only after an operator has changed something.
    assert_eq!(said.status.code(), Some(2), "{text}");
    assert!(text.contains(&file(&database)), "{text}");
    fs::set_permissions(&database, Permissions::from_mode(0o700))?;
    installation.up().await
}

#[test]
fn a_settings_file_that_the_user_may_not_read_is_told_so() -> anyhow::Result<()> {
    if !is_root() {
        // A file of another user takes root to make; the message itself has a test of its own.
        return Ok(());
    }
    let installation = Installation::follow()?;
    let config = installation.folder.path().join("etc/switchyard");
    std::os::unix::fs::chown(&config, Some(0), Some(0))?;
    let said = installation
        .as_user(&installation.program())
        .args(["serve", "--config"])
        .arg(config.join("switchyard.toml"))
        .output()?;
    assert_eq!(said.status.code(), Some(2));
    let said = String::from_utf8_lossy(&said.stderr);
    assert!(said.contains("cannot be read: Permission denied"), "{said}");
    assert!(!said.contains("does not exist"), "{said}");
    Ok(())
}
