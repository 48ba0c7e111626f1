//! `cargo xtask sbom`: the bill of materials of the program and its gateways, as CycloneDX 1.6 in
//! JSON.
//!
//! Every package of `Cargo.lock` is in it, with its pinned checksum. `required` packages are in a
//! deployed program; `excluded` ones are needed for building and testing only, or on another
//! system. Third-party files in the repository are [`VENDORED`]. Two runs over the same commit give
//! the same bytes: there is no time and no serial number in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use toml::Table;

use crate::run;
use crate::stage::bundled_gateways;

/// Write the bill of materials (CycloneDX JSON), and print where it is
#[derive(Args)]
pub struct Sbom {
    /// Output file [default: target/switchyard.cdx.json]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Sbom {
    pub fn run(&self) -> anyhow::Result<()> {
        let to = self.output.clone();
        let to = to.unwrap_or_else(|| run::target().join("switchyard.cdx.json"));
        write(&to)?;
        println!("{}", to.display());
        Ok(())
    }
}

/// Writes the bill of materials.
pub fn write(to: &Path) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(&bill()?)?;
    text.push('\n');
    std::fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}

/// Third-party files in the repository: path, name, version, licence.
const VENDORED: &[(&str, &str, &str, &str)] = &[(
    "api/src/docs/vendor/redoc.standalone.js",
    "redoc",
    "2.5.4",
    "MIT",
)];

/// The systems that are deployed on, as `deny.toml` has them.
const SYSTEMS: &[&str] = &["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

const PROGRAM: &str = "switchyard";

type Id = (String, String);

/// One package of the lock file.
struct Locked {
    id: Id,
    checksum: Option<String>,
    needs: Vec<Id>,
}

/// Cargo's metadata of the packages that can be built here.
#[derive(Default)]
struct Known {
    licences: BTreeMap<Id, String>,
    shipped: BTreeSet<Id>,
}

fn bill() -> anyhow::Result<Value> {
    let locked = locked()?;
    let mut roots = bundled_gateways()?;
    roots.push(PROGRAM.to_owned());
    let mut known = Known::default();
    for system in SYSTEMS {
        known.learn(&metadata(system)?, &roots)?;
    }
    let program = locked.iter().find(|package| package.id.0 == PROGRAM);
    let program = program.context("Cargo.lock has no package of the program")?;
    let others = locked.iter().filter(|package| package.id != program.id);
    let mut components: Vec<Value> = others.map(|package| component(package, &known)).collect();
    for vendored in VENDORED {
        components.push(vendored_component(vendored)?);
    }
    let mut subject = component(program, &known);
    subject["type"] = json!("application");
    let mut dependencies: Vec<Value> = locked.iter().map(dependency).collect();
    for (_, name, version, _) in VENDORED {
        dependencies.push(json!({ "ref": format!("pkg:npm/{name}@{version}") }));
    }
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": { "component": subject },
        "components": components, "dependencies": dependencies,
    }))
}

fn component(package: &Locked, known: &Known) -> Value {
    let (name, version) = &package.id;
    let scope = match known.shipped.contains(&package.id) {
        true => "required",
        false => "excluded",
    };
    let mut component = json!({
        "type": "library", "bom-ref": url(&package.id), "name": name, "version": version, "scope": scope, "purl": url(&package.id),
    });
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(licence) = known.licences.get(&package.id) {
        component["licenses"] = json!([{ "expression": licence }]);
    }
    component
}

fn vendored_component(
    (path, name, version, licence): &(&str, &str, &str, &str),
) -> anyhow::Result<Value> {
    let bytes =
        std::fs::read(run::root().join(path)).with_context(|| format!("{path} is missing"))?;
    let checksum = base16ct::lower::encode_string(&Sha256::digest(bytes));
    let url = format!("pkg:npm/{name}@{version}");
    Ok(json!({
        "type": "library", "bom-ref": url, "name": name, "version": version, "scope": "required", "purl": url,
        "hashes": [{ "alg": "SHA-256", "content": checksum }], "licenses": [{ "expression": licence }],
        "evidence": { "occurrences": [{ "location": path }] },
    }))
}

fn dependency(package: &Locked) -> Value {
    let needs: Vec<String> = package.needs.iter().map(url).collect();
    json!({ "ref": url(&package.id), "dependsOn": needs })
}

fn url((name, version): &Id) -> String {
    format!("pkg:cargo/{name}@{version}")
}

/// The packages of `Cargo.lock`.
fn locked() -> anyhow::Result<Vec<Locked>> {
    let text = std::fs::read_to_string(run::root().join("Cargo.lock"))?;
    let lock: Table = text.parse().context("Cargo.lock cannot be read")?;
    let rows = lock["package"]
        .as_array()
        .context("Cargo.lock has no packages")?;
    let word = |row: &toml::Value, name: &str| {
        row.get(name)
            .and_then(toml::Value::as_str)
            .map(str::to_owned)
    };
    let id = |row| {
        word(row, "name")
            .zip(word(row, "version"))
            .context("a package without a name or a version")
    };
    let ids: Vec<Id> = rows.iter().map(id).collect::<anyhow::Result<_>>()?;
    let mut locked = Vec::new();
    for (row, id) in rows.iter().zip(&ids) {
        let listed = row.get("dependencies").and_then(toml::Value::as_array);
        let listed = listed.into_iter().flatten().filter_map(toml::Value::as_str);
        // `name`, or `name version` where there are several of that name.
        let needs = listed.map(|need| {
            let mut words = need.split(' ');
            let (name, version) = (words.next(), words.next());
            let found = ids.iter().find(|(of, at)| {
                Some(&**of) == name && version.is_none_or(|version| version == at)
            });
            found
                .cloned()
                .with_context(|| format!("{need} is not in Cargo.lock"))
        });
        locked.push(Locked {
            id: id.clone(),
            checksum: word(row, "checksum"),
            needs: needs.collect::<anyhow::Result<_>>()?,
        });
    }
    Ok(locked)
}

/// Cargo's metadata of all packages that a system needs.
fn metadata(system: &str) -> anyhow::Result<Value> {
    let mut cargo = run::cargo();
    cargo.args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        system,
    ]);
    let output = cargo.output().context("cargo cannot be started")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

impl Known {
    /// Takes in the licences, and what `roots` have in them: their dependencies, without those that
    /// only building and testing need.
    fn learn(&mut self, metadata: &Value, roots: &[String]) -> anyhow::Result<()> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut names = BTreeMap::new();
        for package in list(&metadata["packages"]) {
            let id: Id = (text(&package["name"]), text(&package["version"]));
            if let Some(licence) = package["license"].as_str() {
                // Cargo's old form of "or".
                self.licences
                    .insert(id.clone(), licence.replace('/', " OR "));
            }
            names.insert(text(&package["id"]), id);
        }
        let mut needs = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            let normal = list(&node["deps"]).into_iter().filter(|need| {
                list(&need["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"].is_null())
            });
            needs.insert(
                text(&node["id"]),
                normal.map(|need| text(&need["pkg"])).collect::<Vec<_>>(),
            );
        }
        let is_root = |(_, (name, _)): &(&String, &Id)| roots.contains(name);
        let mut next: Vec<String> = names
            .iter()
            .filter(is_root)
            .map(|(id, _)| id.clone())
            .collect();
        ensure!(
            next.len() == roots.len(),
            "cargo does not know all of {roots:?}"
        );
        while let Some(id) = next.pop() {
            let package = names
                .get(&id)
                .with_context(|| format!("cargo does not know {id}"))?;
            if self.shipped.insert(package.clone()) || roots.contains(&package.0) {
                next.extend(needs.remove(&id).unwrap_or_default());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_names_every_package_of_the_lock_file_once_with_its_checksum() {
        let bill = bill().unwrap();
        let mut listed = bill["components"].as_array().unwrap().clone();
        listed.push(bill["metadata"]["component"].clone());
        // Read by another way than the command does: line by line.
        let lock = std::fs::read_to_string(run::root().join("Cargo.lock")).unwrap();
        let mut packages = 0;
        for package in lock.split("[[package]]").skip(1) {
            let word = |name: &str| {
                let line = package
                    .lines()
                    .find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
                Some(line.trim_end_matches('"'))
            };
            let found: Vec<_> = listed
                .iter()
                .filter(|one| {
                    Some(one["name"].as_str().unwrap()) == word("name")
                        && one["version"].as_str() == word("version")
                })
                .collect();
            assert_eq!(found.len(), 1, "{package}");
            assert_eq!(
                found[0]["hashes"][0]["content"].as_str(),
                word("checksum"),
                "{package}"
            );
            packages += 1;
        }
        assert_eq!(packages + VENDORED.len(), listed.len());
        let refs: BTreeSet<_> = listed
            .iter()
            .map(|one| one["bom-ref"].as_str().unwrap())
            .collect();
        assert_eq!(refs.len(), listed.len(), "each has a name of its own");
        for dependency in bill["dependencies"].as_array().unwrap() {
            let needs = dependency["dependsOn"].as_array().into_iter().flatten();
            for name in needs.chain([&dependency["ref"]]) {
                assert!(refs.contains(name.as_str().unwrap()), "{name}");
            }
        }
    }

    #[test]
    fn what_is_deployed_is_required_with_its_licence_and_what_only_tests_need_is_not() {
        let bill = bill().unwrap();
        let scope = |name: &str| {
            let one = bill["components"]
                .as_array()
                .unwrap()
                .iter()
                .find(|one| one["name"] == name);
            one.unwrap()["scope"].as_str().unwrap().to_owned()
        };
        for name in [
            "axum",
            "rusqlite",
            "rustls",
            "ring",
            "switchyard-engine",
            "gateway-stripe",
            "k256",
            "redoc",
        ] {
            assert_eq!(scope(name), "required", "{name}");
        }
        for name in [
            "proptest",
            "switchyard-tests",
            "switchyard-testkit",
            "windows-sys",
        ] {
            assert_eq!(scope(name), "excluded", "{name}");
        }
        for one in bill["components"].as_array().unwrap() {
            assert!(
                one["scope"] != "required" || one["licenses"].is_array(),
                "{one}"
            );
        }
    }

    #[test]
    fn what_others_made_and_lies_here_is_in_the_bill() {
        let mut folders = vec![run::root().to_owned()];
        let mut found = BTreeSet::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let is_ours = !["target", ".git", "node_modules"].contains(&&*name);
                if path.is_dir() && is_ours {
                    folders.push(path);
                } else if folder.ends_with("vendor") && !is_about(&path) {
                    found.insert(
                        path.strip_prefix(run::root())
                            .unwrap()
                            .to_str()
                            .unwrap()
                            .to_owned(),
                    );
                }
            }
        }
        let listed: BTreeSet<_> = VENDORED
            .iter()
            .map(|(path, ..)| (*path).to_owned())
            .collect();
        assert_eq!(found, listed);
        for (path, name, version, _) in VENDORED {
            let about = run::root().join(path).with_file_name("README.md");
            let about = std::fs::read_to_string(about).unwrap().to_lowercase();
            assert!(
                about.contains(name) && about.contains(version),
                "{path} is another version"
            );
        }
    }

    /// A licence, or a word on where it comes from.
    fn is_about(path: &Path) -> bool {
        path.extension()
            .is_some_and(|kind| kind == "txt" || kind == "md")
    }
}
