//! What a history is made of, drawn from its seed before anything happens: who asks for what, and which kinds of trouble there are.
//!
//! Each history has a few kinds of trouble only, each as strong as chance wants: all of them at once would hide one another.

use crate::chance::Chance;

/// Everything that is settled before the first moment.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// Connections of the first gateway in each environment.
    pub connections: usize,
    /// Connections of the second gateway in each environment.
    pub neighbours: usize,
    pub webhooks: usize,
    pub payments: usize,
    pub payouts: usize,
    pub trouble: Trouble,
    /// Every merchant sends a key, and every payer comes to the page once and stays until there is an answer.
    pub is_plain: bool,
    /// At which steps the process dies, each counted from its last start.
    pub deaths: Vec<u64>,
    /// Changes of gateways (upgraded, rolled back, drained, removed, restored), one after the other.
    pub changes: usize,
    /// Of a thousand transactions, how many an operator lends a hand with.
    pub by_hand: u64,
    /// Of a thousand payments, how many are paid in another currency than they were asked in.
    pub converted: u64,
    /// Of a thousand submitted payments, for how many the provider wants a code from the payer.
    pub codes: u64,
    /// How often each endpoint and each mail server refuses each message before it takes it. It changes nothing about the end.
    pub refusals: usize,
    /// Seconds by which every other order comes later: longer than the health of a connection counts.
    pub pause: u64,
}

/// How often something goes wrong, of a thousand times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Nobody listens where a provider was.
    pub refused: u64,
    /// A request to a provider, or its answer, is lost.
    pub lost: u64,
    /// One of them is late, by up to a minute.
    pub late: u64,
    /// A provider fails: some of these times it did what it was asked to.
    pub failing: u64,
    /// A provider answers with something that is no answer.
    pub nonsense: u64,
    /// A provider contradicts itself, or takes another amount.
    pub lies: u64,
    /// A provider never comes to an end.
    pub endless: u64,
    /// Callbacks are doubled, late, early, lost.
    pub callbacks: u64,
    pub forged: u64,
    /// A merchant's endpoint fails, hangs, or loses its acknowledgment.
    pub endpoints: u64,
    /// A merchant's endpoint answers 410, until the merchant mends and enables it again.
    pub gone: u64,
    pub mail: u64,
    /// A gateway panics, stalls or faults.
    pub gateways: u64,
    /// The disk takes no writes for a moment.
    pub disk: u64,
    /// The disk is slow.
    pub slow_disk: u64,
    /// The clock is set, by up to an hour; how often in all.
    pub jumps: u64,
    /// The clock is set while nobody is up.
    pub restarts: u64,
    /// The second gateway and its provider are sick: they hang, panic and fault.
    pub sick: u64,
    /// A payer is hasty: submits twice, has two tabs, cancels.
    pub haste: u64,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::of(seed, "plan");
        let trouble = Trouble::of(&mut chance);
        let (payments, payouts) = match chance.below(4) {
            0 => (1, 0),
            1 => (0, 1),
            2 => (1, 1),
            _ => (chance.between(1, 3) as usize, chance.between(0, 2) as usize),
        };
        let deaths = match chance.below(5) {
            0 | 1 => 0,
            2 => 1,
            3 => chance.between(1, 3),
            _ => chance.between(1, 6),
        };
        let plan = Self {
            seed,
            connections: chance.between(1, 3) as usize,
            webhooks: chance.between(0, 2) as usize,
            payments,
            payouts,
            trouble,
            deaths: (0..deaths).map(|_| chance.between(1, 60)).collect(),
            ..Self::calm(seed, 0, 0)
        };
        let plan = plan.with_a_late_death(&mut Chance::of(seed, "late deaths"));
        plan.with_people(&mut Chance::of(seed, "people of the plan"))
    }

    /// A death later than the others, of a life that has seen the second round of everything.
    fn with_a_late_death(mut self, chance: &mut Chance) -> Self {
        if chance.happens(250) {
            let place = chance.between(0, self.deaths.len() as u64) as usize;
            self.deaths.insert(place, chance.between(61, 180));
        }
        self
    }

    /// What people do besides ordering and paying, and what else there is.
    fn with_people(self, chance: &mut Chance) -> Self {
        let mut some = |often: u64, least: u64, most: u64| match chance.happens(often) {
            true => chance.between(least, most),
            false => 0,
        };
        let neighbours = some(450, 1, 2) as usize;
        let changes = some(300, 1, 6) as usize;
        let (sick, restarts) = (some(400, 200, 900), some(250, 300, 1_000));
        let (more_payments, more_payouts) = (some(500, 0, 3) as usize, some(500, 0, 3) as usize);
        // Under load: what changes and what is sick has somebody to hurt.
        let is_busy = changes > 0 || (neighbours > 0 && sick > 0);
        Self {
            neighbours,
            changes,
            payments: self.payments + if is_busy { more_payments } else { 0 },
            payouts: self.payouts + if is_busy { more_payouts } else { 0 },
            by_hand: some(300, 100, 900),
            converted: some(300, 200, 900),
            codes: some(250, 100, 700),
            trouble: Trouble {
                sick: if neighbours > 0 { sick } else { 0 },
                restarts,
                gone: some(200, 50, 500),
                ..self.trouble
            },
            is_plain: false,
            pause: some(200, 601, 1_000),
            ..self
        }
    }
}

impl Plan {
    /// Nothing goes wrong and nobody dies: one payment or one payout, at two connections, told to one webhook.
    pub fn calm(seed: u64, payments: usize, payouts: usize) -> Self {
        Self {
            seed,
            connections: 2,
            neighbours: 0,
            webhooks: 1,
            payments,
            payouts,
            trouble: Trouble::default(),
            is_plain: true,
            deaths: Vec::new(),
            changes: 0,
            by_hand: 0,
            converted: 0,
            codes: 0,
            refusals: 0,
            pause: 0,
        }
    }
}

impl Plan {
    /// The same with `times` as many payments and payouts, in the same minutes.
    pub fn crowded(self, times: usize) -> Self {
        Self {
            payments: self.payments * times,
            payouts: self.payouts * times,
            ..self
        }
    }

    /// Whether a death changes nothing about the end: nothing goes wrong besides, and nobody does what depends on the moment.
    pub fn is_calm(&self) -> bool {
        self.trouble == Trouble::default() && self.by_hand + self.converted + self.codes == 0
    }
}

impl Trouble {
    fn of(chance: &mut Chance) -> Self {
        let calm = chance.happens(50);
        let mut some = |often: u64, most: u64| {
            if calm || !chance.happens(often) {
                0
            } else {
                chance.between(most / 10, most)
            }
        };
        Self {
            refused: some(300, 400),
            lost: some(400, 400),
            late: some(300, 400),
            failing: some(300, 400),
            nonsense: some(150, 200),
            lies: some(300, 500),
            endless: some(100, 300),
            callbacks: some(400, 500),
            forged: some(150, 400),
            endpoints: some(400, 600),
            mail: some(200, 500),
            gateways: some(200, 200),
            disk: some(100, 100),
            slow_disk: some(200, 300),
            jumps: some(200, 40) / 10,
            restarts: 0,
            gone: 0,
            sick: 0,
            haste: some(400, 700),
        }
    }
}
