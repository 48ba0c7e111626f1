//! Open files: each socket is one, and systems hand out few until asked.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises this process's limit on open files to the most that the system allows it, and returns it.
/// Webhooks alone may keep some 2,300 sockets open, and the usual limit at a start is 1,024 for all.
///
/// # Errors
/// When the system does not change the limit.
pub fn raise_limit() -> io::Result<u64> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit)?;
    Ok(maximum.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_can_be_raised_twice_and_stays_up() {
        let raised = raise_limit().unwrap();
        assert!(raised > 0);
        assert_eq!(raise_limit().unwrap(), raised);
    }
}
