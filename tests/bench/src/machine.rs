//! The machine that the figures are of, as far as it matters to them. Nothing that names it or its
//! owner.

use std::process::Command;

use anyhow::Context as _;

/// Description of the machine: lines of a name and a value.
pub fn described() -> Vec<(&'static str, String)> {
    vec![
        ("processor", processor()),
        ("memory", memory()),
        ("disk", disk()),
        ("kernel", kernel()),
        ("built from", commit()),
    ]
}

/// Seconds for which processors have worked for this process so far, in steps of a hundredth; 0
/// when the kernel does not say.
pub fn worked() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in brackets, which may have anything in it. User and
    // system time are the 14th and 15th.
    let behind_name = stat
        .rsplit_once(") ")
        .map_or("", |(_, behind_name)| behind_name);
    let ticks = behind_name.split(' ').skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / TICKS_A_SECOND
}

/// Bytes that this process has sent to the disk so far.
///
/// # Errors
/// When the kernel does not count them.
pub fn written_bytes() -> anyhow::Result<u64> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let bytes = field(&io, "write_bytes").context("no count of written bytes")?;
    Ok(bytes.parse()?)
}

/// Unit of times in the kernel's files; it does not depend on the internal unit.
const TICKS_A_SECOND: f64 = 100.0;

/// Version of the kernel without a builder's suffix.
fn kernel() -> String {
    let release = first_line("/proc/sys/kernel/osrelease");
    let version = release.split('-').next().unwrap_or(&release);
    format!("Linux {version}")
}

fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let clock = field(&info, "cpu MHz").and_then(|mhz| mhz.parse::<f64>().ok());
    let clock = clock.map_or_else(String::new, |mhz| format!(", {:.1} GHz", mhz / 1_000.0));
    let model = field(&info, "model name").unwrap_or("unknown");
    let is_virtual = field(&info, "flags").is_some_and(|flags| flags.contains("hypervisor"));
    let kind = if is_virtual {
        ", of a virtual machine"
    } else {
        ""
    };
    format!("{model}, {cores} cores{clock}{kind}")
}

fn memory() -> String {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib =
        field(&info, "MemTotal").and_then(|text| text.trim_end_matches(" kB").parse::<f64>().ok());
    kib.map_or_else(unknown, |kib| format!("{:.0} GiB", kib / 1_048_576.0))
}

/// The kind of disk on which this program lies, which is where the measurements write.
fn disk() -> String {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let Ok(program) = std::env::current_exe() else {
        return unknown();
    };
    // "36 35 98:0 /root /mount rw,relatime - ext4 /dev/vda rw": the longest mount point that we lie
    // under.
    let fields = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let ours = fields
        .filter(|fields| {
            fields
                .get(4)
                .is_some_and(|mount| program.starts_with(mount))
        })
        .max_by_key(|fields| fields[4].len());
    let Some(ours) = ours else { return unknown() };
    let system = ours.iter().skip_while(|field| **field != "-").nth(1);
    let device = std::fs::canonicalize(format!("/sys/dev/block/{}", ours[2])).ok();
    let kind = device.map_or_else(unknown, |device| {
        let name = device
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let own = device.join("queue/rotational");
        // A partition has its queue one level up.
        let queue = if own.exists() {
            own
        } else {
            device.join("../queue/rotational")
        };
        let spins = first_line(&queue.to_string_lossy()) == "1";
        match &name {
            name if name.starts_with("nvme") => "NVMe".to_owned(),
            name if name.starts_with("vd") => "virtual (virtio)".to_owned(),
            _ if spins => "spinning".to_owned(),
            _ => "solid state".to_owned(),
        }
    });
    format!("{kind}, {}", system.unwrap_or(&"unknown file system"))
}

/// The commit, and whether there is more than it in the tree.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else {
        return unknown();
    };
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ":/",
        ":!/docs/benchmarks.md",
    ]);
    match changed.as_deref() {
        Some("") => commit,
        _ => format!("{commit}, and changes that are not committed"),
    }
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

fn first_line(path: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().next().map_or_else(unknown, str::to_owned)
}

fn unknown() -> String {
    "unknown".to_owned()
}
