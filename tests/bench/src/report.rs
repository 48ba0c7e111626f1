//! All figures as a table for a terminal, and as a page of the documentation.

use std::fmt::Write as _;
use std::time::Duration;

use crate::figure::Figure;
use crate::machine;
use crate::parts::Part;

/// Result of a part.
pub struct Measured {
    pub part: Part,
    pub figures: Vec<Figure>,
    pub took: Duration,
    /// Reason why the part did not complete.
    pub failed: Option<String>,
}

const HEAD: [&str; 6] = ["", "measured", "limit of the same run", "ratio", "bar", ""];

/// For a terminal.
pub fn table(parts: &[Measured]) -> String {
    let rows: Vec<_> = parts
        .iter()
        .flat_map(|part| part.figures.iter().map(cells))
        .collect();
    let mut widths = HEAD.map(|text| text.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |cells: &[String; 6]| {
        let mut text = String::new();
        for (place, (cell, width)) in cells.iter().zip(widths).enumerate() {
            // Numbers to the right, words to the left.
            let pad = " ".repeat(width - cell.chars().count());
            let _ = match place {
                1 | 3 => write!(text, "{pad}{cell}  "),
                _ => write!(text, "{cell}{pad}  "),
            };
        }
        text.trim_end().to_owned()
    };
    let mut text = line(&HEAD.map(str::to_owned));
    let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len());
    for part in parts {
        let _ = write!(text, "\n{rule}");
        for figure in &part.figures {
            let _ = write!(text, "\n{}", line(&cells(figure)));
        }
        if let Some(why) = &part.failed {
            let _ = write!(text, "\n{}: FAILED: {why}", part.part.name());
        }
    }
    let _ = writeln!(text, "\n{rule}\n{}", summary(parts));
    text
}

/// Heading of the figures on the page.
pub const FIGURES: &str = "The figures";

/// For `docs/benchmarks.md`, without charts.
pub fn page(parts: &[Measured]) -> String {
    let mut text = format!("{TOP}\n## The machine\n\n| | |\n|---|---|\n");
    for (name, what) in machine::described() {
        let _ = writeln!(text, "| {name} | {what} |");
    }
    let _ = write!(text, "\n## {FIGURES}\n\n{}\n", summary(parts));
    for part in parts {
        let _ = write!(
            text,
            "\n### {}\n\n{}.\n",
            part.part.name(),
            part.part.does()
        );
        if let Some(why) = &part.failed {
            let _ = write!(
                text,
                "\n**This part failed**: {}\n",
                why.lines().next().unwrap_or_default()
            );
        }
        if part.figures.is_empty() {
            continue;
        }
        text.push_str(
            "\n| | measured | limit of the same run | ratio | bar | |\n|---|--:|---|--:|---|---|\n",
        );
        for figure in &part.figures {
            let cells = cells(figure).map(|cell| cell.replace("MISSED", "**missed**"));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
    }
    text
}

fn cells(figure: &Figure) -> [String; 6] {
    [
        figure.what.clone(),
        figure.shown(),
        figure.shown_limit(),
        figure.shown_ratio(),
        figure.shown_bar(),
        figure.shown_met().to_owned(),
    ]
}

fn summary(parts: &[Measured]) -> String {
    let verdicts = || {
        parts
            .iter()
            .flat_map(|part| &part.figures)
            .filter_map(Figure::is_met)
    };
    let (met, all) = (verdicts().filter(|met| *met).count(), verdicts().count());
    let failed = parts.iter().filter(|part| part.failed.is_some()).count();
    let minutes = parts
        .iter()
        .map(|part| part.took.as_secs_f64())
        .sum::<f64>()
        / 60.0;
    let failed = match failed {
        0 => String::new(),
        failed => format!("; {failed} parts FAILED"),
    };
    format!("{met} of {all} bars met, measured in {minutes:.0} minutes{failed}.")
}

const TOP: &str = r"# Benchmarks

`cargo xtask bench` made this page. Each figure stands beside the limit of the same run, where there is one, and beside its bar. Machines
differ and are noisy; the ratio of two things that were measured in turns on one machine differs less. So read the ratios first.

## How it is measured

- Optimised builds, the default store on a real disk. **Every commit is durable**: flushed through the disk's cache before the answer.
- The load, the server and the limit share the machine, and its cores. The clients have threads of their own, send prepared bytes and read
  no more than they must.
- Each part runs in a process of its own. Ours and the limit are measured in turns, after one round each that only warms up; a figure is
  the median of the rounds, a ratio the median of the rounds' ratios.
- *The most*: a closed loop; 64 clients, each of which asks again as soon as it was answered. *Offered*: an open loop; requests are due at
  a fixed rate, whether those before are answered or not, and a latency counts from when its request was due. So a stall counts for all
  that came due in it (no coordinated omission).
- *Processor time each* is what client and server together worked for one request. What else runs on the machine changes it little.
- *Bare axum* reads the same bodies and gives the same answers, and does nothing else. *Append and fdatasync* writes the same bytes to one
  file and flushes; as many at once share a flush as clients wait. *Bare reqwest* sends the same body to the same receivers, as many at
  a time, and stores nothing.
- *Pay to success* is three requests, the merchant's and two forms of the payer's, and its limit is bare axum answering the same three; one
  row without a bar sets it beside a single request of bare axum.
- Webhook receivers are in another process, each with an address of its own. A dead one takes the request and never answers. The delay of
  an event counts from when it was due at the offered rate, so a slow commit before it counts; the webhooks have the shortest pause
  between attempts that a merchant may choose, so that retries to the dead come in between.
";
