//! The way back to the merchant: their `return_url` with `paymentId` and `paymentStatus`,
//! everything else as they gave it.

use switchyard_core::transaction::Transaction;
use url::Url;

use crate::return_url::with_outcome;

/// Target of the link back to the merchant, with its host for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnUrl {
    pub url: String,
    pub host: String,
}

/// `None` for a return URL that is no web address: a page never offers such a link.
pub fn way_back(tx: &Transaction) -> Option<ReturnUrl> {
    let given = &tx.payment()?.return_url;
    let host = shown_host(&web_address(given)?)?;
    Some(ReturnUrl {
        url: with_outcome(given, tx.id, tx.status()),
        host,
    })
}

/// The address, when it is one of the web. `javascript:` and its kin are not.
pub fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let web = matches!(url.scheme(), "https" | "http") && url.has_host();
    web.then_some(url)
}

/// The host as the payer should see it, with a port when it is not the usual one.
pub fn shown_host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::tests::samples;

    fn back(return_url: &str) -> Option<ReturnUrl> {
        let mut tx = samples::payment();
        if let switchyard_core::transaction::Details::Payment(payment) = &mut tx.details {
            payment.return_url = return_url.to_owned();
        }
        way_back(&tx)
    }

    #[test]
    fn the_merchants_own_query_and_fragment_are_kept() {
        let id = samples::payment().id;
        let table = [
            (
                "https://shop.example/done",
                format!("https://shop.example/done?paymentId={id}&paymentStatus=initiated"),
            ),
            (
                "https://shop.example/done?order=7&x=%C3%A9#top",
                format!(
                    "https://shop.example/done?order=7&x=%C3%A9&paymentId={id}&paymentStatus=initiated#top"
                ),
            ),
        ];
        for (given, expected) in table {
            assert_eq!(back(given).unwrap().url, expected);
        }
    }

    #[test]
    fn the_host_is_named_with_an_unusual_port() {
        assert_eq!(back("https://shop.example/a").unwrap().host, "shop.example");
        assert_eq!(
            back("http://127.0.0.1:9000/a").unwrap().host,
            "127.0.0.1:9000"
        );
        // A deceptive internationalized name is shown in its ASCII form.
        assert_eq!(
            back("https://аpple.example/").unwrap().host,
            "xn--pple-43d.example"
        );
    }

    #[test]
    fn nothing_but_a_web_address_is_ever_a_way_back() {
        for hostile in [
            "javascript:alert(1)",
            "data:text/html,x",
            "//shop.example",
            "not a url",
            "file:///etc/passwd",
        ] {
            assert_eq!(back(hostile), None, "{hostile}");
        }
    }
}
