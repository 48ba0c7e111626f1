//! Messages of the console in the reader's language.

use switchyard_core::language::Language;

use crate::pages::messages;

/// Reader's language, with the messages of the pages in it.
#[derive(Clone, Copy)]
pub struct Text(pub Language);

impl Text {
    pub const fn language(self) -> Language {
        self.0
    }

    /// The message of that name.
    pub fn say(self, message: &str) -> String {
        messages::say(self.0, message)
    }

    /// The message of that name with values in it.
    pub fn with(self, message: &str, values: &[(&'static str, &str)]) -> String {
        messages::say_with(self.0, message, values)
    }

    /// The message of that name with a number in it.
    pub fn count(self, message: &str, name: &'static str, count: u64) -> String {
        messages::say_count(self.0, message, name, count)
    }
}
