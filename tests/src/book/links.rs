//! Chapters of the book, and links from page to page.

use std::collections::BTreeMap;

/// A chapter, as `docs/SUMMARY.md` lists it.
#[derive(Debug, PartialEq, Eq)]
pub struct Chapter {
    pub title: String,
    /// Path from `docs/`.
    pub path: String,
}

/// The chapters of a table of contents.
pub fn chapters(summary: &str) -> Vec<Chapter> {
    links(summary)
        .map(|(title, path)| Chapter {
            title: title.to_owned(),
            path: path.to_owned(),
        })
        .collect()
}

/// Links from page to page that lead to no heading, or from a page of the book out of it, where its
/// reader has no file. `pages`: every Markdown file by its path in the repository.
pub fn links_that_lead_nowhere(pages: &BTreeMap<String, String>) -> Vec<String> {
    let headings: BTreeMap<&str, Vec<String>> = pages
        .iter()
        .map(|(path, text)| (path.as_str(), anchors(text)))
        .collect();
    let mut found = Vec::new();
    for (path, text) in pages {
        for (_, link) in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => joined(path, file),
            };
            if path.starts_with("docs/") && link.starts_with('/') {
                found.push(format!("{path}: {link} is an address of a server"));
            }
            if path.starts_with("docs/") && !target.starts_with("docs/") {
                found.push(format!(
                    "{path}: {link} leads out of the book: name the path instead"
                ));
            }
            // A link to a file that is no page is a matter of the rule for links to files.
            let is_known = headings.get(target.as_str());
            if is_known
                .is_some_and(|known| !anchor.is_empty() && !known.iter().any(|one| one == anchor))
            {
                found.push(format!("{path}: {link} leads to no heading"));
            }
        }
    }
    found
}

/// The links of a text outside of code: their titles and targets.
fn links(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut in_fence = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_fence ^= is_fence;
        !in_fence && !is_fence
    });
    lines.flat_map(|line| {
        let ends = line.match_indices("](").map(|(at, _)| at);
        ends.filter_map(|at| {
            let title = line[..at].rsplit('[').next()?;
            let target = line[at + 2..].split([')', ' ']).next()?;
            // A link in back ticks is an example.
            let is_code = line[..at].matches('`').count() % 2 == 1;
            (!is_code && !target.is_empty()).then_some((title, target))
        })
    })
}

/// Ids of the headings of a page, as mdBook and forges make them.
fn anchors(text: &str) -> Vec<String> {
    let mut in_fence = false;
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        in_fence ^= line.trim_start().starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !in_fence) else {
            continue;
        };
        let heading = heading.trim_start_matches('#');
        if !heading.starts_with(' ') {
            continue;
        }
        let id = id_of(heading.trim());
        let twins = found.iter().filter(|other| **other == id).count();
        if twins > 0 {
            found.push(format!("{id}-{twins}"));
        } else {
            found.push(id);
        }
    }
    found
}

/// A link in a heading counts by its text.
fn id_of(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some(at) = rest.find("](") {
        text.push_str(&rest[..at].replacen('[', "", 1));
        rest = rest[at..].split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    let kept = text.to_lowercase().replace(' ', "-");
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
        .collect()
}

/// A path from the folder of a page.
fn joined(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pages: &[(&str, &str)]) -> Vec<String> {
        let pages = pages
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        links_that_lead_nowhere(&pages.collect())
    }

    #[test]
    fn a_link_leads_to_a_heading_of_a_page_and_stays_in_the_book() {
        let one = "# One\n\n[two](two.md#the-second-one) [here](#one) [web](https://a.example/#x)\n\
                   `[code](#nothing)`\n\n```text\n[code](#nothing)\n# no heading\n```\n";
        let two = "# Two\n\n## The *second*, [one](one.md)!\n\n## Twice\n\n## Twice\n";
        assert!(found(&[("docs/one.md", one), ("docs/two.md", two)]).is_empty());
        let wrong = "# Wrong\n[a](one.md#two) [b](two.md#twice-1) [c](#no-heading) [d](../README.md) [e](/docs)\n";
        let pages = [
            ("docs/one.md", one),
            ("docs/two.md", two),
            ("docs/wrong.md", wrong),
        ];
        assert_eq!(
            found(&pages),
            [
                "docs/wrong.md: one.md#two leads to no heading",
                "docs/wrong.md: #no-heading leads to no heading",
                "docs/wrong.md: ../README.md leads out of the book: name the path instead",
                "docs/wrong.md: /docs is an address of a server",
            ]
        );
        assert!(
            found(&[
                ("README.md", "# R\n[docs](docs/one.md#one)"),
                ("docs/one.md", one),
                ("docs/two.md", two)
            ])
            .is_empty()
        );
    }

    #[test]
    fn a_chapter_is_a_link_of_the_table_of_contents() {
        let summary = "# Summary\n\n- [One](one.md)\n  - [Two](a/two.md)\n";
        let paths: Vec<_> = chapters(summary).into_iter().map(|one| one.path).collect();
        assert_eq!(paths, ["one.md", "a/two.md"]);
    }
}
