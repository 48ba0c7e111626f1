//! Canaries: a secret of every kind is given to a server that logs everything that it and its
//! libraries can log, and is used for each of its purposes. Then the test searches for them in all
//! output, responses and files of the server.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Value, json};
use switchyard_tests::client::payment;
use switchyard_tests::client::payout;
use switchyard_tests::{
    Answer, Client, PAYS, Receiver, Server, Setup, eventually, misbehaving_gateway,
};

use crate::stage::{CARD, MailServer, Trap, indiscreet_provider};

/// With all characters that are escaped in URLs and in JSON.
const CREDENTIAL: &str = "cr3dent1al/of+the \"conn\"&ction=";
const CALLBACK_SECRET: &str = "ca11back-secret-of-the-connection";
const WEBHOOK_SECRET: &str = "whsec_n0bodySh0uldSeeThis0";
const MAIL_PASSWORD: &str = "ma1l-passw0rd-canary";
const FEED_KEY: &str = "f33d-key-canary";
const MASTER_KEY: &str = "5eed0f0ca4a41e5bada55c0ffee0ddba11feedfacecafebeefdeadc0de0d15ea";
/// Six characters, and none that chance puts together.
const CODE: &str = "Zq7Xw9";
/// No secret: it has to be found, or the search finds nothing.
const OPEN: &str = "an open word, to be found";
const SOON: Duration = Duration::from_secs(40);

struct World {
    server: Server,
    receiver: Receiver,
    mails: MailServer,
    trap: Trap,
    provider: String,
    /// Answers of all kinds, each with where it came from.
    seen: Vec<(String, String)>,
    payments: Vec<String>,
}

fn leak(text: String) -> &'static str {
    text.leak()
}

impl World {
    async fn new(provider: &str) -> anyhow::Result<Self> {
        let mails = MailServer::start().await?;
        let smtp = format!("smtp://merchant:{MAIL_PASSWORD}@127.0.0.1:{}", mails.port);
        let feed = format!("http://127.0.0.1:1/rates?app_id={FEED_KEY}");
        let settings = vec![
            ("SWITCHYARD_LOG__FORMAT", "json"),
            ("SWITCHYARD_LOG__LEVEL", "trace,rusqlite=trace,sled=trace"),
            ("SWITCHYARD_MAIL__SMTP_URL", leak(smtp)),
            ("SWITCHYARD_EXCHANGE__URL", leak(feed)),
            ("SWITCHYARD_SECRETS__MASTER_KEY", MASTER_KEY),
        ];
        let server = Server::start(Setup {
            settings,
            ..Setup::default()
        });
        Ok(Self {
            server: server.await?,
            receiver: Receiver::start().await?,
            mails,
            trap: Trap::set().await?,
            provider: provider.to_owned(),
            seen: Vec::new(),
            payments: Vec::new(),
        })
    }

    fn app(&self) -> String {
        format!("/operator/v1/apps/{}", self.server.dev().app_id)
    }

    /// Asks, and keeps what is answered.
    async fn get(&mut self, client: &Client, path: &str) -> anyhow::Result<Answer> {
        let answer = client.get(path).await?;
        self.keep(path, &answer);
        Ok(answer)
    }

    fn keep(&mut self, what: &str, answer: &Answer) {
        let text = format!("{:?} {}", answer.headers, answer.body);
        self.seen.push((what.to_owned(), text));
    }

    /// A connection that takes the place of those that are there.
    async fn connect(&mut self, gateway: &str, config: Value) -> anyhow::Result<String> {
        let operator = self.server.operator();
        let path = format!("{}/connections", self.app());
        let old = operator.get(&path).await?.expect(200)?;
        for connection in old.body["data"].as_array().into_iter().flatten() {
            let id = connection["id"].as_str().context("an id")?;
            let off = json!({ "is_enabled": false });
            let path = format!("/operator/v1/connections/{id}");
            operator.patch(&path, &off).await?.expect(200)?;
        }
        // Once wrong: a refused value is not repeated.
        let wrong = json!({
            "environment": "sandbox", "gateway": gateway, "account_name": "Ours", "skip_check": true,
            "config": { "url": 7, "key": [CREDENTIAL], "callback_secret": { "a": CALLBACK_SECRET } },
        });
        let refused = operator.post(&path, &wrong).await?.expect(422)?;
        self.keep("a connection that is refused", &refused);
        let new = json!({
            "environment": "sandbox", "gateway": gateway, "account_name": "Ours", "skip_check": true, "config": config,
        });
        let made = operator.post(&path, &new).await?.expect(201)?;
        self.keep("a connection that is made", &made);
        Ok(made.data("id")?.to_owned())
    }

    /// A payer confirms with nothing but forms.
    async fn pay(&mut self, description: &str) -> anyhow::Result<String> {
        let merchant = self.server.merchant();
        let mut body = payment(description);
        body["return_url"] = json!(format!("http://127.0.0.1:{}/back", self.trap.port));
        let made = merchant.post("/v1/payments/initialize", &body).await?;
        let id = made.expect(201)?.data("id")?.to_owned();
        self.payments.push(id.clone());
        let page = self.server.stranger();
        page.page(&format!("/checkout/{id}?country=US")).await?;
        let fields = [
            ("country", "US"),
            ("method", "switchyard_payment_demo"),
            ("msisdn", PAYS),
        ];
        let sent = page
            .post_form(&format!("/checkout/{id}/details"), &fields)
            .await?;
        let next = location(&sent)?;
        let (_, answers) = next.split_once("?a=").with_context(|| next.clone())?;
        page.page(&next).await?;
        let sent = page
            .post_form(&format!("/checkout/{id}/confirm"), &[("a", answers)])
            .await?;
        location(&sent)?;
        Ok(id)
    }

    /// The transaction as an operator sees it, when its one attempt has come to something.
    async fn attempted(&self, id: &str) -> anyhow::Result<Value> {
        let operator = self.server.operator();
        let path = format!("/operator/v1/transactions/{id}");
        eventually("the attempt came to something", SOON, async || {
            let shown = operator.get(&path).await?.expect(200)?;
            let attempt = &shown.body["data"]["attempts"][0];
            let state = attempt["state"].as_str().unwrap_or_default().to_owned();
            let is_open = ["", "submitting", "begun", "started"].contains(&state.as_str());
            Ok((!is_open).then(|| shown.body["data"].clone()))
        })
        .await
    }
}

fn location(response: &reqwest::Response) -> anyhow::Result<String> {
    let location = response.headers().get("location");
    let location = location.with_context(|| format!("no location: {response:?}"))?;
    Ok(location.to_str()?.to_owned())
}

/// The test gateway: money in and out, a code that the payer types, news from the provider,
/// webhooks, mails.
async fn with_the_test_gateway(world: &mut World) -> anyhow::Result<()> {
    let config = json!({ "ask_code": true, "callback_secret": CALLBACK_SECRET });
    let connection = world.connect("switchyard_demo", config).await?;
    let url = world.receiver.url();
    world.server.add_webhook(&url, WEBHOOK_SECRET).await?;
    let pictures = json!({
        "icon_url": format!("http://127.0.0.1:{}/icon.png", world.trap.port),
        "website_url": format!("http://127.0.0.1:{}/", world.trap.port),
    });
    let operator = world.server.operator();
    operator.patch(&world.app(), &pictures).await?.expect(200)?;

    let id = world.pay(OPEN).await?;
    let page = world.server.stranger();
    let waiting = format!("/checkout/{id}/wait");
    eventually("the code is asked for", SOON, async || {
        let page = page.page(&waiting).await?;
        Ok(page.contains(&format!("/checkout/{id}/code")).then_some(()))
    })
    .await?;
    let form = page.page(&waiting).await?;
    for code in [CODE, "123456"] {
        let mut fields = hidden(&form);
        fields.push(("code".to_owned(), code.to_owned()));
        let fields: Vec<_> = fields
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        let path = format!("/checkout/{id}/code");
        let sent = page.post_form(&path, &fields).await?;
        world.seen.push((
            path,
            format!("{:?} {}", sent.headers().clone(), sent.text().await?),
        ));
        world
            .seen
            .push((waiting.clone(), page.page(&waiting).await?));
    }
    let out = payout(OPEN, PAYS);
    let merchant = world.server.merchant();
    let out = merchant
        .post("/v1/payouts/initialize", &out)
        .await?
        .expect(201)?;
    world.payments.push(out.data("id")?.to_owned());
    let news = format!("/callbacks/{connection}?secret={CALLBACK_SECRET}");
    let told = json!({ "reference": "nobody's", "secret": CALLBACK_SECRET, "status": "success" });
    let answer = world.server.stranger().post(&news, &told).await?;
    world.keep("a callback", &answer);
    Ok(())
}

/// The hidden fields of a page's form.
fn hidden(page: &str) -> Vec<(String, String)> {
    let inputs = page.split("<input").skip(1);
    let hidden = inputs.filter(|input| {
        input
            .split('>')
            .next()
            .unwrap_or_default()
            .contains("hidden")
    });
    let field = |input: &str, name: &str| {
        let (_, rest) = input.split_once(&format!("{name}=\""))?;
        rest.split('"').next().map(str::to_owned)
    };
    hidden
        .filter_map(|input| Some((field(input, "name")?, field(input, "value")?)))
        .collect()
}

/// A gateway that tells its credentials to everybody, in a process of its own, and a provider that
/// does.
async fn with_a_talking_gateway(world: &mut World) -> anyhow::Result<()> {
    let operator = world.server.operator();
    let file = std::fs::read(misbehaving_gateway())?;
    let path = "/operator/v1/gateways?why=canaries&consent=";
    let hash = {
        use sha2::Digest as _;
        base16ct::lower::encode_string(&sha2::Sha256::digest(&file))
    };
    let taken = operator.upload(&format!("{path}{hash}"), file).await?;
    ensure!(taken.status < 300, "{}", taken.body);
    let config = json!({ "url": world.provider, "key": CREDENTIAL });
    let connection = world.connect("misbehaving", config).await?;
    for (description, outcome) in [
        ("write", "succeeded"),
        ("talk", ""),
        ("tell and panic", ""),
        ("write, tell and panic", ""),
        ("write and fail", ""),
        ("read and fail", ""),
        ("harm: print", ""),
    ] {
        let id = world.pay(description).await?;
        let shown = world.attempted(&id).await?;
        let state = &shown["attempts"][0]["state"];
        ensure!(
            outcome.is_empty() || state == outcome,
            "{description}: {shown}"
        );
        ensure!(
            shown["attempts"][0]["candidate"]["connection"] == json!(connection),
            "{shown}"
        );
    }
    let base = &world.server.dev().base_url;
    let news = format!("{base}/callbacks/{connection}/{}", world.payments[1]);
    let http = reqwest::Client::builder().no_proxy().build()?;
    for body in [
        json!({ "status": "success", "minor": 2500, "id": "ch_1", "note": CREDENTIAL }),
        json!({ "status": "success", "minor": 2500, "do": "panic" }),
    ] {
        let sent = http.post(&news).header("x-key", CREDENTIAL).json(&body);
        let answer = sent.send().await?;
        ensure!(answer.status() == 202, "{answer:?}");
    }
    let path = format!("/operator/v1/connections/{connection}/callbacks?state=waiting");
    eventually("the callbacks are dealt with", SOON, async || {
        let waiting = operator.get(&path).await?.expect(200)?;
        let waiting = waiting.body["data"]["callbacks"].as_array().map(Vec::len);
        // A callback at which its gateway fails is retried later.
        Ok((waiting <= Some(1)).then_some(()))
    })
    .await
}

/// Keys and tokens that are made at the desk, and what knocks with wrong ones.
async fn at_the_desk(world: &mut World) -> anyhow::Result<Vec<String>> {
    let operator = world.server.operator();
    let key = json!({ "environment": "live", "kind": "secret" });
    let key = operator
        .post(&format!("{}/keys", world.app()), &key)
        .await?
        .expect(201)?;
    let token = json!({ "name": "night shift" });
    let token = operator
        .post("/operator/v1/tokens", &token)
        .await?
        .expect(201)?;
    let roll = format!("/operator/v1/keys/{}/roll", key.data("id")?);
    let rolled = operator
        .post(&roll, &json!({ "grace": "1h" }))
        .await?
        .expect(201)?;
    let fetch = operator
        .post("/operator/v1/rates/fetch", &json!({}))
        .await?;
    world.keep("rates that cannot be fetched", &fetch);
    let secrets = [key.data("key")?, rolled.data("key")?, token.data("token")?];
    let secrets = secrets.map(str::to_owned).to_vec();
    for secret in &secrets {
        for path in ["/v1/payments", "/operator/v1/apps", "/nowhere", "/metrics"] {
            let client = world.server.stranger().with_key(&format!("{secret}x"));
            world.get(&client, path).await?;
            let client = world.server.stranger().with_key(secret);
            world.get(&client, path).await?;
        }
    }
    Ok(secrets)
}

/// Everything that can be read: by merchants, payers, operators, and the users of the machine.
async fn read_all(world: &mut World) -> anyhow::Result<()> {
    let (operator, merchant) = (world.server.operator(), world.server.merchant());
    for id in world.payments.clone() {
        let (kind, page) = match id.starts_with("py_") {
            true => ("payments", true),
            false => ("payouts", false),
        };
        world.get(&merchant, &format!("/v1/{kind}/{id}")).await?;
        world
            .get(&merchant, &format!("/v1/{kind}/{id}/verify"))
            .await?;
        world
            .get(&operator, &format!("/operator/v1/transactions/{id}"))
            .await?;
        if page {
            let path = format!("/checkout/{id}/wait");
            let answer = world.server.stranger().page(&path).await?;
            world.seen.push((path, answer));
        }
    }
    at_every_list(world).await?;
    let metrics = operator.page("/metrics").await?;
    world.seen.push(("/metrics".to_owned(), metrics));
    for delivery in world.receiver.received() {
        let text = format!("{:?} {}", delivery.headers, delivery.json());
        world.seen.push(("a webhook".to_owned(), text));
    }
    Ok(())
}

/// The operator's lists, and each object in them.
async fn at_every_list(world: &mut World) -> anyhow::Result<()> {
    let operator = world.server.operator();
    let app = world.app();
    let mut lists: Vec<String> = [
        "keys",
        "webhooks",
        "connections",
        "transactions",
        "routing?environment=sandbox",
    ]
    .iter()
    .map(|list| format!("{app}/{list}"))
    .collect();
    lists.extend(
        [
            "accounts",
            "apps",
            "tokens",
            "gateways",
            "gateways/misbehaving",
            "gateways/misbehaving/form",
            "gateway-candidates",
            "cases",
            "rates",
            "routing/health",
        ]
        .map(|list| format!("/operator/v1/{list}")),
    );
    for (list, rest) in [
        ("connections", &["", "/callbacks", "/provider-ids"][..]),
        ("webhooks", &["", "/attempts", "/deliveries"]),
    ] {
        let all = operator.get(&format!("{app}/{list}")).await?.expect(200)?;
        for one in all.body["data"].as_array().into_iter().flatten() {
            let id = one["id"].as_str().context("an id")?;
            lists.extend(
                rest.iter()
                    .map(|rest| format!("/operator/v1/{list}/{id}{rest}")),
            );
        }
    }
    for path in lists {
        let answer = world.get(&operator, &path).await?;
        ensure!(
            answer.status == 200,
            "{path}: {} {}",
            answer.status,
            answer.body
        );
    }
    Ok(())
}

/// The log, without the keys that development mode prints on purpose for the person who started it.
fn log(server: &Server) -> String {
    let shown = [
        " secret key  ",
        " public key  ",
        "  operator token ",
        "-H 'Authorization",
    ];
    let log = server.log();
    let lines = log
        .lines()
        .filter(|line| !shown.iter().any(|shown| line.contains(shown)));
    lines.collect::<Vec<_>>().join("\n")
}

/// All files below `folder`, one after the other.
fn files(folder: &Path) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files.extend(self::files(&path)?),
            false => files.push((path.display().to_string(), std::fs::read(&path)?)),
        }
    }
    Ok(files)
}

/// A secret as it is, and as it is written elsewhere.
fn forms(secret: &str) -> BTreeSet<Vec<u8>> {
    let json = Value::from(secret).to_string();
    let mut url = reqwest::Url::parse("http://a/").expect("a URL");
    url.query_pairs_mut().append_pair("", secret);
    let mut forms = vec![
        secret.to_owned(),
        json[1..json.len() - 1].to_owned(),
        url.query().unwrap_or_default()[1..].to_owned(),
        base16ct::lower::encode_string(secret.as_bytes()),
    ];
    for before in 0..3 {
        let bytes = [&b"::"[..before], secret.as_bytes()].concat();
        let own = (before * 8_usize).div_ceil(6)..bytes.len() * 8 / 6;
        let text = STANDARD_NO_PAD.encode(&bytes);
        forms.extend((secret.len() > 8).then(|| text[own].to_owned()));
    }
    forms.into_iter().map(String::into_bytes).collect()
}

fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

/// Everything that was given in confidence, or made to be kept so.
fn secrets(server: &Server, made: Vec<String>) -> Vec<String> {
    let dev = server.dev().clone();
    let mut secrets = vec![
        CREDENTIAL.to_owned(),
        CALLBACK_SECRET.to_owned(),
        WEBHOOK_SECRET.to_owned(),
        MAIL_PASSWORD.to_owned(),
        FEED_KEY.to_owned(),
        MASTER_KEY.to_owned(),
        CODE.to_owned(),
        CARD.to_owned(),
        "4242 4242 4242 4242".to_owned(),
        dev.sandbox_secret_key,
        dev.sandbox_public_key,
        dev.live_secret_key,
        dev.live_public_key,
        dev.operator_token,
    ];
    secrets.extend(made);
    secrets
}

/// Places to search, each with the proof that a search there finds something.
fn places(world: &mut World) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut places: Vec<(String, Vec<u8>)> = std::mem::take(&mut world.seen)
        .into_iter()
        .map(|(what, text)| (what, text.into_bytes()))
        .collect();
    let log = log(&world.server);
    let (said, mails) = (world.mails.transcript(), log.clone());
    ensure!(
        holds(
            said.as_bytes(),
            STANDARD_NO_PAD
                .encode(format!("\0merchant\0{MAIL_PASSWORD}"))
                .as_bytes()
        ),
        "{said}"
    );
    ensure!(
        mails.contains("\"level\":\"TRACE\"") && log.lines().count() > 200,
        "there is a whole log"
    );
    places.push(("the log".to_owned(), log.into_bytes()));
    let store = files(&world.server.data().join("store"))?;
    let found = store.iter().any(|(_, bytes)| holds(bytes, OPEN.as_bytes()));
    ensure!(found, "the search in the store finds what is there");
    places.extend(store);
    let is_answered = places
        .iter()
        .filter(|(what, _)| what.starts_with("/operator/v1/transactions"));
    ensure!(
        is_answered
            .filter(|(_, text)| holds(text, OPEN.as_bytes()))
            .count()
            >= 2
    );
    Ok(places)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_found_in_anything_that_a_server_writes_answers_or_keeps() -> anyhow::Result<()>
{
    let provider = indiscreet_provider(CREDENTIAL).await?;
    let mut world = World::new(&provider.url).await?;
    with_the_test_gateway(&mut world).await?;
    with_a_talking_gateway(&mut world).await?;
    let made = at_the_desk(&mut world).await?;
    eventually("mails and webhooks are sent", SOON, async || {
        let said = world.mails.transcript();
        let is_done =
            said.matches("\r\n.\r\n").count() >= 2 && world.receiver.received().len() >= 4;
        Ok(is_done.then_some(()))
    })
    .await?;
    read_all(&mut world).await?;
    world.server.stop().await?;

    let secrets = secrets(&world.server, made);
    let places = places(&mut world)?;
    let mut leaks = Vec::new();
    for secret in &secrets {
        for form in forms(secret) {
            for (place, text) in &places {
                if let Some(at) = text.windows(form.len()).position(|part| part == form) {
                    let around =
                        &text[at.saturating_sub(300)..text.len().min(at + form.len() + 60)];
                    leaks.push(format!(
                        "{secret} in {place}: …{}…",
                        String::from_utf8_lossy(around)
                    ));
                }
            }
        }
    }
    ensure!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
    assert_eq!(
        world.trap.caught(),
        0,
        "pictures and pages of merchants are for browsers to fetch"
    );
    Ok(())
}
