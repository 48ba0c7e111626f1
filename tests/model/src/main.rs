//! Command line of the model checker.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use switchyard_model::search::{Bounds, Explored};
use switchyard_model::story::tell;
use switchyard_model::worlds::{asked, explore_all, long, short};

/// Explore every history of one payment or payout up to a bound
#[derive(Parser)]
struct Arguments {
    /// Attempts of a history; without it, the scopes of the tests
    #[arg(long)]
    attempts: Option<usize>,
    /// Only scopes whose name contains this text
    #[arg(long)]
    only: Option<String>,
    /// Stop a scope after this many states
    #[arg(long, default_value_t = 60_000_000)]
    states: usize,
    /// Threads that explore a scope together
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Tell worlds apart by facts that can never matter again
    #[arg(long)]
    unreduced: bool,
    /// Ask every command in every transaction, and count the rules that are reached
    #[arg(long)]
    rules: bool,
    /// Write the rules that are reached to this file
    #[arg(long, value_name = "FILE")]
    write_rules: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = Arguments::parse();
    arguments.rules |= arguments.write_rules.is_some();
    let usual = if arguments.rules { asked } else { short };
    let mut scopes = arguments.attempts.map_or_else(usual, long);
    if let Some(only) = &arguments.only {
        scopes.retain(|scope| scope.name().contains(only));
    }
    for scope in &mut scopes {
        scope.reduced &= !arguments.unreduced;
    }
    println!(
        "{:<44} {:>10} {:>12} {:>5} {:>9} {:>7}  violations",
        "scope", "states", "transitions", "depth", "cut", "seconds"
    );
    let (explored, rules) = explore_all(
        &scopes,
        Bounds {
            states: arguments.states,
            threads: arguments.threads,
        },
        arguments.rules,
        print_row,
    );
    if let Some(peak) = peak_memory() {
        println!("peak memory {} MB", peak / 1_000_000);
    }
    for explored in &explored {
        for violation in &explored.violations {
            println!(
                "\n{:?} is broken in {}:",
                violation.promise,
                explored.scope.name()
            );
            print!("{}", tell(&explored.scope, &violation.history));
        }
    }
    if arguments.rules {
        println!("\n{} rules", rules.list().lines().count());
        for unreached in rules.unreached() {
            println!("not reached: {unreached}");
        }
    }
    if let Some(file) = arguments.write_rules {
        std::fs::write(&file, rules.list())?;
    }
    let is_kept = explored
        .iter()
        .all(|explored| explored.violations.is_empty() && explored.is_closed);
    Ok(match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn print_row(explored: &Explored) {
    println!(
        "{:<44} {:>10} {:>12} {:>5} {:>9} {:>7.1}  {}{}",
        explored.scope.name(),
        explored.states,
        explored.transitions,
        explored.depth,
        explored.cut,
        explored.seconds,
        explored.violations.len(),
        match explored.is_closed {
            true => "",
            false => " NOT CLOSED",
        }
    );
}

/// The most memory in bytes that this process had at a time.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = peak.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
