//! The commit of this tree, for the version of a release build.

use anyhow::Context;

use crate::run::program;

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Short hash. It ends in [`DIRTY`] when files differ from the commit.
    pub commit: String,
    /// Day of the commit in UTC, as in `2026-11-28`.
    pub date: String,
    /// Time of the commit in seconds since 1970.
    pub seconds: u64,
    /// Whether the commit has the tag of this version, as in `v0.1.0`.
    pub is_release: bool,
}

const DIRTY: &str = "-dirty";

impl Revision {
    /// The commit of the tree. `None` outside git, as in an unpacked archive of the sources.
    ///
    /// # Errors
    /// When git answers something else than expected.
    pub fn of_tree() -> anyhow::Result<Option<Self>> {
        let Some(mut commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
            return Ok(None);
        };
        // Also files that git does not know: a build may read them.
        let changes = git(&["status", "--porcelain"]).context("git status fails")?;
        if !changes.is_empty() {
            commit += DIRTY;
        }
        let format = ["--date=format-local:%Y-%m-%d", "--format=%cd %ct"];
        let times = git(&[&["log", "-1"][..], &format].concat()).context("git log fails")?;
        let (date, seconds) = times.split_once(' ').context("git log shows no time")?;
        let tags = git(&["tag", "--points-at", "HEAD"]).unwrap_or_default();
        let tag = concat!("v", env!("CARGO_PKG_VERSION"));
        Ok(Some(Self {
            commit,
            date: date.to_owned(),
            seconds: seconds.parse()?,
            is_release: tags.lines().any(|line| line == tag),
        }))
    }

    /// Whether files differ from the commit.
    pub fn is_dirty(&self) -> bool {
        self.commit.ends_with(DIRTY)
    }

    /// Version of the packages. One of a commit that is not released sorts before its release and
    /// after older commits.
    pub fn package_version(&self) -> String {
        let number = env!("CARGO_PKG_VERSION");
        if self.is_release && !self.is_dirty() {
            return number.to_owned();
        }
        let commit = self.commit.replace('-', ".");
        format!("{number}~{}.{commit}", self.seconds)
    }

    /// Environment of the compiler, which the program takes its version from.
    pub fn variables(&self) -> [(&'static str, &str); 2] {
        [
            ("SWITCHYARD_COMMIT", &self.commit),
            ("SWITCHYARD_COMMIT_DATE", &self.date),
        ]
    }
}

/// Output of git without the last line end. `None` when it fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = program("git").args(arguments).env("TZ", "UTC0").output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_a_commit_sorts_after_older_commits_and_before_the_release() {
        let mut of = Revision {
            commit: "257de7e6f0c1".to_owned(),
            date: "2026-11-28".to_owned(),
            seconds: 1_795_900_000,
            is_release: false,
        };
        let number = env!("CARGO_PKG_VERSION");
        assert_eq!(
            of.package_version(),
            format!("{number}~1795900000.257de7e6f0c1")
        );
        of.is_release = true;
        assert_eq!(of.package_version(), number);
        of.commit += DIRTY;
        assert!(of.is_dirty());
        assert_eq!(
            of.package_version(),
            format!("{number}~1795900000.257de7e6f0c1.dirty")
        );
    }
}
