//! Page of the settings, from `examples/switchyard.toml`, which a test compares with the program.

use super::cell;

/// A line of the example: `#name = value` shows a default, `# name = value` an example.
enum Line<'a> {
    Section(&'a str),
    Setting {
        name: &'a str,
        value: &'a str,
        is_default: bool,
    },
    Text(&'a str),
    Blank,
}

fn parsed(line: &str) -> Line<'_> {
    let Some(rest) = line.strip_prefix('#') else {
        return Line::Blank;
    };
    if let Some(section) = rest
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return Line::Section(section);
    }
    let text = rest.strip_prefix(' ').unwrap_or(rest);
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    match text.split_once(" = ") {
        Some((name, value)) if is_name(name) => Line::Setting {
            name,
            value,
            is_default: !rest.starts_with(' '),
        },
        _ => Line::Text(text),
    }
}

/// The paragraph at the top of the example explains the file itself; the page has its own.
pub fn page(example: &str) -> String {
    let mut text = TOP.to_owned();
    let (mut section, mut about) = (String::new(), Vec::new());
    let mut is_top = true;
    let mut lines = example.lines();
    while let Some(line) = lines.next() {
        match parsed(line) {
            Line::Blank => {
                is_top = false;
                about.clear();
            }
            Line::Text(_) if is_top => {}
            Line::Text(line) => about.push(line),
            Line::Section(name) => {
                text.push_str(&format!("\n## {name}\n"));
                if !about.is_empty() {
                    text.push_str(&format!("\n{}\n", about.join(" ")));
                }
                name.clone_into(&mut section);
                about.clear();
            }
            Line::Setting {
                name,
                value,
                is_default,
            } => {
                let value = match value {
                    // A list over several lines.
                    "[" => {
                        lines
                            .by_ref()
                            .take_while(|line| *line != "#]")
                            .fold("[".to_owned(), |list, line| {
                                format!("{list}{} ", line.trim_matches(['#', ' ']))
                            })
                            + "]"
                    }
                    value => value.to_owned(),
                };
                let path = match section.as_str() {
                    "" => name.to_owned(),
                    section => format!("{section}.{name}"),
                };
                text.push_str(&setting(&path, &value, is_default, &about.join(" ")));
                about.clear();
            }
        }
    }
    text
}

fn setting(path: &str, value: &str, is_default: bool, about: &str) -> String {
    let what = if is_default { "Default" } else { "Example" };
    let variable = path.to_uppercase().replace('.', "__");
    format!(
        "\n### {path}\n\n{about}\n\n| {what} | Environment |\n|---|---|\n| `{}` | `SWITCHYARD_{variable}` |\n",
        cell(value)
    )
}

const TOP: &str = "\
# Settings

A setting comes from its default, the settings file (TOML), the environment, or the command line;
the last one wins. Lengths of time are a whole number and `ms`, `s`, `min`, `h` or `d`; sizes a
whole number and `B`, `KiB`, `MiB` or `GiB`. `examples/switchyard.toml` is the same list as a file
to start from. `switchyard config check` reports every problem of a file. An *example* belongs to a
setting without a default.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_shown_with_its_section_its_value_and_its_variable() {
        let example = "# About the file.\n#more = text\n\n# Whether it is one.\n#development = false\n\n\
                       # About both.\n#[server]\n# Where to listen.\n# On one line.\n#listen = \"a|b\"\n\
                       # None.\n# icons = \"/etc\"\n# A list.\n#limits = [\n#    \"EUR 1\",\n#    \"USD 2\",\n#]\n";
        let page = page(example);
        for part in [
            "\n### development\n\nWhether it is one.\n",
            "`SWITCHYARD_DEVELOPMENT`",
            "\n## server\n\nAbout both.\n\n### server.listen\n\nWhere to listen. On one line.\n",
            "| Default | Environment |\n|---|---|\n| `\"a\\|b\"` | `SWITCHYARD_SERVER__LISTEN` |",
            "| Example | Environment |\n|---|---|\n| `\"/etc\"` |",
            "`[\"EUR 1\", \"USD 2\", ]`",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("About the file"), "{page}");
    }
}
