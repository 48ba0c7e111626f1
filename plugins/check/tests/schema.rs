//! The JSON Schema of manifests, which editors use: it accepts every manifest of this repository and
//! refuses what an author may write wrongly.

use std::fs;
use std::path::Path;

use anyhow::anyhow;
use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};

fn schema() -> anyhow::Result<(Schemas, SchemaIndex)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/gateway.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(file)?)?;
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let added = compiler.add_resource(NAME, schema);
    added.map_err(|why| anyhow!("{why}"))?;
    let compiled = compiler.compile(NAME, &mut schemas);
    let index = compiled.map_err(|why| anyhow!("{why}"))?;
    Ok((schemas, index))
}

/// Manifests of all gateways here, and of the template.
fn manifests() -> anyhow::Result<Vec<Value>> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut manifests = Vec::new();
    for folder in fs::read_dir(plugins)? {
        let folder = folder?.path();
        for file in ["gateway.json", "files/gateway.json"] {
            if let Ok(text) = fs::read(folder.join(file)) {
                manifests.push(serde_json::from_slice(&text)?);
            }
        }
    }
    Ok(manifests)
}

const NAME: &str = "gateway.schema.json";

#[test]
fn the_schema_accepts_every_manifest_of_this_repository() -> anyhow::Result<()> {
    let (schemas, index) = schema()?;
    let manifests = manifests()?;
    assert!(manifests.len() >= 6, "five gateways and the template");
    for manifest in &manifests {
        if let Err(refused) = schemas.validate(manifest, index) {
            panic!("{}: {refused}", manifest["name"]);
        }
    }
    Ok(())
}

#[test]
fn the_schema_refuses_what_an_author_writes_wrongly() -> anyhow::Result<()> {
    let (schemas, index) = schema()?;
    for (pointer, wrong) in [
        ("/operations/0", json!("colect")),
        ("/methods/0/direction", json!("in")),
        ("/methods/0/currency", json!(1)),
        ("/methods/0/countries", json!("BJ")),
        ("/hosts", json!(["api.acme.example"])),
        ("/version", Value::Null),
    ] {
        let mut tried = 0;
        for mut manifest in manifests()? {
            let Some(value) = manifest.pointer_mut(pointer) else {
                continue;
            };
            *value = wrong.clone();
            let is_accepted = schemas.validate(&manifest, index).is_ok();
            assert!(!is_accepted, "{pointer} {wrong}");
            tried += 1;
        }
        assert!(tried > 0, "{pointer}");
    }
    Ok(())
}
