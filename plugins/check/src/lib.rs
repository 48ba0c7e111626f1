//! Everything that can be known of a gateway before anybody trusts it.
//!
//! Promises:
//! - *Static*: manifest, the one symbol, and what the library takes from others, judged without
//!   running any of it.
//! - *Dynamic*: each operation is played in a process of its own, against a provider that answers
//!   well, badly, late and never. The library's end says nothing about ours.
//! - A finding is a sentence with a remedy. A property that cannot be judged without the author's
//!   data is reported as not checked, with the missing data; it never counts as passed.
//!
//! It knows the contract and no provider: the provider's normal responses come from the author's
//! `check.json` ([`Samples`]).

mod callback;
mod command;
mod facts;
mod imports;
mod list;
mod options;
mod play;
mod report;
mod rules;
mod samples;
mod scenario;
mod script;

use std::path::Path;

use switchyard_gateway::Operation;
use switchyard_gateway::abi;
use switchyard_gateway_host::{DirectLibrary, WorkerSettings};

pub use self::command::CheckGateway;
pub use self::report::{Report, Row, Verdict};
pub use self::samples::{Answer, Samples};

/// Progress of a check: an operation begins.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub operation: Operation,
    /// Operations that are checked already, and all that the gateway has.
    pub done: u64,
    pub total: u64,
}

/// Checks a built library; `settings` say which program plays its worker. `begins` is called before
/// each operation.
pub async fn check(
    library: &Path,
    samples: &Samples,
    settings: &WorkerSettings,
    begins: &mut dyn FnMut(Step),
) -> Report {
    let mut report = Report::default();
    let inspection = match DirectLibrary::inspect(library) {
        Ok(inspection) => inspection,
        Err(refused) => {
            report.fail("static", "file", refused.to_string());
            return report;
        }
    };
    let manifest = &inspection.manifest;
    report.title = format!("{} {}", manifest.name, manifest.version);
    report.sha256.clone_from(&inspection.sha256);
    let has = format!(
        "ABI {}, {} methods, {} operations",
        manifest.abi,
        manifest.methods.len(),
        manifest.operations.len()
    );
    report.pass("static", "manifest", has);
    report.pass("static", "one symbol", format!("`{}`", abi::SYMBOL));
    facts::judge(manifest, &mut report);
    imports::judge(&inspection.imports, &mut report);
    let bare = match DirectLibrary::load(library, &inspection, settings) {
        Ok(bare) => bare,
        Err(refused) => {
            report.fail("static", "loads", refused.to_string());
            return report;
        }
    };
    let stage = play::Stage::new(bare, manifest, samples);
    let operations = Operation::ALL.into_iter();
    let operations: Vec<_> = operations.filter(|one| manifest.has(*one)).collect();
    let total = operations.len() as u64;
    for (done, operation) in (0..).zip(operations) {
        begins(Step {
            operation,
            done,
            total,
        });
        match operation {
            Operation::Callback => callback::check(&stage, &mut report).await,
            Operation::Options => options::check(&stage, &mut report).await,
            Operation::List => list::check(&stage, &mut report).await,
            _ => scenario::check(&stage, operation, &mut report).await,
        }
    }
    report
}
