//! Proposals and their approval by a second person.

use serde_json::json;
use switchyard_store::{Batch, Table};

use super::*;

/// A proposed payout of finance user Fin in an account with owner Ada.
async fn proposed(world: &World) -> Arc<Approval> {
    world.owner("ada@example.com", ACME).await;
    world
        .member("ada@example.com", ACME, "fin@example.com", Role::Finance)
        .await;
    let fin = world.signed_in("fin@example.com").await;
    let permit = world.permit(&fin, Action::CreatePayout, Some(ACME));
    let proposal = Proposal {
        kind: "payout".to_owned(),
        payload: json!({ "amount": 5_000 }),
        reason: "Rent".to_owned(),
    };
    world.users.propose(&permit, proposal).await.unwrap()
}

async fn approver(world: &World, email: &str) -> Permit {
    let who = world.signed_in(email).await;
    world.permit(&who, Action::ApprovePayout, Some(ACME))
}

fn payout() -> Batch {
    let mut batch = Batch::new();
    batch.put(Table::Transaction, "payout", "{}");
    batch
}

async fn is_paid(world: &World) -> bool {
    let row = world.store.get(Table::Transaction, b"payout").await;
    row.unwrap().is_some()
}

#[tokio::test]
async fn a_second_person_approves_and_the_change_is_made_in_the_same_commit() {
    let world = World::new().await;
    let open = proposed(&world).await;
    let ada = approver(&world, "ada@example.com").await;
    assert_eq!(world.users.open_approvals(Some(account(ACME))).len(), 1);
    let before = world.store.stats().commits;
    let done = world.users.approve(&ada, open.id, payout()).await.unwrap();
    assert_eq!(world.store.stats().commits, before + 1);
    assert!(matches!(done.state, ApprovalState::Executed { by, .. } if by == ada.user));
    assert!(is_paid(&world).await);
    let again = world.users.approve(&ada, open.id, payout()).await;
    assert!(matches!(again, Err(UsersError::NotFound { .. })));
    let users = world.restarted(SecondFactor::Optional).await;
    assert!(users.open_approvals(Some(account(ACME))).is_empty());
    let stored = users.approval(Some(account(ACME)), open.id).await.unwrap();
    assert_eq!(stored, done);
}

#[tokio::test]
async fn the_proposer_cannot_approve_or_reject() {
    let world = World::new().await;
    let open = proposed(&world).await;
    let fin = approver(&world, "fin@example.com").await;
    let approved = world.users.approve(&fin, open.id, payout()).await;
    assert!(matches!(approved, Err(UsersError::NotPossible(_))));
    let rejected = world.users.reject(&fin, open.id, "no").await;
    assert!(matches!(rejected, Err(UsersError::NotPossible(_))));
    assert!(!is_paid(&world).await);
    world.users.background_writes_ended().await;
    let query = AuditQuery {
        user: Some(fin.user),
        action: Some("approve_payout".to_owned()),
        limit: 10,
        ..AuditQuery::default()
    };
    let tries = world.users.audit(&query).await.unwrap().entries;
    assert_eq!(tries.len(), 2);
    for entry in tries {
        assert_eq!(entry.result, AuditResult::Refused);
        assert_eq!(entry.object, open.id.to_string());
    }
    let withdrawn = world.users.withdraw(&fin, open.id).await.unwrap();
    assert!(matches!(withdrawn.state, ApprovalState::Withdrawn { .. }));
}

#[tokio::test]
async fn a_permit_for_another_action_or_account_approves_nothing() {
    let world = World::new().await;
    let open = proposed(&world).await;
    let who = world.signed_in("ada@example.com").await;
    let refund = world.permit(&who, Action::ApproveRefund, Some(ACME));
    let approved = world.users.approve(&refund, open.id, payout()).await;
    assert!(matches!(approved, Err(UsersError::NotPossible(_))));
    world.owner("eve@example.com", GLOBEX).await;
    let eve = world.signed_in("eve@example.com").await;
    let foreign = world.permit(&eve, Action::ApprovePayout, Some(GLOBEX));
    let approved = world.users.approve(&foreign, open.id, payout()).await;
    assert!(matches!(approved, Err(UsersError::NotFound { .. })));
    let seen = world.users.approval(Some(account(GLOBEX)), open.id).await;
    assert!(matches!(seen, Err(UsersError::NotFound { .. })));
    assert!(!is_paid(&world).await);
}

#[tokio::test]
async fn a_proposal_expires_after_72_hours() {
    let world = World::new().await;
    let open = proposed(&world).await;
    world.clock.advance(72 * HOUR);
    let ada = approver(&world, "ada@example.com").await;
    let approved = world.users.approve(&ada, open.id, payout()).await;
    assert!(matches!(approved, Err(UsersError::NotFound { .. })));
    world.users.purge_expired().await.unwrap();
    let account = Some(account(ACME));
    let stored = world.users.approval(account, open.id).await.unwrap();
    assert_eq!(stored.state, ApprovalState::Expired);
    let (decided, next) = world
        .users
        .decided_approvals(account, None, 10)
        .await
        .unwrap();
    assert_eq!((decided, next), (vec![stored], None));
}

#[tokio::test]
async fn two_approvals_at_once_execute_once() {
    let world = World::new().await;
    let open = proposed(&world).await;
    let ada = approver(&world, "ada@example.com").await;
    let (one, two) = tokio::join!(
        world.users.approve(&ada, open.id, payout()),
        world.users.approve(&ada, open.id, payout()),
    );
    assert_ne!(one.is_ok(), two.is_ok());
}

#[tokio::test]
async fn an_approval_in_a_commit_of_the_caller_takes_effect_with_it() {
    let world = World::new().await;
    let open = proposed(&world).await;
    let ada = approver(&world, "ada@example.com").await;
    let mut abandoned = payout();
    let staged = world
        .users
        .stage_approval(&ada, open.id, &mut abandoned)
        .await;
    drop(staged.unwrap());
    assert_eq!(world.users.open_approvals(Some(account(ACME))).len(), 1);
    let mut batch = payout();
    let staged = world.users.stage_approval(&ada, open.id, &mut batch).await;
    let (_, staged) = staged.unwrap();
    world.store.commit(batch).await.unwrap();
    staged.committed();
    assert!(world.users.open_approvals(Some(account(ACME))).is_empty());
    assert!(is_paid(&world).await);
    let late = world.store.commit(abandoned).await;
    assert!(late.is_err(), "the abandoned batch conflicts");
    let report = world.users.verify_chain().await.unwrap();
    assert_eq!(report.faults, []);
}

#[tokio::test]
async fn a_rejection_has_a_reason_and_executes_nothing() {
    let world = World::new().await;
    let open = proposed(&world).await;
    let ada = approver(&world, "ada@example.com").await;
    let without = world.users.reject(&ada, open.id, " ").await;
    assert!(matches!(without, Err(UsersError::Invalid { .. })));
    let done = world.users.reject(&ada, open.id, "Wrong amount").await;
    assert!(matches!(
        done.unwrap().state,
        ApprovalState::Rejected { .. }
    ));
    assert!(!is_paid(&world).await);
}

#[tokio::test]
async fn a_proposal_of_a_user_who_may_not_make_it_any_more_is_rejected_and_not_approved() {
    for change in [Change::Disabled, Change::Removed, Change::Demoted] {
        let world = World::new().await;
        let open = proposed(&world).await;
        let fin = open.proposed_by;
        match change {
            Change::Disabled => {
                world.operator("root@example.com").await;
                let root = world.signed_in("root@example.com").await;
                let permit = world.permit(&root, Action::ManageInstallationUsers, None);
                world.users.disable(&permit, fin).await.unwrap();
            }
            Change::Removed | Change::Demoted => {
                let ada = world.signed_in("ada@example.com").await;
                let permit = world.permit(&ada, Action::ManageTeam, Some(ACME));
                let changed = match change {
                    Change::Removed => world.users.remove_member(&permit, fin).await,
                    _ => world.users.change_role(&permit, fin, Role::Support).await,
                };
                changed.unwrap();
            }
        }
        let ada = approver(&world, "ada@example.com").await;
        let approved = world.users.approve(&ada, open.id, payout()).await;
        assert!(
            matches!(approved, Err(UsersError::NotPossible(_))),
            "{change:?}"
        );
        let mut batch = payout();
        let staged = world.users.stage_approval(&ada, open.id, &mut batch).await;
        assert!(staged.is_err(), "{change:?}");
        assert!(!is_paid(&world).await);
        let done = world.users.reject(&ada, open.id, "Left us").await.unwrap();
        assert!(matches!(done.state, ApprovalState::Rejected { .. }));
    }
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Disabled,
    Removed,
    Demoted,
}

#[tokio::test]
async fn the_action_of_a_proposal_decides_who_approves_it() {
    let world = World::new().await;
    assert_eq!(proposed(&world).await.approving, Action::ApprovePayout);
    let who = world.signed_in("ada@example.com").await;
    for action in [Action::ManageTeam, Action::ApprovePayout, Action::ViewKeys] {
        let permit = world.permit(&who, action, Some(ACME));
        let proposal = Proposal {
            kind: "payout".to_owned(),
            payload: json!({}),
            reason: "Rent".to_owned(),
        };
        let proposed = world.users.propose(&permit, proposal).await;
        assert!(matches!(proposed, Err(UsersError::NotPossible(_))));
    }
}
