//! Charts of the figures: throughput beside the limit of the same run, and latencies by share of the
//! requests.

use std::path::Path;

use anyhow::{Context as _, Result};
use switchyard_charts::{Bar, Curve, Words, bars, curves};

use crate::figure::{Figure, Unit};
use crate::parts::Part;
use crate::report::Measured;

/// A chart of the page.
pub struct Chart {
    /// Part whose section shows it. `None`: the chart of all parts.
    pub part: Option<Part>,
    /// Name of the file in [`FOLDER`].
    pub file: String,
    /// Statement of the chart in words.
    pub words: String,
    svg: String,
}

/// Folder of the charts, from that of the page.
pub const FOLDER: &str = "images/benchmarks";

/// Charts of the parts that have figures for one.
///
/// # Errors
/// When a figure cannot be drawn.
pub fn of(parts: &[Measured]) -> Result<Vec<Chart>> {
    let mut charts = Vec::new();
    charts.extend(throughput(parts)?);
    for part in parts {
        charts.extend(latencies(part)?);
    }
    Ok(charts)
}

/// Writes the charts beside a page.
///
/// # Errors
/// When a file cannot be written.
pub fn write(charts: &[Chart], page: &Path) -> Result<()> {
    let folder = page.with_file_name(FOLDER);
    std::fs::create_dir_all(&folder)?;
    for chart in charts {
        let file = folder.join(&chart.file);
        std::fs::write(&file, &chart.svg)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Every rate that has a limit.
fn throughput(parts: &[Measured]) -> Result<Option<Chart>> {
    let figures = parts.iter().flat_map(|part| &part.figures);
    let rates = figures.filter(|figure| matches!(figure.unit, Unit::PerSecond));
    let rows: Vec<Bar> = rates
        .filter_map(|figure| {
            let limit = figure.limit.as_ref()?;
            Some(Bar {
                name: figure.what.clone(),
                value: figure.value,
                limit: limit.value,
            })
        })
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let said = rows.iter().map(|row| {
        let (value, limit) = (
            Unit::PerSecond.show(row.value),
            Unit::PerSecond.show(row.limit),
        );
        format!("{}: {value} beside {limit}", row.name)
    });
    let words = said.collect::<Vec<_>>().join("; ");
    let svg = bars(
        &Words {
            title: "Throughput (blue) and the limit of the same run (grey)",
            description: &words,
            unit: "a second",
        },
        &rows,
    )?;
    Ok(Some(Chart {
        part: None,
        file: "throughput.svg".to_owned(),
        words,
        svg,
    }))
}

/// Shares of the requests that a load names in its figures.
const SHARES: [&str; 3] = ["p50", "p99", "p99.9"];

/// The latencies of each load of a part, and those of its limit.
fn latencies(part: &Measured) -> Result<Option<Chart>> {
    let loads: Vec<&str> = part.figures.iter().filter_map(load).collect();
    let mut lines = Vec::new();
    for what in &loads {
        let figures: Vec<&Figure> = SHARES
            .iter()
            .filter_map(|share| {
                let name = format!("{what}: {share}");
                part.figures.iter().find(|figure| figure.what == name)
            })
            .collect();
        if figures.len() < SHARES.len() {
            continue;
        }
        lines.push(curve(what, figures.iter().map(|figure| figure.value)));
        let limits: Vec<_> = figures
            .iter()
            .filter_map(|figure| figure.limit.as_ref())
            .collect();
        if limits.len() == SHARES.len() {
            let name = format!("{what}, {}", limits[0].what);
            lines.push(curve(&name, limits.iter().map(|limit| limit.value)));
        }
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let said = lines.iter().map(|line| {
        let points = line.points.iter();
        let points = points.map(|(share, value)| format!("{share} {}", Unit::Millis.show(*value)));
        format!("{}: {}", line.name, points.collect::<Vec<_>>().join(", "))
    });
    let words = said.collect::<Vec<_>>().join("; ");
    let name = part.part.name();
    let svg = curves(
        &Words {
            title: &format!("{name}: latency by share of the requests"),
            description: &words,
            unit: "ms",
        },
        &lines,
    )?;
    Ok(Some(Chart {
        part: Some(part.part),
        file: format!("latency-{name}.svg"),
        words,
        svg,
    }))
}

/// The load of a figure that is the first of its shares.
fn load(figure: &Figure) -> Option<&str> {
    let (what, share) = figure.what.rsplit_once(": ")?;
    (share == SHARES[0] && matches!(figure.unit, Unit::Millis)).then_some(what)
}

fn curve(name: &str, values: impl Iterator<Item = f64>) -> Curve {
    Curve {
        name: name.to_owned(),
        points: SHARES
            .iter()
            .map(|share| (*share).to_owned())
            .zip(values)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::report::page;

    fn measured() -> Vec<Measured> {
        let rate = Figure::new("verify, the most", 20_000.0, Unit::PerSecond);
        let mut figures = vec![rate.beside("bare axum", 40_000.0, 0.5)];
        for (share, value) in SHARES.into_iter().zip([1.0, 2.0, 30.0]) {
            let what = format!("verify, 50 offered a second: {share}");
            let figure = Figure::new(what, value, Unit::Millis);
            figures.push(figure.beside("bare axum", value / 10.0, 10.0));
        }
        // A load without all shares, and a part without a chart.
        figures.push(Figure::new("verify, other: p50", 1.0, Unit::Millis));
        let of = |part, figures| Measured {
            part,
            figures,
            took: Duration::from_secs(1),
            failed: None,
        };
        let memory = Figure::new("memory", 9.0, Unit::Mebibytes);
        vec![of(Part::Verify, figures), of(Part::Waiting, vec![memory])]
    }

    #[test]
    fn a_page_shows_its_charts_and_says_them_in_words() -> Result<()> {
        let parts = measured();
        let charts = of(&parts)?;
        let files: Vec<_> = charts.iter().map(|chart| chart.file.as_str()).collect();
        assert_eq!(files, ["throughput.svg", "latency-verify.svg"]);
        let page = page(&parts, &charts);
        for part in [
            "![verify, the most: 20,000 /s beside 40,000 /s](images/benchmarks/throughput.svg)",
            "![verify, 50 offered a second: p50 1.00 ms, p99 2.00 ms, p99.9 30.0 ms; \
             verify, 50 offered a second, bare axum: p50 0.10 ms, p99 0.20 ms, p99.9 3.00 ms]\
             (images/benchmarks/latency-verify.svg)",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let folder = tempfile::tempdir()?;
        write(&charts, &folder.path().join("benchmarks.md"))?;
        for file in files {
            let svg = std::fs::read_to_string(folder.path().join(FOLDER).join(file))?;
            assert!(
                svg.starts_with("<svg ") && svg.contains("<desc>verify, "),
                "{svg}"
            );
        }
        assert!(of(&parts[1..])?.is_empty(), "nothing to draw");
        Ok(())
    }
}
