//! Everything that reads bytes from outside, each as a function that takes any bytes: it never
//! panics, keeps to its limits, and an accepted value equals its text. `cargo xtask fuzz` runs
//! these under libFuzzer with AddressSanitizer; the tests of this crate run each over its corpus
//! and a seeded number of mutations of it.
//!
//! A new target is a row of [`TARGETS`], a folder of the same name in `corpus` with a sample, and a
//! file of that name in `libfuzzer/targets`; a test holds the three together.

pub mod mutate;

mod gateway_side;
mod headers;
mod host_side;
mod http;
mod linked;
mod merchant;
mod money;
mod rows;
mod text;

pub use http::comes_of;

/// One way in.
pub struct Target {
    pub name: &'static str,
    /// Panics when the bytes found a fault.
    pub run: fn(&[u8]),
    /// Mutations that the ordinary test tries; those that start an engine, or compute on curves,
    /// get fewer.
    pub mutations: u32,
}

const fn target(name: &'static str, run: fn(&[u8]), mutations: u32) -> Target {
    Target {
        name,
        run,
        mutations,
    }
}

/// All ways in.
pub const TARGETS: &[Target] = &[
    target("amount", money::amount, MANY),
    target("egress_url", text::egress_url, MANY),
    target("gateway_crypto_evm", gateway_side::crypto_evm, FEW),
    target("gateway_demo", gateway_side::demo, SOME),
    target("gateway_file", host_side::file, SOME),
    target("gateway_flutterwave", gateway_side::flutterwave, SOME),
    target("gateway_manifest", host_side::manifest, SOME),
    target("gateway_message", host_side::message, SOME),
    target("gateway_pawapay", gateway_side::pawapay, SOME),
    target("gateway_steps", gateway_side::steps, SOME),
    target("gateway_stripe", gateway_side::stripe, SOME),
    target("headers", headers::headers, SOME),
    target("http_operator", http::operator, FEW),
    target("http_public", http::public, FEW),
    target("merchant_payment", merchant::payment, SOME),
    target("merchant_payout", merchant::payout, SOME),
    target("merchant_query", merchant::query, MANY),
    target("rates_feed", money::rates_feed, SOME),
    target("redactor", host_side::redactor, SOME),
    target("stored_rows", rows::stored_rows, SOME),
    target("text", text::text, MANY),
    target("worker_frames", host_side::frames, MANY),
];

const MANY: u32 = 20_000;
const SOME: u32 = 4_000;
const FEW: u32 = 800;

/// The target of that name.
///
/// # Panics
/// When there is none.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("a target of this name").run)(bytes);
}
