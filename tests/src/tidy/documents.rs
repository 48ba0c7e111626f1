//! Documents: one title each, and nothing named that is not there.

use super::rules::finding;
use super::{Finding, Source};

pub(super) fn markdown_title(source: &Source) -> Vec<Finding> {
    // In the table of contents of a book each part has a title.
    if !source.has_extension(&["md"]) || source.path.ends_with("SUMMARY.md") {
        return Vec::new();
    }
    let mut in_fence = false;
    let mut titles = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        in_fence ^= line.trim_start().starts_with("```");
        if !in_fence && line.starts_with("# ") {
            titles.push(at + 1);
        }
    }
    match titles.as_slice() {
        [1] => Vec::new(),
        [] | [_] => vec![finding(
            source,
            1,
            "a Markdown file begins with its `# Title`".to_owned(),
        )],
        [.., last] => vec![finding(
            source,
            *last,
            "a second `# Title`: use `##`".to_owned(),
        )],
    }
}

/// The paths that a document names in back ticks (`engine/system/src/clock.rs`, `docs/errors/`) and that
/// are not there.
pub fn named_paths_missing(document: &Source, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, line) in document.text.lines().enumerate() {
        for name in line.split('`').skip(1).step_by(2) {
            let is_path = name.contains('/')
                && !name.starts_with(['/', '.', '-'])
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
            if is_path && !exists(name) {
                found.push(finding(document, at + 1, format!("`{name}` is not there")));
            }
        }
    }
    found
}

/// The links of a Markdown file that lead to no file, from the folder that the file is in.
pub fn dead_links(document: &Source, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let folder = document
        .path
        .rsplit_once('/')
        .map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut found = Vec::new();
    for (at, line) in document.text.lines().enumerate() {
        for rest in line.split("](").skip(1) {
            let link = rest.split([')', '#', ' ']).next().unwrap_or_default();
            let is_elsewhere =
                link.is_empty() || link.contains("://") || link.starts_with("mailto:");
            if !is_elsewhere && !exists(&format!("{folder}{link}")) {
                found.push(finding(
                    document,
                    at + 1,
                    format!("the link to `{link}` leads nowhere"),
                ));
            }
        }
    }
    found
}
