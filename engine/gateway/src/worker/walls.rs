//! Names of the sandbox restrictions of a worker, and the decision whether it may run without some
//! of them.

/// Restrictions that `gateways.accept_missing_walls` may name.
pub const WALLS: [&str; 10] = [
    "network",
    "privileges",
    "dumps",
    "parent_death",
    "landlock",
    "write_limit",
    "memory_limit",
    "process_limit",
    "file_limit",
    "seccomp",
];

/// Returns the missing restrictions without which no gateway is loaded. The network namespace is
/// one of them only when the filter of system calls is missing, too: the filter permits no socket,
/// so a gateway has no network where the kernel or a container permits no namespace.
pub fn refused_walls<'w>(missing: &'w [String], accepted: &[String]) -> Vec<&'w String> {
    let has_filter = !missing.iter().any(|wall| name(wall) == "seccomp");
    let is_needed = |wall: &&String| !(has_filter && name(wall) == "network");
    let is_accepted = |wall: &&String| accepted.iter().any(|accepted| accepted == name(wall));
    let needed = missing.iter().filter(is_needed);
    needed.filter(|wall| !is_accepted(wall)).collect()
}

fn name(wall: &str) -> &str {
    wall.split(':').next().unwrap_or_default()
}

/// Refusal to load a gateway while these restrictions are missing, each `name: what it is (why)`;
/// `None` when the operator accepted all of them.
pub(super) fn refusal(missing: &[String], accepted: &[String]) -> Option<String> {
    let refused = refused_walls(missing, accepted);
    if refused.is_empty() {
        return None;
    }
    let names: Vec<String> = refused
        .iter()
        .map(|wall| format!("\"{}\"", name(wall)))
        .collect();
    let walls: Vec<&str> = refused.iter().map(|wall| wall.as_str()).collect();
    Some(format!(
        "this system does not confine it: {}. Run the engine where these can be had, or accept the \
         risk with `gateways.accept_missing_walls = [{}]`",
        walls.join("; "),
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_missing_wall_refuses_until_its_name_is_accepted() {
        let landlock = "landlock: a lock on files while they load (ENOSYS)";
        let network = "network: a network namespace of their own (EPERM)";
        let seccomp = "seccomp: a list of the system calls they may make (EINVAL)";
        for (missing, accepted, refused) in [
            (vec![], vec![], vec![]),
            (vec![landlock], vec![], vec!["landlock"]),
            (vec![landlock], vec!["network"], vec!["landlock"]),
            (vec![landlock], vec!["landlock"], vec![]),
            // Without a namespace the filter of system calls permits no socket.
            (vec![network], vec![], vec![]),
            (vec![network, seccomp], vec![], vec!["network", "seccomp"]),
            (vec![network, seccomp], vec!["seccomp"], vec!["network"]),
            (vec![network, seccomp], vec!["network", "seccomp"], vec![]),
            (vec![landlock, network], vec![], vec!["landlock"]),
        ] {
            let why = refusal(&texts(&missing), &texts(&accepted));
            assert_eq!(
                why.is_some(),
                !refused.is_empty(),
                "{missing:?} {accepted:?}"
            );
            for name in refused {
                assert!(WALLS.contains(&name));
                let why = why.as_deref().unwrap_or_default();
                assert!(why.contains(&format!("\"{name}\"")), "{why}");
            }
        }
    }
}
