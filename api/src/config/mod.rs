//! Settings: their definition ([`Settings`]), their sources ([`load()`]) and their checks
//! ([`check()`]).

mod check;
mod check_network;
mod check_openid;
#[cfg(test)]
mod example;
mod load;
mod names;
mod problem;
#[cfg(test)]
mod problem_tests;
mod proxy;
mod redact;
mod settings;
mod sources;
mod units;

pub use check::check;
pub use load::{Examined, LoadError, Overrides, examine, load};
pub use problem::{Fault, Faults, Origin, Problem, Weight};
pub use proxy::TrustedProxies;
pub use redact::without_master_key;
pub use settings::{LogFormat, Settings, StoreBackend, Telemetry};
pub use units::{Bytes, DurationSetting};
