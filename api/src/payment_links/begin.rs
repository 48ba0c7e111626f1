//! Beginning of a payment of a link.

use std::net::IpAddr;

use switchyard_core::ids::{KeyId, PaymentId, TransactionId};
use switchyard_core::limits::PAYMENT_LINK_USE_HELD;
use switchyard_core::transaction::ClientContext;
use switchyard_engine::access::{Caller, KeyKind};
use switchyard_engine::engine::NewPayment;
use switchyard_store::Batch;
use switchyard_system::secrets::Fingerprint;
use switchyard_users::{LinkAmount, NewUse, PaymentLink, Unusable, Users, UsersError};

use super::request::{CustomerRequest, payment};
use super::uses::uses;
use super::{LINK, LinkError};
use crate::error::{ApiError, ErrorCode};
use crate::merchant::initialize::{Initialization as _, Initialized, initialize_once};
use crate::operator::contract::NumberOrText;
use crate::state::ApiState;

/// Entries of a payer on the page of a link.
pub struct Payer {
    /// In major units. A link with a fixed amount does not read it.
    pub amount: String,
    pub email: String,
    pub first_name: String,
    pub last_name: String,
    pub phone: Option<String>,
}

/// Reason why no payment was begun.
#[derive(Debug)]
pub enum NotBegun {
    /// The link takes no payment.
    Unusable(Unusable),
    /// The app takes no payments, or does not exist any more.
    AppClosed,
    /// The amount is not one of the link.
    OtherAmount,
    /// The form began a payment with other content before.
    FormUsed,
    Request(ApiError),
    Failed(LinkError),
}

impl From<LinkError> for NotBegun {
    fn from(error: LinkError) -> Self {
        Self::Failed(error)
    }
}

impl From<UsersError> for NotBegun {
    fn from(error: UsersError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<ApiError> for NotBegun {
    fn from(error: ApiError) -> Self {
        Self::Request(error)
    }
}

/// Begins the payment of a form, once. `token`: random characters that the page gave the form. The
/// store has only their hash, and the hash of the entries is made with the characters.
pub async fn begin(
    (state, users): (&ApiState, &Users),
    link: &PaymentLink,
    token: &str,
    payer: &Payer,
    context: ClientContext,
) -> Result<TransactionId, NotBegun> {
    let form = &Fingerprint::of(token).to_string();
    let content = content_of(token, payer);
    let mut tries = TRIES;
    loop {
        // Held until the commit of the payment, so that payers take the last uses one by one.
        let _turn = match link.terms.max_uses {
            Some(_) => Some(users.lock_payment_link(link.id).await),
            None => None,
        };
        // A form that is sent again leads to its payment, also when the link is closed by now.
        if let Some(began) = users.payment_of_form(link.id, form).await? {
            return match began.content == content {
                true => Ok(TransactionId::Payment(began.payment)),
                false => Err(NotBegun::FormUsed),
            };
        }
        let caller = caller(state, link).ok_or(NotBegun::AppClosed)?;
        let claim = free_use(state, users, link, (form, content)).await?;
        let new = read(state, &caller, link, payer, context.clone())?;
        let add = |batch: &mut Batch, id: TransactionId| {
            claim.add_to(batch, PaymentId::new(id.ulid()));
        };
        let key = format!("{}-{form}", link.id);
        let made = Box::pin(initialize_once(state, &caller, new, key, Some(&add))).await;
        tries -= 1;
        match made {
            Ok(Initialized::First(id)) => return Ok(id),
            // The same form was sent twice at once, or another process used the link.
            Ok(Initialized::Replayed(_)) if tries > 0 => {}
            Err(error) if tries > 0 && is_passing(&error) => {}
            Ok(Initialized::Replayed(_)) => return Err(ApiError::unavailable().into()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Counts a form of a client at `address`, under the limits of a public key. Seconds until the next
/// is taken, if there were too many.
pub fn wait_of_form(state: &ApiState, link: &PaymentLink, address: Option<IpAddr>) -> Option<u32> {
    let caller = Caller {
        key: KeyId::new(link.id.ulid()),
        ..caller(state, link)?
    };
    let rate = state.engine().access().allow(&caller, address);
    (!rate.allowed).then(|| rate.retry_after.unwrap_or(1))
}

/// Whether another try may succeed: the link, its uses or the form changed before the commit.
fn is_passing(error: &ApiError) -> bool {
    let code = error.problems().first().map(|problem| problem.code);
    code == Some(ErrorCode::ServiceUnavailable)
}

/// A use of the link. Where all are held, payments that have ended give theirs back first.
async fn free_use(
    state: &ApiState,
    users: &Users,
    link: &PaymentLink,
    (form, content): (&str, Fingerprint),
) -> Result<NewUse, NotBegun> {
    let first = match users.new_use(link.id, form, content).await {
        Ok(claim) => claim,
        Err(UsersError::NotFound { .. }) => Err(Unusable::Disabled),
        Err(error) => return Err(error.into()),
    };
    let claim = match first {
        Err(Unusable::Held) => {
            uses(state, users, link).await?;
            users.new_use(link.id, form, content).await?
        }
        other => other,
    };
    claim.map_err(NotBegun::Unusable)
}

/// The app of the link with the rights of its public key, which everybody has. `None`: it takes no
/// payments.
fn caller(state: &ApiState, link: &PaymentLink) -> Option<Caller> {
    let access = state.engine().access();
    let caller = access.on_behalf_of(link.app, link.environment)?;
    caller.app.is_enabled.then_some(Caller {
        kind: KeyKind::Public,
        ..caller
    })
}

fn read(
    state: &ApiState,
    caller: &Caller,
    link: &PaymentLink,
    payer: &Payer,
    context: ClientContext,
) -> Result<NewPayment, NotBegun> {
    let amount = match link.terms.amount {
        LinkAmount::Fixed { amount } => amount.decimal(),
        LinkAmount::Between { .. } | LinkAmount::Open { .. } => payer.amount.clone(),
    };
    let customer = CustomerRequest {
        email: &payer.email,
        first_name: &payer.first_name,
        last_name: &payer.last_name,
        phone: payer.phone.as_deref(),
    };
    let engine = state.engine();
    let amount = NumberOrText::Text(amount);
    let new = payment((engine, caller), link, &amount, customer, context)?;
    if !link.terms.amount.takes(new.amount) {
        return Err(NotBegun::OtherAmount);
    }
    let held = PAYMENT_LINK_USE_HELD.min(engine.settings().expires_after);
    let expires_in = link.terms.max_uses.map(|_| held);
    Ok(NewPayment { expires_in, ..new })
}

/// Hash of the entries of a form with its token.
fn content_of(token: &str, payer: &Payer) -> Fingerprint {
    let phone = payer.phone.as_deref().unwrap_or_default();
    let parts = [
        LINK,
        token,
        &payer.amount,
        &payer.email,
        &payer.first_name,
        &payer.last_name,
        phone,
    ];
    Fingerprint::of(parts.join("\n"))
}

/// Whether the app of the link takes payments.
pub fn is_app_open(state: &ApiState, link: &PaymentLink) -> bool {
    caller(state, link).is_some()
}

/// Whether a method takes payments of the link now.
pub fn can_be_paid(state: &ApiState, link: &PaymentLink) -> bool {
    let Some(caller) = caller(state, link) else {
        return false;
    };
    let payer = Payer {
        amount: match link.terms.amount {
            LinkAmount::Fixed { amount } => amount.decimal(),
            LinkAmount::Between { least, .. } => least.decimal(),
            LinkAmount::Open { .. } => "1".to_owned(),
        },
        email: "payer@example.com".to_owned(),
        first_name: "First".to_owned(),
        last_name: "Last".to_owned(),
        phone: None,
    };
    let new = match read(state, &caller, link, &payer, ClientContext::default()) {
        Ok(new) => new,
        Err(_) => return false,
    };
    match new.check(state, &caller) {
        Ok(()) => true,
        // Other amounts may be taken.
        Err(error) => {
            let code = error.problems().first().map(|problem| problem.code);
            let is_fixed = matches!(link.terms.amount, LinkAmount::Fixed { .. });
            code == Some(ErrorCode::AmountNotServed) && !is_fixed
        }
    }
}

/// Tries to store the payment. Each but the last means that another process used the link first.
const TRIES: usize = 5;
