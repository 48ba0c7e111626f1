//! Amounts and rates: an accepted value is exactly the written one.

use switchyard_core::limits::AMOUNT_MAJOR;
use switchyard_core::money::{Amount, Correction, Currency, Rate};
use switchyard_core::time::Timestamp;
use switchyard_engine::exchange_rates::fuzzing::{feed, rates};

/// First byte: the currency. The rest: the text of an amount.
pub fn amount(bytes: &[u8]) {
    let Some((choice, Ok(text))) = split(bytes) else {
        return;
    };
    let currency = Currency::all().nth(usize::from(choice) % Currency::all().count());
    let currency = currency.expect("there are currencies");
    if let Ok(amount) = Amount::parse_major(text, currency) {
        is_exact(text, amount);
    }
    if let Ok(rate) = Rate::parse(text) {
        let again = Rate::parse(&rate.to_string());
        assert_eq!(again, Ok(rate), "a rate is read as it is written");
        converts_upwards(rate, currency);
    }
    if let Ok(correction) = Correction::parse(text) {
        let again: String = correction.into();
        assert_eq!(Correction::parse(&again), Ok(correction));
    }
}

/// The answer of a source of rates.
pub fn rates_feed(bytes: &[u8]) {
    let Ok(entries) = feed(bytes) else {
        return;
    };
    assert!(entries.len() <= Currency::all().count());
    let now = Timestamp::from_seconds(2);
    let some: Vec<_> = entries
        .iter()
        .take(3)
        .map(|entry| (entry.from, entry.to))
        .collect();
    let rates = rates(entries);
    for (from, to) in some {
        let there = rates
            .quote(from, to, now)
            .expect("a rate that was just read");
        assert_eq!(there.way.first(), Some(&from));
        converts_upwards(there.rate, to);
        let _ = rates.quote(to, from, now);
    }
}

/// The accepted amount is the number that was written, digit by digit, by another reckoning than
/// the parser's.
pub fn is_exact(text: &str, amount: Amount) {
    let largest = AMOUNT_MAJOR * 10_i64.pow(amount.currency().decimals().into());
    assert!(
        (1..=largest).contains(&amount.minor()),
        "{text}: {amount:?}"
    );
    assert_eq!(
        plain(text),
        Some(trimmed(&amount.decimal())),
        "{text}: {amount:?}"
    );
    let again = Amount::parse_major(&amount.decimal(), amount.currency());
    assert_eq!(again, Ok(amount), "{text}");
    let number = amount.to_json_number().to_string();
    assert_eq!(
        Amount::parse_major(&number, amount.currency()),
        Ok(amount),
        "{text} as {number}"
    );
}

/// A number with its exponent written out, without zeros that say nothing.
fn plain(text: &str) -> Option<String> {
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let significant = all.trim_matches('0');
    let leading = i64::try_from(all.len() - all.trim_start_matches('0').len()).ok()?;
    // Where the point stands, counted from the first digit that says something.
    let point = point.checked_sub(leading)?;
    if !(-40..=40).contains(&point) {
        return None;
    }
    let length = i64::try_from(significant.len()).ok()?;
    let zeros = |count: i64| "0".repeat(usize::try_from(count.max(0)).unwrap_or_default());
    Some(if point <= 0 {
        trimmed(&format!("0.{}{significant}", zeros(-point)))
    } else if point >= length {
        trimmed(&format!("{significant}{}", zeros(point - length)))
    } else {
        let (whole, fraction) = significant.split_at(usize::try_from(point).ok()?);
        trimmed(&format!("{whole}.{fraction}"))
    })
}

fn trimmed(decimal: &str) -> String {
    match decimal.contains('.') {
        true => decimal
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => decimal.to_owned(),
    }
}

/// A merchant never gets less than was asked for: more of the one is never less of the other, and
/// nothing comes of nothing.
fn converts_upwards(rate: Rate, to: Currency) {
    let from = Currency::from_code("USD").expect("a currency");
    let convert = |minor| rate.convert(Amount::from_minor(minor, from), to, to.decimals());
    if let (Ok(less), Ok(more)) = (convert(100), convert(10_000)) {
        assert!(less.minor() > 0 && less.minor() <= more.minor(), "{rate}");
    }
    let _ = (rate.inverse(), rate.then(rate));
}

/// The first byte, and the rest as text.
pub fn split(bytes: &[u8]) -> Option<(u8, Result<&str, std::str::Utf8Error>)> {
    let (choice, rest) = bytes.split_first()?;
    Some((*choice, std::str::from_utf8(rest)))
}
