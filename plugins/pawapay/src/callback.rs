//! pawaPay's callbacks: the `data` of a status answer, signed when the account has that switched
//! on.

use switchyard_gateway::{Callback, CallbackResult, Fault, LogLevel};

use crate::api::Api;
use crate::signature::{self, PublicKeys, Untrusted};
use crate::transfers::Transfer;

/// A callback is trusted with its outcome when the signature is pawaPay's, over this body and for
/// our address, and fresh. Any other is a hint: a query of pawaPay is right for any sender.
pub async fn read(api: &Api<'_>, news: &Callback) -> Result<CallbackResult, Fault> {
    let body = news.body.bytes()?;
    let Ok(transfer) = serde_json::from_slice::<Transfer>(&body) else {
        return Err(Fault::provider(
            "a callback that is no deposit, payout or refund of pawaPay",
        ));
    };
    let reference = transfer.identity().map(|(_, id)| id.to_owned());
    if reference.is_none() {
        return Err(Fault::provider("a callback without an id of pawaPay"));
    }
    let is_signed = news.header("signature").is_some();
    let trusted = is_signed
        && match verify(api, news, &body).await {
            Ok(()) => true,
            Err(Untrusted(why)) => {
                let line =
                    format!("a callback's signature does not count, so pawaPay is asked: {why}");
                api.cx.log(LogLevel::Warn, line);
                false
            }
        };
    Ok(CallbackResult {
        reference,
        provider_id: None,
        trusted,
        outcome: trusted.then(|| transfer.outcome()),
        ..CallbackResult::default()
    })
}

async fn verify(api: &Api<'_>, news: &Callback, body: &[u8]) -> Result<(), Untrusted> {
    let url = api.config.callback_url(news.url.as_deref());
    let url = url.ok_or(Untrusted(
        "the address that pawaPay signs for is not known: set `callback_url`",
    ))?;
    let signed = signature::Signed::read(news, url)?;
    signed.check(body, api.cx.now().unix_seconds())?;
    let key = PublicKeys::new(api).find(&signed.key_id).await?;
    signed.verify(&key)
}
