//! The console of a production installation: a listener of its own, the first users by the command
//! line, a second factor for those who manage money.

use anyhow::Context as _;
use switchyard_tests::Client;
use switchyard_tests::server::free_port;

use super::installation::Installation;

const PASSWORD: &str = "violet teapots hum softly";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_operator_is_invited_by_command_and_signs_in_on_the_consoles_own_address()
-> anyhow::Result<()> {
    let mut installation = Installation::follow()?;
    let port = free_port()?;
    let address = format!("http://127.0.0.1:{port}");
    let listen = format!("127.0.0.1:{port}");
    installation.environment.extend([
        ("SWITCHYARD_CONSOLE__PUBLIC_URL".to_owned(), address.clone()),
        ("SWITCHYARD_CONSOLE__LISTEN".to_owned(), listen),
    ]);
    installation.up().await?;
    let person = ["--email", "ada@example.com", "--name", "Ada Lovelace"];
    let invite = [&["users", "invite"][..], &person].concat();
    let made = installation.ask(&invite)?;
    let url = made["url"].as_str().context("the link")?;
    let path = url
        .strip_prefix(&address)
        .context("the console's address")?;
    // Neither of the other listeners has the console.
    for port in [installation.port, installation.admin_port] {
        let other = Client::new(&format!("http://127.0.0.1:{port}"), None);
        for path in ["/console/sign-in", path] {
            assert_eq!(other.get(path).await?.status, 404, "{port} {path}");
        }
    }
    let console = Client::new(&address, None);
    for path in [
        "/v1/payments",
        "/operator/v1/apps",
        "/metrics",
        "/checkout/py_1",
    ] {
        assert_eq!(console.get(path).await?.status, 404, "{path}");
    }
    let saved = console
        .post_form(path, &[("name", "Ada Lovelace"), ("password", PASSWORD)])
        .await?;
    assert_eq!(saved.status(), 303);
    assert!(installation.ask(&invite).is_err(), "there is an operator");
    assert_eq!(
        console
            .post_form(path, &[("password", PASSWORD)])
            .await?
            .status(),
        410
    );
    let sign_in = [("email", "ada@example.com"), ("password", PASSWORD)];
    let next = console.post_form("/console/sign-in", &sign_in).await?;
    assert_eq!(next.status(), 200);
    assert!(!next.headers().contains_key("set-cookie"), "no session yet");
    let page = next.text().await?;
    assert!(page.contains("Set up your authenticator app"), "{page}");
    let listed = installation.ask(&["users", "list"])?;
    assert_eq!(listed[0]["state"], "active");
    assert_eq!(listed[0]["roles"][0]["role"], "operator");
    // The user is there after a kill.
    installation.kill()?;
    installation.up().await?;
    let again = console.post_form("/console/sign-in", &sign_in).await?;
    assert!(
        again
            .text()
            .await?
            .contains("Set up your authenticator app")
    );
    Ok(())
}
