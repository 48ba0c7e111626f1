//! Dependencies between the modules of a crate: each module uses the declared modules only.
//!
//! A module is a file or folder directly below `src`. Tests may use every module.

use std::collections::BTreeSet;

use super::module_tables::{API, CORE, ENGINE, EXCEPTIONS, SYSTEM, USERS, Uses};
use super::rules::finding;
use super::{Finding, Source};

/// Folder of the crate and its table.
static CRATES: [(&str, &[Uses]); 5] = [
    ("engine/core", CORE),
    ("engine/system", SYSTEM),
    ("engine/users", USERS),
    ("engine", ENGINE),
    ("api", API),
];

/// Modules that a file uses although its own module does not declare them.
pub(super) fn module_dependencies(source: &Source) -> Vec<Finding> {
    let Some((name, table, module)) = place_of(source) else {
        return Vec::new();
    };
    let Some((_, allowed)) = table.iter().find(|(other, _)| *other == module) else {
        let says = format!("declare the module `{module}` in tests/src/tidy/module_tables.rs");
        return vec![finding(source, 1, says)];
    };
    let is_allowed = |used: &str| {
        let is_exception = |(of, from, to, _): &(&str, &str, &str, &str)| {
            (*of, *from, *to) == (name, module, used)
        };
        used == module || allowed.contains(&used) || EXCEPTIONS.iter().any(is_exception)
    };
    used_modules(source)
        .into_iter()
        .filter(|(_, used)| !is_allowed(used))
        .map(|(line, used)| {
            let says = format!(
                "`{module}` may not use `{used}`: pass in what it needs, or declare the \
                 dependency in tests/src/tidy/module_tables.rs"
            );
            finding(source, line, says)
        })
        .collect()
}

/// Declared dependencies and exceptions that no file uses any more.
pub fn unused_dependencies(files: &[Source]) -> Vec<String> {
    let mut used = BTreeSet::new();
    for file in files {
        if let Some((name, _, module)) = place_of(file) {
            let pairs = used_modules(file).into_iter();
            used.extend(pairs.map(|(_, other)| (name, module, other)));
        }
    }
    let tables = CRATES.iter().flat_map(|(name, table)| {
        let pairs = table.iter();
        pairs.flat_map(move |(from, all)| all.iter().map(move |to| (*name, *from, *to)))
    });
    let exceptions = EXCEPTIONS
        .iter()
        .map(|(name, from, to, _)| (*name, *from, *to));
    tables
        .chain(exceptions)
        .filter(|declared| !used.contains(declared))
        .map(|(name, from, to)| format!("{name}: `{from}` does not use `{to}` any more"))
        .collect()
}

/// Crate, table and module of a file; `None` for other files and for tests.
fn place_of(source: &Source) -> Option<(&'static str, &'static [Uses], &str)> {
    if source.is_test || !source.has_extension(&["rs"]) {
        return None;
    }
    let (name, path) = source.path.split_once("/src/")?;
    let (name, table) = CRATES.iter().find(|(other, _)| *other == name)?;
    let module = path.split(['/', '.']).next()?;
    let is_root = ["lib", "main"].contains(&module);
    (!is_root).then_some((*name, *table, module))
}

/// Modules after each `crate::` outside of tests, with their lines.
fn used_modules(source: &Source) -> Vec<(usize, &str)> {
    let code = source.code.as_str();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut used = Vec::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| is_word(c) || c == '$') {
            continue;
        }
        let at = at + path.len();
        let rest = &code[at..];
        // A group names several modules: `crate::{a, b::{c, d}}`.
        let (mut depth, mut begins) = (0, true);
        for (place, c) in rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => (depth, begins) = (depth - 1, false),
                ',' if depth == 1 => begins = true,
                c if begins && is_word(c) => {
                    let line = code[..at + place].matches('\n').count() + 1;
                    let name = rest[place..].split(|c: char| !is_word(c)).next();
                    used.extend(name.map(|name| (line, name)));
                    begins = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    let tests_begin = source.tests_begin();
    used.retain(|(line, _)| *line < tests_begin);
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let found = module_dependencies(&Source::new(path, text)).into_iter();
        found.map(|finding| (finding.line, finding.says)).collect()
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        found(path, text)
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    }

    #[test]
    fn an_undeclared_dependency_is_found_on_its_line() {
        let text = "use crate::time::Timestamp;\nuse crate::routing::Route;\n";
        assert_eq!(lines("engine/core/src/transaction/list.rs", text), [2]);
        let says = &found("engine/core/src/transaction/mod.rs", text)[0].1;
        assert!(
            says.starts_with("`transaction` may not use `routing`"),
            "{says}"
        );
        let path = "fn f() { crate::mail::sweep() }\n";
        assert_eq!(lines("engine/src/webhook/mod.rs", path), [1]);
        assert!(lines("engine/src/mail/mod.rs", path).is_empty());
        assert!(lines("plugins/demo/src/lib.rs", path).is_empty());
    }

    #[test]
    fn each_module_of_a_group_counts() {
        let text = "use crate::{\n    access::{Access, App},\n    mail, queue,\n};\n";
        assert_eq!(lines("engine/src/webhook/mod.rs", text), [3]);
        let declared = "use crate::{access, queue};\n";
        assert!(lines("engine/src/webhook/mod.rs", declared).is_empty());
        let twice = "use crate::{mail};\nuse crate::access::{A, mail};\nuse crate::mail::{self};\n";
        assert_eq!(lines("engine/src/webhook/mod.rs", twice), [1, 3]);
    }

    #[test]
    fn tests_comments_and_crate_roots_may_name_every_module() {
        let text = "// use crate::mail\n#[cfg(test)]\nmod tests {\n    use crate::mail;\n}\n";
        assert!(lines("engine/src/webhook/mod.rs", text).is_empty());
        let used = "use crate::mail;\n";
        assert!(lines("engine/src/webhook/tests.rs", used).is_empty());
        assert!(lines("engine/src/lib.rs", used).is_empty());
        assert!(lines("engine/src/webhook/mod.rs", "$crate::mail!()").is_empty());
    }

    #[test]
    fn a_module_without_a_declaration_is_found() {
        let [(1, says)] = &found("engine/src/refunds/mod.rs", "")[..] else {
            panic!("one finding");
        };
        assert!(says.starts_with("declare the module `refunds`"), "{says}");
    }

    #[test]
    fn an_exception_is_allowed_and_found_when_nothing_uses_it() {
        let file = Source::new("api/src/frame.rs", "use crate::checkout::front;\n");
        assert!(module_dependencies(&file).is_empty());
        let is_of = |what: &str| {
            let unused = unused_dependencies(std::slice::from_ref(&file));
            unused.iter().any(|line| line.starts_with(what))
        };
        assert!(!is_of("api: `frame` does not use `checkout`"));
        assert!(is_of("api: `frame` does not use `merchant`"));
        assert!(is_of("engine/core: `routing` does not use `money`"));
    }

    #[test]
    fn without_the_exceptions_there_is_no_cycle() {
        for (name, table) in &CRATES {
            let mut left: Vec<Uses> = table.to_vec();
            let mut below: BTreeSet<&str> = BTreeSet::new();
            while !left.is_empty() {
                let is_next = |(_, all): &Uses| all.iter().all(|used| below.contains(used));
                let (next, rest): (Vec<Uses>, Vec<Uses>) = left.into_iter().partition(is_next);
                let of_cycle: Vec<&str> = rest.iter().map(|(module, _)| *module).collect();
                assert!(!next.is_empty(), "{name}: cycle among {of_cycle:?}");
                below.extend(next.iter().map(|(module, _)| *module));
                left = rest;
            }
        }
    }
}
