//! Reasons of refusals.
//!
//! The code of an error says what a client can do about it, and its sentence is English. A reason
//! is finer, and its code is stable: the console has a message for each in every language.

use switchyard_core::limits::GATEWAY_REASON_CHARACTERS;
use switchyard_core::transaction::Refusal;
use switchyard_engine::access::AccessError;
use switchyard_engine::exchange_rates::ExchangeError;
use switchyard_gateway_host::{LifeError, Refused as RefusedFile};
use switchyard_system::egress::Forbidden;

macro_rules! reasons {
    ($($name:ident = $word:literal;)*) => {
        /// Code of the reason of a refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            $($name,)*
        }

        impl Reason {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

reasons! {
    NotAPayment = "not_a_payment";
    NotAPayout = "not_a_payout";
    AlreadyEnded = "already_ended";
    AttemptUnderWay = "attempt_under_way";
    Held = "held";
    Paused = "paused";
    Expired = "expired";
    TooEarly = "too_early";
    CannotCallOff = "cannot_call_off";
    MethodNotOffered = "method_not_offered";
    CountryRestricted = "country_restricted";
    PhoneRestricted = "phone_restricted";
    NoCandidate = "no_candidate";
    UnknownAttempt = "unknown_attempt";
    NotSuccessful = "not_successful";
    NoCodeAsked = "no_code_asked";
    NoMoreCodes = "no_more_codes";
    NothingOpen = "nothing_open";
    AttemptClosed = "attempt_closed";
    WhichAttempt = "which_attempt";
    ProviderHasIt = "provider_has_it";
    AmountNeeded = "amount_needed";
    AmountTooLow = "amount_too_low";
    ProviderIdNeeded = "provider_id_needed";
    UnknownCase = "unknown_case";
    CaseClosed = "case_closed";
    CaseAboutOpenAttempt = "case_about_open_attempt";
    CaseHolds = "case_holds";
    NoConsent = "no_consent";
    OtherFile = "other_file";
    HostNotListed = "host_not_listed";
    NoEarlierVersion = "no_earlier_version";
    AlreadyActive = "already_active";
    InQuarantine = "in_quarantine";
    WasRemoved = "was_removed";
    AwaitsApproval = "awaits_approval";
    WidensMore = "widens_more";
    NotIndependent = "not_independent";
    WiderThanCurrent = "wider_than_current";
    ReasonUnfit = "reason_unfit";
    FileUnfit = "file_unfit";
    FileTooLarge = "file_too_large";
    ManifestUnfit = "manifest_unfit";
    FileNotLoadable = "file_not_loadable";
    FileNotKept = "file_not_kept";
    SameCurrency = "same_currency";
    RateAlreadyOver = "rate_already_over";
    HeldRateChanged = "held_rate_changed";
    HeldRateTooOld = "held_rate_too_old";
    TooManyRates = "too_many_rates";
    TooManyKeys = "too_many_keys";
    TooManyConnections = "too_many_connections";
    TooManyWebhooks = "too_many_webhooks";
    OpenAttempts = "open_attempts";
    NeededAfterRestore = "needed_after_restore";
    ChangedByOther = "changed_by_other";
    TestGatewayInLive = "test_gateway_in_live";
    GatewayUnknown = "gateway_unknown";
    MethodNotServed = "method_not_served";
    ConfigFieldUnknown = "config_field_unknown";
    ConfigRequired = "config_required";
    ConfigWrongType = "config_wrong_type";
    ConfigChoice = "config_choice";
    ConfigTooShort = "config_too_short";
    ConfigTooLong = "config_too_long";
    ConfigPattern = "config_pattern";
    ConfigUrl = "config_url";
    ConfigEmail = "config_email";
    ConfigUuid = "config_uuid";
    ConfigTooLow = "config_too_low";
    ConfigTooHigh = "config_too_high";
    CredentialsRefused = "credentials_refused";
    CredentialsUnchecked = "credentials_unchecked";
    ProviderIdUnreported = "provider_id_unreported";
    AmountUnreported = "amount_unreported";
    NoteLength = "note_length";
    FileNotText = "file_not_text";
    FileEmpty = "file_empty";
    FileLines = "file_lines";
    LineCells = "line_cells";
    ColumnUnknown = "column_unknown";
    ColumnTwice = "column_twice";
    ColumnMissing = "column_missing";
    ReferenceTwice = "reference_twice";
    ReferenceStored = "reference_stored";
    LinkTitle = "link_title";
    LinkAmountTwice = "link_amount_twice";
    LinkAmountLimit = "link_amount_limit";
    LinkAmountOrder = "link_amount_order";
    LinkUses = "link_uses";
    LinkExpiry = "link_expiry";
    LinkMetadata = "link_metadata";
    UrlUnreadable = "url_unreadable";
    UrlScheme = "url_scheme";
    UrlPlainHttp = "url_plain_http";
    UrlUserInfo = "url_user_info";
    UrlDisguised = "url_disguised";
    UrlPort = "url_port";
    UrlAddress = "url_address";
}

/// Reason of a refusal with the values that its message names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Because {
    pub reason: Reason,
    pub values: Vec<(&'static str, String)>,
}

impl From<Reason> for Because {
    fn from(reason: Reason) -> Self {
        let values = Vec::new();
        Self { reason, values }
    }
}

impl From<Reason> for Option<Because> {
    fn from(reason: Reason) -> Self {
        Some(reason.into())
    }
}

impl Reason {
    /// The reason with a value that its message names.
    pub fn with(self, name: &'static str, value: impl ToString) -> Because {
        let values = vec![(name, value.to_string())];
        let reason = self;
        Because { reason, values }
    }
}

impl From<&Refusal> for Because {
    fn from(refusal: &Refusal) -> Self {
        if let Refusal::AmountTooLow(asked) = refusal {
            return Reason::AmountTooLow.with("amount", asked);
        }
        Reason::from(refusal).into()
    }
}

impl From<&Refusal> for Reason {
    fn from(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::NotAPayment => Self::NotAPayment,
            Refusal::NotAPayout => Self::NotAPayout,
            Refusal::AlreadyEnded(_) => Self::AlreadyEnded,
            Refusal::AttemptUnderWay => Self::AttemptUnderWay,
            Refusal::Held => Self::Held,
            Refusal::Paused => Self::Paused,
            Refusal::Expired => Self::Expired,
            Refusal::TooEarly => Self::TooEarly,
            Refusal::CannotCallOff => Self::CannotCallOff,
            Refusal::MethodNotOffered(_) => Self::MethodNotOffered,
            Refusal::CountryRestricted(_) => Self::CountryRestricted,
            Refusal::PhoneRestricted => Self::PhoneRestricted,
            Refusal::NoCandidate => Self::NoCandidate,
            Refusal::UnknownAttempt(_) => Self::UnknownAttempt,
            Refusal::NotSuccessful(_) => Self::NotSuccessful,
            Refusal::NoCodeAsked => Self::NoCodeAsked,
            Refusal::NoMoreCodes => Self::NoMoreCodes,
            Refusal::NothingOpen => Self::NothingOpen,
            Refusal::AttemptClosed(_) => Self::AttemptClosed,
            Refusal::WhichAttempt { .. } => Self::WhichAttempt,
            Refusal::ProviderHasIt => Self::ProviderHasIt,
            Refusal::AmountNeeded => Self::AmountNeeded,
            Refusal::AmountTooLow(_) => Self::AmountTooLow,
            Refusal::ProviderIdNeeded => Self::ProviderIdNeeded,
            Refusal::UnknownCase(_) => Self::UnknownCase,
            Refusal::CaseClosed => Self::CaseClosed,
            Refusal::CaseAboutOpenAttempt => Self::CaseAboutOpenAttempt,
            Refusal::CaseHolds => Self::CaseHolds,
        }
    }
}

/// The reason of a gateway's refusal. `None`: the code of the error says all, or it is a fault.
pub fn of_gateway(error: &LifeError) -> Option<Because> {
    let reason = match error {
        LifeError::Refused(file) => return Some(of_file(file)),
        LifeError::BadReason => {
            return Some(Reason::ReasonUnfit.with("most", GATEWAY_REASON_CHARACTERS));
        }
        LifeError::NoConsent { .. } => Reason::NoConsent,
        LifeError::OtherFile { .. } => Reason::OtherFile,
        LifeError::HostNotListed { .. } => Reason::HostNotListed,
        LifeError::NoEarlier(_) => Reason::NoEarlierVersion,
        LifeError::AlreadyThere { .. } => Reason::AlreadyActive,
        LifeError::InQuarantine { .. } => Reason::InQuarantine,
        LifeError::WasRemoved(_) => Reason::WasRemoved,
        LifeError::AwaitsApproval { .. } => Reason::AwaitsApproval,
        LifeError::WidensMore { .. } => Reason::WidensMore,
        LifeError::NotIndependent { .. } => Reason::NotIndependent,
        LifeError::WiderThanCurrent { .. } => Reason::WiderThanCurrent,
        _ => return None,
    };
    Some(reason.into())
}

fn of_file(refused: &RefusedFile) -> Because {
    match refused {
        RefusedFile::TooLarge { .. } => Reason::FileTooLarge.into(),
        RefusedFile::Manifest { source, .. } => Reason::ManifestUnfit.with("detail", source),
        RefusedFile::Unroutable { why, .. } => Reason::ManifestUnfit.with("detail", why),
        RefusedFile::NotLoadable { reason, .. }
        | RefusedFile::Unconfined { reason, .. }
        | RefusedFile::NotStarted { reason, .. }
        | RefusedFile::NotTaken { reason, .. } => Reason::FileNotLoadable.with("detail", reason),
        RefusedFile::Unreadable { .. }
        | RefusedFile::NotKept { .. }
        | RefusedFile::Changed { .. }
        | RefusedFile::Damaged { .. } => Reason::FileNotKept.into(),
        RefusedFile::NotElf { reason, .. } => Reason::FileUnfit.with("detail", reason),
        RefusedFile::NotALibraryForThisMachine { found, .. } => {
            Reason::FileUnfit.with("detail", found)
        }
        RefusedFile::MoreSymbols { extra, .. } => Reason::FileUnfit.with("detail", extra),
        RefusedFile::OtherAbi { found, .. } => {
            Reason::FileUnfit.with("detail", format!("ABI {found}"))
        }
        RefusedFile::ShortTable { found, .. } => {
            Reason::FileUnfit.with("detail", format!("gw_plugin_v1: {found} bytes"))
        }
        RefusedFile::NoSymbol { .. } | RefusedFile::NotAStructure { .. } => {
            Reason::FileUnfit.with("detail", "gw_plugin_v1")
        }
        RefusedFile::NoManifest { .. } => Reason::FileUnfit.with("detail", "gateway.json"),
    }
}

/// The reason why an address may not be called.
pub fn of_address(forbidden: &Forbidden) -> Because {
    match forbidden {
        Forbidden::NotAUrl => Reason::UrlUnreadable.into(),
        Forbidden::Scheme(_) => Reason::UrlScheme.into(),
        Forbidden::PlainHttp => Reason::UrlPlainHttp.into(),
        Forbidden::UserInfo => Reason::UrlUserInfo.into(),
        Forbidden::DisguisedAddress => Reason::UrlDisguised.into(),
        Forbidden::Port(port) => Reason::UrlPort.with("port", port),
        Forbidden::Address { address, .. } => Reason::UrlAddress.with("address", address),
    }
}

/// The reason of a refused change of access data. `None`: the field of the error says all.
pub fn of_access(error: &AccessError) -> Option<Because> {
    let reason = match error {
        AccessError::TooManyKeys(_) => Reason::TooManyKeys,
        AccessError::TooManyConnections(_) => Reason::TooManyConnections,
        AccessError::TooManyWebhooks(_) => Reason::TooManyWebhooks,
        AccessError::OpenAttempts(_) => Reason::OpenAttempts,
        AccessError::NeededAfterRestore => Reason::NeededAfterRestore,
        AccessError::Conflict => Reason::ChangedByOther,
        _ => return None,
    };
    Some(reason.into())
}

/// The reason of a refused change of exchange rates.
pub fn of_rate(error: &ExchangeError) -> Option<Because> {
    let reason = match error {
        ExchangeError::SameCurrency => Reason::SameCurrency,
        ExchangeError::AlreadyOver => Reason::RateAlreadyOver,
        ExchangeError::HeldAnother { .. } => Reason::HeldRateChanged,
        ExchangeError::HeldTooOld { .. } => Reason::HeldRateTooOld,
        ExchangeError::TooMany => Reason::TooManyRates,
        _ => return None,
    };
    Some(reason.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_reason_has_a_code_of_its_own() {
        let codes: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
    }
}
