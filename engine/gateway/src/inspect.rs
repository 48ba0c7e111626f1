//! Inspects a gateway's file without running any of it: the file has to be a library for this
//! machine, export only the one symbol, and contain a valid manifest. Each refusal states the
//! remedy.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{
    Architecture, Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind, elf,
};
use switchyard_gateway::abi;
use switchyard_gateway::manifest::{Manifest, ManifestError};

use super::routable;
use super::throttled_io::{self, Throttle};
use switchyard_core::limits::GATEWAY_FILE_BYTES;

/// Result of an inspection.
#[derive(Clone, Debug)]
pub struct Inspection {
    pub manifest: Arc<Manifest>,
    /// SHA-256 of the whole file, in lower-case hexadecimal: the identity of the version.
    pub sha256: String,
    pub bytes: usize,
    /// Symbols imported from other libraries, in order of name.
    pub imports: Vec<String>,
}

/// Refusal to install a file as a gateway. The engine continues as before.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error(
        "{path} cannot be read ({source}): check that it is a file and that this user may read it"
    )]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{path} has more than {GATEWAY_FILE_BYTES} bytes, which is no gateway: build it with `cargo build --release`"
    )]
    TooLarge { path: PathBuf },
    #[error(
        "{path} is not a whole ELF file ({reason}): copy it again, or build it again as a `cdylib`"
    )]
    NotElf { path: PathBuf, reason: String },
    #[error(
        "{path} is {found}, and a gateway is a shared library for {}: build it on and for this kind of machine, as a `cdylib`",
        std::env::consts::ARCH
    )]
    NotALibraryForThisMachine { path: PathBuf, found: String },
    #[error(
        "{path} does not export `{}`: it is no gateway, or its `gateway!(…)` line is missing",
        abi::SYMBOL
    )]
    NoSymbol { path: PathBuf },
    #[error(
        "{path} exports `{extra}` besides `{}`: a gateway exports that one symbol only, so hide the others",
        abi::SYMBOL
    )]
    MoreSymbols { path: PathBuf, extra: String },
    #[error(
        "{path} exports `{}` as something that is not the structure `gw_plugin_v1`: see examples/gateway-c",
        abi::SYMBOL
    )]
    NotAStructure { path: PathBuf },
    #[error(
        "{path} has no section `{}` with a manifest: use `gateway!(…)`, or embed gateway.json as examples/gateway-c does",
        abi::SECTION
    )]
    NoManifest { path: PathBuf },
    #[error("the manifest of {path} {source}")]
    Manifest {
        path: PathBuf,
        source: ManifestError,
    },
    #[error("{path} is not accepted: {why}")]
    Unroutable { path: PathBuf, why: String },
    #[error(
        "{path} says ABI {found} when it is loaded, and this engine has ABI {}: build it with a `switchyard-gateway` of that ABI",
        abi::ABI_MAJOR
    )]
    OtherAbi { path: PathBuf, found: u32 },
    #[error(
        "{path} has an entry table of {found} bytes, which is too short: build it again with a current `switchyard-gateway`"
    )]
    ShortTable { path: PathBuf, found: u32 },
    #[error(
        "{path} cannot be loaded ({reason}): it may need a library that this machine does not have"
    )]
    NotLoadable { path: PathBuf, reason: String },
    #[error("{path} is not loaded: {reason}")]
    Unconfined { path: PathBuf, reason: String },
    #[error("{path} is not loaded, because its process did not start: {reason}")]
    NotStarted { path: PathBuf, reason: String },
    #[error(
        "{path} cannot be kept in {dir} ({source}): make that a directory that this user may write in, on a disk with room"
    )]
    NotKept {
        path: PathBuf,
        dir: PathBuf,
        source: io::Error,
    },
    #[error("{path} changed while it was copied: add it again")]
    Changed { path: PathBuf },
    #[error(
        "{path}, the engine's own copy, is not what it was: put the gateway's file into the folder again, or restore the data folder"
    )]
    Damaged { path: PathBuf },
    #[error("{path} could not be taken on: {reason}")]
    NotTaken { path: PathBuf, reason: String },
}

/// Inspected file with its bytes: the copy is made from the bytes that were inspected.
pub(super) struct Inspected {
    pub inspection: Inspection,
    pub bytes: Vec<u8>,
}

/// Inspects a file that is to be installed. All its methods have to be routable.
pub(super) fn inspect_new(path: &Path, pace: Throttle) -> Result<Inspected, Refused> {
    let inspected = inspect(path, pace)?;
    match routable::misfit_of(&inspected.inspection.manifest) {
        None => Ok(inspected),
        Some(why) => Err(Refused::Unroutable {
            path: path.to_owned(),
            why,
        }),
    }
}

/// Inspects any file, also one that was installed earlier.
pub(super) fn inspect(path: &Path, pace: Throttle) -> Result<Inspected, Refused> {
    let (bytes, sha256) = read(path, pace)?;
    let (manifest, imports) = read_manifest(path, &bytes)?;
    let inspection = Inspection {
        manifest: Arc::new(manifest),
        sha256,
        bytes: bytes.len(),
        imports,
    };
    Ok(Inspected { inspection, bytes })
}

fn read(path: &Path, pace: Throttle) -> Result<(Vec<u8>, String), Refused> {
    let unreadable = |source| Refused::Unreadable {
        path: path.to_owned(),
        source,
    };
    // Check the type before opening: opening a pipe would block until its other end is opened.
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(io::Error::other("it is no regular file")));
    }
    let file = fs::File::open(path).map_err(unreadable)?;
    let expected = metadata.len().min(GATEWAY_FILE_BYTES + 1);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    let keep = |piece: &[u8]| bytes.extend_from_slice(piece);
    let sha256 =
        throttled_io::read(file.take(GATEWAY_FILE_BYTES + 1), pace, keep).map_err(unreadable)?;
    if bytes.len() as u64 > GATEWAY_FILE_BYTES {
        return Err(Refused::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok((bytes, sha256))
}

pub(super) fn read_manifest(path: &Path, bytes: &[u8]) -> Result<(Manifest, Vec<String>), Refused> {
    let owned = || path.to_owned();
    let not_elf = |reason: String| Refused::NotElf {
        path: path.to_owned(),
        reason,
    };
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err(not_elf("it does not begin as one".into()));
    }
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| not_elf(error.to_string()))?;
    if file.kind() != ObjectKind::Dynamic || !is_this_machine(file.architecture()) {
        let found = format!("{:?} code of kind {:?}", file.architecture(), file.kind());
        return Err(Refused::NotALibraryForThisMachine {
            path: owned(),
            found: found.to_lowercase(),
        });
    }
    check_segments(&file, bytes.len()).map_err(|reason| not_elf(reason.into()))?;

    let mut is_there = false;
    for symbol in file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition())
    {
        let name = symbol.name().map_err(|error| not_elf(error.to_string()))?;
        if name != abi::SYMBOL {
            return Err(Refused::MoreSymbols {
                path: owned(),
                extra: name.chars().take(80).collect(),
            });
        }
        if symbol.kind() != SymbolKind::Data || symbol.size() < TABLE_BYTES {
            return Err(Refused::NotAStructure { path: owned() });
        }
        is_there = true;
    }
    if !is_there {
        return Err(Refused::NoSymbol { path: owned() });
    }

    let section = file
        .section_by_name(abi::SECTION)
        .ok_or_else(|| Refused::NoManifest { path: owned() })?;
    let manifest = section.data().map_err(|error| not_elf(error.to_string()))?;
    let manifest = Manifest::parse(manifest).map_err(|source| Refused::Manifest {
        path: owned(),
        source,
    })?;
    let mut imports: Vec<String> = file
        .dynamic_symbols()
        .filter(ObjectSymbol::is_undefined)
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| !name.is_empty())
        .collect();
    imports.sort_unstable();
    Ok((manifest, imports))
}

/// Checks that the file contains its segments. Access to a mapped segment beyond the end of the
/// file would kill the process by a signal.
fn check_segments(file: &ElfFile64<'_, Endianness>, length: usize) -> Result<(), &'static str> {
    let endian = file.endian();
    let segments = file
        .elf_header()
        .program_headers(endian, file.data())
        .map_err(|_| "its segments cannot be read")?;
    for segment in segments {
        let end = segment
            .p_offset(endian)
            .checked_add(segment.p_filesz(endian));
        if segment.p_type(endian) == elf::PT_LOAD && end.is_none_or(|end| end > length as u64) {
            return Err("it ends before its segments do");
        }
    }
    Ok(())
}

fn is_this_machine(architecture: Architecture) -> bool {
    match std::env::consts::ARCH {
        "x86_64" => architecture == Architecture::X86_64,
        "aarch64" => architecture == Architecture::Aarch64,
        "riscv64" => architecture == Architecture::Riscv64,
        _ => false,
    }
}

const TABLE_BYTES: u64 = size_of::<abi::Plugin>() as u64;
