//! Every history of an attempt's calls keeps the promises, and the checker finds each rule that is
//! left out.

use std::collections::BTreeSet;
use std::time::Duration;

use switchyard_core::journal::{Failure, NotFound, Row, Stage, StatusQuery, not_found, stage};
use switchyard_model::base::NOW;
use switchyard_model::call::{AsTheyAre, CallPromise, CallScope, Rules, explore, scopes};
use switchyard_model::search::Bounds;

const BOUNDS: Bounds = Bounds {
    states: 10_000_000,
    threads: 2,
};

#[test]
fn every_history_of_calls_keeps_the_promises() {
    for scope in scopes() {
        let found = explore(scope, AsTheyAre, BOUNDS).found;
        assert!(found.is_closed, "{}", scope.name());
        for violation in &found.violations {
            println!("{:?}: {:?}", violation.promise, violation.history);
        }
        assert!(found.violations.is_empty(), "{}", scope.name());
    }
}

/// Promises that are broken in some scope.
fn broken<R: Rules>() -> BTreeSet<CallPromise> {
    let mut broken = BTreeSet::new();
    for scope in scopes() {
        let small = CallScope {
            requests: 2,
            ..scope
        };
        let bounds = Bounds {
            states: 300_000,
            ..BOUNDS
        };
        let found = explore(small, R::default(), bounds).found;
        broken.extend(found.violations.iter().map(|violation| violation.promise));
    }
    broken
}

fn breaks<R: Rules>(promise: CallPromise) {
    let broken = broken::<R>();
    assert!(broken.contains(&promise), "{broken:?}");
}

macro_rules! without {
    ($test:ident, $promise:ident, { $($rule:tt)* }) => {
        #[test]
        fn $test() {
            #[derive(Default)]
            struct Other;
            impl Rules for Other {
                $($rule)*
            }
            breaks::<Other>(CallPromise::$promise);
        }
    };
}

without!(
    a_time_out_that_counts_as_not_sent_is_found,
    NotSentMovesNoMoney,
    {
        fn may_have_left(&self, failure: Failure) -> bool {
            failure == Failure::Broken
        }
    }
);

without!(
    a_broken_connection_that_counts_as_not_sent_is_found,
    NotSentMovesNoMoney,
    {
        fn may_have_left(&self, failure: Failure) -> bool {
            failure == Failure::Timeout
        }
    }
);

without!(
    an_error_status_that_counts_as_not_sent_is_found,
    NotSentMovesNoMoney,
    {
        fn stage(&self, is_answered: bool, may_have_left: bool) -> Stage {
            stage(false, may_have_left && !is_answered)
        }
    }
);

without!(
    a_journal_that_cannot_be_read_and_counts_as_empty_is_found,
    NotSentMovesNoMoney,
    {
        fn maybe_sent(&self, rows: Option<&[Row]>) -> bool {
            rows.is_some_and(|rows| AsTheyAre.maybe_sent(Some(rows)))
        }
    }
);

without!(
    an_answered_request_that_is_sent_again_after_a_crash_is_found,
    NothingIsSentTwice,
    {
        fn maybe_sent(&self, rows: Option<&[Row]>) -> bool {
            let is_open = |row: &Row| row.stage == Stage::MaybeSent;
            rows.is_none_or(|rows| rows.iter().any(is_open))
        }
    }
);

without!(
    a_journal_that_is_not_asked_after_a_crash_is_found,
    NothingIsSentTwice,
    {
        fn maybe_sent(&self, _: Option<&[Row]>) -> bool {
            false
        }
    }
);

without!(
    a_request_that_leaves_without_its_row_is_found,
    WhatLeavesIsJournaled,
    {
        fn sends_unwritten(&self) -> bool {
            true
        }
    }
);

without!(
    a_fault_after_the_first_request_that_counts_as_not_sent_is_found,
    NotSentMovesNoMoney,
    {
        fn is_not_sent(&self, submits: bool, _: bool) -> bool {
            submits
        }
    }
);

without!(
    a_later_call_without_an_outcome_that_counts_as_not_sent_is_found,
    NotSentMovesNoMoney,
    {
        fn is_not_sent(&self, submits: bool, may_have_left: bool) -> bool {
            !submits || !may_have_left
        }
    }
);

without!(
    a_not_found_that_is_final_at_once_is_found,
    NotSentMovesNoMoney,
    {
        fn not_found(&self, rows: &[Row], _: Duration, asked: &StatusQuery) -> NotFound {
            not_found(rows, Duration::ZERO, asked)
        }
    }
);

without!(a_not_found_that_is_never_final_is_found, EndIsReachable, {
    fn not_found(&self, _: &[Row], _: Duration, _: &StatusQuery) -> NotFound {
        NotFound::NothingLeft
    }
});

without!(
    the_time_of_not_found_counted_from_the_first_request_is_found,
    NotSentMovesNoMoney,
    {
        fn not_found(&self, rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
            let first = rows.iter().copied().min_by_key(|row| row.at);
            let rows: Vec<Row> = first.into_iter().collect();
            not_found(&rows, promised, asked)
        }
    }
);

without!(
    the_time_of_not_found_counted_from_the_row_is_found,
    NotSentMovesNoMoney,
    {
        fn not_found(&self, rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
            let last = rows.iter().map(|row| row.at).max();
            match last.is_some_and(|last| asked.at >= last.max(asked.began).plus(promised)) {
                true => NotFound::Final,
                false => not_found(rows, promised, asked),
            }
        }
    }
);

without!(
    the_time_of_not_found_counted_from_the_row_of_an_exchange_that_ended_is_found,
    NotSentMovesNoMoney,
    {
        fn not_found(&self, rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
            let from_row = |row: &Row| Row {
                ended_at: row.ended_at.map(|_| row.at),
                ..*row
            };
            let rows: Vec<Row> = rows.iter().map(from_row).collect();
            not_found(&rows, promised, asked)
        }
    }
);

without!(
    the_time_of_not_found_judged_by_the_answer_is_found,
    NotSentMovesNoMoney,
    {
        fn not_found(&self, rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
            not_found(rows, promised, &StatusQuery { at: NOW, ..*asked })
        }
    }
);

without!(
    a_clock_that_was_set_and_is_believed_is_found,
    NotSentMovesNoMoney,
    {
        fn not_found(&self, rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
            let began = NOW.minus(Duration::from_secs(24 * 60 * 60));
            not_found(rows, promised, &StatusQuery { began, ..*asked })
        }
    }
);

without!(
    the_word_of_another_account_that_is_believed_is_found,
    NotSentMovesNoMoney,
    {
        fn not_found(&self, rows: &[Row], promised: Duration, asked: &StatusQuery) -> NotFound {
            let config_changed_at = None;
            not_found(
                rows,
                promised,
                &StatusQuery {
                    config_changed_at,
                    ..*asked
                },
            )
        }
    }
);
