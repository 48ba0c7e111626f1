//! Runs histories: many seeds on all cores, one seed with all its lines, or each planted fault
//! until it is found.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use switchyard_progress::{Progress, Unit};
use switchyard_simulation::faults::Fault;
use switchyard_simulation::plan::Plan;
use switchyard_simulation::promises::{breaks, found};
use switchyard_simulation::reached::Reached;
use switchyard_simulation::{CORPUS, History, Options, run};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Run the deterministic simulation
#[derive(Parser)]
struct Arguments {
    /// Minimum number of histories, after those of the corpus
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// Minimum run time in seconds
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    /// Minimum number of transactions
    #[arg(long, default_value_t = 0)]
    transactions: u64,
    /// Continue after a broken promise, and print one line for each
    #[arg(long)]
    all: bool,
    /// Multiply the payments and payouts of each history
    #[arg(long, default_value_t = 1)]
    crowd: usize,
    /// Number of threads [default: number of cores]
    #[arg(long)]
    threads: Option<usize>,
    /// First seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Replay this seed twice, with all its lines
    #[arg(long)]
    seed: Option<u64>,
    /// Plant this fault, by its name
    #[arg(long, value_parser = fault)]
    fault: Option<Fault>,
    /// Plant each fault in turn, and look for it in this many seeds
    #[arg(long, value_name = "SEEDS")]
    plant: Option<u64>,
}

fn fault(name: &str) -> Result<Fault, String> {
    let named = Fault::ALL
        .into_iter()
        .find(|fault| format!("{fault:?}") == name);
    named.ok_or_else(|| format!("there is no such fault; there are {:?}", Fault::ALL))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match (arguments.seed, arguments.plant) {
        (Some(seed), _) => replay(seed, arguments.crowd, arguments.fault),
        (None, Some(seeds)) => plant(&arguments, seeds),
        (None, None) => many(&arguments),
    }
}

fn replay(seed: u64, crowd: usize, fault: Option<Fault>) -> ExitCode {
    let options = Options {
        keeps_log: true,
        fault,
    };
    let plan = Plan::of(seed).crowded(crowd);
    println!("{plan:#?}");
    let (first, second) = (run(plan.clone(), options), run(plan, options));
    print!("{}", first.log);
    let (hash, again) = (first.hash, second.hash);
    println!("steps {:?}", first.steps);
    println!("seed {seed}: hash {hash:016x}, again {again:016x}");
    if hash != again {
        let mut lines = first.log.lines().zip(second.log.lines());
        let parted = lines.find(|(one, other)| one != other);
        println!("THE SAME SEED GAVE TWO HISTORIES, which part at {parted:?}");
        return ExitCode::FAILURE;
    }
    report(&first, crowd, fault)
}

fn report(history: &History, crowd: usize, fault: Option<Fault>) -> ExitCode {
    if history.broken.is_empty() {
        println!("every promise was kept");
        return ExitCode::SUCCESS;
    }
    for broken in &history.broken {
        println!("BROKEN {broken}");
    }
    println!("replay it: {}", command(history.seed, crowd, fault));
    ExitCode::FAILURE
}

/// Returns the command that replays a history.
fn command(seed: u64, crowd: usize, fault: Option<Fault>) -> String {
    let planted = fault.map(|fault| format!(" --fault {fault:?}"));
    let crowd = (crowd > 1).then(|| format!(" --crowd {crowd}"));
    format!(
        "cargo xtask simulate --seed {seed}{}{}",
        planted.unwrap_or_default(),
        crowd.unwrap_or_default()
    )
}

/// Runs the corpus and then seeds from `from` on, on all cores, until the minimums are reached or a
/// history fails.
fn many(arguments: &Arguments) -> ExitCode {
    let run = Run::new(arguments);
    on_threads(arguments.threads, &|| run.work());
    let (total, lasted) = (run.so_far(), run.lasted());
    drop(run);
    total.print(lasted);
    println!("{}", total.reached);
    // This many histories must cover every lie and event; fewer need not.
    let has_gap = total.histories >= ENOUGH && !total.reached.missing().is_empty();
    match total.broken > 0 || (has_gap && arguments.fault.is_none()) {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Number of histories in which every lie and every event of the core occurs.
const ENOUGH: u32 = 10_000;

/// A run of many histories, shared by all threads.
struct Run<'a> {
    arguments: &'a Arguments,
    began: Instant,
    /// Seeds of the corpus with their crowds.
    corpus: Vec<(u64, usize)>,
    turn: AtomicU64,
    total: Mutex<Total>,
    failed: AtomicBool,
    progress: Progress,
}

impl<'a> Run<'a> {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long it takes is shown to a person; no history depends on it"
    )]
    fn new(arguments: &'a Arguments) -> Self {
        let is_planted = arguments.fault.is_some();
        let corpus = if is_planted { "" } else { CORPUS };
        let corpus: Vec<_> = corpus.lines().filter_map(known).collect();
        let total = corpus.len() as u64 + arguments.seeds;
        Self {
            arguments,
            began: Instant::now(),
            corpus,
            turn: AtomicU64::new(0),
            total: Mutex::default(),
            failed: AtomicBool::new(false),
            progress: Progress::begin("simulate", Some(total), Unit::Things("histories")),
        }
    }

    /// Main loop of each thread.
    fn work(&self) {
        let options = Options {
            fault: self.arguments.fault,
            keeps_log: false,
        };
        while let Some((seed, crowd)) = self.next() {
            let history = run(Plan::of(seed).crowded(crowd), options);
            let so_far = self.add(&history);
            self.progress.of(self.expected(&so_far));
            self.progress.at(u64::from(so_far.histories));
            if !history.broken.is_empty() {
                self.tell(&history, crowd);
            }
        }
    }

    /// Returns the next seed and its crowd, unless the minimums are reached or a history has
    /// failed.
    fn next(&self) -> Option<(u64, usize)> {
        let (arguments, corpus) = (self.arguments, &self.corpus);
        let first = corpus.len() as u64;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let is_long_enough = self.lasted() >= Duration::from_secs(arguments.seconds);
        let is_enough = is_long_enough && self.so_far().transactions >= arguments.transactions;
        if self.failed.load(Ordering::Relaxed) || (turn >= first + arguments.seeds && is_enough) {
            return None;
        }
        let known = usize::try_from(turn).ok().and_then(|turn| corpus.get(turn));
        let next = || (arguments.from + (turn - first), arguments.crowd);
        Some(known.copied().unwrap_or_else(next))
    }

    /// Estimated number of histories of the whole run: the minimum of each kind must be reached.
    fn expected(&self, so_far: &Total) -> u64 {
        let arguments = self.arguments;
        let histories = f64::from(so_far.histories);
        let by = |minimum: f64, reached: f64| match reached > 0.0 {
            true => (histories * minimum / reached).ceil() as u64,
            false => 0,
        };
        let by_time = by(arguments.seconds as f64, self.lasted().as_secs_f64());
        let by_size = by(arguments.transactions as f64, so_far.transactions as f64);
        let by_seeds = self.corpus.len() as u64 + arguments.seeds;
        by_seeds.max(by_time).max(by_size)
    }

    /// Prints a broken promise and the command that replays it. Without `--all`, also prints the
    /// first failed history with all its lines.
    fn tell(&self, history: &History, crowd: usize) {
        let (seed, fault) = (history.seed, self.arguments.fault);
        if self.arguments.all {
            let what = &history.broken[0];
            self.progress
                .without_bar(|| println!("{what}; replay it: {}", command(seed, crowd, fault)));
        } else if !self.failed.swap(true, Ordering::Relaxed) {
            self.progress.without_bar(|| {
                report(history, crowd, fault);
                replay(seed, crowd, fault);
            });
        }
    }

    fn add(&self, history: &History) -> Total {
        let mut total = self.total.lock().expect("nobody panics here");
        total.add(history);
        total.clone()
    }

    fn so_far(&self) -> Total {
        self.total.lock().expect("nobody panics here").clone()
    }

    fn lasted(&self) -> Duration {
        self.began.elapsed()
    }
}

/// Parses the seed at the beginning of a corpus line, and its crowd: `1826*8`.
fn known(line: &str) -> Option<(u64, usize)> {
    let word = line.split_whitespace().next()?;
    let (seed, crowd) = word.split_once('*').unwrap_or((word, "1"));
    Some((seed.parse().ok()?, crowd.parse().ok()?))
}

/// Runs `work` on each thread. `None`: one thread per core. Histories are independent of each
/// other.
fn on_threads(threads: Option<usize>, work: &(impl Fn() + Sync)) {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(cores);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}

#[derive(Clone, Default)]
struct Total {
    histories: u32,
    broken: u32,
    lives: u64,
    transactions: u64,
    lines: u64,
    /// Independent of the order in which threads finish.
    digest: u64,
    reached: Reached,
}

impl Total {
    fn add(&mut self, history: &History) {
        self.histories += 1;
        self.broken += u32::from(!history.broken.is_empty());
        self.lives += history.steps.len() as u64;
        self.transactions += history.transactions as u64;
        self.lines += history.lines;
        self.digest ^= history.hash;
        self.reached.add(&history.reached);
    }

    fn print(&self, took: Duration) {
        println!(
            "{} histories ({} broken) of {} lives, {} transactions and {} lines in {:.1} s ({:.0} histories a second), digest {:016x}",
            self.histories,
            self.broken,
            self.lives,
            self.transactions,
            self.lines,
            took.as_secs_f64(),
            f64::from(self.histories) / took.as_secs_f64(),
            self.digest
        );
    }
}

/// Plants each fault and requires that the rule it breaks finds it: a simulation that finds nothing
/// proves nothing.
fn plant(arguments: &Arguments, seeds: u64) -> ExitCode {
    let next = AtomicU64::new(0);
    let missed = AtomicBool::new(false);
    let total = Fault::ALL.len() as u64;
    let progress = Progress::begin("plant faults", Some(total), Unit::Things("faults"));
    let work = || {
        while let Ok(turn) = usize::try_from(next.fetch_add(1, Ordering::Relaxed))
            && let Some(fault) = Fault::ALL.get(turn).copied()
        {
            let line = match found(fault, arguments.from..arguments.from + seeds) {
                Some((seed, broken)) => format!("{fault:?} is found with seed {seed}: {broken}"),
                None => {
                    missed.store(true, Ordering::Relaxed);
                    let rule = breaks(fault);
                    format!("{fault:?} IS NOT FOUND within {seeds} seeds: it breaks {rule}")
                }
            };
            progress.without_bar(|| println!("{line}"));
            progress.add(1);
        }
    };
    on_threads(arguments.threads, &work);
    drop(progress);
    match missed.into_inner() {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
