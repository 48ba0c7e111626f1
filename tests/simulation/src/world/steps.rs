//! Steps at which the process can crash: before and after each flush and each outgoing request.

use std::time::Duration;

use switchyard_store::{Disk, DiskModel, FlushEnd, Replaces};

use super::{SECOND, Shared, World};
use crate::faults::{Fault, disk, is_planted};

impl World {
    /// Counts one more step at which the process can crash. Returns true if it crashes here.
    pub fn step(&mut self, what: &str) -> bool {
        if self.is_dead {
            return true;
        }
        self.steps += 1;
        let dies = self.die_at.is_some_and(|at| at <= self.steps);
        if dies {
            let steps = self.steps;
            self.note(format_args!("THE PROCESS DIES {what} (step {steps})"));
            self.is_dead = true;
            self.died.notify_one();
        }
        dies
    }
}

/// The disk of a world.
pub fn nature(world: &Shared) -> DiskModel {
    let (slow, ending, replacing) = (world.clone(), world.clone(), world.clone());
    DiskModel {
        takes: Box::new(move || {
            let mut world = slow.lock();
            let slow = world.plan.trouble.slow_disk;
            let is_slow = world.disk.happens(slow) && !world.is_healed();
            Duration::from_millis(match is_slow {
                true => world.disk.between(100, 3_000),
                false => world.disk.between(0, 3),
            })
        }),
        ends: Box::new(move |rows| ends(&mut ending.lock(), rows)),
        replaces: disk::changes_rows().then(|| {
            let replaced = move |disk: &Disk, rows| disk::replaced(&replacing, disk, rows);
            Box::new(replaced) as Replaces
        }),
    }
}

fn ends(world: &mut World, rows: usize) -> FlushEnd {
    if world.step("before a flush") {
        let tears = is_planted(Fault::CommitTorn) && rows > 1;
        return match tears {
            true => FlushEnd::Torn(rows / 2),
            false => FlushEnd::Lost,
        };
    }
    let now = world.now();
    if world.disk_fails_until > now {
        return refuses(world);
    }
    let fails = world.plan.trouble.disk;
    if world.disk.happens(fails) && !world.is_healed() {
        let seconds = i64::try_from(world.disk.between(0, 20)).unwrap_or(0);
        world.disk_fails_until = now + seconds * SECOND;
        world.note(format_args!("the disk takes no writes for {seconds} s"));
        return refuses(world);
    }
    world.note(format_args!("{rows} rows are flushed"));
    match world.step("after a flush") {
        // Durable, but the commit was not acknowledged.
        true if !is_planted(Fault::AnsweredEarly) => FlushEnd::Torn(rows),
        true => FlushEnd::Lost,
        false if is_planted(Fault::AnsweredEarly) => FlushEnd::NotDurable,
        false => FlushEnd::Done,
    }
}

/// Fails a flush. Half of the failed flushes reach the disk anyway, which shows only when it is
/// opened again.
fn refuses(world: &mut World) -> FlushEnd {
    if !world.disk.happens(500) {
        return FlushEnd::Failed;
    }
    world.note(format_args!("and keeps what it refused"));
    FlushEnd::FailedAndKept
}
