//! Audit lines: which operator changed what, from where. The time is that of the log line.
//!
//! A line names the changed fields and never a value, since many values are secrets.

use std::sync::Arc;

use axum::http::Method;
use parking_lot::Mutex;
use serde_json::Value;
use switchyard_engine::access::Operator;

/// Names of the fields that a request gives, noted while its body is read.
#[derive(Clone, Default)]
pub struct Fields(Arc<Mutex<Vec<String>>>);

/// Name or id of what a request created, on its response.
#[derive(Clone)]
pub struct Created(pub String);

impl Fields {
    /// Notes the names in a JSON body: the fields, and those one level below them.
    pub fn note(&self, body: &Value) {
        let mut names = Vec::new();
        for (name, value) in body.as_object().into_iter().flatten() {
            match value.as_object().filter(|inner| !inner.is_empty()) {
                Some(inner) => names.extend(inner.keys().map(|key| format!("{name}.{key}"))),
                None => names.push(name.clone()),
            }
        }
        self.add(names);
    }

    fn add(&self, names: Vec<String>) {
        let mut noted = self.0.lock();
        let room = MAX_FIELDS.saturating_sub(noted.len());
        noted.extend(names.iter().take(room).map(|name| plain(name)));
    }

    fn listed(&self) -> String {
        let noted = self.0.lock();
        noted.join(",")
    }
}

/// A request of an operator, as its audit line names it.
pub struct Request {
    pub operator: Operator,
    pub client: String,
    pub method: Method,
    /// Path below `/operator/v1`.
    pub object: String,
    /// Names of the query parameters.
    pub query: Vec<String>,
    pub fields: Fields,
}

impl Request {
    /// Writes the audit line of a change, of a secret that was read and of an export.
    pub fn log(self, status: u16, created: Option<&Created>) {
        let is_read = matches!(self.method, Method::GET | Method::HEAD);
        let action = match is_read {
            false => "change",
            true if self.object.ends_with("/secret") => "read a secret",
            true if self.object.ends_with(".csv") => "export transactions",
            true => return,
        };
        if !is_read {
            self.fields.add(self.query);
        }
        tracing::info!(
            operator.name = self.operator.name,
            client.address = self.client,
            audit.action = action,
            audit.object = self.object,
            audit.fields = self.fields.listed(),
            audit.created = created.map(|created| created.0.as_str()),
            http.method = %self.method,
            http.status = status,
            "operator action",
        );
    }
}

/// A name without what could break a line or hide one.
fn plain(name: &str) -> String {
    let letters = name.chars().take(MAX_CHARACTERS);
    let plain = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' | '.' => letter,
        _ => '?',
    };
    letters.map(plain).collect()
}

/// More fields than any request of ours has.
const MAX_FIELDS: usize = 40;
const MAX_CHARACTERS: usize = 80;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_named_without_their_values() {
        let fields = Fields::default();
        fields.note(&json!({
            "name": "hunter2", "config": { "api_key": "hunter2", "a\nb": 1 }, "methods": [],
        }));
        assert_eq!(fields.listed(), "config.a?b,config.api_key,methods,name");
        fields.add(vec!["x".repeat(200); 100]);
        let listed = fields.listed();
        assert_eq!(listed.split(',').count(), MAX_FIELDS);
        assert!(listed.len() < MAX_FIELDS * (MAX_CHARACTERS + 1));
    }
}
