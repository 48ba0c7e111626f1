//! `cargo xtask`: build, serve, test and measure this repository.
//!
//! - `serve` builds the engine and the bundled gateways and serves in development mode;
//! - `test` installs what the tests need and runs every test there is;
//! - `simulate` runs the engine in a simulated world with injected faults, by seed;
//! - `model` explores every history of one payment or payout, up to a bound;
//! - `mutants` changes the core's rules one at a time, and counts what the tests find;
//! - `bench` measures speed and size;
//! - `sweep` kills the real program under load, or restores backups of it, and counts the losses;
//! - `fuzz` runs every parser of untrusted bytes under libFuzzer;
//! - `sbom` writes the bill of materials;
//! - `dist` builds the files of a release: archive, Debian package, bill of materials, checksums;
//! - `docs` builds the documentation as a book;
//! - `gateway` creates a new gateway, and checks a built one;
//! - `stage` only builds, and puts the program and its gateways into one folder, for tests that
//!   start the real program.

#![expect(clippy::print_stdout, reason = "output of a command")]

mod bench;
mod coverage;
mod dist;
mod docs;
mod fuzz;
mod gateway;
mod memory;
mod model;
mod mutants;
mod revision;
mod run;
mod sbom;
mod serve;
mod simulate;
mod stage;
mod step_times;
mod sweep;
mod test;
mod tools;

use clap::Parser;

/// Build, serve and test Switchyard.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    Bench(bench::Bench),
    Dist(dist::Dist),
    Docs(docs::Docs),
    Fuzz(fuzz::Fuzz),
    #[command(subcommand)]
    Gateway(gateway::Gateway),
    Model(model::Model),
    Mutants(mutants::Mutants),
    Sbom(sbom::Sbom),
    Serve(serve::Serve),
    Simulate(simulate::Simulate),
    Stage(stage::Stage),
    Sweep(sweep::Sweep),
    Test(test::Test),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Bench(bench) => bench.run(),
        Task::Dist(dist) => dist.run(),
        Task::Docs(docs) => docs.run(),
        Task::Fuzz(fuzz) => fuzz.run(),
        Task::Gateway(gateway) => gateway.run(),
        Task::Model(model) => model.run(),
        Task::Mutants(mutants) => mutants.run(),
        Task::Sbom(sbom) => sbom.run(),
        Task::Serve(serve) => serve.run(),
        Task::Simulate(simulate) => simulate.run(),
        Task::Stage(stage) => stage
            .run()
            .map(|staged| println!("{}", staged.folder.display())),
        Task::Sweep(sweep) => sweep.run(),
        Task::Test(test) => test.run(),
    }
}
