//! Held rates over HTTP, through a restart, to an operator's decision.

use super::schedule_tests::Server;
use super::*;
use switchyard_core::testing::START;

fn pair() -> (Currency, Currency) {
    let currency = |code: &str| Currency::from_code(code).unwrap();
    (currency("EUR"), currency("USD"))
}

fn rate(text: &str) -> Rate {
    Rate::parse(text).unwrap()
}

async fn load(store: &Store, clock: &Clock, server: &Server) -> ExchangeRates {
    let settings = FeedSettings {
        url: Some(server.url.clone()),
        ..FeedSettings::default()
    };
    let loaded = ExchangeRates::load(store.clone(), clock.clone(), settings, true).await;
    loaded.unwrap()
}

fn quoted(exchange_rates: &ExchangeRates) -> Option<String> {
    let (eur, usd) = pair();
    Some(exchange_rates.quote(eur, usd)?.rate.to_string())
}

#[tokio::test]
async fn an_implausible_rate_is_held_through_a_restart_until_an_operator_accepts_it() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let server = Server::start("1.08").await;
    let exchange_rates = load(&store, &clock, &server).await;
    let (eur, usd) = pair();
    let first = exchange_rates.fetch().await.unwrap();
    assert_eq!((first.accepted, first.held), (1, 0));
    server.says("2500");
    let second = exchange_rates.fetch().await.unwrap();
    assert_eq!((second.accepted, second.held), (0, 1));
    assert_eq!(quoted(&exchange_rates).as_deref(), Some("1.08"));

    let exchange_rates = load(&store, &clock, &server).await;
    let held = exchange_rates.held();
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!(held[0].reason, HoldReason::Moved);
    assert_eq!(
        (held[0].entry.rate, held[0].expected),
        (rate("2500"), rate("1.08"))
    );
    assert_eq!(quoted(&exchange_rates).as_deref(), Some("1.08"));

    // The operator has seen another rate than the one that is held by now.
    server.says("2600");
    exchange_rates.fetch().await.unwrap();
    let stale = exchange_rates.accept_held(eur, usd, rate("2500")).await;
    assert!(
        matches!(stale, Err(ExchangeError::HeldAnother { .. })),
        "{stale:?}"
    );
    exchange_rates
        .accept_held(eur, usd, rate("2600"))
        .await
        .unwrap();
    assert_eq!(quoted(&exchange_rates).as_deref(), Some("2600"));
    let again = exchange_rates.accept_held(eur, usd, rate("2600")).await;
    assert!(
        matches!(again, Err(ExchangeError::NotHeld { .. })),
        "{again:?}"
    );

    let exchange_rates = load(&store, &clock, &server).await;
    assert_eq!(
        (quoted(&exchange_rates).as_deref(), exchange_rates.held()),
        (Some("2600"), Vec::new())
    );
    assert_eq!(exchange_rates.fetch().await.unwrap().held, 0);
}

#[tokio::test]
async fn a_drift_is_held_through_a_restart_and_goes_on_from_what_an_operator_accepted() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let server = Server::start("1").await;
    let (eur, usd) = pair();
    for (said, used) in [
        ("1", "1"),
        ("1.099", "1.099"),
        ("1.2078", "1.099"),
        ("1.3274", "1.099"),
    ] {
        server.says(said);
        let exchange_rates = load(&store, &clock, &server).await;
        exchange_rates.fetch().await.unwrap();
        assert_eq!(quoted(&exchange_rates).as_deref(), Some(used), "{said}");
    }
    let exchange_rates = load(&store, &clock, &server).await;
    server.says("1.2");
    exchange_rates.fetch().await.unwrap();
    assert_eq!(exchange_rates.held()[0].reason, HoldReason::Drifted);
    exchange_rates
        .accept_held(eur, usd, rate("1.2"))
        .await
        .unwrap();
    server.says("1.3");
    exchange_rates.fetch().await.unwrap();
    assert_eq!(quoted(&exchange_rates).as_deref(), Some("1.3"));
    server.says("1.4");
    exchange_rates.fetch().await.unwrap();
    assert_eq!(exchange_rates.held()[0].expected, rate("1.2"));
}

#[tokio::test]
async fn a_rejected_rate_stays_unused_and_a_plausible_one_ends_the_hold() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let server = Server::start("1.08").await;
    let exchange_rates = load(&store, &clock, &server).await;
    let (eur, usd) = pair();
    exchange_rates.fetch().await.unwrap();
    server.says("0.5");
    exchange_rates.fetch().await.unwrap();
    exchange_rates
        .reject_held(eur, usd, rate("0.5"))
        .await
        .unwrap();
    exchange_rates.fetch().await.unwrap();
    let exchange_rates = load(&store, &clock, &server).await;
    assert!(
        exchange_rates.held()[0].rejected,
        "the same rate is not asked about again"
    );
    assert_eq!(quoted(&exchange_rates).as_deref(), Some("1.08"));
    server.says("0.4");
    exchange_rates.fetch().await.unwrap();
    assert!(!exchange_rates.held()[0].rejected, "another one is");
    server.says("1.1");
    exchange_rates.fetch().await.unwrap();
    assert_eq!(
        (quoted(&exchange_rates).as_deref(), exchange_rates.held()),
        (Some("1.1"), Vec::new())
    );
}

#[tokio::test]
async fn a_value_that_is_no_rate_is_shown_and_the_last_accepted_rate_is_used_until_too_old() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let server = Server::start("0").await;
    let exchange_rates = load(&store, &clock, &server).await;
    let (eur, usd) = pair();
    for (said, used, expected) in [
        ("0", None, None),
        ("1.08", Some("1.08"), None),
        ("1e-30", Some("1.08"), Some("1.08")),
        ("-1", Some("1.08"), Some("1.08")),
        ("1.09", Some("1.09"), None),
        ("null", Some("1.09"), Some("1.09")),
    ] {
        server.says(said);
        let is_used = used == Some(said);
        match exchange_rates.fetch().await {
            Ok(fetched) => assert_eq!((fetched.accepted, fetched.held), (1, 0), "{said}"),
            Err(ExchangeError::Feed(FeedError::NoneUsable(1))) => assert!(!is_used, "{said}"),
            Err(error) => panic!("{said}: {error}"),
        }
        assert_eq!(quoted(&exchange_rates).as_deref(), used, "{said}");
        let shown = UnusableRate {
            from: eur,
            to: usd,
            sent: said.to_owned(),
            at: START,
        };
        let expected = (!is_used).then(|| (shown, expected.map(rate)));
        assert_eq!(exchange_rates.unusable(), Vec::from_iter(expected));
    }
    clock.advance(FeedSettings::default().valid_for);
    assert_eq!(quoted(&exchange_rates), None);
}

#[tokio::test]
async fn a_held_rate_that_is_too_old_is_not_accepted() {
    let (store, clock) = (Store::memory(), Clock::manual(START));
    let server = Server::start("1.08").await;
    let exchange_rates = load(&store, &clock, &server).await;
    let (eur, usd) = pair();
    exchange_rates.fetch().await.unwrap();
    server.says("2500");
    exchange_rates.fetch().await.unwrap();
    clock.advance(FeedSettings::default().valid_for);
    let late = exchange_rates.accept_held(eur, usd, rate("2500")).await;
    assert!(
        matches!(late, Err(ExchangeError::HeldTooOld { .. })),
        "{late:?}"
    );
    assert_eq!(quoted(&exchange_rates), None);
}
