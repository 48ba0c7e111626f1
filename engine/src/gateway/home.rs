//! Where a version's code runs, and the one way to have it take a step.
//!
//! In a process of its own a step costs two hops between processes, and whatever it does, the engine lives: see
//! [`worker`].
//!
//! In process a step costs microseconds, and code that crashes ends the engine. One that never returns cannot be stopped there: its
//! thread is lost until the next start, its call is not, and nobody else's is. See [`watch`].

use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::Arc;

use super::GatewaySettings;
use super::crash::CrashMark;
use super::inspect::{Inspection, Refused};
use super::library::{self, Library, Step};
use super::pieces::Pace;
use super::redact::Redactor;
use super::version::Version;
use super::watch::{self, Ward};
use super::worker::{self, Death, Worker};

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
    InProcess(Held),
    Worker(worker::Running),
}

/// A call that a library in this process holds something for.
pub(super) struct Held {
    call: Option<library::Running>,
    version: Arc<Version>,
    ward: Option<Ward>,
}

/// Why a step has no answer: a sentence.
pub(super) struct Gone(pub String);

/// What a step said, and the call to go on with if there is one.
pub(super) type Stepped = Result<(Step, Option<Running>), Gone>;

impl Home {
    /// Loads the engine's own copy of an inspected file where the settings say. With `start` a worker is started already now, at that
    /// pace. A suspect, in whose code the engine died, runs in a worker whatever they say. Blocks.
    pub(super) fn open(
        settings: &GatewaySettings,
        inspection: &Inspection,
        kept: &Path,
        start: Option<Pace>,
        is_suspect: bool,
    ) -> Result<Self, Refused> {
        let Inspection {
            manifest, sha256, ..
        } = inspection;
        if !is_suspect && !settings.runs_apart(sha256) {
            let mark = CrashMark::new(&settings.dir, sha256)
                .inspect_err(|error| {
                    let name = &manifest.name;
                    tracing::warn!(gateway.name = name, %error, "crashes cannot be attributed");
                })
                .ok();
            return Library::open(kept, mark).map(Self::InProcess);
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
        version: &Arc<Version>,
        ward: Option<&Ward>,
        redactor: &Redactor,
        message: Vec<u8>,
    ) -> Stepped {
        match self {
            Self::InProcess(library) => {
                let (library, own, its_ward) = (*library, Arc::clone(version), ward.cloned());
                let work = move || {
                    let (step, call) = library.begin(&message);
                    let held = call.map(|call| Held {
                        call: Some(call),
                        version: own,
                        ward: its_ward,
                    });
                    (step, held)
                };
                let (step, held) = watch::step(version, ward, work).await?;
                Ok((step, held.map(Running::InProcess)))
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
            let last = worker.last_death();
            let last = last.map_or_else(String::new, |death| format!("; last: {}", death.reason));
            version.put_into_quarantine(&format!(
                "its worker died three times within a minute{last}"
            ));
        }
    }

    /// The last death of one of its workers.
    pub(super) fn last_death(&self) -> Option<Death> {
        match self {
            Self::InProcess(_) => None,
            Self::Worker(worker) => worker.last_death(),
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
            Self::InProcess(held) => {
                let (step, held) = held.resume(message).await?;
                Ok((step, Some(Self::InProcess(held))))
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

impl Held {
    async fn resume(mut self, message: Vec<u8>) -> Result<(Step, Self), Gone> {
        let (version, ward) = (Arc::clone(&self.version), self.ward.clone());
        let work = move || {
            let step = match &mut self.call {
                Some(call) => call.resume(&message),
                None => Step::Nonsense("it is not there".to_owned()), // it is there until it is dropped
            };
            (step, self)
        };
        watch::step(&version, ward.as_ref(), work).await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else {
            return;
        };
        // Where no step may run any more its end may not either: then it stays as it is.
        let call = ManuallyDrop::new(call);
        let end = move || drop(ManuallyDrop::into_inner(call));
        watch::end(&self.version, self.ward.as_ref(), end);
    }
}
