//! Limits over restarts, windows and concurrent requests.

use futures_util::future::join_all;

use super::*;
use switchyard_core::environment::Environment;
use switchyard_core::testing::START;

fn limit(most: u64, uses: u64) -> Limit {
    Limit {
        name: "test",
        subject: "+22997000001".to_owned(),
        most,
        uses,
    }
}

fn exceeded(result: Result<Reservation, QuotaError>) -> Exceeded {
    match result {
        Err(QuotaError::Exceeded(exceeded)) => exceeded,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the limit was not held"),
    }
}

#[test]
fn limits_apply_in_live_always_and_in_sandbox_by_their_setting() {
    for (in_sandbox, environment, applies) in [
        (false, Environment::Live, true),
        (true, Environment::Live, true),
        (false, Environment::Sandbox, false),
        (true, Environment::Sandbox, true),
    ] {
        let settings = LimitSettings {
            in_sandbox,
            ..LimitSettings::default()
        };
        let found = settings.apply_to(environment);
        assert_eq!(found, applies, "{environment:?}, {in_sandbox}");
    }
}

async fn use_up(quotas: &Quotas, limit: Limit) -> Result<Settled, QuotaError> {
    let reserved = quotas.reserve(PROMPT_SPAN, &[limit]).await?;
    Ok(reserved.commit().await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_cannot_pass_a_limit_together() {
    let quotas = Quotas::new(Store::memory(), Clock::manual(START));
    let requests = (0..50).map(|_| {
        let quotas = quotas.clone();
        tokio::spawn(async move { use_up(&quotas, limit(5, 1)).await.is_ok() })
    });
    let allowed = join_all(requests).await;
    assert_eq!(
        allowed
            .into_iter()
            .filter(|ok| *ok.as_ref().unwrap())
            .count(),
        5
    );
}

#[tokio::test]
async fn counts_survive_a_restart_and_end_with_their_span() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let first = Quotas::new(store.clone(), clock.clone());
    for _ in 0..2 {
        use_up(&first, limit(2, 1)).await.unwrap();
        clock.advance(Duration::from_secs(4 * 60));
    }
    let second = Quotas::new(store.clone(), clock.clone());
    let refused = exceeded(second.reserve(PROMPT_SPAN, &[limit(2, 1)]).await);
    assert_eq!((refused.limit, refused.most), ("test", 2));
    let wait = refused.retry_after.unwrap();
    assert!(wait <= Duration::from_secs(15 * 60), "{wait:?}");
    clock.advance(wait - Duration::from_micros(1));
    exceeded(second.reserve(PROMPT_SPAN, &[limit(2, 1)]).await);
    clock.advance(Duration::from_micros(1));
    use_up(&second, limit(2, 1)).await.unwrap();
    exceeded(second.reserve(PROMPT_SPAN, &[limit(2, 1)]).await);
}

#[tokio::test]
async fn amounts_add_up_and_what_is_larger_than_the_limit_never_fits() {
    let quotas = Quotas::new(Store::memory(), Clock::manual(START));
    use_up(&quotas, limit(1_000, 600)).await.unwrap();
    exceeded(quotas.reserve(PROMPT_SPAN, &[limit(1_000, 401)]).await);
    use_up(&quotas, limit(1_000, 400)).await.unwrap();
    let never = exceeded(quotas.reserve(PROMPT_SPAN, &[limit(1_000, 1_001)]).await);
    assert_eq!(never.retry_after, None);
    assert!(
        quotas
            .reserve(PROMPT_SPAN, &[limit(0, u64::MAX)])
            .await
            .is_ok(),
        "0: no limit"
    );
}

#[tokio::test]
async fn a_reservation_that_comes_to_nothing_is_given_back() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let quotas = Quotas::new(store.clone(), clock.clone());
    let reserved = quotas.reserve(PROMPT_SPAN, &[limit(1, 1)]).await.unwrap();
    exceeded(quotas.reserve(PROMPT_SPAN, &[limit(1, 1)]).await);
    drop(reserved);
    let settled = use_up(&quotas, limit(1, 1)).await.unwrap();
    settled.give_back().await;
    use_up(&quotas, limit(1, 1)).await.unwrap();
    let restarted = Quotas::new(store, clock);
    exceeded(restarted.reserve(PROMPT_SPAN, &[limit(1, 1)]).await);
}

#[tokio::test]
async fn one_limit_that_is_reached_uses_nothing_of_the_others() {
    let quotas = Quotas::new(Store::memory(), Clock::manual(START));
    let other = |most| Limit {
        subject: "192.0.2.1".to_owned(),
        ..limit(most, 1)
    };
    use_up(&quotas, limit(1, 1)).await.unwrap();
    for _ in 0..3 {
        exceeded(quotas.reserve(PROMPT_SPAN, &[other(1), limit(1, 1)]).await);
    }
    use_up(&quotas, other(1)).await.unwrap();
}

#[tokio::test]
async fn rows_that_no_longer_count_are_swept() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let quotas = Quotas::new(store.clone(), clock.clone());
    use_up(&quotas, limit(1, 1)).await.unwrap();
    clock.advance(Duration::from_secs(15 * 60));
    assert_eq!(quotas.sweep().await.unwrap(), 0);
    clock.advance(Duration::from_secs(15 * 60));
    use_up(&quotas, limit(1, 1)).await.unwrap();
    assert_eq!(quotas.sweep().await.unwrap(), 1);
    let restarted = Quotas::new(store, clock);
    exceeded(restarted.reserve(PROMPT_SPAN, &[limit(1, 1)]).await);
}

#[test]
fn the_key_of_a_count_has_its_stored_bytes() {
    let key = row_key(PROMPT_SPAN, 0x0102, [7; SUBJECT_BYTES]);
    let bytes = [&b"quota/p\0\0\0\0\0\0\x01\x02"[..], &[7; SUBJECT_BYTES]].concat();
    assert_eq!(*key, bytes);
}
