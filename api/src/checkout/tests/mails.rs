//! Mails to customers: the same names of methods as on the pages, and reports on money that did
//! not pay for the order as asked.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use switchyard_core::environment::Environment;
use switchyard_core::ids::MailId;
use switchyard_core::transaction::{
    AttemptState, CaseReason, DeclineReason, MailTo, State, Transaction,
};
use switchyard_engine::access::{App, AppSettings};
use switchyard_engine::engine::EngineSettings;
use switchyard_engine::mail::{MailSettings, MoneyNews, QueuedMail, Recipient, enqueue, posted};
use switchyard_engine::testing::{TestEngine, TestEngineBuilder};
use switchyard_gateway_host::Gateways;
use switchyard_store::Batch;

use super::samples;
use switchyard_core::language::Language;

struct Office {
    test: TestEngine,
    folder: tempfile::TempDir,
    /// Mails that were returned.
    seen: BTreeSet<MailId>,
}

/// A mail that was sent.
struct Sent {
    to: Recipient,
    news: Option<MoneyNews>,
    subject: String,
    text: String,
    page: String,
}

impl Office {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mail = MailSettings {
            from: "Switchyard <no-reply@pay.example>".to_owned(),
            folder: Some(folder.path().to_owned()),
            ..MailSettings::default()
        };
        let settings = EngineSettings {
            mail,
            ..EngineSettings::default()
        };
        let wanted = TestEngineBuilder {
            settings,
            ..TestEngineBuilder::with(Gateways::default())
        };
        Self {
            test: wanted.start().await,
            folder,
            seen: BTreeSet::new(),
        }
    }

    /// The `count` mails that were sent since the last call, after the mail to `to` about `tx`.
    async fn send(&mut self, app: &App, tx: &Transaction, to: MailTo, count: usize) -> Vec<Sent> {
        let (engine, mut batch) = (&self.test.engine, Batch::new());
        let now = engine.clock().now();
        let queued = enqueue(&mut batch, app, tx, to, now, engine.ids());
        engine.store().commit(batch).await.unwrap();
        engine.mails().nudge(queued, now);
        for _ in 0..1_000 {
            let sent = posted(engine.store(), Environment::Live, 100)
                .await
                .unwrap();
            let sent = sent.into_iter().map(|posted| posted.letter);
            let sent: Vec<_> = sent
                .filter(|letter| !self.seen.contains(&letter.id))
                .collect();
            if sent.len() >= count {
                assert_eq!(sent.len(), count);
                self.seen.extend(sent.iter().map(|letter| letter.id));
                return self.read(&sent);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there were never {count} mails");
    }

    /// The mails as Python's own library decodes them.
    fn read(&self, letters: &[QueuedMail]) -> Vec<Sent> {
        let script = "import sys, json, email, email.policy\n\
                      policy = email.policy.default\n\
                      parse = email.message_from_bytes\n\
                      read = lambda f: parse(open(f, 'rb').read(), policy=policy)\n\
                      body = lambda m, kind: m.get_body((kind,)).get_content().replace('\\r', '')\n\
                      parts = lambda m: [m['subject'], body(m, 'plain'), body(m, 'html')]\n\
                      print(json.dumps([parts(read(f)) for f in sys.argv[1:]]))";
        let file = |letter: &QueuedMail| self.folder.path().join(format!("{}.eml", letter.id));
        let mut python = Command::new("python3");
        python.args(["-c", script]).args(letters.iter().map(file));
        let output = python.output().expect("this test needs Python 3");
        let mails: Vec<[String; 3]> = serde_json::from_slice(&output.stdout).unwrap();
        let sent = letters.iter().zip(mails).map(|(letter, mail)| {
            let [subject, text, page] = mail;
            if let Some(news) = letter.news {
                super::gallery::keep(&format!("mail-{news:?}.{}", letter.language.code()), &page);
            }
            Sent {
                to: letter.to,
                news: letter.news,
                subject,
                text,
                page,
            }
        });
        sent.collect()
    }
}

/// A success after a declined attempt for which money came, too.
fn paid_twice() -> Transaction {
    let (state, done) = (State::Succeeded, AttemptState::Succeeded);
    super::money::money_of_the_first(state, done, CaseReason::PaidTwice, false)
}

fn live(tx: Transaction, locale: &str) -> Transaction {
    let mut tx = samples::charged(tx);
    tx.environment = Environment::Live;
    tx.context.locale = Some(locale.to_owned());
    tx
}

fn app(tx: &Transaction) -> App {
    let context = samples::context(tx.clone(), Language::En);
    App {
        settings: AppSettings {
            merchant_email: Some("shop@merchant.example".to_owned()),
            ..AppSettings::default()
        },
        ..context.app.as_ref().clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mails_about_a_payment_name_its_method_as_the_pages_do() {
    let mut office = Office::new().await;
    for (locale, language, label) in [
        ("en", Language::En, "Method: "),
        ("fr", Language::Fr, "Moyen de paiement\u{a0}: "),
    ] {
        let tx = live(samples::ended(State::Succeeded), locale);
        let context = samples::context(tx.clone(), language);
        let name = context.method_name(&tx.attempts[0].method);
        let sent = office.send(&app(&tx), &tx, MailTo::Customer, 1).await;
        let line = format!("{label}{name}\n");
        assert!(sent[0].text.contains(&line), "{line}: {}", sent[0].text);
    }
}

/// A case of each kind of money news, with the sentences of its mails in English and French.
fn cases() -> Vec<(MoneyNews, CaseReason, Transaction, [&'static str; 2])> {
    let failed = || samples::failed(DeclineReason::Other);
    let back = CaseReason::SuccessContradicted;
    vec![
        (
            MoneyNews::Part,
            CaseReason::AmountDiffers,
            samples::partly_paid(State::OnHold),
            [
                "Part of your payment to Café Zola arrived: XOF\u{a0}5,000 of XOF\u{a0}12,500. It \
                 does not pay for the order. Please do not pay again. Café Zola sees this too",
                "est arrivée : 5\u{202f}000\u{a0}F CFA sur 12\u{202f}500\u{a0}F CFA. Cette somme \
                 ne règle pas la commande. Ne payez pas à nouveau.",
            ],
        ),
        (
            MoneyNews::Received,
            CaseReason::MoneyAfterTheEnd,
            samples::with_case(samples::waiting(None), CaseReason::MoneyAfterTheEnd),
            [
                "We have received XOF\u{a0}12,500 for your payment to Café Zola, and it is being \
                 reviewed. Please do not pay again.",
                "qui est en cours de vérification. Ne payez pas à nouveau.",
            ],
        ),
        (
            MoneyNews::Late,
            CaseReason::MoneyAfterTheEnd,
            samples::with_case(failed(), CaseReason::MoneyAfterTheEnd),
            [
                "that had ended before, so it did not pay for the order. Please do not pay again.",
                "qui avait déjà pris fin",
            ],
        ),
        (
            MoneyNews::Twice,
            CaseReason::PaidTwice,
            paid_twice(),
            [
                "We have received more than one payment for this order.",
                "Nous avons reçu plus d’un paiement pour cette commande.",
            ],
        ),
        (
            MoneyNews::TakenBack,
            back,
            samples::with_case(samples::ended(State::Succeeded), back),
            [
                "The provider had reported XOF\u{a0}12,500 as received for your payment to Café \
                 Zola, and later reported the payment as failed.",
                "puis a annoncé l’échec du paiement. Cela remplace tout message précédent",
            ],
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_told_of_money_that_did_not_pay_for_the_order() {
    let mut office = Office::new().await;
    for (news, reason, tx, sentences) in cases() {
        for (locale, sentence) in ["en", "fr"].into_iter().zip(sentences) {
            let tx = live(tx.clone(), locale);
            let to = MailTo::MerchantAboutCase(reason);
            let sent = office.send(&app(&tx), &tx, to, 2).await;
            let of = |to: Recipient| sent.iter().find(|mail| mail.to == to).unwrap();
            assert_eq!(of(Recipient::Merchant).news, None);
            let mail = of(Recipient::Customer);
            assert_eq!(mail.news, Some(news));
            assert!(mail.text.contains(sentence), "{sentence}: {}", mail.text);
            assert!(mail.subject.contains("Café Zola"), "{}", mail.subject);
            assert!(mail.page.contains(&format!("lang=\"{locale}\"")));
            assert!(mail.text.contains(&tx.id.to_string()));
            for untrue in [
                "receipt",
                "comme reçu",
                "For review",
                "À vérifier",
                "customer-",
                "label-",
                "heading-",
                "footer-",
            ] {
                assert!(!mail.page.contains(untrue), "{untrue}: {}", mail.page);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_told_nothing_that_is_known_or_unknown_or_not_wanted() {
    let mut office = Office::new().await;
    let (settles, differs) = (CaseReason::PaidTwice, CaseReason::AmountDiffers);
    let mut at_once = paid_twice();
    // The mail about the success of this moment names the second payment.
    at_once.success_at = Some(office.test.clock.now());
    let mut unreadable = samples::partly_paid(State::OnHold);
    unreadable.attempts[0].captured = None;
    unreadable.cases[0].amount = None;
    let no_answer = CaseReason::NoFinalAnswer;
    let asked = samples::with_case(samples::ended(State::InDoubt), no_answer);
    for (reason, tx) in [
        (settles, at_once),
        (differs, unreadable),
        (no_answer, asked),
    ] {
        let tx = live(tx, "en");
        let to = MailTo::MerchantAboutCase(reason);
        let sent = office.send(&app(&tx), &tx, to, 1).await;
        assert_eq!(sent[0].to, Recipient::Merchant, "{reason:?}");
    }
    let tx = live(samples::partly_paid(State::OnHold), "en");
    let to = MailTo::MerchantAboutCase(differs);
    for (merchant, customer, is_told) in [
        (true, false, Recipient::Merchant),
        (false, true, Recipient::Customer),
    ] {
        let mut app = app(&tx);
        app.settings.notify_merchant = merchant;
        app.settings.notify_customer = customer;
        let sent = office.send(&app, &tx, to, 1).await;
        assert_eq!(sent[0].to, is_told);
    }
}
