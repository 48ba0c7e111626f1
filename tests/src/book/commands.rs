//! Page of the commands, from the definition of the command line.

use clap::Command;
use clap_markdown::{MarkdownOptions, help_markdown_command_custom};

pub fn page(line: &Command) -> String {
    let options = MarkdownOptions::new()
        .title("Commands".to_owned())
        .show_footer(false);
    let text = help_markdown_command_custom(line, &options);
    // Usage lines of commands that take a subcommand end in blanks.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}
