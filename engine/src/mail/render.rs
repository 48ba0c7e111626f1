//! A letter as a mail: subject, plain text, HTML. No pictures, no scripts, nothing from outside.

use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};

use super::letter::{Letter, Recipient};
use crate::clock::Timestamp;
use crate::environment::Environment;
use crate::transaction::Status;

/// A letter that no mail can be made of.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error("`{address}` is not a mail address: correct it")]
    Address {
        address: String,
        #[source]
        source: lettre::address::AddressError,
    },
    #[error("the mail cannot be put together")]
    Build(#[source] lettre::error::Error),
}

/// Puts a mail together. It has the same `Message-ID` each time, so that a server that got it twice can tell.
pub fn render(letter: &Letter, sender: &Mailbox, service: &str) -> Result<Message, RenderError> {
    let to = mailbox(letter.to_name(), &letter.address)?;
    let mut message = Message::builder()
        .from(sender.clone())
        .to(to)
        .subject(subject(letter))
        .date(system_time(letter.enqueued_at))
        .message_id(Some(format!("<{}@{}>", letter.id, sender.email.domain())));
    if let Some(Ok(reply_to)) = letter
        .reply_to
        .as_deref()
        .map(|address| mailbox(None, address))
    {
        message = message.reply_to(reply_to);
    }
    message
        // Holiday notes and the like do not answer these.
        .raw_header(header("Auto-Submitted", "auto-generated"))
        .multipart(MultiPart::alternative_plain_html(
            plain(letter, service),
            html(letter, service),
        ))
        .map_err(RenderError::Build)
}

pub fn subject(letter: &Letter) -> String {
    let subject = letter.say(&letter.sentence());
    let subject = match letter.environment {
        Environment::Sandbox => format!("{} {subject}", letter.say("sandbox-mark")),
        Environment::Live => subject,
    };
    subject
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

pub fn plain(letter: &Letter, service: &str) -> String {
    let mut text = letter.say(&format!("{}-text", letter.sentence()));
    text.push_str("\n\n");
    for (label, value) in letter.rows() {
        text.push_str(&format!("{label}: {value}\n"));
    }
    if letter.environment == Environment::Sandbox {
        text.push_str(&format!("\n{}\n", letter.say("sandbox-note")));
    }
    let (note, sender) = letter.footer(service);
    text.push_str(&format!("\n{note}\n\n-- \n{sender}\n"));
    text
}

pub fn html(letter: &Letter, service: &str) -> String {
    let (colour, heading) = match letter.status {
        Status::Success => ("#1a7f4b", "heading-success"),
        Status::Failed => ("#b3261e", "heading-failed"),
        Status::Cancelled | Status::Initiated | Status::Pending => ("#5f6368", "heading-cancelled"),
    };
    let rows: String = letter
        .rows()
        .iter()
        .map(|(label, value)| {
            format!(
                include_str!("parts/row.html"),
                label = escape(label),
                value = escape(value)
            )
        })
        .collect();
    let sandbox = match letter.environment {
        Environment::Sandbox => format!(
            include_str!("parts/sandbox.html"),
            note = escape(&letter.say("sandbox-note"))
        ),
        Environment::Live => String::new(),
    };
    let (note, sender) = letter.footer(service);
    format!(
        include_str!("parts/page.html"),
        language = letter.language.code(),
        title = escape(&subject(letter)),
        sandbox = sandbox,
        colour = colour,
        heading = escape(&letter.say(heading)),
        amount = escape(&letter.amount),
        app = escape(&letter.app_name),
        text = escape(&letter.say(&format!("{}-text", letter.sentence()))),
        rows = rows,
        note = escape(&note),
        sender = escape(&sender),
    )
}

/// Reads `Switchyard <no-reply@pay.example>` or a bare address.
pub fn sender(text: &str) -> Result<Mailbox, RenderError> {
    text.parse().map_err(|source| RenderError::Address {
        address: text.to_owned(),
        source,
    })
}

impl Letter {
    fn to_name(&self) -> Option<String> {
        match self.to {
            Recipient::Merchant => None,
            Recipient::Customer => Some(self.customer_name.clone()),
        }
    }

    /// The name of this letter's sentences: `merchant-payout-failed`.
    fn sentence(&self) -> String {
        let to = match self.to {
            Recipient::Merchant => "merchant",
            Recipient::Customer => "customer",
        };
        let kind = if self.is_payment() {
            "payment"
        } else {
            "payout"
        };
        format!("{to}-{kind}-{}", self.status.as_str())
    }

    fn say(&self, name: &str) -> String {
        let values = [
            ("amount", self.amount.as_str()),
            ("app", &self.app_name),
            ("name", &self.customer_name),
        ];
        self.language.say(name, &values)
    }

    /// The facts, each with its label.
    fn rows(&self) -> Vec<(String, String)> {
        let customer = match self.to {
            Recipient::Merchant => {
                Some(format!("{} <{}>", self.customer_name, self.customer_email))
            }
            Recipient::Customer => None,
        };
        let facts = [
            ("label-amount", Some(self.amount.clone())),
            ("label-description", Some(self.description.clone())),
            ("label-customer", customer),
            ("label-method", self.method.clone()),
            ("label-reason", self.reason.clone()),
            ("label-date", Some(minute(self.ended_at))),
            ("label-reference", Some(self.transaction.to_string())),
        ];
        facts
            .into_iter()
            .filter_map(|(label, fact)| Some((self.say(label), fact?)))
            .collect()
    }

    fn footer(&self, service: &str) -> (String, String) {
        let note = match self.to {
            Recipient::Merchant => "footer-merchant",
            // Without an address of the merchant's, an answer would reach nobody.
            Recipient::Customer if self.reply_to.is_none() => "footer-customer-no-reply",
            Recipient::Customer => "footer-customer",
        };
        (
            self.say(note),
            self.language.say("footer-service", &[("service", service)]),
        )
    }
}

fn mailbox(name: Option<String>, address: &str) -> Result<Mailbox, RenderError> {
    let parsed = address.parse().map_err(|source| RenderError::Address {
        address: address.to_owned(),
        source,
    })?;
    Ok(Mailbox::new(name, parsed))
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn system_time(at: Timestamp) -> SystemTime {
    let micros = u64::try_from(at.as_micros()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
}

/// `2026-11-20 10:00 UTC`: the same for every reader, in whatever country.
fn minute(at: Timestamp) -> String {
    let text = at.to_string();
    match text.get(..16) {
        Some(minute) => format!("{} UTC", minute.replace('T', " ")),
        None => text,
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
