//! Schemas of texts that have a closed list of values or a fixed form. No value of these types is
//! created: a field names one in `value_type`.

use switchyard_core::environment;
use switchyard_core::transaction;
use switchyard_engine::callback;
use switchyard_gateway_host::Operation;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

macro_rules! texts {
    ($($(#[doc = $doc:literal])* $name:ident = $values:expr;)*) => {
        $(
            $(#[doc = $doc])*
            pub struct $name;

            impl PartialSchema for $name {
                fn schema() -> RefOr<Schema> {
                    let description = concat!($($doc),*).trim();
                    let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
                    let text = text.description(Some(description));
                    text.enum_values(Some($values)).into()
                }
            }

            impl ToSchema for $name {}
        )*
    };
}

texts! {
    /// Sandbox moves no money.
    Environment = environment::Environment::ALL.map(|one| one.as_str());
    /// Length of an interval of statistics.
    StatisticsInterval = ["hour", "day"];
    /// Whether money comes in or goes out.
    Kind = ["payment", "payout"];
    /// Status of a transaction, as the merchant sees it.
    Status = transaction::Status::ALL.map(transaction::Status::as_str);
    /// State of a transaction: the next event that it waits for, or its end.
    TransactionState = [
        "awaiting_customer", "awaiting_dispatch", "awaiting_gateway", "awaiting_provider",
        "in_doubt", "on_hold", "succeeded", "failed", "cancelled",
    ];
    /// State of an attempt.
    AttemptState = ["started", "pending", "in_doubt", "succeeded", "declined", "not_sent"];
    /// Reason of a case.
    CaseReason = transaction::CaseReason::ALL.map(transaction::CaseReason::as_str);
    /// State of a transaction that a provider lists.
    ListedState = ["succeeded", "pending", "failed"];
    /// Reason of a decline.
    DeclineReason = [
        "insufficient_funds", "payer_declined", "payer_timeout", "payer_busy", "invalid_account",
        "limit_exceeded", "amount_out_of_range", "expired", "not_permitted", "merchant_funds",
        "provider_unavailable", "misconfigured", "other",
    ];
    /// Originator of a cancellation.
    CancelledBy = ["customer", "expiry", "operator", "engine"];
    /// Continuation after a cancelled attempt: the payment is cancelled, or the payer chooses
    /// again.
    AfterCancel = ["cancel", "choose_again"];
    /// Intervention of an operator.
    OperatorAct = ["checked", "resolved", "closed_case", "cancelled", "erased_personal_data"];
    /// State of a callback.
    CallbackState = callback::CallbackState::ALL.map(callback::CallbackState::as_str);
    /// Name of an event that webhooks receive.
    EventName = transaction::EventName::ALL.map(transaction::EventName::as_str);
    /// State of a delivery.
    DeliveryStatus = ["waiting", "delivered", "failed"];
    /// Class of a failed request to a receiver.
    DeliveryFailure = ["timeout", "dns", "connect", "tls", "http", "forbidden_target"];
    /// Whether a request to a provider was answered, may have been sent or was not sent.
    CallStage = ["maybe_sent", "answered", "not_sent"];
    /// A secret key does everything; a public key only initializes payments.
    KeyKind = ["secret", "public"];
    /// Source of a rate: set by an operator, fixed by treaty or fetched.
    RateSource = ["table", "peg", "feed"];
    /// Reason why a fetched rate is not used.
    HoldReason = ["moved", "drifted", "contradicts_peg", "not_a_rate"];
    /// Source of a gateway's file.
    GatewaySource = ["upload", "folder", "listed"];
    /// Change of a gateway.
    GatewayChangeKind = [
        "added", "upgraded", "rolled_back", "draining", "removed", "quarantined", "restored",
        "awaits_approval", "rejected",
    ];
    /// Operation of a gateway.
    GatewayOperation = Operation::ALL.map(Operation::as_str);
}

/// Code of a currency: ISO 4217, in capitals.
pub struct Currency;

impl PartialSchema for Currency {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(SchemaType::Type(Type::String));
        let text = text.description(Some("Code of a currency: ISO 4217, in capitals."));
        text.pattern(Some("^[A-Z]{3,5}$")).examples(["XOF"]).into()
    }
}

impl ToSchema for Currency {}
