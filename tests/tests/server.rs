//! The program as an operator starts and stops it.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::{Value, json};
use switchyard_tests::{Server, Setup, server::stage};
use tokio::process::Command;

#[tokio::test]
async fn it_serves_ends_in_order_and_comes_back_with_the_same_keys() -> anyhow::Result<()> {
    let mut server = Server::start(Setup::default()).await?;
    let before = server.dev().clone();
    server.stranger().get("/healthz").await?.expect(200)?;
    server.stop().await?;
    server.up().await?;
    assert_eq!(server.dev(), &before);
    server.kill().await?;
    server.up().await?;
    assert_eq!(server.dev(), &before);
    Ok(())
}

#[tokio::test]
async fn secrets_of_development_are_for_their_owner_only() -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start(Setup::default()).await?;
    for name in ["dev.json", "master.key"] {
        let mode = std::fs::metadata(server.data().join(name))?
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o600, "{name} is {mode:o}");
    }
    Ok(())
}

#[tokio::test]
async fn an_unsafe_setting_stops_the_start_with_a_sentence_that_says_which() -> anyhow::Result<()> {
    for (settings, sentence) in [
        (
            vec![("SWITCHYARD_SERVER__LISTEN", "0.0.0.0:0")],
            "server.listen",
        ),
        (vec![("SWITCHYARD_WEBHOOK__RETRYS", "3")], "retrys"),
        (vec![("SWITCHYARD_STORE__CACHE", "1B")], "store.cache"),
    ] {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(stage()?.join("switchyard"));
        command
            .args(["serve", "--development", "--data"])
            .arg(folder.path())
            .envs(settings);
        let output = command.stdin(Stdio::null()).output().await?;
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence), "{said}");
    }
    Ok(())
}

/// A payment of 25 XOF, which can be paid in several countries; its id.
async fn payment(server: &Server, phone: Option<&str>) -> anyhow::Result<String> {
    let mut payment = switchyard_tests::client::payment("A teapot");
    payment["currency"] = json!("XOF");
    payment["methods"] = Value::Null;
    payment["customer"]["phone"] = json!(phone);
    let merchant = server.merchant();
    let made = merchant.post("/v1/payments/initialize", &payment).await?;
    let made = made.expect(201)?;
    let id = made.body["data"]["id"].as_str().context("an id")?;
    Ok(id.to_owned())
}

/// The country that is selected on the payment's page, as a peer at `from` gets it that says that
/// its client is in Senegal.
async fn selected(server: &Server, from: IpAddr, id: &str) -> anyhow::Result<Option<String>> {
    let peer = reqwest::Client::builder().local_address(from).build()?;
    let url = format!("{}/checkout/{id}", server.dev().base_url);
    let page = peer.get(url).header("CF-IPCountry", "SN").send().await?;
    let page = page.error_for_status()?.text().await?;
    anyhow::ensure!(page.contains("<option value=\"SN\""), "no choice: {page}");
    let Some((before, _)) = page.split_once("\" selected>") else {
        return Ok(None);
    };
    Ok(before.rsplit('"').next().map(str::to_owned))
}

#[tokio::test]
async fn the_country_header_of_a_trusted_proxy_and_of_nobody_else_selects_the_country()
-> anyhow::Result<()> {
    let proxy = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let server = Server::start(Setup {
        settings: vec![
            ("SWITCHYARD_SERVER__TRUSTED_PROXIES", "[\"127.0.0.2\"]"),
            ("SWITCHYARD_SERVER__COUNTRY_HEADER", "CF-IPCountry"),
        ],
        ..Setup::default()
    })
    .await?;
    let id = payment(&server, None).await?;
    assert_eq!(selected(&server, proxy, &id).await?.as_deref(), Some("SN"));
    let stranger = IpAddr::V4(Ipv4Addr::LOCALHOST);
    assert_eq!(selected(&server, stranger, &id).await?, None);
    // The number that the merchant gave says more than where the request comes from.
    let id = payment(&server, Some("+2290197808080")).await?;
    assert_eq!(selected(&server, proxy, &id).await?.as_deref(), Some("BJ"));
    Ok(())
}

#[tokio::test]
async fn icons_of_the_operators_folder_are_on_the_page_and_served_as_what_they_are()
-> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let png = b"\x89PNG\r\n\x1a\n of a brand";
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'/>";
    std::fs::write(folder.path().join("mtn.png"), png)?;
    std::fs::write(folder.path().join("moov_bj.svg"), svg)?;
    let name = folder.path().to_str().context("a name")?.to_owned();
    let server = Server::start(Setup {
        settings: vec![("SWITCHYARD_SERVICE__ICONS", name.leak())],
        ..Setup::default()
    })
    .await?;
    let id = payment(&server, None).await?;
    let stranger = server.stranger();
    let page = stranger.page(&format!("/checkout/{id}?country=BJ")).await?;
    let http = reqwest::Client::new();
    for (code, media_type, picture) in [
        ("mtn_bj", "image/png", &png[..]),
        ("moov_bj", "image/svg+xml", &svg[..]),
    ] {
        let path = format!("/icons/methods/{code}.svg");
        let (_, mark) = page
            .split_once(&format!("<img src=\"{path}?v="))
            .with_context(|| format!("no picture of {code} on {page}"))?;
        let mark = mark.split('"').next().context("its end")?;
        let url = format!("{}{path}?v={mark}", server.dev().base_url);
        let icon = http.get(url).send().await?.error_for_status()?;
        assert_eq!(icon.headers()["content-type"], media_type, "{code}");
        assert_eq!(&icon.bytes().await?[..], picture, "{code}");
    }
    assert!(page.contains("method=card_xof"), "another method: {page}");
    assert!(!page.contains("/icons/methods/card_xof.svg"), "it is drawn");
    Ok(())
}
