//! Layout of the pages for operators: figures, facts, tables and forms.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::frame::Frame;
use super::super::page::Page;

/// A page for operators.
#[derive(Template)]
#[template(path = "console/installation.html")]
pub struct View {
    frame: Frame,
    pub heading: String,
    /// The list to which the page belongs.
    pub list: Option<Target>,
    pub lead: Option<String>,
    /// Reason why the sent form had no effect.
    pub error: Option<String>,
    pub links: Vec<Target>,
    /// Conditions that need an operator.
    pub alerts: Vec<Alert>,
    pub figures: Vec<Fact>,
    /// Fields of the filter.
    pub filter: Vec<Input>,
    pub sections: Vec<Section>,
    /// Address of the next page.
    pub older: Option<String>,
}

/// Link with its text.
pub struct Target {
    pub href: String,
    pub name: String,
}

/// Condition that needs an operator, with the page about it.
pub struct Alert {
    pub text: String,
    pub target: Option<Target>,
}

/// Name with its value.
pub struct Fact {
    pub name: String,
    pub value: String,
}

/// Part of a page under a heading.
#[derive(Default)]
pub struct Section {
    pub title: Option<String>,
    pub text: Option<String>,
    pub links: Vec<Target>,
    pub facts: Vec<Fact>,
    /// Values to copy, in fields that cannot be changed.
    pub copied: Vec<Input>,
    /// Markup of a QR code.
    pub picture: Option<String>,
    pub table: Option<Table>,
    pub forms: Vec<Form>,
}

/// Table. On a phone, each cell after the first has the heading of its column beside it.
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    /// Sentence in place of a table without rows.
    pub empty: String,
}

/// Row of a table.
pub struct Row {
    /// Page about the row, linked from its first cell.
    pub href: Option<String>,
    pub cells: Vec<String>,
}

/// Form with one button.
#[derive(Default)]
pub struct Form {
    /// Value of the field `do`. With `id`, start of the ids of the fields.
    pub name: &'static str,
    /// Distinguishes forms of the same name on a page.
    pub id: String,
    pub title: Option<String>,
    pub hidden: Vec<(&'static str, String)>,
    pub inputs: Vec<Input>,
    pub label: String,
    pub hint: Option<String>,
    pub is_danger: bool,
    /// Whether it is the main form of the page.
    pub is_primary: bool,
    /// Whether it sends a file.
    pub is_multipart: bool,
}

/// Field of a form.
#[derive(Default)]
pub struct Input {
    pub name: String,
    pub label: String,
    pub hint: Option<String>,
    pub value: String,
    pub kind: InputKind,
    pub is_required: bool,
    /// Whether the reader may see and not change it. Only a line can be so.
    pub is_read_only: bool,
    /// Media types of the files that a browser offers.
    pub accept: Option<&'static str>,
    /// Options of a select, or the boxes of `Boxes`.
    pub options: Vec<Choice>,
    /// Error that the reader can correct.
    pub error: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum InputKind {
    #[default]
    Line,
    Text,
    /// Text for a program, in a large field.
    Code,
    Day,
    Select,
    /// Secret, which is never shown again.
    Secret,
    /// Check box with the value `yes`. With a value in `value` it is checked.
    Box,
    /// Check boxes of the same name.
    Boxes,
    File,
}

/// Option of a select, or check box.
pub struct Choice {
    pub value: String,
    pub name: String,
    pub is_chosen: bool,
}

impl View {
    /// An empty page. `title` is the name of a message, `current` the page of the navigation.
    pub fn new(page: &Page, title: &str, current: &str) -> Self {
        Self {
            frame: page.frame(title, current),
            heading: page.text().say(title),
            list: None,
            lead: None,
            error: None,
            links: Vec::new(),
            alerts: Vec::new(),
            figures: Vec::new(),
            filter: Vec::new(),
            sections: Vec::new(),
            older: None,
        }
    }

    /// Shows the page again after a form had no effect.
    pub fn refused(self, page: &Page, error: String) -> Response {
        let error = Some(error);
        Self { error, ..self }.show(page)
    }

    /// Shows the page again after a form was not saved. Its errors are beside the fields, or in
    /// `error`.
    pub fn unsaved(self, page: &Page) -> Response {
        let text = page.text();
        let rest = self.error.clone();
        let rest = rest.unwrap_or_else(|| text.say("console-marked-fields"));
        self.refused(page, format!("{} {rest}", text.say("console-not-saved")))
    }

    /// Shows the page: with status 422 when it has an error.
    pub fn show(self, page: &Page) -> Response {
        let status = match self.error {
            None => StatusCode::OK,
            Some(_) => StatusCode::UNPROCESSABLE_ENTITY,
        };
        page.show(status, &self)
    }
}

impl Fact {
    /// A fact whose name is the message of that name.
    pub fn new(page: &Page, name: &str, value: impl ToString) -> Self {
        Self {
            name: page.text().say(name),
            value: value.to_string(),
        }
    }
}

impl Target {
    /// A link to a page of the console. `name` is the name of a message.
    pub fn new(page: &Page, path: &str, name: &str) -> Self {
        Self {
            href: page.link(path),
            name: page.text().say(name),
        }
    }
}

impl Table {
    /// A table whose columns and empty sentence are messages of those names.
    pub fn new(page: &Page, columns: &[&str], rows: Vec<Row>, empty: &str) -> Self {
        let text = page.text();
        Self {
            columns: columns.iter().map(|column| text.say(column)).collect(),
            rows,
            empty: text.say(empty),
        }
    }
}

impl Row {
    pub const fn plain(cells: Vec<String>) -> Self {
        Self { href: None, cells }
    }

    pub const fn linked(href: String, cells: Vec<String>) -> Self {
        let href = Some(href);
        Self { href, cells }
    }
}

impl Input {
    /// A line of text that may stay empty. `label` is the name of a message.
    pub fn line(page: &Page, name: &str, label: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            label: page.text().say(label),
            value: value.to_owned(),
            ..Self::default()
        }
    }

    /// A text of several lines that must not stay empty.
    pub fn text(page: &Page, name: &str, label: &str, value: &str) -> Self {
        Self {
            kind: InputKind::Text,
            is_required: true,
            ..Self::line(page, name, label, value)
        }
    }

    /// A day that may stay empty.
    pub fn day(page: &Page, name: &str, label: &str, value: &str) -> Self {
        Self {
            kind: InputKind::Day,
            ..Self::line(page, name, label, value)
        }
    }

    /// A choice among values with their names.
    pub fn select(page: &Page, name: &str, label: &str, options: Vec<Choice>) -> Self {
        Self {
            kind: InputKind::Select,
            options,
            ..Self::line(page, name, label, "")
        }
    }

    /// A check box with its hint. `label` and `hint` are names of messages.
    pub fn checkbox(page: &Page, name: &str, label: &str, hint: &str, is_checked: bool) -> Self {
        Self {
            kind: InputKind::Box,
            ..Self::line(page, name, label, if is_checked { "yes" } else { "" })
        }
        .with_hint(Some(page.text().say(hint)))
    }

    pub fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    pub fn with_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    pub fn with_error(self, error: Option<String>) -> Self {
        Self { error, ..self }
    }

    /// Ids of the hint and the error, for assistive technology. `start`: start of the ids.
    pub fn described_by(&self, start: impl std::fmt::Display) -> String {
        let hint = self.hint.as_ref().map(|_| "hint");
        let error = self.error.as_ref().map(|_| "error");
        let parts = [hint, error].into_iter().flatten();
        let ids = parts.map(|part| format!("{start}-{}-{part}", self.name));
        ids.collect::<Vec<_>>().join(" ")
    }
}
