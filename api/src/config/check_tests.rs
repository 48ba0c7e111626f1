//! Reasons for which a settings file is refused.

use super::*;
use crate::config::problem::Weight;

fn refusals(toml: &str) -> Vec<String> {
    let faults = check(&::toml::from_str(toml).unwrap()).into_iter();
    let refused = faults.filter(|fault| fault.weight == Weight::Problem);
    refused.map(|fault| fault.text).collect()
}

/// Settings that are refused, each with a part of its message.
const UNSAFE: &[(&str, &str)] = &[
    (
        "[server]\npublic_url = 'http://pay.example.com'",
        "https://",
    ),
    (
        "[server]\npublic_url = 'https://pay.example.com/path'",
        "scheme, host and port only",
    ),
    (
        "[server]\npublic_url = 'ftp://pay.example.com'",
        "server.public_url",
    ),
    (
        "[server]\nlisten = '0.0.0.0:8080'",
        "server.public_url is missing",
    ),
    (
        "development = true\n[server]\nlisten = '0.0.0.0:8080'",
        "development mode on 0.0.0.0:8080",
    ),
    (
        "development = true\n[server]\npublic_url = 'https://pay.example.com'",
        "development mode with server.public_url",
    ),
    (
        "development = true\n[server]\npublic_url = 'http://192.168.1.7:8080'",
        "development mode with server.public_url",
    ),
    (
        "[server]\ntrusted_proxies = ['0.0.0.0/0']",
        "the whole world",
    ),
    ("[server]\ntrusted_proxies = ['0.0.0.0/1']", "half of it"),
    ("[server]\ntrusted_proxies = ['::/0']", "the whole world"),
    (
        "[server]\ntrusted_proxies = ['proxy']",
        "server.trusted_proxies",
    ),
    (
        "[server]\ncountry_header = 'CF-IPCountry'",
        "server.country_header",
    ),
    ("[service]\ncode = 'My Shop'", "service.code"),
    ("[service]\nname = ' '", "service.name"),
    (
        "[operator]\ntokens = ['switchyard_op_x']",
        "operator.tokens",
    ),
    (
        "[operator]\ntokens = [\
         'ada:sha256:1111111111111111111111111111111111111111111111111111111111111111', \
         'Ada:sha256:2222222222222222222222222222222222222222222222222222222222222222']",
        "names `Ada` twice",
    ),
    (
        // SHA-256 of nothing.
        "[operator]\ntokens = ['sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855']",
        "operator.tokens",
    ),
    (
        // SHA-256 of `admin`.
        "[operator]\ntokens = ['sha256:8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918']",
        "operator.tokens",
    ),
    ("[metrics]\ntokens = ['switchyard_op_x']", "metrics.tokens"),
    (
        // A token for metrics is no operator's.
        "[operator]\ntokens = [\
         'ada:sha256:1111111111111111111111111111111111111111111111111111111111111111']\n\
         [metrics]\ntokens = [\
         'prometheus:sha256:1111111111111111111111111111111111111111111111111111111111111111']",
        "metrics.tokens has the token `prometheus` a second time",
    ),
    (
        "[metrics]\nopen = true\n[server]\nadmin_listen = '0.0.0.0:8081'",
        "metrics.open",
    ),
    (
        "[metrics]\nopen = true\n[server]\nadmin_listen = '127.0.0.1:8080'\npublic_url = 'https://pay.example.com'",
        "metrics.open",
    ),
    ("[server]\nlisten = '127.0.0.1:8081'", "server.admin_listen"),
    (
        "development = true\n[server]\nadmin_listen = '127.0.0.1:8081'",
        "server.admin_listen",
    ),
    ("[server]\nmax_connections = 0", "server.max_connections"),
    ("[server]\nmax_streams = 0", "server.max_streams"),
    ("[gateways]\ndir = 'data/store/gateways'", "gateways.dir"),
    ("[server]\nshutdown_delay = '1h'", "server.shutdown_delay"),
    (
        "[server]\nshutdown_timeout = '0s'",
        "server.shutdown_timeout",
    ),
    ("[server]\nrequest_timeout = '1h'", "server.request_timeout"),
    ("[webhook]\nretry_after = '0s'", "webhook.retry_after"),
    ("[webhook]\nextra_ports = [0]", "webhook.extra_ports"),
    ("[store]\nbackend = 'memory'", "store.backend"),
    ("[store]\ncache = '1MiB'", "store.cache"),
    (
        "[store]\nbackend = 'sled'\nbackup_to = 'b'",
        "needs store.backend `sqlite`",
    ),
    ("[store]\nbackup_to = 'data/store/b'", "store.backup_to"),
    (
        "[store]\nbackup_to = 'b'\nbackup_keep = 0",
        "store.backup_keep",
    ),
    (
        "[store]\nreserve = '2GiB'",
        "store.public_key_reserve is 1GiB",
    ),
    (
        "[store]\npublic_key_reserve = '0B'",
        "less than store.reserve (512MiB)",
    ),
    ("[store]\nbackup_every = '1s'", "store.backup_every"),
    ("[store]\ncheck_every = '1min'", "store.check_every"),
    (
        "[store]\nbackend = 'sled'\ncopy_to = 'c'",
        "store.copy_to needs store.backend `sqlite`",
    ),
    ("[store]\ncopy_to = 'data/store/c'", "store.copy_to"),
    ("[store]\ncopy_to = ''", "store.copy_to is empty"),
    ("[store]\nbackup_to = ''", "store.backup_to is empty"),
    ("[store]\ncopy_every = '500ms'", "store.copy_every"),
    ("[store]\ncopy_every = '6s'", "store.copy_every"),
    ("[sandbox]\nretention_days = 0", "sandbox.retention_days"),
    (
        "[telemetry]\nsample_ratio = 1.01",
        "telemetry.sample_ratio is 1.01",
    ),
    ("[telemetry]\nsample_ratio = nan", "telemetry.sample_ratio"),
    (
        "[telemetry]\nauthorization = 'Bearer hunter2'",
        "telemetry.otlp_url is not",
    ),
    (
        "[telemetry]\notlp_url = 'https://otel.example.com'\nauthorization = \"hunter2\\n\"",
        "no header value",
    ),
    (
        "[telemetry]\notlp_url = 'http://otel.example.com:4318'\nauthorization = 'Bearer hunter2'",
        "an open line",
    ),
    (
        "[telemetry]\notlp_url = 'https://me:hunter2@otel.example.com'",
        "use telemetry.authorization",
    ),
    (
        "[telemetry]\notlp_url = 'grpc://otel.example.com:4317'",
        "telemetry.otlp_url is `grpc:",
    ),
    (
        "[openid]\nissuer = 'http://id.example.com'\nclient_id = 'x'",
        "anybody between",
    ),
    (
        "[openid]\nissuer = 'http://127.0.0.1:1'\nclient_id = 'x'",
        "openid.issuer is `http:",
    ),
    (
        "[openid]\nissuer = 'https://me:hunter2@id.example.com'\nclient_id = 'x'",
        "an issuer has none",
    ),
    (
        "[openid]\nissuer = 'id.example.com'\nclient_id = 'x'",
        "openid.issuer has to be an https:// URL",
    ),
    (
        "[openid]\nissuer = 'https://id.example.com'",
        "openid.client_id is missing",
    ),
    ("[openid]\nclient_id = 'x'", "openid.issuer is not"),
    (
        "[openid]\nclient_secret = 'hunter2'",
        "openid.issuer is not",
    ),
    (
        "[openid]\nissuer = 'https://i.example'\nclient_id = 'x'\nclient_secret = 'hunter2'\n\
         client_secret_file = 'y'",
        "keep one of them",
    ),
    (
        "[openid]\nissuer = 'https://i.example'\nclient_id = 'x'\nscopes = ['openid']",
        "has no `email`",
    ),
    (
        "[openid]\nissuer = 'https://i.example'\nclient_id = 'x'\nsecond_factor_amr = ['']",
        "openid.second_factor_amr has an entry",
    ),
    (
        "[openid]\nissuer = 'https://i.example'\nclient_id = 'x'\nname = ''",
        "openid.name",
    ),
    (
        "[secrets]\nmaster_key = 'x'\nmaster_key_file = 'y'",
        "secrets.master_key",
    ),
    ("[payment]\nexpires_after = '1s'", "payment.expires_after"),
    ("[actors]\nidle_after = '0s'", "actors.idle_after"),
    ("[webhook]\nallow_private = true", "webhook.allow_private"),
    ("[webhook]\nretries = 11", "webhook.retries"),
    ("[webhook]\nlive_log_days = 0", "webhook.live_log_days"),
    (
        "[webhook]\nsignature_headers = ['Content-Type']",
        "uses already",
    ),
    (
        "[webhook]\nsignature_headers = ['no header']",
        "webhook.signature_headers",
    ),
    (
        "[mail]\nsmtp_url = 'smtp://user:hunter2@mail.example.com'",
        "open line",
    ),
    (
        "[mail]\nallow_plaintext = true\nsmtp_url = 'smtp://user:hunter2@mail.example.com'",
        "its password over an open line",
    ),
    (
        "[mail]\nsmtp_url = 'smtp://mail.example.com'",
        "mail.allow_plaintext",
    ),
    (
        "[webhook]\nprivate_targets = ['intranet']",
        "webhook.private_targets",
    ),
    (
        "[webhook]\nprivate_targets = ['0.0.0.0/0']",
        "webhook.private_targets",
    ),
    (
        "[webhook]\nprivate_targets = ['10.1.0.0/16', '::/0']",
        "webhook.private_targets",
    ),
    (
        "[mail]\nsmtp_url = 'https://mail.example.com'",
        "mail.smtp_url",
    ),
    ("[mail]\nfrom = 'nobody'", "mail.from"),
    ("[mail]\nfrom = 'a..b@pay.example.com'", "mail.from"),
    ("[mail]\nfrom = 'Ada <ada@pay.example.com'", "mail.from"),
    (
        "[exchange]\nurl = 'http://rates.example/latest'",
        "exchange.url",
    ),
    (
        "[exchange]\nurl = 'http://10.0.0.5/latest'\nprivate = true",
        "exchange.url",
    ),
    (
        "[limits]\npayout_amount_per_day = ['XOF 0.5']",
        "limits.payout_amount_per_day",
    ),
    (
        "[limits]\npayout_amount_per_day = ['XOF']",
        "limits.payout_amount_per_day",
    ),
    (
        "[exchange]\nmax_change_percent = 0",
        "exchange.max_change_percent",
    ),
    (
        "[gateways]\naccept_missing_walls = ['moat']",
        "names `moat`",
    ),
    ("[log]\nlevel = 'loud=very=much'", "log.level"),
    ("[log]\nlevel = 'warning'", "`warning` is no level"),
    ("[log]\nlevel = 'info,loud'", "`loud` is no level"),
    ("[log]\nlevel = ''", "log.level is ``"),
];

#[test]
fn every_unsafe_setting_is_refused_with_one_sentence_that_names_it() {
    for (toml, word) in UNSAFE {
        let refusals = refusals(toml);
        assert_eq!(refusals.len(), 1, "{toml}: {refusals:?}");
        assert!(refusals[0].contains(word), "{toml}: {refusals:?}");
        assert!(
            !refusals[0].contains("hunter2"),
            "{toml}: a password is shown"
        );
    }
}

#[test]
fn what_is_safe_is_not_refused() {
    for toml in [
        "",
        "development = true",
        "development = true\n[store]\nbackend = 'memory'\n[webhook]\nallow_private = true",
        "[server]\nlisten = '0.0.0.0:80'\npublic_url = 'https://pay.example.com'",
        "[server]\npublic_url = 'http://localhost:8080'",
        "[mail]\nsmtp_url = 'smtp://user:hunter2@127.0.0.1:1025'",
        "[mail]\nsmtp_url = 'smtp://user:hunter2@mail.example.com?tls=required'",
        "[mail]\nallow_plaintext = true\nsmtp_url = 'smtp://mail.example.com'",
        "development = true\n[mail]\nsmtp_url = 'smtp://mail.example.com'",
        "[webhook]\nallow_http = true\nprivate_targets = ['10.1.0.0/16', '192.168.1.7', 'fd00::/8']",
        "development = true\n[server]\npublic_url = 'http://localhost:8080'",
        "development = true\n[server]\npublic_url = 'http://[::1]:8080'",
        "[rate_limit]\nper_minute = 0",
        "[exchange]\nurl = 'https://rates.example/latest'",
        "development = true\n[exchange]\nurl = 'http://127.0.0.1:9000/'",
        "[metrics]\nopen = true",
        "[metrics]\nopen = true\n[server]\nlisten = '0.0.0.0:80'\npublic_url = 'https://pay.example.com'",
        "[server]\nadmin_listen = '127.0.0.1:8080'",
        "[server]\nadmin_listen = '10.0.0.5:8081'",
        "[server]\ntrusted_proxies = ['10.0.0.0/8', 'fc00::/7']",
    ] {
        assert_eq!(refusals(toml), Vec::<String>::new(), "{toml}");
    }
}

#[test]
fn all_problems_are_found_at_once() {
    assert_eq!(
        refusals(
            "[service]\ncode = ''\n[sandbox]\nretention_days = 0\n[store]\nbackend = 'memory'"
        )
        .len(),
        3
    );
}

#[test]
fn a_folder_for_backups_that_leads_into_the_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [store, link] = ["data/store", "link"].map(|name| folder.path().join(name));
    std::fs::create_dir_all(&store).unwrap();
    std::os::unix::fs::symlink(&store, &link).unwrap();
    for name in ["backup_to", "copy_to"] {
        let refused = refusals(&format!(
            "[data]\ndir = '{}'\n[store]\n{name} = '{}/new'",
            folder.path().join("data").display(),
            link.display()
        ));
        let said = format!("store.{name} is inside the store's folder");
        assert!(
            refused.iter().any(|refusal| refusal.contains(&said)),
            "{refused:?}"
        );
    }
}
