//! A payment and a payout survive a death at every step, whatever their provider makes of them.

use switchyard_simulation::plan::Plan;
use switchyard_simulation::survives_a_death_at_every_step;

#[test]
fn a_payment_ends_the_same_wherever_the_process_dies() {
    for seed in 1..=6 {
        let points = survives_a_death_at_every_step(&Plan::calm(seed, 1, 0));
        println!("seed {seed}: {points} places to die at");
        assert!(points > 10, "seed {seed}");
    }
}

#[test]
fn a_payout_ends_the_same_wherever_the_process_dies() {
    for seed in 1..=6 {
        let points = survives_a_death_at_every_step(&Plan::calm(seed, 0, 1));
        println!("seed {seed}: {points} places to die at");
        assert!(points > 10, "seed {seed}");
    }
}
