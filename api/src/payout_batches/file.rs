//! The file of a batch: its columns, and its lines as requests of the merchant API.
//!
//! Cells stay texts: an amount is read by the grammar of the merchant API, and never as a number of
//! the file.

use std::collections::BTreeSet;

use csv::{ReaderBuilder, StringRecord, Trim};
use serde_json::{Map, Value, json};
use switchyard_core::directory::Directory;
use switchyard_users::{BATCH_LINES, BatchLine};

use super::REFERENCE;
use super::examine::LineProblem;
use crate::error::{ErrorCode, Problem};
use crate::reason::Reason;

/// Bytes of a file. A line of 400 bytes, which is long, leaves room for the most lines.
pub const FILE_BYTES: usize = 512 * 1_024;

/// Columns of every file but those of the recipient. The last three may be missing.
pub const COLUMNS: [&str; 9] = [
    "amount",
    "currency",
    "method",
    "description",
    "first_name",
    "last_name",
    "email",
    "phone",
    REFERENCE,
];
/// Columns that a file must have.
const REQUIRED: usize = 7;

/// Reads the lines of a file. The heading is line 1.
pub fn lines(bytes: &[u8], directory: &Directory) -> Result<Vec<BatchLine>, Vec<LineProblem>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(vec![problem_of_file(
            1,
            Reason::FileNotText,
            "The file is no UTF-8 text.",
        )]);
    };
    // One end of a line: the numbers of lines are counted by it, and are part of keys.
    let text = &text.replace("\r\n", "\n").replace('\r', "\n");
    let mut counted = Counted::default();
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter(text))
        .flexible(true)
        .trim(Trim::All)
        .from_reader(text.as_bytes());
    let heading = reader.headers().cloned().unwrap_or_default();
    let problems = heading_problems(&heading, directory);
    if !problems.is_empty() {
        return Err(problems);
    }
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    for record in reader.records() {
        let Ok(record) = record else {
            problems.push(problem_of_file(
                1,
                Reason::FileNotText,
                "The file is no CSV.",
            ));
            break;
        };
        let start = record.position().map_or(0, csv::Position::byte);
        let number = counted.number(text, usize::try_from(start).unwrap_or(usize::MAX));
        if record.len() != heading.len() {
            let message = format!(
                "The line has {} cells, and the heading has {}.",
                record.len(),
                heading.len()
            );
            let because = Reason::LineCells.with("known", heading.len());
            let problem = Problem::new(ErrorCode::FieldInvalid, message).because(because);
            problems.push(LineProblem::new(number, problem));
            continue;
        }
        let request = request(&heading, &record);
        lines.push(BatchLine { number, request });
        if lines.len() > BATCH_LINES {
            let message = format!("A file has at most {BATCH_LINES} lines: divide it.");
            let because = Reason::FileLines.with("most", BATCH_LINES);
            let problem = Problem::new(ErrorCode::LimitReached, message).because(because);
            return Err(vec![LineProblem::new(number, problem)]);
        }
    }
    if lines.is_empty() && problems.is_empty() {
        problems.push(problem_of_file(
            1,
            Reason::FileEmpty,
            "The file has no line below its heading.",
        ));
    }
    match problems.is_empty() {
        true => Ok(lines),
        false => Err(problems),
    }
}

/// Number of a line, counted on from the line before.
struct Counted {
    number: u32,
    at: usize,
}

impl Default for Counted {
    fn default() -> Self {
        Self { number: 1, at: 0 }
    }
}

impl Counted {
    /// Number of the line of a record, which begins at a byte, or below empty lines there.
    fn number(&mut self, text: &str, start: usize) -> u32 {
        let rest = text.get(start..).unwrap_or_default();
        let empty = rest.bytes().take_while(|byte| *byte == b'\n').count();
        let begin = start.saturating_add(empty).min(text.len());
        let between = text.as_bytes().get(self.at..begin).unwrap_or_default();
        let ends = between.iter().filter(|byte| **byte == b'\n').count();
        let ends = u32::try_from(ends).unwrap_or(u32::MAX);
        self.number = self.number.saturating_add(ends);
        self.at = begin;
        self.number
    }
}

/// Comma, or the semicolon that spreadsheets write where the comma is a decimal mark.
fn delimiter(text: &str) -> u8 {
    let heading = text.lines().next().unwrap_or_default();
    match heading.contains(';') && !heading.contains(',') {
        true => b';',
        false => b',',
    }
}

fn heading_problems(heading: &StringRecord, directory: &Directory) -> Vec<LineProblem> {
    let methods = directory.payout_methods().iter();
    let of_recipients: BTreeSet<&str> = methods
        .flat_map(|method| method.fields.iter().map(|field| field.name.as_str()))
        .collect();
    let mut seen = BTreeSet::new();
    let mut problems = Vec::new();
    let about = |code, column: &str, reason: Reason, message: String| {
        let because = reason.with("detail", column);
        let problem = Problem::new(code, message).at(column.to_owned());
        LineProblem::new(1, problem.because(because))
    };
    for column in heading {
        let is_known = COLUMNS.contains(&column) || of_recipients.contains(recipient(column));
        if !is_known {
            let message = format!("There is no column `{column}`.");
            let code = ErrorCode::FieldInvalid;
            problems.push(about(code, column, Reason::ColumnUnknown, message));
        } else if !seen.insert(recipient(column)) {
            let message = format!("The column `{column}` is there twice.");
            let code = ErrorCode::FieldDuplicated;
            problems.push(about(code, column, Reason::ColumnTwice, message));
        }
    }
    for column in &COLUMNS[..REQUIRED] {
        if !seen.contains(column) {
            let message = format!("The column `{column}` is missing.");
            let code = ErrorCode::FieldRequired;
            problems.push(about(code, column, Reason::ColumnMissing, message));
        }
    }
    problems
}

/// Name of a column of the recipient, which may begin with `recipient.`.
fn recipient(column: &str) -> &str {
    column.strip_prefix("recipient.").unwrap_or(column)
}

fn request(heading: &StringRecord, record: &StringRecord) -> Value {
    let cell = |name: &str| {
        let at = heading.iter().position(|column| column == name);
        at.and_then(|at| record.get(at))
            .filter(|cell| !cell.is_empty())
    };
    let cells = heading.iter().zip(record);
    let recipient: Map<String, Value> = cells
        .filter(|(column, cell)| !COLUMNS.contains(column) && !cell.is_empty())
        .map(|(column, cell)| (recipient(column).to_owned(), json!(cell)))
        .collect();
    let metadata = cell(REFERENCE).map(|reference| (REFERENCE.to_owned(), json!(reference)));
    let metadata: Map<String, Value> = metadata.into_iter().collect();
    json!({
        "amount": cell("amount"),
        "currency": cell("currency"),
        "method": cell("method"),
        "description": cell("description"),
        "customer": {
            "first_name": cell("first_name"),
            "last_name": cell("last_name"),
            "email": cell("email"),
            "phone": cell("phone"),
        },
        "recipient": recipient,
        "metadata": metadata,
    })
}

fn problem_of_file(line: u32, reason: Reason, message: &'static str) -> LineProblem {
    let problem = Problem::new(ErrorCode::FieldInvalid, message).at("file");
    LineProblem::new(line, problem.because(crate::reason::Because::from(reason)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADING: &str = "amount,currency,method,description,first_name,last_name,email,msisdn";

    fn read(text: &str) -> Result<Vec<BatchLine>, Vec<String>> {
        let directory = Directory::new("switchyard");
        lines(text.as_bytes(), &directory).map_err(|problems| {
            let told = problems.into_iter();
            told.map(|one| format!("{}: {}", one.line, one.problem.message))
                .collect()
        })
    }

    #[test]
    fn a_file_of_a_spreadsheet_is_read_with_either_mark_and_a_byte_order_mark() {
        let line = "2500,XOF,mtn_bj,\"Wages, May\",Awa,Diop,awa@example.com,+22997000000";
        for text in [
            format!("{HEADING}\n{line}\n"),
            format!("\u{feff}{HEADING}\r\n{line}\r\n\r\n"),
            format!(
                "{HEADING}\n{}",
                line.replace("Wages, May", "Wages May").replace("\"", "")
            )
            .replace(',', ";"),
            format!("{HEADING}\r{line}\r"),
        ] {
            let lines = read(&text).unwrap();
            assert_eq!((lines.len(), lines[0].number), (1, 2), "{text}");
            let request = &lines[0].request;
            assert_eq!(request["amount"], "2500", "a text, and no number");
            assert_eq!(request["recipient"], json!({ "msisdn": "+22997000000" }));
            assert_eq!(request["customer"]["phone"], Value::Null);
        }
    }

    #[test]
    fn each_line_has_its_own_number_whatever_ends_it() {
        let line = "2500,XOF,mtn_bj,Wages,Awa,Diop,awa@example.com,+22997000000";
        let quoted = line.replace("Wages", "\"Wages\nof May\"");
        let text = format!("{HEADING}\n{line}\n\n\n{quoted}\n{line}\n{line}");
        for end in ["\n", "\r\n", "\r"] {
            let lines = read(&text.replace('\n', end)).unwrap();
            let numbers: Vec<_> = lines.iter().map(|one| one.number).collect();
            assert_eq!(numbers, [2, 5, 7, 8], "{end:?}");
        }
    }

    #[test]
    fn each_wrong_column_is_named() {
        let wrong =
            "amount,currency,method,description,first_name,last_name,msisdn,msisdn,iban_x\n";
        let problems = read(wrong).unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
        for word in [
            "`email` is missing",
            "`msisdn` is there twice",
            "no column `iban_x`",
        ] {
            assert!(
                problems.iter().any(|one| one.contains(word)),
                "{word}: {problems:?}"
            );
        }
    }

    #[test]
    fn a_line_with_another_number_of_cells_is_named_by_its_number() {
        let text = format!("{HEADING}\n1,XOF\n2500,XOF,mtn_bj,W,A,D,a@example.com,1\n1,2,3\n");
        let problems = read(&text).unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("2: ") && problems[1].starts_with("4: "));
    }

    #[test]
    fn an_empty_file_a_long_one_and_bytes_are_refused() {
        assert!(read("").is_err());
        assert!(read(&format!("{HEADING}\n")).unwrap_err()[0].contains("no line"));
        let line = "1,XOF,mtn_bj,W,A,D,a@example.com,1\n";
        let long = format!("{HEADING}\n{}", line.repeat(BATCH_LINES + 1));
        assert!(read(&long).unwrap_err()[0].contains("at most 1000 lines"));
        let directory = Directory::new("switchyard");
        let bytes = lines(&[0xff, 0xfe, 0x00], &directory);
        assert!(bytes.unwrap_err()[0].problem.message.contains("UTF-8"));
    }
}
