//! Problems of settings with their origins.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::load::examine_with;
use super::{Examined, Overrides, Weight};

/// Examines a settings file and environment variables.
fn examined(toml: &str, environment: &[(&str, &str)], overrides: &Overrides) -> Examined {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.toml");
    fs::write(&file, toml).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let variable = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let environment = environment.iter().map(variable).collect();
    examine_with(Some(&file), environment, overrides)
}

/// Problems as `line:column: text`, or `variable: text`, without the folder and warnings.
fn problems(examined: &Examined) -> Vec<String> {
    let found = examined.problems.iter();
    let refused = found.filter(|problem| problem.weight == Weight::Problem);
    let shown = refused.map(|problem| match problem.to_string().split_once("s.toml:") {
        Some((_, rest)) => rest.to_owned(),
        None => problem.to_string(),
    });
    shown.collect()
}

/// A settings file, the beginning of its only problem with its origin, and a part of its advice.
const FILES: &[(&str, &str, &str)] = &[
    (
        "\n[server]\nlissten = '127.0.0.1:1'\n",
        "3:1: there is no setting server.lissten",
        "did you mean server.listen?",
    ),
    (
        "[log]\nlevel = 'info'\n\n[sever]\nlisten = '127.0.0.1:1'\n",
        "4:2: there is no section sever",
        "did you mean [server]?",
    ),
    (
        "[server]\nlevel = 'info'\n",
        "2:1: there is no setting server.level",
        "did you mean log.level?",
    ),
    (
        "colour = 'red'\n",
        "1:1: there is no setting colour",
        "examples/switchyard.toml",
    ),
    (
        "[database]\nurl = 'x'\n",
        "1:2: there is no section database",
        "the sections are actors",
    ),
    (
        "[server]\nlisten = 'nonsense'\n",
        "2:10: server.listen cannot be read",
        "Write it as in listen = \"127.0.0.1:8080\"",
    ),
    (
        "[payment]\n  expires_after = 30\n",
        "2:19: payment.expires_after cannot be read",
        "expires_after = \"30min\"",
    ),
    (
        "[webhook]\nretries = -1\n",
        "2:11: webhook.retries cannot be read",
        "retries = 3",
    ),
    ("server = 5\n", "1:1: there is no setting server", ""),
    (
        "[store]\nbackend = 'postgres'\n",
        "2:11: store.backend cannot be read",
        "sqlite",
    ),
    (
        "[server]\npublic_url = https://pay.example.com\n",
        "2:14: ",
        "quote",
    ),
    (
        "[log]\nlevel = 'info'\n[log]\nformat = 'json'\n",
        "3:2: duplicate key",
        "put all settings of a section under one line",
    ),
    (
        "[server]\npublic_url = 'http://pay.example.com'\n",
        "2:14: server.public_url is `http://pay.example.com/`",
        "https://",
    ),
    (
        "[operator]\ntokens = [\n    'one',\n]\n",
        "3:5: operator.tokens holds something other",
        "operator-token",
    ),
    (
        "[server]\ntrusted_proxies = ['10.0.0.1', 'proxy']\n",
        "2:32: server.trusted_proxies holds `proxy`",
        "network",
    ),
    (
        "server.shutdown_delay = '1h' # é\n",
        "1:25: server.shutdown_delay is 1h",
        "from 0ms to 10min",
    ),
    (
        "[service]\nname = 'é' # é\ncode = 'A'\n",
        "3:8: service.code is `A`",
        "lower-case",
    ),
];

#[test]
fn every_problem_has_the_line_and_the_column_that_cause_it_and_says_what_to_do() {
    for (toml, beginning, advice) in FILES {
        let found = problems(&examined(toml, &[], &Overrides::default()));
        assert_eq!(found.len(), 1, "{toml}: {found:#?}");
        assert!(found[0].starts_with(beginning), "{toml}: {found:#?}");
        assert!(found[0].contains(advice), "{toml}: {found:#?}");
    }
}

#[test]
fn all_problems_are_found_at_once_in_the_order_of_the_file() {
    let toml = "\
[server]
listen = 5
public_url = 'http://pay.example.com'
lissten = 1

[store]
cache = '1MiB'

[mail]
smtp_url = 'smtp://user:hunter2@mail.example.com'
";
    let found = problems(&examined(toml, &[], &Overrides::default()));
    let origins: Vec<_> = found
        .iter()
        .map(|text| text.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        origins,
        ["2:10", "3:14", "4:1", "7:9", "10:12"],
        "{found:#?}"
    );
    assert!(
        found.iter().all(|text| !text.contains("hunter2")),
        "{found:#?}"
    );
}

#[test]
fn lines_beside_a_syntax_error_are_checked_and_nothing_is_called_missing() {
    let toml = "[server]\nlisten = '0.0.0.0:80'\npublic_url = oops\n[store]\ncache = '1MiB'\n";
    let examined = examined(toml, &[], &Overrides::default());
    let found = problems(&examined);
    let origins: Vec<_> = found
        .iter()
        .map(|text| text.split(": ").next().unwrap())
        .collect();
    assert_eq!(origins, ["3:14", "5:9"], "{found:#?}");
    assert!(!examined.is_complete());
}

#[test]
fn a_variable_or_an_option_that_causes_a_problem_is_named() {
    let variable = "SWITCHYARD_SERVER__PUBLIC_URL";
    let file = "[server]\npublic_url = 'https://pay.example.com'\ntrusted_proxies = ['no']\n";
    let options = Overrides {
        port: Some(8081),
        ..Overrides::default()
    };
    let none = Overrides::default();
    for (environment, overrides, beginnings) in [
        (
            &[(variable, "http://pay.example.com")][..],
            &none,
            &[
                "3:20: server.trusted_proxies",
                "SWITCHYARD_SERVER__PUBLIC_URL: server.public_url is",
            ][..],
        ),
        (
            &[("SWITCHYARD_SERVER__TRUSTED_PROXIES", "[nope]")],
            &none,
            &["SWITCHYARD_SERVER__TRUSTED_PROXIES: server.trusted_proxies holds `nope`"],
        ),
        (
            &[
                ("SWITCHYARD_SERVER__TRUSTED_PROXIES", "[]"),
                ("SWITCHYARD_SERVER__LISSTEN", "x"),
                ("SWITCHYARD_WEBHOOK__RETRIES", "many"),
                ("SWITCHYARD_URL", "http://127.0.0.1:1"),
                ("SWITCHYARD_TOKEN", "t"),
            ],
            &none,
            &[
                "SWITCHYARD_SERVER__LISSTEN: there is no setting server.lissten: did you mean \
                 SWITCHYARD_SERVER__LISTEN?",
                "SWITCHYARD_WEBHOOK__RETRIES: webhook.retries cannot be read",
            ],
        ),
        (
            &[("SWITCHYARD_SERVER__TRUSTED_PROXIES", "[]")],
            &options,
            &["--port: server.listen is 127.0.0.1:8081"],
        ),
    ] {
        let found = problems(&examined(file, environment, overrides));
        assert_eq!(found.len(), beginnings.len(), "{environment:?}: {found:#?}");
        for (found, beginning) in found.iter().zip(beginnings) {
            assert!(found.starts_with(beginning), "{found}");
        }
    }
}

#[test]
fn a_secret_of_a_wrong_type_is_not_shown() {
    for toml in [
        "[secrets]\nmaster_key = 4711",
        "[mail]\nsmtp_url = ['smtps://u:4711@h']",
    ] {
        let found = problems(&examined(toml, &[], &Overrides::default()));
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(!found[0].contains("4711"), "{found:#?}");
    }
}

#[test]
fn a_development_setting_that_cannot_be_read_causes_no_other_problem() {
    let toml = "development = 'yes'\n[store]\nbackend = 'memory'\n";
    let found = problems(&examined(toml, &[], &Overrides::default()));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].starts_with("1:15: development cannot be read"),
        "{found:#?}"
    );
}

#[test]
fn unusual_settings_are_warnings_and_refuse_nothing() {
    for (toml, setting) in [
        ("", "server.trusted_proxies"),
        (
            "[server]\ntrusted_proxies = ['127.0.0.1']\n[gateways]\n\
             accept_missing_walls = ['landlock']",
            "gateways.accept_missing_walls",
        ),
    ] {
        let examined = examined(toml, &[], &Overrides::default());
        let found: Vec<_> = examined.problems.iter().collect();
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0].weight, Weight::Warning);
        assert_eq!(found[0].setting.as_deref(), Some(setting));
        assert_eq!(examined.refusals().count(), 0);
    }
    let development = examined("development = true", &[], &Overrides::default());
    assert!(
        development.problems.is_empty(),
        "{:#?}",
        development.problems
    );
}
