//! Time from the start of the real program, after a kill -9 in the middle of work with open payments in its store, until it has answered
//! its first request.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::{initialize, load};

const CONNECTIONS: u64 = 64;
/// How long the load runs between two looks at how many are stored.
const SLICE: Duration = Duration::from_secs(1);
const RESTARTS: u32 = 3;
/// Far beyond the bar: this is to measure, and it says so when it cannot.
const GIVES_UP: Duration = Duration::from_secs(120);

pub async fn measure(payments: u64) -> Result<()> {
    let dir = tempfile::tempdir_in(".")?;
    let program = Program::lay_out(dir.path())?;
    let mut running = program.start()?;
    program.answers(None).await?;
    let key = program.key()?;
    let mut stored = 0;
    while stored < payments {
        let key = key.clone();
        let from = stored;
        let made = load::drive(program.address, CONNECTIONS, SLICE, 201, move |number| {
            initialize::request(&key, from + number)
        });
        stored += made.await?.latencies.len() as u64;
    }
    println!("start of `switchyard serve` after a kill -9");
    println!("  open payments in the store        {stored:>8}");
    for _ in 0..RESTARTS {
        program.killed_at_work(&mut running.0, &key).await?;
        let start = Instant::now();
        running = program.start()?;
        program.answers(Some(&key)).await?;
        println!(
            "  until a payment was made          {:>8.2} s  (bar: 3 s)",
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// The program that was built beside this one, with a folder of its own.
struct Program {
    binary: PathBuf,
    folder: PathBuf,
    address: SocketAddr,
}

/// A process that does not outlive the measurement.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    fn lay_out(folder: &Path) -> Result<Self> {
        let built = std::env::current_exe()?;
        let gateways = folder.join("gateways");
        std::fs::create_dir(&gateways)?;
        let gateway = "libgateway_demo.so";
        std::fs::copy(built.with_file_name(gateway), gateways.join(gateway))
            .context("build it first: cargo build --release -p gateway-demo")?;
        let binary = built.with_file_name("switchyard");
        ensure!(
            binary.exists(),
            "build it first: cargo build --release -p switchyard"
        );
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        Ok(Self {
            binary,
            folder: folder.to_owned(),
            address: port,
        })
    }

    fn start(&self) -> Result<Running> {
        let port = self.address.port().to_string();
        let child = Command::new(&self.binary)
            .args(["serve", "--development", "--rate-limit", "0", "--port"])
            .arg(port)
            .arg("--data")
            .arg(self.folder.join("data"))
            .arg("--gateways")
            .arg(self.folder.join("gateways"))
            .env("SWITCHYARD_LOG__LEVEL", "warn")
            // They stay open for as long as this takes.
            .env("SWITCHYARD_PAYMENT__EXPIRES_AFTER", "1d")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Running(child))
    }

    /// Waits until it takes connections, and has made a payment when there is a key to make one with.
    async fn answers(&self, key: Option<&str>) -> Result<()> {
        let end = Instant::now() + GIVES_UP;
        while TcpStream::connect(self.address).await.is_err() {
            ensure!(Instant::now() < end, "it takes no connections");
            sleep(Duration::from_millis(2)).await;
        }
        let one = Duration::from_millis(1);
        match key.map(str::to_owned) {
            Some(key) => {
                load::drive(self.address, 1, one, 201, move |number| {
                    initialize::request(&key, number)
                })
                .await?
            }
            None => {
                let look = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
                load::drive(self.address, 1, one, 200, |_| look.to_vec()).await?
            }
        };
        Ok(())
    }

    fn key(&self) -> Result<String> {
        let told = std::fs::read_to_string(self.folder.join("data/dev.json"))?;
        let told: serde_json::Value = serde_json::from_str(&told)?;
        let key = told["sandbox_secret_key"].as_str();
        Ok(key.context("dev.json has a key")?.to_owned())
    }

    /// Kills it while payments are made. What the load says of that does not count.
    async fn killed_at_work(&self, running: &mut Child, key: &str) -> Result<()> {
        let (address, key) = (self.address, key.to_owned());
        let load = tokio::spawn(async move {
            load::drive(address, CONNECTIONS, GIVES_UP, 201, move |number| {
                initialize::request(&key, number)
            })
            .await
        });
        sleep(SLICE).await;
        running.kill()?;
        running.wait()?;
        let ended = load.await?;
        ensure!(ended.is_err(), "the load ended before the kill");
        Ok(())
    }
}
