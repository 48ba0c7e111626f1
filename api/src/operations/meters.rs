//! The metrics of answers, each found once: to find one by its labels costs several times what it
//! costs to count.

use std::collections::HashMap;
use std::time::Duration;

use axum::http::StatusCode;
use metrics::{Counter, Histogram};
use parking_lot::RwLock;

/// Counters by route pattern and status; both are fixed sets.
#[derive(Default)]
pub struct Meters(RwLock<HashMap<String, Vec<Meter>>>);

struct Meter {
    verb: &'static str,
    status: StatusCode,
    answers: Counter,
    seconds: Histogram,
}

impl Meters {
    /// Counts one answer. `route`: the pattern, never the path.
    pub fn answered(&self, verb: &'static str, route: &str, status: StatusCode, took: Duration) {
        let known = self.0.read();
        let of_route = known.get(route).map_or(&[][..], Vec::as_slice);
        let is_it = |meter: &&Meter| meter.verb == verb && meter.status == status;
        if let Some(meter) = of_route.iter().find(is_it) {
            return meter.count(took);
        }
        drop(known);
        let meter = Meter::new(verb, route, status);
        meter.count(took);
        // Two at once make two that count as one: they are handles on the same metric.
        let mut known = self.0.write();
        known.entry(route.to_owned()).or_default().push(meter);
    }
}

impl Meter {
    fn new(verb: &'static str, route: &str, status: StatusCode) -> Self {
        let labels = [
            ("method", verb.to_owned()),
            ("route", route.to_owned()),
            ("status", status.as_str().to_owned()),
        ];
        Self {
            verb,
            status,
            answers: metrics::counter!("switchyard_http_requests_total", &labels),
            seconds: metrics::histogram!("switchyard_http_request_seconds", &labels[..2]),
        }
    }

    fn count(&self, took: Duration) {
        self.answers.increment(1);
        self.seconds.record(took.as_secs_f64());
    }
}
