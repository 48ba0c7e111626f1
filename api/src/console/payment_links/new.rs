//! Form of a new payment link.

use axum::response::Response;
use switchyard_users::{Action, NewPaymentLink};

use super::super::answer;
use super::super::form::{Fields, Sent};
use super::super::installation::view::{Form, Section, Target, View};
use super::super::page::{Failed, Page, Scoped};
use super::super::payouts::caller;
use super::super::problems::Problems;
use super::CURRENT;
use super::draft::Draft;
use crate::payment_links;

/// `GET /console/apps/{app}/{environment}/payment-links/new`
pub async fn get(Scoped(page): Scoped) -> Response {
    let form = || {
        page.permit(Action::ManagePaymentLinks)?;
        let draft = Draft::new(&page)?;
        Ok(view(&page, &draft, &Problems::default())?.show(&page))
    };
    answer(&page, form())
}

/// `POST /console/apps/{app}/{environment}/payment-links/new`
pub async fn post(Sent(Scoped(page), mut fields): Sent<Scoped>) -> Response {
    let created = create(&page, &mut fields).await;
    answer(&page, created)
}

async fn create(page: &Page, fields: &mut Fields) -> Result<Response, Failed> {
    let permit = page.permit(Action::ManagePaymentLinks)?;
    let (draft, caller) = (Draft::of_form(fields), caller(page)?);
    let engine = page.state.engine();
    let terms = match payment_links::terms(engine, &caller, &draft.request()) {
        Ok(terms) => terms,
        Err(error) => {
            let problems = Problems::of(&error, page.text());
            return Ok(view(page, &draft, &problems)?.unsaved(page));
        }
    };
    let new = NewPaymentLink {
        app: caller.app.id,
        environment: caller.environment,
        terms,
    };
    let link = page.state.users().create_payment_link(&permit, new).await?;
    fields.took_effect();
    let to = format!("payment-links/{}?done=link-made", link.id);
    Ok(page.go(&page.in_scope(&to)))
}

fn view(page: &Page, draft: &Draft, problems: &Problems) -> Result<View, Failed> {
    let text = page.text();
    let mut view = View::new(page, "console-payment-link-new", CURRENT);
    view.list = Some(Target {
        href: page.in_scope("payment-links"),
        name: text.say("console-payment-links"),
    });
    let inputs = draft.inputs(page, problems)?;
    view.error = problems.elsewhere(&inputs);
    view.sections.push(Section {
        forms: vec![Form {
            name: "create",
            inputs,
            label: text.say("console-payment-link-create"),
            is_primary: true,
            ..Form::default()
        }],
        ..Section::default()
    });
    Ok(view)
}
