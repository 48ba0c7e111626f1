//! Findings: rows of a table, each with a sentence.

use std::fmt;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Passed,
    Failed,
    /// Cannot be judged without the author's data.
    NotChecked,
}

#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `static`, or the operation.
    pub part: String,
    /// Subject of the check, or the rule.
    pub check: String,
    pub verdict: Verdict,
    /// Result; of a failure, the remedy.
    pub says: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub title: String,
    pub sha256: String,
    pub rows: Vec<Row>,
}

impl Report {
    pub fn pass(&mut self, part: &str, check: &str, says: impl Into<String>) {
        self.row(part, check, Verdict::Passed, says.into());
    }

    pub fn fail(&mut self, part: &str, check: &str, says: impl Into<String>) {
        self.row(part, check, Verdict::Failed, says.into());
    }

    pub fn not_checked(&mut self, part: &str, check: &str, says: impl Into<String>) {
        self.row(part, check, Verdict::NotChecked, says.into());
    }

    /// Passed, or failed with the first finding and how many more there are.
    pub fn judge(&mut self, part: &str, check: &str, passed: String, findings: &[String]) {
        match findings {
            [] => self.pass(part, check, passed),
            [one] => self.fail(part, check, one),
            [first, more @ ..] => {
                self.fail(part, check, format!("{first} (and {} more)", more.len()));
            }
        }
    }

    fn row(&mut self, part: &str, check: &str, verdict: Verdict, says: String) {
        self.rows.push(Row {
            part: part.to_owned(),
            check: check.to_owned(),
            verdict,
            says,
        });
    }

    /// Whether no row failed.
    pub fn is_good(&self) -> bool {
        self.count(Verdict::Failed) == 0
    }

    fn count(&self, verdict: Verdict) -> usize {
        let are = self.rows.iter().filter(|row| row.verdict == verdict);
        are.count()
    }

    /// The row of that check; for tests.
    pub fn find(&self, part: &str, check: &str) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.part == part && row.check == check)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.sha256.get(..12).unwrap_or_default();
        writeln!(f, "{} {hash}", self.title)?;
        let width = self.rows.iter().map(|row| row.check.chars().count()).max();
        let width = width.unwrap_or(0);
        let mut part = "";
        for row in &self.rows {
            if row.part != part {
                part = &row.part;
                writeln!(f, "\n{part}")?;
            }
            let mark = match row.verdict {
                Verdict::Passed => "✓",
                Verdict::Failed => "✗",
                Verdict::NotChecked => "·",
            };
            writeln!(f, "  {mark} {:<width$}  {}", row.check, row.says)?;
        }
        writeln!(
            f,
            "\n{} passed, {} failed, {} not checked",
            self.count(Verdict::Passed),
            self.count(Verdict::Failed),
            self.count(Verdict::NotChecked)
        )
    }
}
