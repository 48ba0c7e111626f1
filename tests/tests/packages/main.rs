//! The packages of `cargo xtask dist`, installed on a copy of this system: the life of an
//! installation from the package, and the steps of the Dockerfile. Run by `cargo xtask test
//! packages`.

mod dockerfile;
mod open;
mod service;
mod system;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use open::Open;
use serde_json::Value;
use service::Service;
use switchyard_tests::book::chapters;
use switchyard_tests::client::{payment, pays};
use switchyard_tests::server::free_port;
use switchyard_tests::{Client, CommandLine, PAYS, eventually};
use system::{refused, run};

const UNIT: &str = "/usr/lib/systemd/system/switchyard.service";
const PROGRAM: &str = "/usr/bin/switchyard";
const SETTINGS: &str = "/etc/switchyard/switchyard.toml";
const GATEWAYS: &str = "/usr/lib/switchyard/gateways";

/// An installation from the package.
struct Installed {
    service: Option<Service>,
    merchant: Client,
    payer: Client,
    operator: CommandLine,
}

impl Installed {
    /// Configures the installed package by the commands that its installation prints, starts it,
    /// and makes an app.
    fn configure() -> anyhow::Result<Self> {
        let (port, admin) = (free_port()?, free_port()?);
        let init = format!(
            "runuser -u switchyard -- switchyard init --public-url https://pay.example.com \
             --operator ada --listen 127.0.0.1:{port} --admin-listen 127.0.0.1:{admin} --json"
        );
        let made: Value = serde_json::from_str(&run("sh", &["-euc", &init])?)?;
        let operator = CommandLine {
            program: PathBuf::from(PROGRAM),
            url: format!("http://127.0.0.1:{admin}"),
            token: made["token"].as_str().context("the token")?.to_owned(),
        };
        let service = Service::start(UNIT)?;
        let key = operator.first_app(&Path::new(GATEWAYS).join("libgateway_demo.so"))?;
        let payer = Client::new(&format!("http://127.0.0.1:{port}"), None);
        Ok(Self {
            service: Some(service),
            merchant: payer.with_key(&key),
            payer,
            operator,
        })
    }

    /// The restart that the package asks systemd for.
    fn restart(&mut self) -> anyhow::Result<()> {
        self.service.take().context("it runs")?.stop()?;
        self.service = Some(Service::start(UNIT)?);
        Ok(())
    }

    fn runs(&mut self) -> anyhow::Result<bool> {
        self.service.as_mut().context("it was started")?.runs()
    }

    async fn make(&self, path: &str, body: &Value) -> anyhow::Result<String> {
        let made = self.merchant.post(path, body).await?.expect(201)?;
        Ok(made.data("id")?.to_owned())
    }

    async fn pay(&self, id: &str, number: &str) -> anyhow::Result<()> {
        let is_paid = pays(&self.payer, id, number).await?;
        ensure!(is_paid, "the form of {id} leads to no result");
        Ok(())
    }

    async fn status(&self, kind: &str, id: &str) -> anyhow::Result<String> {
        let shown = self.merchant.get(&format!("/v1/{kind}/{id}")).await?;
        Ok(shown.expect(200)?.data("status")?.to_owned())
    }

    async fn ends(&self, kind: &str, id: &str, status: &str) -> anyhow::Result<()> {
        let within = Duration::from_secs(30);
        eventually(&format!("{id} is {status}"), within, async || {
            if self.status(kind, id).await? == status {
                return Ok(Some(()));
            }
            // A key makes 120 requests in a minute.
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok(None)
        })
        .await
    }
}

/// Version and state of the package, as dpkg has them.
fn state() -> anyhow::Result<String> {
    run(
        "dpkg-query",
        &["--show", "--showformat=${Version} ${Status}", "switchyard"],
    )
}

fn mode_and_owner(path: &str) -> anyhow::Result<(u32, String)> {
    let found = fs::metadata(path)?;
    let owner = run("id", &["-un", &found.uid().to_string()])?;
    Ok((found.permissions().mode() & 0o7777, owner.trim().to_owned()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs packages: cargo xtask test packages"]
async fn an_installed_package_takes_payments_through_upgrades_and_a_purge_keeps_them()
-> anyhow::Result<()> {
    const NAME: &str =
        "an_installed_package_takes_payments_through_upgrades_and_a_purge_keeps_them";
    if !system::is_copy(NAME)? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let package = system::file(".deb")?;
    let older = match std::env::var_os(OLDER_PACKAGE) {
        Some(file) => PathBuf::from(file),
        None => system::with_version(&package, "0.0.1-1", folder.path())?,
    };
    let newer = system::with_version(&package, "999.0-1", folder.path())?;
    let [older, package, newer] = [older, package, newer].map(|path| path.display().to_string());
    is_lower(&older, &package)?;
    is_lower(&package, &newer)?;
    is_installed_and_not_started(&older)?;

    let mut installed = Installed::configure()?;
    let paid = installed
        .make("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    installed.pay(&paid, PAYS).await?;
    installed.ends("payments", &paid, "success").await?;
    let open = Open::make(&installed).await?;

    run("dpkg", &["--install", &package])?;
    has_its_files()?;
    assert!(installed.runs()?, "only systemd restarts the server");
    // The program and the gateways of the older version are gone; its process serves on.
    let meanwhile = Open::make(&installed).await?;
    installed.restart()?;
    let is_installed = format!("{} install ok installed", version_of(&package)?);
    assert_eq!(state()?, is_installed);
    assert_eq!(installed.status("payments", &paid).await?, "success");
    for open in [open, meanwhile] {
        open.is_unchanged(&installed).await?;
        open.succeeds(&installed).await?;
    }

    an_upgrade_with_refused_settings_changes_nothing(&mut installed, &newer, &is_installed).await?;
    installed.service.take().context("it runs")?.stop()?;
    a_purge_keeps_records_and_key()
}

/// Environment variable with the package of an earlier version. Without it, this build stands for
/// the earlier version, with a lower number.
const OLDER_PACKAGE: &str = "SWITCHYARD_OLDER_PACKAGE";

fn version_of(package: &str) -> anyhow::Result<String> {
    let version = run("dpkg-deb", &["--field", package, "Version"])?;
    Ok(version.trim().to_owned())
}

/// Checks that dpkg takes the second package for an upgrade of the first.
fn is_lower(first: &str, second: &str) -> anyhow::Result<()> {
    let (first, second) = (version_of(first)?, version_of(second)?);
    run("dpkg", &["--compare-versions", &first, "lt", &second])
        .with_context(|| format!("{first} is not lower than {second}"))?;
    Ok(())
}

fn is_installed_and_not_started(package: &str) -> anyhow::Result<()> {
    let said = run("dpkg", &["--install", package])?;
    assert!(said.contains("switchyard init"), "{said}");
    assert!(!Path::new(SETTINGS).exists(), "nobody configured it");
    for folder in ["/etc/switchyard", "/var/lib/switchyard"] {
        let expected = (0o700, "switchyard".to_owned());
        assert_eq!(mode_and_owner(folder)?, expected, "{folder}");
    }
    Ok(())
}

/// Checks the files of an installed package.
fn has_its_files() -> anyhow::Result<()> {
    for (path, mode) in [
        (PROGRAM, 0o755),
        (GATEWAYS, 0o755),
        (UNIT, 0o644),
        ("/usr/share/man/man1/switchyard.1.gz", 0o644),
        ("/usr/share/man/man1/switchyard-gateway-add.1.gz", 0o644),
        ("/usr/share/bash-completion/completions/switchyard", 0o644),
        ("/usr/share/zsh/vendor-completions/_switchyard", 0o644),
        ("/usr/share/doc/switchyard/copyright", 0o644),
        ("/usr/share/doc/switchyard/docs/for-operators.md", 0o644),
    ] {
        assert_eq!(mode_and_owner(path)?, (mode, "root".to_owned()), "{path}");
    }
    let book = Path::new("/usr/share/doc/switchyard/docs");
    for chapter in chapters(&fs::read_to_string(book.join("SUMMARY.md"))?) {
        assert!(book.join(&chapter.path).is_file(), "{}", chapter.path);
    }
    let gateways = fs::read_dir(GATEWAYS)?.count();
    assert_eq!(gateways, 5, "the bundled gateways");
    let version = run(PROGRAM, &["--version"])?;
    // Not set where the packages are not built from a clone.
    let commit = std::env::var("SWITCHYARD_PACKAGED_COMMIT");
    let named = commit.map_or("(commit ".to_owned(), |commit| {
        format!("(commit {commit}, ")
    });
    assert!(
        version.starts_with("switchyard ") && version.contains(&named),
        "{version} names {named}"
    );
    let start = fs::read_to_string(UNIT)?;
    assert!(
        start.contains("ExecStart=/usr/bin/switchyard serve"),
        "{start}"
    );
    if run("systemd-analyze", &["--version"]).is_ok() {
        // It reads the units that this one depends on, too.
        let said = run("systemd-analyze", &["verify", UNIT])?;
        let mut faults = said.lines().filter(|line| line.contains("switchyard"));
        assert_eq!(faults.next(), None, "the unit has no fault");
    }
    Ok(())
}

/// The new version is unpacked, refuses the settings, and is taken back. The server runs on.
async fn an_upgrade_with_refused_settings_changes_nothing(
    installed: &mut Installed,
    newest: &str,
    is_installed: &str,
) -> anyhow::Result<()> {
    let settings = fs::read_to_string(SETTINGS)?;
    let wrong = settings.replace("https://pay.example.com", "ftp://pay.example.com");
    fs::write(SETTINGS, &wrong)?;
    let before = fs::metadata(PROGRAM)?.modified()?;
    let said = refused("dpkg", &["--install", newest])?;
    assert!(said.contains("server.public_url"), "{said}");
    assert!(said.contains("the old version stays installed"), "{said}");
    assert_eq!(state()?, is_installed);
    assert_eq!(fs::metadata(PROGRAM)?.modified()?, before);
    assert!(installed.runs()?);
    let open = installed
        .make("/v1/payments/initialize", &payment("A plate"))
        .await?;
    fs::write(SETTINGS, settings)?;
    run("dpkg", &["--install", newest])?;
    assert_eq!(state()?, "999.0-1 install ok installed");
    installed.restart()?;
    assert_eq!(installed.status("payments", &open).await?, "initiated");
    let walls = installed.operator.ask(&["gateway", "list"])?;
    ensure!(walls.is_array() || walls.is_object(), "{walls}");
    Ok(())
}

fn a_purge_keeps_records_and_key() -> anyhow::Result<()> {
    let said = run("dpkg", &["--purge", "switchyard"])?;
    for kept in ["/var/lib/switchyard", "/etc/switchyard"] {
        assert!(said.contains(kept), "{said}");
    }
    for path in [
        "/var/lib/switchyard/store",
        "/etc/switchyard/master.key",
        SETTINGS,
    ] {
        assert!(Path::new(path).exists(), "{path}");
    }
    for path in [PROGRAM, UNIT, GATEWAYS, "/usr/share/doc/switchyard"] {
        assert!(!Path::new(path).exists(), "{path}");
    }
    run("getent", &["passwd", "switchyard"]).map(drop)
}

#[test]
#[ignore = "needs packages: cargo xtask test packages"]
fn a_purge_without_records_leaves_nothing_behind() -> anyhow::Result<()> {
    if !system::is_copy("a_purge_without_records_leaves_nothing_behind")? {
        return Ok(());
    }
    let package = system::file(".deb")?.display().to_string();
    run("dpkg", &["--install", &package])?;
    run("dpkg", &["--purge", "switchyard"])?;
    for path in ["/etc/switchyard", "/var/lib/switchyard", PROGRAM] {
        assert!(!Path::new(path).exists(), "{path}");
    }
    refused("getent", &["passwd", "switchyard"])?;
    Ok(())
}
