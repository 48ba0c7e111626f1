//! Environment of the canaries: a provider that repeats each request, a mail server that takes a
//! password, and a socket to which no part has a reason to connect.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderMap, Uri};
use axum::response::IntoResponse;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use switchyard_testkit::Loopback;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Answers every request with everything that it said, in every form, and with a card's number.
pub async fn indiscreet_provider(key: &'static str) -> std::io::Result<Loopback> {
    let answer = async move |uri: Uri, headers: HeaderMap, body: Bytes| {
        let body = String::from_utf8_lossy(&body).into_owned();
        let told = json!({
            "status": "paid", "uri": uri.to_string(), "headers": format!("{headers:?}"), "body": body, "plain": key,
            "basic": STANDARD.encode(format!("merchant:{key}")), "card": CARD,
            "nested": json!({ "you_said": format!("key {key}"), "from": "4242 4242 4242 4242" }).to_string(),
        });
        ([("x-you-said", key)], Json(told)).into_response()
    };
    Loopback::serve(Router::new().fallback(answer)).await
}

pub const CARD: &str = "4242424242424242";

/// A mail server on this machine that demands a password, and records each command.
pub struct MailServer {
    pub port: u16,
    said: Arc<Mutex<String>>,
    _tasks: JoinSet<()>,
}

impl MailServer {
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let said = Arc::new(Mutex::new(String::new()));
        let mut tasks = JoinSet::new();
        let heard = said.clone();
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(talk(stream, heard.clone()));
            }
        });
        Ok(Self {
            port,
            said,
            _tasks: tasks,
        })
    }

    pub fn transcript(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.clone()
    }
}

/// One client, until it says no more.
async fn talk(stream: TcpStream, said: Arc<Mutex<String>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 here\r\n").await?;
    let mut is_mail = false;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        said.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_str(&line);
        let word = line.split_whitespace().next().unwrap_or_default();
        let answer = match (is_mail, word) {
            (true, ".") => {
                is_mail = false;
                "250 taken\r\n"
            }
            (true, _) => continue,
            (_, "EHLO") => "250-here\r\n250 AUTH PLAIN\r\n",
            (_, "AUTH") => "235 welcome\r\n",
            (_, "DATA") => {
                is_mail = true;
                "354 go on\r\n"
            }
            _ => "250 yes\r\n",
        };
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// Counts who comes.
pub struct Trap {
    pub port: u16,
    caught: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Trap {
    pub async fn set() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let caught = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        let count = caught.clone();
        tasks.spawn(async move {
            while listener.accept().await.is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(Self {
            port,
            caught,
            _tasks: tasks,
        })
    }

    pub fn caught(&self) -> usize {
        self.caught.load(Ordering::SeqCst)
    }
}
