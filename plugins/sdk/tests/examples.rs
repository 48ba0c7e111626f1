//! Each public item of the SDK has an example in its own documentation: each module, struct, enum,
//! trait, function, macro, constant, type and renamed re-export. Fields and variants are in the
//! example of their type. `cargo test --doc` compiles the examples.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::fs;
use std::path::Path;

/// A public item, as its source declares it.
#[derive(Debug, PartialEq)]
struct Item {
    name: String,
    is_module: bool,
    has_example: bool,
}

/// Items of all source files, each with the path of its file. A module's example is in its file.
fn items_below(folder: &Path) -> Vec<(String, Item)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(items_below(&path));
            continue;
        }
        for mut item in items(&fs::read_to_string(&path).unwrap()) {
            if item.is_module {
                let module = fs::read_to_string(folder.join(format!("{}.rs", item.name)));
                item.has_example = has_module_example(&module.unwrap());
            }
            found.push((path.display().to_string(), item));
        }
    }
    found
}

fn has_module_example(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("//! ```"))
}

/// A blank line ends the documentation of an item: attributes are between it and the item.
fn items(text: &str) -> Vec<Item> {
    let mut found = Vec::new();
    let mut has_example = false;
    let mut is_in_trait = false;
    for line in text.lines() {
        if let Some(comment) = line.trim_start().strip_prefix("///") {
            has_example |= comment.trim_start().starts_with("```");
        } else if let Some((name, is_module)) = declared(line, is_in_trait) {
            let has_example = std::mem::take(&mut has_example);
            found.push(Item {
                name,
                is_module,
                has_example,
            });
        } else if line.is_empty() {
            has_example = false;
        }
        is_in_trait = line.starts_with("pub trait ") || (is_in_trait && line != "}");
    }
    found
}

/// Name of the public item that a line declares, and whether it is a module.
fn declared(line: &str, is_in_trait: bool) -> Option<(String, bool)> {
    let code = line.trim_start();
    if code.starts_with("pub use ") {
        let (_, name) = code.strip_suffix(';')?.split_once(" as ")?;
        return Some((name.to_owned(), false));
    }
    if !code.starts_with("pub ") && !code.starts_with("macro_rules! ") && !is_in_trait {
        return None;
    }
    let head = code.split(['(', ':', '<', '{', '=', ';']).next()?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let (name, kinds) = words.split_last()?;
    let is_item = kinds.iter().any(|word| KINDS.contains(word));
    is_item.then(|| ((*name).to_owned(), kinds.contains(&"mod")))
}

const KINDS: [&str; 8] = [
    "const",
    "enum",
    "fn",
    "macro_rules!",
    "mod",
    "struct",
    "trait",
    "type",
];

#[test]
#[cfg_attr(miri, ignore = "it reads texts, which takes minutes there")]
fn each_public_item_has_an_example() {
    let found = items_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let missing: Vec<String> = found
        .iter()
        .filter(|(_, item)| !item.has_example)
        .map(|(path, item)| format!("{path}: {}", item.name))
        .collect();
    assert!(
        missing.is_empty(),
        "{} of {} items have no example:\n{}",
        missing.len(),
        found.len(),
        missing.join("\n")
    );
    assert!(found.len() > 190, "{} items are read", found.len());
}

#[test]
fn items_and_examples_are_read_from_a_source() {
    let text = "/// Sends.
///
/// ```
/// send(1);
/// ```
#[must_use]
pub async fn send() {}
pub(crate) fn inner() {}
fn hidden() {}
pub struct Sink {
    pub put: fn(u8),
}

/// Starts.
pub trait Entry: 'static {
    async fn start();
}
pub mod wire;
pub use a::B as Input;
pub use a::C;
macro_rules! gateway {
pub const MAX: u8 = 1;
pub const fn of<T>() {}";
    let found = items(text);
    let names: Vec<&str> = found.iter().map(|item| item.name.as_str()).collect();
    let expected = "send Sink Entry start wire Input gateway MAX of";
    assert_eq!(names.join(" "), expected);
    assert!(found[0].has_example && !found[1..].iter().any(|item| item.has_example));
    let modules: Vec<&Item> = found.iter().filter(|item| item.is_module).collect();
    assert_eq!(modules, [&found[4]]);
    assert!(has_module_example("//! ```\n//! wire();"));
    assert!(!has_module_example("/// ```\npub fn wire() {}"));
}
