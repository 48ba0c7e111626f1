//! Ids of everything that is stored.
//!
//! Every public id is a type prefix and a lower-case ULID: sortable by time, 80 random bits
//! (docs/contract/identifiers.md).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use ulid::Ulid;

/// A text is not the id that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an id of the form {prefix}<26 characters>")]
pub struct ParseIdError {
    pub prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Ulid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            pub fn new(ulid: Ulid) -> Self {
                Self(ulid)
            }

            pub fn ulid(self) -> Ulid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Spelled::new($prefix, self.0).as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;
            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse_id(text, $prefix).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(Spelled::new($prefix, self.0).as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::word::read(deserializer)
            }
        }
    };
}

id!(
    /// A merchant's organisation.
    AccountId, "acc_"
);
id!(
    /// A merchant's integration.
    AppId, "app_"
);
id!(
    /// A proposal that a second person approves or rejects.
    ApprovalId, "apr_"
);
id!(
    /// One try of a transaction at one connection.
    AttemptId, "atm_"
);
id!(
    /// One request that a provider sent us.
    CallbackId, "cbk_"
);
id!(
    /// Something that only a person can settle.
    CaseId, "cse_"
);
id!(
    /// A payment's capture, as verify shows it.
    CaptureId, "cap_"
);
id!(
    /// A gateway with one app's credentials.
    ConnectionId, "con_"
);
id!(
    /// Payer of payments, or recipient of payouts.
    CustomerId, "cus_"
);
id!(
    /// One notification to one webhook.
    DeliveryId, "whd_"
);
id!(
    /// A payout's disbursement, as verify shows it.
    DisburseId, "dsb_"
);
id!(
    /// Something that happened to a transaction and is announced.
    EventId, "evt_"
);
id!(
    /// An API key (the record, never the key itself).
    KeyId, "key_"
);
id!(
    /// A single-use link to a page (the record, never its token).
    LinkId, "lnk_"
);
id!(
    /// A mail that waits in the outbox.
    MailId, "eml_"
);
id!(
    /// An operator's token (the record, never the token itself).
    OperatorTokenId, "opt_"
);
id!(
    /// A payment.
    PaymentId, "py_"
);
id!(
    /// A link of a merchant on which anybody can pay.
    PaymentLinkId, "plk_"
);
id!(
    /// A payout.
    PayoutId, "po_"
);
id!(
    /// A session of a user (the record, never its token).
    SessionId, "ses_"
);
id!(
    /// A person with a sign-in.
    UserId, "usr_"
);
id!(
    /// An API token of a user (the record, never the token itself).
    UserTokenId, "utk_"
);
id!(
    /// A webhook of an app: URL, secret, switch.
    WebhookId, "whk_"
);

/// A payment's or a payout's id; the prefix tells which.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransactionId {
    Payment(PaymentId),
    Payout(PayoutId),
}

impl TransactionId {
    pub fn ulid(self) -> Ulid {
        match self {
            Self::Payment(id) => id.ulid(),
            Self::Payout(id) => id.ulid(),
        }
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Payment(id) => id.fmt(f),
            Self::Payout(id) => id.fmt(f),
        }
    }
}

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for TransactionId {
    type Err = ParseIdError;
    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        match text.parse() {
            Ok(id) => Ok(Self::Payment(id)),
            Err(_) => text.parse().map(Self::Payout),
        }
    }
}

impl Serialize for TransactionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Payment(id) => id.serialize(serializer),
            Self::Payout(id) => id.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TransactionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::word::read(deserializer)
    }
}

/// An id as text, without an allocation: every answer and every row has some.
struct Spelled {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Spelled {
    fn new(prefix: &str, ulid: Ulid) -> Self {
        let length = prefix.len() + ulid::ULID_LEN;
        let mut bytes = [0; LONGEST];
        bytes[..prefix.len()].copy_from_slice(prefix.as_bytes());
        for (place, letter) in bytes[prefix.len()..length].iter_mut().rev().enumerate() {
            *letter = LETTERS[(ulid.0 >> (5 * place)) as usize & 31];
        }
        Self { bytes, length }
    }

    fn as_str(&self) -> &str {
        // Prefixes and letters are ASCII.
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// One id has one spelling. Upper case, look-alike letters and a first letter of more bits than an
/// id has, all of which ULIDs may be written with elsewhere, are another text and so no id of ours.
fn parse_id(text: &str, prefix: &'static str) -> Result<Ulid, ParseIdError> {
    let not_an_id = ParseIdError { prefix };
    let letters = text.strip_prefix(prefix).ok_or(not_an_id)?.as_bytes();
    if letters.len() != ulid::ULID_LEN || letters[0] > b'7' {
        return Err(not_an_id);
    }
    let mut bits = 0;
    for letter in letters {
        let value = VALUES[usize::from(*letter)];
        if value == NO_LETTER {
            return Err(not_an_id);
        }
        bits = bits << 5 | u128::from(value);
    }
    Ok(Ulid(bits))
}

/// The letters of an id in the order of their values: without those that look like others.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The value of each byte that is a letter of an id.
const VALUES: [u8; 256] = {
    let mut values = [NO_LETTER; 256];
    let mut value = 0;
    while value < LETTERS.len() {
        values[LETTERS[value] as usize] = value as u8;
        value += 1;
    }
    values
};
const NO_LETTER: u8 = u8::MAX;
/// Bytes of the longest id: a prefix has four at most.
const LONGEST: usize = 4 + ulid::ULID_LEN;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        let id = PaymentId::new(Ulid::from_parts(1_700_000_000_000, 7));
        let text = id.to_string();
        assert_eq!(text.len(), 3 + 26);
        assert_eq!(text, text.to_lowercase());
        assert_eq!(text.parse::<PaymentId>(), Ok(id));
        assert_eq!(
            text.parse::<TransactionId>(),
            Ok(TransactionId::Payment(id))
        );
        assert!(text.parse::<PayoutId>().is_err());
        assert!(text.to_uppercase().parse::<PaymentId>().is_err());
    }

    #[test]
    fn an_id_has_one_spelling() {
        assert!("py_61jd4v3z6q8k9m2n5p7r1s3t4v".parse::<PaymentId>().is_ok());
        for same_bits in [
            "py_p1jd4v3z6q8k9m2n5p7r1s3t4v",
            "py_6ljd4v3z6q8k9m2n5p7r1s3t4v",
            "py_61JD4v3z6q8k9m2n5p7r1s3t4v",
        ] {
            assert!(same_bits.parse::<PaymentId>().is_err(), "{same_bits}");
        }
    }

    #[test]
    fn every_id_is_spelt_as_ulids_are() {
        for ulid in [Ulid(0), Ulid(u128::MAX), Ulid::from_parts(9_000, 8 << 40)] {
            let id = OperatorTokenId::new(ulid);
            let spelt = format!("opt_{}", ulid.to_string().to_lowercase());
            assert_eq!(id.to_string(), spelt);
            assert_eq!(spelt.parse(), Ok(id));
            assert_eq!(serde_json::to_value(id).unwrap(), spelt);
        }
        for other in [
            "opt_",
            "opt_61jd4v3z6q8k9m2n5p7r1s3t4u",
            "opt_61jd4v3z6q8k9m2n5p7r1s3t4",
            "é",
        ] {
            assert!(other.parse::<OperatorTokenId>().is_err(), "{other}");
        }
    }

    #[test]
    fn ids_sort_by_time() {
        let early = Ulid::from_parts(1_000, u128::MAX);
        let late = Ulid::from_parts(2_000, 0);
        assert!(PaymentId::new(early).to_string() < PaymentId::new(late).to_string());
    }
}
