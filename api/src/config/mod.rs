//! Settings: what they are ([`Settings`]), where they come from ([`load()`]), and which of them are refused ([`check()`]).

mod check;
#[cfg(test)]
mod example;
mod load;
mod proxy;
mod settings;
mod units;

pub use check::check;
pub use load::{LoadError, Overrides, load};
pub use proxy::TrustedProxies;
pub use settings::{Isolation, LogFormat, Settings, StoreBackend};
pub use units::{Bytes, Span};
