//! Charts of measurements as SVG: throughput beside its limit, latencies by share, times one by one.
//!
//! Promises:
//! - A chart has a title and a description in words, for readers who do not see it.
//! - Text, lines and background take their colour from the reader's scheme, light or dark; the
//!   series have colours that stand out on both. The background is opaque: a page of the other
//!   scheme changes nothing.
//! - No font is needed to make a chart: the viewer's sans-serif is used.

use std::fmt::Display;

use anyhow::{Result, anyhow, ensure};
use plotters::coord::Shift;
use plotters::prelude::*;

/// A measured value and the limit of the same run, in one unit.
pub struct Bar {
    pub name: String,
    pub value: Labelled,
    pub limit: Labelled,
}

/// A value, and the text beside its bar.
pub struct Labelled {
    pub value: f64,
    pub text: String,
}

/// Latencies of one load, by shares of its requests: `("p99", 3.2)`.
pub struct Curve {
    pub name: String,
    pub points: Vec<(String, f64)>,
}

/// Words about a chart.
pub struct Words<'a> {
    pub title: &'a str,
    /// The same statement as the picture.
    pub description: &'a str,
    /// Unit of the values.
    pub unit: &'a str,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Horizontal bars: each value above its limit, in per cent of the limit.
///
/// # Errors
/// Without a bar, with a limit that is not positive, or with a value that is no number.
pub fn bars(words: &Words<'_>, rows: &[Bar]) -> Result<String> {
    ensure!(
        rows.iter().all(|row| row.limit.value > 0.0),
        "a limit is positive"
    );
    let share = |row: &Bar| 100.0 * row.value.value / row.limit.value;
    let highest = highest(rows.iter().map(share))?.max(100.0);
    let height = 90 + 44 * u32::try_from(rows.len())?;
    drawn(words, height, |area| {
        let count = rows.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_left(NAMES)
            .x_label_area_size(40)
            .build_cartesian_2d(0.0..highest * 1.2, count..0.0)?;
        let mut mesh = chart.configure_mesh();
        mesh.disable_y_mesh().disable_y_axis().x_desc(words.unit);
        mesh.x_label_formatter(&whole);
        mesh.label_style(FONT)
            .light_line_style(TRANSPARENT)
            .draw()?;
        let (left, top_of_area) = area.get_base_pixel();
        for (at, row) in rows.iter().enumerate() {
            let top = at as f64;
            let ours = (share(row), &row.value.text, OURS, 0.14);
            let limit = (100.0, &row.limit.text, LIMIT, 0.5);
            for (length, text, colour, from) in [ours, limit] {
                let bar = [(0.0, top + from), (length, top + from + 0.34)];
                chart.draw_series([Rectangle::new(bar, colour.filled())])?;
                let place = (length + highest * 0.01, top + from + 0.04);
                chart.draw_series([Text::new(text.clone(), place, FONT)])?;
            }
            let name = chart.backend_coord(&(0.0, top + 0.36));
            let style = FONT.into_text_style(area).pos(RIGHT);
            area.draw_text(&row.name, &style, (name.0 - left - 8, name.1 - top_of_area))?;
        }
        Ok(())
    })
}

/// Lines over the shares of requests, latencies on a logarithmic axis.
///
/// # Errors
/// Without a curve, with curves of other shares than the first one, or with a value that is no
/// positive number.
pub fn curves(words: &Words<'_>, curves: &[Curve]) -> Result<String> {
    let values = || {
        curves
            .iter()
            .flat_map(|one| one.points.iter().map(|point| point.1))
    };
    let (highest, lowest) = (highest(values())?, values().fold(f64::INFINITY, f64::min));
    ensure!(lowest > 0.0, "a latency is positive");
    let shares: Vec<&str> = names(&curves[0]).collect();
    ensure!(
        curves
            .iter()
            .all(|one| names(one).eq(shares.iter().copied())),
        "the shares differ"
    );
    let height = 360 + 20 * u32::try_from(curves.len())?;
    drawn(words, height, |area| {
        let (plot, key) = area.split_vertically(320);
        let last = shares.len() as f64 - 1.0;
        let mut chart = ChartBuilder::on(&plot)
            .margin(12)
            .margin_right(40)
            .x_label_area_size(30)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..last, (lowest * 0.8..highest * 1.3).log_scale())?;
        let label = |at: &f64| {
            shares
                .get(at.round() as usize)
                .copied()
                .unwrap_or("")
                .to_owned()
        };
        let mut mesh = chart.configure_mesh();
        mesh.x_labels(shares.len())
            .x_label_formatter(&label)
            .y_desc(words.unit);
        mesh.label_style(FONT)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (at, curve) in curves.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            let points = curve.points.iter().enumerate();
            let points: Vec<_> = points.map(|(at, point)| (at as f64, point.1)).collect();
            chart.draw_series(LineSeries::new(
                points.iter().copied(),
                colour.stroke_width(2),
            ))?;
            let dots = points
                .iter()
                .map(|point| Circle::new(*point, 3, colour.filled()));
            chart.draw_series(dots)?;
            let line = 20 * i32::try_from(at)?;
            key.draw(&Rectangle::new(
                [(70, line), (84, line + 12)],
                colour.filled(),
            ))?;
            key.draw(&Text::new(curve.name.clone(), (92, line), FONT))?;
        }
        Ok(())
    })
}

/// One bar for each time, in their order: the time of the first event at the left.
///
/// # Errors
/// Without a time, or with one that is no number.
pub fn times(words: &Words<'_>, times: &[f64]) -> Result<String> {
    let highest = highest(times.iter().copied())?;
    drawn(words, 300, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(30)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..times.len() as f64, 0.0..highest * 1.1)?;
        let mut mesh = chart.configure_mesh();
        mesh.x_label_formatter(&whole);
        mesh.disable_x_mesh().y_desc(words.unit).label_style(FONT);
        mesh.light_line_style(TRANSPARENT).draw()?;
        let bars = times.iter().enumerate().map(|(at, time)| {
            let at = at as f64;
            Rectangle::new([(at + 0.1, 0.0), (at + 0.9, *time)], OURS.filled())
        });
        chart.draw_series(bars)?;
        Ok(())
    })
}

fn names(curve: &Curve) -> impl Iterator<Item = &str> {
    curve.points.iter().map(|point| point.0.as_str())
}

fn highest(values: impl Iterator<Item = f64>) -> Result<f64> {
    let values: Vec<f64> = values.collect();
    ensure!(
        values.iter().all(|value| value.is_finite()),
        "a value is no number"
    );
    let highest = values.into_iter().reduce(f64::max);
    let highest = highest.ok_or_else(|| anyhow!("there is nothing to draw"))?;
    Ok(if highest > 0.0 { highest } else { 1.0 })
}

fn whole(value: &f64) -> String {
    format!("{value:.0}")
}

/// Makes the file around what `draw` draws.
fn drawn(
    words: &Words<'_>,
    height: u32,
    draw: impl FnOnce(&Area<'_>) -> std::result::Result<(), Box<dyn std::error::Error>>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let titled = area.titled(words.title, ("sans-serif", 18)).map_err(why)?;
        draw(&titled).map_err(why)?;
        area.present().map_err(why)?;
    }
    let (head, body) = svg
        .split_once('>')
        .ok_or_else(|| anyhow!("there is no picture"))?;
    let (title, description) = (escaped(words.title), escaped(words.description));
    // The library draws text and axes in black.
    let body = body.replace("\"#000000\"", "\"currentColor\"");
    Ok(format!(
        "{head} role=\"img\">\n<title>{title}</title>\n<desc>{description}</desc>\n{STYLE}{body}"
    ))
}

fn why(error: impl Display) -> anyhow::Error {
    anyhow!("failed to draw a chart: {error}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

const WIDTH: u32 = 860;
/// Pixels for the names of bars.
const NAMES: u32 = 360;
const FONT: (&str, u32) = ("sans-serif", 13);
const RIGHT: plotters::style::text_anchor::Pos = plotters::style::text_anchor::Pos {
    h_pos: plotters::style::text_anchor::HPos::Right,
    v_pos: plotters::style::text_anchor::VPos::Top,
};
const OURS: RGBColor = RGBColor(0x25, 0x8a, 0xd8);
const LIMIT: RGBColor = RGBColor(0x8b, 0x95, 0xa1);
const COLOURS: [RGBColor; 6] = [
    OURS,
    LIMIT,
    RGBColor(0xd9, 0x77, 0x06),
    RGBColor(0x0f, 0x9d, 0x76),
    RGBColor(0xb8, 0x5c, 0xd6),
    RGBColor(0xdc, 0x4c, 0x64),
];
const STYLE: &str = "<style>svg{color:#1f2933;background:#fff}\
@media (prefers-color-scheme:dark){svg{color:#e4e7eb;background:#151b23}}</style>";

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: Words<'_> = Words {
        title: "A & B",
        description: "A is faster than <B>.",
        unit: "ms",
    };

    /// Parts that every chart has.
    fn check(svg: &str) {
        for part in [
            "<svg ",
            " role=\"img\">",
            "<title>A &amp; B</title>",
            "<desc>A is faster than &lt;B&gt;.</desc>",
            "prefers-color-scheme:dark",
            "background:#fff",
            "currentColor",
            "</svg>",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(
            !svg.contains("#000000"),
            "black does not show on a dark page: {svg}"
        );
    }

    /// Widths of the filled rectangles of a colour.
    fn widths(svg: &str, colour: &str) -> Vec<f64> {
        let rectangles = svg
            .split("<rect ")
            .skip(1)
            .filter(|one| one.contains(colour));
        let width = |one: &str| {
            one.split("width=\"")
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        };
        rectangles.filter_map(width).collect()
    }

    #[test]
    fn bars_are_as_long_as_their_values_and_named() -> Result<()> {
        let labelled = |value: f64| Labelled {
            value,
            text: format!("{value} /s"),
        };
        let row = |name: &str, value, limit| Bar {
            name: name.to_owned(),
            value: labelled(value),
            limit: labelled(limit),
        };
        let rows = [row("initialize", 250.0, 1_000.0), row("verify", 6.0, 4.0)];
        let svg = bars(&WORDS, &rows)?;
        check(&svg);
        for text in ["initialize", "verify", "250 /s", "1000 /s", "6 /s", "4 /s"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        let (ours, limits) = (widths(&svg, "#258AD8"), widths(&svg, "#8B95A1"));
        assert_eq!((ours.len(), limits.len()), (2, 2), "{svg}");
        let ratio = |one: f64, other: f64| (one / other * 100.0).round() as i32;
        for (at, expected) in [(0, 24..=26), (1, 149..=151)] {
            let ratio = ratio(ours[at], limits[at]);
            assert!(expected.contains(&ratio), "{ours:?} {limits:?}");
        }
        assert_eq!(ratio(limits[0], limits[1]), 100, "one scale");
        assert!(bars(&WORDS, &[row("initialize", 1.0, 0.0)]).is_err());
        assert!(bars(&WORDS, &[]).is_err());
        Ok(())
    }

    #[test]
    fn curves_have_a_line_each_and_a_key() -> Result<()> {
        let curve = |name: &str, values: [f64; 3]| Curve {
            name: name.to_owned(),
            points: ["p50", "p99", "p99.9"]
                .map(str::to_owned)
                .into_iter()
                .zip(values)
                .collect(),
        };
        let two = [
            curve("pay", [1.0, 10.0, 100.0]),
            curve("bare axum", [0.1, 0.2, 0.3]),
        ];
        let svg = curves(&WORDS, &two)?;
        check(&svg);
        assert_eq!(svg.matches("<polyline").count(), 2 + axes(&svg), "{svg}");
        for text in ["pay", "bare axum", "p50", "p99", "p99.9"] {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        let other = Curve {
            name: "other".to_owned(),
            points: vec![("p50".to_owned(), 1.0)],
        };
        assert!(curves(&WORDS, &[curve("pay", [1.0, 2.0, 3.0]), other]).is_err());
        assert!(curves(&WORDS, &[curve("pay", [0.0, 2.0, 3.0])]).is_err());
        Ok(())
    }

    /// Lines of the axes and their marks, which have no colour of a series.
    fn axes(svg: &str) -> usize {
        let lines = svg.split("<polyline").skip(1);
        let is_series = |one: &&str| one.contains("#258AD8") || one.contains("#8B95A1");
        lines.filter(|one| !is_series(one)).count()
    }

    #[test]
    fn times_have_a_bar_each_and_nothing_is_no_chart() -> Result<()> {
        let svg = times(&WORDS, &[1.0, 2.0, 0.5])?;
        check(&svg);
        assert_eq!(widths(&svg, "#258AD8").len(), 3, "{svg}");
        assert!(times(&WORDS, &[]).is_err());
        assert!(times(&WORDS, &[f64::NAN]).is_err());
        assert!(times(&WORDS, &[0.0]).is_ok());
        Ok(())
    }
}
