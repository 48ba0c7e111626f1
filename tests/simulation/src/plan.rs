//! The plan of a history, drawn from its seed before anything happens: orders, people and faults.
//!
//! Each history has only a few kinds of faults, each of random frequency. All of them at once would
//! hide one another.

use crate::chance::Chance;

/// Everything that is fixed before a history begins.
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
    /// Whether every merchant sends a key, and every payer opens the page once and stays until
    /// there is an answer.
    pub is_plain: bool,
    /// Steps at which the process crashes, each counted from its last start.
    pub deaths: Vec<u64>,
    /// Number of gateway changes (upgrade, roll back, drain, remove, restore), one after the other.
    pub changes: usize,
    /// Permille of transactions that an operator acts on.
    pub by_hand: u64,
    /// Permille of payments that are paid in a currency other than the ordered one.
    pub converted: u64,
    /// Permille of submitted payments for which the provider requires a code from the payer.
    pub codes: u64,
    /// Number of refusals of each message by each endpoint and each mail server before it accepts
    /// the message. Has no effect on the end.
    pub refusals: usize,
    /// Delay in seconds of every other order: longer than a connection's health data is valid.
    pub pause: u64,
}

/// Frequency of each fault, in permille.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// A provider refuses the TCP connection.
    pub refused: u64,
    /// A request to a provider, or its response, is lost.
    pub lost: u64,
    /// A request or response is late, by up to a minute.
    pub late: u64,
    /// A provider fails. In some of these cases it has executed the request.
    pub failing: u64,
    /// A provider returns an invalid response.
    pub nonsense: u64,
    /// A provider contradicts itself, or takes another amount.
    pub lies: u64,
    /// A provider never finishes.
    pub endless: u64,
    /// Callbacks are duplicated, late, early or lost.
    pub callbacks: u64,
    pub forged: u64,
    /// A merchant's endpoint fails, hangs, or loses its acknowledgment.
    pub endpoints: u64,
    /// A merchant's endpoint returns 410, until the merchant repairs and enables it again.
    pub gone: u64,
    pub mail: u64,
    /// A gateway panics, stalls or faults.
    pub gateways: u64,
    /// The disk rejects writes for a moment.
    pub disk: u64,
    /// The disk is slow.
    pub slow_disk: u64,
    /// Number of changes of the clock, each by up to an hour.
    pub jumps: u64,
    /// The clock is changed while the process is down.
    pub restarts: u64,
    /// The second gateway and its provider hang, panic and fault.
    pub sick: u64,
    /// A payer submits twice, uses two tabs, or cancels.
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

    /// Adds a crash at a later step than the others, when everything has happened at least twice in
    /// that life.
    fn with_a_late_death(mut self, chance: &mut Chance) -> Self {
        if chance.happens(250) {
            let place = chance.between(0, self.deaths.len() as u64) as usize;
            self.deaths.insert(place, chance.between(61, 180));
        }
        self
    }

    /// Adds actions of people besides ordering and paying, and the second gateway.
    fn with_people(self, chance: &mut Chance) -> Self {
        let mut some = |often: u64, least: u64, most: u64| match chance.happens(often) {
            true => chance.between(least, most),
            false => 0,
        };
        let neighbours = some(450, 1, 2) as usize;
        let changes = some(300, 1, 6) as usize;
        let (sick, restarts) = (some(400, 200, 900), some(250, 300, 1_000));
        let (more_payments, more_payouts) = (some(500, 0, 3) as usize, some(500, 0, 3) as usize);
        // With more load, so that changes and a failing gateway can affect other transactions.
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
    /// Plan without faults and crashes: payments and payouts at two connections, with one webhook.
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
    /// The same plan with `times` as many payments and payouts, in the same minutes.
    pub fn crowded(self, times: usize) -> Self {
        Self {
            payments: self.payments * times,
            payouts: self.payouts * times,
            ..self
        }
    }

    /// Whether a crash must not change the end: there are no other faults, and no action depends on
    /// its timing.
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
