//! Errors inside a gateway, as opposed to responses of a provider.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Error of a call without an outcome. **A fault never means declined**: the engine knows which
/// requests were sent. A fault before the first write means *not sent*, a later one *unknown*. So
/// `?` is safe everywhere in a gateway.
///
/// ```
/// use switchyard_gateway::{Fault, FaultKind};
///
/// let fault = Fault::provider("Acme answered 502");
/// assert_eq!(fault.kind, FaultKind::Provider);
/// assert_eq!(fault.to_string(), "Acme answered 502");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
}

/// Kind of a fault.
///
/// ```
/// use switchyard_gateway::{Fault, FaultKind};
///
/// let is_for_operators = |fault: &Fault| match fault.kind {
///     // They correct the connection.
///     FaultKind::Config => true,
///     FaultKind::Provider => false,
///     // Errors of the gateway itself; new kinds may come.
///     _ => true,
/// };
/// assert!(is_for_operators(&Fault::config("`api_key` is empty")));
/// assert!(!is_for_operators(&Fault::provider("Acme answered 502")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FaultKind {
    /// The gateway's code panicked.
    Panic,
    /// The gateway waits for something that no effect will bring.
    Stalled,
    /// The connection's configuration lacks something or does not fit.
    Config,
    /// A message of the engine could not be read, or the gateway does not have the operation.
    Message,
    /// The provider answered in a way that the gateway cannot make sense of, or could not be
    /// reached.
    Provider,
    /// The gateway does not have this operation. Its manifest must not list it.
    Unsupported,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

impl Fault {
    /// A fault of any kind.
    ///
    /// ```
    /// use switchyard_gateway::{Fault, FaultKind};
    ///
    /// let fault = Fault::new(FaultKind::Provider, "Acme sent half a page");
    /// assert_eq!(fault.kind, FaultKind::Provider);
    /// ```
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The connection's configuration is wrong: say which field, and how it should look.
    ///
    /// ```
    /// use switchyard_gateway::{Fault, FaultKind};
    ///
    /// let fault = Fault::config("`api_key` begins with sk_: copy it whole");
    /// assert_eq!(fault.kind, FaultKind::Config);
    /// ```
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Config, message)
    }

    /// The provider answered something unreadable.
    ///
    /// ```
    /// use switchyard_gateway::{Fault, FaultKind};
    ///
    /// let fault = Fault::provider("Acme answered 502");
    /// assert_eq!(fault.kind, FaultKind::Provider);
    /// ```
    pub fn provider(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Provider, message)
    }

    pub(crate) fn message(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Message, message)
    }

    pub(crate) fn unsupported(operation: &str) -> Self {
        Self::new(
            FaultKind::Unsupported,
            format!(
                "this gateway has no operation `{operation}`: remove it from `operations` in gateway.json, or write it"
            ),
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}
