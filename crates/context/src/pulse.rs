//! What runs now, for whoever waits for it: `racetrap exec` shows it on one line.
//!
//! A thread of its own writes it to a file of the folder, twice a second, while a launch runs. Nothing is told that is not in the records at the end.

use crate::options::Options;
use serde::{Deserialize, Serialize};
use simt::Live;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// How often it is written.
const EACH: Duration = Duration::from_millis(500);
/// Its file in the folder.
const FILE: &str = "pulse.json";

/// A launch that runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pulse {
    /// Its number in its process, from 1.
    pub launch: u64,
    /// Its kernel.
    pub kernel: String,
    /// Warp-instructions that it has executed, those of other schedules included.
    pub steps: u64,
    /// Seconds that it has taken.
    pub seconds: f64,
    /// Seconds that it may take.
    pub limit: f64,
}

/// The launch that runs in this process.
struct Running {
    launch: u64,
    kernel: String,
    live: Live,
    /// What was executed before it.
    before: u64,
    begun: Instant,
    limit: f64,
}

static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

impl Running {
    fn pulse(&self) -> Pulse {
        Pulse {
            launch: self.launch,
            kernel: self.kernel.clone(),
            steps: self.live.all_steps().saturating_sub(self.before),
            seconds: self.begun.elapsed().as_secs_f64(),
            limit: self.limit,
        }
    }
}

fn set(running: Option<Running>) {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = running;
}

/// A launch begins.
pub(crate) fn begins(options: &Options, live: &Live, launch: u64, kernel: &str) {
    if !options.pulse {
        return;
    }
    set(Some(Running {
        launch,
        kernel: kernel.to_owned(),
        live: live.clone(),
        before: live.all_steps(),
        begun: Instant::now(),
        limit: options.launch_seconds,
    }));
    static WRITER: Once = Once::new();
    WRITER.call_once(|| {
        let Some((folder, _)) = Options::of_process() else {
            return;
        };
        let write = move || {
            loop {
                std::thread::sleep(EACH);
                let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
                let pulse = running.as_ref().map(Running::pulse);
                drop(running);
                if pulse.is_some_and(|pulse| pulse.write(&folder).is_err()) {
                    return;
                }
            }
        };
        // Without it nothing is shown.
        let _ = std::thread::Builder::new()
            .name("pulse".into())
            .spawn(write);
    });
}

/// It has ended.
pub(crate) fn ends(options: &Options) {
    if options.pulse {
        set(None);
    }
}

impl Pulse {
    fn write(&self, folder: &Path) -> std::io::Result<()> {
        // Never half of it.
        let next = folder.join("pulse.next");
        std::fs::write(&next, serde_json::to_vec(self)?)?;
        std::fs::rename(next, folder.join(FILE))
    }

    /// What was last written to a folder.
    pub fn read(folder: &Path) -> Option<Pulse> {
        serde_json::from_slice(&std::fs::read(folder.join(FILE)).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Pulse::read(folder.path()), None);
        let pulse = Pulse {
            launch: 3,
            kernel: "reduce(float*)".into(),
            steps: 17,
            seconds: 0.5,
            limit: 600.0,
        };
        pulse.write(folder.path()).unwrap();
        assert_eq!(Pulse::read(folder.path()), Some(pulse));
    }
}
