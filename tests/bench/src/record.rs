//! Reads the figures of a page that [`crate::report`] wrote, so that charts can be drawn again
//! without a new run.

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::ValueEnum as _;

use crate::figure::{Figure, Unit};
use crate::parts::Part;
use crate::report::Measured;

/// The parts of a page with their figures. Times and requirements are left out.
///
/// # Errors
/// When a heading names no part, or a cell is no figure.
pub fn parts(page: &str) -> Result<Vec<Measured>> {
    let mut parts: Vec<Measured> = Vec::new();
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            let part = Part::from_str(name, false).map_err(anyhow::Error::msg)?;
            parts.push(Measured {
                part,
                figures: Vec::new(),
                took: Duration::ZERO,
                failed: None,
            });
        } else if let (Some(part), Some(row)) = (parts.last_mut(), line.strip_prefix("| ")) {
            let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
            // The first row of a table has no name.
            if !cells[0].is_empty() && !cells[0].starts_with('|') {
                part.figures
                    .push(figure(&cells).with_context(|| row.to_owned())?);
            }
        }
    }
    Ok(parts)
}

fn figure(cells: &[&str]) -> Result<Figure> {
    let [what, measured, limit, ..] = cells else {
        anyhow::bail!("three cells are expected");
    };
    let (value, unit, _) = quantity(measured)?;
    let figure = Figure::new(*what, value, unit);
    if limit.is_empty() {
        return Ok(figure);
    }
    let (limit, _, name) = quantity(limit)?;
    Ok(figure.beside(name, limit, value / limit))
}

/// A number, its unit and the words after it.
fn quantity(text: &str) -> Result<(f64, Unit, &str)> {
    let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
    let number = number.replace(',', "").parse()?;
    let (unit, words) = rest.split_once(' ').unwrap_or((rest, ""));
    let unit = match unit {
        "/s" => Unit::PerSecond,
        "s" => Unit::Seconds,
        "ms" => Unit::Millis,
        "µs" => Unit::Micros,
        "ns" => Unit::Nanos,
        "MiB" => Unit::Mebibytes,
        "B" => Unit::Bytes,
        _ => return Ok((number, Unit::Count, rest)),
    };
    Ok((number, unit, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page;

    #[test]
    fn a_page_is_read_as_it_was_written() -> Result<()> {
        let rate = Figure::new("verify, the most", 20_000.0, Unit::PerSecond);
        let figures = vec![
            rate.beside("bare axum", 40_000.0, 0.5),
            Figure::new("verify, other: p50", 1.25, Unit::Millis),
            Figure::new("a call", 44_412.0, Unit::Nanos),
            Figure::new("failed payments", 0.0, Unit::Count),
        ];
        let written = Measured {
            part: Part::Verify,
            figures: figures.clone(),
            took: Duration::ZERO,
            failed: None,
        };
        let read = parts(&page(&[written]))?;
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].figures, figures);
        assert!(parts("### nothing\n").is_err());
        assert!(parts("### verify\n| a | many | |\n").is_err());
        Ok(())
    }
}
