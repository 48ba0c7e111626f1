//! A value that must not be seen: not in a log, not in an error, not in an answer.
//!
//! [`Secret`] has no `Display` and no `Serialize`, its `Debug` prints `***`, and its memory is
//! overwritten when it is dropped. The one way to the value is [`Secret::expose`], so that every
//! place that looks at a secret can be found by searching for that word.

use std::fmt;

use serde::{Deserialize, Deserializer};
use zeroize::Zeroize;

/// Holds a secret. It can be read from a request or a settings file, and never written to one.
#[derive(Clone)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself. Whoever calls this answers for where it goes.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> From<T> for Secret<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl From<&str> for Secret<String> {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<'de, T: Zeroize + Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_nothing_of_a_secret() {
        #[derive(Debug)]
        #[allow(dead_code)] // read by the derived Debug
        struct Holder {
            password: Secret<String>,
        }
        let holder = Holder {
            password: Secret::from("hunter2"),
        };
        assert_eq!(format!("{holder:?}"), "Holder { password: *** }");
        assert_eq!(holder.password.expose(), "hunter2");
    }
}
