//! Commands about the sender: sign-in, sessions, tokens.

use std::io::{BufRead, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use switchyard_core::secret::Secret;

use super::{Session, secret_of};
use crate::account::contract::own::{
    self as contract, Ended, Me, NewToken, OwnApp, OwnSession, SignedIn, Token,
};
use crate::cli::client::Client;
use crate::cli::output::{Column, cell};

#[derive(Args)]
pub struct SignIn {
    /// E-mail address of the user
    email: String,
    /// File with the password, `-` for a line of standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    password_file: PathBuf,
    /// Read the code of the authenticator, or a recovery code, from the next line of standard
    /// input
    #[arg(long)]
    with_code: bool,
}

#[derive(Subcommand)]
pub enum Sessions {
    /// List your sessions
    List,
    /// End a session
    End {
        /// The session's id [default: all but the one of the token]
        session: Option<String>,
    },
}

#[derive(Subcommand)]
pub enum Tokens {
    /// List your API tokens
    List,
    /// Create an API token for the account and show it, this once
    Create {
        /// Name of the token
        name: String,
        /// Actions, with commas between
        #[arg(long, value_delimiter = ',', required = true)]
        actions: Vec<String>,
        /// Lifetime in days, at most 366
        #[arg(long, default_value_t = 30)]
        days: u32,
    },
    /// End an API token
    Delete {
        /// The token's id, as `tokens list` shows it
        id: String,
    },
}

impl SignIn {
    pub async fn run(self, client: &Client) -> anyhow::Result<()> {
        let given = self.credentials(&mut std::io::stdin().lock())?;
        let out = client.output;
        out.fields::<SignedIn>(&client.post("/sign-in", &given).await?)?;
        out.note("Put the token into SWITCHYARD_ACCOUNT_TOKEN.");
        Ok(())
    }

    /// The password, unless a file has it, and then the code, from lines of `input`.
    fn credentials(self, input: &mut impl BufRead) -> anyhow::Result<contract::SignIn> {
        let password = match self.password_file == Path::new("-") {
            true => asked("Password", input)?,
            false => secret_of(&self.password_file)?,
        };
        let code = self.with_code.then(|| asked("Code", input)).transpose()?;
        Ok(contract::SignIn {
            email: self.email,
            password,
            code,
        })
    }
}

/// Reads a line of standard input, for which a terminal shows a name.
pub fn asked(name: &str, input: &mut impl BufRead) -> anyhow::Result<Secret<String>> {
    if std::io::stdin().is_terminal() {
        eprint!("{name}: ");
    }
    let mut line = String::new();
    let read = input.read_line(&mut line);
    read.with_context(|| format!("{name} cannot be read from standard input"))?;
    let line = line.trim_end_matches(['\n', '\r']).to_owned();
    if line.is_empty() {
        bail!("{name} is missing: it is read from standard input, one line each");
    }
    Ok(Secret::new(line))
}

pub async fn me(session: &Session) -> anyhow::Result<()> {
    let client = &session.client;
    Ok(client.output.fields::<Me>(&client.get("/me").await?)?)
}

pub async fn apps(session: &Session) -> anyhow::Result<()> {
    let client = &session.client;
    Ok(client.output.table(&client.get("/apps").await?, APPS)?)
}

impl Sessions {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::List => out.table(&client.get("/sessions").await?, SESSIONS)?,
            Self::End { session: Some(id) } => {
                out.done(&client.delete(&format!("/sessions/{id}")).await?)?;
            }
            Self::End { session: None } => {
                out.fields::<Ended>(&client.delete_with("/sessions").await?)?;
            }
        }
        Ok(())
    }
}

impl Tokens {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::List => out.table(&client.get("/tokens").await?, TOKENS)?,
            Self::Create {
                name,
                actions,
                days,
            } => {
                let new = NewToken {
                    name,
                    account: Some(session.account().await?),
                    actions: actions.into_iter().collect(),
                    days,
                };
                out.fields::<Token>(&client.post("/tokens", &new).await?)?;
                out.note("The token is shown this once: put it where it is needed now.");
            }
            Self::Delete { id } => {
                out.done(&client.delete(&format!("/tokens/{id}")).await?)?;
            }
        }
        Ok(())
    }
}

const APPS: &[Column<OwnApp>] = &[
    ("id", |one| cell(&one.id)),
    ("name", |one| cell(&one.name)),
    ("account", |one| cell(&one.account_name)),
    ("role", |one| cell(&one.role)),
    ("actions", |one| one.actions.len().to_string()),
];
const SESSIONS: &[Column<OwnSession>] = &[
    ("id", |one| cell(&one.id)),
    ("last request", |one| cell(&one.last_seen_at)),
    ("address", |one| cell(&one.address)),
    ("client", |one| cell(&one.user_agent)),
];
const TOKENS: &[Column<Token>] = &[
    ("id", |one| cell(&one.id)),
    ("name", |one| cell(&one.name)),
    ("token", |one| cell(&one.shown_as)),
    ("last used", |one| cell(&one.last_used_at)),
    ("ends", |one| cell(&one.expires_at)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sign_in(with_code: bool) -> SignIn {
        SignIn {
            email: "awa@example.com".to_owned(),
            password_file: "-".into(),
            with_code,
        }
    }

    #[test]
    fn a_sign_in_reads_the_password_and_the_code_from_lines_of_standard_input() {
        let mut input = &b" two words \r\n123456\nrest"[..];
        let given = sign_in(true).credentials(&mut input).unwrap();
        assert_eq!(given.password.expose(), " two words ");
        assert_eq!(given.code.unwrap().expose(), "123456");
        let mut input = &b"two words\n123456\n"[..];
        let given = sign_in(false).credentials(&mut input).unwrap();
        assert!(given.code.is_none());
        for missing in ["", "\n", "two words", "two words\n\n"] {
            let refused = sign_in(true).credentials(&mut missing.as_bytes());
            let message = refused.err().unwrap().to_string();
            assert!(message.contains("is missing"), "{missing:?}: {message}");
        }
    }
}
