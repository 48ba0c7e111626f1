//! Transports for mails: an SMTP server, or files in development mode.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lettre::transport::smtp;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};

use super::policy::SendResult;
use switchyard_core::ids::MailId;
use switchyard_core::secret::Secret;

pub enum Transport {
    Smtp(AsyncSmtpTransport<Tokio1Executor>),
    /// Development mode: one `.eml` file a mail.
    Files(PathBuf),
    #[cfg(feature = "simulation")]
    Simulated(switchyard_system::simulation::Network),
    /// Panics on the first sends, as often as the counter says, and then accepts all mails.
    #[cfg(test)]
    Panicking(std::sync::atomic::AtomicUsize),
}

/// Error while setting up a transport.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error(
        "mail.smtp_url cannot be used: write smtps://user:password@host or smtp://host:port?tls=required"
    )]
    Url(#[source] smtp::Error),
    #[error("the folder for mails {} cannot be made: let this program write there", .path.display())]
    Folder {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl Transport {
    pub fn smtp(url: &Secret<String>) -> Result<Self, TransportError> {
        let server = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose())
            .map_err(TransportError::Url)?;
        Ok(Self::Smtp(server.timeout(Some(SMTP_TIMEOUT)).build()))
    }

    pub fn files(folder: &Path) -> Result<Self, TransportError> {
        std::fs::create_dir_all(folder).map_err(|source| TransportError::Folder {
            path: folder.to_owned(),
            source,
        })?;
        Ok(Self::Files(folder.to_owned()))
    }

    /// Makes one attempt to send a mail. Returns the result, and the reason when it was not sent.
    pub async fn send(&self, id: MailId, mail: Message) -> (SendResult, Option<String>) {
        match self {
            Self::Smtp(server) => {
                match tokio::time::timeout(SMTP_TIMEOUT * 2, server.send(mail)).await {
                    Ok(Ok(_)) => (SendResult::Sent, None),
                    Ok(Err(error)) if error.is_permanent() => {
                        (SendResult::Refused, Some(reason(&error)))
                    }
                    Ok(Err(error)) => (SendResult::Troubled, Some(reason(&error))),
                    Err(_) => (
                        SendResult::Troubled,
                        Some("the mail server did not answer in time".to_owned()),
                    ),
                }
            }
            #[cfg(feature = "simulation")]
            Self::Simulated(line) => {
                match tokio::time::timeout(SMTP_TIMEOUT * 2, line(letter(id, &mail))).await {
                    Ok(Ok(answer)) if answer.status == 250 => (SendResult::Sent, None),
                    Ok(Ok(answer)) if answer.status >= 500 => {
                        (SendResult::Refused, Some("no".to_owned()))
                    }
                    _ => (SendResult::Troubled, Some("the line broke".to_owned())),
                }
            }
            #[cfg(test)]
            Self::Panicking(times) => {
                use std::sync::atomic::Ordering::SeqCst;
                let left = times.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
                assert!(left.is_err(), "a test wants a panic");
                (SendResult::Sent, None)
            }
            Self::Files(folder) => match write(folder, id, &mail.formatted()).await {
                Ok(()) => (SendResult::Sent, None),
                Err(error) => (
                    SendResult::Troubled,
                    Some(format!(
                        "no file can be written in {}: {error}",
                        folder.display()
                    )),
                ),
            },
        }
    }
}

/// Connects to the SMTP server of a URL as for a mail: greeting, TLS and sign-in as the URL
/// says. No mail is sent.
///
/// # Errors
/// The reason, without the password.
pub async fn test_connection(url: &Secret<String>) -> Result<(), String> {
    let server = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose());
    let server = server.map_err(|error| TransportError::Url(error).to_string())?;
    let server: AsyncSmtpTransport<Tokio1Executor> = server.timeout(Some(TEST_TIMEOUT)).build();
    match tokio::time::timeout(TEST_TIMEOUT, server.test_connection()).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err("the server closed the connection".to_owned()),
        Ok(Err(error)) => Err(reason(&error)),
        Err(_) => Err(format!(
            "no answer within {} seconds",
            TEST_TIMEOUT.as_secs()
        )),
    }
}

/// Mail as a simulated request with its recipients and id. MIME boundaries and the date are left
/// out: they are not deterministic.
#[cfg(feature = "simulation")]
fn letter(id: MailId, mail: &Message) -> switchyard_system::simulation::Request {
    let to: Vec<String> = mail
        .envelope()
        .to()
        .iter()
        .map(ToString::to_string)
        .collect();
    switchyard_system::simulation::Request {
        to: switchyard_system::simulation::To::MailServer,
        method: "MAIL".to_owned(),
        url: format!("mailto:{}", to.join(",")),
        headers: vec![("id".to_owned(), id.to_string())],
        body: Vec::new(),
    }
}

/// Writes a temporary file and renames it, so that a process that watches the folder sees only
/// complete mails.
async fn write(folder: &Path, id: MailId, mail: &[u8]) -> std::io::Result<()> {
    let part = folder.join(format!(".{id}.part"));
    tokio::fs::write(&part, mail).await?;
    tokio::fs::rename(&part, folder.join(format!("{id}.eml"))).await
}

fn reason(error: &smtp::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Timeout of a test of the connection.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of one step of the SMTP dialog.
const SMTP_TIMEOUT: Duration = Duration::from_secs(30);
