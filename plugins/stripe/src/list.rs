//! Pages of our sessions, the newest first.
//!
//! Sessions and not payments: attempts are known by the ids of their sessions, and an open session
//! without a payment can still take money.

use switchyard_gateway::{Fault, FaultKind, List, TransactionPage};

use crate::api::{Api, Page};
use crate::sessions::Session;

/// The page behind the session that the cursor names.
pub async fn page(api: &Api<'_>, ask: &List) -> Result<TransactionPage, Fault> {
    let (from, until) = ask.span()?;
    let after = match &ask.cursor {
        Some(cursor) if is_session(cursor) => format!("&starting_after={cursor}"),
        Some(_) => {
            let why = "the cursor is no id of a session";
            return Err(Fault::new(FaultKind::Message, why));
        }
        None => String::new(),
    };
    let path = format!(
        "checkout/sessions?limit=100&created%5Bgte%5D={}&created%5Blt%5D={}\
         &expand%5B%5D=data.payment_intent{after}",
        from.unix_seconds(),
        until.unix_seconds()
    );
    let page: Option<Page<Session>> = api.read(&path).await?;
    let page = page.ok_or_else(|| Fault::provider("Stripe has no list of sessions"))?;
    let last = page.data.last().filter(|_| page.has_more);
    let next = last.map(|session| session.id.clone());
    let listed = page.data.iter().filter_map(|it| it.listed().transpose());
    Ok(TransactionPage {
        transactions: listed.collect::<Result<_, _>>()?,
        next,
    })
}

fn is_session(id: &str) -> bool {
    let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    id.starts_with("cs_") && id.bytes().all(is_of_id)
}
