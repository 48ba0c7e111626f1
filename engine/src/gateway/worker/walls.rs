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

/// Refusal to load a gateway while these restrictions are missing, each `name: what it is (why)`;
/// `None` when the operator accepted all of them.
pub(super) fn refusal(missing: &[String], accepted: &[String]) -> Option<String> {
    let name = |wall: &String| wall.split(':').next().unwrap_or_default().to_owned();
    let refused: Vec<&String> = missing
        .iter()
        .filter(|wall| !accepted.contains(&name(wall)))
        .collect();
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
        for (missing, accepted, refused) in [
            (vec![], vec![], vec![]),
            (vec![landlock], vec![], vec!["landlock"]),
            (vec![landlock], vec!["network"], vec!["landlock"]),
            (vec![landlock], vec!["landlock"], vec![]),
            (vec![landlock, network], vec!["landlock"], vec!["network"]),
            (vec![landlock, network], vec![], vec!["landlock", "network"]),
            (vec![landlock, network], vec!["landlock", "network"], vec![]),
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
