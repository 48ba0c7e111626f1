//! Addresses from xpubs against published vectors, and the manifest against the catalogue.

#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::collections::BTreeSet;

use gateway_crypto_evm::address::Address;
use gateway_crypto_evm::xpub::Receiving;
use serde_json::Value;
use switchyard_gateway::manifest::Manifest;

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

#[test]
fn both_xpubs_of_a_wallet_give_its_own_addresses() {
    let vectors = vectors();
    for xpub in ["account_xpub", "external_xpub"] {
        let receiving = Receiving::parse(vectors[xpub].as_str().unwrap()).unwrap();
        let rows = vectors["addresses"].as_array().unwrap();
        assert_eq!(rows.len(), 6);
        for row in rows {
            let index = u32::try_from(row["index"].as_u64().unwrap()).unwrap();
            let address = receiving.address(index).unwrap().to_string();
            assert_eq!(address, row["address"], "{xpub} {index}");
            let lower = Address::parse(row["lower"].as_str().unwrap()).unwrap();
            assert_eq!(lower.to_string(), address);
        }
        assert!(receiving.address(1 << 31).is_none(), "hardened");
    }
}

#[test]
fn both_xpubs_of_a_wallet_share_one_series_of_numbers() {
    let vectors = vectors();
    let series = |xpub: &str| {
        let receiving = Receiving::parse(vectors[xpub].as_str().unwrap());
        receiving.unwrap().fingerprint()
    };
    assert_eq!(series("account_xpub"), series("external_xpub"));
    // Stored with the numbers given out: it may never change.
    assert_eq!(series("account_xpub"), "7294f375054f2e69a9f98ac792aa6c19");
}

#[test]
fn an_xpub_that_is_none_is_refused_and_a_private_key_with_a_warning() {
    let vectors = vectors();
    let right = vectors["account_xpub"].as_str().unwrap();
    let said = |text: &str| Receiving::parse(text).map(|_| ()).unwrap_err();
    assert!(said(&right.replacen("Ce9", "Ce8", 1)).contains("copy it again"));
    assert!(said(&right[..right.len() - 1]).contains("copy it again"));
    assert!(said("").contains("copy it again"));
    let private = "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi";
    assert!(said(private).contains("PRIVATE"));
    // The same test vectors' master key (BIP-32, vector 1): right, and of the wrong depth.
    let master = "xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8";
    assert!(said(master).contains("neither an account's"));
}

#[test]
fn every_crypto_method_of_the_catalogue_is_served_and_no_other() {
    let catalogue = include_str!("../../../engine/core/src/directory/data/payment_methods.json");
    let catalogue: Vec<Value> = serde_json::from_str(catalogue).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let wanted: BTreeSet<(String, String, Vec<String>)> = catalogue
        .iter()
        .filter(|row| text(&row["code"]).starts_with("crypto_"))
        .map(|row| {
            let countries = row["countries"].as_array().unwrap().iter().map(text);
            (
                text(&row["code"]),
                text(&row["currency"]),
                countries.collect(),
            )
        })
        .collect();
    let manifest = Manifest::parse(include_bytes!("../gateway.json")).unwrap();
    let served: BTreeSet<_> = manifest
        .methods
        .into_iter()
        .map(|row| (row.code, row.currency, row.countries))
        .collect();
    assert_eq!(served, wanted);
    assert_eq!(served.len(), 6);
    assert_eq!(
        manifest.needs,
        ["counter", "counter_from", "options", "progress"]
    );
}
