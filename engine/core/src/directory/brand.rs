//! Brands: the name by which payers know a method, and the colour of its tile, the same wherever
//! the brand appears.
//!
//! A brand has one name in all countries; pages name the country beside it. Colours are chosen for
//! recognition and for text on them that is readable; no operator's trade mark is drawn.

use super::method::Category;
use crate::language::Language;

/// A brand of payment methods.
#[derive(Debug, PartialEq, Eq)]
pub struct Brand {
    /// Start of the codes of its methods.
    start: &'static str,
    pub name: &'static str,
    pub tile: Tile,
}

/// Colours of a tile: its ground, and the text on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    pub ground: &'static str,
    pub ink: &'static str,
}

const fn white_on(ground: &'static str) -> Tile {
    Tile {
        ground,
        ink: "#fff",
    }
}

const fn black_on(ground: &'static str) -> Tile {
    Tile {
        ground,
        ink: "#111",
    }
}

const fn brand(start: &'static str, name: &'static str, tile: Tile) -> Brand {
    Brand { start, name, tile }
}

static BRANDS: [Brand; 25] = [
    brand("airtel_", "Airtel Money", white_on("#c8102e")),
    brand("barter", "Barter", white_on("#7e22ce")),
    brand("djamo_", "Djamo", white_on("#4338ca")),
    brand("e_money_", "E-Money", white_on("#0f766e")),
    brand("eu_mobile_", "EU Mobile Money", white_on("#0369a1")),
    brand("freemoney_", "Free Money", white_on("#b91c1c")),
    brand("halopesa_", "HaloPesa", white_on("#c2410c")),
    brand("mobi_cash_", "Mobi Cash", white_on("#4338ca")),
    brand("moov_", "Moov Money", white_on("#00539f")),
    brand("mpesa_", "M-Pesa", white_on("#15803d")),
    brand("mtn_", "MTN MoMo", black_on("#ffcb05")),
    brand("orange_", "Orange Money", black_on("#ff7900")),
    brand("tigo_gh", "AirtelTigo Money", white_on("#1d4ed8")),
    brand("tigo_", "Tigo Pesa", white_on("#00377b")),
    brand("tnm_", "TNM Mpamba", white_on("#15803d")),
    brand("togocel", "Togocel Money", white_on("#0f766e")),
    brand("vodacom_", "M-Pesa", white_on("#15803d")),
    brand("vodafone_", "Vodafone Cash", white_on("#be123c")),
    brand("wave_", "Wave", black_on("#1dc8ff")),
    brand("wizall_", "Wizall Money", white_on("#6d28d9")),
    brand("zamtel_", "Zamtel Kwacha", white_on("#166534")),
    brand("card_", "", white_on("#334155")),
    brand("bank_transfer_", "", white_on("#0369a1")),
    brand("qr_", "", white_on("#4338ca")),
    brand("ussd_", "", white_on("#a16207")),
];

/// Tile without a brand.
const PLAIN: Tile = white_on("#334155");

/// The brand of the method with this code.
pub(super) fn of(code: &str) -> Option<&'static Brand> {
    BRANDS.iter().find(|brand| code.starts_with(brand.start))
}

/// Name of a method that has a brand, or a generic one for its category; `None` where only the
/// catalogue has a name.
pub(super) fn name(code: &str, category: Category, language: Language) -> Option<&'static str> {
    let branded = of(code).map(|brand| brand.name);
    if let Some(name) = branded.filter(|name| !name.is_empty()) {
        return Some(name);
    }
    Some(match (category, language) {
        (Category::Card, Language::En) => "Bank card",
        (Category::Card, Language::Fr) => "Carte bancaire",
        (Category::BankTransfer, Language::En) => "Bank transfer",
        (Category::BankTransfer, Language::Fr) => "Virement bancaire",
        (Category::Qr, Language::En) => "QR code",
        (Category::Qr, Language::Fr) => "Code QR",
        (Category::Ussd, Language::En) => "USSD code",
        (Category::Ussd, Language::Fr) => "Code USSD",
        (Category::Crypto, Language::En) => "Cryptocurrency",
        (Category::Crypto, Language::Fr) => "Cryptomonnaie",
        (Category::Test, Language::En) => "Test payment",
        (Category::Test, Language::Fr) => "Paiement de test",
        (Category::MobileMoney | Category::Wallet, _) => return None,
    })
}

/// Tile of the method with this code.
pub(super) fn tile(code: &str) -> Tile {
    of(code).map_or(PLAIN, |brand| brand.tile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use crate::money::Currency;

    #[test]
    fn a_method_is_named_without_a_currency_code_in_each_language() {
        let directory = Directory::new("switchyard");
        let methods = directory.payment_methods().iter();
        for method in methods.chain(directory.payout_methods()) {
            for language in Language::ALL {
                let name = method.name_in(language);
                let words = name.split(|letter: char| !letter.is_alphanumeric());
                let codes = words.filter(|word| Currency::from_code(word).is_some());
                assert_eq!(codes.count(), 0, "{}: {name}", method.code);
                assert!(!name.is_empty() && !name.contains("Benin"), "{name}");
            }
        }
        let name = |code, language| directory.payment_method(code).unwrap().name_in(language);
        assert_eq!(name("card_xof", Language::Fr), "Carte bancaire");
        assert_eq!(name("card_usd", Language::En), "Bank card");
        assert_eq!(name("mtn_bj", Language::Fr), "MTN MoMo");
        assert_eq!(name("orange_bf", Language::En), "Orange Money");
    }

    #[test]
    fn a_brand_has_one_colour_everywhere() {
        let directory = Directory::new("switchyard");
        let tile = |code: &str| directory.payment_method(code).unwrap().tile();
        assert_eq!(tile("mtn_bj"), tile("mtn_gh"));
        assert_eq!(tile("mpesa_ke"), tile("vodacom_cd"));
        assert_ne!(tile("mtn_bj"), tile("moov_bj"));
        let payout = directory.payout_method("mtn_bj").unwrap();
        assert_eq!(tile("mtn_bj"), payout.tile());
    }

    #[test]
    fn text_is_readable_on_every_tile() {
        for Brand { name, tile, .. } in &BRANDS {
            let ratio = crate::colour::Colour::parse(tile.ground)
                .unwrap()
                .contrast(crate::colour::Colour::parse(&long(tile.ink)).unwrap());
            assert!(ratio >= 4.5, "{name}: {ratio}");
        }
    }

    /// `#abc` as `#aabbcc`.
    fn long(short: &str) -> String {
        let digits = short.trim_start_matches('#').chars();
        format!("#{}", digits.flat_map(|c| [c, c]).collect::<String>())
    }
}
