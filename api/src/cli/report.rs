//! Findings for a terminal: a level, a title and sentences, in aligned columns.
//!
//! The level is always a word. Colour repeats it, on a terminal only.

use std::io::IsTerminal as _;

/// Level of a finding, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// The command could not see it.
    Unknown,
    Warning,
    Problem,
}

/// A finding as it is shown.
pub struct ReportLine<'a> {
    pub level: Level,
    pub title: &'a str,
    pub text: &'a str,
    /// Advice to the operator.
    pub advice: Option<&'a str>,
}

/// The way to show findings.
#[derive(Clone, Copy)]
pub struct Style {
    pub has_colour: bool,
    /// Columns of the terminal; `None`: lines are not wrapped.
    pub width: Option<usize>,
}

impl Style {
    /// The style of standard output.
    pub fn of_stdout() -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let columns = std::env::var("COLUMNS").ok();
        let columns = columns.and_then(|columns| columns.parse::<usize>().ok());
        Self {
            has_colour: is_terminal && !is_set("NO_COLOR") && !is_dumb,
            width: is_terminal.then(|| columns.unwrap_or(WIDTH).max(NARROWEST)),
        }
    }

    fn level(self, level: Level) -> String {
        let padded = format!("{:LEVEL_WIDTH$}", level.as_str());
        match self.has_colour {
            true => format!("\u{1b}[{}m{padded}\u{1b}[0m", level.colour()),
            false => padded,
        }
    }
}

impl Level {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }

    const fn colour(self) -> &'static str {
        match self {
            Self::Ok => "32",
            Self::Unknown => "36",
            Self::Warning => "33",
            Self::Problem => "1;31",
        }
    }
}

/// Formats findings in three columns: level, title, text.
pub fn rows(lines: &[ReportLine], style: Style) -> String {
    let width = lines.iter().map(|line| line.title.chars().count());
    let width = width.max().unwrap_or(0);
    let indent = LEVEL_WIDTH + 2 + width + 2;
    let mut text = String::new();
    for line in lines {
        let (level, title) = (style.level(line.level), line.title);
        text.push_str(&format!("{level}  {title:width$}  "));
        push_wrapped(&mut text, line.text, indent, style);
        push_advice(&mut text, line.advice, indent, style);
    }
    text
}

/// Formats findings with their titles on lines of their own.
pub fn blocks(lines: &[ReportLine], style: Style) -> String {
    let indent = LEVEL_WIDTH + 2;
    let mut text = String::new();
    for line in lines {
        text.push_str(&style.level(line.level));
        text.push_str("  ");
        if !line.title.is_empty() {
            text.push_str(&format!("{}\n{:indent$}", line.title, ""));
        }
        push_wrapped(&mut text, line.text, indent, style);
        push_advice(&mut text, line.advice, indent, style);
    }
    text
}

/// Formats the sum of findings: `1 problem, 2 warnings, 1 unknown`.
pub fn sum(levels: impl Iterator<Item = Level>) -> String {
    let levels: Vec<Level> = levels.collect();
    let counted = [Level::Problem, Level::Warning, Level::Unknown].map(|level| {
        let count = levels.iter().filter(|found| **found == level).count();
        let plural = if count == 1 || level == Level::Unknown {
            ""
        } else {
            "s"
        };
        (count, format!("{count} {}{plural}", level.as_str()))
    });
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counted.map(|(_, words)| words).collect();
    match words.is_empty() {
        true => "no problem".to_owned(),
        false => words.join(", "),
    }
}

fn push_advice(text: &mut String, advice: Option<&str>, indent: usize, style: Style) {
    if let Some(advice) = advice {
        text.push_str(&" ".repeat(indent));
        push_wrapped(text, &format!("→ {advice}"), indent, style);
    }
}

/// Adds the words of a text. The first line begins where `text` ends.
fn push_wrapped(text: &mut String, words: &str, indent: usize, style: Style) {
    let room = style.width.map_or(usize::MAX, |width| {
        width.saturating_sub(indent).max(NARROWEST_TEXT)
    });
    let mut used = 0;
    for word in words.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            text.push_str(&format!("\n{:indent$}", ""));
            used = 0;
        } else if used > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text.push('\n');
}

const LEVEL_WIDTH: usize = 7;
/// Columns of a terminal that does not state its width.
const WIDTH: usize = 100;
const NARROWEST: usize = 60;
const NARROWEST_TEXT: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [ReportLine<'_>; 2] = [
        ReportLine {
            level: Level::Ok,
            title: "disk",
            text: "41 GiB are free.",
            advice: None,
        },
        ReportLine {
            level: Level::Problem,
            title: "certificate",
            text: "The certificate of pay.example.com expired 3 days ago.",
            advice: Some("Renew it."),
        },
    ];

    #[test]
    fn columns_are_aligned_long_texts_are_wrapped_and_levels_are_words() {
        let plain = Style {
            has_colour: false,
            width: Some(60),
        };
        assert_eq!(
            rows(&LINES, plain),
            "ok       disk         41 GiB are free.\n\
             problem  certificate  The certificate of pay.example.com\n                      \
             expired 3 days ago.\n                      \
             → Renew it.\n"
        );
        let unwrapped = Style {
            has_colour: false,
            width: None,
        };
        assert_eq!(
            blocks(&LINES[1..], unwrapped),
            "problem  certificate\n         The certificate of pay.example.com expired 3 days \
             ago.\n         → Renew it.\n"
        );
    }

    #[test]
    fn colour_only_repeats_the_word() {
        let coloured = rows(
            &LINES,
            Style {
                has_colour: true,
                width: None,
            },
        );
        let plain = rows(
            &LINES,
            Style {
                has_colour: false,
                width: None,
            },
        );
        let escapes = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
        assert_ne!(coloured, plain);
        assert_eq!(escapes.replace_all(&coloured, ""), plain);
    }

    #[test]
    fn the_sum_counts_each_level_that_asks_for_attention() {
        use Level::{Ok, Problem, Unknown, Warning};
        for (levels, words) in [
            (vec![Ok, Ok], "no problem"),
            (vec![Problem, Ok, Warning, Warning], "1 problem, 2 warnings"),
            (vec![Unknown, Problem, Problem], "2 problems, 1 unknown"),
        ] {
            assert_eq!(sum(levels.into_iter()), words);
        }
    }
}
