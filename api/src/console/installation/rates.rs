//! Exchange rates: those in use, and fetched rates that an operator accepts or refuses.

use axum::response::Response;
use switchyard_core::money::{Currency, Rate};
use switchyard_engine::exchange_rates::{
    Entry, ExchangeError, HeldRate, HoldReason, Source, UnusableRate,
};
use switchyard_users::Action;

use super::super::answer;
use super::super::form::{Fields, Sent};
use super::super::page::{Failed, Page, SignedIn};
use super::refused;
use super::view::{Fact, Form, Row, Section, Table, View};

/// `GET /console/installation/rates`
pub async fn list(SignedIn(page): SignedIn) -> Response {
    let list = list_view(&page);
    answer(&page, list.map(|view| view.show(&page)))
}

fn list_view(page: &Page) -> Result<View, Failed> {
    page.permit(Action::ViewRates)?;
    let rates = page.state.engine().exchange_rates();
    let text = page.text();
    let may = page.may(Action::ManageRates);
    let mut view = View::new(page, "console-rates", "rates");
    view.lead = Some(text.say("console-rates-text"));
    let held = rates.held();
    view.sections
        .extend(held.iter().map(|held| held_section(page, held, may)));
    let unusable = rates.unusable();
    view.sections.extend(unusable_section(page, &unusable));
    let rows = rates
        .entries()
        .iter()
        .map(|entry| row(page, entry))
        .collect();
    let columns = [
        "console-rate",
        "console-rate-source",
        "console-time",
        "console-valid-until",
    ];
    view.sections.push(Section {
        title: Some(text.say("console-rates-used")),
        table: Some(Table::new(page, &columns, rows, "console-rates-empty")),
        ..Section::default()
    });
    Ok(view)
}

fn row(page: &Page, entry: &Entry) -> Row {
    let text = page.text();
    let source = match entry.source {
        Source::Table => "console-rate-table",
        Source::Peg => "console-rate-fixed",
        Source::Feed => "console-rate-fetched",
    };
    let at = match entry.source {
        Source::Peg => "–".to_owned(),
        Source::Table | Source::Feed => text.language().date(entry.at),
    };
    let until = entry.valid_until.map(|until| text.language().date(until));
    Row::plain(vec![
        equation(entry.from, entry.to, entry.rate),
        text.say(source),
        at,
        until.unwrap_or_else(|| "–".to_owned()),
    ])
}

fn equation(from: Currency, to: Currency, rate: Rate) -> String {
    format!("1 {} = {rate} {}", from.code(), to.code())
}

/// Values of the last fetch that are no rates; `None` without any.
fn unusable_section(page: &Page, unusable: &[(UnusableRate, Option<Rate>)]) -> Option<Section> {
    let text = page.text();
    let row = |(one, last): &(UnusableRate, Option<Rate>)| {
        let in_use = last.map(|last| equation(one.from, one.to, last));
        Row::plain(vec![
            format!("{}/{}", one.from.code(), one.to.code()),
            one.sent.clone(),
            in_use.unwrap_or_else(|| "–".to_owned()),
            text.language().date(one.at),
        ])
    };
    let rows: Vec<_> = unusable.iter().map(row).collect();
    let columns = [
        "console-rate-pair",
        "console-rate-sent",
        "console-rate-last",
        "console-time",
    ];
    (!rows.is_empty()).then(|| Section {
        title: Some(text.say("console-rates-unusable")),
        text: Some(text.say("console-rates-unusable-text")),
        table: Some(Table::new(page, &columns, rows, "console-rates-empty")),
        ..Section::default()
    })
}

fn held_section(page: &Page, held: &HeldRate, may: bool) -> Section {
    let (text, entry) = (page.text(), &held.entry);
    let reason = match (held.rejected, held.reason) {
        (true, _) => "console-held-rejected",
        (false, HoldReason::Moved) => "console-held-moved",
        (false, HoldReason::Drifted) => "console-held-drifted",
        (false, HoldReason::ContradictsPeg) => "console-held-peg",
    };
    let form = |name: &'static str, label: &str| Form {
        name,
        id: format!("{}{}", entry.from.code(), entry.to.code()),
        hidden: vec![
            ("from", entry.from.code().to_owned()),
            ("to", entry.to.code().to_owned()),
            ("rate", entry.rate.to_string()),
        ],
        label: text.say(label),
        is_danger: name == "reject",
        ..Form::default()
    };
    let mut forms = Vec::new();
    if may {
        forms.push(form("accept", "console-rate-accept"));
    }
    if may && !held.rejected {
        forms.push(form("reject", "console-rate-reject"));
    }
    let expected = equation(entry.from, entry.to, held.expected);
    Section {
        title: Some(equation(entry.from, entry.to, entry.rate)),
        text: Some(text.say(reason)),
        facts: vec![
            Fact::new(page, "console-rate-expected", expected),
            Fact::new(page, "console-time", text.language().date(entry.at)),
        ],
        forms,
        ..Section::default()
    }
}

/// `POST /console/installation/rates`
///
/// Accepts or refuses the held rate that the operator saw.
pub async fn decide(Sent(SignedIn(page), mut fields): Sent<SignedIn>) -> Response {
    let decided = decide_held(&page, &mut fields).await;
    answer(&page, decided)
}

async fn decide_held(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManageRates)?;
    let from = fields.text("from").parse::<Currency>();
    let to = fields.text("to").parse::<Currency>();
    let rate = Rate::parse(fields.text("rate"));
    let (Ok(from), Ok(to), Ok(rate)) = (from, to, rate) else {
        return Err(Failed::NotFound);
    };
    let does_accept = fields.text("do") == "accept";
    let rates = page.state.engine().exchange_rates();
    let decided: Result<(), ExchangeError> = match does_accept {
        true => rates.accept_held(from, to, rate).await.map(drop),
        false => rates.reject_held(from, to, rate).await.map(drop),
    };
    let pair = format!("{}/{}", from.code(), to.code());
    if let Err(error) = decided {
        let error = refused(page, &permit, &pair, error.into()).await?;
        let view = list_view(page)?;
        return Ok(view.refused(page, error));
    }
    let after = serde_json::json!({ "rate": rate.to_string(), "accepted": does_accept });
    let entry = permit.entry(pair);
    page.audit(entry.changing(serde_json::Value::Null, after))
        .await?;
    fields.took_effect();
    let notice = match does_accept {
        true => "rate-accepted",
        false => "rate-rejected",
    };
    Ok(page.go(&page.link(&format!("installation/rates?done={notice}"))))
}
