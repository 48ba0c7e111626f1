//! Plain lines of a stage, for a standard error that is no terminal.

use std::io::{self, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use indicatif::ProgressBar;

use crate::figures::Figures;
use crate::{FIRST_LINE, LINE_INTERVAL, Unit};

/// Thread that prints the figures of a hidden bar at intervals.
pub struct PlainLines {
    messages: Sender<Message>,
    thread: JoinHandle<()>,
}

/// Message to the thread.
enum Message {
    /// The stage ended; the next one has this unit. The thread answers when it has read the bar.
    StageEnded(Unit, Sender<()>),
    Ended,
}

impl PlainLines {
    pub fn new(bar: ProgressBar, unit: Unit) -> Self {
        let (messages, received) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut unit = unit;
            let mut wait = FIRST_LINE;
            loop {
                match received.recv_timeout(wait) {
                    Err(RecvTimeoutError::Timeout) => {
                        bar.tick();
                        let figures = Figures::of_bar(&bar, unit);
                        print_line(&format!("{}: {figures}", bar.message()));
                        wait = LINE_INTERVAL;
                    }
                    Ok(Message::StageEnded(next, read)) => {
                        end_stage(&bar, unit);
                        unit = next;
                        wait = FIRST_LINE;
                        let _ = read.send(());
                    }
                    Ok(Message::Ended) | Err(RecvTimeoutError::Disconnected) => {
                        return end_stage(&bar, unit);
                    }
                }
            }
        });
        Self { messages, thread }
    }

    /// Prints the sum of a long stage before the bar is reset for one with another unit.
    pub fn end_stage(&self, next: Unit) {
        let (read, is_read) = mpsc::channel();
        if self.messages.send(Message::StageEnded(next, read)).is_ok() {
            let _ = is_read.recv();
        }
    }

    /// Prints the sum of the last stage, and ends the thread.
    pub fn end(self) {
        let _ = self.messages.send(Message::Ended);
        let _ = self.thread.join();
    }
}

/// Prints a line to standard error. A command does not fail when its progress cannot be printed.
pub fn print_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn end_stage(bar: &ProgressBar, unit: Unit) {
    if bar.elapsed() >= FIRST_LINE {
        let sum = Figures::of_bar(bar, unit).sum();
        print_line(&format!("{}: {sum}", bar.message()));
    }
}
