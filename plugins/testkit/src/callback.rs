//! Callbacks, from the simulator's side.

use switchyard_gateway::Callback;
use switchyard_gateway::wire::Body;

use crate::driver::client;

/// A callback as a provider writes it. Post it twice, late, out of order or changed: that is up to
/// the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderCallback {
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl ProviderCallback {
    /// Sends it; the status that came back.
    pub async fn post(&self, url: &str) -> Result<u16, reqwest::Error> {
        let method = reqwest::Method::from_bytes(self.method.as_bytes()).unwrap_or_default();
        let mut request = client().request(method, url).body(self.body.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        Ok(request.send().await?.status().as_u16())
    }

    /// As the engine hands it to a gateway when it arrived at `path`; `url` is the address that the
    /// provider was given.
    pub fn as_callback(&self, path: &str, url: Option<&str>) -> Callback {
        Callback {
            method: self.method.clone(),
            path: path.to_owned(),
            query: String::new(),
            url: url.map(str::to_owned),
            headers: self.headers.clone(),
            body: Body::Text(self.body.clone()),
        }
    }
}
