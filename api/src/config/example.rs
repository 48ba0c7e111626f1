//! Holds `examples/switchyard.toml` and [`Settings`](super::Settings) together: neither may have a
//! setting that the other lacks.

use std::collections::BTreeSet;

use super::{Overrides, Settings, check, load, names};

const EXAMPLE: &str = include_str!("../../../examples/switchyard.toml");

/// Paths of all settings in the example with whether the line shows an example (`# name`) and not
/// the default (`#name`).
fn in_the_example() -> Vec<(String, bool)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in EXAMPLE.lines() {
        if let Some(name) = line.strip_prefix("#[") {
            section = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((name, is_example)) = setting(line) {
            found.push((format!("{section}{name}"), is_example));
        }
    }
    found
}

/// The setting that a line shows, and whether with an example in place of a default.
fn setting(line: &str) -> Option<(&str, bool)> {
    let code = line.strip_prefix('#')?;
    let is_example = code.starts_with(' ');
    let (name, _) = code.trim_start_matches(' ').split_once(" = ")?;
    let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    is_name.then_some((name, is_example))
}

/// The example with its commented settings in force. `examples`: also those without a default.
fn uncommented(examples: bool) -> String {
    let code = |line: &'static str| match setting(line) {
        Some((_, true)) if !examples => "",
        Some((_, true)) => line.trim_start_matches("# "),
        Some((_, false)) => line.trim_start_matches('#'),
        // A section, or a value that goes on over several lines.
        None if line.starts_with("#[") || line.starts_with("#    ") || line == "#]" => {
            line.trim_start_matches('#')
        }
        None => line,
    };
    let lines: Vec<_> = EXAMPLE.lines().map(code).collect();
    lines.join("\n")
}

#[test]
fn every_setting_is_in_the_example_once_and_every_line_of_the_example_is_a_setting() {
    let example = in_the_example();
    let shown: BTreeSet<String> = example.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(shown, names::all());
    assert_eq!(
        shown.len(),
        example.len(),
        "a setting stands in the example twice"
    );
}

#[test]
fn every_setting_of_the_example_is_explained_just_above_it() {
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    for pair in lines.windows(2) {
        let is_prose = pair[0].starts_with("# ") && setting(pair[0]).is_none();
        assert!(
            setting(pair[1]).is_none() || is_prose,
            "not explained: {}",
            pair[1]
        );
    }
}

#[test]
fn the_example_changes_nothing_and_shows_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switchyard.toml");
    for text in [EXAMPLE.to_owned(), uncommented(false)] {
        std::fs::write(&file, text).unwrap();
        let loaded = load(Some(&file), &Overrides::default()).unwrap();
        assert_eq!(
            serde_json::to_value(&loaded).unwrap(),
            serde_json::to_value(Settings::default()).unwrap()
        );
        let faults = check(&loaded);
        let untrusted = "server.trusted_proxies";
        assert!(
            faults.iter().all(|fault| fault.setting == untrusted),
            "{faults:?}"
        );
    }
}

#[test]
fn lines_that_show_an_example_are_those_without_a_default_and_load_as_settings() {
    let defaults = serde_json::to_value(Settings::default()).unwrap();
    for (name, is_example) in in_the_example() {
        let pointer = format!("/{}", name.replace('.', "/"));
        assert_eq!(
            defaults.pointer(&pointer).unwrap().is_null(),
            is_example,
            "{name}"
        );
    }
    toml::from_str::<Settings>(&uncommented(true)).unwrap();
}

#[test]
fn documented_blocks_load_at_the_end_of_a_copied_example() {
    let documents = [
        include_str!("../../../docs/for-operators.md"),
        include_str!("../../../README.md"),
    ];
    let blocks = documents
        .iter()
        .flat_map(|document| document.split("```toml\n").skip(1))
        .filter_map(|rest| rest.split("```").next());
    let mut count = 0;
    for block in blocks {
        count += 1;
        toml::from_str::<Settings>(&format!("{EXAMPLE}\n{block}"))
            .unwrap_or_else(|why| panic!("{why}\n{block}"));
    }
    assert!(count > 0, "no block of settings is documented");
}

#[test]
fn a_section_that_stands_twice_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switchyard.toml");
    std::fs::write(&file, "[log]\nlevel = 'info'\n[log]\nformat = 'json'\n").unwrap();
    let refusal = load(Some(&file), &Overrides::default()).unwrap_err();
    let message = refusal.to_string();
    assert!(message.contains("may stand in the file once"), "{message}");
}

/// Root may read everything, so this looks for the error of a path that leads through a file.
#[test]
fn a_settings_file_that_cannot_be_reached_is_not_told_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let refusal = load(Some(&file.join("switchyard.toml")), &Overrides::default()).unwrap_err();
    let message = refusal.to_string();
    assert!(
        message.contains("cannot be read") && !message.contains("does not exist"),
        "{message}"
    );
}

#[test]
fn an_unknown_setting_is_refused_by_name_and_a_missing_file_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switchyard.toml");
    std::fs::write(&file, "[server]\nlissten = '127.0.0.1:1'\n").unwrap();
    let refusal = load(Some(&file), &Overrides::default())
        .unwrap_err()
        .to_string();
    assert!(
        refusal.contains("lissten") && refusal.contains("switchyard.toml"),
        "{refusal}"
    );
    let missing = load(
        Some(&folder.path().join("none.toml")),
        &Overrides::default(),
    )
    .unwrap_err();
    assert!(missing.to_string().contains("--config"));
}

#[test]
fn a_file_with_a_secret_that_others_can_read_is_refused_without_showing_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switchyard.toml");
    for (text, mode, setting) in [
        (
            "[secrets]\nmaster_key = 'hunter2'",
            0o644,
            Some("secrets.master_key"),
        ),
        (
            "[secrets]\nmaster_key = 'hunter2'",
            0o604,
            Some("secrets.master_key"),
        ),
        ("[secrets]\nmaster_key = 'hunter2'", 0o640, None),
        (
            "[mail]\nsmtp_url = 'smtps://u:hunter2@h'",
            0o644,
            Some("mail.smtp_url"),
        ),
        ("[mail]\nsmtp_url = 'smtps://u:hunter2@h'", 0o600, None),
        ("[mail]\nsmtp_url = 'smtps://h'", 0o644, None),
        (
            "[telemetry]\notlp_url = 'https://h'\nauthorization = 'hunter2'",
            0o644,
            Some("telemetry.authorization"),
        ),
        ("", 0o644, None),
    ] {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        match (load(Some(&file), &Overrides::default()), setting) {
            (Ok(_), None) => {}
            (Err(refused), Some(setting)) => {
                let message = refused.to_string();
                assert!(
                    message.contains(setting) && message.contains("chmod 600"),
                    "{message}"
                );
                assert!(!message.contains("hunter2"), "{message}");
            }
            (loaded, _) => panic!("{text} with mode {mode:o}: {:?}", loaded.err()),
        }
    }
}

#[test]
fn a_file_that_others_can_write_is_refused_in_production_whatever_it_holds() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("switchyard.toml");
    for (text, mode, is_refused) in [
        ("", 0o600, false),
        ("", 0o640, false),
        ("", 0o644, false),
        ("", 0o664, true),
        ("", 0o646, true),
        ("[gateways]\npinned = []", 0o620, true),
        ("development = true", 0o666, false),
    ] {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let loaded = load(Some(&file), &Overrides::default());
        let message = loaded
            .as_ref()
            .map_or_else(|why| why.to_string(), |_| String::new());
        assert_eq!(loaded.is_err(), is_refused, "{text} {mode:o}: {message}");
        assert_eq!(message.contains("chmod go-w"), is_refused, "{message}");
    }
    let development = Overrides {
        development: true,
        ..Overrides::default()
    };
    std::fs::write(&file, "").unwrap();
    assert!(load(Some(&file), &development).is_ok());
}

#[test]
fn a_secret_setting_is_never_written_out() {
    let settings: Settings = toml::from_str(
        "[mail]\nsmtp_url = 'smtps://u:hunter2@h'\n[secrets]\nmaster_key = 'hunter2'",
    )
    .unwrap();
    assert!(
        !serde_json::to_string(&settings)
            .unwrap()
            .contains("hunter2")
    );
    assert!(!format!("{settings:?}").contains("hunter2"));
}
