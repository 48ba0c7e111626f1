//! The schedule of the feed: over HTTP, from a server on this machine, on a clock that the test
//! turns.
//!
//! Only the test polls the schedule, and it looks at what came between two polls: whatever has been
//! seen, the schedule sleeps again.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use switchyard_core::testing::START;

const EVERY: Duration = Duration::from_secs(60 * 60);
const VALID_FOR: Duration = Duration::from_secs(3 * 60 * 60);
const SECOND: Duration = Duration::from_secs(1);
/// For a test that would hang: no answer on this machine takes as long.
const NET: Duration = Duration::from_secs(60);
/// Turns of the runtime in which a request that leaves too early is seen.
const TURNS: usize = 200;

#[tokio::test]
async fn fetched_rates_follow_the_schedule_survive_a_failure_and_are_not_used_when_too_old() {
    let mut schedule = Schedule::begin("1.08").await;
    assert_eq!(schedule.quoted(), None);
    schedule.comes_to("1.08", START).await;
    schedule.server.says("1.1");
    schedule.pass(EVERY).await;
    let second = START.plus(EVERY);
    schedule.comes_to("1.1", second).await;
    assert_eq!(schedule.server.asked(), 2);

    // A feed whose values are all unusable is as bad as none.
    schedule.server.says("0");
    for (pause, failures) in [(EVERY, 1), (RETRY, 2), (RETRY, 3)] {
        schedule.pass(pause).await;
        schedule.has_failed(failures).await;
        assert_eq!(schedule.quoted(), Some(("1.1".to_owned(), second)));
        schedule.server.fails();
    }
    assert_eq!(schedule.server.asked(), 5);

    let left = second.plus(VALID_FOR).since(schedule.clock.now());
    schedule.clock.advance(left - SECOND);
    assert!(schedule.quoted().is_some(), "a second is left");
    schedule.clock.advance(SECOND);
    assert_eq!(schedule.quoted(), None);
    schedule.server.says("1.15");
    schedule.comes_to("1.15", second.plus(VALID_FOR)).await;
    assert_eq!(schedule.server.asked(), 6);

    let restarted = load(&schedule.store, &schedule.clock, &schedule.server).await;
    assert_eq!(quoted(&restarted), schedule.quoted());
}

/// A running schedule, and its server.
struct Schedule {
    store: Store,
    clock: Clock,
    server: Server,
    exchange_rates: ExchangeRates,
    keeping: Pin<Box<dyn Future<Output = ()>>>,
    failures: Failures,
}

impl Schedule {
    async fn begin(rate: &str) -> Self {
        let (store, clock) = (Store::memory(), Clock::manual(START));
        let server = Server::start(rate).await;
        let exchange_rates = load(&store, &clock, &server).await;
        Self {
            keeping: Box::pin(exchange_rates.clone().keep_fetching()),
            store,
            clock,
            server,
            exchange_rates,
            failures: Failures::default(),
        }
    }

    /// EUR in USD, and since when.
    fn quoted(&self) -> Option<(String, Timestamp)> {
        quoted(&self.exchange_rates)
    }

    async fn comes_to(&mut self, rate: &str, as_of: Timestamp) {
        let expected = Some((rate.to_owned(), as_of));
        self.until(rate, |schedule| schedule.quoted() == expected)
            .await;
    }

    async fn has_failed(&mut self, times: u64) {
        let has_failed = |schedule: &Self| schedule.failures.0.load(Ordering::SeqCst) == times;
        self.until("a failure", has_failed).await;
    }

    /// Lets this time pass: until the moment before, nothing is asked.
    async fn pass(&mut self, time: Duration) {
        let asked = self.server.asked();
        self.clock.advance(time - SECOND);
        for _ in 0..TURNS {
            poll_fn(|cx| {
                self.poll(cx);
                Poll::Ready(())
            })
            .await;
            tokio::task::yield_now().await;
        }
        assert_eq!(self.server.asked(), asked, "a second is left");
        self.clock.advance(SECOND);
    }

    async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let came = poll_fn(|cx| {
            self.poll(cx);
            match holds(self) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
        let came = tokio::time::timeout(NET, came).await;
        assert!(came.is_ok(), "{what}: not within {NET:?}");
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        let keeping = self.keeping.as_mut();
        let polled = metrics::with_local_recorder(&self.failures, || keeping.poll(cx));
        assert!(polled.is_pending(), "a schedule has no end");
    }
}

async fn load(store: &Store, clock: &Clock, server: &Server) -> ExchangeRates {
    let settings = FeedSettings {
        url: Some(server.url.clone()),
        every: EVERY,
        valid_for: VALID_FOR,
        ..FeedSettings::default()
    };
    ExchangeRates::load(store.clone(), clock.clone(), settings, true)
        .await
        .unwrap()
}

fn quoted(exchange_rates: &ExchangeRates) -> Option<(String, Timestamp)> {
    let currency = |code: &str| Currency::from_code(code).unwrap();
    let quote = exchange_rates.quote(currency("EUR"), currency("USD"))?;
    Some((quote.rate.to_string(), quote.as_of?))
}

/// Answers each request with what the test has it say, on a connection of its own.
pub(super) struct Server {
    pub(super) url: Url,
    said: Arc<FeedLog>,
}

#[derive(Default)]
struct FeedLog {
    answer: Mutex<String>,
    asked: AtomicU64,
}

impl Server {
    pub(super) async fn start(rate: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/rates", listener.local_addr().unwrap());
        let server = Self {
            url: url.parse().unwrap(),
            said: Arc::default(),
        };
        server.says(rate);
        let said = server.said.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(said.clone().serve(stream));
            }
        });
        server
    }

    pub(super) fn says(&self, rate: &str) {
        let body = format!(r#"{{"base":"EUR","rates":{{"USD":{rate}}}}}"#);
        self.answer("200 OK", &body);
    }

    fn fails(&self) {
        self.answer("500 Internal Server Error", "");
    }

    fn answer(&self, status: &str, body: &str) {
        let length = body.len();
        *self.said.answer.lock().unwrap() = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
    }

    fn asked(&self) -> u64 {
        self.said.asked.load(Ordering::SeqCst)
    }
}

impl FeedLog {
    async fn serve(self: Arc<Self>, stream: TcpStream) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.lock().unwrap().clone();
        stream.write_all(answer.as_bytes()).await
    }
}

/// How often the schedule says that it fetched nothing.
#[derive(Default)]
struct Failures(Arc<AtomicU64>);

impl Recorder for Failures {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match key.name() {
            "switchyard_exchange_fetches_failed_total" => Counter::from_arc(self.0.clone()),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}
