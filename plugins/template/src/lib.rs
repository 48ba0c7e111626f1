//! A new gateway: a folder with a whole one, whose tests pass at once.
//!
//! The template is for an imaginary provider named Acme; only the name is changed. `switchyard
//! gateway new` and `cargo xtask gateway new` call [`NewGateway::create`].

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::Args;

/// Begin a gateway: a folder with files that work, for an imaginary provider
#[derive(Args, Clone, Debug)]
pub struct NewGateway {
    /// Name of the gateway, for ever: a-z, 0-9 and _, at most 40 characters, a letter first
    pub name: String,
    /// Folder to make [default: NAME; in a clone of Switchyard plugins/NAME]
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
    /// Folder of the SDK, where no registry has it: an unpacked switchyard-gateway-VERSION.crate
    #[arg(long, value_name = "FOLDER")]
    pub sdk: Option<PathBuf>,
}

/// A folder that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    pub folder: PathBuf,
    /// Whether it is a package of the clone.
    pub is_inside: bool,
}

impl NewGateway {
    /// Makes the folder. `clone`: the root of the clone of Switchyard that the caller belongs to; a
    /// gateway in its `plugins` is a package of it.
    ///
    /// # Errors
    /// When the name or the folder cannot be used, with the remedy. Nothing is overwritten.
    pub fn create(&self, clone: Option<&Path>) -> anyhow::Result<Created> {
        check_name(&self.name)?;
        let plugins = clone.map(|root| root.join("plugins"));
        let folder = match (&self.dir, &plugins) {
            (Some(dir), _) => std::path::absolute(dir)?,
            (None, Some(plugins)) => plugins.join(&self.name),
            (None, None) => std::path::absolute(&self.name)?,
        };
        let is_inside = clone.is_some_and(|root| folder.starts_with(root));
        if is_inside && folder.parent() != plugins.as_deref() {
            bail!(
                "{} lies in this repository and not in plugins/: leave --dir out, or name a folder \
                 elsewhere",
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
        Ok(Created { folder, is_inside })
    }

    fn write(&self, folder: &Path, is_inside: bool) -> anyhow::Result<()> {
        let cargo = match is_inside {
            true => self.named(CARGO_INSIDE),
            false => self.named(CARGO_OUTSIDE) + &self.patch()?,
        };
        for (name, template) in FILES {
            write_file(folder, name, &self.named(template))?;
        }
        write_file(folder, "gateway.schema.json", SCHEMA)?;
        write_file(folder, "Cargo.toml", &cargo)
    }

    /// The part of `Cargo.toml` that names the folder of the SDK, where no registry has it.
    fn patch(&self) -> anyhow::Result<String> {
        let Some(sdk) = &self.sdk else {
            return Ok(String::new());
        };
        let sdk = std::path::absolute(sdk)?;
        ensure!(
            sdk.join("Cargo.toml").is_file(),
            "{} is no folder of a Rust package: unpack the SDK (`tar xf \
             switchyard-gateway-VERSION.crate`) and name the folder that this makes",
            sdk.display()
        );
        Ok(format!(
            "\n[patch.crates-io]\nswitchyard-gateway = {{ path = {sdk:?} }}\n"
        ))
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
}

fn write_file(folder: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    let parent = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(&path, text))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let begins = name.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    if !is_plain || !begins || name.len() > NAME_BYTES {
        bail!(
            "`{name}` is no name for a gateway: use a-z, 0-9 and _, at most {NAME_BYTES} \
             characters, and begin with a letter"
        );
    }
    if name.ends_with('_') || name.contains("__") {
        bail!("`{name}` is no name for a gateway: a _ stands between two words");
    }
    if TAKEN.contains(&name) {
        bail!("`{name}` is taken by Switchyard: choose the provider's name");
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
const TAKEN: [&str; 4] = ["sdk", "testkit", "check", "template"];

/// Files of every new gateway besides `Cargo.toml` and the schema.
const FILES: [(&str, &str); 3] = [
    ("gateway.json", include_str!("../files/gateway.json")),
    ("src/lib.rs", include_str!("../files/lib.rs")),
    ("README.md", include_str!("../files/README.md")),
];

/// JSON Schema of the manifest, which the template names: editors complete and check by it.
pub const SCHEMA: &str = include_str!("../../sdk/gateway.schema.json");

const CARGO_INSIDE: &str = r#"[package]
name = "gateway-acme"
description = "Gateway of Switchyard for Acme"
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

/// A workspace of its own, so that it builds wherever it stands. The SDK has the version of this
/// package.
const CARGO_OUTSIDE: &str = concat!(
    r#"[package]
name = "gateway-acme"
description = "Gateway of Switchyard for Acme"
version = "0.1.0"
edition = "2024"
rust-version = "1.85"
publish = false

[lib]
crate-type = ["cdylib", "rlib"]

[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = "1"
switchyard-gateway = ""#,
    env!("CARGO_PKG_VERSION"),
    r#""

[workspace]
"#
);

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, dir: Option<PathBuf>) -> NewGateway {
        NewGateway {
            name: name.to_owned(),
            dir,
            sdk: None,
        }
    }

    #[test]
    fn bad_names_are_refused_with_what_to_do() {
        for bad in [
            "", "Acme", "9pay", "_a", "a-b", "a_", "a__b", "sdk", "template", "é", "../x",
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
    fn a_folder_that_is_there_is_left_alone_and_one_deep_in_the_clone_is_not_made() {
        let clone = tempfile::tempdir().unwrap();
        let created = new("acme", None).create(Some(clone.path())).unwrap();
        assert_eq!(created.folder, clone.path().join("plugins/acme"));
        assert!(created.is_inside);
        let there = new("acme", None).create(Some(clone.path())).unwrap_err();
        assert!(there.to_string().contains("is there already"), "{there}");
        let deep = clone.path().join("engine/src/acme");
        let refused = new("acme", Some(deep.clone())).create(Some(clone.path()));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("not in plugins/"), "{refused}");
        assert!(!deep.exists());
    }

    #[test]
    fn outside_of_a_clone_the_folder_names_the_sdk_that_it_is_given() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("acme");
        let mut wanted = new("acme", Some(folder.clone()));
        wanted.sdk = Some(temporary.path().join("none"));
        let refused = wanted.create(None).unwrap_err().to_string();
        assert!(refused.contains("unpack the SDK"), "{refused}");
        let sdk = temporary.path().join("sdk");
        fs::create_dir(&sdk).unwrap();
        fs::write(sdk.join("Cargo.toml"), "").unwrap();
        assert!(!folder.exists());
        wanted.sdk = Some(sdk.clone());
        assert!(!wanted.create(None).unwrap().is_inside);
        let cargo = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(cargo.ends_with(&format!("path = {sdk:?} }}\n")), "{cargo}");
    }

    #[test]
    fn the_manifest_of_the_template_names_its_schema() {
        let manifest = include_str!("../files/gateway.json");
        assert!(manifest.starts_with("{\n  \"$schema\": \"./gateway.schema.json\",\n"));
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
