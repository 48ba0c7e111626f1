//! Formats responses as aligned tables and fields, or as JSON.

use std::fmt;
use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::Value;

use super::client::Answer;

/// Output format.
#[derive(Clone, Copy)]
pub struct Output {
    pub json: bool,
}

/// A column: its heading and the text of a row.
pub type Column<T> = (&'static str, fn(&T) -> String);

impl Output {
    /// Prints a list as a table, or the response as JSON.
    pub fn table<T, M>(self, answer: &Answer<Vec<T>, M>, columns: &[Column<T>]) -> io::Result<()> {
        if self.json {
            return print(&pretty(&answer.json));
        }
        rows(&answer.data, columns)
    }

    /// Prints a page of a list, or the response as JSON. `more` is the cursor of the next page, to
    /// be passed with `option`.
    pub fn page<P, T>(
        self,
        answer: &Answer<P>,
        page: (&[T], &str, Option<&dyn fmt::Display>),
        columns: &[Column<T>],
    ) -> io::Result<()> {
        if self.json {
            return print(&pretty(&answer.json));
        }
        let (items, option, more) = page;
        rows(items, columns)?;
        if let Some(more) = more {
            self.note(&format!("there may be more: {option} {more}"));
        }
        Ok(())
    }

    /// Prints one object with a line for each field, or the response as JSON.
    pub fn fields<T: Serialize>(self, answer: &Answer<T>) -> io::Result<()> {
        self.text(answer, listed)
    }

    /// Prints the text of the data, or the response as JSON.
    pub fn text<T>(self, answer: &Answer<T>, text: impl FnOnce(&T) -> String) -> io::Result<()> {
        if self.json {
            return print(&pretty(&answer.json));
        }
        print(&text(&answer.data))
    }

    /// Prints only the message of the response, or the response as JSON.
    pub fn done<T>(self, answer: &Answer<T>) -> io::Result<()> {
        self.text(answer, |_| format!("{}\n", answer.message))
    }

    /// Prints the result of a command that asks no server.
    pub fn local(self, result: &impl Serialize) -> io::Result<()> {
        if self.json {
            #[derive(Serialize)]
            struct Data<'a, T> {
                data: &'a T,
            }
            return print(&pretty(&value(&Data { data: result })));
        }
        print(&listed(result))
    }

    /// Prints a note for people to standard error.
    pub fn note(self, text: &str) {
        if !self.json {
            eprintln!("{text}");
        }
    }
}

/// Prints a table, or `none`.
pub fn rows<T>(rows: &[T], columns: &[Column<T>]) -> io::Result<()> {
    match rows.is_empty() {
        true => print("none\n"),
        false => print(&aligned(rows, columns)),
    }
}

/// Formats a table with a heading.
pub fn aligned<T>(rows: &[T], columns: &[Column<T>]) -> String {
    let heading = columns.iter().map(|(name, _)| name.to_uppercase());
    let cells = rows
        .iter()
        .map(|row| columns.iter().map(|(_, cell)| cell(row)).collect());
    lines(heading.collect(), cells)
}

/// Formats lines of cells. Columns are as wide as their widest cell.
pub fn lines(heading: Vec<String>, cells: impl Iterator<Item = Vec<String>>) -> String {
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(cells).collect();
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut table = String::new();
    for line in &lines {
        let padded = line
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        let row = padded.collect::<Vec<_>>().join("  ");
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}

/// Formats one line per field. Nested fields follow, indented.
pub fn listed(data: &impl Serialize) -> String {
    let mut lines = String::new();
    list(&value(data), 0, &mut lines);
    lines
}

/// Formats a field of a table.
pub fn cell(field: &impl Serialize) -> String {
    text(&value(field))
}

fn value(data: &impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_default()
}

fn list(value: &Value, depth: usize, lines: &mut String) {
    let indent = "  ".repeat(depth);
    let Value::Object(fields) = value else {
        lines.push_str(&format!("{indent}{}\n", text(value)));
        return;
    };
    let width = fields.keys().map(String::len).max().unwrap_or(0);
    for (name, field) in fields {
        match field {
            Value::Object(inner) if !inner.is_empty() => {
                lines.push_str(&format!("{indent}{name}\n"));
                list(field, depth + 1, lines);
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                lines.push_str(&format!("{indent}{name}\n"));
                for (place, item) in items.iter().enumerate() {
                    lines.push_str(&format!("{indent}  {}.\n", place + 1));
                    list(item, depth + 2, lines);
                }
            }
            // Pairs, such as headers.
            Value::Array(items) if items.iter().any(Value::is_array) => {
                lines.push_str(&format!("{indent}{name}\n"));
                for item in items {
                    let pair: Vec<String> =
                        item.as_array().into_iter().flatten().map(text).collect();
                    lines.push_str(&format!("{indent}  {}\n", pair.join(": ")));
                }
            }
            _ => lines.push_str(&format!("{indent}{name:width$}  {}\n", text(field))),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => visible(text),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        Value::Object(fields) if fields.is_empty() => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Replaces control characters, so that texts of merchants and providers cannot control the
/// terminal.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// Writes to standard output. A closed pipe (`| head`) is not an error.
pub fn print(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes()).map(drop)
}

/// Writes a part of a file to standard output. `false`: the pipe is closed.
pub fn print_bytes(bytes: &[u8]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        done => done.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_value() {
        type Row = (&'static str, Option<bool>, Option<u8>);
        let rows: [Row; 2] = [("a", Some(true), Some(5)), ("longer", None, None)];
        let columns: [Column<Row>; 3] = [
            ("id", |row| cell(&row.0)),
            ("enabled", |row| cell(&row.1)),
            ("n", |row| cell(&row.2)),
        ];
        assert_eq!(
            aligned(&rows, &columns),
            "ID      ENABLED  N\na       yes      5\nlonger  -        -\n"
        );
    }

    #[test]
    fn fields_are_a_line_each_and_nested_ones_are_indented() {
        let value = json!({"id": "a", "list": ["x", "y"], "more": {"b": false}, "pairs": [["k", "v"]], "steps": [{"at": 1}]});
        assert_eq!(
            listed(&value),
            "id     a\nlist   x, y\nmore\n  b  no\npairs\n  k: v\nsteps\n  1.\n    at  1\n"
        );
    }

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        assert_eq!(text(&json!("a\u{1b}[2Jb\n")), "a\u{fffd}[2Jb\u{fffd}");
    }
}
