//! Checks of callbacks, which any host can send.

use serde_json::{Value, json};
use switchyard_gateway::{CallbackResult, Operation, Outcome};

use crate::play::{End, Played, Stage};
use crate::report::Report;
use crate::rules;
use crate::samples::SampleCallback;
use crate::scenario::Seen;
use crate::script::{ProviderBehavior, Script};

pub(crate) async fn check(stage: &Stage<'_>, report: &mut Report) {
    let mut post = CallbackScenario {
        stage,
        seen: Seen::default(),
    };
    let letters = &stage.samples.callback;
    match &letters.good {
        Some(good) => post.genuine(good, report).await,
        None => {
            for check in ["good callback", "replayed callback"] {
                report.not_checked(
                    PART,
                    check,
                    "give `callback.good` in check.json: one as the provider sent it",
                );
            }
            let made_up = SampleCallback {
                headers: vec![
                    ("signature".into(), "00".into()),
                    ("x-signature".into(), "00".into()),
                ],
                body: json!({ "reference": "{reference}", "id": "ch_1", "status": "succeeded", "event": "charge.succeeded" }),
                ..SampleCallback::default()
            };
            post.forged("made up", &made_up, report).await;
        }
    }
    let unknown = letters.unknown.clone().unwrap_or(SampleCallback {
        body: json!({ "event": "something.new", "type": "something.new", "data": {} }),
        ..SampleCallback::default()
    });
    post.harmless("unknown event", &unknown, report).await;
    for (check, body) in [("empty body", ""), ("body that is not JSON", "\u{1}<html>")] {
        let letter = SampleCallback {
            body: body.into(),
            ..SampleCallback::default()
        };
        post.harmless(check, &letter, report).await;
    }
    post.seen.judge(PART, Operation::Callback, report);
}

struct CallbackScenario<'a> {
    stage: &'a Stage<'a>,
    seen: Seen,
}

impl CallbackScenario<'_> {
    /// The body goes as it is written here: JSON of a sample in the order of its fields.
    async fn deliver(
        &mut self,
        letter: &SampleCallback,
        changed: bool,
    ) -> (Played, Option<CallbackResult>) {
        let letters = &self.stage.samples.callback;
        let (_, echo) = self.stage.input(Operation::Callback, false, 0);
        let mut body = echo.body(&letter.body);
        if changed {
            body.push(' ');
        }
        let path = if letter.path.is_empty() {
            "/callbacks/con_01jd4v3z6q8k9m2n5p7r1s3t4v"
        } else {
            &letter.path
        };
        let input = json!({
            "method": "POST",
            "path": path,
            "query": letter.query,
            "url": letters.url.as_deref().unwrap_or("https://pay.example.com/callbacks/con_01jd4v3z6q8k9m2n5p7r1s3t4v"),
            "headers": letter.headers,
            "body": { "text": body },
        });
        let mut begin = self.stage.begin(Operation::Callback, input, Value::Null);
        if let Some(now) = &letters.now {
            begin.now = now.as_str().into();
        }
        let mut script = Script::new(&letters.answers, ProviderBehavior::Good, true, echo);
        let played = self.stage.play(&begin, &mut script, None).await;
        self.seen.look(self.stage, None, &played);
        let result = match &played.end {
            End::Ready(value) => serde_json::from_value(value.clone()).ok(),
            _ => None,
        };
        (played, result)
    }

    async fn genuine(&mut self, good: &SampleCallback, report: &mut Report) {
        let (played, result) = self.deliver(good, false).await;
        let names =
            |result: &CallbackResult| result.reference.is_some() || result.provider_id.is_some();
        let is_trusted = result.as_ref().is_some_and(|result| result.trusted);
        match &result {
            Some(result) if result.refused.is_none() && names(result) => {
                report.pass(
                    PART,
                    "good callback",
                    if is_trusted {
                        "trusted"
                    } else {
                        "a hint: the engine asks"
                    },
                );
            }
            _ => {
                let word = rules::broken(Operation::Callback, &played.end)
                    .unwrap_or_else(|| rules::word(&played.end));
                report.fail(PART, "good callback", format!("does not name the attempt ({word}): correct the gateway, or `callback.good`"));
            }
        }
        let (_, again) = self.deliver(good, false).await;
        if again == result {
            report.pass(PART, "replayed callback", "the same result");
        } else {
            report.fail(
                PART,
                "replayed callback",
                "comes to another result the second time: derive all from the callback",
            );
        }
        // One letter more: whatever signature it has, it is over another body.
        let (played, result) = self.deliver(good, true).await;
        self.judge_forged("bad signature", &played, result, is_trusted, report);
        let unsigned = SampleCallback {
            headers: Vec::new(),
            ..good.clone()
        };
        self.forged("no signature", &unsigned, report).await;
    }

    async fn forged(&mut self, check: &str, letter: &SampleCallback, report: &mut Report) {
        let (played, result) = self.deliver(letter, false).await;
        self.judge_forged(check, &played, result, true, report);
    }

    fn judge_forged(
        &self,
        check: &str,
        played: &Played,
        result: Option<CallbackResult>,
        can_sign: bool,
        report: &mut Report,
    ) {
        if let Some(why) = rules::broken(Operation::Callback, &played.end) {
            return report.fail(PART, check, why);
        }
        match result {
            Some(result)
                if result.trusted && result.refused.is_none() && result.outcome.is_some() =>
            {
                report.fail(PART, check, "is trusted: verify the signature over the raw body, and answer `refused` or a hint");
            }
            Some(result) if result.refused.is_some() => report.pass(PART, check, "refused"),
            Some(_) if can_sign => report.pass(PART, check, "a hint"),
            Some(_) => report.pass(PART, check, "a hint, as all of them"),
            None => report.pass(PART, check, rules::word(&played.end)),
        }
    }

    async fn harmless(&mut self, check: &str, letter: &SampleCallback, report: &mut Report) {
        let (played, result) = self.deliver(letter, false).await;
        if let Some(why) = rules::broken(Operation::Callback, &played.end) {
            return report.fail(PART, check, why);
        }
        let ends = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::Succeeded { .. } | Outcome::Declined { .. }
            )
        };
        match result.as_ref().and_then(|result| result.outcome.as_ref()) {
            Some(outcome) if ends(outcome) => {
                report.fail(
                    PART,
                    check,
                    "ends a payment: answer `CallbackResult::nothing()` to what you do not know",
                );
            }
            _ => report.pass(PART, check, "ends no payment"),
        }
    }
}

const PART: &str = "callback";
