//! Return URL of a payment: the merchant's own, with our two parameters after its query. Parameters
//! of the same names in the merchant's URL are replaced: otherwise the merchant's server could read
//! an old or a forged outcome.

use switchyard_core::ids::TransactionId;
use switchyard_core::transaction::Status;
use url::Url;

/// `return_url` with `paymentId` and `paymentStatus`.
pub fn with_outcome(return_url: &str, id: TransactionId, status: Status) -> String {
    // It was parsed when the payment was initialized, and is given as it is should it not parse any
    // more.
    let Ok(mut url) = Url::parse(return_url) else {
        return return_url.to_owned();
    };
    let others = url.query().map(without_ours);
    url.set_query(others.as_deref().filter(|others| !others.is_empty()));
    url.query_pairs_mut()
        .append_pair(ID, &id.to_string())
        .append_pair(STATUS, status.as_str());
    url.into()
}

/// The query without our two parameters, and otherwise as it was, letter by letter.
fn without_ours(query: &str) -> String {
    let is_ours = |pair: &str| {
        let mut decoded = url::form_urlencoded::parse(pair.as_bytes());
        let name = decoded.next().map(|(name, _)| name);
        name.is_some_and(|name| name == ID || name == STATUS)
    };
    let others: Vec<&str> = query.split('&').filter(|pair| !is_ours(pair)).collect();
    others.join("&")
}

const ID: &str = "paymentId";
const STATUS: &str = "paymentStatus";

#[cfg(test)]
mod tests {
    use switchyard_core::ids::PaymentId;
    use switchyard_core::time::Timestamp;
    use switchyard_system::ids::Ids;

    use super::*;

    #[test]
    fn the_query_and_the_fragment_of_the_merchant_stay() {
        let id = TransactionId::Payment(PaymentId::new(
            Ids::seeded(1).ulid(Timestamp::from_seconds(1)),
        ));
        let ours = format!("paymentId={id}&paymentStatus=success");
        for (given, expected) in [
            (
                "https://shop.example/done",
                format!("https://shop.example/done?{ours}"),
            ),
            (
                "https://shop.example/?a=%20b+c&d",
                format!("https://shop.example/?a=%20b+c&d&{ours}"),
            ),
            (
                "https://shop.example/#/done",
                format!("https://shop.example/?{ours}#/done"),
            ),
            (
                "https://shop.example/?paymentStatus=failed&a=1&paymentId=py_x&%70aymentId=&b=%20",
                format!("https://shop.example/?a=1&b=%20&{ours}"),
            ),
            (
                "https://shop.example/?paymentId=py_x#top",
                format!("https://shop.example/?{ours}#top"),
            ),
            (
                "http://localhost:3000",
                format!("http://localhost:3000/?{ours}"),
            ),
        ] {
            assert_eq!(with_outcome(given, id, Status::Success), expected);
        }
    }
}
