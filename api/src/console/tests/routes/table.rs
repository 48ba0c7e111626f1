//! Requests of all routes of the console, each with the action that it needs.

use switchyard_users::Action::{self, *};

/// Readers who may send a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    /// Everyone.
    Open,
    /// Everyone who is signed in.
    Reader,
    /// Roles with this action. The object exists.
    Of(Action),
    /// The same, about an object that does not exist in these tests.
    Missing(Action),
}

use Access::{Missing, Of, Open, Reader};

/// Request of a route.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub method: &'static str,
    /// Path below `/console`, with `*` for an app and its environment.
    pub path: &'static str,
    /// Field of the form, as `name=value`.
    pub field: &'static str,
    pub access: Access,
}

const fn get(path: &'static str, access: Access) -> Row {
    Row {
        method: "GET",
        path,
        field: "",
        access,
    }
}

const fn post(path: &'static str, field: &'static str, access: Access) -> Row {
    Row {
        method: "POST",
        path,
        field,
        access,
    }
}

pub const ROUTES: &[Row] = &[
    get("", Open),
    get("/", Reader),
    get("/sign-in", Open),
    post("/sign-in", "email=x@example.com", Open),
    post("/sign-in/code", "code=1", Open),
    post("/sign-in/set-up", "code=1", Open),
    get("/sign-in/forgotten", Open),
    post("/sign-in/forgotten", "email=", Open),
    get("/sign-in/openid", Open),
    get("/sign-in/openid/return", Open),
    post("/sign-out", "", Open),
    get("/link/{token}", Open),
    post("/link/{token}", "password=", Open),
    get("/confirm", Reader),
    post("/confirm", "password=wrong", Reader),
    get("/confirm/openid", Reader),
    get("/account", Reader),
    post("/account", "name=", Reader),
    post("/account/sessions", "session=unknown", Reader),
    get("/account/password", Reader),
    post("/account/password", "password=short", Reader),
    get("/account/tokens", Reader),
    post("/account/tokens", "token=unknown", Reader),
    get("/account/tokens/new", Reader),
    post("/account/tokens/new", "name=CI", Reader),
    get("/account/second-factor", Reader),
    post("/account/second-factor", "code=1", Reader),
    get("/{*nothing}", Open),
    get("*/home", Of(ViewPayments)),
    get("*/payments", Of(ViewPayments)),
    get("*/payouts", Of(ViewPayments)),
    get("*/payments.csv", Of(ExportData)),
    get("*/payouts.csv", Of(ExportData)),
    get("*/payments/{id}", Of(ViewPayments)),
    post("*/payments/{id}", "do=check", Of(QueryProvider)),
    post("*/payments/{id}", "do=cancel", Of(CancelTransaction)),
    get("*/payouts/new", Of(CreatePayout)),
    post("*/payouts/new", "do=review", Of(CreatePayout)),
    post("*/payouts/new", "do=edit", Of(CreatePayout)),
    post("*/payouts/new", "do=send", Of(CreatePayout)),
    get("*/payouts/{id}", Missing(ViewPayments)),
    get("*/payouts/batches", Of(ViewPayments)),
    post("*/payouts/batches", "do=upload", Of(CreatePayout)),
    get("*/payouts/batches/{batch}", Missing(ViewPayments)),
    post(
        "*/payouts/batches/{batch}",
        "do=confirm",
        Missing(CreatePayout),
    ),
    post(
        "*/payouts/batches/{batch}",
        "do=discard",
        Missing(CreatePayout),
    ),
    post("*/payouts/{id}", "do=check", Missing(QueryProvider)),
    post("*/payouts/{id}", "do=cancel", Missing(CancelTransaction)),
    get("*/customers", Of(ViewPayments)),
    get("*/customers/{customer}", Of(ViewPayments)),
    get("*/customers/{customer}/export", Of(ExportData)),
    get("*/customers/{customer}/erase", Of(ErasePersonalData)),
    post(
        "*/customers/{customer}/erase",
        "email=other@example.com",
        Of(ErasePersonalData),
    ),
    get("*/payment-links", Of(ViewPayments)),
    get("*/payment-links/new", Of(ManagePaymentLinks)),
    post("*/payment-links/new", "title=x", Of(ManagePaymentLinks)),
    get("*/payment-links/{link}", Missing(ViewPayments)),
    post(
        "*/payment-links/{link}",
        "do=disable",
        Missing(ManagePaymentLinks),
    ),
    post(
        "*/payment-links/{link}",
        "do=enable",
        Missing(ManagePaymentLinks),
    ),
    get("*/keys", Of(ViewKeys)),
    get("*/keys/new", Of(ManageKeys)),
    post("*/keys/new", "kind=public", Of(ManageKeys)),
    get("*/keys/{key}", Of(ManageKeys)),
    post("*/keys/{key}", "do=roll", Of(ManageKeys)),
    post("*/keys/{key}", "do=delete", Of(ManageKeys)),
    get("*/webhooks", Of(ViewWebhooks)),
    get("*/webhooks/new", Of(ManageWebhooks)),
    post("*/webhooks/new", "url=no", Of(ManageWebhooks)),
    get("*/webhooks/{webhook}", Of(ViewWebhooks)),
    post("*/webhooks/{webhook}", "do=save", Of(ManageWebhooks)),
    post("*/webhooks/{webhook}", "do=reveal", Of(RevealSecret)),
    post(
        "*/webhooks/{webhook}",
        "do=resend-failed",
        Of(ResendWebhook),
    ),
    post(
        "*/webhooks/{webhook}",
        "do=test",
        Missing(TriggerTestEvents),
    ),
    post("*/webhooks/{webhook}", "do=delete", Of(ManageWebhooks)),
    get(
        "*/webhooks/{webhook}/deliveries/{delivery}",
        Missing(ViewWebhooks),
    ),
    post(
        "*/webhooks/{webhook}/deliveries/{delivery}",
        "",
        Missing(ResendWebhook),
    ),
    get("*/connections", Of(ViewConnections)),
    get("*/connections/new", Of(ManageConnections)),
    post("*/connections/new", "gateway=x", Missing(ManageConnections)),
    get("*/connections/{connection}", Of(ViewConnections)),
    post(
        "*/connections/{connection}",
        "do=save",
        Of(ManageConnections),
    ),
    post(
        "*/connections/{connection}",
        "do=delete",
        Of(ManageConnections),
    ),
    get("*/routing", Of(ViewRouting)),
    get("*/routing/edit", Of(ManageRouting)),
    post("*/routing/edit", "set=no rules", Of(ManageRouting)),
    get("*/approvals", Of(ViewPayments)),
    get("*/approvals/{approval}", Missing(ViewPayments)),
    post(
        "*/approvals/{approval}",
        "do=approve",
        Missing(ViewPayments),
    ),
    post("*/approvals/{approval}", "do=reject", Missing(ViewPayments)),
    post(
        "*/approvals/{approval}",
        "do=withdraw",
        Missing(ViewPayments),
    ),
    get("*/team", Of(ViewTeam)),
    post("*/team", "invitation=x", Missing(ManageTeam)),
    get("*/team/new", Of(ManageTeam)),
    post("*/team/new", "role=viewer", Of(ManageTeam)),
    get("*/team/{user}", Of(ManageTeam)),
    post("*/team/{user}", "do=sessions", Of(ManageTeam)),
    post("*/team/{user}", "role=operator", Missing(ManageTeam)),
    get("*/settings", Of(ViewAppSettings)),
    post("*/settings", "do=preview", Of(ManageAppSettings)),
    post("*/settings", "do=save", Of(ManageAppSettings)),
    post("*/settings/logo", "do=upload", Of(ManageAppSettings)),
    get("*/audit", Of(ViewAudit)),
    get("/installation", Of(ViewGateways)),
    get("/installation/gateways", Of(ViewGateways)),
    post(
        "/installation/gateways",
        "sha256=x",
        Missing(ManageGateways),
    ),
    get("/installation/gateways/{gateway}", Missing(ViewGateways)),
    post(
        "/installation/gateways/{gateway}",
        "do=drain",
        Missing(ManageGateways),
    ),
    get("/installation/gateway-upload", Of(ManageGateways)),
    post("/installation/gateway-upload", "", Of(ManageGateways)),
    get(
        "/installation/gateway-upload/{sha256}",
        Missing(ManageGateways),
    ),
    post(
        "/installation/gateway-upload/{sha256}",
        "",
        Missing(ManageGateways),
    ),
    get("/installation/cases", Of(ViewCases)),
    get("/installation/cases/{case}", Missing(ViewCases)),
    post(
        "/installation/cases/{case}",
        "note=Done.",
        Missing(HandleCases),
    ),
    get("/installation/approvals", Of(ViewCases)),
    get("/installation/approvals/{approval}", Missing(ViewCases)),
    post(
        "/installation/approvals/{approval}",
        "do=approve",
        Missing(ApproveResolution),
    ),
    post(
        "/installation/approvals/{approval}",
        "do=reject",
        Missing(ApproveResolution),
    ),
    post(
        "/installation/approvals/{approval}",
        "do=withdraw",
        Missing(ResolveManually),
    ),
    get(
        "/installation/transactions/{transaction}/resolve",
        Missing(ResolveManually),
    ),
    post(
        "/installation/transactions/{transaction}/resolve",
        "do=resolve",
        Missing(ResolveManually),
    ),
    get("/installation/accounts", Of(ViewAccounts)),
    post("/installation/accounts", "name=", Of(ManageAccounts)),
    get("/installation/rates", Of(ViewRates)),
    post("/installation/rates", "from=XXX", Missing(ManageRates)),
    get("/installation/users", Of(ViewInstallationUsers)),
    post(
        "/installation/users",
        "invitation=x",
        Missing(ManageInstallationUsers),
    ),
    get("/installation/users/new", Of(ManageInstallationUsers)),
    post(
        "/installation/users/new",
        "role=x",
        Missing(ManageInstallationUsers),
    ),
    get(
        "/installation/users/{user}",
        Missing(ManageInstallationUsers),
    ),
    post(
        "/installation/users/{user}",
        "do=remove",
        Missing(ManageInstallationUsers),
    ),
    get("/installation/audit", Of(ViewAudit)),
    get("/installation/system", Of(ViewSystem)),
];
