//! Result of the operation `callback`.

use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;

/// Content of a callback. `trusted` only when this call has verified its signature; any other
/// callback is a hint, after which the engine queries. A constant in each callback is no signature:
/// everybody who has seen one callback can forge the next.
///
/// ```
/// use switchyard_gateway::{Amount, CallbackResult, Outcome};
///
/// let paid = Outcome::succeeded(Amount::minor(1_000, "XOF"));
/// let signed = CallbackResult::trusted(paid).about("7d3f0c9e-5b1a-4a52-9d6e-0f3c8a1b2c4d");
/// let unsigned = CallbackResult::hint().about_provider_id("ch_1");
/// let forged = CallbackResult::refused("the signature is wrong");
/// # let _ = (signed, unsigned, forged, CallbackResult::nothing());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    pub trusted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Reason for which it does not come from the provider. The other fields are ignored then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl CallbackResult {
    /// Callback with a valid signature. Name the attempt with [`Self::about`] or
    /// [`Self::about_provider_id`].
    ///
    /// ```
    /// use switchyard_gateway::{Amount, CallbackResult, Outcome, testing};
    ///
    /// let news = testing::callback("", &[("X-Signature", "5f2b")]);
    /// // Computed over the body with the connection's key.
    /// let expected = "5f2b";
    /// let result = match news.header("x-signature") == Some(expected) {
    ///     true => CallbackResult::trusted(Outcome::succeeded(Amount::minor(1_000, "XOF"))),
    ///     false => CallbackResult::refused("the signature is wrong"),
    /// };
    /// assert!(result.about(testing::REFERENCE).trusted);
    /// ```
    pub fn trusted(outcome: Outcome) -> Self {
        Self {
            trusted: true,
            outcome: Some(outcome),
            ..Self::default()
        }
    }

    /// Callback that anybody may have sent: the engine queries the provider about its attempt.
    ///
    /// ```
    /// use switchyard_gateway::{CallbackResult, testing};
    ///
    /// // This provider signs nothing. The form says which charge changed.
    /// let news = testing::callback("charge=ch_1&state=paid", &[]);
    /// let form = news.form()?;
    /// let result = match form.get("charge") {
    ///     Some(id) => CallbackResult::hint().about_provider_id(id),
    ///     None => CallbackResult::nothing(),
    /// };
    /// assert!(!result.trusted && result.outcome.is_none());
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn hint() -> Self {
        Self::default()
    }

    /// From the provider, and about nothing that the engine has to know: a test call, an event of
    /// another kind.
    ///
    /// ```
    /// use switchyard_gateway::CallbackResult;
    ///
    /// let result = |event: &str| match event {
    ///     "charge.updated" => CallbackResult::hint(),
    ///     // `account.updated` and others are no news about an attempt.
    ///     _ => CallbackResult::nothing(),
    /// };
    /// assert_eq!(result("account.updated").reference, None);
    /// ```
    pub fn nothing() -> Self {
        Self {
            trusted: true,
            ..Self::default()
        }
    }

    /// Forged: the signature does not fit. Changes nothing, and is kept for the operator to see.
    ///
    /// ```
    /// use switchyard_gateway::{CallbackResult, testing};
    ///
    /// let news = testing::callback("{}", &[]);
    /// let result = match news.header("x-signature") {
    ///     None => CallbackResult::refused("the header X-Signature is missing"),
    ///     Some(_) => CallbackResult::hint(),
    /// };
    /// assert_eq!(result.refused.as_deref(), Some("the header X-Signature is missing"));
    /// ```
    pub fn refused(why: impl Into<String>) -> Self {
        Self {
            refused: Some(why.into()),
            ..Self::default()
        }
    }

    /// Names the attempt by our reference.
    ///
    /// ```
    /// use switchyard_gateway::{CallbackResult, testing};
    ///
    /// // The manifest has `"per": "transaction"`: the address ends with our reference.
    /// let mut news = testing::callback("", &[]);
    /// news.path = format!("/callbacks/con_1/{}", testing::REFERENCE);
    /// let result = CallbackResult::hint().about(news.rest());
    /// assert_eq!(result.reference.as_deref(), Some(testing::REFERENCE));
    /// ```
    pub fn about(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Names the attempt by the provider's id.
    ///
    /// ```
    /// use switchyard_gateway::{CallbackResult, Fault, testing};
    ///
    /// let form = testing::callback("id=ch_1&state=paid", &[]).form()?;
    /// let id = form.get("id").ok_or_else(|| Fault::provider("the callback has no id"))?;
    /// let result = CallbackResult::hint().about_provider_id(id);
    /// assert_eq!(result.provider_id.as_deref(), Some("ch_1"));
    /// # Ok::<(), Fault>(())
    /// ```
    pub fn about_provider_id(mut self, id: impl Into<String>) -> Self {
        self.provider_id = Some(id.into());
        self
    }
}
