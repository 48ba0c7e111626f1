//! `cargo xtask gateway new NAME`: four files that make a gateway, with tests that pass at once.
//!
//! The template is a whole gateway for an imaginary provider named Acme; only the name is changed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use crate::run;

/// Begin a gateway: four files that work, for an imaginary provider
#[derive(Args)]
pub struct New {
    /// The gateway's code for ever: a-z, 0-9 and _, at most 40 characters, a letter first
    name: String,
    /// A folder to make, outside of this repository; by default plugins/NAME
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl New {
    pub fn run(&self) -> anyhow::Result<()> {
        check_name(&self.name)?;
        let inside = run::root().join("plugins").join(&self.name);
        let folder = match &self.dir {
            None => inside,
            Some(dir) => std::path::absolute(dir)?,
        };
        let is_inside = folder.starts_with(run::root());
        if is_inside && folder.parent() != Some(&run::root().join("plugins")) {
            bail!(
                "{} lies in this repository and not in plugins/: leave --dir out, or name a folder elsewhere",
                folder.display()
            );
        }
        if fs::symlink_metadata(&folder).is_ok() {
            bail!(
                "{} is there already: choose another name, or another --dir",
                folder.display()
            );
        }
        self.write(&folder, is_inside)?;
        println!("{}", self.next(&folder, is_inside));
        Ok(())
    }

    fn write(&self, folder: &Path, is_inside: bool) -> anyhow::Result<()> {
        let cargo = if is_inside {
            CARGO_INSIDE.to_owned()
        } else {
            CARGO_OUTSIDE.replace("{version}", env!("CARGO_PKG_VERSION"))
        };
        let files = [
            ("Cargo.toml", cargo.as_str()),
            ("gateway.json", include_str!("template/gateway.json")),
            ("src/lib.rs", include_str!("template/lib.rs")),
            ("README.md", include_str!("template/README.md")),
        ];
        for (name, template) in files {
            let path = folder.join(name);
            let parent = path.parent().context("a file lies in a folder")?;
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, self.named(template)))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    /// The template under the wanted name.
    fn named(&self, template: &str) -> String {
        let hyphened = self.name.replace('_', "-");
        let spoken: String = self.name.split('_').map(capital).collect();
        // In one pass over the text: inserted text is not replaced again.
        let names = [
            ("gateway-acme", format!("gateway-{hyphened}")),
            ("acme.example", format!("{hyphened}.example")),
            ("acme", self.name.clone()),
            ("Acme", spoken),
        ];
        let mut rest = template;
        let mut named = String::with_capacity(template.len());
        while let Some((at, old, new)) = names
            .iter()
            .filter_map(|(old, new)| Some((rest.find(old)?, old, new)))
            .min_by_key(|(at, ..)| *at)
        {
            named.push_str(&rest[..at]);
            named.push_str(new);
            rest = &rest[at + old.len()..];
        }
        named + rest
    }

    fn next(&self, folder: &Path, is_inside: bool) -> String {
        let file = format!("libgateway_{}.so", self.name);
        let (shown, test, library) = if is_inside {
            let package = format!("gateway-{}", self.name.replace('_', "-"));
            (
                format!("plugins/{}", self.name),
                format!("cargo test -p {package} && cargo build -p {package}"),
                format!("target/debug/{file}"),
            )
        } else {
            let shown = folder.display().to_string();
            let sdk = run::root().join("plugins/sdk");
            let sdk = format!("patch.crates-io.switchyard-gateway.path={sdk:?}");
            (
                shown.clone(),
                format!(
                    "(cd {shown} && cargo test --config '{sdk}' && cargo build --config '{sdk}')"
                ),
                format!("{shown}/target/debug/{file}"),
            )
        };
        format!(
            "{shown} is a gateway for an imaginary provider. Next:\n  {test}\n  \
             cargo xtask gateway check {library}\nThen make it yours: docs/for-integrators.md."
        )
    }
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let begins = name.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    if !is_plain || !begins || name.len() > NAME_BYTES {
        bail!(
            "`{name}` is no name for a gateway: use a-z, 0-9 and _, at most {NAME_BYTES} characters, and begin with a letter"
        );
    }
    if name.ends_with('_') || name.contains("__") {
        bail!("`{name}` is no name for a gateway: a _ stands between two words");
    }
    if TAKEN.contains(&name) {
        bail!("`{name}` is taken by this repository: choose the provider's name");
    }
    Ok(())
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

const NAME_BYTES: usize = 40;
/// Folders of `plugins/` that are no gateways.
const TAKEN: [&str; 3] = ["sdk", "testkit", "check"];

const CARGO_INSIDE: &str = r#"[package]
name = "gateway-acme"
version.workspace = true
edition.workspace = true
rust-version.workspace = true
license.workspace = true
publish.workspace = true

[lib]
crate-type = ["cdylib", "rlib"]

[dependencies]
serde = { workspace = true }
serde_json = { workspace = true }
switchyard-gateway = { workspace = true }

[lints]
workspace = true
"#;

/// A workspace of its own, so that it builds wherever it stands.
const CARGO_OUTSIDE: &str = r#"[package]
name = "gateway-acme"
version = "0.1.0"
edition = "2024"
publish = false

[lib]
crate-type = ["cdylib", "rlib"]

[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = "1"
# Where no registry has the SDK: cargo --config, as README.md says.
switchyard-gateway = "{version}"

[workspace]
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, dir: Option<PathBuf>) -> New {
        New {
            name: name.to_owned(),
            dir,
        }
    }

    #[test]
    fn bad_names_are_refused_with_what_to_do() {
        for bad in [
            "", "Acme", "9pay", "_a", "a-b", "a_", "a__b", "sdk", "é", "../x",
        ] {
            let refused = check_name(bad).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("`{bad}` is ")), "{refused}");
        }
        assert!(check_name(&"a".repeat(41)).is_err());
        for good in ["a", "acme", "pay_9", &"a".repeat(40)] {
            check_name(good).unwrap();
        }
    }

    #[test]
    fn a_folder_that_is_there_is_left_alone_and_one_deep_in_the_repository_is_not_made() {
        let there = new("demo", None).run().unwrap_err().to_string();
        assert!(there.contains("is there already"), "{there}");
        let deep = run::root().join("engine/src/acme");
        let refused = new("acme", Some(deep.clone())).run().unwrap_err();
        assert!(refused.to_string().contains("not in plugins/"), "{refused}");
        assert!(!deep.exists());
    }

    #[test]
    fn the_name_is_everywhere_and_put_in_once() {
        let named = new("acme_pay", None).named("gateway-acme acme Acme api.acme.example acmeacme");
        assert_eq!(
            named,
            "gateway-acme-pay acme_pay AcmePay api.acme-pay.example acme_payacme_pay"
        );
    }
}
