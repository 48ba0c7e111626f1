//! Sandbox of a worker. The worker sets it up itself before the library is loaded, because the
//! engine cannot run code safely between fork and exec.
//!
//! | restriction | mechanism |
//! |---|---|
//! | no network | an empty network namespace where the kernel permits one; no `socket` |
//! | no files, programs, threads, signals to others | seccomp allowlist; other calls: `EPERM` |
//! | while loading: system libraries and its own file only | Landlock |
//! | memory | `RLIMIT_AS` |
//! | no core dump, no inspection by other processes | `RLIMIT_CORE`, `PR_SET_DUMPABLE` |
//! | no new privileges | `PR_SET_NO_NEW_PRIVS` |
//! | exit with the engine | `PR_SET_PDEATHSIG`, and the end of the pipe |
//!
//! The allowlist contains the calls that computing needs. Landlock is needed because the loader has
//! to open files, and an initialiser could open others. The engine limits the time of steps.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;

use landlock::{
    ABI, Access as _, AccessFs, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus,
};
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::stdio::{dup2_stdin, dup2_stdout};
use rustix::thread::{UnshareFlags, set_no_new_privs, unshare_unsafe};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use switchyard_system::dumps;

/// The engine's two pipes, moved to other descriptors than standard input and output. A library
/// finds an empty standard input, and its standard output goes to standard error.
pub(super) fn pipes() -> io::Result<(File, File)> {
    // SAFETY: this process has not opened any descriptor that other code relies on.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let nothing = File::open("/dev/null")?;
    dup2_stdin(nothing)?;
    dup2_stdout(io::stderr())?;
    Ok((input, output))
}

/// Leaves the network and applies the first restrictions. Afterwards only `library` and the
/// system's libraries can be opened. The process must be single-threaded. Returns the missing
/// restrictions.
pub(super) fn apart(library: &File) -> Vec<String> {
    let mut missing = Vec::new();
    // SAFETY: the table of descriptors stays shared; the process is single-threaded, which a new
    // user namespace requires.
    let leave = |namespaces| unsafe { unshare_unsafe(namespaces) };
    let left = leave(UnshareFlags::NEWUSER | UnshareFlags::NEWNET);
    if let Err(why) = left.or_else(|_| leave(UnshareFlags::NEWNET)) {
        missing.push(format!("network: a network namespace of their own ({why})"));
    }
    // After the namespace: a change of credentials resets these.
    let walls = [
        (
            "privileges: a lock on privileges",
            set_no_new_privs(true).map_err(io::Error::from),
        ),
        ("dumps: a ban on dumps of their memory", dumps::forbid()),
        (
            "parent_death: an end together with the engine's",
            set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from),
        ),
        (
            "landlock: a lock on files while they load",
            open_libraries_only(library).map_err(io::Error::other),
        ),
        (
            "write_limit: a limit on what they write",
            limit(Resource::Fsize, 0),
        ),
    ];
    missing.extend(walls.into_iter().filter_map(unbuilt));
    #[cfg(target_env = "gnu")]
    // SAFETY: `mallopt` takes numbers. The library may use this allocator: with one arena it
    // reserves address space once, not once per thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    missing
}

/// File with the memory usage of this process. Has to be opened before files are blocked.
pub(super) fn account() -> io::Result<File> {
    File::open("/proc/self/status")
}

/// Applies the restrictions for loading. All threads are running, and the library is not loaded
/// yet. Returns the missing restrictions.
pub(super) fn before_loading(memory_bytes: u64, account: io::Result<File>) -> Vec<String> {
    let room = |now: u64| limit(Resource::As, now.saturating_add(memory_bytes));
    let walls = [
        (
            "memory_limit: a limit on their memory",
            account.and_then(address_space).and_then(room),
        ),
        (
            "process_limit: a limit on processes",
            limit(Resource::Nproc, 0),
        ),
    ];
    let mut missing: Vec<_> = walls.into_iter().filter_map(unbuilt).collect();
    let loading = COMPUTING.iter().chain(LOADING).copied();
    if let Err(why) = allow_only(loading, while_loading) {
        missing.push(format!(
            "seccomp: a list of the system calls they may make ({why})"
        ));
    }
    missing
}

/// Applies the restrictions for computing, after the library was loaded. Returns the missing
/// restrictions.
pub(super) fn after_loading() -> Vec<String> {
    let files = ("file_limit: a limit on files", limit(Resource::Nofile, 0));
    let mut missing: Vec<_> = unbuilt(files).into_iter().collect();
    // A failure of the first filter was reported already.
    if let Err(why) = allow_only(COMPUTING.iter().copied(), || Ok(Vec::new())) {
        missing.push(format!("seccomp: a lock on files ({why})"));
    }
    missing
}

/// Exits at once, without running exit handlers of the library.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: it does not return, and runs no code of this process.
    unsafe { libc::_exit(code) }
}

/// Report of a restriction that could not be applied.
fn unbuilt((wall, built): (&str, io::Result<()>)) -> Option<String> {
    built.err().map(|why| format!("{wall} ({why})"))
}

/// Lowers a limit, soft and hard, which is always allowed. A lower existing limit stays.
fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let existing = getrlimit(resource).maximum;
    let lowest = Some(existing.map_or(value, |existing| existing.min(value)));
    let limit = Rlimit {
        current: lowest,
        maximum: lowest,
    };
    Ok(setrlimit(resource, limit)?)
}

/// Size of the address space in use, in bytes.
fn address_space(account: File) -> io::Result<u64> {
    let status = io::read_to_string(account)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map(|kib| kib.saturating_mul(1024))
        .ok_or_else(|| io::Error::other("/proc does not tell how much is taken"))
}

/// Applies Landlock to this thread and those that it will start. The loader opens a library with
/// the same system calls that an initialiser would need to open the master key, so a seccomp filter
/// cannot distinguish the two.
fn open_libraries_only(library: &File) -> Result<(), ConfineError> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V1))?
        .create()?
        .add_rule(PathBeneath::new(library, AccessFs::ReadFile))?;
    for folder in LIBRARIES {
        // Not every system has all of them.
        if let Ok(folder) = PathFd::new(folder) {
            let read = AccessFs::ReadFile | AccessFs::ReadDir;
            rules = rules.add_rule(PathBeneath::new(folder, read))?;
        }
    }
    if let Ok(cache) = PathFd::new("/etc/ld.so.cache") {
        rules = rules.add_rule(PathBeneath::new(cache, AccessFs::ReadFile))?;
    }
    let status = rules.restrict_self()?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        _ => Err(missing_landlock(status.landlock).into()),
    }
}

/// Reason for which Landlock restricts less than the rules say.
fn missing_landlock(status: LandlockStatus) -> &'static str {
    match status {
        LandlockStatus::NotImplemented => "this kernel has no Landlock, or a container forbids it",
        LandlockStatus::NotEnabled => "this kernel was started without Landlock",
        LandlockStatus::Available { .. } => "this kernel enforces a part of the rules only",
    }
}

type ConfineError = Box<dyn std::error::Error + Send + Sync>;
type Rules = Vec<(i64, Vec<SeccompRule>)>;

/// Applies a seccomp filter that allows only these calls. `conditional`: calls that are allowed
/// with some arguments only.
fn allow_only(
    calls: impl Iterator<Item = libc::c_long>,
    conditional: impl FnOnce() -> Result<Rules, ConfineError>,
) -> Result<(), ConfineError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.map(|call| (call, vec![])).collect();
    rules.extend(conditional()?);
    // A signal to a thread of this process, by which it aborts. Signals to other processes are
    // blocked.
    let own = argument(0, SeccompCmpOp::Eq, std::process::id())?;
    rules.insert(libc::SYS_tgkill, vec![own]);
    let otherwise = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let machine = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, otherwise, SeccompAction::Allow, machine)?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    seccompiler::apply_filter_all_threads(&program)?;
    Ok(())
}

/// Rules for the calls that the loader needs with some arguments only: it opens files for reading.
/// Initialisers of the library can change neither files, nor limits of another process (the engine
/// has the same user), nor the sandbox.
fn while_loading() -> Result<Rules, ConfineError> {
    let to_read = |place| {
        let changes = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
        let changes = u64::from(changes.unsigned_abs());
        argument(place, SeccompCmpOp::MaskedEq(changes), 0)
    };
    let prctl = |option: libc::c_int| argument(0, SeccompCmpOp::Eq, option.unsigned_abs());
    Ok(vec![
        (libc::SYS_openat, vec![to_read(2)?]),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, vec![to_read(1)?]),
        (libc::SYS_prlimit64, vec![argument(0, SeccompCmpOp::Eq, 0)?]),
        // The first option is set again with the next filter; the second only reads.
        (
            libc::SYS_prctl,
            vec![
                prctl(libc::PR_SET_NO_NEW_PRIVS)?,
                prctl(libc::PR_GET_DUMPABLE)?,
            ],
        ),
    ])
}

fn argument(place: u8, is: SeccompCmpOp, value: u32) -> Result<SeccompRule, ConfineError> {
    let condition = SeccompCondition::new(place, SeccompCmpArgLen::Dword, is, value.into())?;
    Ok(SeccompRule::new(vec![condition])?)
}

/// Library folders of a system. They contain no secrets.
const LIBRARIES: &[&str] = &[
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
];

/// System calls that computing needs, and that the worker needs for its pipes.
const COMPUTING: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
/// System calls that the loader needs besides those of [`while_loading`], and that tightening the
/// filter needs.
const LOADING: &[libc::c_long] = &[
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_setrlimit,
    libc::SYS_seccomp,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(not(target_arch = "x86_64"))]
    libc::SYS_faccessat,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_that_the_system_refuses_is_told() {
        let refused = io::Error::from_raw_os_error(libc::EINVAL);
        let told = unbuilt(("a wall", Err(refused))).unwrap();
        assert!(told.starts_with("a wall (Invalid argument"), "{told}");
        assert_eq!(unbuilt(("a wall", Ok(()))), None);
    }
}
