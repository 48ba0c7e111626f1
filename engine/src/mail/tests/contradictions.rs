//! Mails about reports that contradict each other.

use super::content::{case, converted_attempt, with_cases};
use super::*;
use switchyard_core::ids::AttemptId;
use switchyard_core::transaction::{CaseReason, Charge};

/// Two successes of one attempt under different ids may be the same money.
#[tokio::test(flavor = "multi_thread")]
async fn money_of_contradicting_successes_is_called_reported_and_not_received() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let cases = [CaseReason::Surplus, CaseReason::ContradictingSuccess];
    for (place, reason) in cases.into_iter().enumerate() {
        let tx = with_cases(succeeded(Environment::Live, Kind::Payment), &[reason]);
        let to = MailTo::MerchantAboutCase(reason);
        room.send(&app(AppSettings::default()), &tx, to).await;
        let mails = server.received(place + 1).await;
        let mail = decoded(&mails.last().unwrap().content);
        let text = mail["text"].as_str().unwrap();
        let is_reported = text.contains("The provider reported XOF\u{a0}16,321 as received");
        assert_eq!(
            is_reported,
            reason == CaseReason::ContradictingSuccess,
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merchant_reads_the_larger_sum_that_was_reported_beside_the_recorded_one() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let reason = CaseReason::ContradictingSuccess;
    let mut tx = succeeded(Environment::Live, Kind::Payment);
    let attempt = converted_attempt();
    let larger = Some(amount(40_000, "XOF"));
    tx.cases.push(case(reason, &attempt, larger));
    tx.cases.push(case(reason, &attempt, None));
    tx.attempts.push(attempt);
    for (place, (to, is_named)) in [
        (MailTo::MerchantAboutCase(reason), true),
        (MailTo::Merchant, true),
        (MailTo::Customer, false),
    ]
    .into_iter()
    .enumerate()
    {
        room.send(&app(AppSettings::default()), &tx, to).await;
        let mails = server.received(place + 1).await;
        let mail = decoded(&mails.last().unwrap().content);
        let text = mail["text"].as_str().unwrap();
        let row = "Second report of the provider: XOF\u{a0}40,000; an amount that cannot be \
                   read";
        assert_eq!(text.contains(row), is_named, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_reads_that_the_reports_differ_and_not_that_the_money_was_received() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let reason = CaseReason::MoneyAfterTheEnd;
    let mut sent = 0;
    for is_disputed in [false, true] {
        let mut tx = with_cases(failed(Kind::Payment), &[reason]);
        let charge = &mut tx.attempts[0].charges[0];
        charge.contradicting = is_disputed
            .then(|| amount(40_000, "XOF"))
            .into_iter()
            .collect();
        let to = MailTo::MerchantAboutCase(reason);
        sent += room.enqueue(&app(AppSettings::default()), &tx, to).await;
        let mails = server.received(sent).await;
        let texts = mails.iter().rev().take(2).map(|mail| {
            let mail = decoded(&mail.content);
            mail["text"].as_str().unwrap().to_owned()
        });
        let texts: Vec<_> = texts.collect();
        let customer = texts
            .iter()
            .find(|text| text.contains("Café <Zoé> & Co le voit"));
        let customer = customer.unwrap_or_else(|| panic!("{texts:?}"));
        let word = "dans une autre annonce";
        assert_eq!(customer.contains(word), is_disputed, "{customer}");
        assert_eq!(
            customer.contains("Nous avons reçu"),
            !is_disputed,
            "{customer}"
        );
    }
}

/// An earlier mail about the first charge asked to deliver nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_success_after_other_money_was_taken_back_says_that_it_stands() {
    let server = SmtpServer::start();
    let room = Room::through(&server).await;
    let reason = CaseReason::SuccessContradicted;
    let mut tx = with_cases(succeeded(Environment::Live, Kind::Payment), &[reason]);
    let mut second = converted_attempt();
    second.id = AttemptId::new(Ids::seeded(7).ulid(START));
    second.reference = uuid::Uuid::from_u128(7);
    second.charges.push(Charge {
        is_recorded: true,
        is_taken_back: false,
        ..tx.attempts[0].charges[0].clone()
    });
    tx.attempts.push(second);
    for (place, (to, words)) in [
        (
            MailTo::Merchant,
            "An earlier mail that asked to deliver nothing",
        ),
        (MailTo::Customer, "puis l’échec d’un autre paiement"),
    ]
    .into_iter()
    .enumerate()
    {
        room.send(&app(AppSettings::default()), &tx, to).await;
        let mails = server.received(place + 1).await;
        let mail = decoded(&mails.last().unwrap().content);
        let text = mail["text"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
    }
}
