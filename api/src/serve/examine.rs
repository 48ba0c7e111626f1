//! Examination of the settings and of the files that they name. It starts and changes nothing: a
//! start and `switchyard config check` report the same problems.

use std::fs;
use std::io;
use std::path::Path;

use switchyard_engine::access::MasterKeyError;
use switchyard_system::descriptors;

use super::{Source, admission, current_master_key, folders};
use crate::config::{self, Examined, Faults, Settings, Weight};
use crate::geoip::GeoIp;
use crate::utils::MethodIcons;

/// Finds all problems of the settings and of their files.
pub fn examine(source: &Source) -> Examined {
    let mut examined = config::examine(source.file.as_deref(), &source.overrides);
    let mut faults = Faults(folders::check(&examined.settings));
    master_key(&examined.settings, &mut faults);
    totals(&examined.settings, &mut faults);
    files(&examined.settings, &mut faults);
    examined.add(faults.0);
    examined
}

fn master_key(settings: &Settings, faults: &mut Faults) {
    let setting = match settings.secrets.master_key {
        Some(_) => "secrets.master_key",
        None => "secrets.master_key_file",
    };
    match current_master_key(settings) {
        Ok(_) => {}
        Err(MasterKeyError::Missing(_)) if settings.development => {}
        Err(error) => {
            let weight = match &error {
                MasterKeyError::Read { why, .. } => weight_of(why),
                _ => Weight::Problem,
            };
            faults.add(setting, weight, format!("{:#}", anyhow::Error::from(error)));
        }
    }
}

/// The limits on connections, with the files that this process may have open.
fn totals(settings: &Settings, faults: &mut Faults) {
    match descriptors::raise_limit() {
        Ok(files) => {
            if let Err((setting, text)) = admission::totals(settings, files) {
                faults.push(setting, text);
            }
        }
        Err(why) => faults.push(
            "server.max_connections",
            format!("the limit on open files cannot be read: {why}"),
        ),
    }
}

fn files(settings: &Settings, faults: &mut Faults) {
    let opened = |setting: &str, opened: anyhow::Result<()>, faults: &mut Faults| {
        if let Err(error) = opened {
            let source = error
                .chain()
                .find_map(|cause| cause.downcast_ref::<io::Error>());
            let weight = source.map_or(Weight::Problem, weight_of);
            faults.add(setting, weight, format!("{error:#}"));
        }
    };
    if let Some(file) = &settings.server.geoip_file {
        opened("server.geoip_file", GeoIp::open(file).map(drop), faults);
    }
    if let Err(why) = settings.openid_secret() {
        let text = format!("openid.client_secret_file cannot be read: {why}");
        faults.add("openid.client_secret_file", weight_of(&why), text);
    }
    if let Some(folder) = &settings.service.icons {
        opened("service.icons", MethodIcons::read(folder).map(drop), faults);
    }
    readable_folder("gateways.dir", &settings.gateways.dir, faults);
    if let Some(parent) = settings.log.file.as_ref().and_then(|file| file.parent())
        && !parent.as_os_str().is_empty()
    {
        match parent.metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => faults.push("log.file", not_a_folder("log.file", parent)),
            Err(why) => faults.add(
                "log.file",
                weight_of(&why),
                format!(
                    "log.file: the folder {} cannot be used: {why}",
                    parent.display()
                ),
            ),
        }
    }
}

/// A fault of a folder that exists and cannot be read.
fn readable_folder(setting: &str, folder: &Path, faults: &mut Faults) {
    match fs::read_dir(folder) {
        Ok(_) => {}
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) if why.kind() == io::ErrorKind::NotADirectory => {
            faults.push(setting, not_a_folder(setting, folder));
        }
        Err(why) => faults.add(
            setting,
            weight_of(&why),
            format!(
                "{setting}: the folder {} cannot be read: {why}",
                folder.display()
            ),
        ),
    }
}

fn not_a_folder(setting: &str, path: &Path) -> String {
    format!("{setting}: {} is no folder: name another", path.display())
}

/// Weight of a failed read: another user may have the right that this one lacks.
fn weight_of(why: &io::Error) -> Weight {
    match why.kind() {
        io::ErrorKind::PermissionDenied => Weight::Unseen,
        _ => Weight::Problem,
    }
}
