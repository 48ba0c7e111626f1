//! One conformance suite that each backend runs. A new backend is one line at the end of this file.

use std::task::{Context, Poll, Waker};

use super::{batch, text};
use crate::*;

/// A store and where it lives, so that a test can close and open it again.
struct Home {
    backend: Backend,
    directory: tempfile::TempDir,
}

impl Home {
    fn new(backend: Backend) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { backend, directory }
    }

    fn open(&self) -> Store {
        Store::open(&StoreSettings {
            backend: self.backend,
            path: self.directory.path().join("store"),
            cache_bytes: 4 * 1024 * 1024,
        })
        .unwrap()
    }
}

async fn keys(store: &Store, from: &str, to: &str, direction: Direction, limit: usize) -> String {
    let rows = store.scan(
        Table::Index,
        from.as_bytes(),
        to.as_bytes(),
        direction,
        limit,
    );
    let keys = rows
        .await
        .unwrap()
        .into_iter()
        .map(|(key, _)| String::from_utf8(key).unwrap());
    keys.collect::<Vec<_>>().join(" ")
}

async fn a_commit_puts_and_deletes_rows_in_several_tables(home: Home) {
    let store = home.open();
    let fill = batch(|batch| {
        batch.put(Table::Transaction, "a", "1");
        batch.put(Table::Event, "a", "2");
        batch.put(Table::Meta, "a", "");
    });
    store.commit(fill).await.unwrap();
    assert_eq!(
        text(&store, Table::Transaction, "a").await.as_deref(),
        Some("1")
    );
    assert_eq!(text(&store, Table::Event, "a").await.as_deref(), Some("2"));
    assert_eq!(text(&store, Table::Meta, "a").await.as_deref(), Some(""));
    assert_eq!(text(&store, Table::Journal, "a").await, None);

    let change = batch(|batch| {
        batch.delete(Table::Transaction, "a");
        batch.delete(Table::Transaction, "never was");
        batch.put(Table::Event, "a", "3");
    });
    store.commit(change).await.unwrap();
    assert_eq!(text(&store, Table::Transaction, "a").await, None);
    assert_eq!(text(&store, Table::Event, "a").await.as_deref(), Some("3"));
}

async fn the_later_change_of_a_row_in_one_batch_stays(home: Home) {
    let store = home.open();
    let twice = batch(|batch| {
        batch.put(Table::Timer, "a", "first");
        batch.put(Table::Timer, "a", "second");
        batch.put(Table::Timer, "b", "first");
        batch.delete(Table::Timer, "b");
        batch.delete(Table::Timer, "c");
        batch.put(Table::Timer, "c", "last");
    });
    store.commit(twice).await.unwrap();
    assert_eq!(
        text(&store, Table::Timer, "a").await.as_deref(),
        Some("second")
    );
    assert_eq!(text(&store, Table::Timer, "b").await, None);
    assert_eq!(
        text(&store, Table::Timer, "c").await.as_deref(),
        Some("last")
    );
}

async fn require_absent_lets_one_create(home: Home) {
    let store = home.open();
    let create = |value: &str| {
        batch(|batch| {
            batch.require_absent(Table::Idempotency, "key");
            batch.put(Table::Idempotency, "key", value);
        })
    };
    store.commit(create("first")).await.unwrap();
    assert_eq!(
        store.commit(create("second")).await,
        Err(CommitError::Conflict)
    );
    assert_eq!(
        text(&store, Table::Idempotency, "key").await.as_deref(),
        Some("first")
    );
    store
        .commit(batch(|batch| batch.delete(Table::Idempotency, "key")))
        .await
        .unwrap();
    store.commit(create("third")).await.unwrap();
}

async fn require_version_lets_one_of_two_writers_win(home: Home) {
    let store = home.open();
    let step = |from: u64| {
        batch(|batch| {
            batch.require_version(Table::Transaction, "t", from);
            batch.put_versioned(Table::Transaction, "t", from + 1, format!("after {from}"));
        })
    };
    assert_eq!(
        store.commit(step(1)).await,
        Err(CommitError::Conflict),
        "there is no such row"
    );
    let first = batch(|batch| batch.put_versioned(Table::Transaction, "t", 1, "new"));
    store.commit(first).await.unwrap();
    store.commit(step(1)).await.unwrap();
    assert_eq!(store.commit(step(1)).await, Err(CommitError::Conflict));
    let row = store.get_versioned(Table::Transaction, b"t").await.unwrap();
    assert_eq!(row, Some((2, b"after 1".to_vec())));
    assert_eq!(
        store.get_versioned(Table::Transaction, b"u").await,
        Ok(None)
    );
    store
        .commit(batch(|batch| batch.put(Table::Transaction, "u", "short")))
        .await
        .unwrap();
    let unversioned = store.get_versioned(Table::Transaction, b"u").await;
    assert_eq!(
        unversioned,
        Err(StoreError::NoVersion {
            table: "transaction"
        })
    );
}

async fn require_value_compares_the_whole_value(home: Home) {
    let store = home.open();
    store
        .commit(batch(|batch| batch.put(Table::Access, "k", "ab")))
        .await
        .unwrap();
    for (value, expected) in [("a", false), ("abc", false), ("", false), ("ab", true)] {
        let checked = batch(|batch| {
            batch.require_value(Table::Access, "k", value);
            batch.put(Table::Access, "seen", value);
        });
        assert_eq!(store.commit(checked).await.is_ok(), expected, "{value:?}");
    }
    let missing = batch(|batch| batch.require_value(Table::Access, "missing", ""));
    assert_eq!(store.commit(missing).await, Err(CommitError::Conflict));
}

async fn a_conflict_changes_nothing_of_its_batch(home: Home) {
    let store = home.open();
    store
        .commit(batch(|batch| batch.put(Table::Case, "taken", "x")))
        .await
        .unwrap();
    let half_right = batch(|batch| {
        batch.put(Table::Case, "before", "x");
        batch.require_absent(Table::Case, "free");
        batch.require_absent(Table::Case, "taken");
        batch.delete(Table::Case, "taken");
        batch.put(Table::Event, "after", "x");
    });
    assert_eq!(store.commit(half_right).await, Err(CommitError::Conflict));
    assert_eq!(text(&store, Table::Case, "before").await, None);
    assert_eq!(text(&store, Table::Event, "after").await, None);
    assert_eq!(
        text(&store, Table::Case, "taken").await.as_deref(),
        Some("x")
    );
}

async fn checks_do_not_see_the_changes_of_their_own_batch(home: Home) {
    let store = home.open();
    let create = batch(|batch| {
        batch.put(Table::Case, "a", "x");
        batch.require_absent(Table::Case, "a");
    });
    store.commit(create).await.unwrap();
    assert_eq!(text(&store, Table::Case, "a").await.as_deref(), Some("x"));
}

async fn scans_go_both_ways_within_their_bounds_and_limit(home: Home) {
    use Direction::{Backward, Forward};
    let store = home.open();
    let fill = batch(|batch| {
        for key in ["c", "a", "e", "b", "bb", "d"] {
            batch.put(Table::Index, key, key.to_uppercase());
        }
        batch.put(Table::Idempotency, "b", "of the next table");
        batch.put(Table::Delivery, "b", "of the table before");
    });
    store.commit(fill).await.unwrap();
    assert_eq!(keys(&store, "a", "f", Forward, 100).await, "a b bb c d e");
    assert_eq!(keys(&store, "a", "f", Backward, 100).await, "e d c bb b a");
    assert_eq!(
        keys(&store, "b", "d", Forward, 100).await,
        "b bb c",
        "the end is exclusive"
    );
    assert_eq!(keys(&store, "b", "d", Backward, 100).await, "c bb b");
    assert_eq!(keys(&store, "b", "f", Forward, 2).await, "b bb");
    assert_eq!(keys(&store, "b", "f", Backward, 2).await, "e d");
    assert_eq!(
        keys(&store, "", "zzz", Forward, 100_000).await,
        "a b bb c d e"
    );
    assert_eq!(
        keys(&store, "d", "b", Forward, 100).await,
        "",
        "an empty range has no rows"
    );
    assert_eq!(keys(&store, "b", "b", Backward, 100).await, "");
    assert_eq!(keys(&store, "a", "f", Forward, 0).await, "");
    let rows = store
        .scan(Table::Index, b"c", b"d", Forward, 1)
        .await
        .unwrap();
    assert_eq!(rows, [(b"c".to_vec(), b"C".to_vec())]);
}

async fn scans_by_prefix_see_the_rows_of_that_prefix_alone(home: Home) {
    let store = home.open();
    let all = [
        vec![1, 255],
        vec![1, 255, 0],
        vec![1, 255, 255, 255],
        vec![2],
        vec![255, 255],
        vec![255, 255, 7],
    ];
    let fill = batch(|batch| all.iter().for_each(|key| batch.put(Table::Index, key, "")));
    store.commit(fill).await.unwrap();
    for (prefix, expected) in [
        (vec![1_u8, 255], 3),
        (vec![1], 3),
        (vec![255, 255], 2),
        (vec![2], 1),
        (vec![3], 0),
    ] {
        let key = prefix.iter().fold(Key::new(), |key, byte| key.with(*byte));
        let rows = store.pages(Table::Index, key.range(), 10).next().await;
        let found = rows.unwrap().map_or(0, |rows| rows.len());
        assert_eq!(found, expected, "{prefix:?}");
    }
}

async fn sixty_four_tasks_that_count_in_one_row_lose_nothing(home: Home) {
    const EACH: u64 = 5;
    let store = home.open();
    store
        .commit(batch(|batch| {
            batch.put_versioned(Table::Meta, "count", 0, "")
        }))
        .await
        .unwrap();
    let tasks: Vec<_> = (0..64)
        .map(|_| tokio::spawn(count(store.clone(), EACH)))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let (version, _) = store
        .get_versioned(Table::Meta, b"count")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(version, 64 * EACH);
    let stats = store.stats();
    assert_eq!(stats.commits, 64 * EACH + 1, "a conflict is not a commit");
    assert!(stats.batches <= stats.commits);
    assert_eq!(stats.queue, 0);
    assert!(stats.available);
}

async fn count(store: Store, times: u64) {
    let mut done = 0;
    while done < times {
        let (version, _) = store
            .get_versioned(Table::Meta, b"count")
            .await
            .unwrap()
            .unwrap();
        let step = batch(|batch| {
            batch.require_version(Table::Meta, "count", version);
            batch.put_versioned(Table::Meta, "count", version + 1, "");
        });
        match store.commit(step).await {
            Ok(()) => done += 1,
            Err(CommitError::Conflict) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn commits_that_are_sent_in_order_are_made_in_order(home: Home) {
    let store = home.open();
    let mut waiting = Vec::new();
    for n in 0..200_u64 {
        let step = batch(|batch| {
            if n > 0 {
                batch.require_version(Table::Meta, "last", n - 1);
            }
            batch.put_versioned(Table::Meta, "last", n, "");
            batch.put(Table::Event, n.to_be_bytes(), "");
        });
        let mut commit = Box::pin(async { store.commit(step).await });
        // The first poll sends the commit, so several share a batch and check each other's rows.
        match commit
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(verdict) => verdict.unwrap(), // the writer was faster than the rest of the poll
            Poll::Pending => waiting.push(commit),
        }
    }
    for commit in waiting {
        commit.await.unwrap();
    }
    let rows = store
        .scan(Table::Event, &[0], &[1], Direction::Forward, 1_000)
        .await
        .unwrap();
    assert_eq!(rows.len(), 200);
}

async fn numbers(store: &Store, key: &str) -> [u64; 2] {
    let row = store.get(Table::Count, key.as_bytes()).await.unwrap();
    counts(row.as_deref())
}

async fn sixty_four_tasks_that_add_to_one_row_lose_nothing_and_never_conflict(home: Home) {
    const EACH: u64 = 10;
    let store = home.open();
    let tasks: Vec<_> = (0..64_u64)
        .map(|task| {
            let store = store.clone();
            tokio::spawn(async move {
                for step in 0..EACH {
                    let counted = batch(|batch| {
                        batch.put(Table::Event, [task as u8, step as u8], "");
                        batch.add(Table::Count, "c", [1, 0]);
                        // Half of the steps are taken back by the step after.
                        batch.add(Table::Count, "c", [0, [2, -1][step as usize % 2]]);
                    });
                    store.commit(counted).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(numbers(&store, "c").await, [64 * EACH, 32 * EACH]);
}

async fn counts_of_commits_that_share_a_flush_are_added_up_and_of_refused_ones_are_not(home: Home) {
    let store = home.open();
    let mut waiting = Vec::new();
    for n in 0..300_i64 {
        let step = batch(|batch| {
            if n % 3 == 2 {
                batch.require_absent(Table::Event, "first");
            }
            batch.put(Table::Event, if n == 0 { "first" } else { "other" }, "");
            batch.add(Table::Count, ["a", "b"][n as usize % 2], [n, 1]);
        });
        let store = &store;
        let mut commit = Box::pin(async move { store.commit(step).await });
        // The first poll sends the commit, so several share a flush.
        match commit
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(verdict) => assert_eq!(verdict.is_err(), n % 3 == 2, "{n}"),
            Poll::Pending => waiting.push((n, commit)),
        }
    }
    for (n, commit) in waiting {
        assert_eq!(commit.await.is_err(), n % 3 == 2, "{n}");
    }
    for (key, first) in [("a", 0), ("b", 1)] {
        let made = (first..300_u64).step_by(2).filter(|n| n % 3 != 2);
        let expected = [made.clone().sum(), made.count() as u64];
        assert_eq!(numbers(&store, key).await, expected, "{key}");
    }
}

async fn a_row_of_counts_is_put_added_to_and_deleted_in_order_and_gone_at_zero(home: Home) {
    let store = home.open();
    let there = |store: &Store| {
        let store = store.clone();
        async move { store.get(Table::Count, b"c").await.unwrap().is_some() }
    };
    let add = |one: i64, other: i64| batch(|batch| batch.add(Table::Count, "c", [one, other]));
    store.commit(add(2, 5)).await.unwrap();
    store.commit(add(-2, 0)).await.unwrap();
    assert_eq!(numbers(&store, "c").await, [0, 5]);
    store.commit(add(0, -5)).await.unwrap();
    assert!(!there(&store).await, "nothing is counted");
    store
        .commit(batch(|batch| batch.require_absent(Table::Count, "c")))
        .await
        .unwrap();

    let over_put = batch(|batch| {
        batch.add(Table::Count, "c", [1, 1]);
        batch.put(Table::Count, "c", [7_u64.to_be_bytes(), [0; 8]].concat());
        batch.add(Table::Count, "c", [0, 3]);
    });
    store.commit(over_put).await.unwrap();
    assert_eq!(
        numbers(&store, "c").await,
        [8, 4],
        "what is added comes last"
    );
    let over_nothing = batch(|batch| {
        batch.add(Table::Count, "c", [1, 0]);
        batch.delete(Table::Count, "c");
    });
    store.commit(over_nothing).await.unwrap();
    assert_eq!(numbers(&store, "c").await, [1, 0]);
    store
        .commit(batch(|batch| batch.delete(Table::Count, "c")))
        .await
        .unwrap();
    assert!(!there(&store).await);
}

async fn counts_are_there_after_the_store_is_opened_again(home: Home) {
    for round in 0..3 {
        let store = home.open();
        assert_eq!(numbers(&store, "c").await, [round, 2 * round]);
        let counted = batch(|batch| batch.add(Table::Count, "c", [1, 2]));
        store.commit(counted).await.unwrap();
    }
}

async fn a_scan_sees_a_commit_whole_or_not_at_all(home: Home) {
    let store = home.open();
    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for n in 0..200_u64 {
                let fill = batch(|batch| {
                    for row in 0..8_u8 {
                        batch.put(Table::Index, [row], n.to_be_bytes());
                    }
                });
                store.commit(fill).await.unwrap();
            }
        }
    });
    while !writer.is_finished() {
        let rows = store
            .scan(Table::Index, &[0], &[9], Direction::Forward, 8)
            .await
            .unwrap();
        assert!(
            rows.windows(2).all(|pair| pair[0].1 == pair[1].1),
            "{rows:?}"
        );
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
}

async fn a_closed_store_refuses_and_says_so(home: Home) {
    let store = home.open();
    store
        .commit(batch(|batch| batch.put(Table::Meta, "a", "1")))
        .await
        .unwrap();
    store.close().await;
    store.close().await;
    let refused = store
        .commit(batch(|batch| batch.put(Table::Meta, "a", "2")))
        .await;
    assert_eq!(
        refused,
        Err(CommitError::Unavailable {
            reason: "it is closed".to_owned()
        })
    );
    let refused = store.get(Table::Meta, b"a").await;
    assert_eq!(
        refused,
        Err(StoreError::Unavailable {
            reason: "it is closed".to_owned()
        })
    );
    assert!(!store.stats().available);
}

async fn rows_are_there_after_a_close_and_after_a_drop(home: Home) {
    for n in 0..3_u64 {
        let store = home.open();
        for before in 0..2 * n {
            let row = store
                .get(Table::Customer, &before.to_be_bytes())
                .await
                .unwrap();
            assert_eq!(row, Some(vec![7; 100]), "row {before} in round {n}");
        }
        for row in 2 * n..2 * n + 2 {
            let fill = batch(|batch| batch.put(Table::Customer, row.to_be_bytes(), [7; 100]));
            store.commit(fill).await.unwrap();
        }
        if n == 0 {
            store.close().await;
            home.open(); // though the closed handle is still there
        }
    }
}

async fn large_values_are_kept(home: Home) {
    let rows = |n: u8| vec![n; 300_000];
    {
        let store = home.open();
        for n in 1..=5 {
            let fill = batch(|batch| batch.put(Table::Callback, [n], rows(n)));
            store.commit(fill).await.unwrap();
        }
    }
    let store = home.open();
    for n in 1..=5 {
        assert_eq!(
            store.get(Table::Callback, &[n]).await.unwrap(),
            Some(rows(n))
        );
    }
}

macro_rules! conformance {
    ($module:ident, $backend:expr, [$($rule:ident),* $(,)?]) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $rule() {
                    super::$rule(Home::new($backend)).await;
                }
            )*
        }
    };
}

macro_rules! every_backend {
    ([$($rule:ident),* $(,)?], on_disk: [$($disk:ident),* $(,)?]) => {
        conformance!(sqlite, Backend::Sqlite, [$($rule,)* $($disk,)*]);
        conformance!(sled, Backend::Sled, [$($rule,)* $($disk,)*]);
        conformance!(memory, Backend::Memory, [$($rule,)*]);
    };
}

every_backend!(
    [
        a_commit_puts_and_deletes_rows_in_several_tables,
        the_later_change_of_a_row_in_one_batch_stays,
        require_absent_lets_one_create,
        require_version_lets_one_of_two_writers_win,
        require_value_compares_the_whole_value,
        a_conflict_changes_nothing_of_its_batch,
        checks_do_not_see_the_changes_of_their_own_batch,
        scans_go_both_ways_within_their_bounds_and_limit,
        scans_by_prefix_see_the_rows_of_that_prefix_alone,
        sixty_four_tasks_that_count_in_one_row_lose_nothing,
        sixty_four_tasks_that_add_to_one_row_lose_nothing_and_never_conflict,
        counts_of_commits_that_share_a_flush_are_added_up_and_of_refused_ones_are_not,
        a_row_of_counts_is_put_added_to_and_deleted_in_order_and_gone_at_zero,
        commits_that_are_sent_in_order_are_made_in_order,
        a_scan_sees_a_commit_whole_or_not_at_all,
        a_closed_store_refuses_and_says_so,
    ],
    on_disk: [
        rows_are_there_after_a_close_and_after_a_drop,
        large_values_are_kept,
        counts_are_there_after_the_store_is_opened_again,
    ]
);
