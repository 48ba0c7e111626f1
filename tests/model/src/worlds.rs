//! Scopes that are explored: a short list for the tests, and longer ones by hand.

use crate::history::{Explored, explore};
use crate::rules::Rules;
use crate::search::Bounds;
use crate::world::{Lie, Scope};
use switchyard_core::transaction::Kind;

/// Whether a person pays, who types codes, sees pages and may cancel.
const fn has_payer(kind: Kind) -> bool {
    match kind {
        Kind::Payment => true,
        Kind::Payout => false,
    }
}

const fn plain(kind: Kind, lie: Lie) -> Scope {
    Scope {
        kind,
        lie,
        attempts: 2,
        connections: 2,
        deaths: 1,
        operator: false,
        codes: false,
        pages: false,
        call_off: false,
        ends: false,
        ages: false,
        reduced: false,
    }
}

/// Two attempts: honest providers with all features, and every lie.
pub fn short() -> Vec<Scope> {
    let mut scopes = Vec::new();
    for kind in Kind::ALL {
        scopes.extend(Lie::ALL.map(|lie| match lie {
            Lie::Honest => everything(kind, 2),
            _ => Scope {
                operator: lie != Lie::IdOfAnother,
                deaths: u8::from(!lie.needs_ends()),
                ends: lie.needs_ends(),
                call_off: has_payer(kind) && lie == Lie::DeclinedThenPaid,
                reduced: true,
                ..plain(kind, lie)
            },
        }));
    }
    // Gateways that cannot cancel.
    scopes.push(Scope {
        pages: true,
        ends: true,
        reduced: true,
        ..plain(Kind::Payment, Lie::Honest)
    });
    // Money for the first attempt while the second one asks for a code.
    scopes.push(Scope {
        codes: true,
        deaths: 0,
        reduced: true,
        ..plain(Kind::Payment, Lie::DeclinedThenPaid)
    });
    scopes
}

/// Honest providers with all features at once.
fn everything(kind: Kind, attempts: usize) -> Scope {
    Scope {
        attempts,
        connections: attempts,
        deaths: 2,
        operator: true,
        codes: has_payer(kind),
        pages: has_payer(kind),
        call_off: has_payer(kind),
        ends: true,
        ages: true,
        reduced: true,
        ..plain(kind, Lie::Honest)
    }
}

/// Two attempts and few features, for comparing what is reached with and without reduction.
pub fn small() -> Vec<Scope> {
    let [payment, payout] = Kind::ALL.map(|kind| plain(kind, Lie::Honest));
    vec![
        Scope {
            codes: true,
            ..payment
        },
        Scope {
            call_off: true,
            pages: true,
            ..payment
        },
        Scope {
            operator: true,
            ages: true,
            ..payout
        },
        Scope {
            operator: true,
            ends: true,
            ..payout
        },
        Scope {
            operator: true,
            ..plain(Kind::Payout, Lie::DeclinedThenPaid)
        },
        Scope {
            operator: true,
            ..plain(Kind::Payout, Lie::NotFoundThenPaid)
        },
        Scope {
            operator: true,
            ..plain(Kind::Payout, Lie::MistakenPerson)
        },
    ]
}

/// Small scopes in which every command is asked in every transaction.
pub fn asked() -> Vec<Scope> {
    let mut scopes = Vec::new();
    for kind in Kind::ALL {
        let payment = has_payer(kind);
        let one = Scope {
            attempts: 1,
            operator: true,
            ends: true,
            ages: true,
            ..plain(kind, Lie::Honest)
        };
        scopes.push(Scope { deaths: 4, ..one });
        if payment {
            scopes.push(Scope { codes: true, ..one });
            scopes.push(Scope {
                call_off: true,
                ..one
            });
        }
        scopes.extend(Lie::ALL.map(|lie| Scope {
            deaths: 0,
            ends: lie.needs_ends(),
            call_off: payment && lie == Lie::DeclinedThenPaid,
            ..plain(kind, lie)
        }));
    }
    scopes
}

/// `attempts` attempts over as many connections: all features with honest providers, and every lie.
pub fn long(attempts: usize) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for kind in Kind::ALL {
        scopes.extend(Lie::ALL.map(|lie| match lie {
            Lie::Honest => everything(kind, attempts),
            _ => Scope {
                attempts,
                connections: attempts,
                operator: true,
                ends: lie.needs_ends(),
                reduced: true,
                ..plain(kind, lie)
            },
        }));
    }
    scopes
}

/// Explores `scopes`. Calls `done` with each result. `with_rules`: every command is asked in every
/// transaction.
pub fn explore_all(
    scopes: &[Scope],
    bounds: Bounds,
    with_rules: bool,
    done: impl Fn(&Explored),
) -> (Vec<Explored>, Rules) {
    let mut rules = Rules::default();
    let explored = scopes.iter().map(|scope| {
        let explored = match with_rules {
            true => explore(scope, bounds, &mut rules),
            false => explore(scope, bounds, &mut ()),
        };
        done(&explored);
        explored
    });
    (explored.collect(), rules)
}
