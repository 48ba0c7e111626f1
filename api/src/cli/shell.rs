//! `switchyard store shell`: read-only SQL over the store or a backup.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use switchyard_store::{self as store, Cell, QueryAnswer, QueryError};

use super::output::{cell, lines, print};
use super::store::Installation;
use crate::serve::store_settings;

/// Arguments of `switchyard store shell`.
#[derive(Args)]
pub struct Shell {
    #[command(flatten)]
    installation: Installation,
    /// Folder of a backup to read in place of the store
    #[arg(long, value_name = "FOLDER")]
    backup: Option<PathBuf>,
    /// Query to answer [default: queries from standard input, each ended by a semicolon]
    sql: Option<String>,
}

impl Shell {
    pub fn run(&self, json: bool) -> anyhow::Result<()> {
        let shell = match &self.backup {
            Some(folder) => store::Shell::open_backup(folder)?,
            None => store::Shell::open(&store_settings(&self.installation.settings()?))?,
        };
        match &self.sql {
            Some(sql) => Ok(print(&shown(&shell.query(sql)?, json))?),
            None => converse(&shell, io::stdin().lock(), json),
        }
    }
}

/// Answers queries until the input ends, or the files of the store are not in their place. Without
/// a terminal the first error ends it.
fn converse(shell: &store::Shell, mut input: impl io::BufRead, json: bool) -> anyhow::Result<()> {
    let is_terminal = io::stdin().is_terminal();
    let prompt = |text: &str| {
        if is_terminal {
            eprint!("{text}");
            let _ = io::stderr().flush();
        }
    };
    if is_terminal {
        let views: Vec<_> = store::Shell::views().collect();
        eprintln!("Read-only SQL, each query ended by a semicolon. Views with key and value:");
        eprintln!("{}", views.join(" "));
    }
    let mut sql = String::new();
    loop {
        prompt(if sql.is_empty() {
            "switchyard> "
        } else {
            "       ...> "
        });
        let is_end = input.read_line(&mut sql)? == 0;
        if sql.trim().is_empty() {
            sql.clear();
        } else if is_end || sql.trim_end().ends_with(';') {
            match shell.query(&sql) {
                Ok(answer) => print(&shown(&answer, json))?,
                Err(error @ QueryError::Refused(_)) if is_terminal => eprintln!("{error}"),
                Err(error) => return Err(error.into()),
            }
            sql.clear();
        }
        if is_end {
            prompt("\n");
            return Ok(());
        }
    }
}

fn shown(answer: &QueryAnswer, json: bool) -> String {
    if json {
        let rows = answer.rows.iter().map(|row| {
            let cells = answer.columns.iter().cloned().zip(row.iter().map(value));
            Value::Object(cells.collect())
        });
        let rows: Vec<_> = rows.collect();
        return format!("{:#}\n", json!({ "rows": rows, "is_cut": answer.is_cut }));
    }
    if answer.rows.is_empty() {
        return "none\n".to_owned();
    }
    let heading = answer.columns.iter().map(|name| name.to_uppercase());
    let rows = answer.rows.iter();
    let mut text = lines(
        heading.collect(),
        rows.map(|row| row.iter().map(|one| cell(&value(one))).collect()),
    );
    if answer.is_cut {
        text.push_str(&format!(
            "and more: only {} rows are shown\n",
            answer.rows.len()
        ));
    }
    text
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Blob(bytes) => json!(bytes.escape_ascii().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_table_or_json_and_steers_no_terminal() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let answer = QueryAnswer {
            columns: vec!["id".to_owned(), "id".to_owned(), "key".to_owned()],
            rows: vec![
                vec![text("a"), text("b\x1b[2J"), Cell::Blob(vec![b'p', 0])],
                vec![Cell::Null, text("c"), Cell::Null],
            ],
            is_cut: true,
        };
        assert_eq!(
            shown(&answer, false),
            "ID  ID     KEY\na   b\u{fffd}[2J  p\\x00\n-   c      -\n\
             and more: only 2 rows are shown\n"
        );
        let json: Value = serde_json::from_str(&shown(&answer, true)).unwrap();
        assert_eq!(json["rows"][0]["key"], "p\\x00");
        assert_eq!(json["is_cut"], true);
        let none = QueryAnswer {
            rows: Vec::new(),
            ..answer
        };
        assert_eq!(shown(&none, false), "none\n");
    }

    #[tokio::test]
    async fn queries_come_one_after_the_other_and_an_error_ends_a_script() {
        let folder = tempfile::tempdir().unwrap();
        let settings = store::StoreSettings {
            backend: store::Backend::Sqlite,
            path: folder.path().join("store"),
            cache_bytes: 8 * 1024 * 1024,
        };
        assert!(store::Store::open(&settings).unwrap().close().await);
        let shell = store::Shell::open(&settings).unwrap();
        for (script, works) in [
            ("SELECT 1;\n\nSELECT\n2;\nSELECT 3", true),
            ("", true),
            ("SELECT 1;\nDELETE FROM history;\nSELECT 2;\n", false),
        ] {
            let done = converse(&shell, script.as_bytes(), true);
            assert_eq!(done.is_ok(), works, "{script}");
        }
    }
}
