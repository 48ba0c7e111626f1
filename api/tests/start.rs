//! Start, refused starts and stop of the program, through the real binary.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use switchyard_core::time::Timestamp;
use switchyard_engine::webhook::service_signature;
use switchyard_system::clock::Clock;
use tempfile::TempDir;

fn switchyard(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchyard"));
    command.current_dir(folder).env_clear();
    command
}

/// Another test may have the default port of the operators' listener.
const ANY_ADMIN_PORT: [(&str, &str); 1] = [("SWITCHYARD_SERVER__ADMIN_LISTEN", "127.0.0.1:0")];

fn run(folder: &Path, arguments: &[&str]) -> Output {
    switchyard(folder).args(arguments).output().unwrap()
}

fn serve_with(folder: &Path, settings: &str) -> (Option<i32>, String) {
    fs::write(folder.join("switchyard.toml"), settings).unwrap();
    let output = switchyard(folder)
        .args(["serve", "--config", "switchyard.toml", "--port", "0"])
        .envs(ANY_ADMIN_PORT)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// A development server that has said where it is.
struct Server {
    process: Child,
    /// Kept open, so that the server can always write.
    _out: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut process = switchyard(folder)
            .args(["serve", "--development", "--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("in development mode") {
            line.clear();
            assert_ne!(
                out.read_line(&mut line).unwrap(),
                0,
                "the server ended before it served"
            );
        }
        Self { process, _out: out }
    }

    fn stop(mut self, signal: &str) -> Option<i32> {
        let id = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        self.process.wait().unwrap().code()
    }
}

fn dev(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("data/dev.json")).unwrap()).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn unsafe_settings_stop_the_start_with_a_sentence_each_and_exit_code_2() {
    let folder = TempDir::new().unwrap();
    let settings =
        "[server]\npublic_url = 'http://pay.example.com'\n[sandbox]\nretention_days = 0\n";
    let (code, said) = serve_with(folder.path(), settings);
    assert_eq!(code, Some(2), "{said}");
    let problems = [
        "switchyard.toml:2:14: server.public_url",
        "switchyard.toml:4:18: sandbox.retention_days",
        "the master key file data/master.key does not exist",
    ];
    assert_eq!(said.lines().count(), problems.len(), "{said}");
    for problem in problems {
        assert!(said.contains(problem), "{problem}: {said}");
    }
    assert!(
        !folder.path().join("data").exists(),
        "something was made before the refusal"
    );
}

#[test]
fn an_unknown_setting_and_a_missing_file_are_refused_with_exit_code_2() {
    let folder = TempDir::new().unwrap();
    let (code, said) = serve_with(folder.path(), "[server]\nlissten = '127.0.0.1:1'\n");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("lissten"), "{said}");
    let output = run(folder.path(), &["serve", "--config", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_environment_sets_what_the_file_does_not_and_its_mistakes_are_refused() {
    let folder = TempDir::new().unwrap();
    for (name, value, word) in [
        (
            "SWITCHYARD_SANDBOX__RETENTION_DAYS",
            "0",
            "sandbox.retention_days",
        ),
        ("SWITCHYARD_SERVER__LISSTEN", "127.0.0.1:1", "lissten"),
        (
            "SWITCHYARD_OPERATOR__TOKENS",
            "[\"mine\"]",
            "operator.tokens",
        ),
        ("SWITCHYARD_WEBHOOK__RETRY_AFTER", "soon", "`soon`"),
    ] {
        let output = switchyard(folder.path())
            .env(name, value)
            .args(["serve", "--port", "0"])
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(word), "{name}: {said}");
    }
    let output = switchyard(folder.path())
        .envs([
            ("SWITCHYARD_DEVELOPMENT", "true"),
            ("SWITCHYARD_SERVER__LISTEN", "0.0.0.0:0"),
        ])
        .arg("serve")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("development mode on 0.0.0.0:0"), "{said}");
}

#[test]
fn without_a_master_key_or_with_one_that_others_can_read_there_is_no_start() {
    let folder = TempDir::new().unwrap();
    let (code, said) = serve_with(folder.path(), "");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("switchyard master-key"), "{said}");

    let made = run(folder.path(), &["master-key", "master.key"]);
    assert!(made.status.success());
    let key = folder.path().join("master.key");
    assert_eq!(mode(&key), 0o600);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, said) = serve_with(folder.path(), "[secrets]\nmaster_key_file = 'master.key'\n");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("chmod 600"), "{said}");
}

#[test]
fn a_store_is_not_opened_under_another_master_key() {
    let folder = TempDir::new().unwrap();
    Server::start(folder.path()).stop("-TERM");
    fs::remove_file(folder.path().join("data/master.key")).unwrap();
    let output = run(folder.path(), &["serve", "--development", "--port", "0"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("master key"), "{said}");
}

#[test]
fn a_restart_keeps_the_keys_and_both_signals_end_it_well() {
    let folder = TempDir::new().unwrap();
    assert_eq!(Server::start(folder.path()).stop("-TERM"), Some(0));
    let first = dev(folder.path());
    assert_eq!(mode(&folder.path().join("data/dev.json")), 0o600);
    assert_eq!(mode(&folder.path().join("data/master.key")), 0o600);
    assert_eq!(Server::start(folder.path()).stop("-INT"), Some(0));
    let second = dev(folder.path());
    let names = [
        "app_id",
        "sandbox_secret_key",
        "sandbox_public_key",
        "live_secret_key",
        "live_public_key",
        "operator_token",
    ];
    for name in names {
        assert!(
            first[name].as_str().is_some_and(|value| !value.is_empty()),
            "{name}"
        );
        assert_eq!(first[name], second[name], "{name}");
    }
}

#[test]
fn two_servers_do_not_share_a_store() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(folder.path());
    let second = run(folder.path(), &["serve", "--development", "--port", "0"]);
    let said = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{said}");
    assert!(said.contains("in use by another process"), "{said}");
    assert_eq!(server.stop("-TERM"), Some(0));
}

#[test]
fn the_command_line_finds_the_development_server_and_says_what_to_do_without_one() {
    let folder = TempDir::new().unwrap();
    let nobody = run(folder.path(), &["apps", "list"]);
    let said = String::from_utf8(nobody.stderr).unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    assert!(said.contains("--url") && said.contains("--token"), "{said}");

    let server = Server::start(folder.path());
    let apps = run(folder.path(), &["apps", "list", "--json"]);
    let apps: Value = serde_json::from_slice(&apps.stdout).unwrap();
    assert_eq!(apps["data"][0]["id"], dev(folder.path())["app_id"]);
    let table = run(folder.path(), &["apps", "list"]);
    assert!(String::from_utf8(table.stdout).unwrap().starts_with("ID "));
    let made = run(folder.path(), &["trigger", "payment.cancelled", "--json"]);
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(made["data"]["status"], "cancelled");
    server.stop("-TERM");
    let gone = run(folder.path(), &["apps", "list"]);
    assert!(
        String::from_utf8(gone.stderr)
            .unwrap()
            .contains("switchyard serve")
    );
}

/// Takes one request, answers 200, and gives its head and its body.
fn receive(listener: &TcpListener) -> (String, String) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0);
    }
    let length = header(&head, "content-length").parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        .unwrap();
    (head, String::from_utf8(body).unwrap())
}

fn header(head: &str, name: &str) -> String {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
    found
        .unwrap_or_else(|| panic!("no {name} in {head}"))
        .1
        .to_owned()
}

#[test]
fn listen_forwards_events_signed_as_webhooks_are() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(folder.path());
    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("http://{}/hooks", receiver.local_addr().unwrap());
    let mut listening = switchyard(folder.path())
        .env("SWITCHYARD_WEBHOOK_SECRET", "a-signing-secret")
        .args(["listen", "--forward-to", &target])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut notes = BufReader::new(listening.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(notes.next().unwrap().starts_with("Listening to app_"));
    assert!(
        run(folder.path(), &["trigger", "payment.cancelled"])
            .status
            .success()
    );
    for event in ["payment.initiated", "payment.cancelled"] {
        let (head, body) = receive(&receiver);
        let told: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(told["event"], event);
        let signature = service_signature("a-signing-secret", body.as_bytes());
        assert_eq!(header(&head, "x-service-signature"), signature);
        assert!(header(&head, "webhook-signature").starts_with("v1,"));
    }
    listening.kill().unwrap();
    listening.wait().unwrap();
    assert!(
        notes.all(|line| !line.contains("a-signing-secret")),
        "a chosen secret is shown"
    );
    assert_eq!(server.stop("-TERM"), Some(0));
}

/// A server with a settings file, a master key and an operator token, as it runs where money is
/// real.
struct Installation {
    folder: TempDir,
    process: Child,
    log: std::io::Lines<BufReader<std::process::ChildStderr>>,
    url: String,
    token: String,
}

impl Installation {
    fn start() -> Self {
        let folder = TempDir::new().unwrap();
        assert!(
            run(folder.path(), &["master-key", "master.key"])
                .status
                .success()
        );
        let made = run(folder.path(), &["operator-token"]);
        let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        let advice = String::from_utf8(made.stderr).unwrap();
        let operator = advice.split_once("[operator]").unwrap().1;
        let settings = format!(
            "[secrets]\nmaster_key_file = 'master.key'\n[log]\nformat = 'json'\nlevel = 'debug'\n[operator]{operator}"
        );
        fs::write(folder.path().join("switchyard.toml"), settings).unwrap();
        Self::up(folder, token, &[])
    }

    /// Starts the server on a folder that has been set up, with `options` of `serve`.
    fn up(folder: TempDir, token: String, options: &[&str]) -> Self {
        let mut process = switchyard(folder.path())
            .args(["serve", "--config", "switchyard.toml", "--port", "0"])
            .args(options)
            .envs(ANY_ADMIN_PORT)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut lines = log.by_ref().map(Result::unwrap);
        let serving = lines.find(|line| line.contains("server started")).unwrap();
        let serving: Value = serde_json::from_str(&serving).unwrap();
        let url = format!("http://{}", serving["admin_address"].as_str().unwrap());
        Self {
            folder,
            process,
            log,
            url,
            token,
        }
    }

    /// Runs a command, which succeeds.
    fn run(&self, line: &str) -> Output {
        let output = switchyard(self.folder.path())
            .envs([
                ("SWITCHYARD_URL", &self.url),
                ("SWITCHYARD_TOKEN", &self.token),
            ])
            .args(line.split(' '))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    /// The data of a command's answer.
    fn ask(&self, line: &str) -> Value {
        let output = self.run(&format!("{line} --json"));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["data"].take()
    }

    /// Ends it, and gives what it wrote since it served.
    fn stop(self) -> Vec<String> {
        self.end().1
    }

    /// The same, with its folder.
    fn end(mut self) -> (TempDir, Vec<String>) {
        let id = self.process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        let rest = self.log.map(Result::unwrap).collect();
        assert_eq!(self.process.wait().unwrap().code(), Some(0));
        (self.folder, rest)
    }
}

#[test]
fn an_installation_is_set_up_with_the_command_line_alone_and_its_log_holds_no_secret() {
    let installation = Installation::start();
    let account = installation.ask("accounts create Acme");
    let account = account["id"].as_str().unwrap();
    let app = installation.ask(&format!(
        "apps create --account {account} Shop --checkout-attempts 3"
    ));
    assert_eq!(app["settings"]["checkout_attempts"], 3);
    let app = app["id"].as_str().unwrap();
    let key = installation.ask(&format!(
        "keys create --app {app} --environment live --kind secret"
    ));
    let key = key["key"].as_str().unwrap();
    installation.ask(&format!(
        "webhooks create --app {app} https://shop.example/hooks --secret a-signing-secret"
    ));
    let keys = installation.ask(&format!("keys list --app {app}"));
    assert_eq!(keys.as_array().unwrap().len(), 1);

    let token = installation.token.clone();
    let lines = installation.stop();
    let log = lines.join("\n");
    assert!(
        lines
            .iter()
            .all(|line| serde_json::from_str::<Value>(line).is_ok()),
        "{log}"
    );
    let told = |line: &&String| {
        [
            "request.id",
            "operator action",
            "client.address",
            "audit.object",
        ]
        .iter()
        .all(|word| line.contains(word))
    };
    assert_eq!(lines.iter().filter(told).count(), 4, "{log}");
    for secret in [key, "a-signing-secret", &token] {
        assert!(!log.contains(secret), "the log holds a secret");
    }
}

#[test]
fn a_key_that_is_rolled_now_ends_at_once_and_otherwise_in_a_day() {
    let installation = Installation::start();
    let account = installation.ask("accounts create Acme");
    let account = account["id"].as_str().unwrap();
    let app = installation.ask(&format!("apps create --account {account} Shop"));
    let app = app["id"].as_str().unwrap();
    let create = format!("keys create --app {app} --environment live --kind secret");
    let rolled = ["", " --now"].map(|option| {
        let old = installation.ask(&create)["id"].as_str().unwrap().to_owned();
        let new = installation.ask(&format!("keys roll {old}{option}"));
        assert_ne!(new["id"], old.as_str());
        old
    });
    let keys = installation.ask(&format!("keys list --app {app}"));
    let of = |id: &str| {
        let mut keys = keys.as_array().unwrap().iter();
        keys.find(|key| key["id"] == id)
    };
    let ends = of(&rolled[0]).unwrap()["expires_at"].as_str().unwrap();
    let ends = Timestamp::parse(ends).unwrap();
    let left = ends.since(Clock::wall().now()).as_secs();
    assert!((23 * 3_600..=24 * 3_600).contains(&left), "{left} s");
    assert_eq!(of(&rolled[1]), None, "it has ended");
    installation.stop();
}

#[test]
fn the_list_of_transactions_says_which_environment_it_shows() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(folder.path());
    run(folder.path(), &["trigger", "payment.cancelled"]);
    for (option, said) in [
        (&[][..], "sandbox, page 1 of 1, 1 in all"),
        (
            &["--environment", "sandbox"],
            "sandbox, page 1 of 1, 1 in all",
        ),
        (&["--environment", "live"], "live, page 1 of 1, 0 in all"),
    ] {
        let listed = run(folder.path(), &[&["transactions", "list"], option].concat());
        let note = String::from_utf8(listed.stderr).unwrap();
        assert!(note.contains(said), "{option:?}: {note}");
    }
    server.stop("-TERM");
}

#[test]
fn all_secrets_open_under_a_new_master_key_after_a_reseal_and_not_under_the_old_one() {
    let installation = Installation::start();
    let token = installation.token.clone();
    let account = installation.ask("accounts create Acme");
    let account = account["id"].as_str().unwrap();
    let app = installation.ask(&format!("apps create --account {account} Shop"));
    let app = app["id"].as_str().unwrap();
    let webhook = installation.ask(&format!(
        "webhooks create --app {app} https://shop.example/hooks --secret a-signing-secret"
    ));
    let webhook = webhook["id"].as_str().unwrap().to_owned();
    let reseal = [
        "reseal",
        "--config",
        "switchyard.toml",
        "--new-key",
        "new.key",
    ];
    let words = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let made = run(installation.folder.path(), &["master-key", "new.key"]);
    assert!(made.status.success());
    let running = run(installation.folder.path(), &reseal);
    assert!(!running.status.success(), "the server runs");
    assert!(
        words(&running).contains("stop the server"),
        "{}",
        words(&running)
    );

    let (folder, _) = installation.end();
    // The second time there is nothing left to do.
    for sealed in ["1 now, 0 before", "0 now, 1 before"] {
        let done = run(folder.path(), &reseal);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(said.contains(sealed), "{said}{}", words(&done));
    }
    let old = run(
        folder.path(),
        &["serve", "--config", "switchyard.toml", "--port", "0"],
    );
    assert!(
        !old.status.success() && words(&old).contains("master key"),
        "{}",
        words(&old)
    );
    let settings = folder.path().join("switchyard.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("'master.key'", "'new.key'")).unwrap();
    let installation = Installation::up(folder, token, &[]);
    let secret = installation.ask(&format!("webhooks secret {webhook}"));
    assert_eq!(secret["secret"], "a-signing-secret");
    installation.stop();
}

#[test]
fn a_server_that_was_started_held_is_held_until_its_release_and_held_again_by_order() {
    let installation = Installation::start();
    let token = installation.token.clone();
    let is_held = |server: &Installation| server.ask("release --report")["held"] == true;
    assert!(!is_held(&installation));
    let (folder, _) = installation.end();
    let ordered = Installation::up(folder, token.clone(), &["--held"]);
    assert!(is_held(&ordered));
    let (folder, _) = ordered.end();
    let restarted = Installation::up(folder, token.clone(), &[]);
    assert!(is_held(&restarted), "a restart releases nothing");
    restarted.ask("release --note checked");
    assert!(!is_held(&restarted));
    let (folder, _) = restarted.end();
    let again = Installation::up(folder, token, &["--held"]);
    assert!(is_held(&again), "the order holds what was released before");
    again.stop();
}
