//! Roles, actions, and the one table that says which role may do what.
//!
//! The table holds for the console, the merchant API's dashboard side, the operator API and user
//! tokens alike. No other place grants anything.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Role of a user: in an account, or for the whole installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Owner,
    Admin,
    Developer,
    Finance,
    Support,
    Viewer,
    Operator,
    Auditor,
}

/// Part of the installation to which a role or an action belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One account with its apps.
    Account,
    /// The whole installation.
    Installation,
}

impl Role {
    pub const ALL: [Self; 8] = [
        Self::Owner,
        Self::Admin,
        Self::Developer,
        Self::Finance,
        Self::Support,
        Self::Viewer,
        Self::Operator,
        Self::Auditor,
    ];

    pub const fn scope(self) -> Scope {
        match self {
            Self::Operator | Self::Auditor => Scope::Installation,
            Self::Owner
            | Self::Admin
            | Self::Developer
            | Self::Finance
            | Self::Support
            | Self::Viewer => Scope::Account,
        }
    }

    /// Name in rows and requests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::Developer => "developer",
            Self::Finance => "finance",
            Self::Support => "support",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Auditor => "auditor",
        }
    }

    /// Whether a user with this role may give `other` to a user, or take it away. Only owners make
    /// owners: an admin could otherwise remove the owner.
    pub fn may_assign(self, other: Self) -> bool {
        match self {
            Self::Owner => other.scope() == Scope::Account,
            Self::Admin => other.scope() == Scope::Account && other != Self::Owner,
            Self::Operator => true,
            Self::Developer | Self::Finance | Self::Support | Self::Viewer | Self::Auditor => false,
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Declares the actions with their names in rows and requests.
macro_rules! actions {
    ($($(#[$doc:meta])* $action:ident = $name:literal,)*) => {
        /// Something that a person, or a token of a person, does.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum Action {
            $($(#[$doc])* #[serde(rename = $name)] $action,)*
        }

        impl Action {
            pub const ALL: &[Self] = &[$(Self::$action,)*];

            /// Name in rows and requests.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$action => $name,)*
                }
            }
        }
    };
}

actions! {
    /// Payments, payouts and refunds with their timelines, without personal data.
    ViewPayments = "view_payments",
    /// Names, e-mail addresses and phone numbers of customers.
    ViewPersonalData = "view_personal_data",
    ExportData = "export_data",
    ErasePersonalData = "erase_personal_data",
    /// Query the provider about a transaction now.
    QueryProvider = "query_provider",
    CancelTransaction = "cancel_transaction",
    CreateRefund = "create_refund",
    ApproveRefund = "approve_refund",
    CreatePayout = "create_payout",
    ApprovePayout = "approve_payout",
    ManagePaymentLinks = "manage_payment_links",
    /// Create test payments and trigger test events in the sandbox.
    TriggerTestEvents = "trigger_test_events",
    /// API keys of an app without their plain text.
    ViewKeys = "view_keys",
    ManageKeys = "manage_keys",
    /// Secret of a webhook, or another secret that is shown again.
    RevealSecret = "reveal_secret",
    /// Webhooks with their deliveries, and the event log.
    ViewWebhooks = "view_webhooks",
    ManageWebhooks = "manage_webhooks",
    ResendWebhook = "resend_webhook",
    ViewAppSettings = "view_app_settings",
    ManageAppSettings = "manage_app_settings",
    ViewConnections = "view_connections",
    ManageConnections = "manage_connections",
    ViewRouting = "view_routing",
    ManageRouting = "manage_routing",
    ApproveRouting = "approve_routing",
    /// Users of an account and their roles.
    ViewTeam = "view_team",
    ManageTeam = "manage_team",
    /// Entries of the audit log about an account; with an installation role, all entries.
    ViewAudit = "view_audit",
    /// List of accounts and apps of the installation.
    ViewAccounts = "view_accounts",
    ManageAccounts = "manage_accounts",
    ViewGateways = "view_gateways",
    ManageGateways = "manage_gateways",
    ViewRates = "view_rates",
    ManageRates = "manage_rates",
    ViewCases = "view_cases",
    HandleCases = "handle_cases",
    /// Propose or record the result of a transaction without its provider.
    ResolveManually = "resolve_manually",
    ApproveResolution = "approve_resolution",
    /// Stored requests of providers.
    ViewCallbacks = "view_callbacks",
    RetryCallbacks = "retry_callbacks",
    ViewInstallationUsers = "view_installation_users",
    ManageInstallationUsers = "manage_installation_users",
    ManageOperatorTokens = "manage_operator_tokens",
    /// Version, store, queues, disk and settings without secrets.
    ViewSystem = "view_system",
    ReleaseHold = "release_hold",
}

impl Action {
    /// Reads the name of an action.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|action| action.name() == name)
    }

    /// Part of the installation that the action concerns.
    pub const fn scope(self) -> Scope {
        match self {
            Self::ViewAccounts
            | Self::ManageAccounts
            | Self::ViewGateways
            | Self::ManageGateways
            | Self::ViewRates
            | Self::ManageRates
            | Self::ViewCases
            | Self::HandleCases
            | Self::ResolveManually
            | Self::ApproveResolution
            | Self::ViewCallbacks
            | Self::RetryCallbacks
            | Self::ViewInstallationUsers
            | Self::ManageInstallationUsers
            | Self::ManageOperatorTokens
            | Self::ViewSystem
            | Self::ReleaseHold => Scope::Installation,
            Self::ViewPayments
            | Self::ViewPersonalData
            | Self::ExportData
            | Self::ErasePersonalData
            | Self::QueryProvider
            | Self::CancelTransaction
            | Self::CreateRefund
            | Self::ApproveRefund
            | Self::CreatePayout
            | Self::ApprovePayout
            | Self::ManagePaymentLinks
            | Self::TriggerTestEvents
            | Self::ViewKeys
            | Self::ManageKeys
            | Self::RevealSecret
            | Self::ViewWebhooks
            | Self::ManageWebhooks
            | Self::ResendWebhook
            | Self::ViewAppSettings
            | Self::ManageAppSettings
            | Self::ViewConnections
            | Self::ManageConnections
            | Self::ViewRouting
            | Self::ManageRouting
            | Self::ApproveRouting
            | Self::ViewTeam
            | Self::ManageTeam
            | Self::ViewAudit => Scope::Account,
        }
    }

    /// Whether only a person in a session may do it, and no token. An approval needs a second
    /// person, and a token that changes users could give itself any action.
    pub const fn needs_person(self) -> bool {
        matches!(
            self,
            Self::ErasePersonalData
                | Self::ApproveRefund
                | Self::ApprovePayout
                | Self::ApproveRouting
                | Self::ApproveResolution
                | Self::ManageTeam
                | Self::ManageInstallationUsers
                | Self::ManageOperatorTokens
        )
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const OW: u8 = Role::Owner.bit();
const AD: u8 = Role::Admin.bit();
const DE: u8 = Role::Developer.bit();
const FI: u8 = Role::Finance.bit();
const SU: u8 = Role::Support.bit();
const VI: u8 = Role::Viewer.bit();
const OP: u8 = Role::Operator.bit();
const AU: u8 = Role::Auditor.bit();
/// Roles that manage an account.
const MANAGERS: u8 = OW | AD;
/// All roles of an account.
const ACCOUNT: u8 = MANAGERS | DE | FI | SU | VI;

/// Roles that may perform each action.
const TABLE: &[(Action, u8)] = &[
    (Action::ViewPayments, ACCOUNT | OP | AU),
    (Action::ViewPersonalData, MANAGERS | FI | SU | OP),
    (Action::ExportData, MANAGERS | FI | OP),
    (Action::ErasePersonalData, MANAGERS | OP),
    (Action::QueryProvider, MANAGERS | DE | FI | SU | OP),
    (Action::CancelTransaction, MANAGERS | FI | SU | OP),
    (Action::CreateRefund, MANAGERS | FI | SU),
    (Action::ApproveRefund, MANAGERS | FI),
    (Action::CreatePayout, MANAGERS | FI),
    (Action::ApprovePayout, MANAGERS | FI),
    (Action::ManagePaymentLinks, MANAGERS | DE | FI | SU),
    (Action::TriggerTestEvents, MANAGERS | DE | OP),
    (Action::ViewKeys, MANAGERS | DE | OP | AU),
    (Action::ManageKeys, MANAGERS | DE | OP),
    (Action::RevealSecret, MANAGERS | DE),
    (Action::ViewWebhooks, MANAGERS | DE | SU | OP | AU),
    (Action::ManageWebhooks, MANAGERS | DE | OP),
    (Action::ResendWebhook, MANAGERS | DE | SU | OP),
    (Action::ViewAppSettings, ACCOUNT | OP | AU),
    (Action::ManageAppSettings, MANAGERS | DE | OP),
    (Action::ViewConnections, MANAGERS | DE | FI | OP | AU),
    (Action::ManageConnections, OP),
    (Action::ViewRouting, MANAGERS | DE | FI | OP | AU),
    (Action::ManageRouting, OP),
    (Action::ApproveRouting, MANAGERS | OP),
    (Action::ViewTeam, ACCOUNT | OP | AU),
    (Action::ManageTeam, MANAGERS | OP),
    (Action::ViewAudit, MANAGERS | OP | AU),
    (Action::ViewAccounts, OP | AU),
    (Action::ManageAccounts, OP),
    (Action::ViewGateways, OP | AU),
    (Action::ManageGateways, OP),
    (Action::ViewRates, OP | AU),
    (Action::ManageRates, OP),
    (Action::ViewCases, OP | AU),
    (Action::HandleCases, OP),
    (Action::ResolveManually, OP),
    (Action::ApproveResolution, OP),
    (Action::ViewCallbacks, OP | AU),
    (Action::RetryCallbacks, OP),
    (Action::ViewInstallationUsers, OP | AU),
    (Action::ManageInstallationUsers, OP),
    (Action::ManageOperatorTokens, OP),
    (Action::ViewSystem, OP | AU),
    (Action::ReleaseHold, OP),
];

/// Whether a user with this role may perform the action. An account role only covers its account.
pub fn allows(role: Role, action: Action) -> bool {
    let mut rows = TABLE.iter();
    rows.any(|(other, roles)| *other == action && roles & role.bit() != 0)
}

/// Roles that may perform the action.
pub fn allowed_roles(action: Action) -> Vec<Role> {
    let roles = Role::ALL.into_iter();
    roles.filter(|role| allows(*role, action)).collect()
}

/// Changes that a second person approves: the action of the proposal, and that of its approval.
const APPROVALS: &[(Action, Action)] = &[
    (Action::CreateRefund, Action::ApproveRefund),
    (Action::CreatePayout, Action::ApprovePayout),
    (Action::ManageRouting, Action::ApproveRouting),
    (Action::ResolveManually, Action::ApproveResolution),
];

/// Action that approves or rejects what was proposed under `proposing`. `None`: no second person is
/// asked about it.
pub fn approving_action(proposing: Action) -> Option<Action> {
    let mut all = APPROVALS.iter();
    let found = all.find(|(other, _)| *other == proposing);
    found.map(|(_, approving)| *approving)
}

/// Action under which a change is proposed that `approving` approves.
pub fn proposing_action(approving: Action) -> Option<Action> {
    let mut all = APPROVALS.iter();
    let found = all.find(|(_, other)| *other == approving);
    found.map(|(proposing, _)| *proposing)
}

/// Whether users with this role need a second factor, whatever the settings say.
pub const fn requires_totp(role: Role) -> bool {
    matches!(
        role,
        Role::Owner | Role::Admin | Role::Finance | Role::Operator
    )
}

/// Whether the action needs a password and second factor that were given in the last
/// [`switchyard_core::limits::RECENT_AUTHENTICATION`]: keys, secrets, money that leaves, roles, and
/// code that runs.
pub const fn requires_recent_authentication(action: Action) -> bool {
    matches!(
        action,
        Action::ErasePersonalData
            | Action::ApproveRefund
            | Action::CreatePayout
            | Action::ApprovePayout
            | Action::ManageKeys
            | Action::RevealSecret
            | Action::ManageConnections
            | Action::ApproveRouting
            | Action::ManageTeam
            | Action::ManageGateways
            | Action::ManageRates
            | Action::ResolveManually
            | Action::ApproveResolution
            | Action::ManageInstallationUsers
            | Action::ManageOperatorTokens
            | Action::ReleaseHold
    )
}
