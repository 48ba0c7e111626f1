//! A file as the rules see it: with a Rust file's comments and strings told apart from its code, line by line.

/// A file of the repository.
pub struct Source {
    pub path: String,
    pub text: String,
    /// Rust only: the text with comments and the insides of strings blanked. Other files: the text.
    pub code: String,
    /// Rust only: the text with everything but comments blanked. Other files: the text.
    pub comments: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let (code, comments) = if path.ends_with(".rs") {
            split(text)
        } else {
            (text.to_owned(), text.to_owned())
        };
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            comments,
        }
    }

    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extensions.contains(&extension))
    }

    /// Written by somebody else, or by a program: not ours to tidy.
    pub fn is_foreign(&self) -> bool {
        self.path.contains("/vendor/")
            || self.path.ends_with("package-lock.json")
            || self.path.ends_with(".snap")
            || self
                .text
                .lines()
                .take(3)
                .any(|line| line.contains("@generated"))
    }

    /// The line (from 1) at which the tests of this Rust file begin; past its end when it has none.
    pub fn tests_begin(&self) -> usize {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        let is_test_file = self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || name == "tests.rs"
            || name.ends_with("_tests.rs")
            || name.starts_with("test_");
        if is_test_file {
            return 1;
        }
        let lines = || self.code.lines();
        lines()
            .position(|line| line.trim_start().starts_with("#[cfg(test)]"))
            .map_or(lines().count() + 1, |at| at + 1)
    }
}

/// What the splitter is inside of.
enum Inside {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    Text { raw_hashes: Option<usize> },
}

/// `(code, comments)`: both as long as the text, newlines kept, the rest of the other kind blanked.
fn split(text: &str) -> (String, String) {
    let chars: Vec<char> = text.chars().collect();
    let (mut code, mut comments) = (
        String::with_capacity(text.len()),
        String::with_capacity(text.len()),
    );
    let mut inside = Inside::Code;
    let mut at = 0;
    while at < chars.len() {
        let (width, next) = step(&chars, at, &inside);
        let is_comment =
            |state: &Inside| matches!(state, Inside::LineComment | Inside::BlockComment { .. });
        let in_comment = is_comment(&inside) || next.as_ref().is_some_and(is_comment);
        // Wider than one and still code: a character literal, which may hold a brace.
        let is_blank = next.is_none() && (matches!(inside, Inside::Text { .. }) || width > 1);
        for &c in &chars[at..at + width] {
            let blank = if c == '\n' { '\n' } else { ' ' };
            code.push(if in_comment || is_blank { blank } else { c });
            comments.push(if in_comment { c } else { blank });
        }
        inside = next.unwrap_or(inside);
        at += width;
    }
    (code, comments)
}

/// How many characters to take, and what they lead into when that changes.
fn step(chars: &[char], at: usize, inside: &Inside) -> (usize, Option<Inside>) {
    let rest = &chars[at..];
    let starts = |pattern: &str| {
        pattern
            .chars()
            .enumerate()
            .all(|(i, c)| rest.get(i) == Some(&c))
    };
    match inside {
        Inside::LineComment if starts("\n") => (1, Some(Inside::Code)),
        Inside::BlockComment { depth: 1 } if starts("*/") => (2, Some(Inside::Code)),
        Inside::BlockComment { depth } if starts("*/") => {
            (2, Some(Inside::BlockComment { depth: depth - 1 }))
        }
        Inside::BlockComment { depth } if starts("/*") => {
            (2, Some(Inside::BlockComment { depth: depth + 1 }))
        }
        Inside::Text { raw_hashes: None } if starts("\\") => (rest.len().min(2), None),
        Inside::Text { raw_hashes: None } if starts("\"") => (1, Some(Inside::Code)),
        Inside::Text {
            raw_hashes: Some(hashes),
        } if starts(&format!("\"{}", "#".repeat(*hashes))) => (1 + hashes, Some(Inside::Code)),
        Inside::Code if starts("//") => (2, Some(Inside::LineComment)),
        Inside::Code if starts("/*") => (2, Some(Inside::BlockComment { depth: 1 })),
        Inside::Code if starts("\"") => (1, Some(Inside::Text { raw_hashes: None })),
        Inside::Code if starts("'") => (char_literal(rest), None),
        Inside::Code if starts("r") && !follows_a_word(chars, at) => raw_string(rest),
        _ => (1, None),
    }
}

/// A character literal in whole (it may hold a quote or a brace), or the quote of a lifetime alone.
fn char_literal(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', _, tail @ ..] => tail
            .iter()
            .position(|&c| c == '\'')
            .map_or(1, |end| end + 4),
        ['\'', _, '\'', ..] => 3,
        _ => 1,
    }
}

fn raw_string(rest: &[char]) -> (usize, Option<Inside>) {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    if rest.get(1 + hashes) == Some(&'"') {
        (
            2 + hashes,
            Some(Inside::Text {
                raw_hashes: Some(hashes),
            }),
        )
    } else {
        (1, None)
    }
}

/// `br"…"` starts a raw string, `for"…"` cannot occur: only the byte and C prefixes may stand before the `r`.
fn follows_a_word(chars: &[char], at: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    match at.checked_sub(1).map(|before| chars[before]) {
        Some('b' | 'c') => at.checked_sub(2).is_some_and(|before| word(chars[before])),
        Some(before) => word(before),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn strings_and_comments_are_told_from_code() {
        let (code, comments) =
            split("a(\"x // y\"); // why \"\n/* x /* y */ z */ b('\"', '\\'', 'l)");
        assert_eq!(
            code,
            "a(\"      \");         \n                  b(   ,     , 'l)"
        );
        assert_eq!(
            comments.split_whitespace().collect::<Vec<_>>().join(" "),
            "// why \" /* x /* y */ z */"
        );
        assert_eq!(comments.chars().count(), code.chars().count());
    }

    #[test]
    fn raw_strings_end_where_their_hashes_say() {
        let (code, _) = split("r#\"a \" b\"# + br\"c\" + for_r");
        assert_eq!(code, "r#\"     \"# + br\" \" + for_r");
    }
}
