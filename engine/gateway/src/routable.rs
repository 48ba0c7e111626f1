//! Methods of a manifest that no transaction can have: the directory of methods lacks the code, or
//! has it in another currency. The same message is used wherever a manifest is checked: by the
//! check of a gateway, when it is inspected or added, and when a connection to it is made.

use std::sync::LazyLock;

use switchyard_gateway::Direction;
use switchyard_gateway::manifest::{Manifest, Method};

use switchyard_core::directory::Directory;
use switchyard_core::transaction::Kind;

/// Reason for which no money can be routed to the first such method, if there is one.
pub(super) fn misfit_of(manifest: &Manifest) -> Option<String> {
    /// The directory with the codes as manifests have them.
    static DIRECTORY: LazyLock<Directory> = LazyLock::new(|| Directory::new("{service}"));
    let mut methods = manifest.methods.iter();
    methods.find_map(|method| misfit(method, &DIRECTORY))
}

/// Reason for which no money can be routed to this method, if that is so.
pub fn misfit(method: &Method, directory: &Directory) -> Option<String> {
    let kind = match method.direction {
        Direction::Collect => Kind::Payment,
        Direction::Payout => Kind::Payout,
    };
    let noun = kind.as_str();
    let Method { code, currency, .. } = method;
    let Some(known) = directory.method(kind, code) else {
        return Some(format!(
            "the {noun} method `{code}` is not in the directory of methods, so no {noun} can have \
             it: use a code of the directory"
        ));
    };
    let expected = known.currency.code();
    (expected != currency).then(|| {
        format!(
            "the {noun} method `{code}` has the currency {currency} in the manifest and {expected} \
             in the directory of methods, so no {noun} can have it: correct the manifest"
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(code: &str, direction: &str, currency: &str) -> Option<String> {
        let manifest = json!({
            "name": "acme", "version": "1.0.0", "abi": 1, "title": "Acme",
            "operations": ["collect", "payout", "query"],
            "methods": [
                {"code": "mtn_bj", "direction": "collect", "currency": "XOF", "countries": ["BJ"]},
                {"code": "mtn_bj", "direction": "payout", "currency": "XOF", "countries": ["BJ"]},
                {"code": code, "direction": direction, "currency": currency, "countries": ["US"]},
            ],
        });
        misfit_of(&Manifest::parse(manifest.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn a_method_that_no_transaction_can_have_is_named_with_what_to_do() {
        assert_eq!(judged("card_usd", "collect", "USD"), None);
        assert_eq!(judged("{service}_payment_demo", "collect", "USD"), None);
        let lacking = judged("acme_bj", "collect", "XOF").unwrap();
        assert!(
            lacking.starts_with("the payment method `acme_bj` is not in"),
            "{lacking}"
        );
        let lacking = judged("card_usd", "payout", "USD").unwrap();
        assert!(
            lacking.starts_with("the payout method `card_usd` is not in"),
            "{lacking}"
        );
        let other = judged("card_usd", "collect", "EUR").unwrap();
        assert!(
            other.contains("EUR in the manifest and USD in the directory"),
            "{other}"
        );
    }
}
