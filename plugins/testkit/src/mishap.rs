//! Faults between a provider's ledger and our client.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use tokio::sync::Semaphore;

/// One thing that goes wrong with one request.
#[derive(Clone, Debug)]
pub enum FaultScenario {
    /// The simulator does its work, and the connection ends without a word.
    LoseAnswer,
    /// The simulator does its work, and something in between answers this.
    AnswerInstead(u16, String),
    /// The simulator never sees the request.
    Refuse(u16, String),
    /// The simulator does its work, and the answer stops in the middle.
    CutAnswer,
    /// The simulator does its work, and its answer takes this long to arrive.
    Delay(Duration),
    /// The simulator does its work, and its answer stays there until the test adds a permit.
    Hold(Arc<Semaphore>),
}

/// The mishaps that are to come; clones share them.
#[derive(Clone, Default)]
pub struct Mishaps(Arc<Mutex<Vec<(String, String, FaultScenario)>>>);

impl Mishaps {
    /// The next request of this method whose path begins so meets with this. Mishaps of one kind of
    /// request happen in order.
    pub fn next(&self, method: &str, path: &str, mishap: FaultScenario) {
        let mut coming = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        coming.push((method.to_owned(), path.to_owned(), mishap));
    }

    /// Puts them before a simulator.
    pub fn before(&self, simulator: Router) -> Router {
        let mishaps = self.clone();
        simulator.layer(middleware::from_fn(move |request, next| {
            let mishaps = mishaps.clone();
            async move { mishaps.pass(request, next).await }
        }))
    }

    fn take(&self, request: &Request) -> Option<FaultScenario> {
        let mut coming = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = coming.iter().position(|(method, path, _)| {
            method == request.method().as_str() && request.uri().path().starts_with(path)
        })?;
        Some(coming.remove(at).2)
    }

    async fn pass(&self, request: Request, next: Next) -> Response {
        match self.take(&request) {
            None => next.run(request).await,
            Some(FaultScenario::Refuse(status, body)) => answer(status, body),
            Some(FaultScenario::AnswerInstead(status, body)) => {
                next.run(request).await;
                answer(status, body)
            }
            Some(FaultScenario::Delay(time)) => {
                let response = next.run(request).await;
                tokio::time::sleep(time).await;
                response
            }
            Some(FaultScenario::Hold(gate)) => {
                let response = next.run(request).await;
                // The gate is never closed; if it were, the response would continue.
                drop(gate.acquire().await);
                response
            }
            Some(FaultScenario::LoseAnswer) => {
                next.run(request).await;
                // Ends the connection's task, and with it the connection, without a message.
                std::panic::resume_unwind(Box::new("an answer that is lost on purpose"))
            }
            Some(FaultScenario::CutAnswer) => cut(next.run(request).await).await,
        }
    }
}

fn answer(status: u16, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response
}

/// The first half of a body, with a length that matches: the result of a broken proxy.
async fn cut(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, BODY_BYTES)
        .await
        .unwrap_or_default();
    let half = bytes.slice(..bytes.len() / 2);
    parts
        .headers
        .insert(header::CONTENT_LENGTH, HeaderValue::from(half.len()));
    Response::from_parts(parts, Body::from(half))
}

const BODY_BYTES: usize = 1 << 20;
