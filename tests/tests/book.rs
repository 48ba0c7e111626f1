//! The book in `docs/`: its chapters, its links, and the pages that are generated from the code.

use std::collections::{BTreeMap, BTreeSet};

use switchyard_tests::book::{
    chapters, generated, links_that_lead_nowhere, version_in, version_rows,
};
use switchyard_tests::tidy::{repository_files, root};

#[test]
fn the_reference_is_what_the_code_says() {
    let mut stale = Vec::new();
    for page in generated() {
        let path = root().join(page.path);
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&path, &page.text).expect("the page can be written");
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != page.text {
            stale.push(page.path);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} differ from the code. Write them again:\n  \
         UPDATE_SNAPSHOTS=1 cargo nextest run -p switchyard-tests --test book"
    );
}

/// Every Markdown file by its path.
fn pages() -> BTreeMap<String, String> {
    let files = repository_files().expect("git lists the files");
    let pages = files.into_iter().filter(|file| file.has_extension(&["md"]));
    pages.map(|file| (file.path, file.text)).collect()
}

#[test]
fn every_page_of_the_documentation_is_one_chapter() {
    let pages = pages();
    let summary = &pages["docs/SUMMARY.md"];
    let chapters = chapters(summary);
    let listed: BTreeSet<String> = chapters
        .iter()
        .map(|chapter| format!("docs/{}", chapter.path))
        .collect();
    assert_eq!(listed.len(), chapters.len(), "a page is listed twice");
    let is_page = |path: &&String| path.starts_with("docs/") && *path != "docs/SUMMARY.md";
    let pages: BTreeSet<String> = pages.keys().filter(is_page).cloned().collect();
    let missing: Vec<_> = pages.difference(&listed).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
    let gone: Vec<_> = listed.difference(&pages).collect();
    assert!(gone.is_empty(), "docs/SUMMARY.md names {gone:?}");
}

#[test]
fn every_link_leads_to_a_heading_and_none_out_of_the_book() {
    let found = links_that_lead_nowhere(&pages());
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_page_of_versions_has_the_numbers_of_the_code() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let rows = version_rows(&read("docs/versions.md"));
    let surfaces: Vec<&str> = rows.iter().map(|row| row.surface.as_str()).collect();
    for surface in ["merchant API", "gateway ABI", "store", "backup"] {
        assert!(surfaces.contains(&surface), "no row of the {surface}");
    }
    for row in &rows {
        let found = version_in(&read(&row.file), row.name.as_deref());
        assert_eq!(
            found.as_ref(),
            Some(&row.now),
            "{}: {}",
            row.surface,
            row.file
        );
    }
}

#[test]
fn the_pages_of_measurements_show_charts_that_every_reader_can_read() {
    let pages = pages();
    for path in ["docs/benchmarks.md", "docs/proofs.md"] {
        let charts = images(&pages[path], ".svg");
        assert!(!charts.is_empty(), "{path} has no chart");
        for (words, file) in charts {
            let svg = std::fs::read_to_string(root().join("docs").join(&file));
            let svg = svg.unwrap_or_else(|error| panic!("{path}: {file}: {error}"));
            let chart = roxmltree::Document::parse(&svg);
            let chart = chart.unwrap_or_else(|error| panic!("{file}: {error}"));
            let image = chart.root_element();
            assert_eq!(image.tag_name().name(), "svg", "{file}");
            assert_eq!(image.attribute("role"), Some("img"), "{file}");
            let text = |name: &str| {
                let mut parts = image
                    .children()
                    .filter(|part| part.tag_name().name() == name);
                let part = parts.next().and_then(|part| part.text());
                part.unwrap_or_default().to_owned()
            };
            assert_ne!(text("title"), "", "{file}");
            assert_eq!(words, text("desc"), "{file}: the page says the same");
            let style = text("style");
            for rule in ["prefers-color-scheme:dark", "background:"] {
                assert!(style.contains(rule), "{file}: {rule}");
            }
        }
    }
}

/// Images of a page: their text and path, of those with this ending.
fn images(page: &str, ending: &str) -> Vec<(String, String)> {
    let starts = page.lines().filter_map(|line| line.strip_prefix("!["));
    let parts = starts.filter_map(|line| line.strip_suffix(')')?.split_once("]("));
    let parts = parts.filter(|(_, file)| file.ends_with(ending));
    parts
        .map(|(words, file)| (words.to_owned(), file.to_owned()))
        .collect()
}

#[test]
fn every_page_that_the_code_cites_is_there() {
    let files = repository_files().expect("git lists the files");
    let mut cited = 0;
    let mut missing = Vec::new();
    for file in files.iter().filter(|file| !file.is_foreign()) {
        // Links of documents are a matter of the test above.
        if file.has_extension(&["md"]) {
            continue;
        }
        for rest in file.comments.split("docs/").skip(1) {
            let is_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
            let path = rest.split(|c| !is_path(c)).next().unwrap_or_default();
            let Some(page) = path.strip_suffix(".md").or(path.strip_suffix(".md.")) else {
                continue;
            };
            cited += 1;
            if !root().join("docs").join(format!("{page}.md")).exists() {
                missing.push(format!("{}: docs/{page}.md", file.path));
            }
        }
    }
    assert!(cited > 50, "citations are found");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
