//! A simulator on a local port.

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Serves until it is dropped.
pub struct Loopback {
    /// `http://127.0.0.1:4711`, without a slash at its end.
    pub url: String,
    server: JoinHandle<()>,
}

impl Loopback {
    pub async fn serve(router: Router) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let server = tokio::spawn(async move {
            // Ends only with the task: a listener on this machine does not fail.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, server })
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.server.abort();
    }
}
