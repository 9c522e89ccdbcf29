//! A kernel in PTX, and a session to run it in.

use session::{Options, Session};
use simt::{Engine, Limits, Program};

/// The kernel `k` of a text.
pub fn lowered(text: &str) -> Program {
    let module = ptx::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    Program::lower(&module, text, "k").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A session under a schedule, on an engine, for so many warp-instructions.
pub fn session(schedule: &str, engine: Engine, steps: u64) -> Session {
    Session::new(Options {
        schedule: schedule.parse().unwrap(),
        limits: Limits {
            steps,
            engine,
            ..Limits::default()
        },
        ..Options::default()
    })
}
