//! JavaScript as the rule on the length of functions sees it: strings, comments and patterns
//! blanked, functions found by their bodies.

use super::rules::finding;
use super::{FUNCTION_LINES, Finding, Source};

/// A test that is one function around many is too long as well: its parts can have names, and stand
/// beside it.
pub(super) fn script_function_length(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["js", "mjs"]) {
        return Vec::new();
    }
    let code = blanked(&source.text);
    let line_of = |at: usize| code[..at].iter().filter(|c| **c == '\n').count() + 1;
    let too_long = |(from, to): (usize, usize)| {
        let (first, lines) = (line_of(from), line_of(to) + 1 - line_of(from));
        (lines > FUNCTION_LINES).then(|| {
            let says = format!(
                "a function of {lines} lines, {FUNCTION_LINES} are allowed: give its parts names, outside of it"
            );
            finding(source, first, says)
        })
    };
    bodies(&code).into_iter().filter_map(too_long).collect()
}

/// Bounds of functions: the braces that follow an arrow or a list of parameters. `if (…) {` and its
/// like are no functions.
fn bodies(code: &[char]) -> Vec<(usize, usize)> {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut found = Vec::new();
    for (at, c) in code.iter().enumerate() {
        match c {
            '{' => open.push((at, is_function(&code[..at]))),
            '}' => {
                if let Some((from, true)) = open.pop() {
                    found.push((from, at));
                }
            }
            _ => {}
        }
    }
    found
}

fn is_function(before: &[char]) -> bool {
    let text: String = before[before.len().saturating_sub(400)..].iter().collect();
    let text = text.trim_end();
    if text.ends_with("=>") {
        return true;
    }
    let Some(head) = text.strip_suffix(')').and_then(before_brackets) else {
        return false;
    };
    let head = head.trim_end();
    let name = head
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
        .next();
    !matches!(
        name,
        None | Some("if" | "for" | "while" | "switch" | "catch" | "with" | "")
    )
}

/// Text before the bracket that the one cut off at the end of `text` closes.
fn before_brackets(text: &str) -> Option<&str> {
    let mut depth = 1;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

/// The text with strings, comments and patterns blanked, newlines kept. Code in `${}` of a string
/// is part of it.
fn blanked(text: &str) -> Vec<char> {
    let chars: Vec<char> = text.chars().collect();
    let mut code = Vec::with_capacity(chars.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match (chars[at], chars.get(at + 1)) {
            ('/', Some('/')) => end_of(&chars, at + 2, "\n"),
            ('/', Some('*')) => end_of(&chars, at + 2, "*/") + 2,
            ('\'' | '"' | '`', _) => end_of_string(&chars, at),
            ('/', _) if starts_a_pattern(&code) => end_of_pattern(&chars, at),
            (c, _) => {
                code.push(c);
                at += 1;
                continue;
            }
        };
        let end = end.min(chars.len());
        let blank = |c: &char| if *c == '\n' { '\n' } else { ' ' };
        code.extend(chars[at..end].iter().map(blank));
        at = end;
    }
    code
}

fn end_of(chars: &[char], from: usize, mark: &str) -> usize {
    let mark: Vec<char> = mark.chars().collect();
    let found = (from..chars.len()).find(|at| chars[*at..].starts_with(&mark));
    found.unwrap_or(chars.len())
}

fn end_of_string(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() && chars[at] != chars[from] {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn end_of_pattern(chars: &[char], from: usize) -> usize {
    let (mut at, mut in_class) = (from + 1, false);
    while at < chars.len() && (in_class || chars[at] != '/') {
        match chars[at] {
            '\\' => at += 1,
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        at += 1;
    }
    at + 1
}

/// A slash after a value divides; anywhere else it starts a pattern. A blanked string is no value
/// here: strings are not divided.
fn starts_a_pattern(code: &[char]) -> bool {
    let last = code.iter().rev().find(|c| !c.is_whitespace());
    last.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '_' | '$' | ')' | ']' | '}')))
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::script_function_length;

    fn lines(text: &str) -> Vec<usize> {
        let found = script_function_length(&Source::new("a.mjs", text));
        found.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_function_of_71_lines_is_too_long_however_it_is_written() {
        for head in [
            "const f = () => {",
            "test('that { it', async (t) => {",
            "function f(a, b = g()) {",
            "async function f() {",
            "class A { f() {",
            "const o = { f() {",
        ] {
            let of =
                |inner: usize| format!("// before\n{head}\n{}}}\n", "x = '}';\n".repeat(inner));
            assert_eq!(lines(&of(69)), [2], "{head}");
            assert!(lines(&of(68)).is_empty(), "{head}");
        }
    }

    #[test]
    fn what_is_no_function_may_be_long_and_braces_in_texts_do_not_count() {
        let inner = "x();\n".repeat(100);
        for text in [
            format!("if (a) {{\n{inner}}}\n"),
            format!("for (const a of b) {{\n{inner}}}\n"),
            format!("{{\n{inner}}}\n"),
            format!("const o = {{\n{}}};\n", "a: 1,\n".repeat(100)),
            format!("const f = () => {{ /* {{ */ }};\n{inner}"),
            format!("const f = () => {{ g(/[/{{]/, `{{${{a}}`, \"{{\", '\\'{{'); }};\n{inner}"),
            format!("const f = () => {{ return a / b; }}; // {{ /\n{inner}"),
        ] {
            assert!(lines(&text).is_empty(), "{text}");
        }
    }
}
