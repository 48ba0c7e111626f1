//! The documentation has an example of what an author of a gateway calls or writes.
//!
//! The rule: each public function, macro and trait occurs in the code of an example. Structures and
//! enums may have none, since most of them hold data only. `runtime` is left out: it is for
//! `gateway!` alone.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::fs;
use std::path::Path;

/// A source file: its public names, and the code of its examples.
struct Source {
    path: String,
    names: Vec<String>,
    examples: String,
}

fn sources(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if !path.ends_with("runtime.rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source {
                path: path.display().to_string(),
                names: text.lines().filter_map(public_name).collect(),
                examples: examples(&text),
            });
        }
    }
}

/// The name that a line declares for authors.
fn public_name(line: &str) -> Option<String> {
    let line = line.trim();
    let declared = match line.strip_prefix("macro_rules! ") {
        Some(name) => name,
        None => {
            let words = line.strip_prefix("pub ")?;
            let words = words
                .trim_start_matches("const ")
                .trim_start_matches("async ");
            let kinds = ["fn ", "trait "];
            kinds.iter().find_map(|kind| words.strip_prefix(kind))?
        }
    };
    let end = declared.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(declared[..end.unwrap_or(declared.len())].to_owned())
}

/// The code between the fences of doc comments.
fn examples(text: &str) -> String {
    let mut is_inside = false;
    let mut code = String::new();
    for line in text.lines() {
        let line = line.trim_start();
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        match comment.map(str::trim) {
            Some(fence) if fence.starts_with("```") => is_inside = !is_inside,
            Some(example) if is_inside => {
                code += example;
                code.push('\n');
            }
            _ => {}
        }
    }
    code
}

/// Whether the code has the name as a word of its own.
fn has_word(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == name)
}

#[test]
#[cfg_attr(miri, ignore = "it reads texts, which takes minutes there")]
fn what_authors_use_is_in_an_example() {
    let mut found = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    let all: String = found
        .iter()
        .map(|source| source.examples.as_str())
        .collect();
    let missing: Vec<String> = found
        .iter()
        .flat_map(|source| source.names.iter().map(move |name| (source, name)))
        .filter(|(_, name)| !has_word(&all, name))
        .map(|(source, name)| format!("{}: {name}", source.path))
        .collect();
    assert!(missing.is_empty(), "no example has\n{}", missing.join("\n"));
    let names = found.iter().map(|source| source.names.len());
    assert!(names.sum::<usize>() > 80, "the names are read");
}

#[test]
fn names_and_examples_are_read_from_a_source() {
    let text = "/// Sends.\n///\n/// ```\n/// cx.send(1);\n/// ```\npub async fn send() {}\nfn hidden() {}\n\
                pub(crate) fn inner() {}\nmacro_rules! gateway {\npub trait Entry: 'static {";
    let names: Vec<String> = text.lines().filter_map(public_name).collect();
    assert_eq!(names, ["send", "gateway", "Entry"]);
    assert_eq!(examples(text), "cx.send(1);\n");
    assert!(has_word("cx.send(1)", "send") && !has_word("cx.sender(1)", "send"));
}
