//! Batches of payouts: upload, one confirmation, decision by a second person, deletion of drafts.

use serde_json::json;
use switchyard_core::environment::Environment;
use switchyard_core::ids::AppId;

use super::*;
use crate::payout_batch::{BatchLine, BatchState, NewBatch, PayoutBatch, RefusedLine};
use crate::payout_batches::BATCH_LINES;

fn lines(count: usize) -> Vec<BatchLine> {
    let numbers = 2..u32::try_from(count + 2).unwrap();
    numbers
        .map(|number| BatchLine {
            number,
            request: json!({ "amount": "25" }),
        })
        .collect()
}

fn new(count: usize) -> NewBatch {
    NewBatch {
        app: AppId::new(Default::default()),
        environment: Environment::Live,
        name: "may.csv".to_owned(),
        lines: lines(count),
    }
}

impl World {
    async fn uploaded(&self, who: &Identity) -> PayoutBatch {
        let permit = self.permit(who, Action::CreatePayout, Some(1));
        self.users.upload_batch(&permit, new(3)).await.unwrap()
    }
}

#[tokio::test]
async fn a_batch_is_confirmed_once_and_survives_a_restart() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    let ada = world.signed_in("ada@example.com").await;
    let head = world.uploaded(&ada).await;
    assert_eq!((head.state, head.count), (BatchState::Draft, 3));
    let permit = world.permit(&ada, Action::CreatePayout, Some(1));
    let users = &world.users;
    let confirmed = users.confirm_batch(&permit, head.id).await.unwrap();
    assert!(matches!(confirmed.state, BatchState::Confirmed { .. }));
    let again = users.confirm_batch(&permit, head.id).await;
    assert!(matches!(again, Err(UsersError::Conflict)), "{again:?}");
    let deleted = users.delete_batch(&permit, head.id).await;
    assert!(
        matches!(deleted, Err(UsersError::NotPossible(_))),
        "{deleted:?}"
    );
    let restarted = world.restarted(SecondFactor::Optional).await;
    let open = restarted.unfinished_batches().await.unwrap();
    assert_eq!(open, [confirmed]);
    assert_eq!(restarted.batch_lines(head.id).await.unwrap(), lines(3));
    let why = RefusedLine {
        code: "payout_limit_reached".to_owned(),
        message: "No more today.".to_owned(),
    };
    restarted
        .refuse_line(head.id, 3, why.clone())
        .await
        .unwrap();
    restarted.finish_batch(head.id).await.unwrap();
    let done = restarted.batch(account(1), head.id).await.unwrap();
    assert!(matches!(done.state, BatchState::Done { .. }));
    assert_eq!(done.refused.get(&3), Some(&why));
    assert!(restarted.unfinished_batches().await.unwrap().is_empty());
    let actions = world.actions().await;
    for action in ["upload_batch", "confirm_batch"] {
        let count = actions.iter().filter(|one| *one == action).count();
        assert_eq!(count, 1, "{action}: {actions:?}");
    }
}

#[tokio::test]
async fn a_batch_belongs_to_its_account_and_has_one_to_a_thousand_lines() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    world.owner("eve@example.com", 2).await;
    let ada = world.signed_in("ada@example.com").await;
    let head = world.uploaded(&ada).await;
    let eve = world.signed_in("eve@example.com").await;
    let permit = world.permit(&eve, Action::CreatePayout, Some(2));
    for refused in [
        world.users.batch(account(2), head.id).await.map(drop),
        world.users.confirm_batch(&permit, head.id).await.map(drop),
        world.users.delete_batch(&permit, head.id).await,
    ] {
        assert!(
            matches!(refused, Err(UsersError::NotFound { .. })),
            "{refused:?}"
        );
    }
    for count in [0, BATCH_LINES + 1] {
        let refused = world.users.upload_batch(&permit, new(count)).await;
        assert!(
            matches!(refused, Err(UsersError::Invalid { .. })),
            "{count}"
        );
    }
    let most = world.users.upload_batch(&permit, new(BATCH_LINES)).await;
    let most = most.unwrap();
    let stored = world.users.batch_lines(most.id).await.unwrap();
    assert_eq!(stored, lines(BATCH_LINES));
}

#[tokio::test]
async fn the_batches_of_an_app_are_listed_newest_first_without_those_of_others() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    let ada = world.signed_in("ada@example.com").await;
    let permit = world.permit(&ada, Action::CreatePayout, Some(1));
    let first = world.uploaded(&ada).await;
    world.clock.advance(Duration::from_secs(1));
    let second = world.uploaded(&ada).await;
    let other = NewBatch {
        environment: Environment::Sandbox,
        ..new(1)
    };
    let other = world.users.upload_batch(&permit, other).await.unwrap();
    let listed = async |environment, limit| {
        let all = world.users.batches(first.app, environment, limit).await;
        all.unwrap().iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(Environment::Live, 50).await, [second.id, first.id]);
    assert_eq!(listed(Environment::Live, 1).await, [second.id]);
    assert_eq!(listed(Environment::Sandbox, 50).await, [other.id]);
    world.users.delete_batch(&permit, second.id).await.unwrap();
    assert_eq!(listed(Environment::Live, 50).await, [first.id]);
}

#[tokio::test]
async fn a_second_person_approves_a_batch_and_confirms_it_in_one_commit() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    world
        .member("ada@example.com", 1, "grace@example.com", Role::Finance)
        .await;
    let grace = world.signed_in("grace@example.com").await;
    let head = world.uploaded(&grace).await;
    let create = world.permit(&grace, Action::CreatePayout, Some(1));
    let proposed = world.users.propose_batch(&create, &head).await.unwrap();
    let again = world.users.propose_batch(&create, &head).await;
    assert!(matches!(again, Err(UsersError::Conflict)), "{again:?}");
    let own = world.permit(&grace, Action::ApprovePayout, Some(1));
    let refused = world.users.approve_batch(&own, proposed.id, head.id).await;
    assert!(
        matches!(refused, Err(UsersError::NotPossible(_))),
        "{refused:?}"
    );
    let draft = world.users.batch(account(1), head.id).await.unwrap();
    assert_eq!(draft.state, BatchState::Draft);
    let ada = world.signed_in("ada@example.com").await;
    let permit = world.permit(&ada, Action::ApprovePayout, Some(1));
    let approved = world
        .users
        .approve_batch(&permit, proposed.id, head.id)
        .await;
    let (approval, confirmed) = approved.unwrap();
    assert!(matches!(
        approval.state,
        crate::ApprovalState::Executed { .. }
    ));
    assert!(matches!(confirmed.state, BatchState::Confirmed { by, .. } if by == ada.user.id));
    let twice = world
        .users
        .approve_batch(&permit, proposed.id, head.id)
        .await;
    assert!(matches!(twice, Err(UsersError::Conflict)), "{twice:?}");
}

#[tokio::test]
async fn a_discarded_batch_withdraws_its_proposal_in_the_same_commit() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    world
        .member("ada@example.com", 1, "grace@example.com", Role::Finance)
        .await;
    let (ada, grace) = (
        world.signed_in("ada@example.com").await,
        world.signed_in("grace@example.com").await,
    );
    let head = world.uploaded(&grace).await;
    let own = world.permit(&grace, Action::CreatePayout, Some(1));
    let proposed = world.users.propose_batch(&own, &head).await.unwrap();
    let kept = world.uploaded(&grace).await;
    let other = world.users.propose_batch(&own, &kept).await.unwrap();

    // Another person rejects, and a token decides nothing.
    let wanted = TokenRequest {
        name: "CI".to_owned(),
        account: Some(account(1)),
        actions: [Action::CreatePayout].into(),
        expires_at: world.clock.now().plus(HOUR),
    };
    let token = world.users.create_token(&grace, wanted).await.unwrap();
    let program = world
        .users
        .authenticate_token(token.secret.expose(), origin());
    let program = world.permit(&program.unwrap(), Action::CreatePayout, Some(1));
    let by_other = world.permit(&ada, Action::CreatePayout, Some(1));
    for permit in [&program, &by_other] {
        world.users.delete_batch(permit, head.id).await.unwrap_err();
    }
    assert!(world.users.batch_by_id(head.id).await.unwrap().is_some());
    let open = world.users.proposal_of_batch(account(1), head.id);
    assert_eq!(open.unwrap().id, proposed.id);

    world.users.background_writes_ended().await;
    let before = world.store.stats().commits;
    world.users.delete_batch(&own, head.id).await.unwrap();
    assert_eq!(world.store.stats().commits, before + 1);
    for users in [&world.users, &world.restarted(SecondFactor::Optional).await] {
        assert!(users.batch_by_id(head.id).await.unwrap().is_none());
        let open = users.open_approvals(Some(account(1)));
        let open: Vec<_> = open.iter().map(|one| one.id).collect();
        assert_eq!(open, [other.id], "the other batch keeps its proposal");
        let withdrawn = users.approval(Some(account(1)), proposed.id).await.unwrap();
        let at = world.clock.now();
        assert_eq!(withdrawn.state, ApprovalState::Withdrawn { at });
    }
    let late = world.users.propose_batch(&own, &head).await;
    assert!(matches!(late, Err(UsersError::Conflict)), "{late:?}");
    let approving = world.permit(&ada, Action::ApprovePayout, Some(1));
    let late = world
        .users
        .approve_batch(&approving, proposed.id, head.id)
        .await;
    assert!(matches!(late, Err(UsersError::NotFound { .. })), "{late:?}");
    let actions = world.actions().await;
    for action in ["delete_batch", "withdraw"] {
        let count = actions.iter().filter(|one| *one == action).count();
        assert_eq!(count, 1, "{action}: {actions:?}");
    }
}

#[tokio::test]
async fn a_draft_that_nobody_confirms_is_deleted_after_a_week() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    let ada = world.signed_in("ada@example.com").await;
    let (draft, kept) = (world.uploaded(&ada).await, world.uploaded(&ada).await);
    let permit = world.permit(&ada, Action::CreatePayout, Some(1));
    world.users.confirm_batch(&permit, kept.id).await.unwrap();
    world
        .clock
        .advance(Duration::from_secs(7 * 24 * 60 * 60 - 1));
    world.users.purge_expired().await.unwrap();
    assert!(world.users.batch_by_id(draft.id).await.unwrap().is_some());
    world.clock.advance(Duration::from_secs(1));
    world.users.purge_expired().await.unwrap();
    assert!(world.users.batch_by_id(draft.id).await.unwrap().is_none());
    assert!(world.users.batch_lines(draft.id).await.is_err());
    assert!(world.users.batch_by_id(kept.id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_draft_that_waits_for_a_second_person_stays_until_they_decide() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    let ada = world.signed_in("ada@example.com").await;
    let draft = world.uploaded(&ada).await;
    world.clock.advance(Duration::from_secs(6 * 24 * 60 * 60));
    let ada = world.signed_in("ada@example.com").await;
    let permit = world.permit(&ada, Action::CreatePayout, Some(1));
    world.users.propose_batch(&permit, &draft).await.unwrap();
    world.clock.advance(Duration::from_secs(2 * 24 * 60 * 60));
    world.users.purge_expired().await.unwrap();
    assert!(world.users.batch_by_id(draft.id).await.unwrap().is_some());
    // The proposal has expired, too.
    world.clock.advance(Duration::from_secs(24 * 60 * 60));
    world.users.purge_expired().await.unwrap();
    assert!(world.users.batch_by_id(draft.id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_batch_that_ended_long_ago_names_nobody() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    let ada = world.signed_in("ada@example.com").await;
    let permit = world.permit(&ada, Action::CreatePayout, Some(1));
    let kept = json!({
        "amount": "25", "currency": "XOF", "method": "mtn_bj",
        "metadata": { "reference": "may-1" },
    });
    let mut request = kept.clone();
    request["description"] = "Wages of Awa".into();
    request["customer"] = json!({ "first_name": "Awa", "email": "awa@example.com" });
    request["recipient"] = json!({ "msisdn": "2290197000000" });
    let mut made = Vec::new();
    for environment in [Environment::Sandbox, Environment::Live] {
        let new = NewBatch {
            environment,
            lines: vec![BatchLine {
                number: 2,
                request: request.clone(),
            }],
            ..new(1)
        };
        let head = world.users.upload_batch(&permit, new).await.unwrap();
        world.users.confirm_batch(&permit, head.id).await.unwrap();
        made.push(head);
    }
    let open = world.users.upload_batch(&permit, new(1)).await.unwrap();
    world.users.confirm_batch(&permit, open.id).await.unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    world.clock.advance(300 * day);
    for head in &made {
        world.users.finish_batch(head.id).await.unwrap();
    }
    let [sandbox, live] = [made[0].id, made[1].id];
    let sent = async |id| {
        world.users.batch_lines(id).await.unwrap()[0]
            .request
            .clone()
    };
    for (days, has_sandbox, of_live) in [
        (89, true, &request),
        (1, false, &request),
        (89, false, &request),
        (1, false, &kept),
    ] {
        world.clock.advance(days * day);
        world.users.purge_expired().await.unwrap();
        // Twice: nothing is left to do.
        world.users.purge_expired().await.unwrap();
        let found = world.users.batch_by_id(sandbox).await.unwrap();
        assert_eq!(found.is_some(), has_sandbox);
        assert_eq!(world.users.batch_lines(sandbox).await.is_ok(), has_sandbox);
        assert_eq!(sent(live).await, *of_live);
    }
    assert!(world.users.batch_by_id(live).await.unwrap().is_some());
    let listed = world.users.batches(made[0].app, Environment::Sandbox, 50);
    assert!(listed.await.unwrap().is_empty());
    // A batch whose payouts are not all made needs its lines.
    assert_eq!(sent(open.id).await, lines(1)[0].request);
}

#[tokio::test]
async fn one_task_of_a_process_works_on_a_batch() {
    let world = World::new().await;
    world.owner("ada@example.com", 1).await;
    let ada = world.signed_in("ada@example.com").await;
    let head = world.uploaded(&ada).await;
    let run = world.users.claim_batch(head.id);
    assert!(run.is_some() && world.users.claim_batch(head.id).is_none());
    drop(run);
    assert!(world.users.claim_batch(head.id).is_some());
}
