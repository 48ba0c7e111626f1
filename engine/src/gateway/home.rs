//! Where a version's code runs, and the one way to have it take a step.
//!
//! In a process of its own a step costs two hops between processes, and whatever it does, the engine lives: see
//! [`worker`].
//!
//! In process, a step runs on the runtime's own thread: a gateway only computes, a step costs microseconds, and a hop to another
//! thread would cost more than the step. Each is timed all the same; a version that was seen to be slow has its later steps moved
//! to threads that may block, and one that holds up a thread for longer than any step may take goes into quarantine. A step that never
//! returns cannot be stopped there.

use std::path::Path;

use std::time::Duration;

use tokio::time::Instant;

use super::GatewaySettings;
use super::inspect::{Inspection, Refused};
use super::library::{self, Library, Step};
use super::pieces::Pace;
use super::redact::Redactor;
use super::version::Version;
use super::worker::{self, Worker};
use crate::limits::{GATEWAY_SLOW_STEP, GATEWAY_STEP, GATEWAY_STEP_WAITED};

/// Where a version runs.
pub(super) enum Home {
    /// In this process: trusted code.
    InProcess(Library),
    /// In a process of its own.
    Worker(Box<Worker>),
}

/// Which gateways get a process of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Those that did not come with this release.
    Auto,
    /// All of them.
    Process,
    /// None of them: all are trusted.
    #[default]
    InProcess,
}

impl GatewaySettings {
    /// Does a file with this hash get a process of its own?
    pub(super) fn runs_apart(&self, sha256: &str) -> bool {
        match self.isolation {
            Isolation::Auto => !self.bundled.contains(sha256),
            Isolation::Process => true,
            Isolation::InProcess => false,
        }
    }
}

/// A call that its home holds something for; dropping it ends it there.
pub(super) enum Running {
    InProcess(library::Running),
    Worker(worker::Running),
}

/// Why a step has no answer: a sentence.
pub(super) struct Gone(pub String);

/// What a step said, and the call to go on with if there is one.
pub(super) type Stepped = Result<(Step, Option<Running>), Gone>;

impl Home {
    /// Loads the engine's own copy of an inspected file where the settings say. With `start` a worker is started already now, at that
    /// pace. Blocks.
    pub(super) fn open(
        settings: &GatewaySettings,
        inspection: &Inspection,
        kept: &Path,
        start: Option<Pace>,
    ) -> Result<Self, Refused> {
        let Inspection {
            manifest, sha256, ..
        } = inspection;
        if !settings.runs_apart(sha256) {
            return Library::open(kept).map(Self::InProcess);
        }
        let worker = Worker::new(&manifest.name, sha256, kept, &settings.worker);
        if let Some(pace) = start {
            worker.start(pace)?;
        }
        Ok(Self::Worker(Box::new(worker)))
    }

    /// Starts an operation.
    pub(super) async fn begin(
        &self,
        version: &Version,
        redactor: &Redactor,
        message: Vec<u8>,
    ) -> Stepped {
        match self {
            Self::InProcess(library) => {
                let library = *library;
                let work = move || library.begin(&message);
                let (step, running) = timed(version, work).await?;
                Ok((step, running.map(Running::InProcess)))
            }
            Self::Worker(worker) => {
                let begun = worker.begin(redactor, &message).await;
                self.judge(version);
                let (step, running) = begun?;
                Ok((step, running.map(Running::Worker)))
            }
        }
    }

    /// Puts a version into quarantine whose workers died too often.
    fn judge(&self, version: &Version) {
        if let Self::Worker(worker) = self
            && worker.is_condemned()
        {
            version.put_into_quarantine("its worker died three times within a minute");
        }
    }

    /// New attempts begin on this version, or do no more.
    pub(super) fn set_current(&self, is_current: bool) {
        if let Self::Worker(worker) = self {
            worker.set_past(!is_current);
        }
    }

    /// An operator gives it another chance.
    pub(super) fn forgive(&self) {
        if let Self::Worker(worker) = self {
            worker.forgive();
        }
    }
}

impl Running {
    /// Brings the result of one effect.
    pub(super) async fn resume(self, version: &Version, message: Vec<u8>) -> Stepped {
        match self {
            Self::InProcess(mut running) => {
                let work = move || (running.resume(&message), running);
                let (step, running) = timed(version, work).await?;
                Ok((step, Some(Self::InProcess(running))))
            }
            Self::Worker(running) => {
                let resumed = running.resume(&message).await;
                version.home.judge(version);
                let (step, running) = resumed?;
                Ok((step, running.map(Self::Worker)))
            }
        }
    }
}

async fn timed<T: Send + 'static>(
    version: &Version,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Gone> {
    let work = move || {
        let (since, busy) = (Instant::now(), thread_time());
        let done = work();
        (done, since.elapsed(), thread_time().saturating_sub(busy))
    };
    let (done, took, busy) = if version.is_slow() {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Gone("the engine is stopping".to_owned()))?
    } else {
        work()
    };
    // A machine that had no time for the step is not the gateway's fault: what it computed counts, or a very long wait.
    if busy > GATEWAY_STEP || took > GATEWAY_STEP_WAITED {
        version.put_into_quarantine("a step of it took longer than a second");
    }
    if took > GATEWAY_SLOW_STEP && !version.is_slow() {
        version.mark_slow(took);
    }
    Ok(done)
}

/// How long this thread has computed since it began; zero where the system does not tell.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live `timespec` of ours, which the call fills and does not keep.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } != 0 {
        return Duration::ZERO;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
