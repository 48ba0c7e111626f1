//! Shared parts of the end-to-end tests: a real server in its own process, a client for it, and a
//! merchant's webhook endpoint that misbehaves on request. Only `store`, `merchant`, `at_provider`
//! and `crash` use the engine's code: the others see the interfaces of merchants and operators.

pub mod at_provider;
pub mod book;
pub mod client;
pub mod collector;
pub mod command_line;
pub mod crash;
pub mod gateways;
pub mod merchant;
pub mod provider;
pub mod receiver;
pub mod routes;
pub mod server;
pub mod small_disk;
pub mod store;
pub mod surroundings;
pub mod sweep;
pub mod tidy;
pub mod world;

pub use at_provider::AtProvider;
pub use client::{Answer, Client};
pub use command_line::CommandLine;
pub use gateways::{
    c_gateway, crypto_gateway, demo_as, demo_gateway, flutterwave_gateway, misbehaving_gateway,
    pawapay_gateway, programmable_as, programmable_gateway, stripe_as, stripe_gateway,
};
pub use receiver::{Delivery, Manner, Receiver};
pub use server::{Dev, Server, Setup};
pub use small_disk::SmallDisk;

/// The test gateway's three numbers (docs/contract/test-gateway.md), for payments: what each brings
/// about.
pub const PAYS: &str = "4149518161";
pub const STAYS_PENDING: &str = "4149518162";
pub const FAILS: &str = "4149518163";

use std::time::Duration;

/// Asks again and again until there is an answer; an error that says what was waited for when the
/// time is up.
pub async fn eventually<T, F>(
    what: &str,
    within: Duration,
    mut ask: impl FnMut() -> F,
) -> anyhow::Result<T>
where
    F: Future<Output = anyhow::Result<Option<T>>>,
{
    let end = tokio::time::Instant::now() + within;
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        anyhow::ensure!(
            tokio::time::Instant::now() < end,
            "{what}: not within {within:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
