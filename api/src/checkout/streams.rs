//! Event streams of pages: how many there may be at once, in all, of one client address and of one
//! payment.
//!
//! Each is a connection that stays open. A page that gets none asks for the status every few
//! seconds, so a refusal costs a payer nothing.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::StatusCode;
use metrics::{Gauge, counter, gauge};
use switchyard_core::ids::TransactionId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::operations::quota::{ClientPermit, ClientQuota, Quota, QuotaPermit};
use crate::state::StreamLimits;

/// All streams of this process.
pub struct Streams {
    room: Arc<Semaphore>,
    of_address: ClientQuota,
    of_payment: Quota<TransactionId>,
}

/// The place of one stream, until this is dropped.
pub struct StreamPlace {
    open: Gauge,
    _room: OwnedSemaphorePermit,
    _of_address: Option<ClientPermit>,
    _of_payment: QuotaPermit<TransactionId>,
}

impl Streams {
    pub fn new(limits: StreamLimits) -> Self {
        Self {
            room: Arc::new(Semaphore::new(limits.total)),
            of_address: ClientQuota::new(limits.per_address),
            of_payment: Quota::new(limits.per_payment),
        }
    }

    /// A place for a stream of this payment to this client.
    ///
    /// # Errors
    /// The status to answer: 429 when the address or the payment is at its limit, 503 when there
    /// are no more at all.
    pub fn take(
        &self,
        address: Option<IpAddr>,
        payment: TransactionId,
    ) -> Result<StreamPlace, StatusCode> {
        let refused = |why: &'static str, status| {
            counter!("switchyard_streams_refused_total", "why" => why).increment(1);
            status
        };
        let too_many = StatusCode::TOO_MANY_REQUESTS;
        let of_payment = self.of_payment.take(payment);
        let of_payment = of_payment.ok_or_else(|| refused("payment", too_many))?;
        let of_address = match address {
            Some(address) => {
                let permit = self.of_address.take(address);
                Some(permit.ok_or_else(|| refused("address", too_many))?)
            }
            None => None,
        };
        let room = self.room.clone().try_acquire_owned();
        let room = room.map_err(|_| refused("total", StatusCode::SERVICE_UNAVAILABLE))?;
        let open = gauge!("switchyard_streams");
        open.increment(1.0);
        Ok(StreamPlace {
            open,
            _room: room,
            _of_address: of_address,
            _of_payment: of_payment,
        })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.open.decrement(1.0);
    }
}

#[cfg(test)]
mod tests {
    use switchyard_core::ids::PaymentId;
    use switchyard_core::time::Timestamp;
    use switchyard_system::ids::Ids;

    use super::*;

    #[test]
    fn each_of_the_three_limits_refuses_the_next_stream() {
        let ids = Ids::seeded(5);
        let payment = || {
            let ulid = ids.ulid(Timestamp::from_seconds(1_700_000_000));
            TransactionId::Payment(PaymentId::new(ulid))
        };
        let address = |last: u8| Some(IpAddr::from([192, 0, 2, last]));
        let streams = Streams::new(StreamLimits {
            total: 4,
            per_address: 3,
            per_payment: 2,
        });
        let refused = |at, payment| {
            streams
                .take(at, payment)
                .err()
                .map(|status| status.as_u16())
        };
        let one = payment();
        let mut held = vec![streams.take(address(1), one).ok()];
        held.push(streams.take(address(2), one).ok());
        assert_eq!(refused(address(3), one), Some(429), "the payment has two");
        held.push(streams.take(address(1), payment()).ok());
        held.push(streams.take(address(1), payment()).ok());
        assert_eq!(
            refused(address(1), payment()),
            Some(429),
            "the address has three"
        );
        assert_eq!(refused(address(4), payment()), Some(503), "there are four");
        assert_eq!(
            refused(None, payment()),
            Some(503),
            "an unknown address counts too"
        );
        held.clear();
        assert_eq!(refused(address(1), one), None, "all places are free again");
    }
}
