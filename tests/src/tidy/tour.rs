//! Names in `docs/internals/tour.md`: each step names a definition that exists.

use super::rules::finding;
use super::{Finding, Source};

/// Maximum number of steps of the tour.
const STEPS: usize = 40;

/// Keywords before the name of a definition.
const KEYWORDS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];

/// Problems of the tour: steps that are not numbered from 1, more steps than allowed, and steps
/// whose file does not exist or does not define the name. `read` returns a file of the repository.
pub fn tour_problems(page: &Source, read: impl Fn(&str) -> Option<Source>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut count = 0;
    for (at, line) in page.text.lines().enumerate() {
        let Some((number, step)) = numbered(line) else {
            continue;
        };
        count += 1;
        if number != count {
            let says = format!("step {number} stands where step {count} belongs");
            found.push(finding(page, at + 1, says));
        }
        if let Some(problem) = problem_of(step, &read) {
            found.push(finding(page, at + 1, problem));
        }
    }
    if !(1..=STEPS).contains(&count) {
        let says = format!("{count} steps, 1 to {STEPS} are allowed");
        found.push(finding(page, 1, says));
    }
    found
}

/// Number and text of a list item (`12. text`).
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, step) = line.split_once(". ")?;
    Some((number.parse().ok()?, step))
}

fn problem_of(step: &str, read: impl Fn(&str) -> Option<Source>) -> Option<String> {
    let Some((name, path)) = named(step) else {
        return Some("a step begins with: `name` in `path`:".to_owned());
    };
    match read(path) {
        None => Some(format!("`{path}` does not exist")),
        Some(file) if !defines(&file, name) => Some(format!("`{path}` does not define `{name}`")),
        Some(_) => None,
    }
}

/// Name and path of a step.
fn named(step: &str) -> Option<(&str, &str)> {
    let (name, rest) = step.strip_prefix('`')?.split_once("` in `")?;
    let (path, _) = rest.split_once("`:")?;
    Some((name, path))
}

/// Whether the file defines `name` outside of its tests: a function or a type of the module, or a
/// method (`Type::method`) in an `impl` of its type. Relies on the indentation of rustfmt.
fn defines(file: &Source, name: &str) -> bool {
    let mut lines = file.code.lines().take(file.tests_begin() - 1);
    let Some((owner, method)) = name.split_once("::") else {
        return lines.any(|line| !line.starts_with(' ') && is_definition(line, name));
    };
    let mut is_of_owner = false;
    lines.any(|line| {
        if line.starts_with("impl") {
            let target = line.rsplit(" for ").next().unwrap_or_default();
            is_of_owner = words(target).any(|word| word == owner);
        } else if line.starts_with('}') {
            is_of_owner = false;
        }
        let is_member = line.starts_with("    ") && !line.starts_with("     ");
        is_of_owner && is_member && is_definition(line, method)
    })
}

/// Whether the line is the head of a definition of `name`.
fn is_definition(line: &str, name: &str) -> bool {
    let words: Vec<&str> = words(line).collect();
    let is_pair = |pair: &[&str]| KEYWORDS.contains(&pair[0]) && pair[1] == name;
    words.windows(2).any(is_pair)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "\
pub struct Sender;
struct Plain<T>(T);

impl Sender {
    pub async fn send(&self) {
        fn inner() {}
    }
}

impl<T> Plain<T> {
    fn hidden(&self) {}
}

impl Clone for Plain<u8> {
    fn clone(&self) -> Self {
    }
}

pub(crate) const fn settle() {}

#[cfg(test)]
mod tests {
    fn tested() {}
}
";

    fn problems(text: &str) -> Vec<String> {
        let page = Source::new("docs/tour.md", text);
        let read = |path: &str| (path == "a.rs").then(|| Source::new("a.rs", CODE));
        let found = tour_problems(&page, read);
        found.into_iter().map(|finding| finding.says).collect()
    }

    fn of_name(name: &str) -> Vec<String> {
        problems(&format!("# Tour\n\n1. `{name}` in `a.rs`: Sends.\n"))
    }

    #[test]
    fn a_name_that_the_file_defines_is_found() {
        let names = [
            "Sender",
            "Sender::send",
            "Plain",
            "Plain::hidden",
            "Plain::clone",
            "settle",
        ];
        for name in names {
            assert_eq!(of_name(name), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn a_name_that_the_file_does_not_define_is_a_problem() {
        let names = [
            "Sende",
            "send",
            "Sender::hidden",
            "Sender::inner",
            "Sender::settle",
            "tested",
        ];
        for name in names {
            let says = format!("`a.rs` does not define `{name}`");
            assert_eq!(of_name(name), [says], "{name}");
        }
    }

    #[test]
    fn a_missing_file_and_a_step_of_another_form_are_problems() {
        assert_eq!(problems("1. `a` in `b.rs`: C."), ["`b.rs` does not exist"]);
        let form = ["a step begins with: `name` in `path`:"];
        assert_eq!(problems("1. It sends."), form);
        assert_eq!(problems("1. `settle` in `a.rs`, twice"), form);
    }

    #[test]
    fn steps_are_numbered_from_one_and_are_at_most_forty() {
        let steps = |numbers: &mut dyn Iterator<Item = usize>| {
            let steps = numbers.map(|number| format!("{number}. `settle` in `a.rs`: Settles.\n"));
            problems(&steps.collect::<String>())
        };
        assert!(steps(&mut (1..=40)).is_empty());
        assert_eq!(steps(&mut (1..=41)), ["41 steps, 1 to 40 are allowed"]);
        assert_eq!(problems("no step"), ["0 steps, 1 to 40 are allowed"]);
        let skipped = steps(&mut [1, 3].into_iter());
        assert_eq!(skipped, ["step 3 stands where step 2 belongs"]);
    }
}
