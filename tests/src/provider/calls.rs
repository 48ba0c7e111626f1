//! Callbacks of the provider: a charge is paid that it had answered as pending.
//!
//! It sends until it is acknowledged. Which charge is called about how soon, twice, or before its
//! own request is answered follows from the how-manieth it is, without chance.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Shared, lock};
use crate::client::Client;
use crate::receiver::signature;

/// Before it is sent again to a server that is down or cannot take it.
const PAUSE: Duration = Duration::from_millis(150);
/// How long the answer to the request takes that its own callback overtakes.
const OVERTAKEN: Duration = Duration::from_millis(300);

/// Destination of callbacks.
#[derive(Clone)]
pub(super) struct Callee {
    pub server: Client,
    /// Ids of the connections, by slot.
    pub connections: Vec<String>,
    /// Key of the signed callbacks.
    pub key: &'static str,
}

/// Result of the callbacks about one reference.
#[derive(Clone, Debug, Default)]
pub struct Called {
    pub transaction: String,
    pub slot: u64,
    pub is_signed: bool,
    /// Callbacks that were not yet acknowledged.
    pub open: u32,
    /// Requests, with any result.
    pub sent: u32,
    /// Requests that were answered with 2xx.
    pub acknowledged: u32,
    /// An answer that tells a provider to give up.
    pub refused: Option<String>,
}

/// By reference.
pub type Calls = BTreeMap<String, Called>;

/// The request for a charge that is called about.
pub(super) struct Charge {
    pub reference: String,
    /// As the gateway sent it.
    pub request: Value,
}

/// Whether the provider calls back about a charge with this word.
pub(super) fn is_called_about(word: &str) -> bool {
    matches!(word, "signed" | "hint")
}

/// Takes the charge, and has the callback follow. Returns when its request may be answered.
pub(super) async fn follow_up(state: &Shared, charge: Charge) {
    let manner = {
        let mut state = lock(state);
        if state.callee.is_none() || state.calls.contains_key(&charge.reference) {
            return;
        }
        let manner = Manner::of(state.calls.len() as u64);
        let called = Called {
            transaction: charge.request["transaction"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            slot: charge.request["slot"].as_u64().unwrap_or_default(),
            is_signed: charge.request["word"] == "signed",
            open: 1 + u32::from(manner.is_twice),
            ..Called::default()
        };
        state.calls.insert(charge.reference.clone(), called);
        manner
    };
    let overtakes = manner.after.is_zero();
    tokio::spawn(call(state.clone(), charge, manner));
    if overtakes {
        tokio::time::sleep(OVERTAKEN).await;
    }
}

/// Manner in which a callback is sent.
struct Manner {
    /// The money moves so long after the request. At once: the callback comes before the answer to
    /// the request.
    after: Duration,
    /// Whether it is sent twice, at the same time.
    is_twice: bool,
}

impl Manner {
    fn of(number: u64) -> Self {
        Self {
            after: match number % 10 {
                7 => Duration::ZERO,
                _ => Duration::from_millis(50 + number * 373 % 1_200),
            },
            is_twice: number % 10 == 3,
        }
    }
}

/// Moves the money, and sends the callback.
async fn call(state: Shared, charge: Charge, manner: Manner) {
    tokio::time::sleep(manner.after).await;
    let slot = charge.request["slot"].as_u64().unwrap_or_default();
    // A provider that hangs sends nothing either.
    while lock(&state).hangs == Some(slot) {
        tokio::time::sleep(PAUSE).await;
    }
    lock(&state).is_paid(&charge.reference);
    tokio::join!(tell(&state, &charge), async {
        if manner.is_twice {
            tell(&state, &charge).await;
        }
    });
}

/// Sends it until it is acknowledged.
async fn tell(state: &Shared, charge: &Charge) {
    let news = json!({
        "reference": charge.reference,
        "minor": charge.request["minor"],
        "currency": charge.request["currency"],
    });
    let body = news.to_string().into_bytes();
    loop {
        let Some((server, path, signature)) = next(state, &charge.reference, &body) else {
            return;
        };
        let answer = server.post_signed(&path, body.clone(), signature).await;
        {
            let mut state = lock(state);
            let Some(called) = state.calls.get_mut(&charge.reference) else {
                return;
            };
            match answer {
                Ok(answer) if (200..300).contains(&answer.status) => {
                    called.acknowledged += 1;
                    called.open -= 1;
                    return;
                }
                Ok(answer) if answer.status < 500 && answer.status != TOO_MANY => {
                    called.refused = Some(format!("{} {}", answer.status, answer.body));
                    called.open -= 1;
                    return;
                }
                _ => {}
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Counts another request, and says where it goes and with which signature.
fn next(state: &Shared, reference: &str, body: &[u8]) -> Option<(Client, String, Option<String>)> {
    let mut state = lock(state);
    let callee = state.callee.clone()?;
    let called = state.calls.get_mut(reference)?;
    called.sent += 1;
    let connection = callee.connections.get(usize::try_from(called.slot).ok()?)?;
    let signature = called.is_signed.then(|| signature(callee.key, body));
    Some((callee.server, format!("/callbacks/{connection}"), signature))
}

const TOO_MANY: u16 = 429;
