//! Every command in every state. One line a cell: state, command, result (`=` nothing changes, `!`
//! refused).

use super::fixtures::*;
use crate::ids::{AttemptId, CaseId};
use crate::transaction::*;

const MATRIX: &str = "
payment  awaiting_customer  confirm          awaiting_gateway
payment  awaiting_customer  confirm_nowhere  ! No gateway can serve
payment  awaiting_customer  dispatch         ! This is a payment
payment  awaiting_customer  succeeded        ! No attempt
payment  awaiting_customer  recover_unsent   ! No attempt
payment  awaiting_customer  withhold         ! No attempt
payment  awaiting_customer  wake             =
payment  awaiting_customer  wake_late        cancelled
payment  awaiting_customer  ask              =
payment  awaiting_customer  hint             =
payment  awaiting_customer  cancel           cancelled
payment  awaiting_customer  process          ! Only a successful

payment  awaiting_gateway   confirm          ! A payment attempt is already
payment  awaiting_gateway   dispatch         ! This is a payment
payment  awaiting_gateway   succeeded        succeeded
payment  awaiting_gateway   declined         failed
payment  awaiting_gateway   declined_soft    failed
payment  awaiting_gateway   not_sent         awaiting_customer
payment  awaiting_gateway   pending          awaiting_provider
payment  awaiting_gateway   unknown          in_doubt
payment  awaiting_gateway   too_little       in_doubt
payment  awaiting_gateway   more             succeeded
payment  awaiting_gateway   recover_unsent   awaiting_gateway
payment  awaiting_gateway   recover_sent     in_doubt
payment  awaiting_gateway   withhold         awaiting_customer
payment  awaiting_gateway   wake             =
payment  awaiting_gateway   wake_late        =
payment  awaiting_gateway   ask              =
payment  awaiting_gateway   hint             =
payment  awaiting_gateway   cancel           ! A payment attempt is already
payment  awaiting_gateway   process          ! Only a successful

payment  awaiting_provider  confirm          ! A payment attempt is already
payment  awaiting_provider  dispatch         ! This is a payment
payment  awaiting_provider  succeeded        succeeded
payment  awaiting_provider  declined         failed
payment  awaiting_provider  not_sent         =
payment  awaiting_provider  pending          =
payment  awaiting_provider  unknown          =
payment  awaiting_provider  too_little       awaiting_provider
payment  awaiting_provider  recover_sent     =
payment  awaiting_provider  withhold         =
payment  awaiting_provider  wake             =
payment  awaiting_provider  wake_late        awaiting_provider
payment  awaiting_provider  ask              =
payment  awaiting_provider  ask_late         awaiting_provider
payment  awaiting_provider  hint             =
payment  awaiting_provider  hint_late        awaiting_provider
payment  awaiting_provider  cancel           ! A payment attempt is already
payment  awaiting_provider  process          ! Only a successful

payment  in_doubt           confirm          ! A payment attempt is already
payment  in_doubt           dispatch         ! This is a payment
payment  in_doubt           succeeded        succeeded
payment  in_doubt           declined         failed
payment  in_doubt           not_sent         awaiting_customer
payment  in_doubt           pending          awaiting_provider
payment  in_doubt           unknown          =
payment  in_doubt           recover_unsent   =
payment  in_doubt           withhold         =
payment  in_doubt           wake             =
payment  in_doubt           wake_late        in_doubt
payment  in_doubt           ask_late         in_doubt
payment  in_doubt           cancel           ! A payment attempt is already
payment  in_doubt           process          ! Only a successful

payment  succeeded          confirm          ! The transaction has already ended: success
payment  succeeded          dispatch         ! This is a payment
payment  succeeded          succeeded        =
payment  succeeded          declined         succeeded
payment  succeeded          not_sent         =
payment  succeeded          pending          =
payment  succeeded          unknown          =
payment  succeeded          recover_unsent   =
payment  succeeded          withhold         =
payment  succeeded          wake_late        =
payment  succeeded          ask_late         =
payment  succeeded          cancel           ! The transaction has already ended: success
payment  succeeded          process          succeeded

payment  failed             confirm          ! The transaction has already ended: failed
payment  failed             dispatch         ! This is a payment
payment  failed             succeeded        failed
payment  failed             declined         =
payment  failed             not_sent         =
payment  failed             pending          failed
payment  failed             unknown          =
payment  failed             recover_sent     =
payment  failed             withhold         =
payment  failed             wake_late        =
payment  failed             ask_late         =
payment  failed             cancel           ! The transaction has already ended: failed
payment  failed             process          ! Only a successful

payment  cancelled          confirm          ! The transaction has already ended: cancelled
payment  cancelled          dispatch         ! This is a payment
payment  cancelled          succeeded        ! No attempt
payment  cancelled          wake_late        =
payment  cancelled          ask_late         =
payment  cancelled          cancel           =
payment  cancelled          process          ! Only a successful

payout   awaiting_dispatch  confirm          ! This is a payout
payout   awaiting_dispatch  dispatch         awaiting_gateway
payout   awaiting_dispatch  dispatch_nowhere =
payout   awaiting_dispatch  dispatch_nowhere_late failed
payout   awaiting_dispatch  succeeded        ! No attempt
payout   awaiting_dispatch  wake_late        =
payout   awaiting_dispatch  ask              =
payout   awaiting_dispatch  cancel           ! This is a payout
payout   awaiting_dispatch  process          ! This is a payout

payout   awaiting_gateway   dispatch         ! A payment attempt is already
payout   awaiting_gateway   succeeded        succeeded
payout   awaiting_gateway   declined         failed
payout   awaiting_gateway   not_sent         awaiting_dispatch
payout   awaiting_gateway   not_sent_late    failed
payout   awaiting_gateway   pending          awaiting_provider
payout   awaiting_gateway   unknown          in_doubt
payout   awaiting_gateway   recover_unsent   awaiting_gateway
payout   awaiting_gateway   recover_sent     in_doubt
payout   awaiting_gateway   withhold         awaiting_dispatch

payout   awaiting_provider  dispatch         ! A payment attempt is already
payout   awaiting_provider  succeeded        succeeded
payout   awaiting_provider  declined         failed
payout   awaiting_provider  wake_late        awaiting_provider

payout   in_doubt           dispatch         ! A payment attempt is already
payout   in_doubt           succeeded        succeeded
payout   in_doubt           declined         failed
payout   in_doubt           unknown          =
payout   in_doubt           not_sent         awaiting_dispatch
payout   in_doubt           not_sent_late    failed
payout   in_doubt           withhold         =
payout   in_doubt           wake_late        in_doubt

payout   succeeded          dispatch         ! The transaction has already ended: success
payout   succeeded          declined         succeeded
payout   succeeded          wake_late        =
payout   failed             dispatch         ! The transaction has already ended: failed
payout   failed             succeeded        failed
payout   failed             wake_late        =

payment  awaiting_customer  check            ! No attempt of it is open
payment  awaiting_customer  resolve_success  ! No attempt of it is open
payment  awaiting_customer  resolve_failed   ! No attempt of it is open
payment  awaiting_customer  resolve_unsent   ! No attempt of it is open
payment  awaiting_customer  close_case       ! No case
payment  awaiting_customer  op_cancel        cancelled
payment  awaiting_customer  give_up_late     =
payment  awaiting_customer  code             ! No code
payment  awaiting_customer  code_answer      ! No attempt

payment  awaiting_gateway   check            =
payment  awaiting_gateway   resolve_success  ! A payment attempt is already
payment  awaiting_gateway   resolve_failed   ! A payment attempt is already
payment  awaiting_gateway   resolve_unsent   ! A payment attempt is already
payment  awaiting_gateway   close_case       ! No case
payment  awaiting_gateway   op_cancel        ! A payment attempt is already
payment  awaiting_gateway   give_up_late     ! A payment attempt is already
payment  awaiting_gateway   code             ! No code
payment  awaiting_gateway   code_answer      awaiting_provider

payment  awaiting_provider  check            =
payment  awaiting_provider  check_late       awaiting_provider
payment  awaiting_provider  resolve_success  succeeded
payment  awaiting_provider  resolve_other    ! No attempt
payment  awaiting_provider  resolve_little   ! A success covers
payment  awaiting_provider  resolve_failed   failed
payment  awaiting_provider  resolve_unsent   ! The provider has said
payment  awaiting_provider  close_case       ! No case
payment  awaiting_provider  op_cancel        ! A payment attempt is already
payment  awaiting_provider  give_up          ! The attempt is too young
payment  awaiting_provider  give_up_late     ! The provider can neither
payment  awaiting_provider  code             ! No code
payment  awaiting_provider  code_answer      =

payment  in_doubt           check            =
payment  in_doubt           check_late       in_doubt
payment  in_doubt           resolve_success  succeeded
payment  in_doubt           resolve_nameless ! A success needs
payment  in_doubt           resolve_little   ! A success covers
payment  in_doubt           resolve_failed   failed
payment  in_doubt           resolve_unsent   awaiting_customer
payment  in_doubt           close_case       ! No case
payment  in_doubt           op_cancel        ! A payment attempt is already
payment  in_doubt           give_up_late     ! The provider can neither
payment  in_doubt           code             ! No code

payment  succeeded          check_late       ! The transaction has already ended: success
payment  succeeded          resolve_success  ! The transaction has already ended
payment  succeeded          resolve_failed   ! The transaction has already ended
payment  succeeded          resolve_unsent   ! The transaction has already ended
payment  succeeded          close_case       ! No case
payment  succeeded          op_cancel        ! The transaction has already ended
payment  succeeded          give_up_late     ! The transaction has already ended
payment  succeeded          code             ! The transaction has already ended
payment  succeeded          code_answer      =

payment  failed             check_late       ! The transaction has already ended: failed
payment  failed             resolve_success  ! The transaction has already ended
payment  failed             resolve_failed   ! The transaction has already ended
payment  failed             resolve_unsent   ! The transaction has already ended
payment  failed             close_case       ! No case
payment  failed             op_cancel        ! The transaction has already ended
payment  failed             give_up_late     ! The transaction has already ended
payment  failed             code             ! The transaction has already ended
payment  failed             code_answer      failed

payment  cancelled          check_late       ! The transaction has already ended: cancelled
payment  cancelled          resolve_success  ! The transaction has already ended
payment  cancelled          resolve_failed   ! The transaction has already ended
payment  cancelled          resolve_unsent   ! The transaction has already ended
payment  cancelled          close_case       ! No case
payment  cancelled          op_cancel        =
payment  cancelled          give_up_late     ! The transaction has already ended
payment  cancelled          code             ! The transaction has already ended

payout   awaiting_dispatch  check            ! No attempt of it is open
payout   awaiting_dispatch  resolve_success  ! No attempt of it is open
payout   awaiting_dispatch  resolve_failed   ! No attempt of it is open
payout   awaiting_dispatch  resolve_unsent   ! No attempt of it is open
payout   awaiting_dispatch  close_case       ! No case
payout   awaiting_dispatch  op_cancel        failed
payout   awaiting_dispatch  give_up_late     ! This is a payout
payout   awaiting_dispatch  code             ! This is a payout

payout   awaiting_gateway   check            =
payout   awaiting_gateway   resolve_success  ! A payment attempt is already
payout   awaiting_gateway   resolve_failed   ! A payment attempt is already
payout   awaiting_gateway   resolve_unsent   ! A payment attempt is already
payout   awaiting_gateway   op_cancel        ! This is a payout
payout   awaiting_gateway   give_up_late     ! This is a payout
payout   awaiting_gateway   code             ! This is a payout

payout   awaiting_provider  check_late       awaiting_provider
payout   awaiting_provider  resolve_success  succeeded
payout   awaiting_provider  resolve_failed   failed
payout   awaiting_provider  resolve_unsent   ! The provider has said
payout   awaiting_provider  op_cancel        ! This is a payout
payout   awaiting_provider  give_up_late     ! This is a payout
payout   awaiting_provider  code             ! This is a payout

payout   in_doubt           check_late       in_doubt
payout   in_doubt           resolve_success  succeeded
payout   in_doubt           resolve_failed   failed
payout   in_doubt           resolve_unsent   failed
payout   in_doubt           op_cancel        ! This is a payout
payout   in_doubt           give_up_late     ! This is a payout
payout   in_doubt           code             ! This is a payout

payout   succeeded          check_late       ! The transaction has already ended
payout   succeeded          resolve_success  ! The transaction has already ended
payout   succeeded          resolve_failed   ! The transaction has already ended
payout   succeeded          resolve_unsent   ! The transaction has already ended
payout   succeeded          op_cancel        ! This is a payout
payout   succeeded          give_up_late     ! This is a payout
payout   succeeded          code             ! This is a payout

payout   failed             check_late       ! The transaction has already ended
payout   failed             resolve_success  ! The transaction has already ended
payout   failed             resolve_failed   ! The transaction has already ended
payout   failed             resolve_unsent   ! The transaction has already ended
payout   failed             op_cancel        ! This is a payout
payout   failed             give_up_late     ! This is a payout
payout   failed             code             ! This is a payout

payment  on_hold            confirm          ! Money was reported
payment  on_hold            dispatch         ! This is a payment
payment  on_hold            succeeded        succeeded
payment  on_hold            too_little       =
payment  on_hold            more             succeeded
payment  on_hold            declined         on_hold
payment  on_hold            not_sent         =
payment  on_hold            pending          =
payment  on_hold            unknown          =
payment  on_hold            recover_unsent   =
payment  on_hold            recover_sent     =
payment  on_hold            withhold         =
payment  on_hold            wake_late        =
payment  on_hold            ask_late         =
payment  on_hold            hint_late        =
payment  on_hold            cancel           ! Money was reported
payment  on_hold            process          ! Only a successful
payment  on_hold            check            on_hold
payment  on_hold            resolve_success  ! The provider reported
payment  on_hold            resolve_failed   failed
payment  on_hold            resolve_unsent   ! The provider has said
payment  on_hold            close_case       ! No case
payment  on_hold            op_cancel        ! Money was reported
payment  on_hold            give_up_late     ! Money was reported
payment  on_hold            code             ! No code
payment  on_hold            code_answer      =
payment  on_hold            ambiguous        on_hold

payout   on_hold            confirm          ! This is a payout
payout   on_hold            dispatch         ! Money was reported
payout   on_hold            succeeded        succeeded
payout   on_hold            too_little       =
payout   on_hold            declined         on_hold
payout   on_hold            not_sent         =
payout   on_hold            wake_late        =
payout   on_hold            cancel           ! This is a payout
payout   on_hold            check            on_hold
payout   on_hold            resolve_success  ! The provider reported
payout   on_hold            resolve_failed   failed
payout   on_hold            resolve_unsent   ! The provider has said
payout   on_hold            give_up_late     ! This is a payout
";

#[test]
fn every_command_in_every_state_has_its_answer() {
    for line in MATRIX.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (kind, state, name) = (
            words.next().unwrap(),
            words.next().unwrap(),
            words.next().unwrap(),
        );
        let expected = words.collect::<Vec<_>>().join(" ");
        let mut world = world_in(kind, state);
        assert_eq!(world.tx.state.name(), state, "cannot reach: {line}");
        if name.ends_with("_late") {
            world.wait(3_600);
        }
        let result = world.apply(command(world.current(), name));
        let happened = match result {
            Err(refusal) => {
                let text = format!("! {refusal}");
                assert!(text.starts_with(&expected), "{line}: {text}");
                continue;
            }
            Ok(0) => "=",
            Ok(_) => world.tx.state.name(),
        };
        assert_eq!(happened, expected, "{line}");
    }
}

#[test]
fn the_matrix_names_every_reachable_pair_of_kind_and_state() {
    let payment = [
        "awaiting_customer",
        "awaiting_gateway",
        "awaiting_provider",
        "in_doubt",
        "on_hold",
        "succeeded",
        "failed",
        "cancelled",
    ];
    let payout = [
        "awaiting_dispatch",
        "awaiting_gateway",
        "awaiting_provider",
        "in_doubt",
        "on_hold",
        "succeeded",
        "failed",
    ];
    let rows = |kind: &'static str, states: &[&'static str]| {
        for state in states {
            let commands = [
                "confirm",
                "dispatch",
                "succeeded",
                "declined",
                "wake_late",
                "ask",
                "cancel",
                "process",
                "check",
                "resolve_success",
                "resolve_failed",
                "resolve_unsent",
                "close_case",
                "op_cancel",
                "give_up_late",
                "ambiguous",
                "code",
            ];
            for name in commands {
                let mut world = world_in(kind, state);
                // No pair panics, and a refusal is a sentence.
                if let Err(refusal) = world.apply(command(world.current(), name)) {
                    assert!(refusal.to_string().ends_with('.'), "{kind} {state} {name}");
                }
            }
            assert!(
                MATRIX.contains(&format!("{kind:<8} {state}")),
                "{kind} {state} has no row"
            );
        }
    };
    rows("payment", &payment);
    rows("payout", &payout);
}

fn world_in(kind: &str, state: &str) -> World {
    let mut world = if kind == "payment" {
        World::payment()
    } else {
        World::payout()
    };
    let begin = if kind == "payment" {
        confirm(1)
    } else {
        Command::Dispatch(route(1))
    };
    match state {
        "awaiting_customer" | "awaiting_dispatch" => return world,
        "cancelled" => {
            world.apply(Command::Cancel(CancelledBy::Customer)).unwrap();
            return world;
        }
        _ => world.apply(begin).unwrap(),
    };
    match state {
        "awaiting_provider" => world.answer(pending()).unwrap(),
        "in_doubt" => world.answer(unknown()).unwrap(),
        "succeeded" => world.answer(succeeded()).unwrap(),
        "failed" => world.answer(declined(false)).unwrap(),
        "on_hold" => {
            world.answer(not_sent()).unwrap();
            world.answer(succeeded_with(2_499)).unwrap()
        }
        _ => 0,
    };
    world
}

fn command(attempt: AttemptId, name: &str) -> Command {
    let answer = |outcome| Command::Answer {
        attempt,
        outcome,
        gateway_state: None,
        asked_at: None,
    };
    match name {
        "confirm" => confirm(1),
        "confirm_nowhere" => confirm(0),
        "dispatch" => Command::Dispatch(route(1)),
        "dispatch_nowhere" | "dispatch_nowhere_late" => Command::Dispatch(route(0)),
        "succeeded" => answer(succeeded()),
        "too_little" => answer(succeeded_with(2_499)),
        "more" => answer(succeeded_with(2_501)),
        "declined" => answer(declined(false)),
        "declined_soft" => answer(declined(true)),
        "not_sent" | "not_sent_late" => answer(not_sent()),
        "pending" => answer(pending()),
        "unknown" => answer(unknown()),
        "recover_unsent" => Command::Recover {
            attempt,
            maybe_sent: false,
            gateway_state: None,
        },
        "recover_sent" => Command::Recover {
            attempt,
            maybe_sent: true,
            gateway_state: None,
        },
        "withhold" => Command::Withhold {
            attempt,
            why: "Its gateway is in quarantine.".to_owned(),
        },
        "check" | "check_late" => by_operator(OperatorCommand::Check),
        "resolve_success" => resolve(None, verdict(None, Some("P9"))),
        "resolve_nameless" => resolve(None, verdict(None, None)),
        "resolve_little" => resolve(None, verdict(Some(2_499), Some("P9"))),
        "resolve_other" => resolve(Some(AttemptId::new(ulid::Ulid::nil())), Verdict::NeverSent),
        "resolve_failed" => resolve(None, Verdict::Failed { message: None }),
        "resolve_unsent" => resolve(None, Verdict::NeverSent),
        "close_case" => by_operator(OperatorCommand::CloseCase(CaseId::new(ulid::Ulid::nil()))),
        "op_cancel" => by_operator(OperatorCommand::Cancel),
        "give_up" | "give_up_late" => Command::GiveUp,
        "ambiguous" => Command::AmbiguousId {
            attempt,
            provider_id: "P1".to_owned(),
            reported: None,
        },
        "code" => Command::SubmitCode {
            attempt,
            tried: 0,
            code: "1234".into(),
        },
        "code_answer" => Command::CodeAnswer {
            attempt,
            outcome: pending(),
            gateway_state: None,
        },
        "wake" | "wake_late" => Command::Wake,
        "ask" | "ask_late" => Command::Ask,
        "hint" | "hint_late" => Command::Hint,
        "cancel" => Command::Cancel(CancelledBy::Customer),
        "process" => Command::MarkProcessed,
        other => panic!("no command is called {other}"),
    }
}
