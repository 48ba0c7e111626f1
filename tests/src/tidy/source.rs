//! A file as the rules see it: with a Rust file's comments and strings told apart from its code,
//! line by line.

/// A file of the repository.
pub struct Source {
    pub path: String,
    pub text: String,
    /// Rust only: the text with comments and the insides of strings blanked. Other files: the text.
    pub code: String,
    /// Rust only: the text with everything but comments blanked. Other files: the text.
    pub comments: String,
    /// Rust only: compiled for tests alone.
    pub is_test: bool,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let (code, comments) = if path.ends_with(".rs") {
            split(text)
        } else {
            (text.to_owned(), text.to_owned())
        };
        let is_test = is_test_path(path);
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
            comments,
            is_test,
        }
    }

    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        self.path
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extensions.contains(&extension))
    }

    /// Written by other authors, or generated: excluded from the rules.
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
        if self.is_test {
            return 1;
        }
        let lines: Vec<&str> = self.code.lines().map(str::trim).collect();
        let is_start = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].contains("mod ") && pair[1].contains('{')
        };
        lines
            .windows(2)
            .position(is_start)
            .map_or(lines.len() + 1, |at| at + 1)
    }

    /// The files or folders of modules that this file declares for tests only.
    pub fn test_modules(&self) -> Vec<String> {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let folder = match file {
            "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
            _ => self.path.trim_end_matches(".rs").to_owned(),
        };
        let lines: Vec<&str> = self.text.lines().map(str::trim).collect();
        let declared = |pair: &[&str]| {
            let is_for_tests = pair[0] == "#[cfg(test)]" || pair[0].starts_with("#[cfg(any(test,");
            let words: Vec<&str> = pair[1].trim_end_matches(';').split(' ').collect();
            let (name, before) = words.split_last()?;
            (is_for_tests && before.last() == Some(&"mod")).then(|| format!("{folder}/{name}"))
        };
        lines.windows(2).filter_map(declared).collect()
    }
}

fn is_test_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.starts_with("tests/")
        || path.contains("/tests/")
        || name == "tests.rs"
        || name.ends_with("_tests.rs")
}

/// Present context of the splitter.
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

/// Number of characters to consume, and the next context if it changes.
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

/// `br"…"` starts a raw string, `for"…"` cannot occur: only the byte and C prefixes may stand
/// before the `r`.
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
    use super::{Source, split};

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
    fn a_module_declared_for_tests_is_one() {
        let text = "#[cfg(test)]\nmod conformance;\nmod a;\n";
        assert_eq!(
            Source::new("engine/store/src/lib.rs", text).test_modules(),
            ["engine/store/src/conformance"]
        );
        assert_eq!(
            Source::new("engine/system/src/clock.rs", text).test_modules(),
            ["engine/system/src/clock/conformance"]
        );
        assert_eq!(
            Source::new("engine/system/src/clock.rs", text).tests_begin(),
            4,
            "the declaration is no test"
        );
    }

    #[test]
    fn raw_strings_end_where_their_hashes_say() {
        let (code, _) = split("r#\"a \" b\"# + br\"c\" + for_r");
        assert_eq!(code, "r#\"     \"# + br\" \" + for_r");
    }
}
