//! Runs a program's launches again, where its own code never ran, and takes that for what happened.
//!
//! The library in the program's process says which kernels were launched, and on which memory. Whatever it says of what they did is not
//! asked for: they run again here, with the code that the program's file holds. Code that gets hold of the library can still make up
//! launches; but then it says what another program with the same kernels could have done, and earns what that one would.
//!
//! What stays the library's word: what only the host program orders, such as streams, its own accesses and the use of the API.

use super::run::Run;
use crate::build::BuildError;
use context::options::Options;
use context::repeat::Repeater;
use exec::collect::Collected;
use report::Sources;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// What comes of running launches again.
pub struct Again {
    /// What all of them showed, up to the one that could not be run.
    pub collected: Collected,
    /// Why not all were run.
    pub why: Option<String>,
}

impl Run<'_> {
    /// Runs the launches again that a program's records tell of. `options` are those of the program.
    ///
    /// # Errors
    ///
    /// What is not the program's fault.
    pub(super) fn again(
        &self,
        mut collected: Collected,
        options: Options,
    ) -> Result<Again, BuildError> {
        let mut sources = Sources::new();
        for (name, text) in &self.built.texts {
            sources.add(name, text);
        }
        let texts = self.built.code_that_runs(&self.assignment.build)?;
        let left = self.until.saturating_duration_since(Instant::now());
        let options = Options {
            schedules: self.schedules.max(1),
            launch_seconds: left.as_secs_f64().max(0.1),
            seal: None,
            instead: Vec::new(),
            ..options
        };
        let tape = std::mem::take(&mut collected.tape);
        let run = || {
            let mut repeater = Repeater::new(options, texts, sources);
            let mut why = None;
            for taped in &tape {
                if Instant::now() >= self.until {
                    why = Some("the time for this submission was up".to_owned());
                } else if let Err(refusal) = repeater.launch(taped) {
                    why = Some(refusal.to_string());
                }
                if why.is_some() {
                    break;
                }
            }
            (repeater.finish(), why)
        };
        // A tape can say anything; what was made up may contradict itself in ways that nobody looks for.
        let (records, why) = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            let why = "what is said of its launches can't be".to_owned();
            (Vec::new(), Some(why))
        });
        collected.repeated(records);
        Ok(Again { collected, why })
    }
}
