//! The test gateway linked in: an engine under the fuzzer reads no files.

use gateway_demo::Demo;
use ring::digest::{SHA256, digest};
use switchyard_gateway::abi::{ABI_MAJOR, Plugin};
use switchyard_gateway::runtime::{self, Entry as _};
use switchyard_gateway_host::{ChangeAuthor, GatewaySettings, Gateways, StaticGateways};
use switchyard_system::clock::Clock;
use switchyard_system::ids::Ids;

/// Export of the library. Each of the five gateways in this program exports the same name, so it is
/// declared again.
static PLUGIN: Plugin = Plugin {
    abi_major: ABI_MAJOR,
    size: size_of::<Plugin>() as u32,
    begin: runtime::c_begin::<Demo>,
    resume: runtime::c_resume,
    end: runtime::c_end,
};

/// Gateways of which one is loaded and current.
///
/// # Panics
/// When it does not load: then there is nothing to try.
pub async fn gateways(clock: &Clock) -> Gateways {
    let settings = GatewaySettings {
        dir: "/nowhere".into(), // there are no files
        ..GatewaySettings::default()
    };
    let gateways = Gateways::new(settings, clock.clone(), Ids::system());
    let gateways = gateways.expect("the client is made of what is compiled in");
    let manifest = Demo::manifest();
    let shelf = StaticGateways::of([(manifest, &PLUGIN)]);
    gateways.put_up(&shelf.expect("the manifest is in order"));
    let sha256 = digest(&SHA256, manifest);
    let sha256 = base16ct::lower::encode_string(sha256.as_ref());
    let by = ChangeAuthor::new("fuzz");
    let installed = gateways.install_shelved("switchyard_demo", &sha256, &by);
    installed.await.expect("it lies on the shelf");
    gateways
}
