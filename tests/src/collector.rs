//! An OpenTelemetry collector: rotel, from PyPI, and behind it a receiver that shows the spans which
//! the collector has taken and passed on.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1;
use prost::Message as _;
use switchyard_testkit::Loopback;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::eventually;
use crate::server::free_port;
use crate::tidy::root;

/// A span as the collector passed it on. Ids are hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub name: String,
    pub trace: String,
    pub id: String,
    /// Empty for the first span of a trace.
    pub parent: String,
    /// Traces that it is linked to.
    pub links: Vec<String>,
    pub attributes: BTreeMap<String, String>,
    pub nanoseconds: u64,
    /// Name of the service that sent it.
    pub service: String,
}

/// The running collector. Dropping it ends the process.
pub struct Collector {
    port: u16,
    received: Arc<Mutex<Received>>,
    _process: Child,
    _receiver: Loopback,
}

#[derive(Default)]
struct Received {
    spans: Vec<Span>,
    /// Everything that came, uncompressed.
    bytes: Vec<u8>,
}

type Shared = Arc<Mutex<Received>>;

impl Collector {
    /// # Errors
    /// When the collector cannot be installed or started.
    pub async fn start() -> anyhow::Result<Self> {
        let received = Shared::default();
        let router = Router::new().route("/v1/traces", post(receive));
        let receiver = Loopback::serve(router.with_state(received.clone())).await?;
        let (port, grpc) = (free_port()?, free_port()?);
        let process = Command::new(program()?)
            .arg("start")
            .args(["--otlp-http-endpoint", &format!("127.0.0.1:{port}")])
            .args(["--otlp-grpc-endpoint", &format!("127.0.0.1:{grpc}")])
            .args(["--otlp-exporter-endpoint", &receiver.url])
            .args(["--otlp-exporter-protocol", "http"])
            .args(["--batch-timeout", "50ms"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        eventually("the collector listens", START, async || {
            let connected = TcpStream::connect(("127.0.0.1", port)).await;
            Ok(connected.is_ok().then_some(()))
        })
        .await?;
        Ok(Self {
            port,
            received,
            _process: process,
            _receiver: receiver,
        })
    }

    /// Address for `telemetry.otlp_url`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The spans of a trace that have come so far.
    pub fn spans(&self, trace: &str) -> Vec<Span> {
        let mut spans = lock(&self.received).spans.clone();
        spans.retain(|span| span.trace == trace);
        spans
    }

    /// The spans of a trace, once `is_whole` says that none is missing.
    ///
    /// # Errors
    /// When that takes too long, with the spans that came.
    pub async fn trace(
        &self,
        trace: &str,
        is_whole: impl Fn(&[Span]) -> bool,
    ) -> anyhow::Result<Vec<Span>> {
        let what = format!("the spans of {trace} have come");
        let came = eventually(&what, WHOLE, async || {
            Ok(Some(self.spans(trace)).filter(|spans| is_whole(spans)))
        });
        came.await
            .with_context(|| format!("{:#?}", self.spans(trace)))
    }

    /// Ids of all traces of which something came.
    pub fn traces(&self) -> BTreeSet<String> {
        let received = lock(&self.received);
        received
            .spans
            .iter()
            .map(|span| span.trace.clone())
            .collect()
    }

    /// Whether a text is anywhere in what came.
    pub fn has_seen(&self, text: &str) -> bool {
        let received = lock(&self.received);
        let mut parts = received.bytes.windows(text.len());
        parts.any(|part| part == text.as_bytes())
    }
}

async fn receive(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let mut plain = Vec::new();
    let is_zipped = headers.get("content-encoding").is_some();
    let read = match is_zipped {
        true => GzDecoder::new(&body[..]).read_to_end(&mut plain),
        false => (&body[..]).read_to_end(&mut plain),
    };
    let request = ExportTraceServiceRequest::decode(&plain[..]);
    let (Ok(_), Ok(request)) = (read, request) else {
        return StatusCode::BAD_REQUEST;
    };
    let mut received = lock(&shared);
    received.bytes.extend(plain);
    for of_service in request.resource_spans {
        let resource = of_service.resource.unwrap_or_default();
        let service = texts(&resource.attributes).remove("service.name");
        let service = service.unwrap_or_default();
        let spans = of_service.scope_spans.into_iter();
        let spans = spans.flat_map(|of_scope| of_scope.spans);
        received
            .spans
            .extend(spans.map(|sent| span(sent, &service)));
    }
    StatusCode::OK
}

fn span(sent: v1::Span, service: &str) -> Span {
    let hex = base16ct::lower::encode_string;
    Span {
        name: sent.name,
        trace: hex(&sent.trace_id),
        id: hex(&sent.span_id),
        parent: hex(&sent.parent_span_id),
        links: sent.links.iter().map(|link| hex(&link.trace_id)).collect(),
        attributes: texts(&sent.attributes),
        nanoseconds: sent
            .end_time_unix_nano
            .saturating_sub(sent.start_time_unix_nano),
        service: service.to_owned(),
    }
}

fn texts(
    attributes: &[opentelemetry_proto::tonic::common::v1::KeyValue],
) -> BTreeMap<String, String> {
    let text = |any: &Any| match any {
        Any::StringValue(text) => text.clone(),
        Any::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let read = attributes.iter().filter_map(|attribute| {
        let value = attribute.value.as_ref()?.value.as_ref()?;
        Some((attribute.key.clone(), text(value)))
    });
    read.collect()
}

/// The collector's program, out of its Python package.
fn program() -> anyhow::Result<PathBuf> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let found = PROGRAM.get_or_init(|| find().map_err(|error| format!("{error:#}")));
    found.clone().map_err(anyhow::Error::msg)
}

fn find() -> anyhow::Result<PathBuf> {
    if let Some(programs) = std::env::var_os("SWITCHYARD_PYTHON") {
        return agent(&Path::new(&programs).join("python"));
    }
    let tools = root().join("target/tools");
    let (shared, own) = (
        tools.join("python/bin/python"),
        tools.join("otlp-python/bin/python"),
    );
    if let Some(agent) = [&shared, &own]
        .into_iter()
        .find_map(|python| agent(python).ok())
    {
        return Ok(agent);
    }
    let missing = "this test needs a collector, rotel from PyPI: install Python 3.10 to 3.13 with venv \
                   (Debian: apt install python3-venv)";
    let folder = tools.join("otlp-python");
    let made = std::process::Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&folder)
        .status();
    ensure!(made.is_ok_and(|status| status.success()), missing);
    let installed = std::process::Command::new(&own)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            ROTEL,
        ])
        .status();
    ensure!(installed.is_ok_and(|status| status.success()), missing);
    agent(&own)
}

/// The program in the package of this Python.
fn agent(python: &Path) -> anyhow::Result<PathBuf> {
    let found = std::process::Command::new(python)
        .args(["-c", "import rotel; print(rotel.__path__[0])"])
        .stderr(Stdio::null())
        .output()?;
    ensure!(found.status.success(), "{} has no rotel", python.display());
    Ok(Path::new(String::from_utf8(found.stdout)?.trim()).join("rotel-agent"))
}

fn lock(shared: &Mutex<Received>) -> std::sync::MutexGuard<'_, Received> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As in `tests/python/requirements.txt`.
const ROTEL: &str = "rotel==0.0.1a15";
const START: Duration = Duration::from_secs(20);
const WHOLE: Duration = Duration::from_secs(30);
