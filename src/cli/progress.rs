//! The live line on the terminal while something takes long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write;
use std::time::Duration;

/// One line on stderr that says what is being done; nothing where stderr is no terminal.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A line without a known end.
    pub fn spinner(shown: bool) -> Progress {
        Progress::new(ProgressBar::no_length(), "{spinner} {msg}", shown)
    }

    /// A line with a bar of `total` steps.
    pub fn bar(total: usize, shown: bool) -> Progress {
        let bar = ProgressBar::new(total as u64);
        Progress::new(bar, "{spinner} {bar:24} {pos}/{len} {wide_msg}", shown)
    }

    fn new(bar: ProgressBar, template: &str, shown: bool) -> Progress {
        // A bar draws on stderr, and only where that is a terminal.
        bar.set_draw_target(match shown {
            true => ProgressDrawTarget::stderr_with_hz(12),
            false => ProgressDrawTarget::hidden(),
        });
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress(bar)
    }

    /// What is being done.
    pub fn say(&self, text: &str) {
        self.0.set_message(text.to_string());
    }

    /// One more step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Prints lines on stdout, above the live one. A reader that has gone is no error.
    pub fn print(&self, text: &str) {
        self.0.suspend(|| {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        });
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
