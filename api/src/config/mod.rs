//! Settings: their definition ([`Settings`]), their sources ([`load()`]) and their checks ([`check()`]).

mod check;
#[cfg(test)]
mod example;
mod load;
mod proxy;
mod redact;
mod settings;
mod units;

pub use check::check;
pub use load::{LoadError, Overrides, load};
pub use proxy::TrustedProxies;
pub use redact::without_master_key;
pub use settings::{Isolation, LogFormat, Settings, StoreBackend};
pub use units::{Bytes, DurationSetting};
