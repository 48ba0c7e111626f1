//! The engine that is measured: the default store on a real disk, a wall clock, no rate limit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use switchyard::state::{ApiState, HttpSettings};
use switchyard_core::ids::{PaymentId, TransactionId};
use switchyard_core::transaction::ClientContext;
use switchyard_engine::engine::{EngineSettings, NewPayment};
use switchyard_engine::testing::{TestEngine, TestEngineBuilder, amount};
use switchyard_gateway_host::{GatewaySettings, Gateways, WorkerSettings};
use switchyard_records::NewCustomer;
use switchyard_store::{Backend, Direction, Store, StoreSettings, Table};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;
use ulid::Ulid;

/// Starts an engine on the store in `path`.
pub async fn start(path: &Path) -> Result<TestEngine> {
    start_with_idle(path, Duration::from_secs(10)).await
}

/// The routes of the merchant API.
pub fn router(bench: &TestEngine) -> axum::Router {
    switchyard::routes::router(ApiState::new(bench.engine.clone(), HttpSettings::default()))
}

/// Starts an engine whose actors rest after `idle_after`.
pub async fn start_with_idle(path: &Path, idle_after: Duration) -> Result<TestEngine> {
    let settings = EngineSettings {
        expires_after: Duration::from_secs(24 * 60 * 60),
        idle_after,
        ..EngineSettings::default()
    };
    start_with(path, settings).await
}

/// Starts an engine with these settings.
pub async fn start_with(path: &Path, settings: EngineSettings) -> Result<TestEngine> {
    let gateways = gateways(path).await?;
    start_with_gateways(path, settings, gateways).await
}

/// Starts an engine with these gateways.
pub async fn start_with_gateways(
    path: &Path,
    settings: EngineSettings,
    gateways: Gateways,
) -> Result<TestEngine> {
    let wanted = TestEngineBuilder {
        store: store(path)?,
        clock: Clock::wall(),
        settings,
        ..TestEngineBuilder::with(gateways)
    };
    Ok(wanted.start().await)
}

/// The default store in `path`.
pub fn store(path: &Path) -> Result<Store> {
    let settings = StoreSettings {
        backend: Backend::Sqlite,
        path: path.join("store"),
        cache_bytes: 64 << 20,
    };
    Ok(Store::open(&settings)?)
}

/// The test gateway, which was built beside this program.
pub async fn gateways(store: &Path) -> Result<Gateways> {
    let settings = GatewaySettings {
        dir: store.join("gateways"),
        development: true,
        worker: WorkerSettings {
            program: built("switchyard")?,
            ..WorkerSettings::default()
        },
        ..GatewaySettings::default()
    };
    let gateways = Gateways::new(settings, Clock::wall(), Ids::system())?;
    gateways.add(&built("libgateway_demo.so")?).await?;
    Ok(gateways)
}

/// Something that was built beside this program.
pub fn built(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    ensure!(
        path.is_file(),
        "{name} is not built: `cargo xtask bench` builds all that is measured"
    );
    Ok(path)
}

/// A folder on the disk that is measured: beside this program, since the system's folder for such
/// things may be memory. It goes away with the measurement.
pub fn folder() -> Result<tempfile::TempDir> {
    let program = std::env::current_exe()?;
    let beside = program.parent().unwrap_or(Path::new("."));
    Ok(tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(std::env::var_os(FOLDER).map_or_else(|| beside.to_owned(), PathBuf::from))?)
}

/// The variable that names the folder for a part's files, which is deleted even when the part is
/// killed.
pub const FOLDER: &str = "SWITCHYARD_BENCH_FOLDER";

/// The byte of the master key of the engines that are measured, in hexadecimal.
pub const MASTER_KEY: &str = "11";

/// Stores `count` waiting payments, as fast as it goes. Their customers are numbered from `first`.
pub async fn fill(bench: &TestEngine, count: u64, first: u64) -> Result<()> {
    const AT_ONCE: u64 = 256;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..AT_ONCE {
        let (engine, caller) = (bench.engine.clone(), bench.caller());
        tasks.spawn(async move {
            for number in (task..count).step_by(AT_ONCE as usize) {
                engine
                    .initialize_payment(&caller, payment(first + number), None)
                    .await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

pub fn payment(number: u64) -> NewPayment {
    NewPayment {
        amount: amount(2_500, "USD"),
        description: "Two coffees".to_owned(),
        return_url: "https://shop.example/return".to_owned(),
        customer: NewCustomer {
            first_name: "Awa".to_owned(),
            last_name: "Diop".to_owned(),
            email: format!("awa{number}@example.com"),
            ..NewCustomer::default()
        },
        metadata: BTreeMap::from([("order".to_owned(), number.to_string())]),
        methods: Vec::new(),
        restriction: None,
        expires_in: None,
        context: ClientContext::default(),
    }
}

/// Resident memory of this process, in MiB.
pub fn resident_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap_or("0 kB");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib / 1_024.0)
}

/// The ids of all payments that wait, from their timers: a moment, a letter for the kind, and the
/// id's sixteen bytes.
pub async fn stored(store: &Store) -> Result<Vec<TransactionId>> {
    const PAGE: usize = 1_000;
    let (mut ids, mut from) = (Vec::new(), Vec::new());
    loop {
        let scan = store.scan(
            Table::Timer,
            &from,
            &[u8::MAX; 32],
            Direction::Forward,
            PAGE,
        );
        let page = scan.await?;
        for (key, _) in &page {
            let id = key.get(9..).unwrap_or_default().try_into()?;
            ids.push(TransactionId::Payment(PaymentId::new(Ulid::from_bytes(id))));
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE => from = [last.as_slice(), &[0]].concat(),
            _ => return Ok(ids),
        }
    }
}
