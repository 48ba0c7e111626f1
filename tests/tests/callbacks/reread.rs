//! A callback at which a version of a gateway failed each time is reprocessed by each later
//! version.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use switchyard_core::ids::TransactionId;
use switchyard_core::limits::CALLBACK_TRIES;
use switchyard_core::transaction::Status;
use switchyard_engine::callback::{Callback, CallbackState};
use switchyard_gateway_host::ChangeAuthor;
use switchyard_tests::{eventually, misbehaving_gateway};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::fixture::{Fixture, KEY, SOON};

const ADA: ChangeAuthor<'_> = ChangeAuthor::new("ada");

/// A provider that the gateway has to query about a callback, and that fails until the provider
/// recovers.
#[derive(Clone, Default)]
pub struct Provider {
    asked: Arc<AtomicUsize>,
    pub is_well: Arc<AtomicBool>,
}

impl Provider {
    pub async fn start(&self) -> anyhow::Result<String> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let provider = self.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request).await;
                provider.asked.fetch_add(1, Ordering::SeqCst);
                if provider.is_well.load(Ordering::SeqCst) {
                    let answer =
                        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                    let _ = stream.write_all(answer).await;
                }
            }
        });
        Ok(url)
    }

    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// A fixture whose gateway has put callbacks down: they say that the payment succeeded.
struct PutDown {
    fixture: Fixture,
    provider: Provider,
    id: TransactionId,
    folder: TempDir,
}

impl PutDown {
    async fn new() -> anyhow::Result<Self> {
        Self::with(1).await
    }

    async fn with(count: usize) -> anyhow::Result<Self> {
        let provider = Provider::default();
        let fixture = Fixture::misbehaving_at(&provider.start().await?).await?;
        let engine = &fixture.merchant.bench.engine;
        engine.gateways().keep_in(engine.store()).await?;
        engine.gateways().add(&misbehaving_gateway()).await?;
        let id = fixture.confirmed("pending ch_9").await?;
        let news = json!({ "id": "ch_9", "status": "succeeded", "minor": 2_500, "do": "look" });
        for _ in 0..count {
            fixture.send_raw(news.to_string(), Some(KEY)).await?;
        }
        let put_down = Self {
            fixture,
            provider,
            id,
            folder: TempDir::new()?,
        };
        let tries = count * TRIES;
        put_down.comes_to(CallbackState::Refused, tries).await?;
        put_down.are(CallbackState::Refused, count, tries).await?;
        Ok(put_down)
    }

    /// The same gateway as another file, which is another version of it.
    fn version(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.path().join(format!("{name}.so"));
        let mut bytes = fs::read(misbehaving_gateway())?;
        bytes.extend_from_slice(name.as_bytes());
        fs::write(&path, bytes)?;
        Ok(path)
    }

    async fn upgrade(&self, name: &str) -> anyhow::Result<()> {
        let gateways = self.fixture.merchant.bench.engine.gateways();
        gateways.add(&self.version(name)?).await?;
        Ok(())
    }

    /// Turns the clock until the callback is in `state` and the provider was asked so often.
    async fn comes_to(&self, state: CallbackState, asked: usize) -> anyhow::Result<Callback> {
        let what = format!("it is {state:?} after {asked} looks");
        eventually(&what, SOON, async || {
            self.fixture.merchant.bench.clock.advance(STEP);
            let found = self.fixture.callbacks(Some(state)).await?.pop();
            Ok(found.filter(|_| self.provider.asked() == asked))
        })
        .await
    }

    /// Waits until so many are in `state` and the provider was asked so often. No time passes.
    async fn are(&self, state: CallbackState, count: usize, asked: usize) -> anyhow::Result<()> {
        let what = format!("{count} are {state:?} after {asked} looks");
        eventually(&what, SOON, async || {
            let found = self.fixture.callbacks(Some(state)).await?.len();
            Ok(((found, self.provider.asked()) == (count, asked)).then_some(()))
        })
        .await
    }

    fn pass(&self, time: Duration) {
        self.fixture.merchant.bench.clock.advance(time);
    }

    /// A day later it is where it was.
    async fn rests(&self, asked: usize) -> anyhow::Result<()> {
        for _ in 0..24 {
            let clock = &self.fixture.merchant.bench.clock;
            clock.advance(Duration::from_secs(3_600));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(self.provider.asked(), asked);
        let refused = self.fixture.callbacks(Some(CallbackState::Refused)).await?;
        assert_eq!(refused.len(), 1);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_version_stumbled_over_is_read_by_the_one_that_takes_its_place() -> anyhow::Result<()>
{
    let put_down = PutDown::new().await?;
    put_down.rests(TRIES).await?;
    put_down.provider.is_well.store(true, Ordering::SeqCst);
    put_down.upgrade("second").await?;
    let read = put_down.comes_to(CallbackState::Matched, TRIES + 1).await?;
    assert_eq!(read.transaction, Some(put_down.id), "{read:?}");
    let paid = put_down.fixture.transaction(put_down.id).await?;
    assert_eq!(paid.status(), Status::Success);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_stumbles_as_well_reads_it_once_and_so_does_the_one_that_is_rolled_back_to()
-> anyhow::Result<()> {
    let put_down = PutDown::new().await?;
    put_down.upgrade("second").await?;
    put_down.comes_to(CallbackState::Refused, TRIES + 1).await?;
    put_down.rests(TRIES + 1).await?;
    let gateways = put_down.fixture.merchant.bench.engine.gateways();
    gateways.roll_back("misbehaving", None, &ADA).await?;
    put_down.comes_to(CallbackState::Refused, TRIES + 2).await?;
    put_down.rests(TRIES + 2).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_reads_them_well_reads_one_after_the_other_without_a_pause()
-> anyhow::Result<()> {
    let put_down = PutDown::with(MANY).await?;
    put_down.provider.is_well.store(true, Ordering::SeqCst);
    put_down.upgrade("second").await?;
    // The scan that finds the new version; after it no time passes.
    put_down.pass(Duration::from_secs(1));
    let (refused, asked) = (CallbackState::Refused, MANY * TRIES);
    put_down.are(refused, 0, asked + MANY).await?;
    put_down.are(CallbackState::Waiting, 0, asked + MANY).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_stumbles_again_gets_a_pause_before_the_next_one() -> anyhow::Result<()> {
    let put_down = PutDown::with(MANY).await?;
    put_down.upgrade("second").await?;
    let (refused, asked) = (CallbackState::Refused, MANY * TRIES);
    for read in 1..=MANY {
        put_down.pass(Duration::from_secs(1));
        put_down.are(refused, MANY, asked + read).await?;
        for _ in 0..28 {
            put_down.pass(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        put_down.are(refused, MANY, asked + read).await?;
        put_down.pass(Duration::from_secs(2));
    }
    Ok(())
}

/// Dead-lettered callbacks.
const MANY: usize = 4;
#[allow(clippy::cast_possible_truncation)]
const TRIES: usize = CALLBACK_TRIES as usize;
const STEP: Duration = Duration::from_secs(5);
