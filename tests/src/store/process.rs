//! The process that a store's crash test kills.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use switchyard_store::Backend;

/// Output of a killed child. Every line stands for an acknowledged commit.
pub struct Said {
    /// Whether the child opened the store.
    pub opened: bool,
    /// Lane and number.
    pub acknowledged: Vec<(u64, u64)>,
    pub status: ExitStatus,
}

/// Moment of the kill.
#[derive(Clone, Copy, Debug)]
pub enum Kill {
    AfterCommits(usize),
    AfterMillis(u64),
}

/// Runs `program <backend> <directory>`, kills it with SIGKILL at the given moment, and returns its
/// output so far.
pub fn run_and_kill(
    program: &str,
    backend: Backend,
    directory: &Path,
    environment: &[(&str, &Path)],
    kill: Kill,
) -> std::io::Result<Said> {
    let mut child = Command::new(program)
        .arg(backend.name())
        .arg(directory)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().map(BufReader::new);
    let heard = listen(&mut child, output, kill);
    // Kill the child after an error of `listen` as well.
    child.kill()?;
    let status = child.wait()?;
    let (opened, acknowledged) = heard?;
    Ok(Said {
        opened,
        acknowledged,
        status,
    })
}

fn listen(
    child: &mut Child,
    output: Option<BufReader<ChildStdout>>,
    kill: Kill,
) -> std::io::Result<(bool, Vec<(u64, u64)>)> {
    let (mut opened, mut acknowledged) = (false, Vec::new());
    if let Kill::AfterMillis(millis) = kill {
        std::thread::sleep(Duration::from_millis(millis));
        child.kill()?;
    }
    for line in output.into_iter().flat_map(BufRead::lines) {
        let line = line?;
        opened |= line == "open";
        // A line that the kill truncated must not be read as a smaller number. Only complete lines
        // end with a line feed, and `lines` does not distinguish them. A truncated last line is
        // harmless: every smaller number of its lane was acknowledged before.
        let number = line
            .split_once(' ')
            .and_then(|(lane, n)| Some((lane.parse().ok()?, n.parse().ok()?)));
        acknowledged.extend(number);
        if let Kill::AfterCommits(enough) = kill
            && acknowledged.len() == enough
        {
            // Vary the delay: immediately after an acknowledgment no commit is in flight.
            std::thread::sleep(Duration::from_micros(enough as u64 * 37 % 3_000));
            child.kill()?;
        }
    }
    Ok((opened, acknowledged))
}
