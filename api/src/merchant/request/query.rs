//! The query of the two lists: `limit`, `page`, `status`, `from_date`, `to_date`.
//!
//! Another parameter is refused: a filter that is ignored would answer all transactions.

use std::borrow::Cow;

use switchyard_core::time::Timestamp;
use switchyard_core::transaction::Status;

use super::form::verdict;
use crate::error::{ApiError, ErrorCode, PROBLEMS, Problem};

/// Parameters of a list request.
#[derive(Debug, PartialEq)]
pub struct Filter {
    pub limit: usize,
    pub page: usize,
    pub status: Option<Status>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// Reads the query of a list whose transactions can be in `statuses`.
pub fn read(query: &str, statuses: &[Status]) -> Result<Filter, ApiError> {
    let pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> =
        url::form_urlencoded::parse(query.as_bytes()).collect();
    let mut problems = Vec::new();
    let mut parameter = |name: &'static str, says: &str, read: &mut dyn FnMut(&str) -> bool| {
        let mut values = pairs.iter().filter(|(key, _)| key == name);
        let (first, second) = (values.next(), values.next());
        if let Some((_, value)) = first
            && (second.is_some() || !read(value))
        {
            problems.push(
                Problem::new(
                    ErrorCode::ParameterInvalid,
                    format!("{name} must be {says}"),
                )
                .at(name),
            );
        }
    };
    let mut filter = Filter {
        limit: DEFAULT_LIMIT,
        page: 1,
        status: None,
        from: None,
        to: None,
    };
    let allowed: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
    parameter("limit", "a whole number from 1 to 100", &mut |text| {
        set(&mut filter.limit, number(text, LARGEST_LIMIT))
    });
    parameter("page", "a whole number from 1 to 1000000", &mut |text| {
        set(&mut filter.page, number(text, LARGEST_PAGE))
    });
    parameter(
        "status",
        &format!("one of {}", allowed.join(", ")),
        &mut |text| {
            filter.status = Status::parse(text).filter(|status| statuses.contains(status));
            filter.status.is_some()
        },
    );
    parameter("from_date", A_DATE, &mut |text| {
        filter.from = Timestamp::parse(text);
        filter.from.is_some()
    });
    parameter("to_date", A_DATE, &mut |text| {
        filter.to = Timestamp::parse_end(text);
        filter.to.is_some()
    });
    problems.extend(unknown(&pairs));
    verdict(problems)?;
    Ok(filter)
}

/// A problem for each parameter that lists do not have, once.
fn unknown<'p>(pairs: &'p [(Cow<'_, str>, Cow<'_, str>)]) -> impl Iterator<Item = Problem> + 'p {
    let names = pairs.iter().map(|(name, _)| name);
    let others = names
        .enumerate()
        .filter(|(at, name)| {
            let is_first = !pairs[..*at].iter().any(|(before, _)| before == *name);
            is_first && !PARAMETERS.contains(&name.as_ref())
        })
        .map(|(_, name)| name);
    others.take(PROBLEMS).map(|name| {
        let shown: String = name.chars().take(60).filter(|c| !c.is_control()).collect();
        let message = format!("There is no parameter {shown:?}");
        Problem::new(ErrorCode::ParameterUnknown, message)
            .at(shown)
            .hint(format!("The parameters are {}.", PARAMETERS.join(", ")))
    })
}

fn set(slot: &mut usize, value: Option<usize>) -> bool {
    value.map(|value| *slot = value).is_some()
}

fn number(text: &str, largest: usize) -> Option<usize> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 7;
    let number = text.parse().ok().filter(|_| is_plain)?;
    (1..=largest).contains(&number).then_some(number)
}

const PARAMETERS: [&str; 5] = ["limit", "page", "status", "from_date", "to_date"];
pub const DEFAULT_LIMIT: usize = 20;
const LARGEST_LIMIT: usize = 100;
const LARGEST_PAGE: usize = 1_000_000;
const A_DATE: &str = "a date such as 2026-11-20, or a moment such as 2026-11-20T10:00:00Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_asked_is_the_first_page() {
        let filter = read("", &Status::ALL).unwrap();
        let expected = Filter {
            limit: 20,
            page: 1,
            status: None,
            from: None,
            to: None,
        };
        assert_eq!(filter, expected);
    }

    #[test]
    fn every_parameter_is_read() {
        let query = "limit=100&page=7&status=pending&from_date=2026-11-20&to_date=2026-11-20";
        let filter = read(query, &Status::ALL).unwrap();
        assert_eq!(
            (filter.limit, filter.page, filter.status),
            (100, 7, Some(Status::Pending))
        );
        assert_eq!(filter.from, Timestamp::parse("2026-11-20T00:00:00Z"));
        assert_eq!(filter.to, Timestamp::parse("2026-11-20T23:59:59.999999Z"));
        for moment in ["2026-11-20T10%3A00%3A00Z", "2026-11-20T10:00:00"] {
            let query = format!("from_date={moment}&to_date={moment}");
            let filter = read(&query, &Status::ALL).unwrap();
            let ten = Timestamp::parse("2026-11-20T10:00:00Z");
            assert_eq!((filter.from, filter.to), (ten, ten), "{moment}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_all_at_once() {
        let payout = [
            Status::Initiated,
            Status::Pending,
            Status::Failed,
            Status::Success,
        ];
        let table = [
            ("limit=0", vec!["limit"]),
            ("limit=101", vec!["limit"]),
            ("limit=", vec!["limit"]),
            ("limit=-1", vec!["limit"]),
            ("limit=+5", vec!["limit"]),
            ("limit=1.5", vec!["limit"]),
            ("limit=5&limit=6", vec!["limit"]),
            ("page=0", vec!["page"]),
            ("page=1000001", vec!["page"]),
            ("status=cancelled", vec!["status"]),
            ("status=", vec!["status"]),
            ("from_date=yesterday", vec!["from_date"]),
            ("to_date=2026-13-01", vec!["to_date"]),
            ("to_date=x&limit=x&page=x", vec!["limit", "page", "to_date"]),
            ("email=a%40b.example", vec!["email"]),
            ("Limit=5", vec!["Limit"]),
            ("page=0&b=1&a=&b=2&=", vec!["page", "b", "a", ""]),
        ];
        for (query, fields) in table {
            let error = read(query, &payout).unwrap_err();
            assert_eq!(error.status(), 422, "{query}");
            let named: Vec<_> = error
                .problems()
                .iter()
                .filter_map(|problem| problem.field.as_deref())
                .collect();
            assert_eq!(named, fields, "{query}");
        }
    }
}
