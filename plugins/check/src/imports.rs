//! Symbols that a library imports. Each symbol that reaches outside of the library is a finding,
//! with the SDK's replacement.
//!
//! Rust's standard library alone brings some forty names into every gateway: memory, unwinding,
//! thread-local storage, and the code that prints a backtrace (`open64`, `read`, `mmap64`,
//! `getcwd`, `getenv`, `write`). They appear without any code of the author, so they pass, and the
//! worker's sandbox prevents their misuse. The symbols listed below appear only if the author's
//! code uses them.

use crate::report::Report;

struct Family {
    check: &'static str,
    names: &'static [&'static str],
    instead: &'static str,
}

const FAMILIES: [Family; 6] = [
    Family {
        check: "no network",
        names: &[
            "socket",
            "socketpair",
            "connect",
            "bind",
            "listen",
            "accept",
            "accept4",
            "send",
            "sendto",
            "sendmsg",
            "sendmmsg",
            "recv",
            "recvfrom",
            "recvmsg",
            "recvmmsg",
            "getaddrinfo",
            "gethostbyname",
            "getnameinfo",
            "setsockopt",
            "getsockopt",
            "getpeername",
            "getsockname",
            "shutdown",
        ],
        instead: "the engine sends: use `cx.get(…)` or `cx.post(…)` and `send().await`",
    },
    Family {
        check: "no threads",
        names: &[
            "pthread_create",
            "thrd_create",
            "clone",
            "clone3",
            "pthread_join",
            "pthread_detach",
            "sem_wait",
        ],
        instead: "a gateway has no threads: write an `async fn`, different calls run at the same time anyway",
    },
    Family {
        check: "no processes",
        names: &[
            "fork",
            "vfork",
            "execv",
            "execve",
            "execvp",
            "execvpe",
            "execl",
            "execlp",
            "fexecve",
            "posix_spawn",
            "posix_spawnp",
            "system",
            "popen",
            "waitpid",
            "waitid",
            "wait4",
            "kill",
            "signal",
            "sigaction",
            "_exit",
            "exit",
            "dlopen",
            "dlmopen",
            "ptrace",
            "prctl",
        ],
        instead: "a gateway starts, stops and loads nothing: compute it, or ask the provider by an effect",
    },
    Family {
        check: "no clock",
        names: &[
            "clock_gettime",
            "gettimeofday",
            "time",
            "clock",
            "ftime",
            "timespec_get",
            "localtime",
            "localtime_r",
            "nanosleep",
            "clock_nanosleep",
            "sleep",
            "usleep",
            "timer_create",
            "setitimer",
            "alarm",
            "poll",
            "ppoll",
            "select",
            "pselect",
            "epoll_create",
            "epoll_create1",
            "epoll_wait",
            "timerfd_create",
        ],
        instead: "time comes from the engine: use `cx.now()`, and `cx.sleep(…).await` to wait",
    },
    Family {
        check: "no chance",
        names: &[
            "getrandom",
            "getentropy",
            "arc4random",
            "arc4random_buf",
            "rand",
            "rand_r",
            "random",
            "srand",
            "srandom",
            "drand48",
            "lrand48",
        ],
        instead: "chance comes from the engine: use `cx.chance()`, and a `BTreeMap` where a `HashMap` would seed itself",
    },
    Family {
        check: "no files",
        names: &[
            "fopen",
            "fopen64",
            "creat",
            "creat64",
            "mkdir",
            "rename",
            "unlink",
            "rmdir",
            "opendir",
            "readdir",
            "readdir64",
            "ftruncate",
            "ftruncate64",
            "fsync",
            "chmod",
            "symlink",
            "setenv",
            "putenv",
        ],
        instead: "a gateway has no files: use `cx.set_state(…)`, `cx.cache(…)`, or `include_str!` for data",
    },
];

pub(crate) fn judge(imports: &[String], report: &mut Report) {
    for family in &FAMILIES {
        let found: Vec<&str> = imports
            .iter()
            .map(|name| name.split('@').next().unwrap_or_default())
            .filter(|name| family.names.contains(name))
            .collect();
        if found.is_empty() {
            report.pass("static", family.check, "");
        } else {
            let names = found.join("`, `");
            report.fail(
                "static",
                family.check,
                format!("imports `{names}`: {}", family.instead),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_is_found_by_each_of_its_names_and_says_what_to_use() {
        for family in &FAMILIES {
            for name in family.names {
                let mut report = Report::default();
                judge(&["malloc".into(), (*name).to_owned()], &mut report);
                let failed: Vec<_> = report
                    .rows
                    .iter()
                    .filter(|row| row.verdict == crate::Verdict::Failed)
                    .collect();
                let [row] = failed.as_slice() else {
                    panic!("{name}: {failed:?}");
                };
                assert_eq!(row.check, family.check);
                assert!(row.says.contains(name) && row.says.contains(family.instead));
            }
        }
    }

    #[test]
    fn what_the_standard_library_brings_into_every_gateway_passes() {
        let always = "abort bcmp calloc close dl_iterate_phdr free fstat64 getcwd getenv gettid lseek64 malloc mmap64 munmap open64 \
             posix_memalign pthread_key_create pthread_key_delete pthread_setspecific read readlink realloc realpath stat64 statx \
             syscall write writev";
        let always: Vec<String> = always.split_whitespace().map(str::to_owned).collect();
        let mut report = Report::default();
        judge(&always, &mut report);
        assert!(report.is_good(), "{report}");
    }
}
