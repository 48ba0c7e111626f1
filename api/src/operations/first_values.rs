//! Counters at zero from the start: an alarm on an increase misses the first event of a counter
//! that begins to exist with it.
//!
//! Counters with a gateway as their label begin with the gateway, at the next reading of the
//! metrics. Routes and connections are not known before their first event.

use metrics::{counter, gauge};
use switchyard_engine::engine::Engine;

/// Makes what is known before anything happens.
pub fn at_start() {
    for name in PLAIN {
        counter!(*name).increment(0);
    }
    for (name, label, values) in LABELLED {
        for value in *values {
            counter!(*name, *label => *value).increment(0);
        }
    }
    for kind in ["webhook", "mail"] {
        gauge!("switchyard_outbox_depth", "kind" => kind).increment(0.0);
        gauge!("switchyard_outbox_oldest_seconds", "kind" => kind).increment(0.0);
    }
    gauge!("switchyard_gateway_workers").increment(0.0);
    gauge!("switchyard_streams").increment(0.0);
    gauge!("switchyard_exchange_rates_held").increment(0.0);
    gauge!("switchyard_store_last_backup_timestamp_seconds").increment(0.0);
    gauge!("switchyard_store_last_check_timestamp_seconds").increment(0.0);
    gauge!("switchyard_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

/// Makes what each gateway has.
pub fn of_gateways(engine: &Engine) {
    for version in engine.gateways().list() {
        for name in OF_A_GATEWAY {
            counter!(*name, "gateway" => version.name().to_owned()).increment(0);
        }
    }
}

const PLAIN: &[&str] = &[
    "switchyard_breaker_probes_total",
    "switchyard_exchange_fetches_failed_total",
    "switchyard_exchange_rates_held_total",
    "switchyard_log_lines_lost_total",
    "switchyard_mails_left_out_total",
    "switchyard_store_backups_failed_total",
    "switchyard_store_copy_failures_total",
    "switchyard_store_gateways_left_out_total",
    "switchyard_trace_spans_lost_total",
    "switchyard_webhooks_disabled_total",
];
const LABELLED: &[(&str, &str, &[&str])] = &[
    (
        "switchyard_actor_panics_total",
        "actor",
        &[
            "transaction",
            "call",
            "scheduler",
            "webhook",
            "mail",
            "callback",
        ],
    ),
    (
        "switchyard_cases_opened_total",
        "reason",
        &[
            "money_after_the_end",
            "found_after_not_sent",
            "success_contradicted",
            "amount_differs",
            "no_final_answer",
            "unknown_after_restore",
            "late_success",
            "surplus",
            "paid_twice",
            "contradicting_success",
            "ambiguous_provider_id",
        ],
    ),
    (
        "switchyard_disk_reserve_refusals_total",
        "key",
        &["secret", "public"],
    ),
    (
        "switchyard_keys_refused_total",
        "why",
        &["malformed", "unknown", "expired", "app_disabled"],
    ),
    (
        "switchyard_limits_reached_total",
        "limit",
        &[
            "prompts_per_number",
            "prompts_per_address",
            "prompts_per_site",
            "prompts_per_payment",
            "codes_per_number",
            "codes_per_address",
            "codes_per_site",
            "codes_per_payment",
            "payouts_per_recipient",
            "payouts_per_day",
            "payout_amount_per_day",
            "ids_per_attempt",
        ],
    ),
    (
        "switchyard_mail_attempts_total",
        "outcome",
        &["sent", "troubled", "refused"],
    ),
    (
        "switchyard_rate_limited_total",
        "scope",
        &[
            "key",
            "address",
            "site",
            "public_key_total",
            "no_key_address",
            "no_key_site",
            "payment",
        ],
    ),
    (
        "switchyard_streams_refused_total",
        "why",
        &["total", "address", "payment"],
    ),
    (
        "switchyard_webhook_attempts_total",
        "outcome",
        &[
            "acknowledged",
            "timeout",
            "dns",
            "connect",
            "tls",
            "http",
            "forbidden_target",
        ],
    ),
];
const OF_A_GATEWAY: &[&str] = &[
    "switchyard_gateway_panics_total",
    "switchyard_gateway_quarantines_total",
    "switchyard_gateway_worker_deaths_total",
    "switchyard_gateway_worker_starts_failed_total",
    "switchyard_gateway_worker_stray_cpu_total",
];

#[cfg(test)]
mod tests {
    use switchyard_core::transaction::CaseReason;

    use super::*;

    #[test]
    fn the_reasons_of_cases_are_those_of_the_engine() {
        let cases = LABELLED.iter().find(|(_, label, _)| *label == "reason");
        let (_, _, reasons) = cases.unwrap();
        for reason in *reasons {
            let known = serde_json::from_value::<CaseReason>(serde_json::json!(reason)).unwrap();
            assert_eq!(known.as_str(), *reason);
        }
    }
}
