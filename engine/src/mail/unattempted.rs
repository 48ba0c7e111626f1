//! Limit on mails to a merchant about payments that ended without an attempt.
//!
//! A public key is in web pages, so anybody can make payments with it and cancel them. The counts
//! are in memory: a restart forgets them.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use switchyard_core::ids::AppId;
use switchyard_core::limits::MAILS_WITHOUT_ATTEMPT_AN_HOUR;
use switchyard_core::time::Timestamp;

#[derive(Default)]
pub(super) struct UnattemptedMails(Mutex<HashMap<AppId, Hour>>);

/// Mails of one app since the hour began.
struct Hour {
    since: Timestamp,
    mails: u32,
}

impl UnattemptedMails {
    /// Counts a mail. `false`: the app had as many as an hour may have, and it is left out.
    pub(super) fn admits(&self, app: AppId, now: Timestamp) -> bool {
        let mut apps = self.0.lock();
        let hour = apps.entry(app).or_insert(Hour {
            since: now,
            mails: 0,
        });
        if now.since(hour.since) >= HOUR {
            *hour = Hour {
                since: now,
                mails: 0,
            };
        }
        let is_admitted = hour.mails < MAILS_WITHOUT_ATTEMPT_AN_HOUR;
        if is_admitted {
            hour.mails += 1;
        } else {
            metrics::counter!("switchyard_mails_left_out_total").increment(1);
        }
        if hour.mails == MAILS_WITHOUT_ATTEMPT_AN_HOUR && is_admitted {
            tracing::warn!(
                app.id = %app,
                "mails about payments without an attempt are left out for an hour"
            );
        }
        is_admitted
    }
}

const HOUR: Duration = Duration::from_secs(60 * 60);

#[cfg(test)]
mod tests {
    use ulid::Ulid;

    use super::*;
    use switchyard_core::testing::START;

    #[test]
    fn each_app_has_so_many_mails_an_hour_and_then_again() {
        let limit = UnattemptedMails::default();
        let [one, other] = [1, 2].map(|number| AppId::new(Ulid::from_parts(1, number)));
        let admitted = |app, now| {
            let tries = (0..2 * MAILS_WITHOUT_ATTEMPT_AN_HOUR).filter(|_| limit.admits(app, now));
            u32::try_from(tries.count()).unwrap()
        };
        assert_eq!(admitted(one, START), MAILS_WITHOUT_ATTEMPT_AN_HOUR);
        assert_eq!(admitted(one, START.plus(HOUR / 2)), 0);
        assert_eq!(admitted(other, START), MAILS_WITHOUT_ATTEMPT_AN_HOUR);
        assert_eq!(
            admitted(one, START.plus(HOUR)),
            MAILS_WITHOUT_ATTEMPT_AN_HOUR
        );
    }
}
