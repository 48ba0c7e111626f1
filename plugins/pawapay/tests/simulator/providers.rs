//! Operators and published test numbers.

/// One row of `providers.csv`: what pawaPay's documents list.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    pub name: &'static str,
    pub country: &'static str,
    pub prefix: &'static str,
    pub currency: &'static str,
    pub takes_decimals: bool,
    /// AUTOMATIC and MANUAL are prompts for the PIN.
    pub authorisation: &'static str,
}

/// One published test number and its result.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub provider: &'static str,
    pub is_deposit: bool,
    pub msisdn: &'static str,
    /// `COMPLETED`, `STUCK` or a failure code of version 2.
    pub fate: &'static str,
}

pub fn providers() -> impl Iterator<Item = Provider> {
    rows(include_str!("providers.csv")).map(
        |[name, country, prefix, currency, decimals, authorisation]| Provider {
            name,
            country,
            prefix,
            currency,
            takes_decimals: decimals == "TWO_PLACES",
            authorisation,
        },
    )
}

pub fn cases() -> impl Iterator<Item = Case> {
    rows(include_str!("test_msisdns.csv")).map(|[_, provider, operation, msisdn, outcome]| Case {
        provider,
        is_deposit: operation == "DEPOSIT",
        msisdn,
        fate: fate(outcome),
    })
}

/// The list names outcomes as version 1 did.
fn fate(outcome: &'static str) -> &'static str {
    match outcome {
        "SUCCESS" => "COMPLETED",
        "NO_CALLBACK_STUCK" => "STUCK",
        "OTHER_ERROR" => "UNSPECIFIED_FAILURE",
        "TRANSACTION_ALREADY_IN_PROCESS" => "PAYMENT_IN_PROGRESS",
        code => code,
    }
}

/// Result of a number: as published, or success.
pub fn fate_of(provider: &str, is_deposit: bool, msisdn: &str) -> &'static str {
    let published = cases().find(|case| {
        case.provider == provider && case.is_deposit == is_deposit && case.msisdn == msisdn
    });
    published.map_or("COMPLETED", |case| case.fate)
}

fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    text.lines().skip(1).filter_map(|line| {
        let columns: Vec<_> = line.trim().split(',').collect();
        columns.try_into().ok()
    })
}
