//! Payouts that are ordered in the console: reviewed, approved by a second person where the app's
//! settings ask for one, and sent once, also over kills of the server.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchyard_tests::server::{Server, Setup};

const OWNER: &str = "owner@example.com";
const PASSWORD: &str = "violet-teapots-locally";
const FIELDS: [(&str, &str); 7] = [
    ("method", "mtn_bj"),
    ("amount", "1 500"),
    ("recipient.msisdn", "4149518161"),
    ("customer.first_name", "Awa"),
    ("customer.last_name", "Diop"),
    ("customer.email", "awa@example.com"),
    ("description", "Wages <May>"),
];

/// A browser with the session of one person.
struct Browser {
    http: reqwest::Client,
    base: String,
    cookie: String,
}

/// A page, or the address to which it leads.
struct Page {
    status: u16,
    leads_to: String,
    body: String,
}

impl Browser {
    async fn signed_in(server: &Server, email: &str) -> anyhow::Result<Self> {
        let fields = [("email", email), ("password", PASSWORD)];
        let client = server.stranger();
        let response = client.post_form("/console/sign-in", &fields).await?;
        let cookie = response.headers().get("set-cookie").context("a session")?;
        let cookie = cookie.to_str()?.split(';').next().unwrap_or_default();
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Ok(Self {
            http: http.build()?,
            base: server.dev().base_url.clone(),
            cookie: cookie.to_owned(),
        })
    }

    async fn page(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Page> {
        let response = request.header("cookie", &self.cookie).send().await?;
        let leads_to = response.headers().get("location");
        Ok(Page {
            status: response.status().as_u16(),
            leads_to: leads_to
                .map_or("", |to| to.to_str().unwrap_or(""))
                .to_owned(),
            body: response.text().await?,
        })
    }

    async fn get(&self, path: &str) -> anyhow::Result<Page> {
        self.page(self.http.get(format!("{}{path}", self.base)))
            .await
    }

    /// Submits the form of a page with one value changed.
    async fn submit(
        &self,
        page: &Page,
        path: &str,
        step: &str,
        change: Option<(&'static str, &'static str)>,
    ) -> anyhow::Result<Page> {
        let mut fields = FIELDS.to_vec();
        fields.retain(|(name, _)| change.is_none_or(|(changed, _)| changed != *name));
        fields.extend(change);
        let (csrf, form) = (page.field("csrf")?, page.field("form")?);
        fields.extend([("csrf", &*csrf), ("form", &*form), ("do", step)]);
        let request = self.http.post(format!("{}{path}", self.base));
        self.page(request.form(&fields)).await
    }
}

impl Page {
    fn field(&self, name: &str) -> anyhow::Result<String> {
        let start = format!("name=\"{name}\" value=\"");
        let rest = self.body.split_once(&start).context("the field")?.1;
        Ok(rest.split('"').next().unwrap_or_default().to_owned())
    }
}

async fn payouts(server: &Server) -> anyhow::Result<Vec<Value>> {
    let listed = server.merchant().get("/v1/payouts").await?.expect(200)?;
    Ok(listed.body["data"].as_array().context("a list")?.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_that_is_sent_again_after_a_kill_makes_no_second_payout() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let browser = Browser::signed_in(&server, OWNER).await?;
    let path = format!("/console/apps/{}/sandbox/payouts/new", server.dev().app_id);
    let page = browser.get(&format!("{path}?method=mtn_bj")).await?;
    ensure!(page.status == 200, "{}", page.body);
    let review = browser.submit(&page, &path, "review", None).await?;
    ensure!(review.status == 200, "{}", review.body);
    ensure!(review.body.contains("Wages &#60;May&#62;"));
    ensure!(payouts(&server).await?.is_empty(), "a review sends nothing");

    let sent = browser.submit(&review, &path, "send", None).await?;
    ensure!(
        sent.leads_to.ends_with("?done=payout-made"),
        "{}",
        sent.body
    );
    let made = payouts(&server).await?;
    ensure!(made.len() == 1 && made[0]["amount"] == 1_500, "{made:?}");
    let id = made[0]["id"].as_str().context("its id")?;
    let again = browser.submit(&review, &path, "send", None).await?;
    ensure!(again.status == 409, "the same form again: {}", again.status);

    // A server that was started again has forgotten the numbers of forms.
    server.kill().await?;
    server.up().await?;
    let again = browser.submit(&review, &path, "send", None).await?;
    ensure!(again.leads_to.contains(id), "{}", again.body);
    server.kill().await?;
    server.up().await?;
    let changed = Some(("amount", "9999"));
    let other = browser.submit(&review, &path, "send", changed).await?;
    ensure!(other.status == 422, "another payout under its number");
    ensure!(payouts(&server).await?.len() == 1);
    Ok(())
}

/// A server on which a live payout of more than XOF 1,000 needs a second person. Returns the path
/// of the live pages of its app.
async fn with_two_people() -> anyhow::Result<(Server, String)> {
    let server = Server::start(Setup::default()).await?;
    let app = server.dev().app_id.clone();
    let operator = server.operator();
    let path = format!("/operator/v1/apps/{app}");
    let live = json!({ "environment": "live", "gateway": "switchyard_demo", "account_name": "A" });
    let connections = format!("{path}/connections");
    operator.post(&connections, &live).await?.expect(201)?;
    let second = json!({ "payouts_above": { "XOF": "1000" }, "routing": true });
    let change = json!({ "settings": { "second_person": second } });
    let changed = operator.patch(&path, &change).await?.expect(200)?;
    ensure!(changed.body["data"]["settings"]["second_person"] == second);
    Ok((server, format!("/console/apps/{app}/live")))
}

impl Browser {
    /// Invites a person into the team of the owner, whose browser this is.
    async fn colleague(&self, server: &Server, scope: &str, role: &str) -> anyhow::Result<Self> {
        let email = format!("{role}@example.com");
        let path = format!("{scope}/team/new");
        let form = self.get(&path).await?;
        let fields = [("email", &*email), ("name", "Grace Hopper"), ("role", role)];
        let invited = self.send(&form, &path, &fields).await?;
        let from = invited.body.split_once("id=\"link\"").context("a link")?.1;
        let link = from.split_once("value=\"").context("its address")?.1;
        let link = link.split('"').next().unwrap_or_default().to_owned();
        accept(server, &link, &email).await
    }

    /// Sends a form of a page with these fields.
    async fn send(&self, page: &Page, path: &str, own: &[(&str, &str)]) -> anyhow::Result<Page> {
        let (csrf, form) = (page.field("csrf")?, page.field("form")?);
        let mut fields = own.to_vec();
        fields.extend([("csrf", &*csrf), ("form", &*form)]);
        let request = self.http.post(format!("{}{path}", self.base));
        self.page(request.form(&fields)).await
    }

    /// Orders a payout in live. Returns the review, and the address to which its form leads.
    async fn order(&self, scope: &str, amount: &'static str) -> anyhow::Result<(Page, String)> {
        let path = format!("{scope}/payouts/new");
        let page = self.get(&format!("{path}?method=mtn_bj")).await?;
        let change = Some(("amount", amount));
        let review = self.submit(&page, &path, "review", change).await?;
        ensure!(review.status == 200, "{}", review.body);
        let sent = self.submit(&review, &path, "send", change).await?;
        ensure!(sent.status == 303, "{}", sent.body);
        Ok((review, sent.leads_to))
    }

    /// Sends the decision of a proposal's page, read before with the same session.
    async fn decide(&self, page: &Page, path: &str, what: &str) -> anyhow::Result<Page> {
        self.send(page, path, &[("do", what), ("seen", "0")]).await
    }
}

/// Accepts an invitation and signs in.
async fn accept(server: &Server, link: &str, email: &str) -> anyhow::Result<Browser> {
    let path = link.find("/console/").context("a path")?;
    let fields = [("password", PASSWORD), ("name", "Grace Hopper")];
    let accepted = server.stranger().post_form(&link[path..], &fields).await?;
    ensure!(accepted.status() == 303, "{}", accepted.status());
    Browser::signed_in(server, email).await
}

async fn live_payouts(server: &Server) -> anyhow::Result<usize> {
    let merchant = server.stranger().with_key(&server.dev().live_secret_key);
    let listed = merchant.get("/v1/payouts").await?.expect(200)?;
    Ok(listed.body["data"].as_array().context("a list")?.len())
}

/// Address without what follows its path.
fn path_of(address: &str) -> &str {
    address.split('?').next().unwrap_or_default()
}

/// People of one account.
struct Team {
    owner: Browser,
    finance: Browser,
    admin: Browser,
    support: Browser,
}

impl Team {
    async fn of(server: &Server, scope: &str) -> anyhow::Result<Self> {
        let owner = Browser::signed_in(server, OWNER).await?;
        Ok(Self {
            finance: owner.colleague(server, scope, "finance").await?,
            admin: owner.colleague(server, scope, "admin").await?,
            support: owner.colleague(server, scope, "support").await?,
            owner,
        })
    }

    /// The proposer, a role without the right and another tenant decide nothing.
    async fn others_decide_nothing(&self, server: &Server, proposal: &str) -> anyhow::Result<()> {
        let own = self.finance.get(proposal).await?;
        ensure!(own.body.contains("another person decides about it"));
        let refused = self.finance.decide(&own, proposal, "approve").await?;
        ensure!(refused.status == 422 && refused.body.contains("You cannot decide"));
        let seen = self.support.get(proposal).await?;
        ensure!(seen.status == 200 && !seen.body.contains("value=\"approve\""));
        let account = self.support.get("/console/account").await?;
        let refused = self.support.decide(&account, proposal, "approve").await?;
        ensure!(refused.status == 403, "{}", refused.status);
        let stranger = other_tenant(server).await?;
        ensure!(stranger.get(proposal).await?.status == 404);
        let account = stranger.get("/console/account").await?;
        let refused = stranger.decide(&account, proposal, "approve").await?;
        ensure!(refused.status == 404, "{}", refused.status);
        Ok(())
    }

    /// Two browsers approve at the same time. Returns the page of the payout.
    async fn approve_twice(&self, proposal: &str) -> anyhow::Result<String> {
        let (owner, admin) = (&self.owner, &self.admin);
        let seen = (owner.get(proposal).await?, admin.get(proposal).await?);
        ensure!(seen.0.body.contains("1\u{a0}001") && seen.0.body.contains("4149518161"));
        let (one, two) = tokio::join!(
            owner.decide(&seen.0, proposal, "approve"),
            admin.decide(&seen.1, proposal, "approve"),
        );
        let (one, two) = (one?, two?);
        let (done, late) = match one.status {
            303 => (one, two),
            _ => (two, one),
        };
        let to = &done.leads_to;
        ensure!(to.ends_with("?done=payout-approved"), "{}", done.body);
        ensure!(late.status == 422 && late.body.contains("already decided"));
        Ok(path_of(to).to_owned())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_person_approves_a_large_payout_and_it_is_paid_once() -> anyhow::Result<()> {
    let (mut server, scope) = with_two_people().await?;
    let team = Team::of(&server, &scope).await?;
    let (review, alone) = team.finance.order(&scope, "1000").await?;
    ensure!(alone.ends_with("?done=payout-made"), "{alone}");
    ensure!(review.body.contains("Real money leaves your account"));
    ensure!(live_payouts(&server).await? == 1);

    let (review, proposed) = team.finance.order(&scope, "1001").await?;
    ensure!(review.body.contains("Another person has to approve"));
    ensure!(proposed.ends_with("?done=proposed"), "{proposed}");
    let proposal = path_of(&proposed);
    server.kill().await?;
    server.up().await?;
    let path = format!("{scope}/payouts/new");
    let change = Some(("amount", "1001"));
    let again = team.finance.submit(&review, &path, "send", change).await?;
    ensure!(again.leads_to == proposed, "{}", again.leads_to);
    ensure!(live_payouts(&server).await? == 1, "a proposal pays nothing");
    let mailed = mailed(&server).await?;
    ensure!(
        mailed == ["admin@example.com", OWNER],
        "those who may decide: {mailed:?}"
    );
    team.others_decide_nothing(&server, proposal).await?;
    ensure!(live_payouts(&server).await? == 1);

    let payout = team.approve_twice(proposal).await?;
    ensure!(live_payouts(&server).await? == 2);
    server.kill().await?;
    server.up().await?;
    let page = team.admin.get("/console/account").await?;
    let late = team.admin.decide(&page, proposal, "approve").await?;
    ensure!(late.status == 422, "{}", late.status);
    // The old form makes a new proposal, whose approval pays nothing more.
    let again = team.finance.submit(&review, &path, "send", change).await?;
    let second = path_of(&again.leads_to);
    ensure!(
        second != proposal && second.contains("/approvals/"),
        "{second}"
    );
    let page = team.admin.get(second).await?;
    let approved = team.admin.decide(&page, second, "approve").await?;
    ensure!(path_of(&approved.leads_to) == payout, "{}", approved.body);
    ensure!(live_payouts(&server).await? == 2);
    audited(&team.owner, &scope, proposal).await
}

/// Recipients of mails about a proposal, in the folder of development mode.
async fn mailed(server: &Server) -> anyhow::Result<Vec<String>> {
    let is_about = |mail: &String| mail.contains("waits for your decision");
    for _ in 0..100 {
        let mut to = Vec::new();
        for file in std::fs::read_dir(server.data().join("mail"))? {
            let path = file?.path();
            let mail = std::fs::read_to_string(path).unwrap_or_default();
            let line = mail.lines().find(|line| line.starts_with("To: "));
            let line = line.filter(|_| is_about(&mail)).unwrap_or_default();
            let address = line.rsplit(['<', ' ']).next().unwrap_or_default();
            to.extend(Some(address.trim_end_matches('>').to_owned()));
        }
        to.retain(|address| !address.is_empty());
        to.sort();
        if to.len() >= 2 {
            return Ok(to);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("no mails about the proposal")
}

/// The owner of another account.
async fn other_tenant(server: &Server) -> anyhow::Result<Browser> {
    let operator = server.operator();
    let account = json!({ "name": "Globex" });
    let account = operator.post("/operator/v1/accounts", &account).await?;
    let account = account.expect(201)?.data("id")?.to_owned();
    let email = "eve@example.com";
    let user = json!({ "email": email, "name": "Eve", "account": account });
    let invited = operator.post("/operator/v1/users", &user).await?;
    accept(server, invited.expect(201)?.data("url")?, email).await
}

/// Looks for the proposal and its decision in the audit log of the account.
async fn audited(owner: &Browser, scope: &str, proposal: &str) -> anyhow::Result<()> {
    let id = proposal.rsplit('/').next().context("an id")?;
    for action in ["propose", "approve_payout"] {
        let log = owner.get(&format!("{scope}/audit?action={action}")).await?;
        ensure!(log.body.contains(id), "{action}: {}", log.body);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_during_an_approval_leaves_one_payout_or_an_open_proposal() -> anyhow::Result<()> {
    let (mut server, scope) = with_two_people().await?;
    let owner = Browser::signed_in(&server, OWNER).await?;
    let finance = owner.colleague(&server, &scope, "finance").await?;
    for (made, delay) in [0, 2, 5, 10, 20, 40].into_iter().enumerate() {
        let (_, proposed) = finance.order(&scope, "5000").await?;
        let proposal = path_of(&proposed);
        let page = owner.get(proposal).await?;
        let (_, killed) = tokio::join!(owner.decide(&page, proposal, "approve"), async {
            tokio::time::sleep(Duration::from_millis(delay)).await;
            server.kill().await
        });
        killed?;
        server.up().await?;
        let now = owner.get(proposal).await?;
        let is_open = now.body.contains("value=\"approve\"");
        let paid = live_payouts(&server).await?;
        ensure!(
            paid == made + usize::from(!is_open),
            "{delay} ms: {paid}, {}",
            now.body
        );
        let again = owner.decide(&page, proposal, "approve").await?;
        ensure!(
            again.status == if is_open { 303 } else { 422 },
            "{}",
            again.status
        );
        ensure!(live_payouts(&server).await? == made + 1, "{delay} ms");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_replaces_no_live_rules_where_two_people_do() -> anyhow::Result<()> {
    let (server, _) = with_two_people().await?;
    let path = format!("/operator/v1/apps/{}/routing", server.dev().app_id);
    for (environment, status) in [("live", 403), ("sandbox", 200)] {
        let rules = json!({ "environment": environment, "rules": [], "fees": [] });
        let answer = server.operator().put(&path, &rules).await?.expect(status)?;
        let code = &answer.body["errors"][0]["code"];
        ensure!(
            (code == "second_person_needed") == (status == 403),
            "{}",
            answer.body
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_neither_loosens_the_rule_of_two_people_nor_becomes_two() -> anyhow::Result<()> {
    let (mut server, _) = with_two_people().await?;
    server.stop().await?;
    server.set("SWITCHYARD_OPERATOR__SECOND_PERSON", "true");
    server.up().await?;
    let operator = server.operator();
    let path = format!("/operator/v1/apps/{}", server.dev().app_id);
    for (payouts_above, routing, status) in [
        (json!({ "XOF": "1000" }), false, 403),
        (json!({ "XOF": "1001" }), true, 403),
        (json!({ "XOF": "1000", "USD": "5" }), true, 403),
        (json!({}), true, 403),
        (json!({ "XOF": "900", "KES": "0" }), true, 200),
    ] {
        let second = json!({ "payouts_above": payouts_above, "routing": routing });
        let settings = json!({ "second_person": second, "checkout_attempts": 5 });
        let answer = operator
            .patch(&path, &json!({ "settings": settings }))
            .await?;
        let answer = answer.expect(status)?;
        let now = operator.get(&path).await?.expect(200)?;
        let now = &now.body["data"]["settings"];
        let has_changed = status == 200;
        ensure!((now["second_person"] == second) == has_changed, "{now}");
        ensure!((now["checkout_attempts"] == 5) == has_changed, "{now}");
        let code = &answer.body["errors"][0]["code"];
        ensure!(
            (code == "second_person_needed") != has_changed,
            "{}",
            answer.body
        );
    }
    // A change of another setting leaves the rule as it is.
    let other = json!({ "settings": { "checkout_attempts": 4 } });
    operator.patch(&path, &other).await?.expect(200)?;
    let created = operator
        .post("/operator/v1/accounts", &json!({ "name": "Globex" }))
        .await?;
    let account = created.expect(201)?.data("id")?.to_owned();
    let mut links = Vec::new();
    for email in ["one@example.com", "two@example.com"] {
        let user = json!({ "email": email, "name": "A", "account": account });
        let invited = operator
            .post("/operator/v1/users", &user)
            .await?
            .expect(201)?;
        links.push(invited.data("url")?.to_owned());
    }
    accept(&server, &links[1], "two@example.com").await?;
    let second = accept(&server, &links[0], "one@example.com").await;
    ensure!(second.is_err(), "both first owners are users");
    let reset = json!({ "email": "two@example.com" });
    let refused = operator.post("/operator/v1/users/reset", &reset).await?;
    let refused = refused.expect(403)?;
    ensure!(refused.body["errors"][0]["code"] == "second_person_needed");
    Ok(())
}
