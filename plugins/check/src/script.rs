//! The provider, as a script: it says what the samples say, or it is in trouble.

use serde_json::Value;
use switchyard_gateway::Money;
use switchyard_gateway::wire::{
    Body, EffectError, EffectErrorKind, EffectResult, HttpRequest, HttpResponse, Sent,
};

use crate::samples::Answer;

/// Condition of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProviderBehavior {
    Good,
    Unauthorized,
    TooMany,
    BadGateway,
    ServerError,
    Overloaded,
    NotJson,
    Truncated,
    Empty,
    NotSent,
    MaybeSent,
}

impl ProviderBehavior {
    pub(crate) const TROUBLES: [Self; 10] = [
        Self::Unauthorized,
        Self::TooMany,
        Self::BadGateway,
        Self::ServerError,
        Self::Overloaded,
        Self::NotJson,
        Self::Truncated,
        Self::Empty,
        Self::NotSent,
        Self::MaybeSent,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good answer",
            Self::Unauthorized => "401",
            Self::TooMany => "429 with Retry-After",
            Self::BadGateway => "502 with HTML",
            Self::ServerError => "500 with JSON",
            Self::Overloaded => "503 with Retry-After",
            Self::NotJson => "200 that is not JSON",
            Self::Truncated => "200 cut short",
            Self::Empty => "200 with nothing",
            Self::NotSent => "time-out, not sent",
            Self::MaybeSent => "time-out, maybe sent",
        }
    }
}

/// Values that the provider repeats in its responses.
#[derive(Clone, Debug)]
pub(crate) struct Echo {
    pub reference: String,
    pub amount: Money,
}

/// One provider for one call.
pub(crate) struct Script<'a> {
    answers: &'a [Answer],
    mood: ProviderBehavior,
    /// Trouble begins with the first request, and not with the first that can move money.
    is_from_the_start: bool,
    echo: Echo,
    has_begun: bool,
    uses: Vec<usize>,
    /// Requests that no sample answers.
    pub unanswered: Vec<String>,
}

impl<'a> Script<'a> {
    pub(crate) fn new(
        answers: &'a [Answer],
        mood: ProviderBehavior,
        from_the_start: bool,
        echo: Echo,
    ) -> Self {
        Self {
            answers,
            mood,
            is_from_the_start: from_the_start,
            echo,
            has_begun: false,
            uses: vec![0; answers.len()],
            unanswered: Vec::new(),
        }
    }

    pub(crate) fn answer(&mut self, request: &HttpRequest) -> EffectResult {
        self.has_begun |= self.is_from_the_start || request.can_mutate();
        let mood = if self.has_begun {
            self.mood
        } else {
            ProviderBehavior::Good
        };
        let html = "<html><body>Bad Gateway</body></html>";
        match mood {
            ProviderBehavior::Good => EffectResult::Http(self.good(request)),
            ProviderBehavior::Unauthorized => http_result(401, &[], r#"{"message":"no such key"}"#),
            ProviderBehavior::TooMany => {
                http_result(429, &[("retry-after", "1")], r#"{"message":"slow down"}"#)
            }
            ProviderBehavior::BadGateway => {
                http_result(502, &[("content-type", "text/html")], html)
            }
            ProviderBehavior::ServerError => {
                http_result(500, &[], r#"{"message":"internal error"}"#)
            }
            ProviderBehavior::Overloaded => {
                http_result(503, &[("retry-after", "1")], r#"{"message":"overloaded"}"#)
            }
            ProviderBehavior::NotJson => http_result(200, &[("content-type", "text/html")], html),
            ProviderBehavior::Truncated => {
                let mut good = self.good(request);
                let whole = match good.body {
                    Body::Text(text) if text.len() > 3 => text,
                    _ => r#"{"status":"succeeded"}"#.to_owned(),
                };
                let half = (0..=whole.len() / 2)
                    .rev()
                    .find(|at| whole.is_char_boundary(*at));
                good.body = Body::Text(whole[..half.unwrap_or(0)].to_owned());
                good.status = 200;
                EffectResult::Http(good)
            }
            ProviderBehavior::Empty => http_result(200, &[], ""),
            ProviderBehavior::NotSent => failed(Sent::No, EffectErrorKind::Connect),
            ProviderBehavior::MaybeSent => failed(Sent::Maybe, EffectErrorKind::Timeout),
        }
    }

    fn good(&mut self, request: &HttpRequest) -> HttpResponse {
        let fits = |answer: &Answer| {
            let (method, part) = answer.on.split_once(' ').unwrap_or(("", &answer.on));
            request.method.eq_ignore_ascii_case(method)
                && request.url.contains(&self.echo.put(part))
        };
        let fitting: Vec<usize> = (0..self.answers.len())
            .filter(|at| fits(&self.answers[*at]))
            .collect();
        let next = fitting
            .iter()
            .find(|at| self.uses[**at] == 0)
            .or(fitting.last());
        let Some(at) = next.copied() else {
            let path = request
                .url
                .split("://")
                .nth(1)
                .and_then(|rest| rest.split_once('/'));
            let path = path.map_or("", |(_, path)| path);
            self.unanswered.push(format!("{} /{path}", request.method));
            return response(200, &[("content-type", "application/json")], "{}");
        };
        self.uses[at] += 1;
        let answer = &self.answers[at];
        let mut headers = answer.headers.clone();
        if !answer.body.is_string() {
            headers.push(("content-type".into(), "application/json".into()));
        }
        HttpResponse {
            status: answer.status,
            headers,
            body: Body::Text(self.echo.body(&answer.body)),
        }
    }
}

impl Echo {
    /// A text with what it stands for.
    pub(crate) fn put(&self, text: &str) -> String {
        text.replace("{reference}", &self.reference)
            .replace("{amount}", &self.amount.decimal)
            .replace("{currency}", &self.amount.currency)
            .replace("{minor}", &self.amount.minor.to_string())
    }

    pub(crate) fn body(&self, body: &Value) -> String {
        match body {
            Value::Null => String::new(),
            Value::String(text) => self.put(text),
            other => self.value(other).to_string(),
        }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) if text == "{minor}" => self.amount.minor.into(),
            Value::String(text) if text == "{amount_number}" => {
                serde_json::from_str(&self.amount.decimal).unwrap_or(Value::Null)
            }
            Value::String(text) => self.put(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, value)| (name.clone(), self.value(value)))
                    .collect()
            }
            other => other.clone(),
        }
    }
}

fn response(status: u16, headers: &[(&str, &str)], body: &str) -> HttpResponse {
    let headers = headers.iter();
    HttpResponse {
        status,
        headers: headers
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        body: Body::Text(body.into()),
    }
}

fn http_result(status: u16, headers: &[(&str, &str)], body: &str) -> EffectResult {
    EffectResult::Http(response(status, headers, body))
}

fn failed(sent: Sent, kind: EffectErrorKind) -> EffectResult {
    EffectResult::Error(EffectError {
        sent,
        kind,
        message: "the provider did not answer in time".into(),
    })
}
