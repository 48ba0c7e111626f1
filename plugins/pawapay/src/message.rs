//! Text on the payer's phone: 4 to 22 letters, digits and spaces.

/// The description in pawaPay's form. Accents are dropped, other characters become spaces, and a
/// long text is cut at a word.
pub fn customer_message(description: &str) -> String {
    let plain: String = description.chars().map(plain).collect();
    let mut message = String::new();
    for word in plain.split_ascii_whitespace() {
        let needs = word.len() + usize::from(!message.is_empty());
        if message.len() + needs > LONGEST {
            break;
        }
        if !message.is_empty() {
            message.push(' ');
        }
        message.push_str(word);
    }
    if message.is_empty() {
        // One word that is too long alone.
        let word = plain.split_ascii_whitespace().next().unwrap_or_default();
        message = word.chars().take(LONGEST).collect();
    }
    if message.len() < SHORTEST {
        return FALLBACK.to_owned();
    }
    message
}

fn plain(char: char) -> char {
    match char {
        'à' | 'â' | 'ä' | 'á' | 'ã' => 'a',
        'ç' => 'c',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'î' | 'ï' | 'í' => 'i',
        'ñ' => 'n',
        'ô' | 'ö' | 'ó' | 'õ' => 'o',
        'ù' | 'û' | 'ü' | 'ú' => 'u',
        'À' | 'Â' | 'Ä' | 'Á' => 'A',
        'Ç' => 'C',
        'É' | 'È' | 'Ê' | 'Ë' => 'E',
        'Î' | 'Ï' => 'I',
        'Ô' | 'Ö' => 'O',
        'Ù' | 'Û' | 'Ü' => 'U',
        char if char.is_ascii_alphanumeric() => char,
        _ => ' ',
    }
}

const SHORTEST: usize = 4;
const LONGEST: usize = 22;
const FALLBACK: &str = "Payment";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_4_to_22_letters_digits_and_spaces() {
        for (description, message) in [
            ("Order 123", "Order 123"),
            ("Commande n°12 : théière", "Commande n 12 theiere"),
            ("Two coffees and a piece of cake", "Two coffees and a"),
            ("Antidisestablishmentarianism", "Antidisestablishmentar"),
            ("  #1  ", "Payment"),
            ("", "Payment"),
            ("注文", "Payment"),
        ] {
            let cleaned = customer_message(description);
            assert_eq!(cleaned, message, "{description}");
            assert!((SHORTEST..=LONGEST).contains(&cleaned.len()));
        }
    }
}
