//! The operation `list`: pages of the provider's own list of payments or payouts.

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::input::Direction;
use crate::outcome::{Amount, Outcome};
use crate::time::Moment;

/// A page of the list of one direction and one span of time.
///
/// ```
/// use switchyard_gateway::{Direction, List, testing};
///
/// fn url(ask: &List) -> String {
///     let page = ask.cursor.as_deref().map(|cursor| format!("&after={cursor}"));
///     let page = page.unwrap_or_default();
///     format!("https://api.acme.example/charges?from={}&until={}{page}", ask.from, ask.until)
/// }
/// let mut ask = testing::list(Direction::Collect);
/// ask.cursor = Some("ch_100".into());
/// assert!(url(&ask).ends_with("&until=2026-11-20T10:00:00Z&after=ch_100"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// `collect`: payments, `payout`: payouts.
    pub direction: Direction,
    /// Begin of the span, inclusive: whole seconds, RFC 3339 in UTC.
    pub from: String,
    /// End of the span, exclusive: whole seconds, RFC 3339 in UTC. It may be in the future.
    pub until: String,
    /// `next` of the page before. Absent: the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page of a list.
///
/// ```
/// use switchyard_gateway::{
///     Amount, Direction, ListedState, ListedTransaction, TransactionPage, testing,
/// };
///
/// let ask = testing::list(Direction::Collect);
/// let page = TransactionPage {
///     transactions: vec![ListedTransaction {
///         reference: Some(testing::REFERENCE.into()),
///         provider_id: Some("ch_1".into()),
///         amount: Some(Amount::minor(1_000, "XOF")),
///         created_at: "2026-11-20T09:30:00Z".into(),
///         state: ListedState::Succeeded,
///     }],
///     next: Some("page_2".into()),
/// };
/// assert_eq!(page.check(&ask), Ok(()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionPage {
    /// Transactions that were created in the span, in any order: at most [`TransactionPage::MAX`].
    /// A page may be empty and have a next one.
    pub transactions: Vec<ListedTransaction>,
    /// Cursor of the next page, 1 to [`TransactionPage::CURSOR_BYTES`] bytes. Absent: this page is
    /// the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A transaction as the provider lists it. It has a reference or the provider's id, or both.
///
/// ```
/// use switchyard_gateway::{Amount, ListedState, ListedTransaction};
///
/// #[derive(serde::Deserialize)]
/// struct Charge {
///     id: String,
///     minor: i64,
///     created_at: String,
/// }
/// fn listed(paid: Charge) -> ListedTransaction {
///     ListedTransaction {
///         // Acme does not list our reference.
///         reference: None,
///         provider_id: Some(paid.id),
///         amount: Some(Amount::minor(paid.minor, "XOF")),
///         created_at: paid.created_at,
///         state: ListedState::Succeeded,
///     }
/// }
/// let charge = r#"{ "id": "ch_1", "minor": 1000, "created_at": "2026-11-20T09:30:00Z" }"#;
/// let listed = listed(serde_json::from_str(charge)?);
/// assert_eq!(listed.provider_id.as_deref(), Some("ch_1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedTransaction {
    /// The reference that the engine gave, where the provider shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The provider's id, as outcomes and callbacks name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// Amount that the provider names. Absent where it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// Time of the creation at the provider: RFC 3339 in UTC.
    pub created_at: String,
    pub state: ListedState,
}

/// State of a listed transaction. A state that is neither a success nor a final failure is
/// `Pending`: its money may have moved or may still move.
///
/// ```
/// use switchyard_gateway::ListedState;
///
/// let state = |status: &str| match status {
///     "paid" => ListedState::Succeeded,
///     "failed" | "expired" => ListedState::Failed,
///     // Also a status that is not known: its money may have moved.
///     _ => ListedState::Pending,
/// };
/// assert_eq!(state("in_review"), ListedState::Pending);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedState {
    Succeeded,
    Pending,
    Failed,
}

impl From<&Outcome> for ListedState {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { .. } => Self::Succeeded,
            Outcome::Declined { .. } => Self::Failed,
            Outcome::Pending { .. } | Outcome::Unknown { .. } | Outcome::NotFound { .. } => {
                Self::Pending
            }
        }
    }
}

impl List {
    /// The begin and the end of the span.
    ///
    /// # Errors
    /// When one of them is no time.
    ///
    /// ```
    /// use switchyard_gateway::{Direction, testing};
    ///
    /// let (from, until) = testing::list(Direction::Payout).span()?;
    /// assert_eq!(until.unix_seconds() - from.unix_seconds(), 3_600);
    /// # Ok::<(), switchyard_gateway::Fault>(())
    /// ```
    pub fn span(&self) -> Result<(Moment, Moment), Fault> {
        Ok((Moment::parse(&self.from)?, Moment::parse(&self.until)?))
    }

    /// Whether the span contains this time. A text that is no time is in no span.
    ///
    /// ```
    /// use switchyard_gateway::{Direction, testing};
    ///
    /// let ask = testing::list(Direction::Collect);
    /// assert!(ask.contains(&ask.from) && !ask.contains(&ask.until));
    /// ```
    pub fn contains(&self, time: &str) -> bool {
        let (Ok((from, until)), Ok(time)) = (self.span(), Moment::parse(time)) else {
            return false;
        };
        from <= time && time < until
    }
}

impl TransactionPage {
    /// Transactions of one page.
    ///
    /// ```
    /// use switchyard_gateway::TransactionPage;
    ///
    /// // The largest page that both accept, where the provider gives at most 250.
    /// let limit = TransactionPage::MAX.min(250);
    /// let url = format!("https://api.acme.example/charges?limit={limit}");
    /// assert!(url.ends_with("limit=250"));
    /// ```
    pub const MAX: usize = 1_000;
    /// Bytes of a cursor.
    ///
    /// ```
    /// use switchyard_gateway::{Fault, TransactionPage};
    ///
    /// fn cursor(next: &str) -> Result<String, Fault> {
    ///     match next.len() <= TransactionPage::CURSOR_BYTES {
    ///         true => Ok(next.to_owned()),
    ///         false => Err(Fault::provider("the cursor of Acme is too long")),
    ///     }
    /// }
    /// assert!(cursor("ch_100").is_ok() && cursor(&"x".repeat(1_001)).is_err());
    /// ```
    pub const CURSOR_BYTES: usize = 1_000;

    /// Checks that the page is one that `ask` may get.
    ///
    /// # Errors
    /// The rule that the page breaks; the text continues "its page".
    ///
    /// ```
    /// use switchyard_gateway::{Direction, TransactionPage, testing};
    ///
    /// let mut page = TransactionPage::default();
    /// assert_eq!(page.check(&testing::list(Direction::Collect)), Ok(()));
    /// page.next = Some(String::new());
    /// assert!(page.check(&testing::list(Direction::Collect)).is_err());
    /// ```
    pub fn check(&self, ask: &List) -> Result<(), String> {
        if self.transactions.len() > Self::MAX {
            return Err(format!("has more than {} transactions", Self::MAX));
        }
        let is_cursor = |next: &String| (1..=Self::CURSOR_BYTES).contains(&next.len());
        if !self.next.as_ref().is_none_or(is_cursor) {
            return Err(format!(
                "has a cursor that is not 1 to {} bytes long",
                Self::CURSOR_BYTES
            ));
        }
        if self.next.is_some() && self.next == ask.cursor {
            return Err("names itself as the next one".into());
        }
        for (place, listed) in self.transactions.iter().enumerate() {
            let names = [&listed.reference, &listed.provider_id];
            let mut names = names.into_iter().flatten();
            if !names.any(|name| !name.trim().is_empty()) {
                return Err(format!(
                    "has neither a reference nor an id in transaction {place}"
                ));
            }
            if !ask.contains(&listed.created_at) {
                return Err(format!(
                    "has a time outside of the span in transaction {place}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn listed(change: impl Fn(&mut ListedTransaction)) -> TransactionPage {
        let mut listed = ListedTransaction {
            reference: Some(testing::REFERENCE.into()),
            provider_id: None,
            amount: None,
            created_at: "2026-11-20T09:00:00Z".into(),
            state: ListedState::Pending,
        };
        change(&mut listed);
        TransactionPage {
            transactions: vec![listed],
            next: None,
        }
    }

    fn named(next: &str) -> TransactionPage {
        TransactionPage {
            next: Some(next.to_owned()),
            ..TransactionPage::default()
        }
    }

    #[test]
    fn a_page_names_each_transaction_lies_in_the_span_and_leads_to_another_page() {
        let mut ask = testing::list(Direction::Collect);
        ask.cursor = Some("2".into());
        let at = |time: &'static str| listed(move |it| it.created_at = time.into());
        for good in [
            listed(|_| ()),
            listed(|it| (it.reference, it.provider_id) = (None, Some("7".into()))),
            at("2026-11-20T09:59:59.999Z"),
            named("3"),
            named(&"x".repeat(TransactionPage::CURSOR_BYTES)),
            TransactionPage::default(),
        ] {
            assert_eq!(good.check(&ask), Ok(()), "{good:?}");
        }
        let many = TransactionPage {
            transactions: vec![listed(|_| ()).transactions.remove(0); TransactionPage::MAX + 1],
            next: None,
        };
        for (bad, why) in [
            (listed(|it| it.reference = None), "neither a reference"),
            (listed(|it| it.reference = Some(" ".into())), "neither a"),
            (at("2026-11-20T10:00:00Z"), "outside of the span"),
            (at("2026-11-20T08:59:59.999Z"), "outside of the span"),
            (at("2026-11-20T10:30:00+01:00"), "outside of the span"),
            (at("yesterday"), "outside of the span"),
            (named(""), "a cursor"),
            (
                named(&"x".repeat(TransactionPage::CURSOR_BYTES + 1)),
                "a cursor",
            ),
            (named("2"), "itself"),
            (many, "more than 1000"),
        ] {
            let broken = bad.check(&ask).unwrap_err();
            assert!(broken.contains(why), "{broken}");
        }
    }
}
