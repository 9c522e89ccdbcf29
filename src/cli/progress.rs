//! The progress line on the terminal during slow operations.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::io::Write;
use std::time::Duration;

/// A progress line on stderr; nothing if stderr is not a terminal.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// A line without a known number of steps.
    pub fn spinner(shown: bool) -> Progress {
        Progress::new(ProgressBar::no_length(), "{spinner} {msg}", shown)
    }

    /// The same, behind what is done how fast that goes; drawn anew each time.
    pub fn paced(pace: impl Fn() -> String + Clone + Send + Sync + 'static) -> Progress {
        let bar = ProgressBar::no_length();
        let template = "{spinner} {msg}  {pace}";
        let progress = Progress::new(bar, template, true);
        if let Ok(style) = ProgressStyle::with_template(template) {
            let draw = move |_: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&pace());
            };
            progress.0.set_style(style.with_key("pace", draw));
        }
        progress
    }

    /// A line with a bar of `total` steps.
    pub fn bar(total: usize, shown: bool) -> Progress {
        let bar = ProgressBar::new(total as u64);
        Progress::new(bar, "{spinner} {bar:24} {pos}/{len} {wide_msg}", shown)
    }

    fn new(bar: ProgressBar, template: &str, shown: bool) -> Progress {
        // The bar draws on stderr, and only on a terminal.
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

    /// Shows the current activity.
    pub fn say(&self, text: &str) {
        self.0.set_message(text.to_string());
    }

    /// Advances by one step.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Prints lines on stdout above the progress line. A closed pipe is not an error.
    pub fn print(&self, text: &str) {
        self.0.suspend(|| {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        });
    }

    /// Removes the line.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
