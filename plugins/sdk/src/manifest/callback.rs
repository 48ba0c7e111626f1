//! Callbacks of a provider: the response to them, and the scope of their URL.

use serde::{Deserialize, Serialize};

/// Response to a provider's callback, and the scope of a callback URL.
///
/// ```
/// use switchyard_gateway::manifest::{CallbackPer, CallbackRule};
///
/// let rule: CallbackRule = serde_json::from_str(r#"{
///     "per": "transaction", "answer": { "status": 200, "body": "[accepted]" }
/// }"#)?;
/// assert_eq!((rule.per, rule.answer.body.as_str()), (CallbackPer::Transaction, "[accepted]"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallbackRule {
    #[serde(default)]
    pub answer: CallbackAnswer,
    #[serde(default)]
    pub per: CallbackPer,
}

/// Response to each callback of the provider, sent as soon as the callback is stored.
///
/// ```
/// use switchyard_gateway::manifest::CallbackAnswer;
///
/// // Most providers want any 2xx; this one reads the body.
/// let answer: CallbackAnswer = serde_json::from_str(r#"{
///     "content_type": "application/json", "body": "{\"received\":true}"
/// }"#)?;
/// assert_eq!((answer.status, CallbackAnswer::default().status), (200, 200));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CallbackAnswer {
    pub status: u16,
    pub content_type: Option<String>,
    pub body: String,
}

impl Default for CallbackAnswer {
    fn default() -> Self {
        Self {
            status: 200,
            content_type: None,
            body: String::new(),
        }
    }
}

/// Scope of a callback URL.
///
/// ```
/// use switchyard_gateway::manifest::CallbackPer;
/// use switchyard_gateway::testing;
///
/// // The path of a callback, as the gateway receives it.
/// let path = |per: CallbackPer| match per {
///     CallbackPer::Account => "/callbacks/con_1".to_owned(),
///     CallbackPer::Transaction => format!("/callbacks/con_1/{}", testing::REFERENCE),
/// };
/// let mut news = testing::callback("", &[]);
/// news.path = path(CallbackPer::Transaction);
/// assert_eq!(news.rest(), testing::REFERENCE);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CallbackPer {
    /// One URL for the connection.
    #[default]
    Account,
    /// A URL for each attempt, which the gateway sends along: it ends with our reference.
    Transaction,
}
