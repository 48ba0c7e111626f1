//! Renders a queued mail as subject, plain text and HTML, without scripts or external content. The
//! merchant's logo, the only picture, is part of the mail: opening a mail sends no request.

use std::time::{Duration, SystemTime};

use askama::Template;
use lettre::Message;
use lettre::message::header::ContentType;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};

use super::messages::message;
use super::news::MoneyNews;
use super::queued_mail::{Money, QueuedMail, Recipient, SecondPayment};
use crate::access::Logo;
use switchyard_core::environment::Environment;
use switchyard_core::ids::MailId;
use switchyard_core::language::Language;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{CaseReason, Difference, Kind, Status, TakenBack};

/// Error while rendering a mail.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error("`{address}` is not a mail address: correct it")]
    Address {
        address: String,
        #[source]
        source: lettre::address::AddressError,
    },
    #[error("the link of the mail cannot be read")]
    Link,
    #[error("failed to render the text of the mail")]
    Template(#[source] askama::Error),
    #[error("the logo of the app is of no format that a mail can have")]
    Logo(#[source] lettre::message::header::ContentTypeErr),
    #[error("the mail cannot be put together")]
    Build(#[source] lettre::error::Error),
}

/// Settings that all mails of an installation share.
pub struct Installation {
    /// Sender address. The displayed name is the app's.
    pub sender: Mailbox,
    /// Display name of the service.
    pub service: String,
    /// Public URL, without a slash at its end.
    pub public_url: String,
}

/// Headers of a mail.
pub(super) struct Headers<'a> {
    pub id: MailId,
    /// Displayed name of the sender.
    pub sender: &'a str,
    pub to: Mailbox,
    pub reply_to: Option<Mailbox>,
    pub subject: String,
    pub at: Timestamp,
}

impl Headers<'_> {
    /// The mail with its two forms.
    pub fn message(
        self,
        from: &Installation,
        plain: String,
        page: String,
        logo: Option<&Logo>,
    ) -> Result<Message, RenderError> {
        let sender = Mailbox::new(Some(one_line(self.sender)), from.sender.email.clone());
        let id = format!("<{}@{}>", self.id, sender.email.domain());
        let mut message = Message::builder()
            .from(sender)
            .to(self.to)
            .subject(self.subject)
            .date(system_time(self.at))
            .message_id(Some(id));
        if let Some(reply_to) = self.reply_to {
            message = message.reply_to(reply_to);
        }
        message
            // Suppresses out-of-office replies and other automatic responses.
            .raw_header(header("Auto-Submitted", "auto-generated"))
            .multipart(with_logo(plain, page, logo)?)
            .map_err(RenderError::Build)
    }
}

/// The two forms of a mail, and the logo that its page shows.
fn with_logo(plain: String, page: String, logo: Option<&Logo>) -> Result<MultiPart, RenderError> {
    let Some(logo) = logo else {
        return Ok(MultiPart::alternative_plain_html(plain, page));
    };
    let media_type = ContentType::parse(logo.media_type()).map_err(RenderError::Logo)?;
    let picture = Attachment::new_inline(LOGO_ID.to_owned());
    let page = MultiPart::related()
        .singlepart(SinglePart::html(page))
        .singlepart(picture.body(logo.bytes().to_vec(), media_type));
    let plain = SinglePart::plain(plain);
    Ok(MultiPart::alternative().singlepart(plain).multipart(page))
}

/// Renders a mail with the logo of its app. Its `Message-ID` is the same on every attempt, so that
/// a server can recognize a duplicate.
pub fn render(
    letter: &QueuedMail,
    logo: Option<&Logo>,
    from: &Installation,
) -> Result<Message, RenderError> {
    let to = mailbox(letter.to_name(), &letter.address)?;
    let reply_to = letter.reply_to.as_deref();
    let content = Content::new(letter, logo.is_some(), from);
    let plain = content.plain().render().map_err(RenderError::Template)?;
    let page = content.page().render().map_err(RenderError::Template)?;
    let headers = Headers {
        id: letter.id,
        sender: &letter.app_name,
        to,
        reply_to: reply_to.and_then(|address| mailbox(None, address).ok()),
        subject: subject(letter),
        at: letter.enqueued_at,
    };
    headers.message(from, plain, page, logo)
}

fn subject(letter: &QueuedMail) -> String {
    let mut subject = letter.say(&letter.sentences().0);
    if letter.to == Recipient::Preview {
        subject = format!("{} {subject}", letter.say("preview-mark"));
    }
    if letter.environment == Environment::Sandbox {
        subject = format!("{} {subject}", letter.say("sandbox-mark"));
    }
    one_line(&subject)
}

/// Content that both forms of a mail show.
struct Content<'a> {
    letter: &'a QueuedMail,
    has_logo: bool,
    /// Note of a sandbox mail.
    sandbox: Option<String>,
    rows: Vec<(String, String)>,
    /// URL of the receipt page.
    receipt: Option<String>,
    note: String,
    sender: String,
}

#[derive(Template)]
#[template(path = "mail/plain.txt")]
struct Plain<'a> {
    content: &'a Content<'a>,
    colon: &'static str,
}

#[derive(Template)]
#[template(path = "mail/page.html")]
struct Page<'a> {
    content: &'a Content<'a>,
    subject: String,
    /// CSS class of the heading.
    kind: &'static str,
    /// Message name of the heading.
    heading: &'static str,
}

impl<'a> Content<'a> {
    fn new(letter: &'a QueuedMail, has_logo: bool, from: &Installation) -> Self {
        let (note, sender) = letter.footer(&from.service);
        Self {
            letter,
            has_logo,
            sandbox: match letter.environment {
                Environment::Sandbox => Some(letter.note()),
                Environment::Live => None,
            },
            rows: letter.rows(),
            receipt: letter.receipt(&from.public_url),
            note,
            sender,
        }
    }

    fn plain(&self) -> Plain<'_> {
        Plain {
            content: self,
            colon: match self.letter.language {
                Language::En => ":",
                Language::Fr => "\u{a0}:",
            },
        }
    }

    fn page(&self) -> Page<'_> {
        let letter = self.letter;
        let (kind, heading) = match (letter.news, letter.status) {
            (Some(news), _) => ("over", news.heading()),
            _ if letter.case.is_some() => ("ask", "heading-case"),
            (None, Status::Success) => ("good", "heading-success"),
            (None, Status::Failed) => ("bad", "heading-failed"),
            (None, Status::Cancelled | Status::Initiated | Status::Pending) => {
                ("over", "heading-cancelled")
            }
        };
        Page {
            content: self,
            subject: subject(letter),
            kind,
            heading,
        }
    }
}

/// `Content-ID` of the logo in a mail.
const LOGO_ID: &str = "logo@switchyard";

/// The colour under a heading, whose text is white.
pub(super) fn heading_ground(kind: &str) -> &'static str {
    match kind {
        "good" => "#1a7f4b",
        "bad" => "#b3261e",
        "ask" => "#8a5300",
        _ => "#5f6368",
    }
}

/// Parses `Switchyard <no-reply@pay.example>` or a bare address.
pub fn sender(text: &str) -> Result<Mailbox, RenderError> {
    text.parse().map_err(|source| RenderError::Address {
        address: text.to_owned(),
        source,
    })
}

/// Message name of the customer's text about an open case.
const fn customer_text(case: CaseReason) -> &'static str {
    match case {
        CaseReason::PaidTwice => "customer-paid-twice",
        CaseReason::Surplus => "customer-surplus",
        _ => "customer-review",
    }
}

impl QueuedMail {
    fn to_name(&self) -> Option<String> {
        match self.to {
            Recipient::Merchant | Recipient::Preview => None,
            Recipient::Customer => Some(one_line(&self.customer_name)),
        }
    }

    /// Message names of the subject and the text: `merchant-payout-failed` and the same with
    /// `-text`.
    fn sentences(&self) -> (String, String) {
        if let Some((subject, text)) = self.news.map(MoneyNews::sentences) {
            return (subject.to_owned(), text.to_owned());
        }
        let to = match self.to {
            Recipient::Merchant => "merchant",
            Recipient::Customer | Recipient::Preview => "customer",
        };
        let about = match self.case {
            Some(_) => "case",
            None => self.status.as_str(),
        };
        let subject = format!("{to}-{}-{about}", self.kind().as_str());
        let text = format!("{subject}-text");
        (subject, text)
    }

    /// Amount above the text: the received money in a report on received money, else the amount.
    fn headline(&self) -> &str {
        match (&self.money, self.news) {
            (_, Some(MoneyNews::SecondTakenBack)) => &self.amount,
            (Money::Received { amount, .. }, Some(_)) => amount,
            _ => &self.amount,
        }
    }

    /// Text about the result, and the certain facts about money after a result other than success.
    fn text(&self) -> String {
        let happened = self.say(&self.sentences().1);
        if self.news.is_some() {
            return happened;
        }
        let stands_beside = self.success_stands && self.taken_back == TakenBack::Part;
        if self.to != Recipient::Merchant {
            let about = match self.attention {
                Some(_) if stands_beside => Some("customer-other-failed"),
                attention => attention.map(customer_text),
            };
            return about.map_or_else(
                || happened.clone(),
                |about| format!("{happened} {}", self.say(about)),
            );
        }
        let kind = self.kind().as_str();
        if self.status == Status::Success && self.case.is_none() {
            return match self.attention {
                Some(_) if stands_beside => {
                    format!(
                        "{happened} {}",
                        self.say(&format!("attention-{kind}-stands"))
                    )
                }
                Some(_) => format!("{happened} {}", self.say(&format!("attention-{kind}"))),
                None => happened,
            };
        }
        let money = match &self.money {
            Money::Nothing => self.say(&format!("money-nothing-{kind}")),
            Money::Unreadable if self.taken_back == TakenBack::All => {
                self.say("money-unreadable-back")
            }
            Money::Unreadable => self.say("money-unreadable"),
            Money::Unknown => self.say("money-unknown"),
            Money::Received { amount, asked } => {
                let values = [
                    ("received", amount.as_str()),
                    ("asked", asked),
                    ("other", self.other()),
                ];
                let word = match self.taken_back {
                    TakenBack::All => "taken-back",
                    TakenBack::Part => "partly-taken-back",
                    TakenBack::Nothing if self.is_disputed => "reported",
                    TakenBack::Nothing => "received",
                };
                let moved = message(self.language, &format!("money-{word}-{kind}"), &values);
                let is_said = self.case == Some(CaseReason::ContradictingSuccess);
                let advice = match word {
                    "received" if self.has_failed() => "return",
                    "reported" if !is_said => "disputed",
                    _ => return format!("{happened} {moved}"),
                };
                format!("{moved} {}", self.say(&format!("money-{advice}-{kind}")))
            }
        };
        format!("{happened} {money}")
    }

    fn say(&self, name: &str) -> String {
        let (received, asked) = match &self.money {
            Money::Received { amount, asked } => (amount.as_str(), asked.as_str()),
            Money::Nothing | Money::Unreadable | Money::Unknown => ("", ""),
        };
        let values = [
            ("amount", self.amount.as_str()),
            ("received", received),
            ("asked", asked),
            ("other", self.other()),
            ("app", &self.app_name),
            ("name", &self.customer_name),
            ("kind", self.kind().as_str()),
            (
                "charges",
                if self.has_several_charges {
                    "several"
                } else {
                    "one"
                },
            ),
            (
                "success",
                match (self.success_stands, self.taken_back) {
                    (true, _) => "stands",
                    (false, TakenBack::Part) => "part",
                    (false, TakenBack::Nothing | TakenBack::All) => "open",
                },
            ),
            (
                "difference",
                self.difference.map_or("unreadable", Difference::word),
            ),
        ];
        message(self.language, name, &values)
    }

    /// Value of `$other` in messages.
    fn other(&self) -> &str {
        self.other_reports.as_deref().unwrap_or("none")
    }

    /// Facts, each with its label.
    fn rows(&self) -> Vec<(String, String)> {
        let customer = match self.to {
            Recipient::Merchant => {
                Some(format!("{} <{}>", self.customer_name, self.customer_email))
            }
            Recipient::Customer | Recipient::Preview => None,
        };
        let [amount, due] = self.amounts();
        let facts = [
            ("label-amount", amount),
            ("label-due", due),
            (
                "label-fee",
                self.fee.clone().filter(|_| self.news.is_none()),
            ),
            ("label-asked", self.asked.clone()),
            ("label-rate", self.rate.clone()),
            ("label-markup", self.markup.clone()),
            ("label-description", Some(self.description.clone())),
            ("label-customer", customer),
            ("label-method", self.method.clone()),
            (
                match (self.is_disputed, self.has_several_charges) {
                    (false, false) => "label-received",
                    (false, true) => "label-received-all",
                    (true, false) => "label-reported",
                    (true, true) => "label-reported-all",
                },
                self.received(),
            ),
            ("label-reason", self.reason.clone()),
            (
                "label-case",
                // Only the merchant decides, so the customer's mail omits the case.
                self.case
                    .filter(|_| self.news.is_none())
                    .map(|case| self.say(&format!("case-{}", case.as_str()))),
            ),
            ("label-return", self.second_payments()),
            (
                "label-second-report",
                self.second_report
                    .clone()
                    .filter(|_| self.to == Recipient::Merchant),
            ),
            ("label-date", Some(self.language.date(self.ended_at))),
            ("label-reference", Some(self.transaction.to_string())),
            (
                "label-support",
                self.support
                    .clone()
                    .filter(|_| self.to != Recipient::Merchant),
            ),
        ];
        facts
            .into_iter()
            .filter_map(|(label, fact)| Some((self.say(label), fact?)))
            .collect()
    }

    /// Amount, and the amount that was due if it differs. A report on received money has no other
    /// amount.
    fn amounts(&self) -> [Option<String>; 2] {
        match (&self.money, self.news) {
            (Money::Received { asked, .. }, Some(_)) => [None, Some(asked.clone())],
            _ => [Some(self.amount.clone()), self.due.clone()],
        }
    }

    const fn has_failed(&self) -> bool {
        matches!(self.status, Status::Failed | Status::Cancelled)
    }

    /// Received amount, if it differs from the mail's amounts.
    fn received(&self) -> Option<String> {
        match &self.money {
            Money::Received { amount, .. } => {
                let is_named = *amount == self.amount || self.net.as_ref() == Some(amount);
                (!is_named || self.news.is_some()).then(|| amount.clone())
            }
            Money::Nothing | Money::Unreadable | Money::Unknown => None,
        }
    }

    /// Payments that did not settle the transaction.
    fn second_payments(&self) -> Option<String> {
        let payments: Vec<_> = self
            .second_payments
            .iter()
            .map(SecondPayment::text)
            .collect();
        (!payments.is_empty()).then(|| payments.join("; "))
    }

    /// Note in sandbox mails.
    fn note(&self) -> String {
        let note = self.say("sandbox-note");
        match self.to {
            Recipient::Preview => format!("{note} {}", self.say("preview-note")),
            Recipient::Merchant | Recipient::Customer => note,
        }
    }

    /// URL of the receipt page of a successful payment.
    fn receipt(&self, public_url: &str) -> Option<String> {
        let has_one = match self.kind() {
            Kind::Payment => self.status == Status::Success && self.case.is_none(),
            Kind::Payout => false,
        };
        let (id, language) = (self.transaction, self.language.code());
        has_one.then(|| format!("{public_url}/checkout/{id}/receipt?lang={language}"))
    }

    fn footer(&self, service: &str) -> (String, String) {
        let note = match self.to {
            // Nothing is delivered after an end without money.
            Recipient::Merchant if self.has_failed() && self.money == Money::Nothing => {
                "footer-merchant-ended"
            }
            Recipient::Merchant => "footer-merchant",
            // Without a merchant address, a reply would not be delivered.
            Recipient::Customer | Recipient::Preview => {
                match (self.news.is_some(), self.reply_to.is_some()) {
                    (false, false) => "footer-customer-no-reply",
                    (false, true) => "footer-customer",
                    (true, false) => "footer-question-no-reply",
                    (true, true) => "footer-question",
                }
            }
        };
        (
            self.say(note),
            message(self.language, "footer-service", &[("service", service)]),
        )
    }
}

pub(super) fn mailbox(name: Option<String>, address: &str) -> Result<Mailbox, RenderError> {
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

/// Text of a merchant, customer or user on one line, for a header.
pub(super) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
