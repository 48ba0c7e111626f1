//! The table role × action, cell by cell.

use std::collections::BTreeSet;

use super::*;

/// Actions with the roles that may perform them, in words.
const EXPECTED: &str = "
view_payments: owner admin developer finance support viewer operator auditor
view_personal_data: owner admin finance support operator
export_data: owner admin finance operator
erase_personal_data: owner admin operator
query_provider: owner admin developer finance support operator
cancel_transaction: owner admin finance support operator
create_refund: owner admin finance support
approve_refund: owner admin finance
create_payout: owner admin finance
approve_payout: owner admin finance
manage_payment_links: owner admin developer finance support
trigger_test_events: owner admin developer operator
view_keys: owner admin developer operator auditor
manage_keys: owner admin developer operator
reveal_secret: owner admin developer
view_webhooks: owner admin developer support operator auditor
manage_webhooks: owner admin developer operator
resend_webhook: owner admin developer support operator
view_app_settings: owner admin developer finance support viewer operator auditor
manage_app_settings: owner admin developer operator
view_connections: owner admin developer finance operator auditor
manage_connections: operator
view_routing: owner admin developer finance operator auditor
manage_routing: operator
approve_routing: owner admin operator
view_team: owner admin developer finance support viewer operator auditor
manage_team: owner admin operator
view_audit: owner admin operator auditor
view_accounts: operator auditor
manage_accounts: operator
view_gateways: operator auditor
manage_gateways: operator
view_rates: operator auditor
manage_rates: operator
view_cases: operator auditor
handle_cases: operator
resolve_manually: operator
approve_resolution: operator
view_callbacks: operator auditor
retry_callbacks: operator
view_installation_users: operator auditor
manage_installation_users: operator
manage_operator_tokens: operator
view_system: operator auditor
release_hold: operator
";

#[test]
fn each_role_may_do_what_the_table_in_words_says_and_nothing_else() {
    let mut known = BTreeSet::new();
    for line in EXPECTED.lines().filter(|line| !line.is_empty()) {
        let (name, roles) = line.split_once(": ").unwrap();
        let action = Action::of(name).unwrap_or_else(|| panic!("no action {name}"));
        assert!(known.insert(action), "{name} is listed twice");
        let roles: BTreeSet<_> = roles.split(' ').collect();
        for role in Role::ALL {
            let expected = roles.contains(role.name());
            assert_eq!(allows(role, action), expected, "{role} {action}");
        }
    }
    let all: BTreeSet<_> = Action::ALL.iter().copied().collect();
    assert_eq!(known, all, "each action has a line above");
}

#[test]
fn each_action_is_allowed_to_a_role_and_has_one_row() {
    for action in Action::ALL {
        assert!(!allowed_roles(*action).is_empty(), "{action}");
        let rows = TABLE.iter().filter(|(other, _)| other == action);
        assert_eq!(rows.count(), 1, "{action}");
        assert_eq!(Action::of(action.name()), Some(*action));
    }
}

#[test]
fn no_account_role_may_perform_an_action_of_the_installation() {
    let account = |role: &Role| role.scope() == Scope::Account;
    for action in Action::ALL {
        if action.scope() == Scope::Installation {
            for role in Role::ALL.into_iter().filter(account) {
                assert!(!allows(role, *action), "{role} {action}");
            }
        }
    }
}

#[test]
fn viewers_and_auditors_change_nothing() {
    let reads = |action: &Action| action.name().starts_with("view_");
    for action in Action::ALL {
        for role in [Role::Viewer, Role::Auditor] {
            assert!(!allows(role, *action) || reads(action), "{role} {action}");
        }
    }
}

#[test]
fn roles_that_move_money_or_change_users_need_a_second_factor() {
    for role in Role::ALL {
        for action in [
            Action::CreatePayout,
            Action::ApprovePayout,
            Action::ManageTeam,
            Action::ManageInstallationUsers,
        ] {
            assert!(!allows(role, action) || requires_totp(role), "{role}");
        }
    }
}

#[test]
fn changes_of_keys_payouts_and_roles_need_a_recent_authentication() {
    for action in Action::ALL {
        if action.needs_person() {
            assert!(requires_recent_authentication(*action), "{action}");
        }
        if action.name().starts_with("view_") {
            assert!(!requires_recent_authentication(*action), "{action}");
        }
    }
    assert!(requires_recent_authentication(Action::ManageKeys));
    assert!(requires_recent_authentication(Action::CreatePayout));
}

#[test]
fn an_admin_cannot_make_or_remove_an_owner() {
    assert!(Role::Owner.may_assign(Role::Owner));
    assert!(!Role::Admin.may_assign(Role::Owner));
    assert!(Role::Admin.may_assign(Role::Admin));
    assert!(!Role::Owner.may_assign(Role::Operator));
    assert!(Role::Operator.may_assign(Role::Auditor));
    for role in Role::ALL {
        let assigns = Role::ALL.into_iter().any(|other| role.may_assign(other));
        let manages = allows(role, Action::ManageTeam);
        assert_eq!(assigns, manages, "{role}");
    }
}

#[test]
fn each_approval_belongs_to_one_proposal_of_the_same_scope() {
    let approvals = Action::ALL
        .iter()
        .filter(|action| action.name().starts_with("approve_"));
    for approving in approvals {
        let proposing = proposing_action(*approving).unwrap_or_else(|| panic!("{approving}"));
        assert_eq!(approving_action(proposing), Some(*approving));
        assert_eq!(proposing.scope(), approving.scope(), "{approving}");
        assert!(approving.needs_person(), "{approving}");
    }
    assert_eq!(APPROVALS.len(), 4);
    for other in [
        Action::ManageTeam,
        Action::ViewPayments,
        Action::ApprovePayout,
    ] {
        assert_eq!(approving_action(other), None);
    }
}
