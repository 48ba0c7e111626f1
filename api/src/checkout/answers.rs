//! Payer's answers so far, passed from page to page in the URL, encrypted: a plain phone number
//! would stay in the browser's history and in logs of proxies.
//!
//! There are no sessions. Two tabs carry two independent sets of answers; a link that is too old to
//! open, or that belongs to another payment, is treated as a missing one.

use serde::{Deserialize, Serialize};
use switchyard_core::ids::{AccountId, TransactionId};
use switchyard_core::money::Amount;
use switchyard_engine::access::{Sealed, Vault};

use super::form_fields::Values;
use super::page_context::PageContext;
use super::request::Selection;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormState {
    pub payment: TransactionId,
    pub method: String,
    /// ISO 3166-1 alpha-2.
    pub country: String,
    pub given: Values,
    /// Number of attempts of the payment when the payer began to answer. It distinguishes a new
    /// confirmation from a form that is sent twice, or that was left open while another tab paid.
    pub attempts: usize,
    /// The form has been sent, so its mistakes are shown.
    pub sent: bool,
    /// Price that the page with the button showed.
    #[serde(default)]
    pub agreed: Option<Amount>,
}

const PURPOSE: &str = "checkout answers";

impl FormState {
    /// Form before its first input.
    pub fn first(context: &PageContext, chosen: &Selection) -> Self {
        Self {
            payment: context.tx.id,
            method: chosen.way.method.code.clone(),
            country: chosen.country.alpha2.to_owned(),
            given: Values::new(),
            attempts: context.tx.attempts.len(),
            sent: false,
            agreed: None,
        }
    }

    /// A text for an address. `None` when the account has no key, which a stored account always
    /// has.
    pub fn seal(&self, vault: &Vault, account: AccountId) -> Option<String> {
        let plain = serde_json::to_vec(self).ok()?;
        let sealed = vault.seal(account, PURPOSE, &plain).ok()?;
        match serde_json::to_value(sealed).ok()? {
            serde_json::Value::String(text) => Some(text.replace('+', "-").replace('/', "_")),
            _ => None,
        }
    }

    /// The answers of this payment that were sealed so.
    pub fn open(
        text: &str,
        vault: &Vault,
        account: AccountId,
        payment: TransactionId,
    ) -> Option<Self> {
        let text = text.replace('-', "+").replace('_', "/");
        let sealed: Sealed = serde_json::from_value(serde_json::Value::String(text)).ok()?;
        let plain = vault.open(account, PURPOSE, &sealed).ok()?;
        let answers: Self = serde_json::from_slice(plain.expose()).ok()?;
        (answers.payment == payment).then_some(answers)
    }
}
