//! The network and the providers: a network that loses, delays and duplicates messages, and
//! providers that fail, lie and send callbacks.

use std::sync::Arc;

use switchyard_system::simulation::{Network, NetworkError, Request, Response, To};
use tokio::sync::oneshot;
use tokio::time::{Duration, sleep};

use super::agenda::{Deed, Happening, Reply};
use super::books::{Entry, Fate, ID_DISAGREES, REPEATED_LATE, TOKEN_EXPIRED};
use super::merchants;
use super::{SECOND, Shared, World, tokens};
use crate::faults::network;
use crate::gateway::{IDEMPOTENT, REPEATS, TOKEN_PATH, VERSION};
use crate::promises::{Answered, Calling, Sent};

/// A request in transit to a provider.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    pub host: String,
    /// Version of the gateway that sent it.
    pub version: String,
    pub method: String,
    pub path: String,
    pub body: serde_json::Value,
    /// Access token.
    pub token: String,
    /// Whether the gateway repeats an earlier request.
    pub repeats: bool,
}

/// Transit time of a provider's response, and the response.
pub type RecentResults = (Duration, Result<Response, NetworkError>);

/// The network of the process, for the engine.
pub fn line(world: &Shared) -> Network {
    let world = world.clone();
    Arc::new(move |request| {
        let world = world.clone();
        Box::pin(async move {
            match request.to {
                To::Provider => to_provider(world, request).await,
                To::Merchant => merchants::receive(world, request).await,
                To::MailServer => merchants::mail(world, request).await,
            }
        })
    })
}

async fn to_provider(world: Shared, mut request: Request) -> Result<Response, NetworkError> {
    network::to_provider(&mut request);
    let request = ProviderRequest::of(&request);
    if request.path == TOKEN_PATH {
        return tokens::issue(world, request.host).await;
    }
    let _turn = network::turn(&world).await;
    let (reference, method) = (request.reference(), request.method.clone());
    let leaves = world.lock().leaves(request);
    let answer = match leaves {
        Leaves::NotAtAll => return Err(NetworkError::Refused),
        Leaves::IntoSilence => std::future::pending().await,
        Leaves::IntoBreak(after) => {
            sleep(after).await;
            return Err(NetworkError::Broken);
        }
        Leaves::OnItsWay(answer) => answer,
    };
    let Ok((after, result)) = answer.await else {
        return std::future::pending().await; // no response will arrive
    };
    sleep(after).await;
    let lives = world.lock().hears(&reference, &method, &result);
    if !lives {
        return std::future::pending().await;
    }
    result
}

/// Id of a provider that uses one id for all references.
fn one_id(host: &str) -> String {
    format!("{host}-same")
}

/// Returns the status in a response, if it can be parsed.
fn word(answer: &Response) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    let word = body["status"].as_str().map(str::to_owned);
    word.filter(|_| answer.status == 200)
}

/// Signer of a callback, and whether it names our reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signed {
    ByProvider { names_reference: bool },
    Forged,
}

/// Result of sending a request.
enum Leaves {
    NotAtAll,
    IntoSilence,
    IntoBreak(Duration),
    OnItsWay(oneshot::Receiver<RecentResults>),
}

impl ProviderRequest {
    fn of(request: &Request) -> Self {
        let rest = request.url.trim_start_matches("https://");
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            host: host.trim_end_matches(".example").to_owned(),
            version: request.header(VERSION).to_owned(),
            method: request.method.clone(),
            path: path.to_owned(),
            body: serde_json::from_slice(&request.body).unwrap_or_default(),
            token: request
                .header("authorization")
                .trim_start_matches("Bearer ")
                .to_owned(),
            repeats: !request.header(REPEATS).is_empty(),
        }
    }

    /// Returns the reference that the request is about.
    fn reference(&self) -> String {
        let in_path = self.path.split('/').nth(1).map(str::to_owned);
        in_path.unwrap_or_else(|| {
            self.body["reference"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
    }

    fn text(&self, field: &str) -> String {
        self.body[field].as_str().unwrap_or_default().to_owned()
    }

    fn submits(&self) -> bool {
        self.method == "POST" && !self.path.contains('/')
    }
}

impl World {
    /// Records that the process reads a response. False if the process crashes before.
    fn hears(&mut self, of: &str, method: &str, result: &Result<Response, NetworkError>) -> bool {
        if self.step("before an answer is read") {
            return false;
        }
        if let Ok(answer) = result {
            let at = self.now();
            self.evidence.answered.push(Answered {
                at,
                reference: of.to_owned(),
                method: method.to_owned(),
                status: answer.status,
                word: word(answer),
            });
        }
        true
    }

    fn leaves(&mut self, request: ProviderRequest) -> Leaves {
        if self.step("before a request leaves") {
            return Leaves::IntoSilence;
        }
        let (trouble, reference) = (self.plan.trouble.clone(), request.reference());
        let refused = self.goes_wrong(trouble.refused);
        let lost = self.goes_wrong(trouble.lost);
        let late = self.goes_wrong(trouble.late);
        let twice = self.goes_wrong(trouble.late) && request.host.starts_with(IDEMPOTENT);
        let coin = self.network.below(2) == 0;
        let hangs = request.host.starts_with('n') && self.hand.happens(self.plan.trouble.sick);
        let hangs = hangs && !self.is_healed();
        // Most repetitions arrive almost as late as the manifest lets "not found" become final, and
        // later than that time after the first request.
        let lags = request.repeats && self.network.happens(900) && !self.is_healed();
        let under_way = match (lags, late) {
            (true, _) => self.network.between(95_000, 118_000),
            (false, true) => self.network.between(1_000, 60_000),
            (false, false) => self.network.between(5, 400),
        };
        let what = format!("{} {}/{}", request.method, request.host, request.path);
        self.record_sent(&request, refused);
        if refused {
            self.note(format_args!("{what} {reference} is not listened to"));
            return Leaves::NotAtAll;
        }
        if hangs {
            self.note(format_args!("{what} {reference} is never answered"));
            return Leaves::IntoSilence;
        }
        if lost {
            self.note(format_args!("{what} {reference} is lost on its way"));
            return match coin {
                true => Leaves::IntoSilence,
                false => Leaves::IntoBreak(Duration::from_millis(under_way)),
            };
        }
        self.note(format_args!("{what} {reference} leaves, {under_way} ms"));
        if lags {
            self.books.tell(REPEATED_LATE);
        }
        let after = i64::try_from(under_way).unwrap_or(0) * 1_000;
        let (reply, answer) = oneshot::channel();
        if twice {
            let again = Happening::Arrives {
                request: request.clone(),
                reply: None,
            };
            // "Not found" is final after 120 s, and a reference may be unknown for 20 s after it
            // arrived.
            let second = match lags {
                true => after + SECOND,
                false => (after * 2).min(98 * SECOND),
            };
            self.later(second, again);
        }
        let reply = Some(reply);
        self.later(after, Happening::Arrives { request, reply });
        Leaves::OnItsWay(answer)
    }

    fn record_sent(&mut self, request: &ProviderRequest, refused: bool) {
        let reference = request.reference();
        let at = self.now();
        let is_excused = request.repeats && !refused && self.may_repeat(request, &reference);
        self.evidence.sent.push(Sent {
            at,
            reference,
            is_live: request.host.ends_with(".live"),
            host: request.host.clone(),
            version: request.version.clone(),
            submits: request.submits() && !is_excused,
            minor: request.body["minor"].as_i64().unwrap_or(0),
            currency: request.text("currency"),
            left: !refused,
        });
    }

    pub(super) fn arrives(&mut self, request: ProviderRequest, reply: Option<Reply>) {
        let trouble = self.plan.trouble.clone();
        let fails = self.goes_wrong(trouble.failing);
        let does_it = !fails || self.network.below(2) == 0;
        let babbles = self.goes_wrong(trouble.nonsense);
        let lost = self.goes_wrong(trouble.lost);
        let late = self.goes_wrong(trouble.late);
        let coin = self.network.below(2) == 0;
        let (mut status, mut body) = (503, String::from("busy"));
        if !self.accepts_token(&request) {
            let repeats = self.books.repeats.entry(request.reference()).or_default();
            repeats.unauthorized += u32::from(request.submits());
            self.books.tell(TOKEN_EXPIRED);
            (status, body) = (401, "{}".to_owned());
        } else if does_it {
            (status, body) = self.answers(&request);
        }
        if fails {
            (status, body) = (500, "{}".to_owned());
        } else if babbles {
            body = "<html>It works!</html>".to_owned();
        }
        let reference = request.reference();
        self.note(format_args!(
            "the provider answers {reference}: {status} {body}"
        ));
        let millis = match late {
            true => self.network.between(1_000, 60_000),
            false => self.network.between(5, 400),
        };
        let Some(reply) = reply else { return };
        let result = match (lost, coin) {
            (false, _) => Ok(Response {
                status,
                headers: Vec::new(),
                body: body.into_bytes(),
            }),
            (true, true) => Err(NetworkError::Broken),
            (true, false) => {
                self.note(format_args!("the answer about {reference} is lost"));
                return; // the reply is dropped, so the caller waits for its timeout
            }
        };
        let _ = reply.send((Duration::from_millis(millis), result)); // the process may have crashed
    }

    /// Applies a request to the provider, and returns a status and a body.
    fn answers(&mut self, request: &ProviderRequest) -> (u16, String) {
        let reference = request.reference();
        if request.submits() {
            self.submitted(request, &reference);
        } else if request.path.ends_with("/code") {
            self.hears_code(&reference, &request.text("code"));
        } else if request.method == "POST" {
            self.called_off(&reference);
        }
        let now = self.now();
        // Some providers publish a reference a little after they accepted it.
        let shy = self.plan.trouble.late > 0 && self.network.below(4) == 0;
        let entry = self.books.entries.get(&reference).cloned();
        let is_known = |entry: &Entry| {
            entry.host == request.host
                && !entry.hidden
                && (request.method == "POST" || !shy || entry.is_known_at(now))
        };
        match entry.filter(is_known) {
            Some(entry) => {
                self.evidence.said.push(entry.said(now));
                (200, entry.body())
            }
            None => {
                self.evidence.said.push(crate::promises::Said {
                    at: now,
                    reference,
                    status: "unknown".to_owned(),
                });
                (404, "{}".to_owned())
            }
        }
    }

    fn submitted(&mut self, request: &ProviderRequest, reference: &str) {
        let now = self.now();
        let is_idempotent = request.host.starts_with(IDEMPOTENT);
        if let Some(entry) = self.books.entries.get(reference) {
            if !is_idempotent {
                let again = entry.charge(now, false);
                self.evidence.charges.push(again);
                self.note(format_args!("{reference} IS TAKEN TWICE"));
            }
            return;
        }
        let fate = self.fate(request);
        let minor = request.body["minor"].as_i64().unwrap_or(0);
        let mut entry = Entry {
            host: request.host.clone(),
            reference: reference.to_owned(),
            transaction: request.text("transaction"),
            is_payout: request.path == "payouts",
            currency: request.text("currency"),
            arrived_at: now,
            status: "pending",
            code: String::new(),
            taken: minor,
            asked: minor,
            id: format!("{}-{reference}", request.host),
            names_reference: true,
            hidden: false,
            repeated: request.repeats,
            names_amount: true,
        };
        self.note(format_args!(
            "{reference} of {} has the fate {fate:?}",
            entry.transaction
        ));
        self.begins(fate, &mut entry);
        // A provider that has begun to use one id for all goes on to do so.
        let one_id = one_id(&entry.host);
        if self.books.entries.values().any(|other| other.id == one_id) {
            entry.id = one_id;
        }
        if matches!(entry.status, "paid" | "part") {
            let lied = matches!(
                fate,
                Fate::TakesLess | Fate::OtherCurrency | Fate::TakesUnreadable { .. }
            );
            let charge = entry.charge(now, lied);
            self.evidence.charges.push(charge);
        }
        self.books.entries.insert(reference.to_owned(), entry);
        if let Fate::WantsCode { until } = fate {
            self.sends_code(reference, until);
        }
        if !self.books.entries[reference].hidden {
            self.tells(reference);
        }
    }

    /// Applies `fate`: the immediate effect, and the scheduled ones.
    fn begins(&mut self, fate: Fate, entry: &mut Entry) {
        let of = entry.reference.clone();
        match fate {
            Fate::Paid => entry.status = "paid",
            Fate::Declined => entry.status = "declined",
            Fate::Busy => entry.status = "busy",
            Fate::Endless => {}
            Fate::WantsCode { .. } => entry.status = "code",
            Fate::Later { paid, after } => {
                self.later(
                    after,
                    Happening::Settles {
                        reference: of,
                        paid,
                    },
                );
            }
            Fate::DeclinesAndTakes { status, after } => {
                entry.status = status;
                self.later(after, Happening::TakesAnyway { reference: of });
            }
            Fate::PaysAndTakesBack { after } => {
                entry.status = "paid";
                self.later(after, Happening::TakesBack { reference: of });
            }
            Fate::TakesLess => {
                entry.status = "paid";
                entry.taken = (entry.taken / 2).max(1);
            }
            Fate::TakesMore => {
                entry.status = "paid";
                entry.taken = entry.taken + entry.taken / 2 + 1;
            }
            Fate::HidesAndTakes { after } => {
                entry.hidden = true;
                self.later(after, Happening::TakesAnyway { reference: of });
            }
            Fate::HidesAndTakesParts { after } => {
                entry.hidden = true;
                self.takes_parts(&of, after);
            }
            Fate::HidesAndTakesUnnamed { after } => {
                (entry.hidden, entry.names_amount) = (true, false);
                self.takes_unnamed(of, after);
            }
            Fate::TakesUnreadable { after } => {
                (entry.status, entry.names_amount) = ("part", false);
                self.later(after, Happening::Denies { reference: of });
            }
            Fate::TakesTwice { after } => {
                entry.status = "paid";
                self.later(after, Happening::TakesAgain { reference: of });
            }
            Fate::OtherCurrency => {
                entry.status = "paid";
                entry.currency = "EUR".to_owned();
            }
            Fate::BorrowsId => {
                entry.status = "paid";
                entry.id = self.borrowed_id(entry);
            }
            Fate::RepeatsId => {
                entry.status = "paid";
                entry.id = one_id(&entry.host);
                entry.names_reference = false;
            }
        }
    }

    /// Schedules the money in three parts.
    fn takes_parts(&mut self, of: &str, after: i64) {
        for quarters in [2, 3, 4] {
            let reference = of.to_owned();
            let happening = Happening::TakesPart {
                reference,
                quarters,
            };
            self.later(after + quarters * 40 * SECOND, happening);
        }
    }

    /// Schedules the money, and a later report of its amount.
    fn takes_unnamed(&mut self, reference: String, after: i64) {
        let of = reference.clone();
        self.later(after, Happening::TakesAnyway { reference: of });
        let named_at = after + 200 * SECOND;
        self.later(named_at, Happening::NamesAmount { reference });
    }

    /// Returns an id that the provider has given to another reference, if there is one: of a paid
    /// one, if there is such a one.
    fn borrowed_id(&self, entry: &Entry) -> String {
        let others = self.books.entries.values();
        let mut of_host = others.filter(|other| other.host == entry.host);
        let first = of_host.clone().next();
        let borrowed = of_host.find(|other| other.status == "paid").or(first);
        borrowed.map_or_else(|| entry.id.clone(), |other| other.id.clone())
    }

    /// Draws the effect of a submission.
    fn fate(&mut self, request: &ProviderRequest) -> Fate {
        let lies = self.goes_wrong(self.plan.trouble.lies);
        let endless = self.goes_wrong(self.plan.trouble.endless);
        let fate = self.books.fate(lies, endless);
        let wants_code = request.path == "charges" && self.hand.happens(self.plan.codes);
        match wants_code && !self.is_healed() {
            true => Fate::WantsCode {
                until: self.hand_waits(60_000, 900_000),
            },
            false => fate,
        }
    }

    fn called_off(&mut self, reference: &str) {
        if let Some(entry) = self.books.entries.get_mut(reference)
            && matches!(entry.status, "pending" | "code")
        {
            entry.status = "declined";
            self.note(format_args!("the provider calls {reference} off"));
        }
    }

    /// Schedules callbacks about the provider's current record, with the configured faults.
    pub(super) fn tells(&mut self, reference: &str) {
        let trouble = self.plan.trouble.clone();
        let Some(entry) = self.books.entries.get(reference) else {
            return;
        };
        let (host, body) = (entry.host.clone(), entry.callback());
        let (status, names_reference) = (entry.status, entry.names_reference);
        let disagrees = entry.disagrees();
        let copies = match self.goes_wrong(trouble.callbacks) {
            true => self.network.below(4),
            false => self.network.below(2),
        };
        for _ in 0..copies {
            let delay = match self.goes_wrong(trouble.callbacks) {
                true => self.network.between(0, 600_000),
                false => self.network.between(0, 3_000),
            };
            if disagrees {
                self.books.tell(ID_DISAGREES);
            }
            let is_signed = Signed::ByProvider { names_reference };
            self.calls(&host, reference, body.clone(), status, is_signed, delay);
        }
        if self.goes_wrong(trouble.forged) {
            let forged = body.replace(status, "paid");
            let delay = self.network.between(0, 60_000);
            self.calls(&host, reference, forged, "paid", Signed::Forged, delay);
        }
    }

    fn calls(&mut self, host: &str, of: &str, body: String, status: &str, by: Signed, ms: u64) {
        let index = self.evidence.callings.len();
        self.evidence.callings.push(Calling {
            host: host.to_owned(),
            reference: of.to_owned(),
            status: status.to_owned(),
            body,
            signed: by != Signed::Forged,
            names_reference: by
                != Signed::ByProvider {
                    names_reference: false,
                },
            to_sick: host.starts_with('n') && self.plan.trouble.sick > 0,
            acknowledged_at: None,
        });
        let after = i64::try_from(ms).unwrap_or(0) * 1_000;
        self.later(after, Happening::Deed(Deed::CallBack { index, tries: 0 }));
    }
}
