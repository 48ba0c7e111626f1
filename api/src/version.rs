//! Version of this build: its number, its commit and the date of the commit.
//!
//! `cargo xtask dist` and `cargo xtask stage --release` name the commit in the environment of the
//! compiler. Other builds have only the number. The program's `main.rs` reads that environment: so
//! another commit compiles that file again, and not this library.

use std::sync::OnceLock;

/// Number of the version.
pub const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// Says which commit this program is built from, and its date. The first call counts.
pub fn set_commit(commit: Option<&str>, date: Option<&str>) {
    DESCRIBED.get_or_init(|| describe(NUMBER, commit, date));
}

/// Returns the version as `switchyard --version` prints it.
pub fn described() -> &'static str {
    DESCRIBED.get_or_init(|| describe(NUMBER, None, None))
}

static DESCRIBED: OnceLock<String> = OnceLock::new();

fn describe(number: &str, commit: Option<&str>, date: Option<&str>) -> String {
    // A container build passes an empty text when nothing is known.
    let known = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    match (known(commit), known(date)) {
        (Some(commit), Some(date)) => format!("{number} (commit {commit}, {date})"),
        (Some(commit), None) => format!("{number} (commit {commit})"),
        (None, _) => format!("{number} (commit unknown)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_names_the_commit_and_its_date_as_far_as_they_are_known() {
        let commit = Some("257de7e6f0c1");
        assert_eq!(
            describe("0.1.0", commit, Some("2026-11-28")),
            "0.1.0 (commit 257de7e6f0c1, 2026-11-28)"
        );
        assert_eq!(
            describe("0.1.0", commit, Some("")),
            "0.1.0 (commit 257de7e6f0c1)"
        );
        for unknown in [None, Some("")] {
            assert_eq!(
                describe("0.1.0", unknown, Some("2026-11-28")),
                "0.1.0 (commit unknown)"
            );
        }
    }
}
