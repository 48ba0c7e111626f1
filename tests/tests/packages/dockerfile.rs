//! The steps of the Dockerfile, without a container engine: those of its last stage, on a copy of
//! this system, with the program and gateways that were built for the tests.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use switchyard_tests::client::payment;
use switchyard_tests::server::{free_port, stage};
use switchyard_tests::{Client, CommandLine};

use super::service::Service;
use super::system::{is_copy, run};

const DOCKERFILE: &str = include_str!("../../../Dockerfile");

/// An instruction of the last stage: its name, and the rest in one line.
type Instruction = (String, String);

fn instructions(text: &str) -> Vec<Instruction> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let all = joined.lines().filter_map(|line| line.split_once(' '));
    let mut last = Vec::new();
    for (name, rest) in all {
        if name == "FROM" {
            last.clear();
        }
        last.push((name.to_owned(), rest.trim().to_owned()));
    }
    last
}

/// The words of the one instruction of this name.
fn words<'a>(steps: &'a [Instruction], name: &str) -> anyhow::Result<&'a str> {
    let found = steps.iter().find(|(step, _)| step == name);
    Ok(&found.with_context(|| format!("no {name}"))?.1)
}

fn list(text: &str) -> anyhow::Result<Vec<String>> {
    serde_json::from_str(text).with_context(|| text.to_owned())
}

/// Carries out the steps that change the image, and returns its environment variables.
fn follow(steps: &[Instruction]) -> anyhow::Result<Vec<(String, String)>> {
    let mut variables = Vec::new();
    for (step, rest) in steps {
        match step.as_str() {
            "RUN" => {
                run("sh", &["-euc", rest])?;
            }
            "COPY" => {
                let rest = rest.strip_prefix("--from=build ").context("a built file")?;
                let (from, to) = rest.split_once(' ').context("two paths")?;
                let parent = Path::new(to).parent().context("a folder")?;
                fs::create_dir_all(parent)?;
                run("cp", &["-r", from, to])?;
            }
            "ENV" => {
                for pair in rest.split_whitespace() {
                    let (name, value) = pair.split_once('=').context("a variable")?;
                    variables.push((name.to_owned(), value.to_owned()));
                }
            }
            _ => {}
        }
    }
    Ok(variables)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs packages: cargo xtask test packages"]
async fn the_steps_of_the_dockerfile_make_a_healthy_server() -> anyhow::Result<()> {
    if !is_copy("dockerfile::the_steps_of_the_dockerfile_make_a_healthy_server")? {
        return Ok(());
    }
    let steps = instructions(DOCKERFILE);
    let built = stage()?;
    fs::create_dir_all("/out")?;
    for name in ["switchyard", "gateways"] {
        let from = built.join(name).display().to_string();
        run("cp", &["-r", &from, "/out/"])?;
    }
    let mut variables = follow(&steps)?;
    let user = words(&steps, "USER")?.split(':').next().context("a user")?;
    ensure!(user != "root" && user != "0", "the server has no rights");
    let program = list(words(&steps, "ENTRYPOINT")?)?.join(" ");
    let command = list(words(&steps, "CMD")?)?.join(" ");

    // The first commands of compose.yaml.
    let as_user = format!("setpriv --reuid {user} --regid {user} --clear-groups {program}");
    run(
        "sh",
        &[
            "-euc",
            &format!("{as_user} master-key /etc/switchyard/key/master.key"),
        ],
    )?;
    let printed = run(
        "sh",
        &["-euc", &format!("{as_user} operator-token --name ada")],
    )?;
    let token = printed.lines().next().context("a token")?.to_owned();
    let (_, hash) = printed.split_once("tokens = [").context("a setting")?;
    let hash = hash.split(']').next().context("a hash")?;
    let (port, admin) = (free_port()?, free_port()?);
    for (name, value) in [
        ("SERVER__PUBLIC_URL", "https://pay.example.com".to_owned()),
        ("SERVER__LISTEN", format!("127.0.0.1:{port}")),
        ("SERVER__ADMIN_LISTEN", format!("127.0.0.1:{admin}")),
        ("OPERATOR__TOKENS", format!("[{hash}]")),
    ] {
        variables.push((format!("SWITCHYARD_{name}"), value));
    }
    let service = Service::launch(user, &format!("{program} {command}"), &variables)?;
    let check = words(&steps, "HEALTHCHECK")?;
    let (_, check) = check.split_once("CMD ").context("a command")?;
    let mut check = list(check)?;
    for word in &mut check {
        *word = word.replace("8081", &admin.to_string());
    }
    let arguments: Vec<&str> = check.iter().skip(1).map(String::as_str).collect();
    run(check.first().context("a program")?, &arguments)?;

    let operator = CommandLine {
        program: program.into(),
        url: format!("http://127.0.0.1:{admin}"),
        token,
    };
    let gateways = variables
        .iter()
        .find(|(name, _)| name == "SWITCHYARD_GATEWAYS__DIR");
    let (_, gateways) = gateways.context("the folder of the gateways")?;
    let key = operator.first_app(&Path::new(gateways).join("libgateway_demo.so"))?;
    let merchant = Client::new(&format!("http://127.0.0.1:{port}"), Some(&key));
    let made = merchant
        .post("/v1/payments/initialize", &payment("A teapot"))
        .await?;
    made.expect(201)?;
    service.stop()
}
