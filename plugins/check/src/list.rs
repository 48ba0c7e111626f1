//! Trials of the operation `list`: pages until the last one, trouble at the provider, after which a
//! list would be invented, and a cursor that is none.

use serde_json::{Value, json};
use switchyard_gateway::{Direction, List, Operation, TransactionPage, testing};

use crate::play::{End, Played, Stage};
use crate::report::Report;
use crate::rules;
use crate::scenario::Seen;
use crate::script::{ProviderBehavior, Script};

const PART: &str = "list";
/// Pages after which a list counts as endless: more than any sample has.
const PAGES: usize = 50;

pub(crate) async fn check(stage: &Stage<'_>, report: &mut Report) {
    let mut seen = Seen::default();
    for direction in [Direction::Collect, Direction::Payout] {
        let mut methods = stage.manifest.methods.iter();
        if !methods.any(|method| method.direction == direction) {
            continue;
        }
        let trial = Scenario { stage, direction };
        let first = trial.pages(&mut seen, report).await;
        if first.is_none_or(|first| first.requests.is_empty()) {
            continue;
        }
        for mood in ProviderBehavior::TROUBLES {
            let played = trial.page(&mut trial.script(mood), None).await;
            seen.look(stage, None, &played);
            let check = trial.named(mood.as_str());
            match rules::invented(Operation::List, &played.end) {
                Some(why) => report.fail(PART, &check, why),
                None => report.pass(PART, &check, rules::word(&played.end)),
            }
        }
        trial.hostile_cursors(&mut seen, report).await;
    }
    seen.judge(PART, Operation::List, report);
}

/// Trials of one direction.
struct Scenario<'a> {
    stage: &'a Stage<'a>,
    direction: Direction,
}

impl Scenario<'_> {
    fn named(&self, check: &str) -> String {
        match self.direction {
            Direction::Collect => format!("payments: {check}"),
            Direction::Payout => format!("payouts: {check}"),
        }
    }

    fn script(&self, mood: ProviderBehavior) -> Script<'_> {
        let (_, echo) = self.stage.input(Operation::List, false, 0);
        Script::new(&self.stage.samples.list.good, mood, true, echo)
    }

    fn ask(&self, cursor: Option<String>) -> List {
        List {
            cursor,
            ..testing::list(self.direction)
        }
    }

    async fn page(&self, script: &mut Script<'_>, cursor: Option<String>) -> Played {
        let ask = json!(self.ask(cursor));
        let begin = self.stage.begin(Operation::List, ask, Value::Null);
        self.stage.play(&begin, script, None).await
    }

    /// Lists all pages. Returns the call of the first one; `None`: there is no use in more trials.
    async fn pages(&self, seen: &mut Seen, report: &mut Report) -> Option<Played> {
        let check = &self.named("good answer");
        let mut script = self.script(ProviderBehavior::Good);
        let (mut first, mut cursor, mut listed) = (None, None, 0);
        for number in 1..=PAGES {
            let played = self.page(&mut script, cursor.clone()).await;
            seen.look(self.stage, None, &played);
            let page = match self.judged(&played, cursor, report) {
                Ok(page) => page,
                Err(Some(why)) => {
                    report.fail(PART, check, format!("page {number}: {why}"));
                    return None;
                }
                Err(None) => return Some(played),
            };
            first = first.or(Some(played));
            listed += page.transactions.len();
            cursor = page.next;
            if cursor.is_none() {
                let says = format!("{listed} transactions");
                self.judge_count(number, listed, says, report);
                return first;
            }
        }
        let why = format!("has no end after {PAGES} pages: leave `next` out of the last one");
        report.fail(PART, check, why);
        first
    }

    /// The page of a call. `Err(None)`: a sample is missing, which is in the report.
    fn judged(
        &self,
        played: &Played,
        cursor: Option<String>,
        report: &mut Report,
    ) -> Result<TransactionPage, Option<String>> {
        if let Some(why) = rules::broken(Operation::List, &played.end) {
            return Err(Some(why));
        }
        let check = &self.named("good answer");
        if self.stage.samples.list.good.is_empty() && !played.requests.is_empty() {
            report.not_checked(PART, check, "give `list.good` in check.json".to_owned());
            return Err(None);
        }
        if !played.unanswered.is_empty() {
            let asks = played.unanswered.join(", ");
            let why = format!("asks {asks}, which no sample answers: add it to `list.good`");
            return Err(Some(why));
        }
        let page: Option<TransactionPage> = match &played.end {
            End::Ready(value) => serde_json::from_value(value.clone()).ok(),
            _ => None,
        };
        let page = page.ok_or_else(|| format!("it ends as {}", rules::word(&played.end)))?;
        let checked = page.check(&self.ask(cursor));
        checked.map_err(|why| format!("its page {why}"))?;
        Ok(page)
    }

    fn judge_count(&self, pages: usize, listed: usize, says: String, report: &mut Report) {
        let check = &self.named("good answer");
        match listed {
            0 => report.fail(
                PART,
                check,
                "lists nothing of the samples: they are of 2026-11-20, 9:00 to 10:00 UTC",
            ),
            _ => report.pass(PART, check, says),
        }
        let check = &self.named("several pages");
        match pages {
            1 => {
                let give = "give two pages of the provider in `list.good` of check.json";
                report.not_checked(PART, check, give.to_owned());
            }
            pages => report.pass(PART, check, format!("{pages} pages")),
        }
    }

    /// The engine passes on cursors of this gateway only, but their texts are the provider's.
    async fn hostile_cursors(&self, seen: &mut Seen, report: &mut Report) {
        let check = &self.named("broken cursor");
        let long = "9".repeat(TransactionPage::CURSOR_BYTES);
        for cursor in [
            "",
            "../../refunds?x=",
            "1&limit=1#",
            "-1",
            "\r\nx: y",
            &long,
        ] {
            let mut script = self.script(ProviderBehavior::Good);
            let played = self.page(&mut script, Some(cursor.to_owned())).await;
            seen.look(self.stage, None, &played);
            if let Some(why) = rules::broken(Operation::List, &played.end) {
                return report.fail(PART, check, why);
            }
        }
        report.pass(PART, check, "no panic");
    }
}
