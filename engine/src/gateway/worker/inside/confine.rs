//! The walls around a worker, built from inside before the library is loaded: the engine cannot fork safely with code between.
//!
//! | wall | means |
//! |---|---|
//! | no network | an empty network namespace where the kernel permits one; no `socket` |
//! | no files, programs, threads, signals to others | seccomp: a list of what computing needs, all else fails with `EPERM` |
//! | no files while it loads, but the system's libraries and its own | Landlock: the loader has to open files, and so could initialisers |
//! | memory | `RLIMIT_AS` |
//! | no core dump, not to be looked into | `RLIMIT_CORE`, `PR_SET_DUMPABLE` |
//! | no privileges to gain | `PR_SET_NO_NEW_PRIVS` |
//! | not longer than the engine | `PR_SET_PDEATHSIG`, and the end of the pipe |
//!
//! Time spent is watched by the engine.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::dumps;

/// The engine's two pipes, moved away from where a library looks for standard input and output: there it finds nothing to read, and
/// what it prints goes where its errors go.
pub(super) fn pipes() -> io::Result<(File, File)> {
    // SAFETY: this process has opened nothing yet that anybody relies on.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let nothing = File::open("/dev/null")?;
    // SAFETY: both descriptors are open, and what 0 was is kept under another number.
    let has_nothing_to_read = unsafe { libc::dup2(nothing.as_raw_fd(), 0) } >= 0;
    // SAFETY: as above, for 1.
    let prints_with_errors = unsafe { libc::dup2(2, 1) } >= 0;
    (has_nothing_to_read && prints_with_errors)
        .then_some((input, output))
        .ok_or_else(io::Error::last_os_error)
}

/// Leaves the network and gives up what can be given up at once; from here on only `library` and the system's own ones can be opened.
/// To be called while there is one thread. What could not be done.
pub(super) fn apart(library: &File) -> Vec<String> {
    let mut missing = Vec::new();
    // SAFETY: `unshare` takes no pointers; there is one thread, as a new user namespace asks.
    let leave = |what| unsafe { libc::unshare(what) } == 0;
    if !leave(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) && !leave(libc::CLONE_NEWNET) {
        let why = io::Error::last_os_error();
        missing.push(format!("network: a network namespace of their own ({why})"));
    }
    // After the namespace: a change of credentials takes these back.
    let walls = [
        (
            "privileges: a lock on privileges",
            set(libc::PR_SET_NO_NEW_PRIVS, 1),
        ),
        ("dumps: a ban on dumps of their memory", dumps::forbid()),
        (
            "parent_death: an end together with the engine's",
            set(libc::PR_SET_PDEATHSIG, libc::SIGKILL),
        ),
        (
            "landlock: a lock on files while they load",
            open_libraries_only(library),
        ),
        (
            "write_limit: a limit on what they write",
            limit(libc::RLIMIT_FSIZE, 0),
        ),
    ];
    missing.extend(walls.into_iter().filter_map(unbuilt));
    #[cfg(target_env = "gnu")]
    // SAFETY: a number for the C library's allocator, which the library may use: one reserve of address space, not one a thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
    missing
}

/// Where the kernel tells how much memory is taken: to be opened while files can be.
pub(super) fn account() -> io::Result<File> {
    File::open("/proc/self/status")
}

/// All threads are there, nothing of the library is. What could not be done.
pub(super) fn before_loading(memory_bytes: u64, account: io::Result<File>) -> Vec<String> {
    let room = |now: u64| limit(libc::RLIMIT_AS, now.saturating_add(memory_bytes));
    let walls = [
        (
            "memory_limit: a limit on their memory",
            account.and_then(address_space).and_then(room),
        ),
        (
            "process_limit: a limit on processes",
            limit(libc::RLIMIT_NPROC, 0),
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

/// The library is there. What could not be done.
pub(super) fn after_loading() -> Vec<String> {
    let files = (
        "file_limit: a limit on files",
        limit(libc::RLIMIT_NOFILE, 0),
    );
    let mut missing: Vec<_> = unbuilt(files).into_iter().collect();
    // Without the first list there is none to shorten, and that was told.
    if let Err(why) = allow_only(COMPUTING.iter().copied(), || Ok(Vec::new())) {
        missing.push(format!("seccomp: a lock on files ({why})"));
    }
    missing
}

/// At once: what the library wanted done at the end of the process is not done.
pub(super) fn exit(code: i32) -> ! {
    // SAFETY: it does not return, and runs nothing.
    unsafe { libc::_exit(code) }
}

/// What is told of a wall that does not stand.
fn unbuilt((wall, built): (&str, io::Result<()>)) -> Option<String> {
    built.err().map(|why| format!("{wall} ({why})"))
}

fn set(option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the options that are set here take a number.
    made(unsafe { libc::prctl(option, value, 0, 0, 0) }.into()).map(drop)
}

/// Lowers a limit, soft and hard, which is always allowed. One that is lower already stays: it is the tighter wall.
fn limit(resource: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for the call, which fills it.
    made(unsafe { libc::getrlimit(resource, &raw mut limit) }.into())?;
    limit.rlim_max = limit.rlim_max.min(value);
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is valid for the call, which reads it.
    made(unsafe { libc::setrlimit(resource, &raw const limit) }.into()).map(drop)
}

/// Bytes of address space that are taken now.
fn address_space(account: File) -> io::Result<u64> {
    let status = io::read_to_string(account)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.map(|kib| kib.saturating_mul(1024))
        .ok_or_else(|| io::Error::other("/proc does not tell how much is taken"))
}

/// Landlock, for this thread and those that it will start. The loader opens a library by the same calls by which an initialiser
/// would open the master key, so a list of calls cannot tell the two apart.
fn open_libraries_only(library: &File) -> io::Result<()> {
    let handled = EVERY_ACCESS;
    // SAFETY: the attribute is a live `u64`, which is the whole of the structure's first edition, and its size is given.
    let rules = made(unsafe {
        let size = size_of_val(&handled);
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const handled,
            size,
            0,
        )
    })?;
    let rules = i32::try_from(rules).map_err(io::Error::other)?;
    // SAFETY: the call has just made this descriptor, and nobody else has it.
    let rules = unsafe { OwnedFd::from_raw_fd(rules) };
    permit(&rules, library, READ_FILE)?;
    for folder in LIBRARIES {
        // A system has not all of them.
        if let Ok(folder) = at(folder) {
            permit(&rules, &folder, READ_FILE | READ_FOLDER)?;
        }
    }
    if let Ok(cache) = at("/etc/ld.so.cache") {
        permit(&rules, &cache, READ_FILE)?;
    }
    // SAFETY: numbers only.
    made(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) })?;
    Ok(())
}

/// A name for a file or a folder, which need not be readable.
fn at(path: &str) -> io::Result<File> {
    File::options()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(path)
}

fn permit(rules: &OwnedFd, what: &File, access: u64) -> io::Result<()> {
    #[repr(C, packed)]
    struct Beneath {
        access: u64,
        parent: i32,
    }
    let beneath = Beneath {
        access,
        parent: what.as_raw_fd(),
    };
    // SAFETY: the structure is live, and laid out as the kernel has it.
    made(unsafe {
        let (rules, beneath) = (rules.as_raw_fd(), &raw const beneath);
        libc::syscall(libc::SYS_landlock_add_rule, rules, PATH_BENEATH, beneath, 0)
    })?;
    Ok(())
}

fn made(said: libc::c_long) -> io::Result<libc::c_long> {
    match said {
        0.. => Ok(said),
        _ => Err(io::Error::last_os_error()),
    }
}

type Wrong = Box<dyn std::error::Error + Send + Sync>;
type Rules = Vec<(i64, Vec<SeccompRule>)>;

/// `conditional`: those of the calls that are allowed with some arguments only.
fn allow_only(
    calls: impl Iterator<Item = libc::c_long>,
    conditional: impl FnOnce() -> Result<Rules, Wrong>,
) -> Result<(), Wrong> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.map(|call| (call, vec![])).collect();
    rules.extend(conditional()?);
    // A signal to a thread of this process, which is how it aborts, and to no other process.
    let own = argument(0, SeccompCmpOp::Eq, std::process::id())?;
    rules.insert(libc::SYS_tgkill, vec![own]);
    let otherwise = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let machine = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, otherwise, SeccompAction::Allow, machine)?;
    let program: seccompiler::BpfProgram = filter.try_into()?;
    seccompiler::apply_filter_all_threads(&program)?;
    Ok(())
}

/// The loader reads files and nothing else; whatever a library's initialisers do besides, they change no file, no limit of another
/// process (the engine has the same user), and none of the walls.
fn while_loading() -> Result<Rules, Wrong> {
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
        // The one is asked for again with the next list; the other only looks.
        (
            libc::SYS_prctl,
            vec![
                prctl(libc::PR_SET_NO_NEW_PRIVS)?,
                prctl(libc::PR_GET_DUMPABLE)?,
            ],
        ),
    ])
}

fn argument(place: u8, is: SeccompCmpOp, value: u32) -> Result<SeccompRule, Wrong> {
    let condition = SeccompCondition::new(place, SeccompCmpArgLen::Dword, is, value.into())?;
    Ok(SeccompRule::new(vec![condition])?)
}

/// Landlock's rights in its first edition: to execute, write, read, list, remove and make, in all their kinds.
const EVERY_ACCESS: u64 = (1 << 13) - 1;
const READ_FILE: u64 = 1 << 2;
const READ_FOLDER: u64 = 1 << 3;
/// The kind of a rule: a file, or a folder with all in it.
const PATH_BENEATH: i32 = 1;
/// Where a system has its libraries. Nothing in them is a secret.
const LIBRARIES: &[&str] = &[
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
];

/// What code needs that computes, and what a worker needs to speak over its pipes.
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
/// What the loader needs besides what [`while_loading`] allows, and what it takes to shorten the list when it is done.
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
        // Neither of them exists.
        for refused in [set(-1, 1), limit(99, 0)] {
            let why = refused.as_ref().map_err(io::Error::raw_os_error).err();
            assert_eq!(why, Some(Some(libc::EINVAL)));
            let told = unbuilt(("a wall", refused)).unwrap();
            assert!(told.starts_with("a wall (Invalid argument"), "{told}");
        }
        assert_eq!(unbuilt(("a wall", Ok(()))), None);
    }
}
