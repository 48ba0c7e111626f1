//! Each rule on a file that breaks it, and on a similar file that does not.

use super::super::documents::{dead_links, named_paths_missing};
use super::super::root;
use super::*;

fn says(rule: Rule, path: &str, text: &str) -> Vec<(usize, String)> {
    let found = rule(&Source::new(path, text));
    found
        .into_iter()
        .map(|Finding { line, says, .. }| (line, says))
        .collect()
}

fn lines(rule: Rule, path: &str, text: &str) -> Vec<usize> {
    says(rule, path, text)
        .into_iter()
        .map(|(line, _)| line)
        .collect()
}

#[test]
fn a_file_of_601_lines_is_too_long() {
    assert_eq!(lines(file_length, "a.rs", &"x\n".repeat(601)), [601]);
    assert!(lines(file_length, "a.rs", &"x\n".repeat(600)).is_empty());
    assert!(lines(file_length, "a.json", &"x\n".repeat(601)).is_empty());
}

#[test]
fn a_line_of_141_characters_is_too_long() {
    assert_eq!(
        lines(line_length, "a.rs", &format!("x\n{}", "é".repeat(141))),
        [2]
    );
    assert!(lines(line_length, "a.rs", &"é".repeat(140)).is_empty());
    assert!(lines(line_length, "a.md", &"é".repeat(141)).is_empty());
}

#[test]
fn each_ban_is_found_where_it_counts_and_nowhere_else() {
    for ban in BANS {
        let at = format!("{}src/a.rs", ban.only_under);
        let (bad, good) = match ban.within {
            Within::Comments => (
                format!("// {} later", ban.text),
                format!("let a = \"{}\";", ban.text),
            ),
            _ => (
                format!("let a = {}();", ban.text),
                format!("// not {}\nlet a = \"{}\";", ban.text, ban.text),
            ),
        };
        assert_eq!(
            says(banned, &at, &bad),
            [(1, format!("`{}` is banned: {}", ban.text, ban.instead))]
        );
        assert!(lines(banned, &at, &good).is_empty(), "{good}");
        for home in ban.except {
            assert!(
                lines(banned, home, &bad).is_empty(),
                "{home} may say {}",
                ban.text
            );
        }
    }
    let operator = |text: &str| lines(banned, "api/src/operator/a.rs", text);
    assert!(operator("my_json!()").is_empty());
    assert!(operator("#[cfg(test)]\nmod tests { json!() }").is_empty());
}

#[test]
fn a_field_of_an_operators_response_is_not_read_by_a_text() {
    let subscript = |path: &str, text: &str| lines(string_subscripts, path, text);
    for bad in ["a[\"b\"]", "a[0][\"b\"]", "f()[\"b\"]", "f()?[\"b\"]"] {
        assert_eq!(subscript("api/src/cli/a.rs", bad), [1], "{bad}");
        assert!(subscript("api/src/checkout/a.rs", bad).is_empty());
        let tests = format!("#[cfg(test)]\nmod tests {{ {bad} }}");
        assert!(subscript("api/src/cli/a.rs", &tests).is_empty());
    }
    for good in ["f([\"b\"])", "vec![\"b\"]", "let a = [\"b\"];", "a[0]"] {
        assert!(subscript("api/src/cli/a.rs", good).is_empty(), "{good}");
    }
}

#[test]
fn money_is_never_a_float() {
    assert_eq!(
        lines(
            floats_near_money,
            "engine/core/src/money/a.rs",
            "let a: f64;\nlet b = 1f32;\nlet c: Vec<f32>;"
        ),
        [1, 3]
    );
    assert!(lines(floats_near_money, "engine/store/src/a.rs", "let a: f64;").is_empty());
}

#[test]
fn a_markdown_file_has_one_title_and_it_comes_first() {
    assert!(
        lines(
            markdown_title,
            "a.md",
            "# A\n```sh\n# not a title\n```\n## B\n"
        )
        .is_empty()
    );
    assert_eq!(lines(markdown_title, "a.md", "# A\n\n# B\n"), [3]);
    assert_eq!(lines(markdown_title, "a.md", "text\n"), [1]);
    assert_eq!(lines(markdown_title, "a.md", "text\n# A\n"), [1]);
}

#[test]
fn a_crate_may_not_depend_upward() {
    let text = "[dependencies]\naxum = \"1\"\n[dev-dependencies]\naxum = \"1\"\n";
    assert_eq!(lines(crate_arrows, "engine/Cargo.toml", text), [2]);
    assert!(lines(crate_arrows, "api/Cargo.toml", text).is_empty());
    assert_eq!(
        lines(
            crate_arrows,
            "plugins/demo/Cargo.toml",
            "[dependencies]\ntokio.workspace = true\n"
        ),
        [2]
    );
    assert!(
        lines(
            crate_arrows,
            "plugins/demo/Cargo.toml",
            "[dependencies]\nswitchyard-gateway = 1\n"
        )
        .is_empty()
    );
}

#[test]
fn the_core_is_pure() {
    let path = "engine/core/src/transaction/a.rs";
    let impure = "std::fs::read(a);\nasync fn a() {}\nb.await\n";
    assert_eq!(lines(impure_core, path, impure), [1, 2, 3]);
    let pure = "// no std::fs\nuse crate::money::Amount;\n";
    assert!(lines(impure_core, path, pure).is_empty());
    assert!(lines(impure_core, "engine/src/processing/a.rs", impure).is_empty());
    let manifest = "[dependencies]\nserde = 1\ntokio = 1\n[dev-dependencies]\nrand = 1\n";
    assert_eq!(lines(crate_arrows, "engine/core/Cargo.toml", manifest), [3]);
}

#[test]
fn a_document_names_only_paths_that_exist() {
    let document = Source::new(
        "A.md",
        "see `a/b.rs` and `a/gone.rs`, `POST /v1/x`, `a / b` and `word`\n",
    );
    let found = named_paths_missing(&document, |path| path == "a/b.rs");
    assert_eq!(
        found.iter().map(|f| f.says.as_str()).collect::<Vec<_>>(),
        ["`a/gone.rs` is not there"]
    );
}

#[test]
fn a_link_leads_somewhere() {
    let text = "[a](a.md#part) [b](../gone.md) ![c](c.png) [d](https://example.com/x)\n";
    let found = dead_links(&Source::new("docs/A.md", text), |path| {
        path == "docs/a.md" || path == "docs/c.png"
    });
    assert_eq!(
        found.iter().map(|f| f.says.as_str()).collect::<Vec<_>>(),
        ["the link to `../gone.md` leads nowhere"]
    );
    assert!(dead_links(&Source::new("A.md", "[a](b.md)"), |path| path == "b.md").is_empty());
}

#[test]
fn a_secret_is_not_compared_byte_by_byte() {
    for bad in [
        "if key.expose() == given {",
        "if given != key.expose() {",
        "signature == expected",
        "if mac != other",
        "if given.token == *right",
        "if given == &self.reset_token {",
        "tokens.iter().any(|token| *token == given)",
        "secret != right",
        "right == (form.password)",
    ] {
        assert_eq!(lines(secrets_compared, "api/src/a.rs", bad), [1], "{bad}");
    }
    for good in [
        "let a = key.expose();",
        "mac.verify_slice(given)",
        "// signature == expected",
        "signatures.len() == 2",
        "token.len() == 2",
        "token.kind == kind",
        "tokens == other",
    ] {
        assert!(
            lines(secrets_compared, "api/src/a.rs", good).is_empty(),
            "{good}"
        );
    }
}

#[test]
fn a_comparison_in_the_open_is_exempt_in_its_file_only_and_still_there() {
    for (path, code, _) in COMPARED_IN_THE_OPEN {
        assert_eq!(lines(secrets_compared, path, code), [0; 0], "{path}");
        assert_eq!(lines(secrets_compared, "api/src/a.rs", code), [1], "{code}");
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        assert!(text.contains(code), "{path} has it no more: {code}");
    }
}
