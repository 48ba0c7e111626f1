//! Context of a page: one payment, one visitor, one time. Pages use nothing else, so that each can
//! be looked at without a server.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use switchyard_core::charge::Charge;
use switchyard_core::directory::{Directory, Method, method_svg};
use switchyard_core::environment::Environment;
use switchyard_core::ids::TransactionId;
use switchyard_core::time::Timestamp;
use switchyard_core::transaction::{State, Transaction};
use switchyard_engine::access::App;
use url::form_urlencoded::Serializer;

use super::assets;
use super::brand::{self, Contact};
use super::crypto;
use crate::pages::headers::{self, Nonce};
use crate::pages::messages;
use crate::utils::MethodIcons;
use switchyard_core::language::{Language, without_embeddings};

/// Visitor: address, language and entry point.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub language: Language,
    /// The address names the language, so links and forms go on naming it.
    pub chose_language: bool,
    pub nonce: Nonce,
    /// The service's name, as people read it.
    pub service: String,
    /// Path of the public URL, without a slash at its end: most often empty.
    pub prefix: String,
    pub https: bool,
    /// The path and query of this page, for the links to the other languages. A form's target shows
    /// the page that it came from.
    pub path: String,
    pub query: Vec<(String, String)>,
}

/// A visitor before a payment.
#[derive(Clone)]
pub struct PageContext {
    pub visitor: Visitor,
    pub tx: Arc<Transaction>,
    pub app: Arc<App>,
    pub directory: Directory,
    pub icons: Arc<MethodIcons>,
    pub now: Timestamp,
    /// Whether the provider's answer to the open attempt was lost. Pages that do not read the
    /// timeline leave it false.
    pub is_answer_lost: bool,
}

/// Frame of all pages.
pub struct Frame {
    pub lang: Language,
    pub nonce: String,
    pub title: String,
    pub sandbox: bool,
    pub languages: Vec<LanguageLink>,
    pub order: Option<Order>,
    /// 1 to 3 on the pages of the three steps.
    pub step: Option<usize>,
    pub notice: Option<String>,
    pub time_left: Option<TimeLeft>,
    /// URL for cancelling the payment.
    pub cancel: Option<String>,
    /// Rules with the merchant's colour, after the style sheet.
    pub theme: Option<String>,
    /// Support contact.
    pub support: Option<Support>,
    service: String,
    chose_language: bool,
}

pub struct LanguageLink {
    pub code: &'static str,
    pub name: &'static str,
    pub short: String,
    pub href: String,
    pub current: bool,
}

/// Order: amount and merchant.
pub struct Order {
    pub merchant: String,
    pub initials: String,
    /// Address of the merchant's logo.
    pub logo: Option<String>,
    /// Label of the amount: to be paid, or paid.
    pub label: String,
    /// Empty: the payer chooses it on this page.
    pub amount: String,
    /// The amount that was asked for, when it is another, and the rate, when the payer pays in
    /// another currency.
    pub below: Option<String>,
    /// The class that keeps the amount on one line of a phone, by its length.
    pub size: &'static str,
    pub description: String,
}

/// The merchant's support contact.
pub struct Support {
    pub text: String,
    pub contacts: Vec<Contact>,
}

pub struct TimeLeft {
    /// Rounded up, so that the time is over on the server when the page has counted to zero.
    pub seconds: u64,
    pub label: String,
    pub text: String,
    /// Text in place of the others once the time is over.
    pub over: String,
}

/// A line of a summary.
pub struct Row {
    pub name: String,
    pub value: String,
    /// CSS class: `strong` for important rows, `fine` for long, rarely read ones, `prose` for
    /// texts of several lines, else empty.
    pub look: &'static str,
    /// ISO 8601, of a value that is a moment.
    pub time: Option<String>,
    /// Text for the clipboard, where it differs from the value.
    pub copies: Option<String>,
}

impl Visitor {
    pub fn say(&self, message: &str) -> String {
        messages::say(self.language, message)
    }

    /// An address of the checkout. The language goes along when the visitor chose it.
    pub fn link(&self, id: TransactionId, step: &str, query: &[(&str, &str)]) -> String {
        let mut address = format!("{}/checkout/{id}", self.prefix);
        if !step.is_empty() {
            address.push('/');
            address.push_str(step);
        }
        let mut pairs = Serializer::new(String::new());
        for (name, value) in query {
            pairs.append_pair(name, value);
        }
        if self.chose_language {
            pairs.append_pair("lang", self.language.code());
        }
        let pairs = pairs.finish();
        if !pairs.is_empty() {
            address.push('?');
            address.push_str(&pairs);
        }
        address
    }

    /// The frame of a page that belongs to no payment.
    pub fn frame(&self, title: &str) -> Frame {
        Frame {
            lang: self.language,
            nonce: self.nonce.as_str().to_owned(),
            title: format!("{} – {}", self.say(title), self.service),
            sandbox: false,
            languages: self.languages(),
            order: None,
            step: None,
            notice: None,
            time_left: None,
            cancel: None,
            theme: None,
            support: None,
            service: self.service.clone(),
            chose_language: self.chose_language,
        }
    }

    fn languages(&self) -> Vec<LanguageLink> {
        let link = |language: Language| {
            let mut pairs = Serializer::new(String::new());
            for (name, value) in self.query.iter().filter(|(name, _)| name != "lang") {
                pairs.append_pair(name, value);
            }
            pairs.append_pair("lang", language.code());
            LanguageLink {
                code: language.code(),
                name: language.name(),
                short: language.code().to_uppercase(),
                href: format!("{}{}?{}", self.prefix, self.path, pairs.finish()),
                current: language == self.language,
            }
        };
        Language::ALL.into_iter().map(link).collect()
    }

    /// The answer that shows a page.
    pub fn show(&self, status: StatusCode, page: &impl askama::Template) -> Response {
        let headers = headers::of_page(&self.nonce, self.https);
        match page.render() {
            Ok(html) => {
                let html = without_embeddings(&html).into_owned();
                (status, headers, axum::response::Html(html)).into_response()
            }
            // A template writes into a String; only a value's own Display could fail, and none of
            // ours does.
            Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, headers).into_response(),
        }
    }

    /// Redirect by GET (303).
    pub fn go(&self, address: &str) -> Response {
        (headers::of_anything(self.https), Redirect::to(address)).into_response()
    }
}

impl PageContext {
    pub fn say(&self, message: &str) -> String {
        self.visitor.say(message)
    }

    pub fn say_with(&self, message: &str, values: &[(&'static str, &str)]) -> String {
        messages::say_with(self.visitor.language, message, values)
    }

    /// The message with the merchant's name in it.
    pub fn say_merchant(&self, message: &str) -> String {
        self.say_with(message, &[("merchant", &self.app.name)])
    }

    pub fn link(&self, step: &str, query: &[(&str, &str)]) -> String {
        self.visitor.link(self.tx.id, step, query)
    }

    pub fn go(&self, step: &str, query: &[(&str, &str)]) -> Response {
        self.visitor.go(&self.link(step, query))
    }

    pub fn show(&self, page: &impl askama::Template) -> Response {
        self.visitor.show(StatusCode::OK, page)
    }

    pub fn is_sandbox(&self) -> bool {
        self.tx.environment == Environment::Sandbox
    }

    /// Amount that the payer pays or has paid.
    pub fn charge(&self) -> Charge<'_> {
        Charge::of(&self.tx)
    }

    /// A method by the name that people know it by.
    pub fn method_name(&self, code: &str) -> String {
        let method = self.directory.payment_method(code);
        let name = method.map(|method| method.name_in(self.visitor.language));
        name.unwrap_or(code).to_owned()
    }

    /// Markup of a method's icon: the operator's picture, else a drawn tile.
    pub fn icon(&self, method: &Method) -> String {
        let Some(icon) = self.icons.of(&method.code) else {
            return method_svg(method);
        };
        // Codes of methods and marks are letters, digits and underscores.
        let (prefix, path, mark) = (&self.visitor.prefix, method.icon_path(), &icon.mark);
        format!("<img src=\"{prefix}{path}?v={mark}\" width=\"44\" height=\"44\" alt=\"\">")
    }

    /// The frame of one of this payment's pages, titled by a message.
    pub fn frame(&self, title: &str) -> Frame {
        self.frame_titled(&self.say(title))
    }

    pub fn frame_titled(&self, title: &str) -> Frame {
        let values = [("page", title), ("merchant", self.app.name.as_str())];
        Frame {
            title: self.say_with("page-title", &values),
            sandbox: self.is_sandbox(),
            order: Some(self.order(&self.charge())),
            time_left: self.time_left(),
            theme: brand::theme(&self.app),
            support: self.support(),
            ..self.visitor.frame(title)
        }
    }

    /// The frame of a step before the payment is confirmed: it can be cancelled there.
    pub fn frame_of_step(&self, title: &str, step: usize) -> Frame {
        Frame {
            step: Some(step),
            cancel: Some(self.link("cancel", &[])),
            ..self.frame(title)
        }
    }

    fn support(&self) -> Option<Support> {
        let contacts = brand::contacts(&self.app);
        (!contacts.is_empty()).then(|| Support {
            text: self.say_merchant("support"),
            contacts,
        })
    }

    /// Counted down only while the payer has something to decide: an open attempt is never expired.
    fn time_left(&self) -> Option<TimeLeft> {
        if self.tx.state != State::AwaitingCustomer {
            return None;
        }
        let expires_at = self.tx.payment()?.expires_at;
        Some(self.countdown("time-left", expires_at, "result-expired-title"))
    }

    /// Time from now to `end`, after the words of `label`; then the words of `over`.
    pub fn countdown(&self, label: &str, end: Timestamp, over: &str) -> TimeLeft {
        let label = self.say(label);
        let seconds = end.since(self.now).as_millis().div_ceil(1_000);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        TimeLeft {
            seconds,
            text: format!("{label} {}", self.duration(seconds)),
            label,
            over: self.say(over),
        }
    }

    /// A length of time in two units at most: `3 days`, `2 h 15 min`, `30 min`. Minutes are rounded
    /// up.
    fn duration(&self, seconds: u64) -> String {
        let minutes = seconds.div_ceil(60).max(1);
        let hours = minutes / 60;
        if hours >= 48 {
            return format!("{} {}", hours / 24, self.say("time-days-word"));
        }
        match (hours, minutes % 60) {
            (0, minutes) => format!("{minutes} min"),
            (hours, minutes) => format!("{hours} h {minutes:02} min"),
        }
    }

    /// The row of a moment until which something is valid: in words and UTC, which script turns
    /// into the reader's own time.
    pub fn until(&self, moment: &str) -> Row {
        let at = crypto::moment(moment);
        let written = self.visitor.language;
        Row {
            time: at.map(|at| at.to_string()),
            ..self.row(
                "row-until",
                at.map_or_else(|| moment.to_owned(), |at| written.date(at)),
            )
        }
    }

    /// Hidden fields of a form: its own, and the language when the visitor chose it.
    pub fn hidden(&self, fields: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let mut hidden: Vec<_> = fields
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        if self.visitor.chose_language {
            hidden.push(("lang", self.visitor.language.code().to_owned()));
        }
        hidden
    }

    /// A line of a summary, named by a message.
    pub fn row(&self, name: &str, value: impl Into<String>) -> Row {
        Row {
            name: self.say(name),
            value: value.into(),
            look: "",
            time: None,
            copies: None,
        }
    }
}

impl Row {
    pub fn strong(self) -> Self {
        Self {
            look: "strong",
            ..self
        }
    }

    /// The same row, with a long text under its name.
    pub fn prose(self) -> Self {
        let is_long = self.value.chars().count() > PROSE_CHARACTERS;
        let look = if is_long { "prose" } else { self.look };
        Self { look, ..self }
    }

    pub fn fine(self) -> Self {
        Self {
            look: "fine",
            ..self
        }
    }

    /// The same row with another text for the clipboard, in the form that a bank's field takes.
    pub fn copied_as(self, text: String) -> Self {
        Self {
            copies: Some(text),
            ..self
        }
    }

    pub fn is_strong(&self) -> bool {
        self.look == "strong"
    }
}

impl Frame {
    pub fn with_notice(self, notice: Option<String>) -> Self {
        Self { notice, ..self }
    }

    /// The same frame where there is nothing to decide in the time that is left.
    pub fn without_countdown(self) -> Self {
        Self {
            time_left: None,
            ..self
        }
    }

    pub fn with_order(self, order: Order) -> Self {
        let order = Some(order);
        Self { order, ..self }
    }

    pub fn with_cancel(self, cancel: Option<String>) -> Self {
        Self { cancel, ..self }
    }

    /// The message of that name.
    pub fn t(&self, message: &str) -> String {
        messages::say(self.lang, message)
    }

    pub fn lang_field(&self) -> Option<&'static str> {
        self.chose_language.then(|| self.lang.code())
    }

    pub fn css(&self) -> &'static str {
        &assets::STYLE
    }

    pub fn script(&self) -> &'static str {
        &assets::SCRIPT
    }

    pub fn secured(&self) -> String {
        messages::say_with(self.lang, "secured", &[("service", &self.service)])
    }
}

/// A longer text takes several lines beside its name on a phone.
const PROSE_CHARACTERS: usize = 60;

/// Two letters that stand for a merchant without a picture.
pub(super) fn initials(name: &str) -> String {
    let words = name
        .split(|letter: char| !letter.is_alphanumeric())
        .filter_map(|word| word.chars().next());
    let letters: String = words.take(2).flat_map(char::to_uppercase).collect();
    if letters.is_empty() {
        "•".to_owned()
    } else {
        letters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;

    #[test]
    fn a_merchant_without_a_picture_has_two_letters() {
        let table = [
            ("Café Zola", "CZ"),
            ("one", "O"),
            ("ékla & co", "ÉC"),
            ("***", "•"),
            ("", "•"),
        ];
        for (name, letters) in table {
            assert_eq!(initials(name), letters, "{name}");
        }
    }

    #[test]
    fn a_chosen_language_goes_along_and_another_replaces_it() {
        let mut context = samples::context(samples::payment(), Language::Fr);
        let id = context.tx.id;
        context.visitor.path = format!("/checkout/{id}");
        context.visitor.query = vec![
            ("lang".into(), "fr".into()),
            ("country".into(), "BJ".into()),
        ];
        assert_eq!(
            context.link("details", &[("method", "mtn_bj")]),
            format!("/checkout/{id}/details?method=mtn_bj&lang=fr")
        );
        let links = context.frame("choose-title").languages;
        assert_eq!(links[0].href, format!("/checkout/{id}?country=BJ&lang=en"));
        assert!(!links[0].current && links[1].current);
        context.visitor.chose_language = false;
        assert_eq!(context.link("", &[]), format!("/checkout/{id}"));
        assert!(context.hidden(&[]).is_empty());
    }

    #[test]
    fn a_length_of_time_is_said_in_words() {
        let context = samples::context(samples::payment(), Language::Fr);
        for (seconds, words) in [
            (1, "1 min"),
            (1_790, "30 min"),
            (3_600, "1 h 00 min"),
            (8_100, "2 h 15 min"),
            (7_776_000, "90 jours"),
        ] {
            assert_eq!(context.duration(seconds), words);
        }
        let until = context.until("2026-11-24T14:30:00.000000Z");
        assert_eq!(until.value, "24 novembre 2026 à 14:30 UTC");
        assert!(until.time.is_some() && context.until("tomorrow").value == "tomorrow");
    }

    #[test]
    fn time_is_counted_down_only_while_the_payer_decides() {
        let context = samples::context(samples::payment(), Language::En);
        let left = context.frame("choose-title").time_left.unwrap();
        assert_eq!(
            (left.seconds, left.text.as_str()),
            (1790, "Time left to pay: 30 min")
        );
        let waiting = samples::context(samples::waiting(None), Language::En);
        assert!(waiting.frame("wait-title").time_left.is_none());
    }
}
