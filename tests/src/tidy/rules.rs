//! The rules. Each has a test below that shows it can fail.

use super::arrows::{crate_arrows, impure_core};
use super::documents::markdown_title;
use super::modules::module_dependencies;
use super::script::script_function_length;
use super::{Finding, Source};

type Rule = fn(&Source) -> Vec<Finding>;

/// Every rule that looks at one file.
pub const RULES: &[(&str, Rule)] = &[
    ("file at most 600 lines", file_length),
    ("line at most 140 characters", line_length),
    (
        "function of a script at most 70 lines",
        script_function_length,
    ),
    ("secrets are not compared with ==", secrets_compared),
    ("banned words and calls", banned),
    ("operators' JSON has types", string_subscripts),
    ("no floating point near money", floats_near_money),
    ("one title a Markdown file", markdown_title),
    ("crates depend downward", crate_arrows),
    ("the core is pure", impure_core),
    ("modules use declared modules only", module_dependencies),
];

const FILE_LINES: usize = 600;
const LINE_CHARS: usize = 140;

const CODE: &[&str] = &["rs", "c", "h", "mjs", "js", "css", "html", "py", "sh"];

pub(super) fn finding(source: &Source, line: usize, says: String) -> Finding {
    Finding {
        path: source.path.clone(),
        line,
        says,
    }
}

fn file_length(source: &Source) -> Vec<Finding> {
    let lines = source.text.lines().count();
    if !source.has_extension(CODE) || lines <= FILE_LINES {
        return Vec::new();
    }
    vec![finding(
        source,
        lines,
        format!("{lines} lines, {FILE_LINES} are allowed: split it by noun"),
    )]
}

/// Markdown is left out: a table's row cannot be broken. So are data, settings and message files.
fn line_length(source: &Source) -> Vec<Finding> {
    if !source.has_extension(CODE) {
        return Vec::new();
    }
    let long = |(at, line): (usize, &str)| {
        let chars = line.chars().count();
        (chars > LINE_CHARS).then(|| {
            finding(
                source,
                at + 1,
                format!("{chars} characters, {LINE_CHARS} are allowed: break it"),
            )
        })
    };
    source.text.lines().enumerate().filter_map(long).collect()
}

/// Files in which a banned text is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// Rust, comments, strings and tests aside.
    CodeOutsideTests,
    /// The comments of Rust files; other files as a whole.
    Comments,
}

/// A text that may not occur, what to write instead, and the places that may have it.
pub struct Ban {
    pub text: &'static str,
    pub instead: &'static str,
    pub within: Within,
    pub only_under: &'static str,
    pub except: &'static [&'static str],
}

const fn ban(text: &'static str, within: Within, instead: &'static str) -> Ban {
    Ban {
        text,
        instead,
        within,
        only_under: "",
        except: &[],
    }
}

/// A text that makes or splits the key of a row by hand.
const fn key_bytes(text: &'static str) -> Ban {
    Ban {
        only_under: "engine/",
        except: KEY_BYTES,
        ..ban(text, Within::CodeOutsideTests, KEYS)
    }
}

const DO_IT: &str = "do it now, or open an issue and say what is missing in the docs";
const CITE: &str = "name the page of docs/contract, or the standard";
const CONTRACT: &str = "use a struct of api/src/operator/contract: the other side uses it, too";
/// The configuration of a gateway, which its JSON schema describes, and the reading of any body.
const FREE_FORM: &[&str] = &[
    "api/src/operator/audit.rs",
    "api/src/operator/connections.rs",
    "api/src/operator/contract/connections.rs",
    "api/src/operator/contract/gateways.rs",
    "api/src/operator/credentials.rs",
    "api/src/operator/form.rs",
    "api/src/operator/schema_checks.rs",
];
const KEYS: &str = "make and read keys of rows with Key and KeyReader of engine/store/src/key.rs";
/// The store, the rows with keys of fixed length, and hashes of ids.
const KEY_BYTES: &[&str] = &[
    "engine/records/src/",
    "engine/store/src/",
    "engine/src/webhook/outbox.rs",
    "engine/src/webhook/payload.rs",
];
pub const BANS: &[Ban] = &[
    ban("FIXME", Within::Comments, DO_IT),
    ban("TODO", Within::Comments, DO_IT),
    ban("XXX", Within::Comments, DO_IT),
    ban("specification", Within::Comments, CITE),
    Ban {
        only_under: "api/src/operator/",
        ..ban("json!", Within::CodeOutsideTests, CONTRACT)
    },
    Ban {
        only_under: "api/src/operator/",
        except: FREE_FORM,
        ..ban("Value", Within::CodeOutsideTests, CONTRACT)
    },
    Ban {
        only_under: "api/src/cli/",
        ..ban("pointer(", Within::CodeOutsideTests, CONTRACT)
    },
    key_bytes(".ulid().to_bytes"),
    key_bytes("Ulid::from_bytes"),
    key_bytes(".as_micros().to_be_bytes"),
    key_bytes("[0]].concat"),
];

fn banned(source: &Source) -> Vec<Finding> {
    let is_rust = source.has_extension(&["rs"]);
    let tests_begin = source.tests_begin();
    let mut found = Vec::new();
    for ban in BANS {
        let (text, last) = match ban.within {
            Within::CodeOutsideTests => (&source.code, tests_begin - 1),
            Within::Comments => (&source.comments, usize::MAX),
        };
        let applies = source.path.starts_with(ban.only_under)
            && (is_rust || (ban.within == Within::Comments && source.has_extension(CODE)))
            && !ban.except.iter().any(|home| source.path.starts_with(home));
        if !applies {
            continue;
        }
        for (at, _) in text
            .lines()
            .enumerate()
            .take(last)
            .filter(|(_, line)| has_word(line, ban.text))
        {
            found.push(finding(
                source,
                at + 1,
                format!("`{}` is banned: {}", ban.text, ban.instead),
            ));
        }
    }
    found
}

/// Whether the line has the text, not as the tail of a longer name.
pub(super) fn has_word(line: &str, text: &str) -> bool {
    let free = |before: &str| {
        before
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric() && c != '_')
    };
    line.match_indices(text)
        .any(|(at, _)| !text.starts_with(char::is_alphanumeric) || free(&line[..at]))
}

/// Operators' JSON is read through the structs of the contract. A field that is read by its name in
/// a text compiles although the other side has renamed it.
fn string_subscripts(source: &Source) -> Vec<Finding> {
    let sides = ["api/src/cli/", "api/src/operator/"];
    if !sides.iter().any(|side| source.path.starts_with(side)) || !source.has_extension(&["rs"]) {
        return Vec::new();
    }
    let is_subscript = |line: &str| {
        let mut places = line.match_indices("[\"");
        places.any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ']' | ')' | '?'))
        })
    };
    let lines = source.code.lines().enumerate();
    lines
        .take(source.tests_begin() - 1)
        .filter(|(_, line)| is_subscript(line))
        .map(|(at, _)| finding(source, at + 1, format!("a string subscript: {CONTRACT}")))
        .collect()
}

fn floats_near_money(source: &Source) -> Vec<Finding> {
    let rooms = ["engine/core/src/money", "engine/core/src/transaction"];
    if !rooms.iter().any(|room| source.path.starts_with(room)) || !source.has_extension(&["rs"]) {
        return Vec::new();
    }
    let has_float = |line: &str| has_word(line, "f64") || has_word(line, "f32");
    let lines = source
        .code
        .lines()
        .enumerate()
        .filter(|(_, line)| has_float(line));
    lines
        .map(|(at, _)| {
            finding(
                source,
                at + 1,
                "a float near money: use `Amount`, for rates `Decimal`".to_owned(),
            )
        })
        .collect()
}

/// `==` on texts ends at the first byte that differs, and its time tells which that was. `Secret`
/// has no `==` for that reason; taking the value out to compare it takes the protection away. A
/// lookup by hash is safe: an attacker cannot choose a hash byte by byte.
fn secrets_compared(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["rs"]) {
        return Vec::new();
    }
    let is_exempt = |line: &str| {
        let mut of_here = COMPARED_IN_THE_OPEN
            .iter()
            .filter(|(path, ..)| *path == source.path);
        of_here.any(|(_, code, _)| line.contains(code))
    };
    let is_compared = |line: &str| {
        let compares = line.contains(" == ") || line.contains(" != ");
        let forged = SIGNS.iter().any(|sign| compares_secret(line, sign));
        (compares && line.contains(".expose()") || forged) && !is_exempt(line)
    };
    let lines = source
        .code
        .lines()
        .enumerate()
        .take(source.tests_begin() - 1)
        .filter(|(_, line)| is_compared(line));
    lines
        .map(|(at, _)| {
            let says = "a secret compared with `==`, whose time tells how much of it was right: look it up by its fingerprint, verify \
                        with `Mac::verify_slice`, or use `subtle::ConstantTimeEq`";
            finding(source, at + 1, says.to_owned())
        })
        .collect()
}

const SIGNS: [&str; 2] = [" == ", " != "];
/// Names of values that an attacker may try to guess.
const GUESSED: [&str; 6] = ["signature", "digest", "mac", "token", "secret", "password"];

/// Comparisons whose time an attacker cannot measure or use: file, code and reason.
const COMPARED_IN_THE_OPEN: &[(&str, &str, &str)] = &[(
    "engine/gateway/src/redact.rs",
    "|secret| secret == text",
    "a gateway's text is masked on its way to the log; whoever wrote it has the secret, and gets no answer",
)];

/// Whether what is left or right of the sign has such a name: `given.token`, `*token`,
/// `reset_token`.
fn compares_secret(line: &str, sign: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    line.match_indices(sign).any(|(at, _)| {
        let (left, right) = (&line[..at], &line[at + sign.len()..]);
        let left = left.rsplit(|c| !is_part(c)).next();
        let right = right.trim_start_matches(['*', '&', '(']);
        let right = right.split(|c| !is_part(c)).next();
        let mut names = [left, right].into_iter().flatten();
        names.any(|name| GUESSED.iter().any(|word| name.ends_with(word)))
    })
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
