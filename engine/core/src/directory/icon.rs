//! Icons, drawn by the program: a coloured tile with initials or the sign of a category. No
//! operator's trade mark is shown.
//!
//! A method has the colour of its brand; any other label always has the same colour. An icon has no
//! script, no style and no link, and its label is escaped, so that it can be served as it is.

use askama::filters::{Escaper as _, Html};

use super::brand::Tile;
use super::method::{Category, Method};
use crate::language::Language;

/// Use of an icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icon {
    /// The label is the currency's code or symbol, and is written in full up to four characters.
    Currency,
    Gateway,
}

/// An SVG document of 64 by 64 units that shows `label`.
pub fn icon_svg(label: &str, icon: Icon) -> String {
    let ground = COLOURS[hash(label) % COLOURS.len()];
    let radius = if icon == Icon::Currency { 32 } else { 14 };
    let letters = match icon {
        Icon::Currency => short(label),
        Icon::Gateway => initials(label),
    };
    let tile = Tile {
        ground,
        ink: "#fff",
    };
    document(label, tile, radius, &text(&letters, 32))
}

/// The icon of a method, in the colours of its brand.
pub fn method_svg(method: &Method) -> String {
    // A brand's name is the same in all languages.
    let name = method.name_in(Language::En);
    document(name, method.tile(), 14, &face(name, method.category))
}

/// Everything on the tile is drawn in its ink: `currentColor`.
fn document(label: &str, tile: Tile, radius: u8, face: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 64 64' \
         width='64' height='64' role='img' color='{}'>\
         <title>{}</title>\
         <rect width='64' height='64' rx='{radius}' fill='{}'/>{face}</svg>",
        tile.ink,
        escaped(label),
        tile.ground,
    )
}

/// A generic method shows its category; an operator shows its initials above a small sign.
fn face(label: &str, category: Category) -> String {
    match category {
        Category::MobileMoney => text(&initials(label), 28) + PHONE,
        Category::Wallet => text(&initials(label), 28) + WALLET,
        Category::Card => CARD.to_owned(),
        Category::BankTransfer => BANK.to_owned(),
        Category::Qr => QR.to_owned(),
        Category::Ussd => text("*#", 32),
        Category::Crypto => COIN.to_owned(),
        Category::Test => FLASK.to_owned(),
    }
}

fn text(letters: &str, middle: u8) -> String {
    let size = match letters.chars().count() {
        0 | 1 => 30,
        2 => 25,
        3 => 20,
        _ => 16,
    };
    format!(
        "<text x='32' y='{middle}' dy='.35em' text-anchor='middle' \
         font-family='system-ui,sans-serif' font-weight='700' font-size='{size}' fill='currentColor'>{}</text>",
        escaped(letters),
    )
}

/// The first four letters that show.
fn short(label: &str) -> String {
    let shown = label.chars().filter(|letter| !letter.is_whitespace());
    shown.take(4).collect()
}

/// First letters of the first two words; of a single word, its first two letters; a first word in
/// capitals as it is.
fn initials(label: &str) -> String {
    let mut words = label
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let letters: String = match (words.next(), words.next()) {
        // A brand that is written in capitals is known by them: MTN, TNM.
        (Some(first), Some(_)) if (2..=3).contains(&first.len()) && is_upper(first) => {
            first.to_owned()
        }
        (Some(first), Some(second)) => first
            .chars()
            .take(1)
            .chain(second.chars().take(1))
            .collect(),
        (Some(only), None) => only.chars().take(2).collect(),
        (None, _) => "?".to_owned(),
    };
    letters.to_uppercase()
}

fn is_upper(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    // XML has no place for control characters.
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        let _ = Html.write_escaped_char(&mut safe, letter); // writing to a string does not fail
    }
    safe
}

/// FNV-1a: the same on every machine and in every version, which the standard library's hashes do
/// not promise.
fn hash(text: &str) -> usize {
    let mix = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    text.bytes().fold(2_166_136_261, mix) as usize
}

/// White on each has a contrast of at least 4.5 to 1.
const COLOURS: [&str; 12] = [
    "#1d4ed8", "#0f766e", "#b91c1c", "#7e22ce", "#c2410c", "#15803d", "#be185d", "#4338ca",
    "#0369a1", "#a16207", "#334155", "#6d28d9",
];

const PHONE: &str = "<rect x='25' y='46' width='14' height='10' rx='2' fill='none' stroke='currentColor' stroke-width='2'/>\
         <path d='M30 53h4' stroke='currentColor' stroke-width='2'/>";
const WALLET: &str = "<rect x='23' y='46' width='18' height='11' rx='2' fill='none' stroke='currentColor' stroke-width='2'/>\
         <circle cx='37' cy='51.5' r='1.5' fill='currentColor'/>";
const CARD: &str = "<rect x='12' y='18' width='40' height='28' rx='4' fill='none' stroke='currentColor' stroke-width='3'/>\
         <path d='M12 27h40M18 38h10' stroke='currentColor' stroke-width='3'/>";
const BANK: &str = "<path d='M12 27 32 14l20 13zM18 31v13M27 31v13M37 31v13M46 31v13M12 48h40' \
     fill='none' stroke='currentColor' stroke-width='3' stroke-linejoin='round'/>";
const QR: &str = "<path d='M16 16h12v12H16zM36 16h12v12H36zM16 36h12v12H16z' fill='none' stroke='currentColor' stroke-width='3'/>\
         <path d='M36 36h5v5h-5zM43 43h5v5h-5zM43 36h5v3h-5zM36 45h3v3h-3z' fill='currentColor'/>";
const COIN: &str = "<path d='M32 12 49 22v20L32 52 15 42V22z' fill='none' stroke='currentColor' stroke-width='3' stroke-linejoin='round'/>\
         <path d='M15 22l17 10 17-10M32 32v20' fill='none' stroke='currentColor' stroke-width='3'/>";
const FLASK: &str = "<path d='M26 14h12M28 14v14L17 47a3 3 0 0 0 3 4h24a3 3 0 0 0 3-4L36 28V14M22 40h20' \
     fill='none' stroke='currentColor' stroke-width='3' stroke-linejoin='round'/>";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::{Colour, LEAST_CONTRAST};
    use crate::directory::Directory;
    use crate::money::Currency;

    #[test]
    fn initials_are_those_of_the_first_two_words() {
        let table = [
            ("MTN MoMo", "MTN"),
            ("Moov Money", "MM"),
            ("M-Pesa Kenya", "MP"),
            ("Airtel/Tigo Ghana", "AT"),
            ("Halopesa", "HA"),
            ("élan", "ÉL"),
            ("x", "X"),
            ("", "?"),
            ("<&>", "?"),
        ];
        for (label, letters) in table {
            assert_eq!(initials(label), letters, "{label}");
        }
    }

    #[test]
    fn the_same_label_always_has_the_same_colour() {
        assert_eq!(
            icon_svg("MTN MoMo Benin", Icon::Gateway),
            icon_svg("MTN MoMo Benin", Icon::Gateway)
        );
        // The published test vectors of FNV-1a.
        assert_eq!(
            (hash(""), hash("a"), hash("foobar")),
            (0x811C_9DC5, 0xE40C_292C, 0xBF9C_F968)
        );
    }

    #[test]
    fn a_label_cannot_write_markup() {
        let hostile = "</title><script>alert('1')</script>&\u{0}\"";
        let icons = [Icon::Gateway, Icon::Currency];
        for icon in icons {
            let svg = icon_svg(hostile, icon);
            assert!(
                !svg.contains("<script") && !svg.contains('\u{0}') && !svg.contains("&\""),
                "{svg}"
            );
            assert_eq!(svg.matches("<title>").count(), 1);
        }
    }

    #[test]
    fn everything_in_the_directory_has_an_icon_that_is_balanced_markup() {
        let directory = Directory::new("switchyard");
        let methods = directory
            .payment_methods()
            .iter()
            .chain(directory.payout_methods());
        let methods = methods.map(|method| method_svg(method));
        let currencies =
            Currency::all().map(|currency| icon_svg(currency.info().symbol, Icon::Currency));
        for svg in methods.chain(currencies) {
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"), "{svg}");
            assert!(svg.len() < 1000 && !svg.contains('\n'), "{svg}");
            let (open, close, own) = (
                svg.matches('<').count(),
                svg.matches("</").count(),
                svg.matches("/>").count(),
            );
            assert_eq!(open, 2 * close + own, "{svg}");
        }
    }

    #[test]
    fn white_is_readable_on_every_colour() {
        for colour in COLOURS {
            let ratio = Colour::parse(colour).unwrap().contrast(Colour::WHITE);
            assert!(ratio >= LEAST_CONTRAST, "{colour}");
        }
    }
}
