//! The settings file without the master key, for backups.

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

/// The text of a settings file with the master key replaced by a note. The rest is left as it is.
///
/// # Errors
/// When the text is not TOML.
pub fn without_master_key(text: &str) -> Result<String, toml::de::Error> {
    let file: File = toml::from_str(text)?;
    let Some(key) = file.secrets.and_then(|secrets| secrets.master_key) else {
        return Ok(text.to_owned());
    };
    let mut text = text.to_owned();
    text.replace_range(key.span(), &format!("\"{NOTE}\""));
    let key = key.into_inner();
    // The key may stand in a comment, too.
    Ok(match key.is_empty() {
        true => text,
        false => text.replace(&key, NOTE),
    })
}

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
}
