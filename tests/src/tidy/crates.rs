//! Metadata of the crates: each says what it is, and inherits what is the same in all.

use serde_json::{Map, Value};

use super::rules::finding;
use super::{Finding, Source};

/// Characters of a description: a registry shows one line.
const DESCRIPTION_CHARACTERS: std::ops::RangeInclusive<usize> = 20..=100;

/// Metadata of a published crate beyond its description.
const OF_A_PUBLISHED: [&str; 4] = ["readme", "documentation", "keywords", "categories"];

/// Missing entries of the manifests. `workspace`: the manifest at the top of the repository.
///
/// A crate may have a lower Rust version than the workspace, and one that is published does not
/// inherit `publish`.
pub fn crate_metadata(workspace: &Source, manifests: &[&Source]) -> Vec<Finding> {
    let read = |source: &Source| toml::from_str::<Map<String, Value>>(&source.text);
    let common = match read(workspace) {
        Ok(top) => top["workspace"]["package"].clone(),
        Err(error) => return vec![finding(workspace, 1, error.to_string())],
    };
    let common: Vec<&str> = common.as_object().map_or_else(Vec::new, |keys| {
        keys.iter().map(|(key, _)| key.as_str()).collect()
    });
    let mut found = Vec::new();
    for source in manifests {
        match read(source) {
            Ok(manifest) => found.extend(
                faults(&manifest, &common)
                    .into_iter()
                    .map(|says| finding(source, 1, says)),
            ),
            Err(error) => found.push(finding(source, 1, error.to_string())),
        }
    }
    found
}

fn faults(manifest: &Map<String, Value>, common: &[&str]) -> Vec<String> {
    let Some(package) = manifest.get("package").and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut faults = description_faults(package.get("description"));
    let is_published = !package.contains_key("publish");
    let is_apart = manifest.contains_key("workspace");
    for key in common {
        let value = package.get(*key);
        let is_inherited = value.is_some_and(|value| value["workspace"] == true);
        let is_own = match *key {
            "publish" => is_published || is_apart,
            "rust-version" => is_apart || value.is_some_and(Value::is_string),
            _ => is_apart && value.is_some(),
        };
        if !is_inherited && !is_own {
            faults.push(format!("`{key}.workspace = true` is missing"));
        }
    }
    let lacks = |key: &&&str| is_published && !package.contains_key(**key);
    let missing = OF_A_PUBLISHED.iter().filter(lacks);
    faults.extend(missing.map(|key| format!("`{key}` is missing: the crate is published")));
    faults
}

fn description_faults(description: Option<&Value>) -> Vec<String> {
    let text = description.and_then(Value::as_str).unwrap_or_default();
    let is_good = DESCRIPTION_CHARACTERS.contains(&text.chars().count())
        && text.starts_with(char::is_uppercase)
        && !text.ends_with('.');
    let says = || {
        format!(
            "`description` is a line of {} to {} characters, with a capital letter and no full stop",
            DESCRIPTION_CHARACTERS.start(),
            DESCRIPTION_CHARACTERS.end()
        )
    };
    (!is_good).then(says).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: &str =
        "[workspace.package]\nversion = \"1.0.0\"\nrust-version = \"1.95\"\npublish = false\n";
    const WHOLE: &str = "[package]\nname = \"a\"\ndescription = \"A crate of the tests\"\n\
        version.workspace = true\nrust-version.workspace = true\npublish.workspace = true\n";

    fn says(manifest: &str) -> Vec<String> {
        let top = Source::new("Cargo.toml", TOP);
        let manifest = Source::new("a/Cargo.toml", manifest);
        let found = crate_metadata(&top, &[&top, &manifest]);
        found.into_iter().map(|finding| finding.says).collect()
    }

    #[test]
    fn a_crate_describes_itself_and_inherits_the_rest() {
        assert_eq!(says(WHOLE), Vec::<String>::new());
        // Without `publish` it is a published one.
        for line in WHOLE.lines().skip(3).take(2) {
            let key = line.split('.').next().unwrap();
            let without: Vec<&str> = WHOLE.lines().filter(|other| *other != line).collect();
            let missing = format!("`{key}.workspace = true` is missing");
            assert!(says(&without.join("\n")).contains(&missing), "{key}");
        }
        let own = WHOLE.replace(
            "version.workspace = true\nrust",
            "version = \"2.0.0\"\nrust",
        );
        assert_eq!(says(&own), ["`version.workspace = true` is missing"]);
    }

    #[test]
    fn a_description_is_one_line_without_a_full_stop() {
        for bad in [
            "",
            "A crate",
            "a crate of the tests",
            "A crate of the tests.",
        ] {
            let other = WHOLE.replace("A crate of the tests", bad);
            assert_eq!(says(&other).len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_published_crate_has_more_and_may_have_a_lower_rust_version() {
        let published = WHOLE
            .replace("publish.workspace = true\n", "")
            .replace("rust-version.workspace = true", "rust-version = \"1.85\"");
        assert_eq!(says(&published).len(), OF_A_PUBLISHED.len());
        let more = "readme = \"README.md\"\ndocumentation = \"\"\nkeywords = []\ncategories = []\n";
        assert_eq!(says(&(published + more)), Vec::<String>::new());
    }

    #[test]
    fn a_crate_of_another_workspace_states_what_it_cannot_inherit() {
        let apart = "[package]\nname = \"a\"\ndescription = \"A crate of the tests\"\n\
            version = \"0.0.0\"\npublish = false\n\n[workspace]\n";
        assert_eq!(says(apart), Vec::<String>::new());
        let without = apart.replace("version = \"0.0.0\"\n", "");
        assert_eq!(says(&without), ["`version.workspace = true` is missing"]);
    }
}
