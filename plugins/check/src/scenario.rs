//! Scenarios of each operation that sends requests to the provider.

use serde_json::Value;
use switchyard_gateway::wire::HttpRequest;
use switchyard_gateway::{Amount, ConfigCheck, Money, Operation, Outcome};

use crate::play::{End, Played, Stage};
use crate::report::Report;
use crate::rules;
use crate::samples::Answer;
use crate::script::{Echo, ProviderBehavior, Script};

pub(crate) async fn check(stage: &Stage<'_>, operation: Operation, report: &mut Report) {
    let mut trial = Scenario {
        stage,
        operation,
        part: operation.as_str(),
        from_the_start: true,
        seen: Seen::default(),
    };
    let good = trial.good(0).await;
    // In an operation that submits, trouble that comes before the submission says nothing about
    // money.
    trial.from_the_start = !operation.submits() || !good.wrote();
    let is_played = trial.judge_good(&good, report);
    if is_played {
        trial.decline(report).await;
        if good.requests.is_empty() {
            report.pass(
                trial.part,
                "troubles",
                "it asks nobody, so no answer can go wrong",
            );
        } else {
            trial.troubles(report).await;
        }
        trial.echoes(&good, report).await;
        trial.again(&good, report).await;
        trial.side_by_side(&good, report).await;
        trial.cancels(&good, report).await;
    }
    trial.seen.judge(trial.part, operation, report);
}

struct Scenario<'a> {
    stage: &'a Stage<'a>,
    operation: Operation,
    part: &'static str,
    from_the_start: bool,
    seen: Seen,
}

/// Findings of the rules that hold of every call.
#[derive(Default)]
pub(crate) struct Seen {
    calls: usize,
    hosts: Vec<String>,
    references: Vec<String>,
    resubmissions: Vec<String>,
    secrets: Vec<String>,
    writes: Vec<String>,
}

impl Seen {
    pub(crate) fn look(&mut self, stage: &Stage<'_>, reference: Option<&str>, played: &Played) {
        self.calls += 1;
        self.hosts.extend(rules::hosts(
            stage.manifest,
            &stage.config,
            &played.requests,
        ));
        if let Some(reference) = reference {
            self.references
                .extend(rules::references(reference, &played.requests));
            self.resubmissions
                .extend(rules::resubmissions(reference, &played.requests));
        }
        self.secrets.extend(rules::secrets(&stage.secrets, played));
        let writes = played
            .requests
            .iter()
            .filter(|request| request.can_mutate());
        self.writes.extend(writes.map(|request| {
            format!(
                "{} {} could move money, which this operation may not: mark it `.reads_only()` if it cannot",
                request.method, request.url
            )
        }));
        for found in [
            &mut self.hosts,
            &mut self.references,
            &mut self.resubmissions,
            &mut self.secrets,
            &mut self.writes,
        ] {
            found.sort();
            found.dedup();
        }
    }

    pub(crate) fn judge(&self, part: &str, operation: Operation, report: &mut Report) {
        let calls = format!("in {} calls", self.calls);
        report.judge(part, "listed hosts only", calls.clone(), &self.hosts);
        if operation.submits() {
            report.judge(part, "reference in writes", calls.clone(), &self.references);
            report.judge(
                part,
                "one reference a call",
                calls.clone(),
                &self.resubmissions,
            );
        }
        if matches!(
            operation,
            Operation::CheckConfig
                | Operation::Query
                | Operation::Callback
                | Operation::Options
                | Operation::List
        ) {
            report.judge(part, "moves no money", calls.clone(), &self.writes);
        }
        report.judge(part, "no secret shown", calls, &self.secrets);
    }
}

impl Scenario<'_> {
    async fn good(&mut self, nth: u8) -> Played {
        let (input, echo) = self.stage.input(self.operation, false, nth);
        self.run(input, echo, ProviderBehavior::Good, None).await
    }

    async fn run(
        &mut self,
        input: Value,
        echo: Echo,
        mood: ProviderBehavior,
        until: Option<usize>,
    ) -> Played {
        let played = self.play(input, echo, mood, until).await;
        self.look(&played);
        played
    }

    async fn play(
        &self,
        input: Value,
        echo: Echo,
        mood: ProviderBehavior,
        until: Option<usize>,
    ) -> Played {
        let good = &self.stage.samples.of(self.operation).good;
        self.play_with(good, input, echo, mood, until).await
    }

    async fn play_with(
        &self,
        answers: &[Answer],
        input: Value,
        echo: Echo,
        mood: ProviderBehavior,
        until: Option<usize>,
    ) -> Played {
        let mut script = Script::new(answers, mood, self.from_the_start, echo);
        let state = self.stage.samples.of(self.operation).state.clone();
        let begin = self.stage.begin(self.operation, input, state);
        self.stage.play(&begin, &mut script, until).await
    }

    fn look(&mut self, played: &Played) {
        // All references of a run differ in their last letter.
        let (_, echo) = self.stage.input(self.operation, false, 0);
        let common = &echo.reference[..echo.reference.len() - 1];
        self.seen.look(self.stage, Some(common), played);
    }

    /// Is it of use to go on?
    fn judge_good(&self, good: &Played, report: &mut Report) -> bool {
        let (part, check) = (self.part, "good answer");
        if let Some(why) = rules::broken(self.operation, &good.end) {
            report.fail(part, check, why);
            return matches!(good.end, End::Ready(_) | End::Fault(_));
        }
        let has_samples = !self.stage.samples.of(self.operation).good.is_empty();
        if !has_samples && !good.requests.is_empty() {
            report.not_checked(
                part,
                check,
                format!(
                    "give `{part}.good` in check.json: {}",
                    asked(&good.requests)
                ),
            );
            return true;
        }
        if !good.unanswered.is_empty() {
            let asks = good.unanswered.join(", ");
            report.fail(
                part,
                check,
                format!(
                    "asks {asks}, which no sample answers: add it to `{part}.good` in check.json"
                ),
            );
            return true;
        }
        let is_good = match self.operation {
            Operation::CheckConfig => matches!(&good.end, End::Ready(value) if matches!(
                serde_json::from_value(value.clone()), Ok(ConfigCheck::Works { .. }))),
            // To be called off is to end without money.
            Operation::Cancel => matches!(
                rules::outcome(&good.end),
                Some(
                    Outcome::Declined { .. } | Outcome::Succeeded { .. } | Outcome::Pending { .. }
                )
            ),
            _ => matches!(
                rules::outcome(&good.end),
                Some(Outcome::Succeeded { .. } | Outcome::Pending { .. })
            ),
        };
        let word = rules::word(&good.end);
        if is_good {
            report.pass(part, check, word);
        } else if good.requests.is_empty() {
            let says = format!(
                "it ends before any request ({word}): give `{part}.method`, `{part}.fields` or `config` in check.json"
            );
            report.not_checked(part, check, says);
            return matches!(good.end, End::Ready(_));
        } else {
            report.fail(
                part,
                check,
                format!("ends as {word}: correct the gateway, or `{part}.good` in check.json"),
            );
        }
        true
    }

    async fn decline(&mut self, report: &mut Report) {
        let (part, check) = (self.part, "decline");
        if !matches!(
            self.operation,
            Operation::Collect | Operation::Payout | Operation::Query
        ) {
            return;
        }
        let sample = self.stage.samples.of(self.operation);
        if sample.decline.is_empty() && sample.decline_fields.is_none() {
            return report.not_checked(part, check, format!("give `{part}.decline` in check.json"));
        }
        let (input, echo) = self.stage.input(self.operation, true, 0);
        let played = self
            .play_with(&sample.decline, input, echo, ProviderBehavior::Good, None)
            .await;
        self.look(&played);
        match rules::outcome(&played.end) {
            Some(Outcome::Declined {
                provider_code: Some(code),
                ..
            }) if !code.is_empty() => report.pass(part, check, code),
            Some(Outcome::Declined { .. }) => {
                report.fail(
                    part,
                    check,
                    "does not carry the provider's code: add `.with_provider_code(…)`",
                );
            }
            _ => report.fail(
                part,
                check,
                format!(
                    "ends as {}, and the provider said no",
                    rules::word(&played.end)
                ),
            ),
        }
    }

    async fn troubles(&mut self, report: &mut Report) {
        for mood in ProviderBehavior::TROUBLES {
            let (input, echo) = self.stage.input(self.operation, false, 0);
            let played = self.run(input, echo, mood, None).await;
            match rules::trouble(self.operation, mood, &played.end) {
                None => report.pass(self.part, mood.as_str(), rules::word(&played.end)),
                Some(why) => report.fail(self.part, mood.as_str(), why),
            }
        }
    }

    /// The provider names another amount, then another currency.
    async fn echoes(&mut self, good: &Played, report: &mut Report) {
        let (_, asked) = self.stage.input(self.operation, false, 0);
        let amount = match rules::outcome(&good.end) {
            Some(Outcome::Succeeded { amount, .. }) => amount,
            Some(Outcome::Pending {
                payer_action: Some(action),
                ..
            }) => return rules::action(self.part, action, &asked.amount, report),
            _ => return,
        };
        let reason = &self.stage.manifest.capabilities.success_without_amount;
        if let (None, Some(reason)) = (&amount, reason) {
            return report.pass(
                self.part,
                "amount comes back",
                format!("declared: {reason}"),
            );
        }
        if !amount.is_some_and(|amount| is_same(&amount, &asked.amount)) {
            return report.fail(
                self.part,
                "amount comes back",
                "the outcome does not name the amount that the provider named: give it with \
                 `Outcome::succeeded(…)`, or declare in `capabilities.success_without_amount` why \
                 the provider cannot name it",
            );
        }
        report.pass(
            self.part,
            "amount comes back",
            format!("{} {}", asked.amount.decimal, asked.amount.currency),
        );
        let other = match asked.amount.currency.as_str() {
            "EUR" => "USD",
            _ => "EUR",
        };
        let more = Money::from_minor(
            asked.amount.minor + 100,
            &asked.amount.currency,
            asked.amount.decimals,
        );
        let elsewhere = Money::from_minor(asked.amount.minor, other, asked.amount.decimals);
        for (check, named) in [
            ("wrong amount echoed", more),
            ("wrong currency echoed", elsewhere),
        ] {
            let (input, mut echo) = self.stage.input(self.operation, false, 0);
            echo.amount = named;
            if good.requests.is_empty() {
                report.not_checked(
                    self.part,
                    check,
                    "it asks nobody, so nobody names an amount",
                );
                continue;
            }
            let played = self.run(input, echo, ProviderBehavior::Good, None).await;
            match rules::outcome(&played.end) {
                Some(Outcome::Succeeded { amount: Some(amount), .. }) if !is_same(&amount, &asked.amount) => {
                    report.pass(self.part, check, "the provider's amount is in the outcome, and the engine refuses it");
                }
                Some(Outcome::Succeeded { .. }) => report.fail(
                    self.part,
                    check,
                    "the outcome names what was asked and not what the provider said: take the amount from the answer",
                ),
                _ => report.pass(self.part, check, rules::word(&played.end)),
            }
        }
    }

    async fn again(&mut self, good: &Played, report: &mut Report) {
        let again = self.good(0).await;
        if again.requests == good.requests {
            report.pass(self.part, "same call twice", "the same requests");
        } else {
            report.fail(
                self.part,
                "same call twice",
                "makes other requests the second time: derive all from the call, `cx.now()` and `cx.chance()`",
            );
        }
    }

    async fn side_by_side(&mut self, good: &Played, report: &mut Report) {
        let ((one, first), (two, second)) = (
            self.stage.input(self.operation, false, 0),
            self.stage.input(self.operation, false, 1),
        );
        let (a, b) = tokio::join!(
            self.play(one, first, ProviderBehavior::Good, None),
            self.play(two, second, ProviderBehavior::Good, None)
        );
        self.look(&a);
        self.look(&b);
        let alone = self.good(1).await;
        if a.requests == good.requests
            && b.requests == alone.requests
            && a.end == good.end
            && b.end == alone.end
        {
            report.pass(self.part, "two calls at once", "as each alone");
        } else {
            report.fail(
                self.part,
                "two calls at once",
                "one call shows in the other: keep nothing outside of the call",
            );
        }
    }

    async fn cancels(&mut self, good: &Played, report: &mut Report) {
        for effects in 0..good.effects {
            let (input, echo) = self.stage.input(self.operation, false, 0);
            self.run(input, echo, ProviderBehavior::Good, Some(effects))
                .await;
        }
        let after = self.good(0).await;
        if after.end == good.end {
            report.pass(
                self.part,
                "cancelled anywhere",
                format!("after each of {} effects", good.effects),
            );
        } else {
            let word = rules::word(&after.end);
            report.fail(
                self.part,
                "cancelled anywhere",
                format!("the next call ends otherwise ({word}): do nothing in `Drop`"),
            );
        }
    }
}

fn asked(requests: &[HttpRequest]) -> String {
    let asked: Vec<String> = requests
        .iter()
        .map(|request| format!("{} {}", request.method, request.url))
        .collect();
    format!("what the provider says to {}", asked.join(", "))
}

fn is_same(named: &Amount, asked: &Money) -> bool {
    let is_minor = named.minor.is_none_or(|minor| minor == asked.minor);
    let is_decimal = named
        .decimal
        .as_deref()
        .is_none_or(|text| trimmed(text) == trimmed(&asked.decimal));
    named.currency == asked.currency
        && is_minor
        && is_decimal
        && (named.minor.is_some() || named.decimal.is_some())
}

/// Without zeros that say nothing: `25.00` is `25`.
fn trimmed(decimal: &str) -> &str {
    if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    }
}
