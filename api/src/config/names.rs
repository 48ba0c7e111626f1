//! Names of settings, and the one that a wrong name may have meant.

use std::collections::BTreeSet;

use serde_json::Value;

use super::settings::Settings;

/// Paths of all settings: `development`, `server.listen`.
pub fn all() -> BTreeSet<String> {
    let defaults = serde_json::to_value(Settings::default()).unwrap_or_default();
    let mut paths = BTreeSet::new();
    for (section, value) in defaults.as_object().into_iter().flatten() {
        match value {
            Value::Object(fields) => {
                paths.extend(fields.keys().map(|name| format!("{section}.{name}")));
            }
            _ => {
                paths.insert(section.clone());
            }
        }
    }
    paths
}

/// Names of all sections.
pub fn sections() -> BTreeSet<String> {
    let section = |path: String| Some(path.split_once('.')?.0.to_owned());
    all().into_iter().filter_map(section).collect()
}

/// The setting that an unknown path may mean: one with a similar name in its section, the same
/// name in another section, or a similar path.
pub fn nearest_setting(path: &str) -> Option<String> {
    let known = all();
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    let of_section: BTreeSet<&str> = known
        .iter()
        .filter_map(|known| known.strip_prefix(section)?.strip_prefix('.'))
        .collect();
    if let Some(near) = nearest(name, of_section) {
        return Some(format!("{section}.{near}"));
    }
    let ends_alike = |known: &&String| known.rsplit('.').next() == Some(name);
    // Of several sections with the name, the server's is the most likely one.
    let of_server = |known: &&String| known.starts_with("server.");
    let elsewhere = known.iter().filter(ends_alike).max_by_key(of_server);
    let elsewhere = elsewhere.cloned();
    elsewhere.or_else(|| nearest(path, known.iter().map(String::as_str)))
}

/// The section that an unknown one may mean.
pub fn nearest_section(name: &str) -> Option<String> {
    let known = sections();
    nearest(name, known.iter().map(String::as_str))
}

/// The candidate with the fewest changes, if they are at most a third of its letters.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let changes = |known: &&str| strsim::damerau_levenshtein(name, known);
    let near = known.into_iter().min_by_key(changes)?;
    (changes(&near) * 3 <= near.len().max(6)).then(|| near.to_owned())
}

/// The line of the example file that shows a setting: `listen = "127.0.0.1:8080"`.
pub fn example(path: &str) -> Option<&'static str> {
    let (section, name) = path.split_once('.').unwrap_or(("", path));
    let mut current = "";
    for line in EXAMPLE.lines() {
        let code = line.trim_start_matches('#').trim_start();
        if line.starts_with("#[") {
            current = code.trim_matches(['[', ']']);
        }
        let shows = code
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(" = "));
        if line.starts_with('#') && current == section && shows {
            // A value over several lines has no short form.
            return (!code.ends_with('[')).then_some(code);
        }
    }
    None
}

const EXAMPLE: &str = include_str!("../../../examples/switchyard.toml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_leads_to_the_setting_that_was_meant() {
        for (wrong, meant) in [
            ("server.lissten", Some("server.listen")),
            ("server.public_ur", Some("server.public_url")),
            ("server.adminlisten", Some("server.admin_listen")),
            ("store.bakend", Some("store.backend")),
            ("server.level", Some("log.level")),
            ("listen", Some("server.listen")),
            ("developement", Some("development")),
            ("smtp.smtp_url", Some("mail.smtp_url")),
            ("server.colour", None),
            ("nothing.like_it", None),
        ] {
            assert_eq!(nearest_setting(wrong).as_deref(), meant, "{wrong}");
        }
        assert_eq!(nearest_section("sever").as_deref(), Some("server"));
        assert_eq!(nearest_section("gatewyas").as_deref(), Some("gateways"));
        assert_eq!(nearest_section("database"), None);
    }

    #[test]
    fn every_setting_with_a_value_on_one_line_has_an_example() {
        let without: Vec<_> = all()
            .into_iter()
            .filter(|path| example(path).is_none())
            .collect();
        assert_eq!(without, ["limits.payout_amount_per_day"]);
        assert_eq!(
            example("server.listen"),
            Some("listen = \"127.0.0.1:8080\"")
        );
    }
}
