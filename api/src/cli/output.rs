//! Formats responses as aligned tables and fields, or as JSON.

use std::io::{self, Write as _};

use serde_json::Value;

/// Output format.
#[derive(Clone, Copy)]
pub struct Output {
    pub json: bool,
}

/// A column: its heading, and the path of its value (`customer.email`).
pub type Column = (&'static str, &'static str);

impl Output {
    /// Prints a list as a table, or its envelope as JSON.
    pub fn table(self, envelope: &Value, columns: &[Column]) -> io::Result<()> {
        if self.json {
            return print(&pretty(envelope));
        }
        let rows = envelope["data"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        if rows.is_empty() {
            return print("none\n");
        }
        print(&aligned(rows, columns))
    }

    /// Prints a page of a list. The rows are in the field `name`; `more` is the cursor of the next
    /// page, to be passed with `option`.
    pub fn page(
        self,
        envelope: &Value,
        (name, option): (&str, &str),
        columns: &[Column],
    ) -> io::Result<()> {
        if self.json {
            return print(&pretty(envelope));
        }
        let data = &envelope["data"];
        self.table(&serde_json::json!({ "data": data[name] }), columns)?;
        if let Some(more) = data["more"].as_str() {
            self.note(&format!("there may be more: {option} {more}"));
        }
        Ok(())
    }

    /// Prints one object with a line for each field, or its envelope as JSON.
    pub fn fields(self, envelope: &Value) -> io::Result<()> {
        if self.json {
            return print(&pretty(envelope));
        }
        print(&listed(&envelope["data"]))
    }

    /// Prints only the message of the response.
    pub fn done(self, envelope: &Value) -> io::Result<()> {
        if self.json {
            return print(&pretty(envelope));
        }
        print(&format!(
            "{}\n",
            envelope["message"].as_str().unwrap_or("done")
        ))
    }

    /// Prints a note for people to standard error.
    pub fn note(self, text: &str) {
        if !self.json {
            eprintln!("{text}");
        }
    }
}

/// Formats a table with a heading. Columns are as wide as their widest value.
pub fn aligned(rows: &[Value], columns: &[(&str, &str)]) -> String {
    let heading: Vec<String> = columns
        .iter()
        .map(|(name, _)| name.to_uppercase())
        .collect();
    let cells = rows.iter().map(|row| {
        columns
            .iter()
            .map(|(_, path)| text(at(row, path)))
            .collect()
    });
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(cells).collect();
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
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
pub fn listed(value: &Value) -> String {
    let mut lines = String::new();
    list(value, 0, &mut lines);
    lines
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

fn at<'a>(row: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(row, |value, name| &value[name])
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
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_value() {
        let rows = [
            json!({"id": "a", "on": true, "c": {"n": 5}}),
            json!({"id": "longer", "on": null}),
        ];
        assert_eq!(
            aligned(&rows, &[("id", "id"), ("enabled", "on"), ("n", "c.n")]),
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
