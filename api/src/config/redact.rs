//! The settings file without the master key, for backups.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

/// The only part of a settings file that a backup must not hold.
#[derive(Deserialize)]
struct File {
    secrets: Option<Secrets>,
}

#[derive(Deserialize)]
struct Secrets {
    master_key: Option<Spanned<String>>,
}

/// The text of a settings file with the master key replaced by a note, and each text in a comment
/// that may be one. The rest is left as it is.
///
/// # Errors
/// When the text is not TOML.
pub fn without_master_key(text: &str) -> Result<String, toml::de::Error> {
    let file: File = toml::from_str(text)?;
    let mut values = texts_in(&toml::from_str(text)?);
    let mut text = text.to_owned();
    if let Some(key) = file.secrets.and_then(|secrets| secrets.master_key) {
        text.replace_range(key.span(), &format!("\"{NOTE}\""));
        let key = key.get_ref().trim();
        values.retain(|value| value.trim() != key);
        if !key.is_empty() {
            text = text.replace(key, NOTE);
        }
    }
    for place in key_like(&text).into_iter().rev() {
        if !values
            .iter()
            .any(|value| value.contains(&text[place.clone()]))
        {
            text.replace_range(place, NOTE);
        }
    }
    Ok(text)
}

/// All texts among the values, such as the hashes of tokens.
fn texts_in(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Array(all) => all.iter().flat_map(texts_in).collect(),
        toml::Value::Table(all) => all.values().flat_map(texts_in).collect(),
        _ => Vec::new(),
    }
}

/// The places of 64 hexadecimal characters, which is how a master key is written.
fn key_like(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut from = 0;
    for part in text.split(|char: char| !char.is_ascii_hexdigit()) {
        if part.len() == KEY_CHARACTERS {
            places.push(from..from + part.len());
        }
        from += part.len();
        from += text[from..].chars().next().map_or(0, char::len_utf8);
    }
    places
}

const KEY_CHARACTERS: usize = 64;

const NOTE: &str = "(not in backups)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_master_key_is_left_out_however_it_is_written_and_nothing_else() {
        for (file, left) in [
            ("a = 1 # b\n", "a = 1 # b\n"),
            (
                "[secrets]\nmaster_key_file = 'k'\n",
                "[secrets]\nmaster_key_file = 'k'\n",
            ),
            (
                "# was KEY\n[secrets]\nmaster_key = \"KEY\" # now\n",
                "# was (not in backups)\n[secrets]\nmaster_key = \"(not in backups)\" # now\n",
            ),
            (
                "secrets.master_key = 'KEY'",
                "secrets.master_key = \"(not in backups)\"",
            ),
            (
                "secrets = { master_key = \"\"\"\nKEY\"\"\" }",
                "secrets = { master_key = \"(not in backups)\" }",
            ),
            (
                "[secrets]\nmaster_key = \"K\\u0045Y\"\n",
                "[secrets]\nmaster_key = \"(not in backups)\"\n",
            ),
            (
                "[secrets]\nmaster_key = ''\n",
                "[secrets]\nmaster_key = \"(not in backups)\"\n",
            ),
        ] {
            assert_eq!(without_master_key(file).unwrap(), left);
        }
        assert!(without_master_key("[secrets").is_err());
    }

    /// A key in a comment may be the active one, read from a file or from the environment.
    #[test]
    fn a_key_in_a_comment_is_left_out_and_the_hash_of_a_token_stays() {
        let (key, hash) = ("0a1B".repeat(16), "c0".repeat(32));
        for (file, left) in [
            (
                "# master_key = \"KEY\"\n",
                "# master_key = \"(not in backups)\"\n",
            ),
            (
                "a = 1 # é KEY, KEY",
                "a = 1 # é (not in backups), (not in backups)",
            ),
            (
                "[operator]\ntokens = [\"ci:HASH\"] # KEY\n",
                "[operator]\ntokens = [\"ci:HASH\"] # (not in backups)\n",
            ),
            ("# KEYff\n", "# KEYff\n"),
        ] {
            let written = |text: &str| text.replace("KEY", &key).replace("HASH", &hash);
            assert_eq!(without_master_key(&written(file)).unwrap(), written(left));
        }
        let lines = format!("secrets.master_key = \"\"\"\n{key}\n\"\"\" # old: {key} x\n");
        assert!(!without_master_key(&lines).unwrap().contains(&key));
        let active = format!("# {}\nsecrets.master_key = \"{key}\"\n", key.to_uppercase());
        let left = without_master_key(&active).unwrap();
        assert!(!left.to_lowercase().contains(&key.to_lowercase()), "{left}");
    }
}
