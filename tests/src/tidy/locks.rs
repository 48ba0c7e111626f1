//! The fuzz targets are a workspace of their own, with a lock file of their own, which nothing
//! builds from day to day. It has to name the versions that the release has, or the fuzzer tries
//! another program than the one that serves.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;

/// A package of a lock file.
#[derive(Default)]
struct Locked<'a> {
    versions: BTreeSet<&'a str>,
    /// Whether the package is in this repository.
    is_ours: bool,
    needs: BTreeSet<&'a str>,
}

/// Differences of the lock file `apart` from the workspace's and the crates' own manifests, one
/// sentence each. Additional packages of the fuzzer are permitted.
pub fn drift(apart: &str, workspace: &str, manifests: &[&Source]) -> Vec<String> {
    let (apart, workspace) = (packages(apart), packages(workspace));
    let mut found = Vec::new();
    for (name, package) in &apart {
        let Some(released) = workspace.get(name) else {
            continue;
        };
        for version in package.versions.difference(&released.versions) {
            found.push(format!(
                "{name} {version}, which the workspace has not locked"
            ));
        }
        let manifest = manifests.iter().find(|source| is_of(source, name));
        let Some(manifest) = manifest.filter(|_| package.is_ours) else {
            continue;
        };
        for needed in needed(&manifest.text) {
            if !package.needs.contains(needed) {
                found.push(format!("{name} without {needed}, which it depends on"));
            }
        }
    }
    found
}

fn packages(lock: &str) -> BTreeMap<&str, Locked<'_>> {
    let mut packages: BTreeMap<&str, Locked<'_>> = BTreeMap::new();
    for block in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let lines = block.lines();
            let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            values.next().map(|value| value.trim_matches('"'))
        };
        let (Some(name), Some(version)) = (field("name"), field("version")) else {
            continue;
        };
        let package = packages.entry(name).or_default();
        package.versions.insert(version);
        package.is_ours |= field("source").is_none();
        let needs = block.lines().filter_map(|line| line.strip_prefix(" \""));
        package
            .needs
            .extend(needs.filter_map(|line| line.split(['"', ' ']).next()));
    }
    packages
}

fn is_of(manifest: &Source, name: &str) -> bool {
    let named = format!("name = \"{name}\"");
    manifest.text.lines().any(|line| line == named)
}

/// The packages that a crate depends on in every build of it, on any system that is fuzzed.
fn needed(manifest: &str) -> Vec<&str> {
    let mut is_wanted = false;
    let mut needed = Vec::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_wanted = section == "dependencies]";
        } else if is_wanted && line.contains('=') && !line.contains("optional = true") {
            needed.extend(line.split(['=', '.', ' ']).next());
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASED: &str = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry\"\n\n\
        [[package]]\nname = \"ours\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n \"b 2.0.0\",\n]\n\n\
        [[package]]\nname = \"b\"\nversion = \"2.0.0\"\nsource = \"registry\"\n\n\
        [[package]]\nname = \"b\"\nversion = \"1.9.0\"\nsource = \"registry\"\n";
    const MANIFEST: &str = "[package]\nname = \"ours\"\n\n[dependencies]\na = \"1\"\nb.workspace = true\n\
        c = { version = \"1\", optional = true }\n\n[dev-dependencies]\nd = \"1\"\n";

    fn found(apart: &str) -> Vec<String> {
        drift(
            apart,
            RELEASED,
            &[&Source::new("ours/Cargo.toml", MANIFEST)],
        )
    }

    #[test]
    fn a_lock_that_has_the_same_and_what_the_fuzzer_needs_has_not_drifted() {
        let more = "[[package]]\nname = \"fuzzer\"\nversion = \"9.0.0\"\nsource = \"registry\"\n";
        assert_eq!(found(&format!("{RELEASED}\n{more}")), [""; 0]);
    }

    #[test]
    fn another_version_and_a_dependency_that_came_later_are_drift() {
        let older = RELEASED.replace(
            "name = \"a\"\nversion = \"1.0.0\"",
            "name = \"a\"\nversion = \"0.9.0\"",
        );
        assert_eq!(
            found(&older),
            ["a 0.9.0, which the workspace has not locked"]
        );
        let fewer = RELEASED.replace(" \"b 2.0.0\",\n", "");
        assert_eq!(found(&fewer), ["ours without b, which it depends on"]);
    }
}
