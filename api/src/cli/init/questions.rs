//! Questions for a new installation, on a terminal.

use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::bail;
use switchyard_core::secret::Secret;
use url::Url;

use super::options::InitOptions;

/// A terminal: lines that are read, and texts that are shown.
pub struct Terminal<R, W> {
    input: R,
    output: W,
}

impl<R: BufRead, W: Write> Terminal<R, W> {
    pub fn new(input: R, output: W) -> Self {
        Self { input, output }
    }

    /// Asks for everything. An empty line takes the value in brackets.
    ///
    /// # Errors
    /// When the input ends.
    pub fn ask(&mut self, options: &mut InitOptions) -> anyhow::Result<()> {
        writeln!(
            self.output,
            "A production installation. Enter takes the value in brackets; Ctrl-C stops, and \
             nothing is written.\n"
        )?;
        options.public_url = self.question(
            "Public URL, such as https://pay.example.com",
            &options.public_url,
            |text| match text {
                "" => Err("The public URL is needed: payers are sent there.".to_owned()),
                url => match (
                    Url::parse(url),
                    InitOptions::fault_of("server.public_url", url),
                ) {
                    (Err(error), _) => Err(format!("This is no URL: {error}.")),
                    (_, Some(fault)) => Err(fault),
                    (Ok(_), None) => Ok(url.to_owned()),
                },
            },
        )?;
        let listen = "Address and port for the proxy";
        options.listen = self.address(listen, options.listen)?;
        let admin = "Address and port for operators, not public";
        options.admin_listen = self.address(admin, options.admin_listen)?;
        options.settings = self.folder("Folder for settings and master key", &options.settings)?;
        options.data = self.folder("Folder for data", &options.data)?;
        options.gateways = self.folder("Folder with gateways", &options.gateways)?;
        let given = options.smtp_url.as_ref().map(|_| "as given");
        let smtp = self.question(
            "Mail server, such as smtps://user:password@mail.example.com; empty: no mails",
            given.unwrap_or_default(),
            |text| match text {
                "" | "as given" => Ok(text.to_owned()),
                url => match InitOptions::fault_of("mail.smtp_url", url) {
                    Some(fault) => Err(fault),
                    None => Ok(url.to_owned()),
                },
            },
        )?;
        match smtp.as_str() {
            "as given" => {}
            "" => options.smtp_url = None,
            _ => options.smtp_url = Some(Secret::new(smtp)),
        }
        let operator = "Name of the first operator, as the audit log shows it";
        options.operator = self.question(operator, &options.operator, |text| {
            match text.is_empty() || text.contains([':', '"']) {
                true => Err("A name is a text without colons.".to_owned()),
                false => Ok(text.to_owned()),
            }
        })?;
        Ok(())
    }

    /// Shows what is written, and asks for consent.
    ///
    /// # Errors
    /// When the input ends.
    pub fn confirm(&mut self, options: &InitOptions) -> anyhow::Result<bool> {
        writeln!(
            self.output,
            "\nThis writes {0}/switchyard.toml and {0}/master.key, and makes {1} unless it exists.",
            options.settings.display(),
            options.data.display()
        )?;
        self.question("Write it? yes or no", "yes", |text| match text {
            "y" | "yes" => Ok(true),
            "n" | "no" => Ok(false),
            _ => Err("Answer yes or no.".to_owned()),
        })
    }

    fn address(&mut self, question: &str, default: SocketAddr) -> anyhow::Result<SocketAddr> {
        self.question(question, &default.to_string(), |text| {
            let parsed = text.parse();
            parsed.map_err(|_| format!("`{text}` is no address with a port, such as {default}."))
        })
    }

    fn folder(&mut self, question: &str, default: &std::path::Path) -> anyhow::Result<PathBuf> {
        self.question(question, &default.display().to_string(), |text| {
            let path = PathBuf::from(text);
            match path.is_absolute() {
                true => Ok(path),
                false => Err(format!("`{text}` is no absolute path.")),
            }
        })
    }

    /// Asks until an answer can be read.
    fn question<T>(
        &mut self,
        question: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> anyhow::Result<T> {
        loop {
            match default {
                "" => write!(self.output, "{question}: ")?,
                default => write!(self.output, "{question} [{default}]: ")?,
            }
            self.output.flush()?;
            let mut line = String::new();
            if self.input.read_line(&mut line)? == 0 {
                bail!("the input ended: nothing was written");
            }
            let answer = match line.trim() {
                "" => default,
                text => text,
            };
            match read(answer) {
                Ok(answer) => return Ok(answer),
                Err(why) => writeln!(self.output, "  {why}")?,
            }
        }
    }
}
