//! The repository keeps the rules of the house. What each rule is, and a proof that it can fail: `tests/src/tidy/`.

use switchyard_tests::tidy::{RULES, Source, repository_files};

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
