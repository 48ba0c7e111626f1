//! Forms as Stripe reads them: names with brackets, in any order.

use std::collections::BTreeMap;

pub type Form = BTreeMap<String, String>;

/// `None` when it is no form.
pub fn read(body: &str) -> Option<Form> {
    let pairs = body.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((decoded(name)?, decoded(value)?))
        })
        .collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let pair = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// `metadata[a]=…` as an object.
pub fn entries(form: &Form, prefix: &str) -> serde_json::Map<String, serde_json::Value> {
    let inner = |name: &str| {
        let rest = name.strip_prefix(prefix)?.strip_prefix('[')?;
        Some(rest.strip_suffix(']')?.to_owned())
    };
    form.iter()
        .filter_map(|(name, value)| Some((inner(name)?, value.clone().into())))
        .collect()
}
