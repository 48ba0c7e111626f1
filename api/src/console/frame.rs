//! Frame of a page: title, navigation, languages and the signed-in person.

use std::sync::LazyLock;

use switchyard_core::environment::Environment;
use switchyard_core::language::Language;

use super::text::Text;
use crate::pages::style::packed_style;

/// The style sheet of the console.
static STYLE: LazyLock<String> =
    LazyLock::new(|| packed_style(include_str!("../../assets/console/console.css")));

/// Frame of a page.
pub struct Frame {
    pub lang: Language,
    pub nonce: String,
    pub title: String,
    pub service: String,
    /// Host name of the console.
    pub host: String,
    /// Path before all addresses of the console.
    pub prefix: String,
    /// Address of the forms of a page.
    pub action: String,
    /// Token of the session, which its forms carry.
    pub csrf: String,
    /// Number of the form: it takes effect once.
    pub form: String,
    pub notice: Option<StatusMessage>,
    pub languages: Vec<LanguageLink>,
    /// App and environment. `None`: the page is about neither.
    pub scope: Option<ScopeView>,
    pub links: Vec<Link>,
    pub apps_href: String,
    pub user_name: String,
    pub user_initials: String,
    pub role: String,
}

/// Link to the same page in a language.
pub struct LanguageLink {
    pub href: String,
    pub code: &'static str,
    pub name: &'static str,
    pub short: String,
    pub current: bool,
}

/// App and environment that a page is about.
pub struct ScopeView {
    pub account: String,
    pub app: String,
    pub initials: String,
    pub environment: Environment,
    /// The same page in each environment.
    pub environments: Vec<Link>,
}

/// Result of the form that led to the page.
pub struct StatusMessage {
    pub text: String,
    pub is_error: bool,
}

/// Link of the navigation.
pub struct Link {
    pub href: String,
    pub name: String,
    pub icon: &'static str,
    pub current: bool,
    /// Whether it has no room in the bar of a phone.
    pub is_wide_only: bool,
}

impl Frame {
    /// The message of that name in the reader's language.
    pub fn t(&self, message: &str) -> String {
        Text(self.lang).say(message)
    }

    pub fn css(&self) -> &'static str {
        &STYLE
    }

    /// Address of a page of the console.
    pub fn link(&self, path: &str) -> String {
        format!("{}/{path}", self.prefix)
    }

    /// Whether some pages have no room in the bar of a phone.
    pub fn has_more_links(&self) -> bool {
        self.links.iter().any(|link| link.is_wide_only)
    }

    pub fn is_sandbox(&self) -> bool {
        self.scope
            .as_ref()
            .is_some_and(|scope| scope.environment == Environment::Sandbox)
    }
}
