//! Real SMTP server: aiosmtpd, in a Python environment that `cargo xtask test` or this module
//! creates.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use serde_json::Value;

pub struct SmtpServer {
    pub url: String,
    child: Child,
    input: ChildStdin,
    lines: Arc<Mutex<Vec<Value>>>,
}

/// Mail as received by the server.
#[derive(Clone, Debug)]
pub struct Mail {
    pub from: String,
    pub to: Vec<String>,
    pub content: String,
}

impl SmtpServer {
    pub fn start() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mail/tests/smtp_server.py");
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut child = Command::new(python())
            .arg(script)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut ready = String::new();
        output.read_line(&mut ready).unwrap();
        assert_eq!(ready.trim(), "ready", "the SMTP server did not start");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let shared = lines.clone();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                shared
                    .lock()
                    .unwrap()
                    .push(serde_json::from_str(&line).unwrap());
            }
        });
        let url = format!("smtp://127.0.0.1:{port}");
        Self {
            url,
            child,
            input,
            lines,
        }
    }

    /// Rejects all later mails with this reply; `accept` accepts them again.
    pub async fn behave(&mut self, manner: &str) {
        writeln!(self.input, "{manner}").unwrap();
        let told = |lines: &[Value]| {
            lines
                .iter()
                .rev()
                .find_map(|line| line.get("manner").cloned())
                == Some(manner.into())
        };
        for _ in 0..WAITS {
            if told(&self.lines.lock().unwrap()) {
                return;
            }
            tokio::time::sleep(WAIT).await;
        }
        panic!("the SMTP server does not listen");
    }

    pub fn mails(&self) -> Vec<Mail> {
        let base64 = base64::engine::general_purpose::STANDARD;
        let lines = self.lines.lock().unwrap();
        let mails = lines.iter().filter_map(|line| {
            let content = base64.decode(line.get("content")?.as_str()?).unwrap();
            Some(Mail {
                from: line["from"].as_str()?.to_owned(),
                to: line["to"]
                    .as_array()?
                    .iter()
                    .map(|to| to.as_str().unwrap().to_owned())
                    .collect(),
                content: String::from_utf8(content).unwrap(),
            })
        });
        mails.collect()
    }

    pub async fn received(&self, count: usize) -> Vec<Mail> {
        for _ in 0..WAITS {
            let mails = self.mails();
            if mails.len() >= count {
                return mails;
            }
            tokio::time::sleep(WAIT).await;
        }
        panic!("{} of {count} mails came", self.mails().len());
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Path of a Python with aiosmtpd.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        if let Some(programs) = std::env::var_os("SWITCHYARD_PYTHON") {
            return Path::new(&programs).join("python");
        }
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools");
        let (shared, own) = (tools.join("python/bin/python"), tools.join("mail-python/bin/python"));
        for python in [&shared, &own] {
            if has_aiosmtpd(python) {
                return python.clone();
            }
        }
        let missing = "this test needs an SMTP server, aiosmtpd from PyPI: install Python 3 with venv (Debian: apt install \
                       python3-venv), or set SWITCHYARD_PYTHON to the folder of a Python that has it";
        let run = |command: &mut Command| assert!(command.status().is_ok_and(|status| status.success()), "{missing}");
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(tools.join("mail-python")));
        run(Command::new(&own).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "aiosmtpd==1.4.6"]));
        own
    })
}

fn has_aiosmtpd(python: &Path) -> bool {
    let mut import = Command::new(python);
    import.args(["-c", "import aiosmtpd"]).stderr(Stdio::null());
    import.status().is_ok_and(|status| status.success())
}

const WAIT: Duration = Duration::from_millis(10);
const WAITS: usize = 3_000;
