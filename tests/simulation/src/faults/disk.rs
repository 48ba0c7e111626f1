//! Faults of the disk: rows that it loses, changes, or makes in another order.

use switchyard_store::Table;
use switchyard_store::{ChangedRow, Disk};

use super::{Fault, is_planted, planted};
use crate::image::CALLBACK_SECRET;
use crate::world::{SECOND, Shared};

/// Whether the planted fault changes rows.
pub fn changes_rows() -> bool {
    planted().is_some_and(|fault| {
        is_lost_by(fault) || is_changed_by(fault) || fault == Fault::AnnouncedEarly
    })
}

/// Rows of a flush as the disk makes them: groups, each with a flush of its own.
pub fn replaced(world: &Shared, disk: &Disk, rows: Vec<ChangedRow>) -> Vec<Vec<ChangedRow>> {
    let mut rows = rows;
    rows.retain(|row| !is_lost(disk, row));
    let again = repeated_mails(disk, &rows);
    rows.extend(again);
    rows.iter_mut().for_each(|row| change(world, row));
    if !is_planted(Fault::AnnouncedEarly) {
        return vec![rows];
    }
    let (announced, others) = rows.into_iter().partition(is_webhook);
    let groups: [Vec<_>; 2] = [announced, others];
    groups
        .into_iter()
        .filter(|group| !group.is_empty())
        .collect()
}

const fn is_lost_by(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::JournalSkipped
            | Fault::AnswerUnwritten
            | Fault::OutboxDropped
            | Fault::DeliveryForgotten
            | Fault::TimerForgotten
            | Fault::KeyForgotten
            | Fault::CallbackDropped
            | Fault::ChangeNotKept
            | Fault::MailForgotten
            | Fault::CountForgotten
    )
}

const fn is_changed_by(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::OrderForgotten
            | Fault::MailRepeated
            | Fault::CodeKept
            | Fault::SecretKept
            | Fault::FirstRequestCounts
    )
}

/// Whether the planted fault loses a changed row.
fn is_lost(disk: &Disk, row: &ChangedRow) -> bool {
    let Some(value) = &row.value else {
        return false;
    };
    let is_request = || row.table == Table::Journal && holds(value, MOVES_MONEY);
    match planted() {
        Some(Fault::JournalSkipped) => is_request(),
        Some(Fault::AnswerUnwritten) => is_request() && disk.row(row.table, &row.key).is_some(),
        Some(Fault::OutboxDropped) => is_webhook(row) && row.key.last() == Some(&END),
        Some(Fault::DeliveryForgotten) => is_webhook(row) && value[ATTEMPTS] != [0, 0],
        Some(Fault::TimerForgotten) => row.table == Table::Timer,
        Some(Fault::KeyForgotten) => row.table == Table::Idempotency,
        Some(Fault::CallbackDropped) => row.table == Table::Callback,
        Some(Fault::ChangeNotKept) => row.table == Table::Meta && row.key.starts_with(GATEWAY),
        Some(Fault::MailForgotten) => is_mail(row),
        Some(Fault::CountForgotten) => row.table == Table::Count,
        _ => false,
    }
}

/// Changes a row as the planted fault does.
fn change(world: &Shared, row: &mut ChangedRow) {
    let Some(value) = &mut row.value else {
        return;
    };
    match planted() {
        Some(Fault::OrderForgotten)
            if row.table == Table::Outbox
                && row.key[0] == WEBHOOK
                && row.key.last() == Some(&BEGINNING)
                && value[ATTEMPTS] == [0, 0] =>
        {
            delay(&mut row.key[WEBHOOK_DUE], 600 * SECOND);
        }
        Some(Fault::CodeKept) if row.table == Table::Journal => {
            let code = world.lock().evidence.codes.last().cloned();
            unmask(value, code.as_deref());
        }
        Some(Fault::SecretKept) if row.table == Table::Journal => {
            unmask(value, Some(CALLBACK_SECRET));
        }
        Some(Fault::FirstRequestCounts)
            if row.table == Table::Journal && holds(value, REPEATED_REQUEST) =>
        {
            *value = replace(value, MOVES_MONEY, ONLY_READS);
        }
        _ => {}
    }
}

/// Rows that repeat each sent mail an hour later.
fn repeated_mails(disk: &Disk, rows: &[ChangedRow]) -> Vec<ChangedRow> {
    if !is_planted(Fault::MailRepeated) {
        return Vec::new();
    }
    let is_kept = |id: &[u8]| {
        rows.iter()
            .any(|row| row.table == Table::Outbox && row.value.is_some() && row.key.ends_with(id))
    };
    let removed = rows
        .iter()
        .filter(|row| row.table == Table::Outbox && row.key[0] == MAIL && row.value.is_none());
    let sent = removed.filter(|row| !is_kept(&row.key[MAIL_ID]));
    sent.map(|row| {
        let mut again = row.clone();
        again.value = disk.row(row.table, &row.key);
        delay(&mut again.key[MAIL_DUE], 3_600 * SECOND);
        again
    })
    .collect()
}

/// Whether a webhook is enqueued.
fn is_webhook(row: &ChangedRow) -> bool {
    row.table == Table::Outbox && row.key[0] == WEBHOOK && row.value.is_some()
}

/// Whether a mail is enqueued.
fn is_mail(row: &ChangedRow) -> bool {
    row.table == Table::Outbox && row.key[0] == MAIL && row.value.is_some()
}

/// Adds to a due time in a key.
fn delay(due: &mut [u8], micros: i64) {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(due);
    let later = u64::from_be_bytes(bytes) + micros.unsigned_abs();
    due.copy_from_slice(&later.to_be_bytes());
}

/// Puts `secret` where the journal masks one.
fn unmask(value: &mut Vec<u8>, secret: Option<&str>) {
    if let Some(secret) = secret {
        *value = replace(value, MASK, secret);
    }
}

fn holds(value: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(value).contains(text)
}

fn replace(value: &[u8], from: &str, to: &str) -> Vec<u8> {
    String::from_utf8_lossy(value)
        .replace(from, to)
        .into_bytes()
}

// Forms of rows: `engine/src/webhook/row.rs`, `engine/src/mail/queued_mail.rs`,
// `engine/gateway/src/journal.rs`, `engine/gateway/src/life/rows.rs`.
const WEBHOOK: u8 = b'w';
const WEBHOOK_DUE: std::ops::Range<usize> = 17..25;
/// Sequence numbers at the end of a webhook's key.
const BEGINNING: u8 = 1;
const END: u8 = 2;
const ATTEMPTS: std::ops::Range<usize> = 3..5;
const MAIL: u8 = b'm';
const MAIL_DUE: std::ops::Range<usize> = 1..9;
const MAIL_ID: std::ops::RangeFrom<usize> = 9..;
const MOVES_MONEY: &str = r#""mutates":true"#;
const ONLY_READS: &str = r#""mutates":false"#;
/// Header of a request that the gateway repeats.
const REPEATED_REQUEST: &str = r#"["x-repeats","#;
const MASK: &str = "***";
const GATEWAY: &[u8] = b"gateway/";
