//! Trials of the lists of options that fields name: a good answer, and trouble at the provider,
//! after which a list would be invented.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Value, json};
use switchyard_gateway::manifest::{Field, Method, check_options};
use switchyard_gateway::{Money, Operation, OptionList};

use crate::play::{End, Played, Stage};
use crate::report::Report;
use crate::rules;
use crate::scenario::Seen;
use crate::script::{ProviderBehavior, Script};

const PART: &str = "options";

pub(crate) async fn check(stage: &Stage<'_>, report: &mut Report) {
    let methods = stage.manifest.methods.iter();
    let fields = methods.flat_map(|method| method.fields.iter().map(move |field| (method, field)));
    let mut tried = BTreeSet::new();
    let mut seen = Seen::default();
    for (method, field) in fields {
        let Some(source) = &field.options_from else {
            continue;
        };
        if !tried.insert(source) {
            continue;
        }
        let good = play(stage, method, source, ProviderBehavior::Good).await;
        seen.look(stage, None, &good);
        judge(stage, field, source, &good, report);
        if good.requests.is_empty() {
            continue;
        }
        for mood in ProviderBehavior::TROUBLES {
            let played = play(stage, method, source, mood).await;
            seen.look(stage, None, &played);
            match rules::invented(Operation::Options, &played.end) {
                Some(why) => report.fail(PART, mood.as_str(), why),
                None => report.pass(PART, mood.as_str(), rules::word(&played.end)),
            }
        }
    }
    seen.judge(PART, Operation::Options, report);
}

async fn play(stage: &Stage<'_>, method: &Method, source: &str, mood: ProviderBehavior) -> Played {
    let decimals = method.decimals.unwrap_or(2);
    let unit = 10_i64.saturating_pow(u32::from(decimals));
    let input = json!({
        "source": source,
        "method": method.code,
        "direction": method.direction,
        "unit": Money::from_minor(unit, method.currency.as_str(), decimals),
    });
    let (_, echo) = stage.input(Operation::Options, false, 0);
    let mut script = Script::new(&stage.samples.options.good, mood, true, echo);
    let begin = stage.begin(Operation::Options, input, Value::Null);
    stage.play(&begin, &mut script, None).await
}

fn judge(stage: &Stage<'_>, field: &Field, source: &str, good: &Played, report: &mut Report) {
    let check = "good answer";
    if let Some(why) = rules::broken(Operation::Options, &good.end) {
        return report.fail(PART, check, why);
    }
    if stage.samples.options.good.is_empty() && !good.requests.is_empty() {
        return report.not_checked(PART, check, "give `options.good` in check.json".to_owned());
    }
    let list = match &good.end {
        End::Ready(value) => serde_json::from_value::<OptionList>(value.clone()).ok(),
        _ => None,
    };
    let Some(OptionList { options }) = list else {
        let why = format!("`{source}` comes to {}", rules::word(&good.end));
        return report.fail(PART, check, why);
    };
    if let Err(why) = check_options(&options, "list") {
        return report.fail(PART, check, format!("`{source}` {why}"));
    }
    let pattern = field.pattern.as_deref().and_then(|it| Regex::new(it).ok());
    let fits = |value: &str| {
        pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(value))
    };
    match options.iter().find(|option| !fits(&option.value)) {
        Some(option) => {
            let (value, name) = (&option.value, &field.name);
            let why = format!("`{value}` of `{source}` does not fit the pattern of `{name}`");
            report.fail(PART, check, why);
        }
        None => report.pass(PART, check, format!("`{source}`: {} values", options.len())),
    }
}
