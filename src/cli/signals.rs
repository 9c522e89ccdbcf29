//! A signal ends the program, and leaves no compiler running and no scratch folder behind. What listens is ended first, and tells what it
//! has found until then; the second signal ends the program at once.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use simt::Live;
use std::sync::{Mutex, MutexGuard, PoisonError};

static LISTENERS: Mutex<Vec<(u64, Live)>> = Mutex::new(Vec::new());

fn listeners() -> MutexGuard<'static, Vec<(u64, Live)>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs that a signal ends instead of the program, as long as this is kept.
#[derive(Debug)]
pub struct Listening(u64);

/// Lets the next signal end these runs.
pub fn listen(live: &Live) -> Listening {
    let mut all = listeners();
    let number = all.last().map_or(0, |(last, _)| last + 1);
    all.push((number, live.clone()));
    Listening(number)
}

impl Drop for Listening {
    fn drop(&mut self) {
        listeners().retain(|(number, _)| *number != self.0);
    }
}

/// Ends all that listens; whether there was something that had not been ended before.
fn end_listeners() -> bool {
    let all = listeners();
    let mut open = all.iter().filter(|(_, live)| !live.is_ended()).peekable();
    let some = open.peek().is_some();
    open.for_each(|(_, live)| live.end());
    some
}

/// Waits for signals in a thread of its own. Without it, which can't be helped, they end the program as they always do.
pub fn handle() {
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    let _ = std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if end_listeners() {
                    continue;
                }
                toolchain::scratch::abandon();
                // As a shell reports it.
                std::process::exit(128 + signal);
            }
        });
}
