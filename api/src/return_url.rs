//! Where the customer goes after a payment: the merchant's own URL, with our two parameters behind whatever query it has.

use switchyard_engine::ids::TransactionId;
use switchyard_engine::transaction::Status;
use url::Url;

/// `return_url` with `paymentId` and `paymentStatus` appended.
pub fn with_outcome(return_url: &str, id: TransactionId, status: Status) -> String {
    // It was parsed when the payment was initialized, and is given as it is should it not parse any more.
    let Ok(mut url) = Url::parse(return_url) else {
        return return_url.to_owned();
    };
    url.query_pairs_mut()
        .append_pair("paymentId", &id.to_string())
        .append_pair("paymentStatus", status.as_str());
    url.into()
}

#[cfg(test)]
mod tests {
    use switchyard_engine::clock::Timestamp;
    use switchyard_engine::ids::{Ids, PaymentId};

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
                "http://localhost:3000",
                format!("http://localhost:3000/?{ours}"),
            ),
        ] {
            assert_eq!(with_outcome(given, id, Status::Success), expected);
        }
    }
}
