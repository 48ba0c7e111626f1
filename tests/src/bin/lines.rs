//! Count of the product's lines of Rust: without blank lines, comments and tests.

#![expect(clippy::print_stdout, reason = "output of a command")]

use std::collections::BTreeMap;

use switchyard_tests::tidy::{Source, repository_files};

fn main() -> anyhow::Result<()> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for file in repository_files()? {
        let Some((package, _)) = file.path.split_once("/src/") else {
            continue;
        };
        if file.is_test || !file.has_extension(&["rs"]) {
            continue;
        }
        *counts.entry(package.to_owned()).or_default() += lines(&file);
    }
    for (package, count) in &counts {
        println!("{count:>7}  {package}");
    }
    println!("{:>7}  in all", counts.values().sum::<usize>());
    Ok(())
}

fn lines(file: &Source) -> usize {
    let code = file.code.lines().take(file.tests_begin() - 1);
    code.filter(|line| !line.trim().is_empty()).count()
}
