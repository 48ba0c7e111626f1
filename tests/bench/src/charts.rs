//! Charts of the figures: throughput beside the limit of the same run, and latencies by share of the
//! requests.

use std::path::Path;

use anyhow::{Context as _, Result};
use switchyard_charts::{Bar, Curve, Labelled, Words, bars, curves};

use crate::figure::{Figure, Unit};
use crate::parts::Part;
use crate::report::{self, Measured};

/// A chart of the page.
pub struct Chart {
    /// Part whose section shows it. `None`: the chart of all parts.
    pub part: Option<Part>,
    /// Name of the file in [`FOLDER`].
    pub file: String,
    title: String,
    /// Statement of the chart in words.
    words: String,
    svg: String,
}

/// Folder of the charts, from that of the page.
const FOLDER: &str = "images/benchmarks";

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

/// A page with these charts at the ends of their sections, in place of those that it has.
pub fn shown(page: &str, charts: &[Chart]) -> String {
    let machine = ["processor", "disk", "built from"].map(|name| {
        let start = format!("| {name} | ");
        let row = page.lines().find_map(|line| line.strip_prefix(&start));
        row.unwrap_or_default().trim_end_matches(" |")
    });
    let [processor, disk, commit] = machine;
    let paragraphs = page.trim_end().split("\n\n");
    let is_chart = |text: &&str| {
        (text.starts_with("![") && text.contains(&format!("]({FOLDER}/")))
            || text.starts_with(CAPTION)
    };
    let mut text = Vec::new();
    let mut of_section: Vec<String> = Vec::new();
    for paragraph in paragraphs.filter(|text| !is_chart(text)) {
        let heading = paragraph.trim_start_matches('#');
        if heading != paragraph {
            text.append(&mut of_section);
            let heading = heading.trim();
            let is_here = |chart: &&Chart| match chart.part {
                Some(part) => part.name() == heading,
                None => heading == report::FIGURES,
            };
            of_section.extend(charts.iter().filter(is_here).map(|chart| {
                format!(
                    "![{}]({FOLDER}/{})\n\n{CAPTION}{}. One run: {processor}; disk {disk}; built from {commit}.*",
                    chart.words, chart.file, chart.title
                )
            }));
        }
        text.push(paragraph.to_owned());
    }
    text.append(&mut of_section);
    text.join("\n\n") + "\n"
}

/// Start of the line below a chart.
const CAPTION: &str = "*Chart: ";

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
    let labelled = |value| Labelled {
        value,
        text: Unit::PerSecond.show(value),
    };
    let rows: Vec<Bar> = rates
        .filter_map(|figure| {
            let limit = figure.limit.as_ref()?;
            Some(Bar {
                name: figure.what.clone(),
                value: labelled(figure.value),
                limit: labelled(limit.value),
            })
        })
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let said = rows.iter().map(|row| {
        let (value, limit) = (&row.value.text, &row.limit.text);
        format!("{}: {value} beside {limit}", row.name)
    });
    let words = said.collect::<Vec<_>>().join("; ");
    let title = "Throughput (blue) and the limit of the same run (grey)";
    let svg = bars(
        &Words {
            title,
            description: &words,
            unit: "per cent of the limit",
        },
        &rows,
    )?;
    Ok(Some(Chart {
        part: None,
        file: "throughput.svg".to_owned(),
        title: title.to_owned(),
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
    let title = format!("{name}: latency by share of the requests");
    let svg = curves(
        &Words {
            title: &title,
            description: &words,
            unit: "ms",
        },
        &lines,
    )?;
    Ok(Some(Chart {
        part: Some(part.part),
        file: format!("latency-{name}.svg"),
        title,
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
    use crate::record;
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
        let page = shown(&page(&parts), &charts);
        for part in [
            "bars met, measured in 0 minutes.\n\n\
             ![verify, the most: 20,000 /s beside 40,000 /s](images/benchmarks/throughput.svg)\n\n\
             *Chart: Throughput (blue) and the limit of the same run (grey). One run: ",
            "|  |  |  |  |\n\n![verify, 50 offered a second: p50 1.00 ms, p99 2.00 ms, p99.9 30.0 ms; \
             verify, 50 offered a second, bare axum: p50 0.10 ms, p99 0.20 ms, p99.9 3.00 ms]\
             (images/benchmarks/latency-verify.svg)\n\n\
             *Chart: verify: latency by share of the requests. One run: ",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(shown(&page, &charts), page, "the same charts once more");
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
        assert!(!shown(&page, &[]).contains("images/"), "no chart stays");
        Ok(())
    }

    /// Folder of the documentation.
    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

    #[test]
    fn the_recorded_page_has_the_charts_of_its_figures() -> Result<()> {
        let path = Path::new(DOCS).join("benchmarks.md");
        let recorded = std::fs::read_to_string(&path)?;
        let parts = record::parts(&recorded)?;
        assert!(parts.len() > 10, "parts of the page are found");
        let charts = of(&parts)?;
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            write(&charts, &path)?;
            std::fs::write(&path, shown(&recorded, &charts))?;
        }
        let again =
            "draw them again: UPDATE_SNAPSHOTS=1 cargo nextest run -p switchyard-bench recorded";
        let now = std::fs::read_to_string(&path)?;
        assert_eq!(now, shown(&now, &charts), "{again}");
        for chart in charts {
            let file = path.with_file_name(FOLDER).join(&chart.file);
            let svg = std::fs::read_to_string(file).unwrap_or_default();
            assert!(
                svg == chart.svg,
                "{} differs from the figures: {again}",
                chart.file
            );
        }
        Ok(())
    }
}
