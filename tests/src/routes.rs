//! The routes of the program as its source writes them down, so that a test that walks them meets a
//! new one, too.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::ensure;

use crate::tidy::root;

/// Paths of routes, those of the operator API and of the account API with their prefixes.
#[derive(Default)]
pub struct Routes {
    /// Of `.route("…")`: the router alone knows of them.
    pub plain: BTreeSet<String>,
    /// Of `path = "…"`: they stand in an OpenAPI document, too.
    pub described: BTreeSet<String>,
}

impl Routes {
    /// Every route of the program.
    ///
    /// # Errors
    /// When the source cannot be read, or has a route that is not written in a way that this
    /// understands.
    pub fn of_the_program() -> anyhow::Result<Self> {
        let mut routes = Self::default();
        let mut folders = vec![root().join("api/src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    let is_tests = path.file_name().is_some_and(|name| name == "tests");
                    folders.extend((!is_tests).then_some(path));
                } else if path.extension().is_some_and(|end| end == "rs") {
                    routes.read(&path)?;
                }
            }
        }
        let count = routes.all().len();
        ensure!(count > 80, "only {count} routes");
        Ok(routes)
    }

    pub fn all(&self) -> BTreeSet<String> {
        self.plain.union(&self.described).cloned().collect()
    }

    fn read(&mut self, file: &Path) -> anyhow::Result<()> {
        let source = root().join("api/src");
        let prefix = match file.strip_prefix(source).ok() {
            Some(file) if file.starts_with("operator") => "/operator/v1",
            Some(file) if file.starts_with("account") => "/account/v1",
            _ => "",
        };
        let text = std::fs::read_to_string(file)?;
        // The unit tests of a file are at its end, in braces.
        let tests = text.find("#[cfg(test)]\nmod tests {");
        let code = &text[..tests.unwrap_or(text.len())];
        for other in [".route_service(", ".nest_service("] {
            ensure!(
                !code.contains(other),
                "{}: {other} is no route that tests find: write .route(\"…\"",
                file.display()
            );
        }
        let literal = |rest: &str| {
            let path = rest.trim_start().strip_prefix('"')?.split('"').next()?;
            path.starts_with('/').then(|| format!("{prefix}{path}"))
        };
        for rest in code.split(".route(").skip(1) {
            let path = literal(rest).ok_or_else(|| {
                let file = file.display();
                anyhow::anyhow!("{file}: a route whose path is not written where it is made is one that tests do not find")
            });
            self.plain.insert(path?);
        }
        let described = code.split("#[utoipa::path(").skip(1);
        let described = described.filter_map(|text| Some(text.split_once("path = ")?.1));
        self.described.extend(described.filter_map(literal));
        Ok(())
    }
}
