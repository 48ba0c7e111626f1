//! The merchants' endpoints, which fail, hang and lose their acknowledgments, and the mail server.

use switchyard_engine::webhook::service_signature;
use switchyard_system::simulation::{NetworkError, Request, Response};
use tokio::time::{Duration, sleep};

use super::{SECOND, Shared, World};
use crate::faults::network;
use crate::promises::{Delivery, Mail};

/// Signing secret of the merchants' webhooks.
pub const SECRET: &str = "whsec_c2ltdWxhdGlvbi1zaW11bGF0aW9uLXNpbXVsYXRpb24=";

/// Result of a delivery.
enum End {
    Answered(u16),
    /// Received, but the acknowledgment is lost.
    NetworkError,
    Silence,
    NobodyListens,
}

pub async fn receive(world: Shared, mut request: Request) -> Result<Response, NetworkError> {
    network::to_merchant(&world, &mut request);
    let (end, millis) = {
        let mut world = world.lock();
        if world.step("before a webhook leaves") {
            (End::Silence, 0)
        } else {
            let end = world.end_of_delivery(&request);
            let millis = world.network.between(1, 300);
            world.deliver(&request, &end);
            (end, millis)
        }
    };
    sleep(Duration::from_millis(millis)).await;
    match end {
        End::Answered(status) => {
            let dies = world.lock().step("before an acknowledgment is read");
            if dies {
                return std::future::pending().await;
            }
            Ok(Response {
                status: network::from_merchant(status),
                headers: Vec::new(),
                body: b"ok".to_vec(),
            })
        }
        End::NetworkError => Err(NetworkError::Broken),
        End::NobodyListens => Err(NetworkError::Refused),
        End::Silence => std::future::pending().await,
    }
}

pub async fn mail(world: Shared, request: Request) -> Result<Response, NetworkError> {
    let end = world.lock().takes_mail(&request);
    sleep(Duration::from_millis(50)).await;
    match end {
        End::Answered(status) => {
            if !world.lock().is_read(request.header("id"), status) {
                return std::future::pending().await;
            }
            Ok(Response {
                status,
                headers: Vec::new(),
                body: Vec::new(),
            })
        }
        End::NetworkError => Err(NetworkError::Broken),
        End::NobodyListens => Err(NetworkError::Refused),
        End::Silence => std::future::pending().await,
    }
}

impl World {
    /// Decides whether the mail server accepts a mail. Its response is sometimes lost.
    fn takes_mail(&mut self, request: &Request) -> End {
        if self.step("before a mail leaves") {
            return End::Silence;
        }
        let fails = self.goes_wrong(self.plan.trouble.mail);
        let is_refused = self.is_refused(request, request.header("id"));
        let end = match (fails, self.network.below(4)) {
            _ if is_refused => End::Answered(450),
            (false, _) => End::Answered(250),
            (true, 0) => End::NetworkError,
            (true, 1) => End::NobodyListens,
            (true, _) => End::Answered(450),
        };
        let (at, life, id) = (self.now(), self.life, request.header("id").to_owned());
        let taken = matches!(end, End::Answered(250) | End::NetworkError);
        self.note(format_args!("mail {id} to {}, taken: {taken}", request.url));
        if taken {
            self.evidence.mails.push(Mail {
                at,
                id,
                life,
                acknowledged: false,
            });
        }
        end
    }

    /// Records that the mail server's response is read. False if the process crashes before.
    fn is_read(&mut self, id: &str, status: u16) -> bool {
        if self.step("before a mail server's answer is read") {
            return false;
        }
        let taken = self.evidence.mails.iter_mut().rev();
        if let Some(mail) = taken.filter(|_| status == 250).find(|mail| mail.id == id) {
            mail.acknowledged = true;
        }
        true
    }

    /// Whether a message is one of the first that its receiver refuses.
    fn is_refused(&mut self, request: &Request, id: &str) -> bool {
        let refused = self.refused.entry(format!("{} {id}", request.url));
        let refused = refused.or_default();
        *refused += 1;
        *refused <= self.plan.refusals
    }

    fn end_of_delivery(&mut self, request: &Request) -> End {
        if self.is_refused(request, request.header("webhook-id")) {
            return End::Answered(500);
        }
        let trouble = self.plan.trouble.endpoints;
        // A merchant's server may be down for longer than the network: until the retries are
        // exhausted.
        let is_well = self.now() > self.healed_at + 3_600 * SECOND;
        if !is_well && self.hand.happens(self.plan.trouble.gone) {
            return End::Answered(410);
        }
        if !self.network.happens(trouble) || is_well {
            return End::Answered(200);
        }
        match self.network.below(5) {
            0 => End::Answered(500),
            1 => End::Answered(302),
            2 => End::NetworkError,
            3 => End::Silence,
            _ => End::NobodyListens,
        }
    }

    fn deliver(&mut self, request: &Request, end: &End) {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (arrived, acknowledged) = match end {
            // A 410 means that no receiver saw the request.
            End::Answered(410) => (false, false),
            End::Answered(status) => (true, *status == 200),
            End::NetworkError | End::Silence => (true, false),
            End::NobodyListens => (false, false),
        };
        let delivery = Delivery {
            at: self.now(),
            webhook: request.url.clone(),
            event: text(&body["event"]),
            event_id: request.header("webhook-id").to_owned(),
            life: self.life,
            transaction: text(&body["data"]["id"]),
            status: text(&body["data"]["status"]),
            body: xxhash_rust::xxh3::xxh3_64(&request.body),
            is_signed: request.header("x-service-signature")
                == service_signature(SECRET, &request.body),
            arrived,
            acknowledged,
        };
        self.note(format_args!(
            "{} {} of {} to {}: {}",
            delivery.event,
            delivery.event_id,
            delivery.transaction,
            delivery.webhook,
            match (arrived, acknowledged) {
                (false, _) => "nobody is there",
                (true, true) => "acknowledged",
                (true, false) => "arrives, not acknowledged",
            }
        ));
        self.evidence.deliveries.push(delivery);
    }
}
