//! Time from the start of the real program, after a kill -9 in the middle of work with open
//! payments in its store, until it has made its first payment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::{Scale, initialize, memory};
use crate::figure::{Bar, Figure, Sheet, Unit, median};
use crate::load::{CLIENTS, Line, closed};
use crate::subject;

/// How long payments are made before a kill.
const AT_WORK: Duration = Duration::from_secs(1);
/// Far beyond the bar: this is to measure, and it says so when it cannot.
const GIVES_UP: Duration = Duration::from_secs(120);

pub async fn measure(scale: Scale, sheet: &mut Sheet) -> Result<()> {
    let (few, many) = (scale.count(100_000, 50), scale.count(1_000_000, 200));
    for (payments, bar) in [(few, None), (many, Some(Bar::AtMost(1.0)))] {
        let dir = subject::folder()?;
        let program = Program::lay_out(dir.path())?;
        memory::fill_elsewhere(&program.data(), payments)?;
        let seconds = program.restarts(scale.count(3, 1)).await?;
        let payments = Unit::Count.show(payments as f64);
        let what = format!("start after a kill, {payments} open payments");
        let mut figure = Figure::new(what, median(seconds), Unit::Seconds);
        figure.bar = bar;
        sheet.note(&figure)?;
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
        let gateways = folder.join("gateways");
        std::fs::create_dir(&gateways)?;
        let gateway = "libgateway_demo.so";
        std::fs::copy(subject::built(gateway)?, gateways.join(gateway))?;
        let program = Self {
            binary: subject::built("switchyard")?,
            folder: folder.to_owned(),
            address: std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?,
        };
        std::fs::create_dir(program.data())?;
        Ok(program)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The seconds of each start.
    async fn restarts(&self, count: u64) -> Result<Vec<f64>> {
        // The first one also makes what development mode starts with, and does not count.
        let mut running = self.start()?;
        self.answers().await?;
        let key = self.key()?;
        let mut seconds = Vec::new();
        for _ in 0..count {
            self.killed_at_work(&mut running.0, &key).await?;
            let start = Instant::now();
            running = self.start()?;
            self.answers().await?;
            let request = initialize::request(&key, 0);
            Line::connect(self.address)
                .await?
                .ask(&request, 201)
                .await?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(seconds)
    }

    fn start(&self) -> Result<Running> {
        let child = Command::new(&self.binary)
            .args(["serve", "--development", "--rate-limit", "0", "--port"])
            .arg(self.address.port().to_string())
            .arg("--data")
            .arg(self.data())
            .arg("--gateways")
            .arg(self.folder.join("gateways"))
            .env("SWITCHYARD_LOG__LEVEL", "warn")
            // The store was filled under this key.
            .env(
                "SWITCHYARD_SECRETS__MASTER_KEY",
                subject::MASTER_KEY.repeat(32),
            )
            // They stay open for as long as this takes.
            .env("SWITCHYARD_PAYMENT__EXPIRES_AFTER", "1d")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Running(child))
    }

    /// Waits until it takes connections and says that it is ready.
    async fn answers(&self) -> Result<()> {
        let end = Instant::now() + GIVES_UP;
        while TcpStream::connect(self.address).await.is_err() {
            ensure!(Instant::now() < end, "it takes no connections");
            sleep(Duration::from_millis(2)).await;
        }
        let look = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        Line::connect(self.address).await?.ask(look, 200).await
    }

    fn key(&self) -> Result<String> {
        let told = std::fs::read_to_string(self.data().join("dev.json"))?;
        let told: serde_json::Value = serde_json::from_str(&told)?;
        let key = told["sandbox_secret_key"].as_str();
        Ok(key.context("dev.json has a key")?.to_owned())
    }

    /// Kills the server while payments are made. Errors of the load caused by that do not count.
    async fn killed_at_work(&self, running: &mut Child, key: &str) -> Result<()> {
        let work = initialize::work(self.address, key);
        let load = tokio::spawn(async move { closed(&work, CLIENTS, GIVES_UP).await });
        sleep(AT_WORK).await;
        running.kill()?;
        running.wait()?;
        ensure!(load.await?.is_err(), "the load ended before the kill");
        Ok(())
    }
}
