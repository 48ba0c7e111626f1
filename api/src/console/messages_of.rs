//! Messages about roles and about errors of sign-ins.

use std::time::Duration;

use switchyard_users::{PasswordProblem, Role};

use super::text::Text;

pub fn role_name(role: Role, text: Text) -> String {
    text.say(&format!("console-role-{}", role.name()))
}

pub fn role_names(roles: &[Role], text: Text) -> String {
    let names: Vec<_> = roles.iter().map(|role| role_name(*role, text)).collect();
    names.join(", ")
}

pub fn password_problem(problem: &PasswordProblem, text: Text) -> String {
    text.say(match problem {
        PasswordProblem::TooShort => "console-password-short",
        PasswordProblem::TooLong => "console-password-long",
        PasswordProblem::Common => "console-password-common",
        PasswordProblem::IsEmail => "console-password-email",
    })
}

/// The sentence for too many tries, with the minutes until the next.
pub fn too_many(wait: Duration, text: Text) -> String {
    let minutes = wait.as_secs().div_ceil(60).max(1);
    let wait = text.count("console-minutes", "minutes", minutes);
    text.with("console-sign-in-too-many", &[("wait", &wait)])
}
