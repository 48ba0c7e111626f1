//! Holds `examples/switchyard.toml` and [`Settings`](super::Settings) together: neither may have a setting that the other lacks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Overrides, Settings, check, load};

const EXAMPLE: &str = include_str!("../../../examples/switchyard.toml");

/// Paths of all settings: `server.listen`.
fn settings() -> BTreeSet<String> {
    let all = serde_json::to_value(Settings::default()).unwrap();
    let mut paths = BTreeSet::new();
    for (section, value) in all.as_object().unwrap() {
        match value {
            Value::Object(fields) => {
                paths.extend(fields.keys().map(|name| format!("{section}.{name}")))
            }
            _ => {
                paths.insert(section.clone());
            }
        }
    }
    paths
}

/// Paths of all settings in the example with whether they are commented out.
fn in_the_example() -> Vec<(String, bool)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in EXAMPLE.lines() {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
            continue;
        }
        let (code, commented) = match line.strip_prefix("# ") {
            Some(code) => (code, true),
            None => (line, false),
        };
        if let Some((name, _)) = code.split_once(" = ")
            && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        {
            found.push((format!("{section}{name}"), commented));
        }
    }
    found
}

#[test]
fn every_setting_is_in_the_example_once_and_every_line_of_the_example_is_a_setting() {
    let example = in_the_example();
    let names: BTreeSet<String> = example.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, settings());
    assert_eq!(
        names.len(),
        example.len(),
        "a setting stands in the example twice"
    );
}

#[test]
fn every_setting_of_the_example_is_explained_just_above_it() {
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    for pair in lines.windows(2) {
        let is_setting = pair[1].contains(" = ") && !pair[1].starts_with("# ");
        assert!(
            !is_setting || pair[0].starts_with("# "),
            "not explained: {}",
            pair[1]
        );
    }
}

#[test]
fn the_example_loads_is_accepted_and_is_equal_to_the_defaults() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/switchyard.toml");
    let loaded = load(Some(path.as_ref()), &Overrides::default()).unwrap();
    assert_eq!(
        serde_json::to_value(&loaded).unwrap(),
        serde_json::to_value(Settings::default()).unwrap()
    );
    assert_eq!(check(&loaded), Vec::<String>::new());
}

#[test]
fn lines_that_are_commented_out_are_those_without_a_default_and_load_when_they_are_not() {
    let defaults = serde_json::to_value(Settings::default()).unwrap();
    for (name, commented) in in_the_example() {
        let pointer = format!("/{}", name.replace('.', "/"));
        assert_eq!(
            defaults.pointer(&pointer).unwrap().is_null(),
            commented,
            "{name}"
        );
    }
    let all: String = EXAMPLE
        .lines()
        .map(|line| {
            match line.strip_prefix("# ").filter(|code| {
                code.split_once(" = ")
                    .is_some_and(|(name, _)| !name.contains(' '))
            }) {
                Some(code) => format!("{code}\n"),
                None => format!("{line}\n"),
            }
        })
        .collect();
    toml::from_str::<Settings>(&all).unwrap();
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
        ("", 0o644, None),
    ] {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        match (load(Some(&file), &Overrides::default()), setting) {
            (Ok(_), None) => {}
            (Err(refused), Some(setting)) => {
                let said = refused.to_string();
                assert!(
                    said.contains(setting) && said.contains("chmod 600"),
                    "{said}"
                );
                assert!(!said.contains("hunter2"), "{said}");
            }
            (loaded, _) => panic!("{text} with mode {mode:o}: {:?}", loaded.err()),
        }
    }
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
