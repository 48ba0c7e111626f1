//! Texts of cells, and the lines of a file.

use switchyard_core::testing::fixtures::{World, confirm, part, succeeded};
use switchyard_core::transaction::Transaction;

use super::cells::cell;
use super::{Column, written};

fn line(tx: &Transaction, columns: &[Column]) -> String {
    let cells: Vec<_> = columns.iter().map(|column| cell(*column, tx)).collect();
    let bytes = written(std::iter::once(cells)).unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_text_that_a_spreadsheet_would_execute_is_neutral_and_quoted() {
    let mut tx = World::payment().tx;
    for (text, expected) in [
        ("=1+1", "'=1+1\r\n"),
        ("+2290197000000", "'+2290197000000\r\n"),
        ("-1", "'-1\r\n"),
        ("@SUM(A1)", "'@SUM(A1)\r\n"),
        ("\t=1", "'\t=1\r\n"),
        ("a, b", "\"a, b\"\r\n"),
        ("say \"hi\"", "\"say \"\"hi\"\"\"\r\n"),
        ("two\r\nlines", "\"two\r\nlines\"\r\n"),
        ("plain = text", "plain = text\r\n"),
    ] {
        text.clone_into(&mut tx.description);
        assert_eq!(line(&tx, &[Column::Description]), expected);
    }
}

#[test]
fn amounts_are_exact_texts_beside_their_currencies() {
    let mut world = World::payment();
    let columns = [
        Column::Amount,
        Column::Currency,
        Column::Received,
        Column::ReceivedCurrency,
        Column::Status,
    ];
    assert_eq!(line(&world.tx, &columns), "25.00,USD,,,initiated\r\n");
    world.apply(confirm(1)).unwrap();
    world.answer(part(1_000)).unwrap();
    assert_eq!(line(&world.tx, &columns), "25.00,USD,10.00,USD,pending\r\n");
    world.answer(succeeded()).unwrap();
    assert_eq!(line(&world.tx, &columns), "25.00,USD,25.00,USD,success\r\n");
}

#[test]
fn each_column_has_a_name_of_its_own() {
    for column in Column::ALL {
        assert_eq!(Column::parse(column.name()), Some(column));
    }
    assert_eq!(Column::parse("secret"), None);
}
