//! Dry run of a file: every problem by its line, and nothing is ordered.

use std::collections::BTreeMap;

use switchyard_core::transaction::{ClientContext, Kind};
use switchyard_engine::access::Caller;
use switchyard_engine::engine::NewPayout;
use switchyard_records::{SearchQuery, SearchText};
use switchyard_users::BatchLine;

use super::{REFERENCE, file};
use crate::error::{ApiError, ErrorCode, Problem};
use crate::merchant::initialize::Initialization as _;
use crate::reason::Reason;
use crate::state::ApiState;

/// Problem of a line.
#[derive(Debug)]
pub struct LineProblem {
    pub line: u32,
    pub problem: Problem,
}

/// A file with its payouts, or with its problems.
#[derive(Debug, Default)]
pub struct Examined {
    pub lines: Vec<BatchLine>,
    /// The payout of each line, as it would be ordered.
    pub payouts: Vec<NewPayout>,
    /// In the order of the lines. The file is refused as a whole when it has one.
    pub problems: Vec<LineProblem>,
}

impl LineProblem {
    pub const fn new(line: u32, problem: Problem) -> Self {
        Self { line, problem }
    }
}

/// Examines the bytes of a file.
pub async fn examine(
    state: &ApiState,
    caller: &Caller,
    bytes: &[u8],
) -> Result<Examined, ApiError> {
    match file::lines(bytes, state.engine().directory()) {
        Ok(lines) => examine_lines(state, caller, lines).await,
        Err(problems) => Ok(Examined {
            problems,
            ..Examined::default()
        }),
    }
}

/// Examines the lines of a file, or of a stored batch before its confirmation.
pub async fn examine_lines(
    state: &ApiState,
    caller: &Caller,
    lines: Vec<BatchLine>,
) -> Result<Examined, ApiError> {
    let (mut payouts, mut problems) = (Vec::new(), Vec::new());
    for line in &lines {
        match read(state, caller, line) {
            Ok(new) => payouts.push(new),
            Err(error) => problems.extend(of_line(line.number, &error)),
        }
    }
    problems.extend(repeated(&lines));
    problems.extend(stored(state, caller, &lines).await?);
    if problems.is_empty() {
        let exceeding = state.engine().exceeding_payouts(caller, &payouts).await;
        for (line, error) in lines.iter().zip(exceeding) {
            let error = error.map(ApiError::from);
            problems.extend(error.iter().flat_map(|error| of_line(line.number, error)));
        }
    }
    problems.sort_by_key(|problem| problem.line);
    Ok(Examined {
        lines,
        payouts,
        problems,
    })
}

/// The payout of a line, by the rules of the merchant API.
fn read(state: &ApiState, caller: &Caller, line: &BatchLine) -> Result<NewPayout, ApiError> {
    let (body, context) = (line.request.to_string(), ClientContext::default());
    let new = NewPayout::read(body.as_bytes(), state.engine(), caller, context)?;
    new.check(state, caller)?;
    Ok(new)
}

fn of_line(line: u32, error: &ApiError) -> Vec<LineProblem> {
    let problems = error.problems().iter().cloned();
    problems.map(|one| LineProblem::new(line, one)).collect()
}

fn reference(line: &BatchLine) -> Option<&str> {
    line.request["metadata"][REFERENCE].as_str()
}

/// References that an earlier line has, too.
fn repeated(lines: &[BatchLine]) -> Vec<LineProblem> {
    let mut first = BTreeMap::new();
    let mut problems = Vec::new();
    for line in lines {
        let Some(name) = reference(line) else {
            continue;
        };
        match first.get(name) {
            None => drop(first.insert(name, line.number)),
            Some(other) => {
                let message = format!("Line {other} has this reference too.");
                let because = Reason::ReferenceTwice.with("known", other);
                let problem = Problem::new(ErrorCode::FieldDuplicated, message).at(REFERENCE);
                problems.push(LineProblem::new(line.number, problem.because(because)));
            }
        }
    }
    problems
}

/// References that a stored payout of the app has.
async fn stored(
    state: &ApiState,
    caller: &Caller,
    lines: &[BatchLine],
) -> Result<Vec<LineProblem>, ApiError> {
    let mut problems = Vec::new();
    for line in lines {
        let Some(name) = reference(line) else {
            continue;
        };
        let Ok(text) = SearchText::parse(&format!("{REFERENCE}:{name}")) else {
            continue;
        };
        let mut before = None;
        loop {
            let query = SearchQuery {
                app: caller.app.id,
                environment: caller.environment,
                kind: Some(Kind::Payout),
                text: text.clone(),
                before,
                limit: PAGE,
            };
            let page = state.engine().search(&query).await?;
            let has_it = |metadata: &BTreeMap<String, String>| {
                metadata.get(REFERENCE).is_some_and(|it| it == name)
            };
            if let Some(tx) = page.items.iter().find(|tx| has_it(&tx.metadata)) {
                let message = format!("The payout {} has this reference.", tx.id);
                let because = Reason::ReferenceStored.with("known", tx.id);
                let problem = Problem::new(ErrorCode::FieldDuplicated, message).at(REFERENCE);
                problems.push(LineProblem::new(line.number, problem.because(because)));
                break;
            }
            before = page.more;
            if before.is_none() {
                break;
            }
        }
    }
    Ok(problems)
}

const PAGE: usize = 20;
