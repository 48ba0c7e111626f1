//! The repository keeps its lint rules. Each rule, with a proof that it can fail:
//! `tests/src/tidy/`.

use serde_json::Value;
use switchyard_tests::tidy::{
    RULES, Source, crate_metadata, dead_links, drift, monitoring, named_paths_missing,
    repository_files, root, tour_problems, unused_dependencies,
};

#[test]
fn every_file_keeps_every_rule() {
    let files = repository_files().expect("git lists the files");
    assert!(files.len() > 20, "the repository has files");
    let ours: Vec<&Source> = files.iter().filter(|file| !file.is_foreign()).collect();
    let mut report = String::new();
    for (name, rule) in RULES {
        let found: Vec<_> = ours.iter().flat_map(|file| rule(file)).collect();
        if !found.is_empty() {
            report += &format!("\n{name}:\n");
            found
                .iter()
                .for_each(|finding| report += &format!("  {finding}\n"));
        }
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn every_declared_dependency_between_modules_is_used() {
    let files = repository_files().expect("git lists the files");
    let unused = unused_dependencies(&files);
    assert!(
        unused.is_empty(),
        "remove from tests/src/tidy/module_tables.rs:\n  {}",
        unused.join("\n  ")
    );
}

#[test]
fn the_architecture_page_is_short_and_names_only_what_exists() {
    let text =
        std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let lines = text.lines().count();
    assert!(lines <= 150, "{lines} lines, 150 are allowed");
    let missing = named_paths_missing(&Source::new("ARCHITECTURE.md", &text), |path| {
        root().join(path).exists()
    });
    assert!(
        missing.is_empty(),
        "{}",
        missing
            .iter()
            .map(|f| format!("\n  {f}"))
            .collect::<String>()
    );
}

#[test]
fn the_tour_names_only_what_exists() {
    let read = |path: &str| {
        let text = std::fs::read_to_string(root().join(path)).ok()?;
        Some(Source::new(path, &text))
    };
    let page = read("docs/internals/tour.md").expect("the tour is there");
    let found = tour_problems(&page, read);
    assert!(
        found.is_empty(),
        "{}",
        found.iter().map(|f| format!("\n  {f}")).collect::<String>()
    );
}

#[test]
fn every_link_of_the_documents_leads_to_a_file() {
    let files = repository_files().expect("git lists the files");
    let documents = files.iter().filter(|file| file.has_extension(&["md"]));
    let dead: Vec<_> = documents
        .flat_map(|file| dead_links(file, |path| root().join(path).exists()))
        .collect();
    assert!(
        dead.is_empty(),
        "{}",
        dead.iter().map(|f| format!("\n  {f}")).collect::<String>()
    );
}

#[test]
fn the_fuzzer_is_locked_to_the_versions_of_the_release() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let apart = "tests/fuzz/libfuzzer/Cargo.lock";
    let files = repository_files().expect("git lists the files");
    let manifests: Vec<&Source> = files
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"))
        .collect();
    let drifted = drift(&read(apart), &read("Cargo.lock"), &manifests);
    assert!(
        drifted.is_empty(),
        "{apart} has{}\nbring it up to date: cargo metadata --manifest-path tests/fuzz/libfuzzer/Cargo.toml, and cargo update --precise",
        drifted
            .iter()
            .map(|one| format!("\n  {one}"))
            .collect::<String>()
    );
}

#[test]
fn every_crate_says_what_it_is_and_inherits_what_is_the_same_in_all() {
    let files = repository_files().expect("git lists the files");
    let is_manifest = |file: &&Source| file.path.split('/').next_back() == Some("Cargo.toml");
    let manifests: Vec<&Source> = files.iter().filter(is_manifest).collect();
    let is_top = |file: &&&Source| file.path == "Cargo.toml";
    let top = manifests.iter().find(is_top).expect("the workspace");
    assert!(manifests.len() > 20, "the crates are found");
    let found = crate_metadata(top, &manifests);
    assert!(
        found.is_empty(),
        "{}",
        found.iter().map(|f| format!("\n  {f}")).collect::<String>()
    );
}

/// promtool parses and tests the rules: `cargo xtask test alerts`.
#[test]
fn alerts_dashboard_and_runbook_name_what_exists_and_nothing_is_missing() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let rules = read("ops/prometheus/alerts.yml");
    let tests = ["alerts", "alerts-of-days"]
        .map(|name| read(&format!("ops/prometheus/{name}.test.yml")))
        .concat();
    let dashboard = read("ops/grafana/switchyard.json");
    let runbook = read("docs/runbook.md");
    let page = read("docs/metrics.md");
    let documented = monitoring::documented_metrics(&page);
    let alerts = monitoring::alerts(&rules);
    assert!(documented.len() > 50 && alerts.len() > 30, "they are read");
    for text in [&rules, &tests, &dashboard, &runbook] {
        let unknown = monitoring::unknown_metrics(text, &documented);
        assert!(unknown.is_empty(), "docs/metrics.md lacks {unknown:?}");
    }
    let parsed: Value = serde_json::from_str(&dashboard).expect("the dashboard is JSON");
    let found = [
        monitoring::incomplete_alerts(&alerts, &runbook, &tests),
        monitoring::incomplete_sections(&runbook, &alerts),
        monitoring::incomplete_panels(&parsed),
    ];
    assert_eq!(found.concat(), Vec::<String>::new());
    assert_eq!(parsed["uid"], "switchyard");
}
