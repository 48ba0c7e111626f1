//! The rules. Each has a test below that shows it can fail.

use super::arrows::{crate_arrows, impure_core};
use super::documents::markdown_title;
use super::modules::module_dependencies;
use super::script::script_function_length;
use super::{FUNCTION_LINES, Finding, Source};

type Rule = fn(&Source) -> Vec<Finding>;

/// Every rule that looks at one file.
pub const RULES: &[(&str, Rule)] = &[
    ("file at most 600 lines", file_length),
    ("line at most 140 characters", line_length),
    ("function at most 70 lines", function_length),
    (
        "function of a script at most 70 lines",
        script_function_length,
    ),
    ("secrets are not compared with ==", secrets_compared),
    ("banned words and calls", banned),
    ("no bare unwrap outside tests", bare_unwrap),
    ("operators' JSON has types", string_subscripts),
    ("no floating point near money", floats_near_money),
    ("every unsafe has its proof", unsafe_without_proof),
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

fn function_length(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["rs"]) {
        return Vec::new();
    }
    functions(&source.code)
        .into_iter()
        .filter(|function| function.lines > FUNCTION_LINES)
        .map(|Function { name, line, lines }| {
            let says = format!(
                "`{name}` has {lines} lines, {FUNCTION_LINES} are allowed: give its parts names"
            );
            finding(source, line, says)
        })
        .collect()
}

struct Function {
    name: String,
    line: usize,
    lines: usize,
}

/// The functions with a body, by matching braces. Comments and strings are blanked already.
fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find("fn ").map(|at| from + at) {
        from = at + 3;
        let starts_word = code[..at]
            .chars()
            .next_back()
            .is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let name: String = code[from..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        let Some(body) = body_of(&code[from..]).filter(|_| starts_word && !name.is_empty()) else {
            continue;
        };
        let lines = code[at..from + body].matches('\n').count() + 1;
        found.push(Function {
            name,
            line: code[..at].matches('\n').count() + 1,
            lines,
        });
    }
    found
}

/// End of the body that follows this signature; `None` for a declaration.
fn body_of(signature: &str) -> Option<usize> {
    let (mut brackets, mut braces) = (0, 0);
    for (at, c) in signature.char_indices() {
        match c {
            '(' | '[' if braces == 0 => brackets += 1,
            ')' | ']' if braces == 0 => brackets -= 1,
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' if braces <= 1 => return Some(at),
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

/// Files in which a banned text is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// Rust, comments and strings aside.
    Code,
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

const CLOCK: &str =
    "take a `Clock` (engine/system/src/clock.rs); for durations in metrics `tokio::time::Instant`";
const IDS: &str = "take `Ids` (engine/system/src/ids.rs): one seed, one history";
const DO_IT: &str = "do it now, or open an issue and say what is missing in the docs";
const CONTRACT: &str = "use a struct of api/src/operator/contract: the other side uses it, too";
/// The configuration of a gateway, which its JSON schema describes, and the reading of any body.
const FREE_FORM: &[&str] = &[
    "api/src/operator/audit.rs",
    "api/src/operator/connections.rs",
    "api/src/operator/contract/connections.rs",
    "api/src/operator/contract/gateways.rs",
    "api/src/operator/credentials.rs",
    "api/src/operator/form.rs",
    "api/src/operator/shape.rs",
];
const IDS_HOME: &[&str] = &["engine/system/src/ids.rs", "examples/shop/"];

pub const BANS: &[Ban] = &[
    ban(
        "todo!",
        Within::Code,
        "write the code; what is not there yet has no function",
    ),
    ban(
        "unimplemented!",
        Within::Code,
        "write the code; what is not there yet has no function",
    ),
    ban("dbg!", Within::Code, "use `tracing`, or delete it"),
    ban("FIXME", Within::Comments, DO_IT),
    ban("TODO", Within::Comments, DO_IT),
    ban("XXX", Within::Comments, DO_IT),
    Ban {
        except: &["engine/system/src/clock.rs"],
        ..ban("SystemTime::now", Within::Code, CLOCK)
    },
    Ban {
        except: &["xtask/", "tests/bench/", "tests/model/"],
        ..ban("std::time::Instant", Within::Code, CLOCK)
    },
    Ban {
        except: IDS_HOME,
        ..ban("rand::random", Within::Code, IDS)
    },
    Ban {
        except: IDS_HOME,
        ..ban("rand::rng", Within::Code, IDS)
    },
    Ban {
        except: IDS_HOME,
        ..ban("Uuid::new_v4", Within::Code, IDS)
    },
    Ban {
        only_under: "engine/",
        ..ban("println!", Within::CodeOutsideTests, "use `tracing`")
    },
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
];

fn banned(source: &Source) -> Vec<Finding> {
    let is_rust = source.has_extension(&["rs"]);
    let tests_begin = source.tests_begin();
    let mut found = Vec::new();
    for ban in BANS {
        let (text, last) = match ban.within {
            Within::Code => (&source.code, usize::MAX),
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

/// An `unwrap` that cannot fail says why, on its line or right above.
fn bare_unwrap(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["rs"]) {
        return Vec::new();
    }
    let comments: Vec<&str> = source.comments.lines().collect();
    let says_why = |at: usize| {
        comments[at.saturating_sub(1)..=at]
            .iter()
            .any(|line| line.contains("//"))
    };
    let lines = source
        .code
        .lines()
        .enumerate()
        .take(source.tests_begin() - 1);
    lines
        .filter(|(at, line)| line.contains(".unwrap()") && !says_why(*at))
        .map(|(at, _)| {
            let says = "`unwrap` without a comment that proves it: prove it, use `expect(\"why\")` or return the error";
            finding(source, at + 1, says.to_owned())
        })
        .collect()
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

fn unsafe_without_proof(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["rs"]) {
        return Vec::new();
    }
    let comments: Vec<&str> = source.comments.lines().collect();
    let has_proof = |at: usize| {
        comments[at.saturating_sub(8)..=at]
            .iter()
            .any(|line| line.contains("SAFETY:"))
    };
    let is_claim = |line: &str| has_word(line, "unsafe {") || has_word(line, "unsafe impl");
    let lines = source
        .code
        .lines()
        .enumerate()
        .filter(|(at, line)| is_claim(line) && !has_proof(*at));
    lines
        .map(|(at, _)| {
            finding(
                source,
                at + 1,
                "`unsafe` without a `// SAFETY:` proof above it".to_owned(),
            )
        })
        .collect()
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
