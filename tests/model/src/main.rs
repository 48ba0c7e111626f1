//! Command line of the model checker.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use switchyard_model::call;
use switchyard_model::search::{Bounds, Found};
use switchyard_model::story::tell;
use switchyard_model::worlds::{asked, explore_all, long, short};
use switchyard_progress::{Progress, Unit};

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
        "{:<58} {:>10} {:>12} {:>5} {:>9} {:>7}  violations",
        "scope", "states", "transitions", "depth", "cut", "seconds"
    );
    let bounds = Bounds {
        states: arguments.states,
        threads: arguments.threads,
    };
    let total = scopes.len() as u64;
    let progress = Progress::begin("explore", Some(total), Unit::Things("scopes"));
    let (explored, rules) = explore_all(&scopes, bounds, arguments.rules, |explored| {
        progress.without_bar(|| print_row(&explored.scope.name(), &explored.found));
        progress.add(1);
    });
    drop(progress);
    let mut is_kept = true;
    for explored in &explored {
        is_kept &= explored.found.is_closed;
        for violation in &explored.found.violations {
            is_kept = false;
            let name = explored.scope.name();
            println!("\n{:?} is broken in {name}:", violation.promise);
            print!("{}", tell(&explored.scope, &violation.history));
        }
    }
    is_kept &= explore_calls(arguments.only.as_deref(), bounds);
    if let Some(peak) = peak_memory() {
        println!("peak memory {} MB", peak / 1_000_000);
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
    Ok(match is_kept {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The calls of gateways. Returns whether every promise is kept.
fn explore_calls(only: Option<&str>, bounds: Bounds) -> bool {
    let mut is_kept = true;
    for scope in call::scopes() {
        let name = scope.name();
        if only.is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let found = call::explore(scope, call::AsTheyAre, bounds).found;
        print_row(&name, &found);
        is_kept &= found.is_closed && found.violations.is_empty();
        for violation in &found.violations {
            println!("\n{:?} is broken in {name}:", violation.promise);
            for (number, step) in (1..).zip(&violation.history) {
                println!("    {number}. {step:?}");
            }
        }
    }
    is_kept
}

fn print_row<S, P>(name: &str, found: &Found<S, P>) {
    println!(
        "{name:<58} {:>10} {:>12} {:>5} {:>9} {:>7.1}  {}{}",
        found.states,
        found.transitions,
        found.depth,
        found.cut,
        found.seconds,
        found.violations.len(),
        match found.is_closed {
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
