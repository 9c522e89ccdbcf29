//! Who watches checks from the command line: the live line, and signals that end them with what they have found.

use super::progress::Progress;
use super::signals::{self, Listening};
use report::terminal::thousands;
use simt::Live;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A check that is watched.
pub struct Watched {
    progress: Progress,
    live: Live,
    /// Since runs go on: before, a signal ends the program, since there is nothing to tell.
    listening: OnceLock<Listening>,
}

impl Watched {
    /// Watches from now on what may take so much time.
    pub fn begin(time: Option<Duration>) -> Watched {
        let live = Live::new();
        let (shown, begun) = (live.clone(), Instant::now());
        let pace = move || pace(shown.all_steps(), begun.elapsed(), time);
        Watched {
            progress: Progress::paced(pace),
            live,
            listening: OnceLock::new(),
        }
    }

    /// Shows what is being done.
    pub fn say(&self, text: &str) {
        self.listening.get_or_init(|| signals::listen(&self.live));
        self.progress.say(text);
    }

    /// Removes the line.
    pub fn end(&self) {
        self.progress.end();
    }
}

impl check::Watch for Watched {
    fn progress(&self, progress: check::Progress<'_>) {
        match progress {
            check::Progress::Compiling { .. } => self.progress.say(&progress.to_string()),
            _ => self.say(&progress.to_string()),
        }
    }

    fn live(&self) -> Option<&Live> {
        Some(&self.live)
    }
}

/// How fast it goes, and what is left of its time.
fn pace(steps: u64, took: Duration, time: Option<Duration>) -> String {
    if steps == 0 {
        return String::new();
    }
    let rate = steps as f64 / took.as_secs_f64().max(1e-3);
    let left = time.map_or(String::new(), |time| {
        let left = time.saturating_sub(took).as_secs();
        format!(", {} s left", thousands(left))
    });
    format!("{:.1} M warp-instructions a second{left}", rate / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_told_once_something_runs() {
        let seconds = Duration::from_secs;
        assert_eq!(pace(0, seconds(3), None), "");
        let shown = pace(12_000_000, seconds(4), Some(seconds(1300)));
        assert_eq!(shown, "3.0 M warp-instructions a second, 1,296 s left");
        let over = pace(1_000_000, seconds(10), Some(seconds(9)));
        assert_eq!(over, "0.1 M warp-instructions a second, 0 s left");
    }
}
