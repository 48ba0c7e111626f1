//! Check that programs carry the list of their dependencies, as cargo-auditable writes it: a
//! scanner then finds known holes in the installed files alone.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use auditable_info::audit_info_from_file;

/// Section of the list in a program.
const SECTION: &str = ".dep-v0";

/// Checks files after they were stripped.
///
/// # Errors
/// Names the first file that has no list, or an empty one.
pub fn check(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        let count = count(file).with_context(|| {
            format!(
                "{} carries no list of its dependencies (section {SECTION}): build it with \
                 `cargo xtask stage --release --auditable`",
                file.display()
            )
        })?;
        println!("{count:>6} dependencies listed in {}", file.display());
    }
    Ok(())
}

/// Number of packages in the list of a file, itself aside.
fn count(file: &Path) -> anyhow::Result<usize> {
    let list = audit_info_from_file(file, Default::default())?;
    let count = list.packages.iter().filter(|package| !package.root).count();
    ensure!(count > 0, "the list is empty");
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;
    use crate::run::{must, program};

    /// This program with a section.
    fn with_list(folder: &Path, list: &str) -> anyhow::Result<PathBuf> {
        let (section, file) = (folder.join("section"), folder.join("program"));
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(list.as_bytes())?;
        fs::write(&section, packed.finish()?)?;
        let mut add = program("objcopy");
        add.arg(format!("--add-section={SECTION}={}", section.display()));
        must(add.arg(std::env::current_exe()?).arg(&file))?;
        Ok(file)
    }

    const ROOT: &str = r#"{"name":"a","version":"1.0.0","source":"local","root":true"#;
    const OTHER: &str = r#"{"name":"b","version":"2.0.0","source":"crates.io"}"#;

    #[test]
    fn a_program_without_dependencies_in_it_is_refused_by_name() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let whole = with_list(
            folder.path(),
            &format!(r#"{{"packages":[{ROOT},"dependencies":[1]}},{OTHER}]}}"#),
        )?;
        check(std::slice::from_ref(&whole))?;
        assert_eq!(count(&whole)?, 1);

        let bare = std::env::current_exe()?;
        let refused = check(&[whole, bare.clone()]).unwrap_err().to_string();
        assert!(refused.contains(&bare.display().to_string()), "{refused}");
        assert!(refused.contains(".dep-v0"), "{refused}");
        assert!(refused.contains("--auditable"), "{refused}");

        let empty = with_list(folder.path(), &format!(r#"{{"packages":[{ROOT}}}]}}"#))?;
        let refused = format!("{:#}", check(&[empty]).unwrap_err());
        assert!(refused.contains("the list is empty"), "{refused}");
        Ok(())
    }
}
