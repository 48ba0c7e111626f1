//! Scopes that are explored: a short list for the tests, and longer ones by hand.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::rules::Rules;
use crate::search::{Explored, explore};
use crate::transaction::Kind;
use crate::world::{Lie, Scope};

const KINDS: [Kind; 2] = [Kind::Payment, Kind::Payout];

const fn plain(kind: Kind, lie: Lie) -> Scope {
    Scope {
        kind,
        lie,
        attempts: 2,
        connections: 2,
        deaths: 1,
        operator: false,
        codes: false,
        call_off: false,
        ends: false,
        ages: false,
    }
}

/// Two attempts: honest providers with each feature, and every lie.
pub fn short() -> Vec<Scope> {
    let mut scopes = Vec::new();
    for kind in KINDS {
        let honest = plain(kind, Lie::Honest);
        scopes.push(Scope {
            operator: true,
            ages: true,
            deaths: 2,
            ..honest
        });
        if kind == Kind::Payment {
            scopes.push(Scope {
                codes: true,
                ..honest
            });
            scopes.push(Scope {
                call_off: true,
                operator: true,
                ..honest
            });
            scopes.push(Scope {
                ends: true,
                operator: true,
                ..honest
            });
        }
        let lies = Lie::ALL.into_iter().filter(|lie| *lie != Lie::Honest);
        scopes.extend(lies.map(|lie| Scope {
            operator: lie != Lie::IdOfAnother,
            deaths: u8::from(lie != Lie::PaidAfterItsEnd),
            ends: lie == Lie::PaidAfterItsEnd,
            call_off: kind == Kind::Payment && lie == Lie::DeclinedThenPaid,
            ..plain(kind, lie)
        }));
    }
    scopes
}

/// Small scopes in which every command is asked in every transaction.
pub fn asked() -> Vec<Scope> {
    let mut scopes = Vec::new();
    for kind in KINDS {
        let payment = kind == Kind::Payment;
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
            ends: lie == Lie::PaidAfterItsEnd,
            call_off: payment && lie == Lie::DeclinedThenPaid,
            ..plain(kind, lie)
        }));
    }
    scopes
}

/// All features at once, with `attempts` attempts over as many connections.
pub fn long(attempts: usize) -> Vec<Scope> {
    let mut scopes = Vec::new();
    for kind in KINDS {
        for lie in Lie::ALL {
            scopes.push(Scope {
                attempts,
                connections: attempts,
                operator: true,
                ages: lie == Lie::Honest,
                codes: kind == Kind::Payment && lie == Lie::Honest,
                call_off: kind == Kind::Payment && lie == Lie::Honest,
                ..plain(kind, lie)
            });
        }
    }
    scopes
}

/// Explores `scopes` on `threads` threads. Results come in the order of `scopes`; `done` is called
/// with each when it is there. `with_rules`: every command is asked in every transaction.
pub fn explore_all(
    scopes: &[Scope],
    most: usize,
    threads: usize,
    with_rules: bool,
    done: impl Fn(&Explored) + Sync,
) -> (Vec<Explored>, Rules) {
    let next = AtomicUsize::new(0);
    let results = Mutex::new((Vec::new(), Rules::default()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(scope) = scopes.get(place) else {
                        return;
                    };
                    let mut rules = Rules::default();
                    let explored = match with_rules {
                        true => explore(scope, most, &mut rules),
                        false => explore(scope, most, &mut ()),
                    };
                    done(&explored);
                    let mut results = results.lock().expect("no explorer panicked");
                    results.0.push((place, explored));
                    results.1.add(rules);
                }
            });
        }
    });
    let (mut explored, rules) = results.into_inner().expect("no explorer panicked");
    explored.sort_by_key(|(place, _)| *place);
    (
        explored.into_iter().map(|(_, explored)| explored).collect(),
        rules,
    )
}
