//! Commands about the sender's profile, password and second factor. Secrets come from standard
//! input or a file, and never from an argument.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::own::asked;
use super::{Session, secret_of};
use crate::account::contract::own::{
    Code, Codes, NewPassword, ProfileChange, SecondFactorSetup, TokensLeft,
};
use crate::operator::contract::Nothing;

#[derive(Args)]
pub struct Profile {
    /// Your name, for the team and the audit log
    #[arg(long, required_unless_present = "language")]
    name: Option<String>,
    /// Language of pages and mails
    #[arg(long, value_parser = ["en", "fr"])]
    language: Option<String>,
}

#[derive(Args)]
pub struct Password {
    /// File with the new password, `-` for a line of standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    password_file: PathBuf,
}

#[derive(Subcommand)]
pub enum SecondFactor {
    /// Show the secret of a new authenticator, to confirm within 10 minutes
    SetUp,
    /// Confirm the set-up with a code of the authenticator, from standard input
    Confirm,
    /// Replace the recovery codes and show them, this once
    Codes,
    /// Remove the second factor, where no role requires one
    Remove,
}

impl Profile {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        let change = ProfileChange {
            name: self.name,
            language: self.language,
        };
        Ok(out.done(&client.patch::<Nothing>("/me", &change).await?)?)
    }
}

impl Password {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        let password = match self.password_file == Path::new("-") {
            true => asked("New password", &mut std::io::stdin().lock())?,
            false => secret_of(&self.password_file)?,
        };
        let answer = client
            .post("/me/password", &NewPassword { password })
            .await?;
        out.text(&answer, |left: &TokensLeft| {
            format!(
                "{}\nAPI tokens that stay valid: {}\n",
                answer.message,
                left.tokens.len()
            )
        })?;
        Ok(())
    }
}

impl SecondFactor {
    pub async fn run(self, session: &Session) -> anyhow::Result<()> {
        let (client, out) = (&session.client, session.client.output);
        match self {
            Self::SetUp => {
                let begun = client.post("/me/second-factor", &Nothing {}).await?;
                out.fields::<SecondFactorSetup>(&begun)?;
                out.note("Run `switchyard account second-factor confirm` with a code of it.");
            }
            Self::Confirm => {
                let code = asked("Code", &mut std::io::stdin().lock())?;
                let path = "/me/second-factor/confirm";
                let codes = client.post::<Codes>(path, &Code { code }).await?;
                out.text(&codes, shown)?;
            }
            Self::Codes => {
                let codes = client.post::<Codes>("/me/recovery-codes", &Nothing {});
                out.text(&codes.await?, shown)?;
            }
            Self::Remove => out.done(&client.delete("/me/second-factor").await?)?,
        }
        Ok(())
    }
}

/// Recovery codes, one a line.
fn shown(codes: &Codes) -> String {
    let lines = codes.codes.iter().map(|code| format!("{code}\n"));
    lines.collect()
}
