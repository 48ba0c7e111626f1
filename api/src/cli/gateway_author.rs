//! `switchyard gateway new` and `check`: the commands of a gateway's author, without a server.

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use switchyard_gateway_check::CheckGateway;
use switchyard_gateway_template::NewGateway;

use super::failed;
use super::gateways::Gateways;
use super::output::print;

#[derive(Subcommand)]
pub enum Gateway {
    New(NewGateway),
    Check(CheckGateway),
    #[command(flatten)]
    OfServer(Gateways),
}

/// Makes the folder of a new gateway, and says what comes next.
///
/// # Errors
/// When the name or the folder cannot be used.
pub fn create(new: &NewGateway) -> anyhow::Result<()> {
    let created = new.create(None)?;
    let folder = shown(&created.folder);
    print(&format!(
        "{folder} is a gateway for an imaginary provider. Next:\n  (cd {folder} && cargo test && cargo \
         build)\n  switchyard gateway check {folder}/target/debug/libgateway_{}.so\nThen make it \
         yours: docs/for-integrators.md.\n",
        new.name
    ))?;
    Ok(())
}

/// Checks a library. Exit codes: 0 nothing failed; 1 something did; 2 it could not be checked.
pub async fn check(check: &CheckGateway, is_json: bool) -> ExitCode {
    match check.run(is_json).await {
        Ok(is_good) => ExitCode::from(u8::from(!is_good)),
        Err(why) => {
            failed(&why);
            ExitCode::from(2)
        }
    }
}

/// A path as a person would write it from here.
fn shown(folder: &Path) -> String {
    let here = std::env::current_dir().ok();
    let inside = here.and_then(|here| folder.strip_prefix(here).ok().map(Path::to_owned));
    inside.as_deref().unwrap_or(folder).display().to_string()
}
