//! The table of `docs/versions.md`, and the numbers that it compares with.

use serde_json::Value;

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct VersionRow {
    pub surface: String,
    /// The version that the page states.
    pub now: String,
    /// File of the repository that has it.
    pub file: String,
    /// Name of the constant or key in that file; none for an OpenAPI document.
    pub name: Option<String>,
}

/// The rows whose last two columns are a version and a place, each in back ticks.
pub fn version_rows(page: &str) -> Vec<VersionRow> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
        let [surface, _, now, place, _] = cells.as_slice() else {
            return None;
        };
        let mut place = code(place).into_iter();
        Some(VersionRow {
            surface: (*surface).to_owned(),
            now: code(now).into_iter().next()?,
            file: place.next()?,
            name: place.next(),
        })
    };
    page.lines().filter_map(row).collect()
}

/// The texts in back ticks.
fn code(cell: &str) -> Vec<String> {
    let texts = cell.split('`').skip(1).step_by(2);
    texts.map(str::to_owned).collect()
}

/// The value of a constant or a key in a file; without a name the common beginning of the paths of
/// an OpenAPI document, up to the version, where every versioned path has it.
pub fn version_in(text: &str, name: Option<&str>) -> Option<String> {
    match name {
        Some(name) => text.lines().find_map(|line| value_of(line, name)),
        None => common_version(&serde_json::from_str(text).ok()?),
    }
}

/// `pub const NAME: u32 = 1;` and `name = "1"`.
fn value_of(line: &str, name: &str) -> Option<String> {
    let (left, right) = line.split_once('=')?;
    let left = left.split(':').next()?.trim();
    let is_it = left.split(' ').next_back() == Some(name);
    is_it.then(|| {
        right
            .trim()
            .trim_end_matches(';')
            .trim_matches('"')
            .to_owned()
    })
}

fn common_version(document: &Value) -> Option<String> {
    let paths = document["paths"].as_object()?.keys();
    let versioned = |path: &String| {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let at = parts.iter().position(|part| is_version(part))?;
        Some(format!("/{}", parts[..=at].join("/")))
    };
    // The lists of methods are also served without a version.
    let mut found = paths
        .filter(|path| !path.starts_with("/utils/"))
        .map(versioned);
    let first = found.next()??;
    found
        .all(|one| one.as_ref() == Some(&first))
        .then_some(first)
}

fn is_version(part: &str) -> bool {
    let number = part.strip_prefix('v');
    number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_surface_version_and_place() {
        let page = "| a | b | now | c |\n|---|---|---|---|\n| store | `x` of `y` | `2` | `a.rs`, `N` |\n| s | – | t |";
        let rows = version_rows(page);
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].surface.as_str(), rows[0].now.as_str()),
            ("store", "2")
        );
        assert_eq!(
            (rows[0].file.as_str(), rows[0].name.as_deref()),
            ("a.rs", Some("N"))
        );
    }

    #[test]
    fn a_version_is_read_from_a_constant_a_key_and_paths() {
        let source =
            "const LAYOUTS: u32 = 3;\npub(super) const LAYOUT: u32 = 2;\nversion = \"0.1.0\"\n";
        let found = |name| version_in(source, Some(name));
        assert_eq!(found("LAYOUT"), Some("2".to_owned()));
        assert_eq!(found("version"), Some("0.1.0".to_owned()));
        assert_eq!(found("FORMAT"), None);
        let paths = |paths: &str| version_in(&format!("{{\"paths\": {paths}}}"), None);
        let v1 = Some("/v1".to_owned());
        assert_eq!(paths(r#"{"/v1/a": {}, "/v1/b": {}, "/utils/c": {}}"#), v1);
        assert_eq!(paths(r#"{"/v1/a": {}, "/v2/b": {}}"#), None);
        assert_eq!(paths(r#"{"/v1/a": {}, "/b": {}}"#), None);
    }
}
