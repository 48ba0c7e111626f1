//! Memory and disk space of this process, for those who watch it.

use std::path::Path;
use std::{fs, io};

/// Returns the bytes of memory that this process has resident.
///
/// # Errors
/// When `/proc` does not tell.
pub fn resident_bytes() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes =
        line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let kibibytes = kibibytes.ok_or_else(|| io::Error::other("no VmRSS in /proc/self/status"))?;
    Ok(kibibytes.saturating_mul(1_024))
}

/// Returns the bytes that this process may still write to the file system of `path`.
///
/// # Errors
/// When the system does not tell, as for a path that does not exist.
pub fn free_disk_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_disk_space_are_told() {
        let resident = resident_bytes().unwrap();
        assert!((1 << 20..1 << 40).contains(&resident), "{resident}");
        let folder = tempfile::tempdir().unwrap();
        assert!(free_disk_bytes(folder.path()).is_ok());
        assert!(free_disk_bytes(&folder.path().join("nothing")).is_err());
    }
}
