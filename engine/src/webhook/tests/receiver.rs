//! Merchant's endpoint: records requests and responds as the test says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Behavior of the endpoint.
#[derive(Clone)]
pub enum Manner {
    Status(u16),
    Slow(Duration),
    Says(String),
    /// Reads the request and never responds.
    Silent,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    state: Arc<Mutex<State>>,
}

struct State {
    manner: Manner,
    requests: Vec<Request>,
}

impl Request {
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn event(&self) -> String {
        self.json()["event"].as_str().unwrap().to_owned()
    }

    pub fn transaction(&self) -> String {
        self.json()["data"]["id"].as_str().unwrap().to_owned()
    }
}

impl Receiver {
    pub async fn new(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            manner,
            requests: Vec::new(),
        }));
        let shared = state.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { url, state }
    }

    pub async fn good() -> Self {
        Self::new(Manner::Status(200)).await
    }

    /// URL without a listener.
    pub async fn nobody() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/hook", listener.local_addr().unwrap())
    }

    pub fn behave(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    pub fn events(&self) -> Vec<String> {
        self.requests().iter().map(Request::event).collect()
    }

    /// Waits for at least `count` requests.
    pub async fn received(&self, count: usize) -> Vec<Request> {
        for _ in 0..super::WAITS {
            let requests = self.requests();
            if requests.len() >= count {
                return requests;
            }
            tokio::time::sleep(super::WAIT).await;
        }
        panic!("{} of {count} requests came", self.requests().len());
    }
}

async fn serve(stream: TcpStream, state: Arc<Mutex<State>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await? {
        let manner = {
            let mut state = state.lock().unwrap();
            state.requests.push(request);
            state.manner.clone()
        };
        let answer = match manner {
            Manner::Status(status) => format!("HTTP/1.1 {status} So\r\ncontent-length: 0\r\n\r\n"),
            Manner::Says(answer) => answer,
            Manner::Slow(pause) => {
                tokio::time::sleep(pause).await;
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Manner::Silent => {
                tokio::time::sleep(Duration::from_secs(60)).await;
                return Ok(());
            }
        };
        stream.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}

async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Option<Request>> {
    let mut headers = BTreeMap::new();
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    loop {
        line.clear();
        stream.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some(Request { headers, body }))
}
