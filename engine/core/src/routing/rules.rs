//! The rules of one app in one environment: an ordered list; the first that matches a transaction
//! orders its connections.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::fee::{self, FeeRow};
use super::plan::RouteRequest;
use crate::ids::ConnectionId;
use crate::limits::{CONNECTIONS_PER_APP, METADATA_KEYS, ROUTING_FEES, ROUTING_RULES};
use crate::money::{Amount, Currency};
use crate::transaction::Kind;

/// The rules and the table of fees that some of them go by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSet {
    pub rules: Vec<Rule>,
    pub fees: Vec<FeeRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which transactions; left out: all.
    #[serde(default, rename = "match")]
    pub when: Match,
    pub strategy: Strategy,
    /// Connections that the strategy does not name are not used at all. Otherwise they come after
    /// those it names.
    #[serde(default)]
    pub only: bool,
}

/// Conditions of a rule, combined with AND.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Method codes, with `*` at the end for all that begin so: `card_*`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<MethodPattern>,
    /// ISO 3166-1 alpha-2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub countries: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub currencies: Vec<Currency>,
    /// In major units of the currencies above, as text; both ends belong to the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_amount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_amount: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// Order that a rule gives to connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Strategy {
    /// In the order of the list.
    Priority { connections: Vec<ConnectionId> },
    /// Each first as often as its weight says, and the others drawn in the same way behind it.
    Weighted { weights: Vec<Weight> },
    /// The lowest fee first; without a list, all connections. Equal fees, and unknown ones at the
    /// end, in the order of the list.
    Cheapest {
        #[serde(default)]
        connections: Vec<ConnectionId>,
    },
    /// The best recent rate of success first; without a list, all connections. Equal rates in the
    /// order of the list.
    BestSuccessRate {
        #[serde(default)]
        connections: Vec<ConnectionId>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    pub connection: ConnectionId,
    /// From 1 to 1,000.
    pub weight: u32,
}

/// A method's code, or the beginning of some with `*` after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MethodPattern(pub String);

/// Error in a rule set, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path} {problem}")]
pub struct RuleError {
    /// `rules.2.strategy.weights.0.weight`, counted from 0 as in JSON.
    pub path: String,
    pub problem: String,
}

pub(super) fn problem(path: impl Into<String>, problem: impl fmt::Display) -> RuleError {
    RuleError {
        path: path.into(),
        problem: problem.to_string(),
    }
}

impl RuleSet {
    /// The first rule that matches, with its number from 1.
    pub(super) fn rule(&self, asked: &RouteRequest<'_>) -> Option<(u16, &Rule)> {
        let place = self.rules.iter().position(|rule| rule.when.holds(asked))?;
        Some((
            u16::try_from(place + 1).unwrap_or(u16::MAX),
            &self.rules[place],
        ))
    }

    /// The fee that the table says for `amount`; `None` when it says none.
    pub fn fee(
        &self,
        connection: ConnectionId,
        kind: Kind,
        method: &str,
        amount: Amount,
    ) -> Option<Amount> {
        fee::fee(&self.fees, connection, kind, method, amount)
    }

    /// Whether the rules can be used, as far as they tell by themselves.
    pub fn check(&self) -> Result<(), RuleError> {
        at_most("rules", self.rules.len(), ROUTING_RULES)?;
        at_most("fees", self.fees.len(), ROUTING_FEES)?;
        for (place, rule) in self.rules.iter().enumerate() {
            rule.check(&format!("rules.{place}"))?;
        }
        for (place, row) in self.fees.iter().enumerate() {
            row.check(&format!("fees.{place}"))?;
            check_patterns(&row.methods, &format!("fees.{place}.methods"))?;
        }
        Ok(())
    }

    /// Each connection that is named, with the path where it stands.
    pub fn connections(&self) -> Vec<(String, ConnectionId)> {
        let mut named = Vec::new();
        for (place, rule) in self.rules.iter().enumerate() {
            let (list, inner) = match rule.strategy {
                Strategy::Weighted { .. } => ("weights", ".connection"),
                _ => ("connections", ""),
            };
            let of_rule = rule.strategy.named().into_iter().enumerate();
            named.extend(of_rule.map(|(at, connection)| {
                let path = format!("rules.{place}.strategy.{list}.{at}{inner}");
                (path, connection)
            }));
        }
        let of_fees = self.fees.iter().enumerate();
        named.extend(
            of_fees.map(|(place, row)| (format!("fees.{place}.connection"), row.connection)),
        );
        named
    }

    /// Each method pattern, with the path where it stands.
    pub fn methods(&self) -> Vec<(String, &MethodPattern)> {
        let of_rules = self.rules.iter().enumerate().flat_map(|(place, rule)| {
            let patterns = rule.when.methods.iter().enumerate();
            patterns
                .map(move |(at, pattern)| (format!("rules.{place}.match.methods.{at}"), pattern))
        });
        let of_fees = self.fees.iter().enumerate().flat_map(|(place, row)| {
            let patterns = row.methods.iter().enumerate();
            patterns.map(move |(at, pattern)| (format!("fees.{place}.methods.{at}"), pattern))
        });
        of_rules.chain(of_fees).collect()
    }
}

impl Rule {
    fn check(&self, at: &str) -> Result<(), RuleError> {
        let shaped = |name: &String| {
            (1..=NAME_CHARACTERS).contains(&name.chars().count())
                && !name.chars().any(char::is_control)
        };
        if !self.name.as_ref().is_none_or(shaped) {
            let why = format!("is a text of 1 to {NAME_CHARACTERS} characters on one line");
            return Err(problem(format!("{at}.name"), why));
        }
        self.when.check(&format!("{at}.match"))?;
        self.strategy.check(&format!("{at}.strategy"))?;
        if self.only && self.strategy.named().is_empty() {
            let why = "needs connections that the strategy names: without them there is nothing to keep to";
            return Err(problem(format!("{at}.only"), why));
        }
        Ok(())
    }
}

impl Match {
    fn holds(&self, asked: &RouteRequest<'_>) -> bool {
        self.kind.is_none_or(|kind| kind == asked.kind)
            && any_or_empty(&self.methods, |pattern| pattern.matches(asked.method))
            && any_or_empty(&self.countries, |code| asked.country == Some(code))
            && any_or_empty(&self.currencies, |currency| {
                asked
                    .amount
                    .is_some_and(|amount| amount.currency() == *currency)
            })
            && within(&self.min_amount, asked.amount, |amount, least| {
                amount >= least
            })
            && within(&self.max_amount, asked.amount, |amount, most| {
                amount <= most
            })
            && self
                .metadata
                .iter()
                .all(|(key, value)| asked.metadata.get(key) == Some(value))
    }

    fn check(&self, at: &str) -> Result<(), RuleError> {
        check_patterns(&self.methods, &format!("{at}.methods"))?;
        at_most(&format!("{at}.countries"), self.countries.len(), LISTED)?;
        at_most(&format!("{at}.currencies"), self.currencies.len(), LISTED)?;
        at_most(
            &format!("{at}.metadata"),
            self.metadata.len(),
            METADATA_KEYS,
        )?;
        for (place, code) in self.countries.iter().enumerate() {
            if code.len() != 2 || !code.bytes().all(|byte| byte.is_ascii_uppercase()) {
                let why = "is a country as two capital letters (ISO 3166-1), such as BJ";
                return Err(problem(format!("{at}.countries.{place}"), why));
            }
        }
        for (name, text) in [
            ("min_amount", &self.min_amount),
            ("max_amount", &self.max_amount),
        ] {
            let Some(text) = text else { continue };
            let path = format!("{at}.{name}");
            if self.currencies.is_empty() {
                return Err(problem(
                    path,
                    "says nothing without `currencies`: name at least one",
                ));
            }
            for currency in &self.currencies {
                Amount::parse_major(text, *currency)
                    .map_err(|why| problem(&*path, format!("cannot be read: {why}")))?;
            }
        }
        let ends = (&self.min_amount, &self.max_amount, self.currencies.first());
        if let (Some(least), Some(most), Some(currency)) = ends
            && Amount::parse_major(least, *currency)
                .ok()
                .map(Amount::minor)
                > Amount::parse_major(most, *currency).ok().map(Amount::minor)
        {
            return Err(problem(
                format!("{at}.min_amount"),
                "is more than `max_amount`",
            ));
        }
        Ok(())
    }
}

impl Strategy {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Priority { .. } => "priority",
            Self::Weighted { .. } => "weighted",
            Self::Cheapest { .. } => "cheapest",
            Self::BestSuccessRate { .. } => "best_success_rate",
        }
    }

    /// The connections that it names, in its order.
    pub fn named(&self) -> Vec<ConnectionId> {
        match self {
            Self::Priority { connections }
            | Self::Cheapest { connections }
            | Self::BestSuccessRate { connections } => connections.clone(),
            Self::Weighted { weights } => weights.iter().map(|row| row.connection).collect(),
        }
    }

    fn check(&self, at: &str) -> Result<(), RuleError> {
        let list = match self {
            Self::Weighted { .. } => format!("{at}.weights"),
            _ => format!("{at}.connections"),
        };
        let named = self.named();
        at_most(&list, named.len(), CONNECTIONS_PER_APP)?;
        if named.is_empty() && matches!(self, Self::Priority { .. } | Self::Weighted { .. }) {
            return Err(problem(list, "is empty: name at least one connection"));
        }
        let mut seen = BTreeSet::new();
        if let Some(place) = named
            .iter()
            .position(|connection| !seen.insert(*connection))
        {
            return Err(problem(
                format!("{list}.{place}"),
                "names a connection for the second time",
            ));
        }
        if let Self::Weighted { weights } = self {
            let wrong = weights
                .iter()
                .position(|row| !WEIGHTS.contains(&row.weight));
            if let Some(place) = wrong {
                let why = "is a whole number from 1 to 1000; leave the connection out for none";
                return Err(problem(format!("{list}.{place}.weight"), why));
            }
        }
        Ok(())
    }
}

impl MethodPattern {
    pub fn matches(&self, method: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => method.starts_with(beginning),
            None => self.0 == method,
        }
    }
}

fn any_or_empty<T>(list: &[T], fits: impl FnMut(&T) -> bool) -> bool {
    list.is_empty() || list.iter().any(fits)
}

/// Whether the amount is on the right side of a bound, if there is one. Of an amount that is not
/// known, no bound holds.
fn within(
    bound: &Option<String>,
    amount: Option<Amount>,
    side: impl Fn(Amount, Amount) -> bool,
) -> bool {
    let Some(bound) = bound else { return true };
    amount.is_some_and(|amount| {
        Amount::parse_major(bound, amount.currency()).is_ok_and(|bound| side(amount, bound))
    })
}

fn check_patterns(patterns: &[MethodPattern], at: &str) -> Result<(), RuleError> {
    at_most(at, patterns.len(), LISTED)?;
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    for (place, MethodPattern(text)) in patterns.iter().enumerate() {
        let code = text.strip_suffix('*').unwrap_or(text);
        if text.is_empty() || text.len() > NAME_CHARACTERS || !code.bytes().all(fits) {
            let why = "is a method's code such as mtn_bj, or the beginning of some with * after it";
            return Err(problem(format!("{at}.{place}"), why));
        }
    }
    Ok(())
}

fn at_most(path: &str, count: usize, most: usize) -> Result<(), RuleError> {
    if count <= most {
        return Ok(());
    }
    Err(problem(
        path,
        format!("has {count} entries; at most {most} are allowed"),
    ))
}

const NAME_CHARACTERS: usize = 100;
/// There are fewer countries, currencies and methods than this.
const LISTED: usize = 500;
const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=1_000;
