//! Promises about mails to merchants and customers.

use std::collections::BTreeSet;

use super::{Evidence, Posted, Stored};
use crate::history::ABOUT_CASE;

/// The merchant gets one mail about each end, and the customer one about a live success (in
/// sandbox, the merchant gets it as a preview). Each names the stored status.
pub fn one_about_each_end(evidence: &Evidence, broken: &mut Vec<String>) {
    for stored in &evidence.stored {
        let posted = |to: &str| {
            let about = move |posted: &&Posted| posted.transaction == stored.id && posted.to == to;
            evidence.posted.iter().filter(about).count()
        };
        let concerns_customer = concerns_customer(stored);
        let wanted = [
            ("merchant", stored.is_final),
            ("customer", concerns_customer && stored.is_live),
            (
                "merchant as a preview",
                concerns_customer && !stored.is_live,
            ),
        ];
        for (to, is_wanted) in wanted {
            let found = posted(to);
            if found != usize::from(is_wanted) {
                broken.push(format!(
                    "{} is {}, and the {to} was sent {found} mails",
                    stored.id, stored.status
                ));
            }
        }
    }
    for posted in &evidence.posted {
        let stored = evidence.stored(&posted.transaction);
        // A mail about a case names the status at that time.
        let is_about_case = posted.to == ABOUT_CASE;
        if stored.is_none_or(|stored| stored.status != posted.status && !is_about_case) {
            broken.push(format!(
                "the mail {} says that {} is {}",
                posted.id, posted.transaction, posted.status
            ));
        }
        let taken = evidence.mails.iter().any(|mail| mail.id == posted.id);
        if posted.sent && !taken {
            broken.push(format!("the mail {} counts as sent, and is not", posted.id));
        }
    }
    for mail in &evidence.mails {
        if !evidence.posted.iter().any(|posted| posted.id == mail.id) {
            broken.push(format!(
                "the mail {} was sent, and nothing is known of it",
                mail.id
            ));
        }
    }
}

fn concerns_customer(stored: &Stored) -> bool {
    stored.status == "success" && !stored.id.starts_with("po_")
}

/// A mail is sent again only if the server's response was not read.
pub fn once_acknowledged_never_again(evidence: &Evidence, broken: &mut Vec<String>) {
    let mut done: BTreeSet<(&str, u64)> = BTreeSet::new();
    for mail in &evidence.mails {
        if done.contains(&(mail.id.as_str(), mail.life)) {
            broken.push(format!(
                "the mail {} is sent again, and the server had taken it",
                mail.id
            ));
        }
        if mail.acknowledged {
            done.insert((&mail.id, mail.life));
        }
    }
}
