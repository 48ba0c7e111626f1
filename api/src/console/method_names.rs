//! Names of methods in lists.

use switchyard_core::directory::Directory;
use switchyard_core::transaction::Kind;

use super::labels::method_name;
use super::text::Text;

/// Name of the method `code` in a list of the methods `among`: with its currency where another
/// method of the list has the same name.
pub fn distinct_name<'a>(
    (directory, kind): (&Directory, Kind),
    code: &str,
    among: impl IntoIterator<Item = &'a str>,
    text: Text,
) -> String {
    let name = method_name(directory, kind, code, text);
    let mut others = among.into_iter().filter(|other| *other != code);
    let is_shared = others.any(|other| method_name(directory, kind, other, text) == name);
    match directory.method(kind, code).filter(|_| is_shared) {
        Some(method) => format!("{name} · {}", method.currency.code()),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use switchyard_core::language::Language;

    use super::*;

    #[test]
    fn a_name_has_its_currency_where_another_one_is_the_same() {
        let directory = Directory::new("switchyard");
        let text = Text(Language::En);
        let of = (&directory, Kind::Payment);
        let both = ["card_usd", "card_ngn"];
        let alone = distinct_name(of, "card_usd", ["card_usd", "mtn_bj"], text);
        assert_eq!(
            both.map(|code| distinct_name(of, code, both, text)),
            [format!("{alone} · USD"), format!("{alone} · NGN")]
        );
    }
}
