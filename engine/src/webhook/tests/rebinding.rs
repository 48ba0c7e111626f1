//! DNS rebinding: the receiver's name resolves to another address each time. The tests of the
//! egress policy cover connections to public addresses: nothing here leaves the machine.

use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use switchyard_system::egress::Failure;

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_points_to_this_machine_or_its_network_is_refused_at_that_delivery() {
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    let privately = ["127.0.0.1", "10.0.0.8", "169.254.169.254", "::1", "fd00::8"];
    // The first lookup returns no address, as for a name that is not set up yet.
    let turns: Vec<Option<IpAddr>> = std::iter::once(None)
        .chain(privately.map(|address| address.parse().ok()))
        .collect();
    let looks = Arc::new(AtomicUsize::new(0));
    let names = Resolver::scripted({
        let (looks, turns) = (looks.clone(), turns.clone());
        move |_| {
            let turn = turns[looks.fetch_add(1, Ordering::SeqCst) % turns.len()];
            turn.into_iter().collect()
        }
    });
    let settings = WebhookSettings {
        retries: 5,
        allow_http: true,
        extra_ports: vec![port],
        ..WebhookSettings::default()
    };
    let room = Room::as_set(Store::memory(), Clock::manual(START), settings, names).await;
    let url = format!("http://rebinding.example:{port}/hook");
    let webhook = room.webhook_at(&url).await;
    room.begin().await;
    for attempts in 1..=turns.len() {
        let mut made = room.attempted(&webhook, attempts).await;
        assert_eq!(made.len(), attempts);
        made.sort_by_key(|attempt| attempt.number);
        let last = made.pop().unwrap();
        assert!(!last.acknowledged);
        // Only the first lookup returned no forbidden address.
        let is_refused = last.failure == Some(Failure::ForbiddenTarget);
        assert_eq!(is_refused, attempts > 1, "{last:?}");
        assert_eq!(
            looks.load(Ordering::SeqCst),
            attempts,
            "one look a delivery"
        );
        room.clock.advance(RETRY);
    }
    assert!(trap.accept().is_err(), "the trap was connected to");
}
