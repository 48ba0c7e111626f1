//! The `switchyard` program. All of it is in the library, where tests reach it.

use std::process::ExitCode;

/// Requests make many small and short-lived objects, on several threads at once.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    switchyard::version::set_commit(
        option_env!("SWITCHYARD_COMMIT"),
        option_env!("SWITCHYARD_COMMIT_DATE"),
    );
    switchyard::cli::main()
}
