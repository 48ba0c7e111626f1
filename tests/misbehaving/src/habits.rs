//! Faults that show only over several calls: state kept between them, and code that runs when one
//! is cancelled.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use switchyard_gateway::{Collect, Context, Fault, Outcome};

use crate::Config;

static CALLS: AtomicU64 = AtomicU64::new(0);
static LAST: Mutex<Option<String>> = Mutex::new(None);
static OFFENDED: AtomicBool = AtomicBool::new(false);

/// `habit: …`.
pub async fn show(cx: &Context, ask: &Collect) -> Result<Outcome, Fault> {
    let reference = ask.reference.as_str();
    match ask.description.as_str() {
        "habit: count" => charge(cx, reference, CALLS.fetch_add(1, Ordering::SeqCst)).await?,
        "habit: submit again" => {
            charge(cx, reference, 1).await?;
            charge(cx, "another reference", 2).await?;
        }
        "habit: submit under more" => {
            charge(cx, reference, 1).await?;
            charge(cx, &format!("{reference}-2"), 1).await?;
        }
        by_verb if by_verb.starts_with("habit: send ") => {
            let config: Config = cx.config()?;
            let verb = by_verb.trim_start_matches("habit: send ");
            let request = cx.http(verb, format!("{}/charges", config.url));
            request
                .json(&json!({ "reference": reference }))
                .send()
                .await?;
            return Err(Fault::provider("after a write"));
        }
        "habit: remember" => {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            let shown = last.replace(reference.to_owned());
            let shown = shown.unwrap_or_else(|| reference.to_owned());
            return Ok(Outcome::succeeded(&ask.amount).with_provider_id(shown));
        }
        _ => {
            let mut patience = Patience { is_over: true };
            for key in ["one", "two", "three"] {
                cx.cached(key).await;
            }
            patience.is_over = false;
            if OFFENDED.load(Ordering::SeqCst) {
                return Err(Fault::provider("an earlier call was cancelled"));
            }
        }
    }
    Ok(Outcome::succeeded(&ask.amount))
}

/// Minds being dropped before its time.
struct Patience {
    is_over: bool,
}

impl Drop for Patience {
    fn drop(&mut self) {
        if self.is_over {
            OFFENDED.store(true, Ordering::SeqCst);
        }
    }
}

async fn charge(cx: &Context, reference: &str, number: u64) -> Result<(), Fault> {
    let config: Config = cx.config()?;
    cx.post(format!("{}/charges", config.url))
        .json(&json!({ "reference": reference, "number": number }))
        .send()
        .await?;
    Ok(())
}

/// How many calls there were before this one.
pub fn calls_before() -> u64 {
    CALLS.fetch_add(1, Ordering::SeqCst)
}
