//! Charts as inline SVG, drawn on the server: bars by interval, and rates by interval.
//!
//! Horizontal places are per cent of the width and vertical ones are pixels, so that a chart fits
//! a phone without stretching its texts. Each bar has a shape besides its colour: solid, hatched,
//! filled with an outline, dashed outline.

use super::super::text::Text;

/// A drawn chart.
pub struct Chart {
    /// Name of its title and description in the page.
    pub id: &'static str,
    pub title: String,
    /// The chart in a sentence, for screen readers.
    pub summary: String,
    pub legend: Vec<Legend>,
    pub grid: Vec<GridLine>,
    pub bars: Vec<Bar>,
    pub lines: Vec<Segment>,
    pub dots: Vec<Dot>,
    pub labels: Vec<Label>,
}

/// Class of the marks of a series, and its name.
pub struct Legend {
    pub class: &'static str,
    pub name: String,
}

pub struct GridLine {
    pub y: u64,
    pub label: String,
}

pub struct Bar {
    pub class: &'static str,
    pub x: String,
    pub y: u64,
    pub width: String,
    pub height: u64,
}

pub struct Segment {
    pub from: (String, u64),
    pub to: (String, u64),
}

pub struct Dot {
    pub x: String,
    pub y: u64,
}

pub struct Label {
    pub x: String,
    pub text: String,
}

/// Values of one interval: a number for each series, stacked from the bottom.
pub struct Column {
    pub label: String,
    pub values: Vec<u64>,
}

impl Chart {
    /// Stacked bars. `scale`: text of a value at a line of the grid.
    pub fn bars(
        (id, title, summary): (&'static str, String, String),
        legend: Vec<Legend>,
        columns: &[Column],
        scale: &Scale,
    ) -> Self {
        let classes: Vec<_> = legend.iter().map(|one| one.class).collect();
        let step = WIDTH / count(columns.len());
        let mut bars = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            let x = LEFT + step * count(place) + step * 3 / 20;
            let mut bottom = BOTTOM;
            for (class, value) in classes.iter().zip(&column.values) {
                let height = scale.height(*value);
                if height == 0 {
                    continue;
                }
                bottom = bottom.saturating_sub(height);
                bars.push(Bar {
                    class,
                    x: percent(x),
                    y: bottom,
                    width: percent(step * 7 / 10),
                    height,
                });
            }
        }
        Self {
            id,
            title,
            summary,
            legend,
            grid: scale.grid(),
            bars,
            lines: Vec::new(),
            dots: Vec::new(),
            labels: labels(columns.iter().map(|column| &column.label)),
        }
    }

    /// Rates per thousand, with a gap where there is none.
    pub fn rates(
        (id, title, summary): (&'static str, String, String),
        rates: &[(String, Option<u64>)],
        text: Text,
    ) -> Self {
        let lowest = rates.iter().filter_map(|(_, rate)| *rate).min();
        let floor = if lowest.is_some_and(|rate| rate >= 800) {
            800
        } else {
            0
        };
        let step = WIDTH / count(rates.len());
        let spread = 1_000 - floor;
        let y = |rate: u64| BOTTOM - (rate.clamp(floor, 1_000) - floor) * (BOTTOM - TOP) / spread;
        let place = |place: usize| percent(LEFT + step * count(place) + step / 2);
        let (mut lines, mut dots) = (Vec::new(), Vec::new());
        let mut last: Option<(usize, u64)> = None;
        for (at, (_, rate)) in rates.iter().enumerate() {
            let Some(rate) = rate else { continue };
            if let Some((before, known)) = last.filter(|(before, _)| before + 1 == at) {
                lines.push(Segment {
                    from: (place(before), y(known)),
                    to: (place(at), y(*rate)),
                });
            }
            last = Some((at, *rate));
            dots.push(Dot {
                x: place(at),
                y: y(*rate),
            });
        }
        let line = |rate: u64| GridLine {
            y: y(rate),
            label: text.percent(rate),
        };
        Self {
            id,
            title,
            summary,
            legend: Vec::new(),
            grid: vec![line(1_000), line(floor + spread / 2), line(floor)],
            bars: Vec::new(),
            lines,
            dots,
            labels: labels(rates.iter().map(|(label, _)| label)),
        }
    }
}

/// Scale of the values of a chart: from zero to a round number.
pub struct Scale {
    /// In the unit of the labels.
    top: u64,
    /// Values in one unit of the labels.
    unit: u64,
    text: Text,
}

impl Scale {
    /// `unit`: 1 for counts, the subunits of one unit for amounts of a currency.
    pub fn new(most: u64, unit: u64, text: Text) -> Self {
        let most = most.div_ceil(unit).max(1);
        let mut power = 1_u64;
        let top = loop {
            let found = [2, 4, 10].map(|one| power.saturating_mul(one));
            if let Some(found) = found.into_iter().find(|top| *top >= most) {
                break found;
            }
            power = power.saturating_mul(10);
        };
        Self { top, unit, text }
    }

    /// Height of a value. A value above zero is always visible.
    fn height(&self, value: u64) -> u64 {
        let (value, space) = (u128::from(value), u128::from(BOTTOM - TOP));
        let most = u128::from(self.top) * u128::from(self.unit);
        let height = value * space / most;
        u64::try_from(height).unwrap_or(0).max(u64::from(value > 0))
    }

    fn grid(&self) -> Vec<GridLine> {
        let line = |value: u64| GridLine {
            y: BOTTOM - (BOTTOM - TOP) * value / self.top,
            label: self.text.short(value),
        };
        vec![line(self.top), line(self.top / 2), line(0)]
    }
}

/// Labels under at most some of the intervals, the last one among them.
fn labels<'a>(all: impl ExactSizeIterator<Item = &'a String>) -> Vec<Label> {
    let length = all.len();
    let (step, width) = (length.div_ceil(LABELS), WIDTH / count(length));
    let chosen = all.enumerate();
    let chosen = chosen.filter(|(place, _)| (length - 1 - place).is_multiple_of(step));
    let label = |(place, label): (usize, &String)| Label {
        x: percent(LEFT + width * count(place) + width / 2),
        text: label.clone(),
    };
    chosen.map(label).collect()
}

/// `hundredths` of a per cent as SVG writes it.
fn percent(hundredths: u64) -> String {
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// A number of intervals, at least one.
fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// First and last pixel of the marks.
const TOP: u64 = 20;
const BOTTOM: u64 = 150;
/// Hundredths of a per cent left of the marks, for the texts of the grid, and across the marks.
const LEFT: u64 = 1_000;
const WIDTH: u64 = 8_900;
const LABELS: usize = 5;

#[cfg(test)]
mod tests {
    use switchyard_core::language::Language;

    use super::*;

    fn column(values: &[u64]) -> Column {
        Column {
            label: "x".to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn stacked_bars_stay_inside_and_a_small_value_is_visible() {
        let text = Text(Language::En);
        let legend = ["paid", "failed"].map(|class| Legend {
            class,
            name: class.to_owned(),
        });
        let names = ("c", "Title".to_owned(), "Summary".to_owned());
        let columns = [column(&[999, 1]), column(&[0, 0]), column(&[1_000, 0])];
        let scale = Scale::new(1_000, 1, text);
        let chart = Chart::bars(names, legend.into(), &columns, &scale);
        assert_eq!(chart.bars.len(), 3);
        assert!(chart.bars.iter().all(|bar| bar.height >= 1 && bar.y >= TOP));
        assert!(chart.bars.iter().all(|bar| bar.y + bar.height <= BOTTOM));
        assert_eq!(chart.grid[0].label, text.short(1_000));
    }

    #[test]
    fn the_scale_ends_at_a_round_number_whose_half_is_round() {
        for (most, top) in [
            (0, 2),
            (1, 2),
            (3, 4),
            (5, 10),
            (11, 20),
            (250, 400),
            (401, 1_000),
        ] {
            assert_eq!(Scale::new(most, 1, Text(Language::En)).top, top, "{most}");
        }
        let largest = Scale::new(u64::MAX, 1, Text(Language::En));
        assert_eq!(largest.height(u64::MAX), BOTTOM - TOP);
    }

    #[test]
    fn a_rate_chart_has_a_gap_where_nothing_ended() {
        let rates = [Some(900), None, Some(950), Some(1_000)];
        let rates = rates.map(|rate| ("x".to_owned(), rate));
        let names = ("c", "Title".to_owned(), "Summary".to_owned());
        let chart = Chart::rates(names, &rates, Text(Language::En));
        assert_eq!((chart.dots.len(), chart.lines.len()), (3, 1));
        assert_eq!(chart.grid[2].label, "80%");
    }
}
