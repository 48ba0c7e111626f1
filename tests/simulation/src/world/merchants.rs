//! The merchants' endpoints, which fail, hang and lose their acknowledgments, and the mail server.

use switchyard_engine::simulation::{Cut, Request, Response};
use switchyard_engine::webhook::service_signature;
use tokio::time::{Duration, sleep};

use super::{SECOND, Shared, World};
use crate::promises::Delivery;

/// What the merchants' webhooks are signed with.
pub const SECRET: &str = "whsec_c2ltdWxhdGlvbi1zaW11bGF0aW9uLXNpbXVsYXRpb24";

/// What becomes of a delivery.
enum End {
    Answered(u16),
    /// Received, and the acknowledgment is lost.
    Cut,
    Silence,
    NobodyListens,
}

pub async fn receive(world: Shared, request: Request) -> Result<Response, Cut> {
    let (end, millis) = {
        let mut world = world.lock();
        if world.step("before a webhook leaves") {
            (End::Silence, 0)
        } else {
            let end = world.end_of_delivery();
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
                status,
                headers: Vec::new(),
                body: b"ok".to_vec(),
            })
        }
        End::Cut => Err(Cut::Broken),
        End::NobodyListens => Err(Cut::Refused),
        End::Silence => std::future::pending().await,
    }
}

pub async fn mail(world: Shared, request: Request) -> Result<Response, Cut> {
    let status = {
        let mut world = world.lock();
        if world.step("before a mail leaves") {
            None
        } else {
            let fails = world.plan.trouble.mail;
            let status = if world.goes_wrong(fails) { 450 } else { 250 };
            let id = request.headers.first().map_or("", |(_, id)| id);
            world.note(format_args!(
                "mail {id} to {} is answered {status}",
                request.url
            ));
            if status == 250 {
                let id = id.to_owned();
                world.evidence.mails.push(id);
            }
            Some(status)
        }
    };
    sleep(Duration::from_millis(50)).await;
    match status {
        Some(status) => Ok(Response {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }),
        None => std::future::pending().await,
    }
}

impl World {
    fn end_of_delivery(&mut self) -> End {
        let trouble = self.plan.trouble.endpoints;
        // A merchant's server may be away for longer than the network: until what is tried again has been given up.
        let is_well = self.now() > self.healed_at + 3_600 * SECOND;
        if !self.network.happens(trouble) || is_well {
            return End::Answered(200);
        }
        match self.network.below(5) {
            0 => End::Answered(500),
            1 => End::Answered(302),
            2 => End::Cut,
            3 => End::Silence,
            _ => End::NobodyListens,
        }
    }

    fn deliver(&mut self, request: &Request, end: &End) {
        let header = |name: &str| {
            let found = request.headers.iter().find(|(known, _)| known == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (arrived, acknowledged) = match end {
            End::Answered(status) => (true, *status == 200),
            End::Cut | End::Silence => (true, false),
            End::NobodyListens => (false, false),
        };
        let delivery = Delivery {
            at: self.now(),
            webhook: request.url.clone(),
            event: text(&body["event"]),
            event_id: header("webhook-id").to_owned(),
            transaction: text(&body["data"]["id"]),
            status: text(&body["data"]["status"]),
            body: xxhash_rust::xxh3::xxh3_64(&request.body),
            is_signed: header("x-service-signature") == service_signature(SECRET, &request.body),
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
                (false, _) => "nobody listens",
                (true, true) => "acknowledged",
                (true, false) => "arrives, not acknowledged",
            }
        ));
        self.evidence.deliveries.push(delivery);
    }
}
